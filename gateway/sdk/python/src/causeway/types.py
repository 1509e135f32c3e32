"""The types of the API.

Generated from gateway/openapi.yaml by make docs. Do not edit.
"""

from decimal import Decimal
from typing import Any, Dict, List, Literal, Optional, Sequence, TypedDict, Union

AddressBookAnswer = TypedDict("AddressBookAnswer", {
    "addresses": "List[AddressBookEntry]",
    "pagination": "Pagination",
    "success": "Literal[True]",
})

AddressBookEntry = TypedDict("AddressBookEntry", {
    "address": "str",
    "createdAt": "str",
    "id": "str",
    "label": "str",
    "network": "str",
    "usableAt": "str",
})

AddressBookEntryAnswer = TypedDict("AddressBookEntryAnswer", {
    "address": "AddressBookEntry",
    "success": "Literal[True]",
})

AddressBookEventDataAddress = TypedDict("AddressBookEventDataAddress", {
    "address": "str",
    "createdAt": "str",
    "id": "str",
    "label": "str",
    "network": "str",
    "sequence": "int",
    "usableAt": "str",
})

AddressBookEventData = TypedDict("AddressBookEventData", {
    "address": "AddressBookEventDataAddress",
})

#: `live` moves real money; `test` runs on simulated chains and banks. Neither sees anything of the other.
Mode = Literal["live", "test"]

AddressBookEvent = TypedDict("AddressBookEvent", {
    "createdAt": "str",
    "data": "AddressBookEventData",
    "id": "str",
    "mode": "Mode",
    "type": "Literal[\"wallet.address_added\"]",
})

AddressRemovedAnswer = TypedDict("AddressRemovedAnswer", {
    "success": "Literal[True]",
})

_BalancesAnswerBalances = TypedDict("_BalancesAnswerBalances", {
    "available": "str",
    "crypto": "str",
    "network": "str",
    "pending": "str",
})

class BalancesAnswerBalances(_BalancesAnswerBalances, total=False):
    missing: "str"

#: ISO 4217: `NGN` naira of Nigeria, `GHS` cedi of Ghana, `KES` shilling of Kenya, `ZAR` rand of South Africa.
FiatCurrency = Literal["NGN", "GHS", "KES", "ZAR"]

BalancesAnswerFiat = TypedDict("BalancesAnswerFiat", {
    "available": "Decimal",
    "currency": "FiatCurrency",
    "pending": "Decimal",
})

_BalancesAnswer = TypedDict("_BalancesAnswer", {
    "balances": "List[BalancesAnswerBalances]",
    "success": "Literal[True]",
})

class BalancesAnswer(_BalancesAnswer, total=False):
    fiat: "List[BalancesAnswerFiat]"

BankListAnswerBanks = TypedDict("BankListAnswerBanks", {
    "code": "str",
    "currency": "FiatCurrency",
    "name": "str",
})

BankListAnswer = TypedDict("BankListAnswer", {
    "banks": "List[BankListAnswerBanks]",
    "success": "Literal[True]",
})

class ChangeSettlementSettings(TypedDict, total=False):
    daily: "Optional[Sequence[ChooseDailySettlement]]"
    merchantPayments: "Optional[Literal[\"self\", \"balance\"]]"

#: The fee, in three units. Once the money is converted, GET and events show the taken fee: if more or less than
#: the quote is paid out, it is the fee of the converted amount.
Charge = TypedDict("Charge", {
    "crypto": "Decimal",
    "fiat": "Decimal",
    "usd": "Decimal",
})

#: The reason for special handling, or null. `over_limit`: more money came than was quoted, and its worth passes
#: a limit; a person decides. `unverified`: the payment is large and only one provider confirms its deposit; a
#: person decides.
PaymentException = Optional[Literal["underpaid", "overpaid", "paid_late", "wrong_asset", "reorged", "over_limit", "unverified", "screening_hold", "unfunded", "unclaimed", "payout_failed", "payout_returned"]]

#: `confirming` with 0 confirmations: enough money was seen by `expiresAt`, and no block holds it yet. Nothing is
#: paid on it. The transfer counts until two hours after `expiresAt`; then the payment continues with the
#: transfers in blocks, as `expired` if there are none. If it is mined later, it is late money (`paid_late`). If
#: it is replaced or dropped, the payment returns to its earlier status, with `reorged`.
PaymentStatus = Literal["created", "pending", "confirming", "confirmed", "settling", "settled", "expired", "cancelled", "needs_review", "refunded"]

#: `transfer`: a payer pays a bank account that the create names. `gift`: the recipient names the account later,
#: on the claim page. `request`: the create names account and amount, and the payer chooses the crypto later.
#: `merchant`: the merchant sells something, and is paid itself or names an account. `bank_confirmation`: the
#: caller pays out itself and confirms it with a settlement token.
PaymentType = Literal["transfer", "gift", "request", "merchant", "bank_confirmation"]

CheckoutAnswerPaymentOptions = TypedDict("CheckoutAnswerPaymentOptions", {
    "crypto": "str",
    "cryptoAmount": "Decimal",
    "network": "str",
    "rate": "Decimal",
})

_CheckoutAnswerPayment = TypedDict("_CheckoutAnswerPayment", {
    "confirmations": "int",
    "exception": "PaymentException",
    "expiresAt": "str",
    "fiatAmount": "Decimal",
    "fiatCurrency": "FiatCurrency",
    "mode": "Mode",
    "receivedAmount": "Decimal",
    "reference": "str",
    "settledAt": "Optional[str]",
    "status": "PaymentStatus",
    "takesRefundAddress": "bool",
    "takesTransactionHash": "bool",
    "txHash": "str",
    "type": "PaymentType",
})

class CheckoutAnswerPayment(_CheckoutAnswerPayment, total=False):
    charge: "Charge"
    claimed: "bool"
    crypto: "str"
    cryptoAmount: "Decimal"
    depositAddress: "str"
    description: "str"
    ignoredAmount: "Decimal"
    locale: "str"
    merchantReference: "str"
    network: "str"
    options: "List[CheckoutAnswerPaymentOptions]"
    paymentUri: "str"
    payoutAmount: "Decimal"
    preferred: "PaymentPreferred"
    rate: "Decimal"
    refundAddress: "str"
    refundAddressHeldUntil: "str"
    refundAddressProposed: "str"
    refunds: "List[Refund]"
    remainingAmount: "Decimal"
    requiredConfirmations: "int"
    returnUrl: "str"
    transactionUsd: "Decimal"

CheckoutAnswer = TypedDict("CheckoutAnswer", {
    "payment": "CheckoutAnswerPayment",
    "success": "Literal[True]",
})

ChooseDailySettlement = TypedDict("ChooseDailySettlement", {
    "currency": "FiatCurrency",
    "minimum": "Union[Decimal, int]",
    "settlementAccountId": "str",
})

ClaimGiftReceiver = TypedDict("ClaimGiftReceiver", {
    "accountNumber": "str",
    "bankCode": "str",
})

#: Unknown fields are ignored, `accountName` and `bankName` among them.
ClaimGift = TypedDict("ClaimGift", {
    "receiver": "ClaimGiftReceiver",
})

#: `track_transaction`: somebody looks for a transaction; `stolen_funds`: money was stolen; `fraud`: somebody
#: deceived the reporter.
ComplaintType = Literal["track_transaction", "stolen_funds", "fraud"]

ConfirmSettlementAccount = TypedDict("ConfirmSettlementAccount", {
    "accountNumber": "str",
})

_CreatePaymentPayer = TypedDict("_CreatePaymentPayer", {
    "chatId": "str",
})

class CreatePaymentPayer(_CreatePaymentPayer, total=False):
    phone: "Optional[str]"

CreatePaymentReceiver = TypedDict("CreatePaymentReceiver", {
    "accountNumber": "str",
    "bankCode": "str",
})

_CreatePayment = TypedDict("_CreatePayment", {
    "fiatCurrency": "FiatCurrency",
    "type": "PaymentType",
})

class CreatePayment(_CreatePayment, total=False):
    """Unknown fields are ignored. null, and an empty string where a field is optional, mean not supplied."""
    bankRef: "Optional[str]"
    callbackUrl: "Optional[str]"
    chargeFrom: "Optional[Literal[\"fiat\", \"crypto\", \"\"]]"
    crypto: "Optional[str]"
    cryptoAmount: "Optional[Union[Decimal, int]]"
    description: "Optional[str]"
    fiatAmount: "Optional[Union[Decimal, int]]"
    locale: "Optional[str]"
    merchantReference: "Optional[str]"
    metadata: "Optional[Dict[str, Any]]"
    network: "Optional[str]"
    payer: "Optional[CreatePaymentPayer]"
    receiver: "Optional[CreatePaymentReceiver]"
    returnUrl: "Optional[str]"

_CreateRefund = TypedDict("_CreateRefund", {
    "reason": "str",
})

class CreateRefund(_CreateRefund, total=False):
    """Unknown fields are ignored."""
    amount: "Optional[Union[Decimal, int]]"
    crypto: "Optional[str]"
    network: "Optional[str]"

_CreateReport = TypedDict("_CreateReport", {
    "complaintType": "ComplaintType",
    "name": "str",
})

class CreateReport(_CreateReport, total=False):
    """Unknown fields are ignored. null, and an empty string where a field is optional, mean not supplied."""
    description: "Optional[str]"
    fraudsterWalletAddress: "Optional[str]"
    phoneNumber: "Optional[str]"
    sessionReference: "Optional[str]"
    walletAddress: "Optional[str]"

CreateSettlementAccountReceiver = TypedDict("CreateSettlementAccountReceiver", {
    "accountNumber": "str",
    "bankCode": "str",
})

CreateSettlementAccount = TypedDict("CreateSettlementAccount", {
    "currency": "FiatCurrency",
    "receiver": "CreateSettlementAccountReceiver",
})

_CreateWallet = TypedDict("_CreateWallet", {
    "crypto": "str",
    "network": "str",
})

class CreateWallet(_CreateWallet, total=False):
    expiresInMinutes: "Optional[Union[Decimal, int]]"
    metadata: "Optional[Dict[str, Any]]"

CreateWithdrawal = TypedDict("CreateWithdrawal", {
    "amount": "Union[Decimal, int]",
    "currency": "FiatCurrency",
    "settlementAccountId": "str",
})

DailySettlement = TypedDict("DailySettlement", {
    "currency": "FiatCurrency",
    "minimum": "Decimal",
    "settlementAccountId": "str",
})

EndpointEventDataEndpoint = TypedDict("EndpointEventDataEndpoint", {
    "disabledReason": "Optional[Literal[\"merchant\", \"gone\", \"failing\"]]",
    "enabled": "bool",
    "failingSince": "Optional[str]",
    "id": "str",
    "sequence": "int",
    "url": "str",
})

EndpointEventData = TypedDict("EndpointEventData", {
    "endpoint": "EndpointEventDataEndpoint",
})

EndpointEvent = TypedDict("EndpointEvent", {
    "createdAt": "str",
    "data": "EndpointEventData",
    "id": "str",
    "mode": "Mode",
    "type": "Literal[\"webhook.endpoint_failing\", \"webhook.endpoint_disabled\", \"webhook.test\"]",
})

EventListAnswer = TypedDict("EventListAnswer", {
    "events": "List[Union[PaymentEvent, WalletEvent, WithdrawalEvent, WalletWithdrawalEvent, SettlementAccountEvent, AddressBookEvent, ReportEvent, EndpointEvent]]",
    "pagination": "Pagination",
    "success": "Literal[True]",
})

#: The name of an event: the object, a point, and the change of the object.
EventTypeName = Literal["payment.created", "payment.pending", "payment.confirming", "payment.confirmed", "payment.settling", "payment.settled", "payment.expired", "payment.cancelled", "payment.needs_review", "payment.refunded", "payment.underpaid", "payment.overpaid", "payment.reorged", "payment.wrong_asset", "payment.refund_address_changed", "payment.refund_address_proposed", "payment.refund_requested", "payment.refund_approved", "payment.refund_signing", "payment.refund_sent", "payment.refund_confirmed", "payment.refund_failed", "withdrawal.requested", "withdrawal.approved", "withdrawal.sending", "withdrawal.paid", "withdrawal.failed", "withdrawal.returned", "settlement_account.added", "settlement_account.confirmed", "settlement_account.deleted", "wallet.watching", "wallet.deposit_detected", "wallet.confirmed", "wallet.swept", "wallet.expired", "wallet.address_added", "wallet.withdrawal_requested", "wallet.withdrawal_approved", "wallet.withdrawal_signing", "wallet.withdrawal_sent", "wallet.withdrawal_confirmed", "wallet.withdrawal_failed", "report.created", "report.updated", "webhook.endpoint_failing", "webhook.endpoint_disabled", "webhook.test"]

_FulfillRequestPayer = TypedDict("_FulfillRequestPayer", {
    "chatId": "str",
})

class FulfillRequestPayer(_FulfillRequestPayer, total=False):
    phone: "Optional[str]"

#: Unknown fields are ignored.
FulfillRequest = TypedDict("FulfillRequest", {
    "crypto": "str",
    "network": "str",
    "payer": "FulfillRequestPayer",
})

GiftClaimedAnswerPaymentReceiver = TypedDict("GiftClaimedAnswerPaymentReceiver", {
    "accountName": "str",
    "accountNumber": "str",
    "bankName": "str",
})

GiftClaimedAnswerPayment = TypedDict("GiftClaimedAnswerPayment", {
    "receiver": "GiftClaimedAnswerPaymentReceiver",
    "reference": "str",
    "status": "Literal[\"settling\"]",
})

GiftClaimedAnswer = TypedDict("GiftClaimedAnswer", {
    "message": "Literal[\"Gift claimed successfully. Payout is being processed.\"]",
    "payment": "GiftClaimedAnswerPayment",
    "success": "Literal[True]",
})

LinkAnswer = TypedDict("LinkAnswer", {
    "link": "PublicLink",
    "success": "Literal[True]",
})

class LinkPayment(TypedDict, total=False):
    crypto: "Optional[str]"
    fiatAmount: "Optional[Union[Decimal, int]]"
    network: "Optional[str]"

MeAnswerKey = TypedDict("MeAnswerKey", {
    "allowedCidrs": "List[str]",
    "createdAt": "str",
    "expiresAt": "Optional[str]",
    "id": "int",
    "mode": "Mode",
    "name": "str",
    "publicKey": "str",
})

#: Requests a second, and at once: `standard` 50 and 500, `premium` 200 and 2 000, `unlimited` without a bound.
Tier = Literal["standard", "premium", "unlimited"]

MeAnswerLimits = TypedDict("MeAnswerLimits", {
    "burst": "Optional[int]",
    "perSecond": "Optional[int]",
    "tier": "Tier",
})

MeAnswerMerchant = TypedDict("MeAnswerMerchant", {
    "id": "str",
})

MeAnswer = TypedDict("MeAnswer", {
    "key": "MeAnswerKey",
    "limits": "MeAnswerLimits",
    "merchant": "MeAnswerMerchant",
    "permissions": "List[str]",
    "success": "Literal[True]",
})

#: The caller's own data.
Metadata = Dict[str, Any]

NameTransaction = TypedDict("NameTransaction", {
    "txHash": "str",
})

NamedTransactionAnswer = TypedDict("NamedTransactionAnswer", {
    "message": "str",
    "success": "Literal[True]",
})

NetworkListAnswerLimits = TypedDict("NetworkListAnswerLimits", {
    "fiatCurrency": "FiatCurrency",
    "maximum": "Decimal",
    "minimum": "Decimal",
})

NetworkListAnswerNetworksCryptosMinimums = TypedDict("NetworkListAnswerNetworksCryptosMinimums", {
    "live": "Optional[Decimal]",
    "test": "Optional[Decimal]",
})

NetworkListAnswerNetworksCryptos = TypedDict("NetworkListAnswerNetworksCryptos", {
    "crypto": "str",
    "decimals": "int",
    "minimum": "Optional[Decimal]",
    "minimums": "NetworkListAnswerNetworksCryptosMinimums",
    "seesContractTransfers": "bool",
})

NetworkListAnswerNetworksModes = TypedDict("NetworkListAnswerNetworksModes", {
    "live": "NetworkOpen",
    "test": "NetworkOpen",
})

NetworkListAnswerNetworks = TypedDict("NetworkListAnswerNetworks", {
    "aliases": "List[str]",
    "confirmations": "Optional[int]",
    "cryptos": "List[NetworkListAnswerNetworksCryptos]",
    "family": "Literal[\"bitcoin\", \"evm\", \"tron\", \"solana\"]",
    "finality": "bool",
    "modes": "NetworkListAnswerNetworksModes",
    "network": "str",
})

#: `quotes`: prices of new payments; `payouts`: money to banks; `refunds`: money back to payers, and withdrawals
#: of crypto.
PausedPart = Literal["quotes", "payouts", "refunds"]

NetworkListAnswerPauses = TypedDict("NetworkListAnswerPauses", {
    "fiatCurrency": "Optional[str]",
    "network": "Optional[str]",
    "paused": "PausedPart",
    "rail": "Optional[str]",
    "since": "str",
})

NetworkListAnswer = TypedDict("NetworkListAnswer", {
    "limits": "List[NetworkListAnswerLimits]",
    "networks": "List[NetworkListAnswerNetworks]",
    "pauses": "List[NetworkListAnswerPauses]",
    "success": "Literal[True]",
})

NetworkOpen = TypedDict("NetworkOpen", {
    "open": "bool",
    "reason": "Optional[Literal[\"mode_disabled\", \"no_addresses\", \"paused\", \"not_followed\", \"silent\", \"unreachable\", \"stalled\", \"behind\", \"halted\", \"mismatched\", \"cannot_be_judged\"]]",
})

_NewAddressBookEntry = TypedDict("_NewAddressBookEntry", {
    "address": "str",
    "network": "str",
})

class NewAddressBookEntry(_NewAddressBookEntry, total=False):
    """Unknown fields are ignored."""
    label: "Optional[str]"

_NewWalletWithdrawal = TypedDict("_NewWalletWithdrawal", {
    "addressId": "str",
    "amount": "Union[Union[Decimal, int], str]",
    "crypto": "str",
    "network": "str",
})

class NewWalletWithdrawal(_NewWalletWithdrawal, total=False):
    """Unknown fields are ignored."""
    fee: "Optional[Union[Union[Decimal, int], str]]"

Pagination = TypedDict("Pagination", {
    "hasMore": "bool",
    "limit": "int",
    "nextCursor": "Optional[str]",
})

_PaymentCommon = TypedDict("_PaymentCommon", {
    "confirmations": "int",
    "confirmedAt": "Optional[str]",
    "createdAt": "str",
    "exception": "PaymentException",
    "expiresAt": "str",
    "fiatAmount": "Decimal",
    "metadata": "Metadata",
    "receivedAmount": "Decimal",
    "settledAt": "Optional[str]",
    "status": "PaymentStatus",
    "transfers": "List[PaymentTransfer]",
    "txHash": "str",
})

class PaymentCommon(_PaymentCommon, total=False):
    """A payment as its merchant and operators read it. A request that is not fulfilled has none of
    depositAddress, cryptoAmount, crypto, network, rate, charge, transactionUsd, payoutAmount.
    """
    bankRef: "str"
    charge: "Charge"
    checkoutUrl: "str"
    crypto: "str"
    cryptoAmount: "Decimal"
    depositAddress: "str"
    description: "str"
    feeScheduleId: "str"
    ignoredAmount: "Decimal"
    locale: "str"
    merchantReference: "str"
    network: "str"
    paymentUri: "str"
    payoutAmount: "Decimal"
    preferred: "PaymentPreferred"
    rate: "Decimal"
    receiver: "PaymentReceiver"
    refundAddress: "str"
    refundAddressHeldUntil: "str"
    refundAddressProposed: "str"
    refunds: "List[Refund]"
    returnUrl: "str"
    settlementReference: "str"
    transactionUsd: "Decimal"

_PaymentFields = TypedDict("_PaymentFields", {
    "fiatCurrency": "FiatCurrency",
    "reference": "str",
    "type": "PaymentType",
})

class PaymentFields(PaymentCommon, _PaymentFields, total=False):
    """A payment as its merchant reads it."""
    payout: "PaymentPayout"

class Payment(PaymentFields, total=False):
    pass

PaymentAnswer = TypedDict("PaymentAnswer", {
    "payment": "Payment",
    "success": "Literal[True]",
})

PaymentCreatedAnswer = TypedDict("PaymentCreatedAnswer", {
    "payment": "Union[PaymentPriced, PaymentRequested]",
    "success": "Literal[True]",
})

PaymentEventData = TypedDict("PaymentEventData", {
    "payment": "PaymentInEvent",
})

PaymentEvent = TypedDict("PaymentEvent", {
    "createdAt": "str",
    "data": "PaymentEventData",
    "id": "str",
    "mode": "Mode",
    "type": "Literal[\"payment.created\", \"payment.pending\", \"payment.confirming\", \"payment.confirmed\", \"payment.settling\", \"payment.settled\", \"payment.expired\", \"payment.cancelled\", \"payment.needs_review\", \"payment.refunded\", \"payment.underpaid\", \"payment.overpaid\", \"payment.reorged\", \"payment.wrong_asset\", \"payment.refund_address_changed\", \"payment.refund_address_proposed\", \"payment.refund_requested\", \"payment.refund_approved\", \"payment.refund_signing\", \"payment.refund_sent\", \"payment.refund_confirmed\", \"payment.refund_failed\"]",
})

PaymentFulfilledAnswerPayment = TypedDict("PaymentFulfilledAnswerPayment", {
    "charge": "Charge",
    "crypto": "str",
    "cryptoAmount": "Decimal",
    "depositAddress": "str",
    "expiresAt": "str",
    "fiatAmount": "Decimal",
    "fiatCurrency": "FiatCurrency",
    "network": "str",
    "rate": "Decimal",
    "reference": "str",
    "status": "Literal[\"pending\"]",
    "transactionUsd": "Decimal",
})

PaymentFulfilledAnswer = TypedDict("PaymentFulfilledAnswer", {
    "message": "Literal[\"Request fulfilled successfully\"]",
    "payment": "PaymentFulfilledAnswerPayment",
    "success": "Literal[True]",
})

_PaymentInEvent = TypedDict("_PaymentInEvent", {
    "sequence": "int",
})

class PaymentInEvent(PaymentFields, _PaymentInEvent, total=False):
    """The payment right after the change that the event reports."""
    settlementToken: "str"

_PaymentLink = TypedDict("_PaymentLink", {
    "createdAt": "str",
    "description": "str",
    "endedAt": "Optional[str]",
    "expiresAt": "Optional[str]",
    "fiatAmount": "Optional[Decimal]",
    "fiatCurrency": "FiatCurrency",
    "id": "str",
    "maximumAmount": "Optional[Decimal]",
    "minimumAmount": "Optional[Decimal]",
    "settlementAccountId": "Optional[str]",
    "status": "Literal[\"active\", \"ended\", \"expired\", \"used_up\"]",
    "title": "str",
    "type": "Literal[\"request\", \"merchant\"]",
    "usageLimit": "Optional[int]",
    "uses": "int",
})

class PaymentLink(_PaymentLink, total=False):
    url: "str"

PaymentLinkAnswer = TypedDict("PaymentLinkAnswer", {
    "paymentLink": "PaymentLink",
    "success": "Literal[True]",
})

class PaymentLinkChange(TypedDict, total=False):
    description: "Optional[str]"
    expiresAt: "Optional[str]"
    status: "Optional[Literal[\"active\", \"ended\"]]"
    title: "Optional[str]"
    usageLimit: "Optional[int]"

_PaymentLinkCreate = TypedDict("_PaymentLinkCreate", {
    "fiatCurrency": "FiatCurrency",
    "title": "str",
    "type": "Literal[\"request\", \"merchant\"]",
})

class PaymentLinkCreate(_PaymentLinkCreate, total=False):
    description: "Optional[str]"
    expiresAt: "Optional[str]"
    fiatAmount: "Optional[Union[Decimal, int]]"
    maximumAmount: "Optional[Union[Decimal, int]]"
    minimumAmount: "Optional[Union[Decimal, int]]"
    settlementAccountId: "Optional[str]"
    usageLimit: "Optional[int]"

PaymentLinkListAnswer = TypedDict("PaymentLinkListAnswer", {
    "pagination": "Pagination",
    "paymentLinks": "List[PaymentLink]",
    "success": "Literal[True]",
})

PaymentListAnswer = TypedDict("PaymentListAnswer", {
    "pagination": "Pagination",
    "payments": "List[Payment]",
    "success": "Literal[True]",
})

PaymentPayout = TypedDict("PaymentPayout", {
    "amount": "Decimal",
    "currency": "FiatCurrency",
    "id": "str",
    "reference": "str",
    "status": "str",
})

class PaymentPreferred(TypedDict, total=False):
    """The crypto and network that the payee of a request prefers."""
    crypto: "str"
    network: "str"

#: The answer to creating any payment but a request.
PaymentPriced = TypedDict("PaymentPriced", {
    "charge": "Charge",
    "crypto": "str",
    "cryptoAmount": "Decimal",
    "depositAddress": "str",
    "expiresAt": "str",
    "fiatAmount": "Decimal",
    "fiatCurrency": "FiatCurrency",
    "network": "str",
    "rate": "Decimal",
    "reference": "str",
    "status": "Literal[\"pending\"]",
    "transactionUsd": "Decimal",
    "type": "Literal[\"transfer\", \"gift\", \"merchant\", \"bank_confirmation\"]",
})

_PaymentReceiver = TypedDict("_PaymentReceiver", {
    "accountName": "str",
    "accountNumber": "str",
    "bankName": "str",
})

class PaymentReceiver(_PaymentReceiver, total=False):
    """The account number shows its last four digits only."""
    nameVerified: "bool"

#: The answer to creating a request.
PaymentRequested = TypedDict("PaymentRequested", {
    "fiatAmount": "Decimal",
    "fiatCurrency": "FiatCurrency",
    "id": "str",
    "reference": "str",
    "status": "Literal[\"created\"]",
    "type": "Literal[\"request\"]",
})

PaymentTransfer = TypedDict("PaymentTransfer", {
    "amount": "Decimal",
    "confirmations": "int",
    "firstSeenAt": "str",
    "txHash": "str",
})

class ProposedRefundAddressAnswerRefund(TypedDict, total=False):
    refundAddress: "str"
    refundAddressHeldUntil: "str"
    refundAddressProposed: "str"

ProposedRefundAddressAnswer = TypedDict("ProposedRefundAddressAnswer", {
    "refund": "ProposedRefundAddressAnswerRefund",
    "success": "Literal[True]",
})

PublicLinkOptions = TypedDict("PublicLinkOptions", {
    "crypto": "str",
    "cryptoAmount": "Optional[Decimal]",
    "network": "str",
})

PublicLink = TypedDict("PublicLink", {
    "description": "str",
    "fiatAmount": "Optional[Decimal]",
    "fiatCurrency": "FiatCurrency",
    "id": "str",
    "maximumAmount": "Optional[Decimal]",
    "minimumAmount": "Optional[Decimal]",
    "mode": "Mode",
    "options": "List[PublicLinkOptions]",
    "status": "Literal[\"active\", \"ended\", \"expired\", \"used_up\"]",
    "title": "str",
    "type": "Literal[\"request\", \"merchant\"]",
})

RateListAnswerRates = TypedDict("RateListAnswerRates", {
    "ageSeconds": "int",
    "asOf": "str",
    "crypto": "str",
    "degraded": "bool",
    "fiat": "FiatCurrency",
    "fiatPerUsd": "Decimal",
    "rate": "Decimal",
    "simulated": "bool",
    "sourceNames": "List[str]",
    "sources": "int",
    "spreadBps": "int",
})

RateListAnswer = TypedDict("RateListAnswer", {
    "rates": "List[RateListAnswerRates]",
    "success": "Literal[True]",
})

ReceiverVerifiedAnswerReceiver = TypedDict("ReceiverVerifiedAnswerReceiver", {
    "accountName": "str",
    "accountNumber": "str",
    "bankCode": "str",
    "bankName": "str",
    "checkDigit": "Literal[\"match\", \"mismatch\", \"unknown\"]",
    "fiatCurrency": "FiatCurrency",
    "nameVerified": "bool",
})

ReceiverVerifiedAnswer = TypedDict("ReceiverVerifiedAnswer", {
    "receiver": "ReceiverVerifiedAnswerReceiver",
    "success": "Literal[True]",
})

#: `requested` waits for operators; `sent` is with a node; `confirmed` is in a final block; the money of a
#: `failed` one is owed again.
RefundStatus = Literal["requested", "approved", "signing", "sent", "confirmed", "failed"]

_Refund = TypedDict("_Refund", {
    "address": "str",
    "amount": "Decimal",
    "confirmedAt": "Optional[str]",
    "createdAt": "str",
    "crypto": "str",
    "id": "str",
    "network": "str",
    "status": "RefundStatus",
    "txHash": "Optional[str]",
})

class Refund(_Refund, total=False):
    """Crypto that leaves for the payer on a chain."""
    failure: "str"

RefundAddress = TypedDict("RefundAddress", {
    "address": "str",
})

_RefundAddressAnswerRefund = TypedDict("_RefundAddressAnswerRefund", {
    "address": "str",
    "network": "str",
    "reference": "str",
})

class RefundAddressAnswerRefund(_RefundAddressAnswerRefund, total=False):
    heldUntil: "str"

RefundAddressAnswer = TypedDict("RefundAddressAnswer", {
    "refund": "RefundAddressAnswerRefund",
    "success": "Literal[True]",
})

RefundAnswer = TypedDict("RefundAnswer", {
    "refund": "Refund",
    "success": "Literal[True]",
})

RefundsAnswer = TypedDict("RefundsAnswer", {
    "refunds": "List[Refund]",
    "success": "Literal[True]",
})

#: `pending`: filed; `processing`: the merchant looks into it; `resolved`: it was true, and is done; `dismissed`:
#: it was not.
ReportStatus = Literal["pending", "processing", "resolved", "dismissed"]

ReportFields = TypedDict("ReportFields", {
    "apiKeyId": "int",
    "complaintType": "ComplaintType",
    "createdAt": "str",
    "description": "Optional[str]",
    "fraudsterWalletAddress": "Optional[str]",
    "id": "int",
    "merchantId": "str",
    "name": "str",
    "phoneNumber": "Optional[str]",
    "reportId": "str",
    "sessionReference": "Optional[str]",
    "status": "ReportStatus",
    "updatedAt": "str",
    "walletAddress": "Optional[str]",
})

_Report = TypedDict("_Report", {
    "adminNotes": "None",
    "confirmer": "None",
})

class Report(ReportFields, _Report, total=False):
    """A report as everybody sees it. Internal fields are null."""

ReportAnswerData = TypedDict("ReportAnswerData", {
    "report": "Report",
})

ReportAnswer = TypedDict("ReportAnswer", {
    "data": "ReportAnswerData",
    "success": "Literal[True]",
})

ReportEventData = TypedDict("ReportEventData", {
    "report": "ReportInEvent",
})

ReportEvent = TypedDict("ReportEvent", {
    "createdAt": "str",
    "data": "ReportEventData",
    "id": "str",
    "mode": "Mode",
    "type": "Literal[\"report.created\", \"report.updated\"]",
})

_ReportInEvent = TypedDict("_ReportInEvent", {
    "adminNotes": "None",
    "confirmer": "None",
    "sequence": "int",
})

class ReportInEvent(ReportFields, _ReportInEvent, total=False):
    """The report as it is read, right after what the event tells."""

_ReportListAnswerData = TypedDict("_ReportListAnswerData", {
    "limit": "int",
    "offset": "int",
    "reports": "List[Report]",
    "total": "int",
})

class ReportListAnswerData(_ReportListAnswerData, total=False):
    hasMore: "bool"
    nextCursor: "Optional[str]"

ReportListAnswer = TypedDict("ReportListAnswer", {
    "data": "ReportListAnswerData",
    "success": "Literal[True]",
})

_ReportManaged = TypedDict("_ReportManaged", {
    "adminNotes": "Optional[str]",
    "confirmer": "Optional[str]",
})

class ReportManaged(ReportFields, _ReportManaged, total=False):
    """A report as shown to a key of its merchant with `report:manage`."""

ReportManagedAnswerData = TypedDict("ReportManagedAnswerData", {
    "report": "ReportManaged",
})

ReportManagedAnswer = TypedDict("ReportManagedAnswer", {
    "data": "ReportManagedAnswerData",
    "success": "Literal[True]",
})

ReportOwnListAnswerData = TypedDict("ReportOwnListAnswerData", {
    "pagination": "Pagination",
    "reports": "List[ReportManaged]",
})

ReportOwnListAnswer = TypedDict("ReportOwnListAnswer", {
    "data": "ReportOwnListAnswerData",
    "success": "Literal[True]",
})

class SandboxDeposit(TypedDict, total=False):
    amount: "Optional[Union[Union[Decimal, int], str]]"
    confirmations: "Optional[int]"
    crypto: "Optional[str]"
    outcome: "Optional[Literal[\"reorg\", \"reorg_dropped\", \"screening_hold\", \"over_limit\"]]"

SandboxDepositAnswerDeposit = TypedDict("SandboxDepositAnswerDeposit", {
    "amount": "Decimal",
    "confirmations": "int",
    "crypto": "str",
    "depositAddress": "str",
    "network": "str",
})

SandboxDepositAnswer = TypedDict("SandboxDepositAnswer", {
    "deposit": "SandboxDepositAnswerDeposit",
    "success": "Literal[True]",
})

_SandboxOutage = TypedDict("_SandboxOutage", {
    "what": "Literal[\"rates\", \"network\"]",
})

class SandboxOutage(_SandboxOutage, total=False):
    network: "Optional[str]"
    seconds: "Optional[int]"

SandboxOutageAnswerOutage = TypedDict("SandboxOutageAnswerOutage", {
    "network": "Optional[str]",
    "until": "str",
    "what": "Literal[\"rates\", \"network\"]",
})

SandboxOutageAnswer = TypedDict("SandboxOutageAnswer", {
    "outage": "SandboxOutageAnswerOutage",
    "success": "Literal[True]",
})

SandboxOutcome = TypedDict("SandboxOutcome", {
    "outcome": "Literal[\"succeed\", \"fail\", \"return\", \"timeout\"]",
})

_SandboxOutcomeAnswerPayout = TypedDict("_SandboxOutcomeAnswerPayout", {
    "outcome": "Literal[\"succeed\", \"fail\", \"return\", \"timeout\"]",
    "reference": "str",
})

class SandboxOutcomeAnswerPayout(_SandboxOutcomeAnswerPayout, total=False):
    id: "str"

SandboxOutcomeAnswer = TypedDict("SandboxOutcomeAnswer", {
    "payout": "SandboxOutcomeAnswerPayout",
    "success": "Literal[True]",
})

class SandboxSimulateDeposit(TypedDict, total=False):
    amount: "Optional[Union[Union[Decimal, int], str]]"
    steps: "Optional[int]"

_SandboxWalletDeposit = TypedDict("_SandboxWalletDeposit", {
    "amount": "Union[Union[Decimal, int], str]",
})

class SandboxWalletDeposit(_SandboxWalletDeposit, total=False):
    confirmations: "Optional[int]"
    outcome: "Optional[Literal[\"reorg\", \"reorg_dropped\"]]"

SandboxWalletDepositAnswerDeposit = TypedDict("SandboxWalletDepositAnswerDeposit", {
    "amount": "str",
    "confirmations": "int",
    "crypto": "str",
    "depositAddress": "str",
    "network": "str",
    "txHash": "str",
})

SandboxWalletDepositAnswer = TypedDict("SandboxWalletDepositAnswer", {
    "deposit": "SandboxWalletDepositAnswerDeposit",
    "success": "Literal[True]",
})

_Settle = TypedDict("_Settle", {
    "settlementToken": "str",
})

class Settle(_Settle, total=False):
    settlementReference: "Optional[str]"

#: How many payments were settled within this time of the confirmation of their money.
SettledWithin = TypedDict("SettledWithin", {
    "day": "int",
    "fiveMinutes": "int",
    "hour": "int",
    "minute": "int",
})

SettlementAccount = TypedDict("SettlementAccount", {
    "confirmedAt": "Optional[str]",
    "createdAt": "str",
    "currency": "FiatCurrency",
    "heldUntil": "Optional[str]",
    "id": "str",
    "receiver": "SettlementReceiver",
    "status": "Literal[\"unconfirmed\", \"active\"]",
})

SettlementAccountAnswer = TypedDict("SettlementAccountAnswer", {
    "settlementAccount": "SettlementAccount",
    "success": "Literal[True]",
})

SettlementAccountDeletedAnswer = TypedDict("SettlementAccountDeletedAnswer", {
    "deleted": "Literal[\"true\"]",
    "id": "str",
    "success": "Literal[True]",
})

SettlementAccountEventDataSettlementAccount = TypedDict("SettlementAccountEventDataSettlementAccount", {
    "confirmedAt": "Optional[str]",
    "createdAt": "str",
    "currency": "FiatCurrency",
    "heldUntil": "Optional[str]",
    "id": "str",
    "receiver": "SettlementReceiver",
    "sequence": "int",
    "status": "Literal[\"unconfirmed\", \"active\", \"deleted\"]",
})

SettlementAccountEventData = TypedDict("SettlementAccountEventData", {
    "settlementAccount": "SettlementAccountEventDataSettlementAccount",
})

SettlementAccountEvent = TypedDict("SettlementAccountEvent", {
    "createdAt": "str",
    "data": "SettlementAccountEventData",
    "id": "str",
    "mode": "Mode",
    "type": "Literal[\"settlement_account.added\", \"settlement_account.confirmed\", \"settlement_account.deleted\"]",
})

SettlementAccountsAnswer = TypedDict("SettlementAccountsAnswer", {
    "settlementAccounts": "List[SettlementAccount]",
    "success": "Literal[True]",
})

SettlementReceiver = TypedDict("SettlementReceiver", {
    "accountName": "str",
    "accountNumber": "str",
    "bankName": "str",
    "nameVerified": "bool",
})

SettlementSettings = TypedDict("SettlementSettings", {
    "daily": "List[DailySettlement]",
    "merchantPayments": "Literal[\"self\", \"balance\"]",
})

SettlementSettingsAnswer = TypedDict("SettlementSettingsAnswer", {
    "settings": "SettlementSettings",
    "success": "Literal[True]",
})

_SettlementTokenAnswer = TypedDict("_SettlementTokenAnswer", {
    "expiresAt": "str",
    "success": "Literal[True]",
})

class SettlementTokenAnswer(_SettlementTokenAnswer, total=False):
    settlementToken: "str"

_SettlementsAnswerSettlements = TypedDict("_SettlementsAnswerSettlements", {
    "convertedAmount": "Decimal",
    "createdAt": "str",
    "crypto": "str",
    "fee": "Decimal",
    "fiatAmount": "Decimal",
    "fiatCurrency": "FiatCurrency",
    "network": "str",
    "payoutAmount": "Decimal",
    "payoutReference": "str",
    "rate": "Decimal",
    "receivedAmount": "Decimal",
    "reference": "str",
    "settledAt": "str",
    "settledBy": "Literal[\"causeway\", \"caller\"]",
    "type": "PaymentType",
})

class SettlementsAnswerSettlements(_SettlementsAnswerSettlements, total=False):
    bankRef: "str"
    merchantReference: "str"
    settlementReference: "str"

SettlementsAnswerTotalsCrypto = TypedDict("SettlementsAnswerTotalsCrypto", {
    "convertedAmount": "Decimal",
    "count": "int",
    "crypto": "str",
    "network": "str",
    "receivedAmount": "Decimal",
})

SettlementsAnswerTotalsFiat = TypedDict("SettlementsAnswerTotalsFiat", {
    "count": "int",
    "fee": "Decimal",
    "fiatAmount": "Decimal",
    "fiatCurrency": "FiatCurrency",
    "payoutAmount": "Decimal",
})

SettlementsAnswerTotals = TypedDict("SettlementsAnswerTotals", {
    "count": "int",
    "crypto": "List[SettlementsAnswerTotalsCrypto]",
    "fiat": "List[SettlementsAnswerTotalsFiat]",
})

SettlementsAnswer = TypedDict("SettlementsAnswer", {
    "from": "str",
    "settlements": "List[SettlementsAnswerSettlements]",
    "success": "Literal[True]",
    "to": "str",
    "totals": "SettlementsAnswerTotals",
})

SimulatePayer = TypedDict("SimulatePayer", {
    "scenario": "Literal[\"full\", \"partial\", \"over\", \"late\"]",
})

Statistics = TypedDict("Statistics", {
    "by": "List[str]",
    "from": "str",
    "groups": "List[StatisticsGroup]",
    "to": "str",
    "totals": "StatisticsFigures",
})

StatisticsAmounts = TypedDict("StatisticsAmounts", {
    "fee": "Decimal",
    "fiatAmount": "Decimal",
    "fiatCurrency": "FiatCurrency",
    "payoutAmount": "Decimal",
    "settledAmount": "Decimal",
})

StatisticsAnswer = TypedDict("StatisticsAnswer", {
    "statistics": "Statistics",
    "success": "Literal[True]",
})

StatisticsFigures = TypedDict("StatisticsFigures", {
    "amounts": "List[StatisticsAmounts]",
    "count": "int",
    "ended": "int",
    "secondsToSettle": "Optional[Decimal]",
    "settled": "int",
    "settledUsd": "Decimal",
    "settledWithin": "SettledWithin",
    "successRate": "Optional[Decimal]",
    "transactionUsd": "Decimal",
})

_StatisticsGroup = TypedDict("_StatisticsGroup", {
    "amounts": "List[StatisticsAmounts]",
    "count": "int",
    "ended": "int",
    "secondsToSettle": "Optional[Decimal]",
    "settled": "int",
    "settledUsd": "Decimal",
    "settledWithin": "SettledWithin",
    "successRate": "Optional[Decimal]",
    "transactionUsd": "Decimal",
})

class StatisticsGroup(_StatisticsGroup, total=False):
    """The fields that `by` names, and the figures of the group."""
    day: "str"
    fiatCurrency: "FiatCurrency"
    network: "str"
    status: "PaymentStatus"
    type: "PaymentType"

Timeline = TypedDict("Timeline", {
    "entries": "List[TimelineEntry]",
    "id": "str",
    "reference": "str",
})

TimelineAnswer = TypedDict("TimelineAnswer", {
    "success": "Literal[True]",
    "timeline": "Timeline",
})

_TimelineEntry = TypedDict("_TimelineEntry", {
    "at": "str",
    "kind": "Literal[\"status\", \"quote\", \"transfer\", \"payout\", \"refund\"]",
})

class TimelineEntry(_TimelineEntry, total=False):
    payout: "TimelinePayout"
    quote: "TimelineQuote"
    refund: "TimelineRefund"
    status: "TimelineStatus"
    transfer: "TimelineTransfer"

#: An attempt of the payout was begun.
TimelinePayout = TypedDict("TimelinePayout", {
    "amount": "Decimal",
    "attempt": "int",
    "currency": "FiatCurrency",
    "endedAt": "Optional[str]",
    "id": "str",
    "reference": "str",
    "sentAt": "Optional[str]",
    "status": "str",
})

#: The payment got its price and its deposit address.
TimelineQuote = TypedDict("TimelineQuote", {
    "charge": "Charge",
    "crypto": "str",
    "cryptoAmount": "Decimal",
    "depositAddress": "str",
    "expiresAt": "str",
    "fiatAmount": "Decimal",
    "fiatCurrency": "FiatCurrency",
    "network": "str",
    "rate": "Decimal",
})

_TimelineRefund = TypedDict("_TimelineRefund", {
    "address": "str",
    "amount": "Decimal",
    "confirmedAt": "Optional[str]",
    "createdAt": "str",
    "crypto": "str",
    "explorerUrl": "Optional[str]",
    "id": "str",
    "network": "str",
    "status": "RefundStatus",
    "txHash": "Optional[str]",
})

class TimelineRefund(_TimelineRefund, total=False):
    """A refund was requested."""
    failure: "str"

#: The payment got this status or exception.
TimelineStatus = TypedDict("TimelineStatus", {
    "exception": "PaymentException",
    "status": "PaymentStatus",
})

#: A transfer to the deposit address was first seen.
TimelineTransfer = TypedDict("TimelineTransfer", {
    "amount": "Decimal",
    "blockHeight": "Optional[int]",
    "confirmations": "int",
    "crypto": "str",
    "explorerUrl": "Optional[str]",
    "minedAt": "Optional[str]",
    "network": "str",
    "requiredConfirmations": "Optional[int]",
    "reverted": "bool",
    "txHash": "str",
})

_UpdateReport = TypedDict("_UpdateReport", {
    "status": "ReportStatus",
})

class UpdateReport(_UpdateReport, total=False):
    adminNotes: "Optional[str]"
    confirmer: "Optional[str]"

_VerifyReceiver = TypedDict("_VerifyReceiver", {
    "accountNumber": "str",
    "bankCode": "str",
})

class VerifyReceiver(_VerifyReceiver, total=False):
    fiatCurrency: "Optional[Literal[\"NGN\", \"GHS\", \"KES\", \"ZAR\", \"\"]]"
    reference: "Optional[str]"

#: `watching`: nothing has come; `deposit_detected`: a transfer was seen and is not deep enough; `confirmed`:
#: every transfer is; `swept`: the money has left for the treasury; `expired`: nothing came in time, and later
#: money counts still.
WalletStatus = Literal["watching", "deposit_detected", "confirmed", "swept", "expired"]

Wallet = TypedDict("Wallet", {
    "address": "str",
    "amount": "str",
    "confirmations": "int",
    "createdAt": "str",
    "crypto": "str",
    "expiresAt": "str",
    "id": "str",
    "metadata": "Metadata",
    "network": "str",
    "status": "WalletStatus",
})

WalletAnswer = TypedDict("WalletAnswer", {
    "success": "Literal[True]",
    "wallet": "Wallet",
})

WalletCreatedAnswerWallet = TypedDict("WalletCreatedAnswerWallet", {
    "address": "str",
    "createdAt": "str",
    "crypto": "str",
    "expiresAt": "str",
    "id": "str",
    "metadata": "Metadata",
    "network": "str",
    "status": "Literal[\"watching\"]",
})

WalletCreatedAnswer = TypedDict("WalletCreatedAnswer", {
    "success": "Literal[True]",
    "wallet": "WalletCreatedAnswerWallet",
})

WalletDeposit = TypedDict("WalletDeposit", {
    "amount": "str",
    "blockHeight": "int",
    "confirmations": "int",
    "counted": "bool",
    "crypto": "str",
    "firstSeenAt": "str",
    "network": "str",
    "status": "Literal[\"seen\", \"confirmed\", \"reverted\"]",
    "txHash": "str",
})

WalletDepositListAnswer = TypedDict("WalletDepositListAnswer", {
    "deposits": "List[WalletDeposit]",
    "pagination": "Pagination",
    "success": "Literal[True]",
})

WalletEventDataWallet = TypedDict("WalletEventDataWallet", {
    "address": "str",
    "amount": "str",
    "confirmations": "int",
    "createdAt": "str",
    "crypto": "str",
    "expiresAt": "str",
    "id": "str",
    "metadata": "Metadata",
    "network": "str",
    "sequence": "int",
    "status": "WalletStatus",
})

WalletEventData = TypedDict("WalletEventData", {
    "wallet": "WalletEventDataWallet",
})

WalletEvent = TypedDict("WalletEvent", {
    "createdAt": "str",
    "data": "WalletEventData",
    "id": "str",
    "mode": "Mode",
    "type": "Literal[\"wallet.watching\", \"wallet.deposit_detected\", \"wallet.confirmed\", \"wallet.swept\", \"wallet.expired\"]",
})

WalletItem = TypedDict("WalletItem", {
    "address": "str",
    "amount": "str",
    "confirmations": "int",
    "createdAt": "str",
    "crypto": "str",
    "id": "str",
    "network": "str",
    "status": "WalletStatus",
})

_WalletListAnswerPagination = TypedDict("_WalletListAnswerPagination", {
    "limit": "int",
    "offset": "int",
    "returned": "int",
})

class WalletListAnswerPagination(_WalletListAnswerPagination, total=False):
    hasMore: "bool"
    nextCursor: "Optional[str]"

WalletListAnswer = TypedDict("WalletListAnswer", {
    "pagination": "WalletListAnswerPagination",
    "success": "Literal[True]",
    "wallets": "List[WalletItem]",
})

_WalletWithdrawal = TypedDict("_WalletWithdrawal", {
    "address": "str",
    "addressId": "str",
    "amount": "str",
    "confirmedAt": "Optional[str]",
    "createdAt": "str",
    "crypto": "str",
    "fee": "str",
    "id": "str",
    "network": "str",
    "status": "RefundStatus",
    "txHash": "Optional[str]",
})

class WalletWithdrawal(_WalletWithdrawal, total=False):
    """Crypto that leaves from the deposit wallets of a merchant."""
    cancellation: "Literal[\"requested\", \"too_late\"]"
    failure: "str"

WalletWithdrawalAnswer = TypedDict("WalletWithdrawalAnswer", {
    "success": "Literal[True]",
    "withdrawal": "WalletWithdrawal",
})

_WalletWithdrawalEventDataWithdrawal = TypedDict("_WalletWithdrawalEventDataWithdrawal", {
    "address": "str",
    "addressId": "str",
    "amount": "str",
    "confirmedAt": "Optional[str]",
    "createdAt": "str",
    "crypto": "str",
    "fee": "str",
    "id": "str",
    "network": "str",
    "sequence": "int",
    "status": "RefundStatus",
    "txHash": "Optional[str]",
})

class WalletWithdrawalEventDataWithdrawal(_WalletWithdrawalEventDataWithdrawal, total=False):
    cancellation: "Literal[\"requested\", \"too_late\"]"
    failure: "str"

WalletWithdrawalEventData = TypedDict("WalletWithdrawalEventData", {
    "withdrawal": "WalletWithdrawalEventDataWithdrawal",
})

WalletWithdrawalEvent = TypedDict("WalletWithdrawalEvent", {
    "createdAt": "str",
    "data": "WalletWithdrawalEventData",
    "id": "str",
    "mode": "Mode",
    "type": "Literal[\"wallet.withdrawal_requested\", \"wallet.withdrawal_approved\", \"wallet.withdrawal_signing\", \"wallet.withdrawal_sent\", \"wallet.withdrawal_confirmed\", \"wallet.withdrawal_failed\"]",
})

WalletWithdrawalFeesAnswerFees = TypedDict("WalletWithdrawalFeesAnswerFees", {
    "crypto": "str",
    "fee": "str",
    "minimum": "str",
    "network": "str",
    "open": "bool",
})

WalletWithdrawalFeesAnswer = TypedDict("WalletWithdrawalFeesAnswer", {
    "fees": "List[WalletWithdrawalFeesAnswerFees]",
    "success": "Literal[True]",
})

WalletWithdrawalsAnswer = TypedDict("WalletWithdrawalsAnswer", {
    "pagination": "Pagination",
    "success": "Literal[True]",
    "withdrawals": "List[WalletWithdrawal]",
})

WebhookAttemptLatencyMs = TypedDict("WebhookAttemptLatencyMs", {
    "connect": "Decimal",
    "dns": "Decimal",
    "tls": "Decimal",
    "total": "Decimal",
    "wait": "Decimal",
})

WebhookAttempt = TypedDict("WebhookAttempt", {
    "at": "str",
    "class": "str",
    "excerpt": "str",
    "excerptEncoding": "Literal[\"utf8\", \"base64\"]",
    "latencyMs": "WebhookAttemptLatencyMs",
    "number": "int",
    "status": "Optional[int]",
    "trigger": "Literal[\"auto\", \"manual\", \"replay\", \"probe\"]",
})

WebhookDelivery = TypedDict("WebhookDelivery", {
    "attemptCount": "int",
    "attempts": "List[WebhookAttempt]",
    "createdAt": "str",
    "endpointId": "Optional[str]",
    "eventId": "str",
    "finishedAt": "Optional[str]",
    "id": "str",
    "nextAttemptAt": "Optional[str]",
    "objectId": "str",
    "sequence": "int",
    "status": "Literal[\"pending\", \"retrying\", \"held\", \"delivered\", \"exhausted\"]",
    "type": "EventTypeName",
    "url": "str",
})

WebhookDeliveryAnswer = TypedDict("WebhookDeliveryAnswer", {
    "delivery": "WebhookDelivery",
    "success": "Literal[True]",
})

WebhookDeliveryListAnswer = TypedDict("WebhookDeliveryListAnswer", {
    "deliveries": "List[WebhookDelivery]",
    "pagination": "Pagination",
    "success": "Literal[True]",
})

WebhookEndpoint = TypedDict("WebhookEndpoint", {
    "createdAt": "str",
    "description": "str",
    "disabledAt": "Optional[str]",
    "disabledReason": "Optional[Literal[\"merchant\", \"gone\", \"failing\"]]",
    "enabled": "bool",
    "failingSince": "Optional[str]",
    "id": "str",
    "types": "List[EventTypeName]",
    "updatedAt": "str",
    "url": "str",
})

WebhookEndpointAnswer = TypedDict("WebhookEndpointAnswer", {
    "endpoint": "WebhookEndpoint",
    "success": "Literal[True]",
})

_WebhookEndpointCreate = TypedDict("_WebhookEndpointCreate", {
    "url": "str",
})

class WebhookEndpointCreate(_WebhookEndpointCreate, total=False):
    description: "Optional[str]"
    enabled: "Optional[bool]"
    types: "Optional[Sequence[EventTypeName]]"

WebhookEndpointDeletedAnswer = TypedDict("WebhookEndpointDeletedAnswer", {
    "deleted": "Literal[True]",
    "id": "str",
    "success": "Literal[True]",
})

WebhookEndpointListAnswer = TypedDict("WebhookEndpointListAnswer", {
    "endpoints": "List[WebhookEndpoint]",
    "pagination": "Pagination",
    "success": "Literal[True]",
})

class WebhookEndpointPatch(TypedDict, total=False):
    description: "Optional[str]"
    enabled: "Optional[bool]"
    types: "Optional[Sequence[EventTypeName]]"
    url: "Optional[str]"

WebhookReplayAnswerReplay = TypedDict("WebhookReplayAnswerReplay", {
    "createdAt": "Optional[str]",
    "endpointId": "Optional[str]",
    "from": "str",
    "id": "Optional[str]",
    "sent": "int",
    "state": "Literal[\"dry_run\", \"running\", \"paused\", \"finished\"]",
    "statuses": "List[Literal[\"exhausted\", \"delivered\"]]",
    "to": "str",
    "total": "int",
    "types": "List[EventTypeName]",
})

WebhookReplayAnswer = TypedDict("WebhookReplayAnswer", {
    "replay": "WebhookReplayAnswerReplay",
    "success": "Literal[True]",
})

_WebhookReplayCreate = TypedDict("_WebhookReplayCreate", {
    "from": "str",
})

class WebhookReplayCreate(_WebhookReplayCreate, total=False):
    dryRun: "Optional[bool]"
    endpointId: "Optional[str]"
    status: "Optional[Literal[\"exhausted\", \"delivered\", \"all\"]]"
    to: "Optional[str]"
    types: "Optional[Sequence[EventTypeName]]"

WebhookRetryAnswerDelivery = TypedDict("WebhookRetryAnswerDelivery", {
    "id": "str",
    "status": "Literal[\"retrying\"]",
})

WebhookRetryAnswer = TypedDict("WebhookRetryAnswer", {
    "delivery": "WebhookRetryAnswerDelivery",
    "success": "Literal[True]",
})

class WebhookRotation(TypedDict, total=False):
    revokePrevious: "Optional[bool]"

WebhookSecretAnswerPrevious = TypedDict("WebhookSecretAnswerPrevious", {
    "expiresAt": "str",
})

_WebhookSecretAnswer = TypedDict("_WebhookSecretAnswer", {
    "createdAt": "str",
    "previous": "Optional[WebhookSecretAnswerPrevious]",
    "success": "Literal[True]",
})

class WebhookSecretAnswer(_WebhookSecretAnswer, total=False):
    secret: "str"

#: `requested` waits for operators; `approved` leaves soon; `sending` is on its way; `paid`: the bank has paid
#: it; `failed`: refused or never paid, and in the balance again; `returned`: the bank sent it back after it was
#: paid.
WithdrawalStatus = Literal["requested", "approved", "sending", "paid", "failed", "returned"]

_Withdrawal = TypedDict("_Withdrawal", {
    "amount": "Decimal",
    "createdAt": "str",
    "currency": "FiatCurrency",
    "endedAt": "Optional[str]",
    "id": "str",
    "receiver": "SettlementReceiver",
    "settlementAccountId": "str",
    "status": "WithdrawalStatus",
})

class Withdrawal(_Withdrawal, total=False):
    failure: "str"

WithdrawalAnswer = TypedDict("WithdrawalAnswer", {
    "success": "Literal[True]",
    "withdrawal": "Withdrawal",
})

_WithdrawalEventDataWithdrawal = TypedDict("_WithdrawalEventDataWithdrawal", {
    "amount": "Decimal",
    "createdAt": "str",
    "currency": "FiatCurrency",
    "endedAt": "Optional[str]",
    "id": "str",
    "receiver": "SettlementReceiver",
    "sequence": "int",
    "settlementAccountId": "str",
    "status": "WithdrawalStatus",
})

class WithdrawalEventDataWithdrawal(_WithdrawalEventDataWithdrawal, total=False):
    failure: "str"

WithdrawalEventData = TypedDict("WithdrawalEventData", {
    "withdrawal": "WithdrawalEventDataWithdrawal",
})

WithdrawalEvent = TypedDict("WithdrawalEvent", {
    "createdAt": "str",
    "data": "WithdrawalEventData",
    "id": "str",
    "mode": "Mode",
    "type": "Literal[\"withdrawal.requested\", \"withdrawal.approved\", \"withdrawal.sending\", \"withdrawal.paid\", \"withdrawal.failed\", \"withdrawal.returned\"]",
})

WithdrawalsAnswer = TypedDict("WithdrawalsAnswer", {
    "pagination": "Pagination",
    "success": "Literal[True]",
    "withdrawals": "List[Withdrawal]",
})

#: An event that a webhook brings; `type` says which.
WebhookEvent = Union[AddressBookEvent, EndpointEvent, PaymentEvent, ReportEvent, SettlementAccountEvent, WalletEvent, WalletWithdrawalEvent, WithdrawalEvent]

#: Codes of errors. A newer gateway may know more.
ErrorCode = Literal[
    "above_maximum",
    "address_book_full",
    "address_known",
    "address_not_found",
    "already_paused",
    "already_settled",
    "amount_above_owed",
    "amount_below_minimum",
    "amount_out_of_range",
    "api_key_ambiguous",
    "api_key_expired",
    "api_key_in_use",
    "api_key_invalid",
    "api_key_missing",
    "api_key_no_heir",
    "api_key_not_found",
    "api_key_revoked",
    "approval_invalid",
    "approval_open",
    "approval_outdated",
    "approval_required",
    "assertion_invalid",
    "balance_unavailable",
    "body_too_large",
    "body_too_slow",
    "body_unreadable",
    "busy",
    "cancel_too_late",
    "capacity",
    "currency_not_enabled",
    "daily_limit_exceeded",
    "day_not_closed",
    "dead_message_not_found",
    "dead_message_refused",
    "delivery_not_found",
    "deposit_attributed",
    "deposit_not_final",
    "deposit_not_found",
    "deposit_reorged",
    "endpoint_disabled",
    "endpoint_limit",
    "endpoint_not_found",
    "fee_changed",
    "fee_schedule_not_found",
    "gift_already_claimed",
    "gift_cancelled",
    "gift_expired",
    "gift_not_claimable",
    "headers_too_large",
    "hint_not_needed",
    "idempotency_in_progress",
    "idempotency_key_reused",
    "identity_invalid",
    "insufficient_balance",
    "internal",
    "invalid_json",
    "invalid_report_id",
    "invalid_settlement_token",
    "ip_not_allowed",
    "key_is_console",
    "key_required",
    "keys_unavailable",
    "live_disabled",
    "merchant_changed",
    "merchant_exists",
    "merchant_in_shards",
    "merchant_is_suspended",
    "merchant_name_fixed",
    "merchant_not_approved",
    "merchant_not_found",
    "merchant_not_suspended",
    "merchant_reference_used",
    "merchant_suspended",
    "merchant_unknown",
    "method_not_allowed",
    "money_unclaimed",
    "month_archived",
    "name_service_unavailable",
    "network_not_enabled",
    "network_not_scanned",
    "network_unavailable",
    "network_unknown",
    "no_address",
    "no_failed_payout",
    "no_refund_address",
    "no_such_payout",
    "not_a_gift",
    "not_a_request",
    "not_accused",
    "not_closed",
    "not_confirmed",
    "not_expirable",
    "not_in_review",
    "not_payable",
    "not_possible",
    "not_settled_by_caller",
    "nothing_confirmed",
    "nothing_owed",
    "operator_required",
    "operator_token_ended",
    "operator_token_expired",
    "operator_token_invalid",
    "operator_token_missing",
    "operator_token_not_found",
    "operator_token_not_yours",
    "operator_token_used",
    "operator_tokens_too_many",
    "operators_unavailable",
    "overloaded",
    "owed_too_shortly",
    "passkey_by_token",
    "passkey_known",
    "passkey_not_found",
    "passkeys_too_many",
    "pause_not_found",
    "payment_changed",
    "payment_elsewhere",
    "payment_exists",
    "payment_link_busy",
    "payment_link_closed",
    "payment_link_not_found",
    "payment_not_found",
    "payout_amount_differs",
    "payout_concluded",
    "payout_in_flight",
    "payout_not_found",
    "payout_not_made",
    "payout_not_sent",
    "payout_sent_again",
    "permission_missing",
    "quotes_paused",
    "rail_not_found",
    "rate_limited",
    "rate_unavailable",
    "receiver_forgotten",
    "reference_required",
    "refund_address_changed",
    "refund_address_held",
    "refund_address_internal",
    "refund_address_not_needed",
    "refund_address_not_proposed",
    "refund_address_refused",
    "refund_address_unfit",
    "refund_begun",
    "refund_decided",
    "refund_differs",
    "refund_not_cancellable",
    "refund_not_found",
    "refund_open",
    "refund_unverified",
    "refunds_closed",
    "refunds_paused",
    "replay_limit",
    "replay_not_found",
    "report_not_found",
    "request_already_fulfilled",
    "request_cancelled",
    "request_expired",
    "rescan_under_way",
    "rotation_limit",
    "route_not_found",
    "sanctions_list_outdated",
    "screening_unavailable",
    "second_operator_required",
    "service_unavailable",
    "settlement_account_confirmed",
    "settlement_account_currency",
    "settlement_account_differs",
    "settlement_account_held",
    "settlement_account_not_found",
    "settlement_account_removed",
    "settlement_account_unconfirmed",
    "shard_missing",
    "shard_unknown",
    "signature_expired",
    "signature_invalid",
    "signature_missing",
    "signature_replayed",
    "signatures_unavailable",
    "sweep_busy",
    "sweep_not_found",
    "timeout",
    "token_by_token",
    "too_many_groups",
    "too_many_guesses",
    "too_many_keys",
    "too_many_payment_links",
    "too_many_proposals",
    "too_many_reports",
    "too_many_settlement_accounts",
    "too_many_transactions",
    "too_many_withdrawals",
    "transaction_used",
    "transition_refused",
    "treasury_not_ready",
    "type_not_enabled",
    "unclaimed_not_found",
    "unclaimed_returned",
    "unsupported_media_type",
    "unsupported_pair",
    "upstream_failed",
    "upstream_timeout",
    "upstream_unavailable",
    "url_too_long",
    "validation_failed",
    "wallet_not_found",
    "window_open",
    "withdrawal_address_held",
    "withdrawal_address_internal",
    "withdrawal_address_refused",
    "withdrawal_address_removed",
    "withdrawal_decided",
    "withdrawal_not_cancellable",
    "withdrawal_not_found",
    "withdrawals_closed",
    "withdrawals_paused",
]
