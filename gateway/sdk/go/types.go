package causeway

import "encoding/json"

// Generated from gateway/openapi.yaml by make docs. Do not edit.

// AddressBookAnswer is a part of the API.
type AddressBookAnswer struct {
	Addresses  []AddressBookEntry `json:"addresses"`
	Pagination Pagination         `json:"pagination"`
	Success    bool               `json:"success"`
}

// AddressBookEntry is a part of the API.
type AddressBookEntry struct {
	Address string `json:"address"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string `json:"createdAt"`
	ID        string `json:"id"`
	Label     string `json:"label"`
	Network   string `json:"network"`
	// ISO 8601, UTC, with milliseconds.
	UsableAt string `json:"usableAt"`
}

// AddressBookEntryAnswer is a part of the API.
type AddressBookEntryAnswer struct {
	Address AddressBookEntry `json:"address"`
	Success bool             `json:"success"`
}

// AddressBookEventDataAddress is a part of the API.
type AddressBookEventDataAddress struct {
	Address string `json:"address"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string `json:"createdAt"`
	ID        string `json:"id"`
	Label     string `json:"label"`
	Network   string `json:"network"`
	Sequence  int64  `json:"sequence"`
	// ISO 8601, UTC, with milliseconds.
	UsableAt string `json:"usableAt"`
}

// AddressBookEventData is a part of the API.
type AddressBookEventData struct {
	Address AddressBookEventDataAddress `json:"address"`
}

// AddressBookEvent is a part of the API.
type AddressBookEvent struct {
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string               `json:"createdAt"`
	Data      AddressBookEventData `json:"data"`
	ID        string               `json:"id"`
	Mode      Mode                 `json:"mode"`
	Type      string               `json:"type"`
}

// AddressRemovedAnswer is a part of the API.
type AddressRemovedAnswer struct {
	Success bool `json:"success"`
}

// BalancesAnswerBalances is a part of the API.
type BalancesAnswerBalances struct {
	// A canonical decimal.
	Available string `json:"available"`
	Crypto    string `json:"crypto"`
	// The sum that withdrawals have taken beyond the balance, after its chain took a deposit back. Absent
	// otherwise.
	Missing string `json:"missing"`
	Network string `json:"network"`
	// A canonical decimal.
	Pending string `json:"pending"`
}

// BalancesAnswerFiat is a part of the API.
type BalancesAnswerFiat struct {
	// Below zero where a person has booked more to the merchant than was owed.
	Available Decimal      `json:"available"`
	Currency  FiatCurrency `json:"currency"`
	Pending   Decimal      `json:"pending"`
}

// BalancesAnswer is a part of the API.
type BalancesAnswer struct {
	Balances []BalancesAnswerBalances `json:"balances"`
	// For a key that has `payment:read`.
	Fiat    []BalancesAnswerFiat `json:"fiat"`
	Success bool                 `json:"success"`
}

// BankListAnswerBanks is a part of the API.
type BankListAnswerBanks struct {
	Code     string       `json:"code"`
	Currency FiatCurrency `json:"currency"`
	Name     string       `json:"name"`
}

// BankListAnswer is a part of the API.
type BankListAnswer struct {
	Banks   []BankListAnswerBanks `json:"banks"`
	Success bool                  `json:"success"`
}

// ChangeSettlementSettings is a part of the API.
type ChangeSettlementSettings struct {
	Daily []ChooseDailySettlement `json:"daily,omitzero"`
	// `self`: the caller pays out and confirms with a token; `balance`: the money goes into the merchant's
	// balance.
	MerchantPayments string `json:"merchantPayments,omitzero"`
}

// Charge is of the API: The fee, in three units. Once the money is converted, GET and events show the taken fee:
// if more or less than the quote is paid out, it is the fee of the converted amount.
type Charge struct {
	Crypto Decimal `json:"crypto"`
	Fiat   Decimal `json:"fiat"`
	USD    Decimal `json:"usd"`
}

// CheckoutAnswerPaymentOptions is a part of the API.
type CheckoutAnswerPaymentOptions struct {
	Crypto       string  `json:"crypto"`
	CryptoAmount Decimal `json:"cryptoAmount"`
	Network      string  `json:"network"`
	Rate         Decimal `json:"rate"`
}

// CheckoutAnswerPayment is a part of the API.
type CheckoutAnswerPayment struct {
	Charge *Charge `json:"charge"`
	// Of a gift.
	Claimed        *bool    `json:"claimed"`
	Confirmations  int64    `json:"confirmations"`
	Crypto         string   `json:"crypto"`
	CryptoAmount   *Decimal `json:"cryptoAmount"`
	DepositAddress string   `json:"depositAddress"`
	// As the create sent it.
	Description string           `json:"description"`
	Exception   PaymentException `json:"exception"`
	// ISO 8601, UTC, with milliseconds.
	ExpiresAt    string       `json:"expiresAt"`
	FiatAmount   Decimal      `json:"fiatAmount"`
	FiatCurrency FiatCurrency `json:"fiatCurrency"`
	// The sum of transfers that are too small to begin a payment and do not count so far. They count once a
	// larger transfer has begun it. Absent when there are none.
	IgnoredAmount *Decimal `json:"ignoredAmount"`
	// As the create sent it.
	Locale string `json:"locale"`
	// As the create sent it.
	MerchantReference string `json:"merchantReference"`
	Mode              Mode   `json:"mode"`
	Network           string `json:"network"`
	// The price now of a request that is not fulfilled yet, on each open network whose minimum it meets.
	Options        []CheckoutAnswerPaymentOptions `json:"options"`
	PaymentURI     string                         `json:"paymentUri"`
	PayoutAmount   *Decimal                       `json:"payoutAmount"`
	Preferred      *PaymentPreferred              `json:"preferred"`
	Rate           *Decimal                       `json:"rate"`
	ReceivedAmount Decimal                        `json:"receivedAmount"`
	// The code of a shard, which is always the same for you, and twelve random characters; references from
	// before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
	// Every holder of its reference can claim the gift, so neither log nor show it.
	Reference string `json:"reference"`
	// The address to which money of the payment goes back. The merchant set it, or a proposal was confirmed.
	RefundAddress string `json:"refundAddress"`
	// No refund leaves before this time. Each change of the refund address of a live payment sets it, 24 hours
	// ahead by default. Test mode has none.
	RefundAddressHeldUntil string `json:"refundAddressHeldUntil"`
	// The address that the payer proposes. It has no effect until the merchant or an operator confirms it.
	RefundAddressProposed string `json:"refundAddressProposed"`
	// The refunds of the payment, oldest first; absent without one.
	Refunds []Refund `json:"refunds"`
	// The amount that the payer still has to send; 0 once enough has come.
	RemainingAmount       *Decimal `json:"remainingAmount"`
	RequiredConfirmations *int64   `json:"requiredConfirmations"`
	// As the create sent it.
	ReturnURL string        `json:"returnUrl"`
	SettledAt string        `json:"settledAt"`
	Status    PaymentStatus `json:"status"`
	// Something is owed to the payer, who may propose an address for it. See POST
	// /v1/checkout/{reference}/refund-address.
	TakesRefundAddress bool `json:"takesRefundAddress"`
	// True while naming the paying transaction may help: on this network the service may not see coin from a
	// smart wallet, a contract or an exchange by itself. See POST /v1/checkout/{reference}/transaction.
	TakesTransactionHash bool        `json:"takesTransactionHash"`
	TransactionUSD       *Decimal    `json:"transactionUsd"`
	TxHash               string      `json:"txHash"`
	Type                 PaymentType `json:"type"`
}

// CheckoutAnswer is a part of the API.
type CheckoutAnswer struct {
	Payment CheckoutAnswerPayment `json:"payment"`
	Success bool                  `json:"success"`
}

// ChooseDailySettlement is a part of the API.
type ChooseDailySettlement struct {
	Currency FiatCurrency `json:"currency"`
	// At most two decimal places.
	Minimum             Decimal `json:"minimum"`
	SettlementAccountID string  `json:"settlementAccountId"`
}

// ClaimGiftReceiver is a part of the API.
type ClaimGiftReceiver struct {
	AccountNumber string `json:"accountNumber"`
	BankCode      string `json:"bankCode"`
}

// ClaimGift is of the API: Unknown fields are ignored, `accountName` and `bankName` among them.
type ClaimGift struct {
	Receiver ClaimGiftReceiver `json:"receiver"`
}

// ComplaintType is of the API: `track_transaction`: somebody looks for a transaction; `stolen_funds`: money was
// stolen; `fraud`: somebody deceived the reporter.
type ComplaintType string

// The values of ComplaintType.
const (
	ComplaintTypeTrackTransaction ComplaintType = "track_transaction"
	ComplaintTypeStolenFunds      ComplaintType = "stolen_funds"
	ComplaintTypeFraud            ComplaintType = "fraud"
)

// ConfirmSettlementAccount is a part of the API.
type ConfirmSettlementAccount struct {
	AccountNumber string `json:"accountNumber"`
}

// CreatePaymentPayer is a part of the API.
type CreatePaymentPayer struct {
	ChatID string `json:"chatId"`
	Phone  string `json:"phone,omitzero"`
}

// CreatePaymentReceiver is a part of the API.
type CreatePaymentReceiver struct {
	AccountNumber string `json:"accountNumber"`
	BankCode      string `json:"bankCode"`
}

// CreatePayment is of the API: Unknown fields are ignored. null, and an empty string where a field is optional,
// mean not supplied.
type CreatePayment struct {
	// `bank_confirmation` only.
	BankRef string `json:"bankRef,omitzero"`
	// Where status events are posted. Live mode: https only.
	CallbackURL string `json:"callbackUrl,omitzero"`
	// `fiat`: the fee is taken from the payout; `crypto`: it is added to the crypto amount. Required for
	// `transfer`.
	ChargeFrom string `json:"chargeFrom,omitzero"`
	// Required except for `request`. Read without regard to case.
	Crypto string `json:"crypto,omitzero"`
	// Crypto first; not with `request`, and not together with `fiatAmount`. At most eight digits after the
	// point.
	CryptoAmount Decimal `json:"cryptoAmount,omitzero"`
	// The goods or the service, in words for the payer; one line on the pay page.
	Description string `json:"description,omitzero"`
	// Required unless `cryptoAmount` is given. At most two digits after the point.
	FiatAmount   Decimal      `json:"fiatAmount,omitzero"`
	FiatCurrency FiatCurrency `json:"fiatCurrency"`
	// Language tag of the payer, such as `fr`, for the pay page. The browser's language is taken for one that
	// the page does not have.
	Locale string `json:"locale,omitzero"`
	// Your own name of what is paid, such as an order number; on the pay page, in GET, events, settlements and
	// filters. Unique among your payments of the mode that are not expired, cancelled or refunded, else 409
	// `merchant_reference_used`.
	MerchantReference string `json:"merchantReference,omitzero"`
	// At most 8 KiB.
	Metadata map[string]any `json:"metadata,omitzero"`
	// Name or alias, as `crypto`: `tron` or `trc20`.
	Network string `json:"network,omitzero"`
	// Required for `transfer` and `gift`; not with `request`.
	Payer *CreatePaymentPayer `json:"payer,omitzero"`
	// Required for `transfer` and `request`; not with `gift` and `bank_confirmation`.
	Receiver *CreatePaymentReceiver `json:"receiver,omitzero"`
	// Page of the shop to which the pay page leads back; https without user information, in test mode also http
	// on localhost. The query gets `reference`, except of a gift.
	ReturnURL string      `json:"returnUrl,omitzero"`
	Type      PaymentType `json:"type"`
}

// CreateRefund is of the API: Unknown fields are ignored.
type CreateRefund struct {
	// Without it, everything that is owed in the asset. At most as many digits after the point as the asset
	// has.
	Amount Decimal `json:"amount,omitzero"`
	// Needed, with `network`, where several assets are owed. Read without regard to case.
	Crypto string `json:"crypto,omitzero"`
	// Name or alias: `tron` or `trc20`.
	Network string `json:"network,omitzero"`
	Reason  string `json:"reason"`
}

// CreateReport is of the API: Unknown fields are ignored. null, and an empty string where a field is optional,
// mean not supplied.
type CreateReport struct {
	ComplaintType ComplaintType `json:"complaintType"`
	Description   string        `json:"description,omitzero"`
	// The alleged fraudster's, 1 to 128 characters.
	FraudsterWalletAddress string `json:"fraudsterWalletAddress,omitzero"`
	// Who files the report.
	Name string `json:"name"`
	// Required unless `walletAddress` is given; 6 to 20 digits once cleaned.
	PhoneNumber string `json:"phoneNumber,omitzero"`
	// Related payment reference, 1 to 64 characters.
	SessionReference string `json:"sessionReference,omitzero"`
	// The reporter's own; required unless `phoneNumber` is given. 1 to 128 characters.
	WalletAddress string `json:"walletAddress,omitzero"`
}

// CreateSettlementAccountReceiver is a part of the API.
type CreateSettlementAccountReceiver struct {
	AccountNumber string `json:"accountNumber"`
	BankCode      string `json:"bankCode"`
}

// CreateSettlementAccount is a part of the API.
type CreateSettlementAccount struct {
	Currency FiatCurrency                    `json:"currency"`
	Receiver CreateSettlementAccountReceiver `json:"receiver"`
}

// CreateWallet is a part of the API.
type CreateWallet struct {
	Crypto string `json:"crypto"`
	// May have a fraction.
	ExpiresInMinutes Decimal `json:"expiresInMinutes,omitzero"`
	// Returned in webhooks; at most 8 KiB.
	Metadata map[string]any `json:"metadata,omitzero"`
	// A network or one of its aliases.
	Network string `json:"network"`
}

// CreateWithdrawal is a part of the API.
type CreateWithdrawal struct {
	// At most two decimal places.
	Amount              Decimal      `json:"amount"`
	Currency            FiatCurrency `json:"currency"`
	SettlementAccountID string       `json:"settlementAccountId"`
}

// DailySettlement is a part of the API.
type DailySettlement struct {
	Currency FiatCurrency `json:"currency"`
	// At most two decimal places.
	Minimum             Decimal `json:"minimum"`
	SettlementAccountID string  `json:"settlementAccountId"`
}

// EndpointEventDataEndpoint is a part of the API.
type EndpointEventDataEndpoint struct {
	// `merchant`: a key disabled it; `gone`: it answered 410; `failing`: it failed for too long.
	DisabledReason string `json:"disabledReason"`
	Enabled        bool   `json:"enabled"`
	FailingSince   string `json:"failingSince"`
	ID             string `json:"id"`
	// Counts the events of this endpoint: 1, 2, 3 without gaps.
	Sequence int64  `json:"sequence"`
	URL      string `json:"url"`
}

// EndpointEventData is a part of the API.
type EndpointEventData struct {
	Endpoint EndpointEventDataEndpoint `json:"endpoint"`
}

// EndpointEvent is a part of the API.
type EndpointEvent struct {
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string            `json:"createdAt"`
	Data      EndpointEventData `json:"data"`
	ID        string            `json:"id"`
	Mode      Mode              `json:"mode"`
	// `webhook.endpoint_failing`, `webhook.endpoint_disabled`, or `webhook.test`, which was asked for.
	Type string `json:"type"`
}

// EventListAnswer is a part of the API.
type EventListAnswer struct {
	Events     []Event    `json:"events"`
	Pagination Pagination `json:"pagination"`
	Success    bool       `json:"success"`
}

// EventTypeName is of the API: The name of an event: the object, a point, and the change of the object.
type EventTypeName string

// The values of EventTypeName.
const (
	EventTypeNamePaymentCreated               EventTypeName = "payment.created"
	EventTypeNamePaymentPending               EventTypeName = "payment.pending"
	EventTypeNamePaymentConfirming            EventTypeName = "payment.confirming"
	EventTypeNamePaymentConfirmed             EventTypeName = "payment.confirmed"
	EventTypeNamePaymentSettling              EventTypeName = "payment.settling"
	EventTypeNamePaymentSettled               EventTypeName = "payment.settled"
	EventTypeNamePaymentExpired               EventTypeName = "payment.expired"
	EventTypeNamePaymentCancelled             EventTypeName = "payment.cancelled"
	EventTypeNamePaymentNeedsReview           EventTypeName = "payment.needs_review"
	EventTypeNamePaymentRefunded              EventTypeName = "payment.refunded"
	EventTypeNamePaymentUnderpaid             EventTypeName = "payment.underpaid"
	EventTypeNamePaymentOverpaid              EventTypeName = "payment.overpaid"
	EventTypeNamePaymentReorged               EventTypeName = "payment.reorged"
	EventTypeNamePaymentWrongAsset            EventTypeName = "payment.wrong_asset"
	EventTypeNamePaymentRefundAddressChanged  EventTypeName = "payment.refund_address_changed"
	EventTypeNamePaymentRefundAddressProposed EventTypeName = "payment.refund_address_proposed"
	EventTypeNamePaymentRefundRequested       EventTypeName = "payment.refund_requested"
	EventTypeNamePaymentRefundApproved        EventTypeName = "payment.refund_approved"
	EventTypeNamePaymentRefundSigning         EventTypeName = "payment.refund_signing"
	EventTypeNamePaymentRefundSent            EventTypeName = "payment.refund_sent"
	EventTypeNamePaymentRefundConfirmed       EventTypeName = "payment.refund_confirmed"
	EventTypeNamePaymentRefundFailed          EventTypeName = "payment.refund_failed"
	EventTypeNameWithdrawalRequested          EventTypeName = "withdrawal.requested"
	EventTypeNameWithdrawalApproved           EventTypeName = "withdrawal.approved"
	EventTypeNameWithdrawalSending            EventTypeName = "withdrawal.sending"
	EventTypeNameWithdrawalPaid               EventTypeName = "withdrawal.paid"
	EventTypeNameWithdrawalFailed             EventTypeName = "withdrawal.failed"
	EventTypeNameWithdrawalReturned           EventTypeName = "withdrawal.returned"
	EventTypeNameSettlementAccountAdded       EventTypeName = "settlement_account.added"
	EventTypeNameSettlementAccountConfirmed   EventTypeName = "settlement_account.confirmed"
	EventTypeNameSettlementAccountDeleted     EventTypeName = "settlement_account.deleted"
	EventTypeNameWalletWatching               EventTypeName = "wallet.watching"
	EventTypeNameWalletDepositDetected        EventTypeName = "wallet.deposit_detected"
	EventTypeNameWalletConfirmed              EventTypeName = "wallet.confirmed"
	EventTypeNameWalletSwept                  EventTypeName = "wallet.swept"
	EventTypeNameWalletExpired                EventTypeName = "wallet.expired"
	EventTypeNameWalletAddressAdded           EventTypeName = "wallet.address_added"
	EventTypeNameWalletWithdrawalRequested    EventTypeName = "wallet.withdrawal_requested"
	EventTypeNameWalletWithdrawalApproved     EventTypeName = "wallet.withdrawal_approved"
	EventTypeNameWalletWithdrawalSigning      EventTypeName = "wallet.withdrawal_signing"
	EventTypeNameWalletWithdrawalSent         EventTypeName = "wallet.withdrawal_sent"
	EventTypeNameWalletWithdrawalConfirmed    EventTypeName = "wallet.withdrawal_confirmed"
	EventTypeNameWalletWithdrawalFailed       EventTypeName = "wallet.withdrawal_failed"
	EventTypeNameReportCreated                EventTypeName = "report.created"
	EventTypeNameReportUpdated                EventTypeName = "report.updated"
	EventTypeNameWebhookEndpointFailing       EventTypeName = "webhook.endpoint_failing"
	EventTypeNameWebhookEndpointDisabled      EventTypeName = "webhook.endpoint_disabled"
	EventTypeNameWebhookTest                  EventTypeName = "webhook.test"
)

// FiatCurrency is of the API: ISO 4217: `NGN` naira of Nigeria, `GHS` cedi of Ghana, `KES` shilling of Kenya,
// `ZAR` rand of South Africa.
type FiatCurrency string

// The values of FiatCurrency.
const (
	FiatCurrencyNGN FiatCurrency = "NGN"
	FiatCurrencyGHS FiatCurrency = "GHS"
	FiatCurrencyKES FiatCurrency = "KES"
	FiatCurrencyZAR FiatCurrency = "ZAR"
)

// FulfillRequestPayer is a part of the API.
type FulfillRequestPayer struct {
	ChatID string `json:"chatId"`
	Phone  string `json:"phone,omitzero"`
}

// FulfillRequest is of the API: Unknown fields are ignored.
type FulfillRequest struct {
	// Read without regard to case.
	Crypto string `json:"crypto"`
	// Name or alias: `tron` or `trc20`.
	Network string              `json:"network"`
	Payer   FulfillRequestPayer `json:"payer"`
}

// GiftClaimedAnswerPaymentReceiver is a part of the API.
type GiftClaimedAnswerPaymentReceiver struct {
	// As the bank gives it; empty where it gave none.
	AccountName   string `json:"accountName"`
	AccountNumber string `json:"accountNumber"`
	BankName      string `json:"bankName"`
}

// GiftClaimedAnswerPayment is a part of the API.
type GiftClaimedAnswerPayment struct {
	// The one answer that shows the whole account number.
	Receiver GiftClaimedAnswerPaymentReceiver `json:"receiver"`
	// The code of a shard, which is always the same for you, and twelve random characters; references from
	// before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
	// Every holder of its reference can claim the gift, so neither log nor show it.
	Reference string `json:"reference"`
	Status    string `json:"status"`
}

// GiftClaimedAnswer is a part of the API.
type GiftClaimedAnswer struct {
	Message string                   `json:"message"`
	Payment GiftClaimedAnswerPayment `json:"payment"`
	Success bool                     `json:"success"`
}

// LinkAnswer is a part of the API.
type LinkAnswer struct {
	Link    PublicLink `json:"link"`
	Success bool       `json:"success"`
}

// LinkPayment is a part of the API.
type LinkPayment struct {
	// For a link of type merchant.
	Crypto string `json:"crypto,omitzero"`
	// Where the link has no amount.
	FiatAmount Decimal `json:"fiatAmount,omitzero"`
	// For a link of type merchant.
	Network string `json:"network,omitzero"`
}

// MeAnswerKey is a part of the API.
type MeAnswerKey struct {
	AllowedCidrs []string `json:"allowedCidrs"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string `json:"createdAt"`
	ExpiresAt string `json:"expiresAt"`
	ID        int64  `json:"id"`
	Mode      Mode   `json:"mode"`
	Name      string `json:"name"`
	PublicKey string `json:"publicKey"`
}

// MeAnswerLimits is a part of the API.
type MeAnswerLimits struct {
	Burst     *int64 `json:"burst"`
	PerSecond *int64 `json:"perSecond"`
	Tier      Tier   `json:"tier"`
}

// MeAnswerMerchant is a part of the API.
type MeAnswerMerchant struct {
	ID string `json:"id"`
}

// MeAnswer is a part of the API.
type MeAnswer struct {
	Key         MeAnswerKey      `json:"key"`
	Limits      MeAnswerLimits   `json:"limits"`
	Merchant    MeAnswerMerchant `json:"merchant"`
	Permissions []string         `json:"permissions"`
	Success     bool             `json:"success"`
}

// Metadata is of the API: The caller's own data.
type Metadata = json.RawMessage

// Mode is of the API: `live` moves real money; `test` runs on simulated chains and banks. Neither sees anything
// of the other.
type Mode string

// The values of Mode.
const (
	ModeLive Mode = "live"
	ModeTest Mode = "test"
)

// NameTransaction is a part of the API.
type NameTransaction struct {
	// 0x and 64 hexadecimal digits.
	TxHash string `json:"txHash"`
}

// NamedTransactionAnswer is a part of the API.
type NamedTransactionAnswer struct {
	Message string `json:"message"`
	Success bool   `json:"success"`
}

// NetworkListAnswerLimits is a part of the API.
type NetworkListAnswerLimits struct {
	FiatCurrency FiatCurrency `json:"fiatCurrency"`
	Maximum      Decimal      `json:"maximum"`
	Minimum      Decimal      `json:"minimum"`
}

// NetworkListAnswerNetworksCryptosMinimums is a part of the API.
type NetworkListAnswerNetworksCryptosMinimums struct {
	Live *Decimal `json:"live"`
	Test *Decimal `json:"test"`
}

// NetworkListAnswerNetworksCryptos is a part of the API.
type NetworkListAnswerNetworksCryptos struct {
	Crypto   string `json:"crypto"`
	Decimals int64  `json:"decimals"`
	// The least payment, in the crypto; a smaller one is 400 `amount_below_minimum`. It is that of live mode if
	// live mode is enabled, else that of test mode. Null where none is enforced.
	Minimum *Decimal `json:"minimum"`
	// The same for each mode.
	Minimums NetworkListAnswerNetworksCryptosMinimums `json:"minimums"`
	// False if the service may not see this coin from a smart wallet, a contract or an exchange by itself. The
	// payer then names the transaction (POST /v1/checkout/{reference}/transaction).
	SeesContractTransfers bool `json:"seesContractTransfers"`
}

// NetworkListAnswerNetworksModes is a part of the API.
type NetworkListAnswerNetworksModes struct {
	Live NetworkOpen `json:"live"`
	Test NetworkOpen `json:"test"`
}

// NetworkListAnswerNetworks is a part of the API.
type NetworkListAnswerNetworks struct {
	Aliases []string `json:"aliases"`
	// Null where only finality counts.
	Confirmations *int64                             `json:"confirmations"`
	Cryptos       []NetworkListAnswerNetworksCryptos `json:"cryptos"`
	// The form of its addresses: `bitcoin`, `evm`, `tron` or `solana`.
	Family string `json:"family"`
	// A block that the network calls final is enough.
	Finality bool `json:"finality"`
	// Whether the network accepts new payments now, for each mode.
	Modes   NetworkListAnswerNetworksModes `json:"modes"`
	Network string                         `json:"network"`
}

// NetworkListAnswerPauses is a part of the API.
type NetworkListAnswerPauses struct {
	FiatCurrency string     `json:"fiatCurrency"`
	Network      string     `json:"network"`
	Paused       PausedPart `json:"paused"`
	Rail         string     `json:"rail"`
	// ISO 8601, UTC, with milliseconds.
	Since string `json:"since"`
}

// NetworkListAnswer is a part of the API.
type NetworkListAnswer struct {
	Limits   []NetworkListAnswerLimits   `json:"limits"`
	Networks []NetworkListAnswerNetworks `json:"networks"`
	// The pauses that operators have ordered. Null means all.
	Pauses  []NetworkListAnswerPauses `json:"pauses"`
	Success bool                      `json:"success"`
}

// NetworkOpen is a part of the API.
type NetworkOpen struct {
	// While it is false, creating or fulfilling a payment on the network is a 503, mostly
	// `network_unavailable`.
	Open bool `json:"open"`
	// Null while the network is open. `mode_disabled`: the mode takes no payments. `no_addresses`: the mode
	// keeps no addresses of this family. `paused`: an operator has paused quotes. `not_followed`: no scanner
	// follows the network. `silent`: its scanner reports nothing. `unreachable`: no node answers its scanner.
	// `stalled`: the chain makes no blocks. `behind`: the scan trails the chain. `halted`: the scan waits for
	// an operator after a deep reorganisation. `mismatched`: a setting differs from that of the issued
	// addresses, or its assets have other decimals than the stored amounts.
	Reason string `json:"reason"`
}

// NewAddressBookEntry is of the API: Unknown fields are ignored.
type NewAddressBookEntry struct {
	Address string `json:"address"`
	Label   string `json:"label,omitzero"`
	// A network or one of its aliases.
	Network string `json:"network"`
}

// NewWalletWithdrawal is of the API: Unknown fields are ignored.
type NewWalletWithdrawal struct {
	AddressID string `json:"addressId"`
	// The amount that arrives; a number, or a string that holds one. At most as many digits after the point as
	// the crypto has.
	Amount Decimal `json:"amount"`
	Crypto string  `json:"crypto"`
	// The fee that the merchant has seen. Where another one holds now, the answer is a 409 `fee_changed`.
	Fee Decimal `json:"fee,omitzero"`
	// A network or one of its aliases.
	Network string `json:"network"`
}

// Pagination is a part of the API.
type Pagination struct {
	HasMore    bool   `json:"hasMore"`
	Limit      int64  `json:"limit"`
	NextCursor string `json:"nextCursor"`
}

// PausedPart is of the API: `quotes`: prices of new payments; `payouts`: money to banks; `refunds`: money back
// to payers, and withdrawals of crypto.
type PausedPart string

// The values of PausedPart.
const (
	PausedPartQuotes  PausedPart = "quotes"
	PausedPartPayouts PausedPart = "payouts"
	PausedPartRefunds PausedPart = "refunds"
)

// Payment is a part of the API.
type Payment struct {
	// As the create sent it.
	BankRef       string  `json:"bankRef"`
	Charge        *Charge `json:"charge"`
	CheckoutURL   string  `json:"checkoutUrl"`
	Confirmations int64   `json:"confirmations"`
	ConfirmedAt   string  `json:"confirmedAt"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt      string   `json:"createdAt"`
	Crypto         string   `json:"crypto"`
	CryptoAmount   *Decimal `json:"cryptoAmount"`
	DepositAddress string   `json:"depositAddress"`
	// As the create sent it.
	Description string           `json:"description"`
	Exception   PaymentException `json:"exception"`
	// ISO 8601, UTC, with milliseconds.
	ExpiresAt string `json:"expiresAt"`
	// The fee schedule that priced the payment. It never changes.
	FeeScheduleID string       `json:"feeScheduleId"`
	FiatAmount    Decimal      `json:"fiatAmount"`
	FiatCurrency  FiatCurrency `json:"fiatCurrency"`
	// The sum of transfers that are too small to begin a payment and do not count so far. They count once a
	// larger transfer has begun it. Absent when there are none.
	IgnoredAmount *Decimal `json:"ignoredAmount"`
	// As the create sent it.
	Locale string `json:"locale"`
	// As the create sent it.
	MerchantReference string            `json:"merchantReference"`
	Metadata          Metadata          `json:"metadata"`
	Network           string            `json:"network"`
	PaymentURI        string            `json:"paymentUri"`
	Payout            *PaymentPayout    `json:"payout"`
	PayoutAmount      *Decimal          `json:"payoutAmount"`
	Preferred         *PaymentPreferred `json:"preferred"`
	// The locked rate; after late money was accepted, the lower of it and the rate when the money came.
	Rate           *Decimal         `json:"rate"`
	ReceivedAmount Decimal          `json:"receivedAmount"`
	Receiver       *PaymentReceiver `json:"receiver"`
	// The code of a shard, which is always the same for you, and twelve random characters; references from
	// before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
	// Every holder of its reference can claim the gift, so neither log nor show it.
	Reference string `json:"reference"`
	// The address to which money of the payment goes back. The merchant set it, or a proposal was confirmed.
	RefundAddress string `json:"refundAddress"`
	// No refund leaves before this time. Each change of the refund address of a live payment sets it, 24 hours
	// ahead by default. Test mode has none.
	RefundAddressHeldUntil string `json:"refundAddressHeldUntil"`
	// The address that the payer proposes. It has no effect until the merchant or an operator confirms it.
	RefundAddressProposed string `json:"refundAddressProposed"`
	// Refunds on the chain, oldest first. An event shows each as it is when the event happens. Absent in events
	// of earlier releases.
	Refunds []Refund `json:"refunds"`
	// As the create sent it.
	ReturnURL string `json:"returnUrl"`
	SettledAt string `json:"settledAt"`
	// As the caller's settlement sent it.
	SettlementReference string            `json:"settlementReference"`
	Status              PaymentStatus     `json:"status"`
	TransactionUSD      *Decimal          `json:"transactionUsd"`
	Transfers           []PaymentTransfer `json:"transfers"`
	// Empty until a transaction is seen.
	TxHash string      `json:"txHash"`
	Type   PaymentType `json:"type"`
}

// PaymentAnswer is a part of the API.
type PaymentAnswer struct {
	Payment Payment `json:"payment"`
	Success bool    `json:"success"`
}

// PaymentCommon is of the API: A payment as its merchant and operators read it. A request that is not fulfilled
// has none of depositAddress, cryptoAmount, crypto, network, rate, charge, transactionUsd, payoutAmount.
type PaymentCommon struct {
	// As the create sent it.
	BankRef       string  `json:"bankRef"`
	Charge        *Charge `json:"charge"`
	CheckoutURL   string  `json:"checkoutUrl"`
	Confirmations int64   `json:"confirmations"`
	ConfirmedAt   string  `json:"confirmedAt"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt      string   `json:"createdAt"`
	Crypto         string   `json:"crypto"`
	CryptoAmount   *Decimal `json:"cryptoAmount"`
	DepositAddress string   `json:"depositAddress"`
	// As the create sent it.
	Description string           `json:"description"`
	Exception   PaymentException `json:"exception"`
	// ISO 8601, UTC, with milliseconds.
	ExpiresAt string `json:"expiresAt"`
	// The fee schedule that priced the payment. It never changes.
	FeeScheduleID string  `json:"feeScheduleId"`
	FiatAmount    Decimal `json:"fiatAmount"`
	// The sum of transfers that are too small to begin a payment and do not count so far. They count once a
	// larger transfer has begun it. Absent when there are none.
	IgnoredAmount *Decimal `json:"ignoredAmount"`
	// As the create sent it.
	Locale string `json:"locale"`
	// As the create sent it.
	MerchantReference string            `json:"merchantReference"`
	Metadata          Metadata          `json:"metadata"`
	Network           string            `json:"network"`
	PaymentURI        string            `json:"paymentUri"`
	PayoutAmount      *Decimal          `json:"payoutAmount"`
	Preferred         *PaymentPreferred `json:"preferred"`
	// The locked rate; after late money was accepted, the lower of it and the rate when the money came.
	Rate           *Decimal         `json:"rate"`
	ReceivedAmount Decimal          `json:"receivedAmount"`
	Receiver       *PaymentReceiver `json:"receiver"`
	// The address to which money of the payment goes back. The merchant set it, or a proposal was confirmed.
	RefundAddress string `json:"refundAddress"`
	// No refund leaves before this time. Each change of the refund address of a live payment sets it, 24 hours
	// ahead by default. Test mode has none.
	RefundAddressHeldUntil string `json:"refundAddressHeldUntil"`
	// The address that the payer proposes. It has no effect until the merchant or an operator confirms it.
	RefundAddressProposed string `json:"refundAddressProposed"`
	// Refunds on the chain, oldest first. An event shows each as it is when the event happens. Absent in events
	// of earlier releases.
	Refunds []Refund `json:"refunds"`
	// As the create sent it.
	ReturnURL string `json:"returnUrl"`
	SettledAt string `json:"settledAt"`
	// As the caller's settlement sent it.
	SettlementReference string            `json:"settlementReference"`
	Status              PaymentStatus     `json:"status"`
	TransactionUSD      *Decimal          `json:"transactionUsd"`
	Transfers           []PaymentTransfer `json:"transfers"`
	// Empty until a transaction is seen.
	TxHash string `json:"txHash"`
}

// PaymentCreatedAnswerPayment is a part of the API.
type PaymentCreatedAnswerPayment struct {
	Charge         *Charge  `json:"charge"`
	Crypto         string   `json:"crypto"`
	CryptoAmount   *Decimal `json:"cryptoAmount"`
	DepositAddress string   `json:"depositAddress"`
	// ISO 8601, UTC, with milliseconds.
	ExpiresAt    string       `json:"expiresAt"`
	FiatAmount   Decimal      `json:"fiatAmount"`
	FiatCurrency FiatCurrency `json:"fiatCurrency"`
	ID           string       `json:"id"`
	Network      string       `json:"network"`
	Rate         *Decimal     `json:"rate"`
	// The code of a shard, which is always the same for you, and twelve random characters; references from
	// before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
	// Every holder of its reference can claim the gift, so neither log nor show it.
	Reference      string   `json:"reference"`
	Status         string   `json:"status"`
	TransactionUSD *Decimal `json:"transactionUsd"`
	// A type that is priced at once, `transfer`, `gift`, `merchant` or `bank_confirmation`; see PaymentType.
	Type string `json:"type"`
}

// PaymentCreatedAnswer is a part of the API.
type PaymentCreatedAnswer struct {
	Payment PaymentCreatedAnswerPayment `json:"payment"`
	Success bool                        `json:"success"`
}

// PaymentEventData is a part of the API.
type PaymentEventData struct {
	Payment PaymentInEvent `json:"payment"`
}

// PaymentEvent is a part of the API.
type PaymentEvent struct {
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string           `json:"createdAt"`
	Data      PaymentEventData `json:"data"`
	ID        string           `json:"id"`
	Mode      Mode             `json:"mode"`
	// The change of the payment that the event reports; see the list of events.
	Type string `json:"type"`
}

// PaymentException is of the API: The reason for special handling, or null. `over_limit`: more money came than
// was quoted, and its worth passes a limit; a person decides. `unverified`: the payment is large and only one
// provider confirms its deposit; a person decides.
type PaymentException string

// The values of PaymentException.
const (
	PaymentExceptionUnderpaid      PaymentException = "underpaid"
	PaymentExceptionOverpaid       PaymentException = "overpaid"
	PaymentExceptionPaidLate       PaymentException = "paid_late"
	PaymentExceptionWrongAsset     PaymentException = "wrong_asset"
	PaymentExceptionReorged        PaymentException = "reorged"
	PaymentExceptionOverLimit      PaymentException = "over_limit"
	PaymentExceptionUnverified     PaymentException = "unverified"
	PaymentExceptionScreeningHold  PaymentException = "screening_hold"
	PaymentExceptionUnfunded       PaymentException = "unfunded"
	PaymentExceptionUnclaimed      PaymentException = "unclaimed"
	PaymentExceptionPayoutFailed   PaymentException = "payout_failed"
	PaymentExceptionPayoutReturned PaymentException = "payout_returned"
)

// PaymentFields is of the API: A payment as its merchant reads it.
type PaymentFields struct {
	// As the create sent it.
	BankRef       string  `json:"bankRef"`
	Charge        *Charge `json:"charge"`
	CheckoutURL   string  `json:"checkoutUrl"`
	Confirmations int64   `json:"confirmations"`
	ConfirmedAt   string  `json:"confirmedAt"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt      string   `json:"createdAt"`
	Crypto         string   `json:"crypto"`
	CryptoAmount   *Decimal `json:"cryptoAmount"`
	DepositAddress string   `json:"depositAddress"`
	// As the create sent it.
	Description string           `json:"description"`
	Exception   PaymentException `json:"exception"`
	// ISO 8601, UTC, with milliseconds.
	ExpiresAt string `json:"expiresAt"`
	// The fee schedule that priced the payment. It never changes.
	FeeScheduleID string       `json:"feeScheduleId"`
	FiatAmount    Decimal      `json:"fiatAmount"`
	FiatCurrency  FiatCurrency `json:"fiatCurrency"`
	// The sum of transfers that are too small to begin a payment and do not count so far. They count once a
	// larger transfer has begun it. Absent when there are none.
	IgnoredAmount *Decimal `json:"ignoredAmount"`
	// As the create sent it.
	Locale string `json:"locale"`
	// As the create sent it.
	MerchantReference string            `json:"merchantReference"`
	Metadata          Metadata          `json:"metadata"`
	Network           string            `json:"network"`
	PaymentURI        string            `json:"paymentUri"`
	Payout            *PaymentPayout    `json:"payout"`
	PayoutAmount      *Decimal          `json:"payoutAmount"`
	Preferred         *PaymentPreferred `json:"preferred"`
	// The locked rate; after late money was accepted, the lower of it and the rate when the money came.
	Rate           *Decimal         `json:"rate"`
	ReceivedAmount Decimal          `json:"receivedAmount"`
	Receiver       *PaymentReceiver `json:"receiver"`
	// The code of a shard, which is always the same for you, and twelve random characters; references from
	// before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
	// Every holder of its reference can claim the gift, so neither log nor show it.
	Reference string `json:"reference"`
	// The address to which money of the payment goes back. The merchant set it, or a proposal was confirmed.
	RefundAddress string `json:"refundAddress"`
	// No refund leaves before this time. Each change of the refund address of a live payment sets it, 24 hours
	// ahead by default. Test mode has none.
	RefundAddressHeldUntil string `json:"refundAddressHeldUntil"`
	// The address that the payer proposes. It has no effect until the merchant or an operator confirms it.
	RefundAddressProposed string `json:"refundAddressProposed"`
	// Refunds on the chain, oldest first. An event shows each as it is when the event happens. Absent in events
	// of earlier releases.
	Refunds []Refund `json:"refunds"`
	// As the create sent it.
	ReturnURL string `json:"returnUrl"`
	SettledAt string `json:"settledAt"`
	// As the caller's settlement sent it.
	SettlementReference string            `json:"settlementReference"`
	Status              PaymentStatus     `json:"status"`
	TransactionUSD      *Decimal          `json:"transactionUsd"`
	Transfers           []PaymentTransfer `json:"transfers"`
	// Empty until a transaction is seen.
	TxHash string      `json:"txHash"`
	Type   PaymentType `json:"type"`
}

// PaymentFulfilledAnswerPayment is a part of the API.
type PaymentFulfilledAnswerPayment struct {
	Charge         Charge  `json:"charge"`
	Crypto         string  `json:"crypto"`
	CryptoAmount   Decimal `json:"cryptoAmount"`
	DepositAddress string  `json:"depositAddress"`
	// ISO 8601, UTC, with milliseconds.
	ExpiresAt    string       `json:"expiresAt"`
	FiatAmount   Decimal      `json:"fiatAmount"`
	FiatCurrency FiatCurrency `json:"fiatCurrency"`
	Network      string       `json:"network"`
	Rate         Decimal      `json:"rate"`
	// The code of a shard, which is always the same for you, and twelve random characters; references from
	// before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
	// Every holder of its reference can claim the gift, so neither log nor show it.
	Reference      string  `json:"reference"`
	Status         string  `json:"status"`
	TransactionUSD Decimal `json:"transactionUsd"`
}

// PaymentFulfilledAnswer is a part of the API.
type PaymentFulfilledAnswer struct {
	Message string                        `json:"message"`
	Payment PaymentFulfilledAnswerPayment `json:"payment"`
	Success bool                          `json:"success"`
}

// PaymentInEvent is of the API: The payment right after the change that the event reports.
type PaymentInEvent struct {
	// As the create sent it.
	BankRef       string  `json:"bankRef"`
	Charge        *Charge `json:"charge"`
	CheckoutURL   string  `json:"checkoutUrl"`
	Confirmations int64   `json:"confirmations"`
	ConfirmedAt   string  `json:"confirmedAt"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt      string   `json:"createdAt"`
	Crypto         string   `json:"crypto"`
	CryptoAmount   *Decimal `json:"cryptoAmount"`
	DepositAddress string   `json:"depositAddress"`
	// As the create sent it.
	Description string           `json:"description"`
	Exception   PaymentException `json:"exception"`
	// ISO 8601, UTC, with milliseconds.
	ExpiresAt string `json:"expiresAt"`
	// The fee schedule that priced the payment. It never changes.
	FeeScheduleID string       `json:"feeScheduleId"`
	FiatAmount    Decimal      `json:"fiatAmount"`
	FiatCurrency  FiatCurrency `json:"fiatCurrency"`
	// The sum of transfers that are too small to begin a payment and do not count so far. They count once a
	// larger transfer has begun it. Absent when there are none.
	IgnoredAmount *Decimal `json:"ignoredAmount"`
	// As the create sent it.
	Locale string `json:"locale"`
	// As the create sent it.
	MerchantReference string            `json:"merchantReference"`
	Metadata          Metadata          `json:"metadata"`
	Network           string            `json:"network"`
	PaymentURI        string            `json:"paymentUri"`
	Payout            *PaymentPayout    `json:"payout"`
	PayoutAmount      *Decimal          `json:"payoutAmount"`
	Preferred         *PaymentPreferred `json:"preferred"`
	// The locked rate; after late money was accepted, the lower of it and the rate when the money came.
	Rate           *Decimal         `json:"rate"`
	ReceivedAmount Decimal          `json:"receivedAmount"`
	Receiver       *PaymentReceiver `json:"receiver"`
	// The code of a shard, which is always the same for you, and twelve random characters; references from
	// before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
	// Every holder of its reference can claim the gift, so neither log nor show it.
	Reference string `json:"reference"`
	// The address to which money of the payment goes back. The merchant set it, or a proposal was confirmed.
	RefundAddress string `json:"refundAddress"`
	// No refund leaves before this time. Each change of the refund address of a live payment sets it, 24 hours
	// ahead by default. Test mode has none.
	RefundAddressHeldUntil string `json:"refundAddressHeldUntil"`
	// The address that the payer proposes. It has no effect until the merchant or an operator confirms it.
	RefundAddressProposed string `json:"refundAddressProposed"`
	// Refunds on the chain, oldest first. An event shows each as it is when the event happens. Absent in events
	// of earlier releases.
	Refunds []Refund `json:"refunds"`
	// As the create sent it.
	ReturnURL string `json:"returnUrl"`
	// Counts the events of this payment: 1, 2, 3 without gaps.
	Sequence  int64  `json:"sequence"`
	SettledAt string `json:"settledAt"`
	// As the caller's settlement sent it.
	SettlementReference string `json:"settlementReference"`
	// In `payment.confirmed` of a payment that the merchant settles itself; works once, for 24 hours.
	SettlementToken string            `json:"settlementToken"`
	Status          PaymentStatus     `json:"status"`
	TransactionUSD  *Decimal          `json:"transactionUsd"`
	Transfers       []PaymentTransfer `json:"transfers"`
	// Empty until a transaction is seen.
	TxHash string      `json:"txHash"`
	Type   PaymentType `json:"type"`
}

// PaymentLink is a part of the API.
type PaymentLink struct {
	// ISO 8601, UTC, with milliseconds.
	CreatedAt           string       `json:"createdAt"`
	Description         string       `json:"description"`
	EndedAt             string       `json:"endedAt"`
	ExpiresAt           string       `json:"expiresAt"`
	FiatAmount          *Decimal     `json:"fiatAmount"`
	FiatCurrency        FiatCurrency `json:"fiatCurrency"`
	ID                  string       `json:"id"`
	MaximumAmount       *Decimal     `json:"maximumAmount"`
	MinimumAmount       *Decimal     `json:"minimumAmount"`
	SettlementAccountID string       `json:"settlementAccountId"`
	// Only an `active` link takes payments; one that is `used_up` takes some when a payment expires.
	Status string `json:"status"`
	Title  string `json:"title"`
	// Of the payments that it makes.
	Type string `json:"type"`
	// The page for payers; absent where no page is configured.
	URL        string `json:"url"`
	UsageLimit *int64 `json:"usageLimit"`
	// Payments that the link has made.
	Uses int64 `json:"uses"`
}

// PaymentLinkAnswer is a part of the API.
type PaymentLinkAnswer struct {
	PaymentLink PaymentLink `json:"paymentLink"`
	Success     bool        `json:"success"`
}

// PaymentLinkChange is a part of the API.
type PaymentLinkChange struct {
	Description string `json:"description,omitzero"`
	ExpiresAt   string `json:"expiresAt,omitzero"`
	// `ended` ends the link, `active` takes that back.
	Status     string `json:"status,omitzero"`
	Title      string `json:"title,omitzero"`
	UsageLimit *int64 `json:"usageLimit,omitzero"`
}

// PaymentLinkCreate is a part of the API.
type PaymentLinkCreate struct {
	// Payers see it.
	Description string `json:"description,omitzero"`
	ExpiresAt   string `json:"expiresAt,omitzero"`
	// Without it the payer names the amount.
	FiatAmount   Decimal      `json:"fiatAmount,omitzero"`
	FiatCurrency FiatCurrency `json:"fiatCurrency"`
	// Of an open amount.
	MaximumAmount Decimal `json:"maximumAmount,omitzero"`
	// Of an open amount.
	MinimumAmount Decimal `json:"minimumAmount,omitzero"`
	// A confirmed account in the currency; required for a request.
	SettlementAccountID string `json:"settlementAccountId,omitzero"`
	// Payers see it.
	Title string `json:"title"`
	// `request` pays out to a settlement account; the money of `merchant` is the merchant's.
	Type       string `json:"type"`
	UsageLimit *int64 `json:"usageLimit,omitzero"`
}

// PaymentLinkListAnswer is a part of the API.
type PaymentLinkListAnswer struct {
	Pagination   Pagination    `json:"pagination"`
	PaymentLinks []PaymentLink `json:"paymentLinks"`
	Success      bool          `json:"success"`
}

// PaymentListAnswer is a part of the API.
type PaymentListAnswer struct {
	Pagination Pagination `json:"pagination"`
	Payments   []Payment  `json:"payments"`
	Success    bool       `json:"success"`
}

// PaymentPayout is a part of the API.
type PaymentPayout struct {
	Amount    Decimal      `json:"amount"`
	Currency  FiatCurrency `json:"currency"`
	ID        string       `json:"id"`
	Reference string       `json:"reference"`
	Status    string       `json:"status"`
}

// PaymentPreferred is of the API: The crypto and network that the payee of a request prefers.
type PaymentPreferred struct {
	Crypto  string `json:"crypto"`
	Network string `json:"network"`
}

// PaymentPriced is of the API: The answer to creating any payment but a request.
type PaymentPriced struct {
	Charge         Charge  `json:"charge"`
	Crypto         string  `json:"crypto"`
	CryptoAmount   Decimal `json:"cryptoAmount"`
	DepositAddress string  `json:"depositAddress"`
	// ISO 8601, UTC, with milliseconds.
	ExpiresAt    string       `json:"expiresAt"`
	FiatAmount   Decimal      `json:"fiatAmount"`
	FiatCurrency FiatCurrency `json:"fiatCurrency"`
	Network      string       `json:"network"`
	Rate         Decimal      `json:"rate"`
	// The code of a shard, which is always the same for you, and twelve random characters; references from
	// before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
	// Every holder of its reference can claim the gift, so neither log nor show it.
	Reference      string  `json:"reference"`
	Status         string  `json:"status"`
	TransactionUSD Decimal `json:"transactionUsd"`
	// A type that is priced at once, `transfer`, `gift`, `merchant` or `bank_confirmation`; see PaymentType.
	Type string `json:"type"`
}

// PaymentReceiver is of the API: The account number shows its last four digits only.
type PaymentReceiver struct {
	// As the bank gives it; empty where it gave none.
	AccountName   string `json:"accountName"`
	AccountNumber string `json:"accountNumber"`
	BankName      string `json:"bankName"`
	NameVerified  *bool  `json:"nameVerified"`
}

// PaymentRequested is of the API: The answer to creating a request.
type PaymentRequested struct {
	FiatAmount   Decimal      `json:"fiatAmount"`
	FiatCurrency FiatCurrency `json:"fiatCurrency"`
	ID           string       `json:"id"`
	// The code of a shard, which is always the same for you, and twelve random characters; references from
	// before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
	// Every holder of its reference can claim the gift, so neither log nor show it.
	Reference string `json:"reference"`
	Status    string `json:"status"`
	Type      string `json:"type"`
}

// PaymentStatus is of the API: `confirming` with 0 confirmations: enough money was seen by `expiresAt`, and no
// block holds it yet. Nothing is paid on it. The transfer counts until two hours after `expiresAt`; then the
// payment continues with the transfers in blocks, as `expired` if there are none. If it is mined later, it is
// late money (`paid_late`). If it is replaced or dropped, the payment returns to its earlier status, with
// `reorged`.
type PaymentStatus string

// The values of PaymentStatus.
const (
	PaymentStatusCreated     PaymentStatus = "created"
	PaymentStatusPending     PaymentStatus = "pending"
	PaymentStatusConfirming  PaymentStatus = "confirming"
	PaymentStatusConfirmed   PaymentStatus = "confirmed"
	PaymentStatusSettling    PaymentStatus = "settling"
	PaymentStatusSettled     PaymentStatus = "settled"
	PaymentStatusExpired     PaymentStatus = "expired"
	PaymentStatusCancelled   PaymentStatus = "cancelled"
	PaymentStatusNeedsReview PaymentStatus = "needs_review"
	PaymentStatusRefunded    PaymentStatus = "refunded"
)

// PaymentTransfer is a part of the API.
type PaymentTransfer struct {
	Amount Decimal `json:"amount"`
	// 0 while no block holds the transfer.
	Confirmations int64 `json:"confirmations"`
	// ISO 8601, UTC, with milliseconds.
	FirstSeenAt string `json:"firstSeenAt"`
	TxHash      string `json:"txHash"`
}

// PaymentType is of the API: `transfer`: a payer pays a bank account that the create names. `gift`: the
// recipient names the account later, on the claim page. `request`: the create names account and amount, and the
// payer chooses the crypto later. `merchant`: the merchant sells something, and is paid itself or names an
// account. `bank_confirmation`: the caller pays out itself and confirms it with a settlement token.
type PaymentType string

// The values of PaymentType.
const (
	PaymentTypeTransfer         PaymentType = "transfer"
	PaymentTypeGift             PaymentType = "gift"
	PaymentTypeRequest          PaymentType = "request"
	PaymentTypeMerchant         PaymentType = "merchant"
	PaymentTypeBankConfirmation PaymentType = "bank_confirmation"
)

// ProposedRefundAddressAnswerRefund is a part of the API.
type ProposedRefundAddressAnswerRefund struct {
	// The address to which money of the payment goes back. The merchant set it, or a proposal was confirmed.
	RefundAddress string `json:"refundAddress"`
	// No refund leaves before this time. Each change of the refund address of a live payment sets it, 24 hours
	// ahead by default. Test mode has none.
	RefundAddressHeldUntil string `json:"refundAddressHeldUntil"`
	// The address that the payer proposes. It has no effect until the merchant or an operator confirms it.
	RefundAddressProposed string `json:"refundAddressProposed"`
}

// ProposedRefundAddressAnswer is a part of the API.
type ProposedRefundAddressAnswer struct {
	Refund  ProposedRefundAddressAnswerRefund `json:"refund"`
	Success bool                              `json:"success"`
}

// PublicLinkOptions is a part of the API.
type PublicLinkOptions struct {
	Crypto       string   `json:"crypto"`
	CryptoAmount *Decimal `json:"cryptoAmount"`
	Network      string   `json:"network"`
}

// PublicLink is a part of the API.
type PublicLink struct {
	Description   string              `json:"description"`
	FiatAmount    *Decimal            `json:"fiatAmount"`
	FiatCurrency  FiatCurrency        `json:"fiatCurrency"`
	ID            string              `json:"id"`
	MaximumAmount *Decimal            `json:"maximumAmount"`
	MinimumAmount *Decimal            `json:"minimumAmount"`
	Mode          Mode                `json:"mode"`
	Options       []PublicLinkOptions `json:"options"`
	// Only an `active` link takes payments.
	Status string `json:"status"`
	Title  string `json:"title"`
	// Of the payments that it makes.
	Type string `json:"type"`
}

// RateListAnswerRates is a part of the API.
type RateListAnswerRates struct {
	// Age of the oldest source that was used.
	AgeSeconds int64 `json:"ageSeconds"`
	// ISO 8601, UTC, with milliseconds.
	AsOf   string `json:"asOf"`
	Crypto string `json:"crypto"`
	// Fewer sources than wanted.
	Degraded   bool         `json:"degraded"`
	Fiat       FiatCurrency `json:"fiat"`
	FiatPerUSD Decimal      `json:"fiatPerUsd"`
	// Fiat per one unit of the crypto, spread included.
	Rate Decimal `json:"rate"`
	// Test prices of no market.
	Simulated   bool     `json:"simulated"`
	SourceNames []string `json:"sourceNames"`
	Sources     int64    `json:"sources"`
	// Basis points that the spread takes.
	SpreadBps int64 `json:"spreadBps"`
}

// RateListAnswer is a part of the API.
type RateListAnswer struct {
	Rates   []RateListAnswerRates `json:"rates"`
	Success bool                  `json:"success"`
}

// ReceiverVerifiedAnswerReceiver is a part of the API.
type ReceiverVerifiedAnswerReceiver struct {
	AccountName   string `json:"accountName"`
	AccountNumber string `json:"accountNumber"`
	BankCode      string `json:"bankCode"`
	BankName      string `json:"bankName"`
	// Result of the check digit of a Nigerian account number. It is advice; nothing is refused for it.
	CheckDigit   string       `json:"checkDigit"`
	FiatCurrency FiatCurrency `json:"fiatCurrency"`
	NameVerified bool         `json:"nameVerified"`
}

// ReceiverVerifiedAnswer is a part of the API.
type ReceiverVerifiedAnswer struct {
	Receiver ReceiverVerifiedAnswerReceiver `json:"receiver"`
	Success  bool                           `json:"success"`
}

// Refund is of the API: Crypto that leaves for the payer on a chain.
type Refund struct {
	// Fixed when the refund is requested.
	Address     string  `json:"address"`
	Amount      Decimal `json:"amount"`
	ConfirmedAt string  `json:"confirmedAt"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string `json:"createdAt"`
	Crypto    string `json:"crypto"`
	// Stable code of why a `failed` one failed, such as `refused`, `cancelled` or `reverted`.
	Failure string       `json:"failure"`
	ID      string       `json:"id"`
	Network string       `json:"network"`
	Status  RefundStatus `json:"status"`
	// Of the newest transaction; it may be replaced until the refund is confirmed.
	TxHash string `json:"txHash"`
}

// RefundAddress is a part of the API.
type RefundAddress struct {
	Address string `json:"address"`
}

// RefundAddressAnswerRefund is a part of the API.
type RefundAddressAnswerRefund struct {
	Address string `json:"address"`
	// No refund leaves before this time. Each change of the refund address of a live payment sets it, 24 hours
	// ahead by default. Test mode has none.
	HeldUntil string `json:"heldUntil"`
	Network   string `json:"network"`
	// The code of a shard, which is always the same for you, and twelve random characters; references from
	// before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
	// Every holder of its reference can claim the gift, so neither log nor show it.
	Reference string `json:"reference"`
}

// RefundAddressAnswer is a part of the API.
type RefundAddressAnswer struct {
	Refund  RefundAddressAnswerRefund `json:"refund"`
	Success bool                      `json:"success"`
}

// RefundAnswer is a part of the API.
type RefundAnswer struct {
	Refund  Refund `json:"refund"`
	Success bool   `json:"success"`
}

// RefundStatus is of the API: `requested` waits for operators; `sent` is with a node; `confirmed` is in a final
// block; the money of a `failed` one is owed again.
type RefundStatus string

// The values of RefundStatus.
const (
	RefundStatusRequested RefundStatus = "requested"
	RefundStatusApproved  RefundStatus = "approved"
	RefundStatusSigning   RefundStatus = "signing"
	RefundStatusSent      RefundStatus = "sent"
	RefundStatusConfirmed RefundStatus = "confirmed"
	RefundStatusFailed    RefundStatus = "failed"
)

// RefundsAnswer is a part of the API.
type RefundsAnswer struct {
	Refunds []Refund `json:"refunds"`
	Success bool     `json:"success"`
}

// Report is of the API: A report as everybody sees it. Internal fields are null.
type Report struct {
	AdminNotes string `json:"adminNotes"`
	// The key that filed it.
	APIKeyID      int64         `json:"apiKeyId"`
	ComplaintType ComplaintType `json:"complaintType"`
	Confirmer     string        `json:"confirmer"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt              string `json:"createdAt"`
	Description            string `json:"description"`
	FraudsterWalletAddress string `json:"fraudsterWalletAddress"`
	ID                     int64  `json:"id"`
	// The owner of that key.
	MerchantID  string `json:"merchantId"`
	Name        string `json:"name"`
	PhoneNumber string `json:"phoneNumber"`
	ReportID    string `json:"reportId"`
	// As it was sent; a gift's reference is null to everybody but keys of the merchant who filed the report.
	SessionReference string       `json:"sessionReference"`
	Status           ReportStatus `json:"status"`
	// ISO 8601, UTC, with milliseconds.
	UpdatedAt     string `json:"updatedAt"`
	WalletAddress string `json:"walletAddress"`
}

// ReportAnswerData is a part of the API.
type ReportAnswerData struct {
	Report Report `json:"report"`
}

// ReportAnswer is a part of the API.
type ReportAnswer struct {
	Data    ReportAnswerData `json:"data"`
	Success bool             `json:"success"`
}

// ReportEventData is a part of the API.
type ReportEventData struct {
	Report ReportInEvent `json:"report"`
}

// ReportEvent is a part of the API.
type ReportEvent struct {
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string          `json:"createdAt"`
	Data      ReportEventData `json:"data"`
	ID        string          `json:"id"`
	Mode      Mode            `json:"mode"`
	// `report.created`: it was filed; `report.updated`: the merchant moved it on.
	Type string `json:"type"`
}

// ReportFields is a part of the API.
type ReportFields struct {
	// The key that filed it.
	APIKeyID      int64         `json:"apiKeyId"`
	ComplaintType ComplaintType `json:"complaintType"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt              string `json:"createdAt"`
	Description            string `json:"description"`
	FraudsterWalletAddress string `json:"fraudsterWalletAddress"`
	ID                     int64  `json:"id"`
	// The owner of that key.
	MerchantID  string `json:"merchantId"`
	Name        string `json:"name"`
	PhoneNumber string `json:"phoneNumber"`
	ReportID    string `json:"reportId"`
	// As it was sent; a gift's reference is null to everybody but keys of the merchant who filed the report.
	SessionReference string       `json:"sessionReference"`
	Status           ReportStatus `json:"status"`
	// ISO 8601, UTC, with milliseconds.
	UpdatedAt     string `json:"updatedAt"`
	WalletAddress string `json:"walletAddress"`
}

// ReportInEvent is of the API: The report as it is read, right after what the event tells.
type ReportInEvent struct {
	AdminNotes string `json:"adminNotes"`
	// The key that filed it.
	APIKeyID      int64         `json:"apiKeyId"`
	ComplaintType ComplaintType `json:"complaintType"`
	Confirmer     string        `json:"confirmer"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt              string `json:"createdAt"`
	Description            string `json:"description"`
	FraudsterWalletAddress string `json:"fraudsterWalletAddress"`
	ID                     int64  `json:"id"`
	// The owner of that key.
	MerchantID  string `json:"merchantId"`
	Name        string `json:"name"`
	PhoneNumber string `json:"phoneNumber"`
	ReportID    string `json:"reportId"`
	// Counts the events of this report: 1, 2, 3 without gaps.
	Sequence int64 `json:"sequence"`
	// As it was sent; a gift's reference is null to everybody but keys of the merchant who filed the report.
	SessionReference string       `json:"sessionReference"`
	Status           ReportStatus `json:"status"`
	// ISO 8601, UTC, with milliseconds.
	UpdatedAt     string `json:"updatedAt"`
	WalletAddress string `json:"walletAddress"`
}

// ReportListAnswerData is a part of the API.
type ReportListAnswerData struct {
	// Only when asked by cursor.
	HasMore *bool `json:"hasMore"`
	Limit   int64 `json:"limit"`
	// Only when asked by cursor.
	NextCursor string   `json:"nextCursor"`
	Offset     int64    `json:"offset"`
	Reports    []Report `json:"reports"`
	// How many reports match, on all pages.
	Total int64 `json:"total"`
}

// ReportListAnswer is a part of the API.
type ReportListAnswer struct {
	Data    ReportListAnswerData `json:"data"`
	Success bool                 `json:"success"`
}

// ReportManaged is of the API: A report as shown to a key of its merchant with `report:manage`.
type ReportManaged struct {
	AdminNotes string `json:"adminNotes"`
	// The key that filed it.
	APIKeyID      int64         `json:"apiKeyId"`
	ComplaintType ComplaintType `json:"complaintType"`
	Confirmer     string        `json:"confirmer"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt              string `json:"createdAt"`
	Description            string `json:"description"`
	FraudsterWalletAddress string `json:"fraudsterWalletAddress"`
	ID                     int64  `json:"id"`
	// The owner of that key.
	MerchantID  string `json:"merchantId"`
	Name        string `json:"name"`
	PhoneNumber string `json:"phoneNumber"`
	ReportID    string `json:"reportId"`
	// As it was sent; a gift's reference is null to everybody but keys of the merchant who filed the report.
	SessionReference string       `json:"sessionReference"`
	Status           ReportStatus `json:"status"`
	// ISO 8601, UTC, with milliseconds.
	UpdatedAt     string `json:"updatedAt"`
	WalletAddress string `json:"walletAddress"`
}

// ReportManagedAnswerData is a part of the API.
type ReportManagedAnswerData struct {
	Report ReportManaged `json:"report"`
}

// ReportManagedAnswer is a part of the API.
type ReportManagedAnswer struct {
	Data    ReportManagedAnswerData `json:"data"`
	Success bool                    `json:"success"`
}

// ReportOwnListAnswerData is a part of the API.
type ReportOwnListAnswerData struct {
	Pagination Pagination      `json:"pagination"`
	Reports    []ReportManaged `json:"reports"`
}

// ReportOwnListAnswer is a part of the API.
type ReportOwnListAnswer struct {
	Data    ReportOwnListAnswerData `json:"data"`
	Success bool                    `json:"success"`
}

// ReportStatus is of the API: `pending`: filed; `processing`: the merchant looks into it; `resolved`: it was
// true, and is done; `dismissed`: it was not.
type ReportStatus string

// The values of ReportStatus.
const (
	ReportStatusPending    ReportStatus = "pending"
	ReportStatusProcessing ReportStatus = "processing"
	ReportStatusResolved   ReportStatus = "resolved"
	ReportStatusDismissed  ReportStatus = "dismissed"
)

// SandboxDeposit is a part of the API.
type SandboxDeposit struct {
	// In the payment's crypto; a number, or a string that holds one. Default is the amount still owed.
	Amount Decimal `json:"amount,omitzero"`
	// Enough when absent; fewer leave the payment confirming until a deposit adds more.
	Confirmations *int64 `json:"confirmations,omitzero"`
	// Another crypto of the payment's network makes the payment `wrong_asset`. The asked one when absent.
	Crypto string `json:"crypto,omitzero"`
	// The fate of the transfer. `reorg`: its block leaves the chain after `confirmations` (1 when absent), and
	// a later block holds it again. `reorg_dropped`: the same, and no block does. `screening_hold`: its sender
	// is on the list of sanctioned addresses. `over_limit`: no limit has room for more of it than the quote;
	// for transfers and gifts, a fifth more than what is owed when `amount` is absent. Absent: nothing happens
	// to it.
	Outcome string `json:"outcome,omitzero"`
}

// SandboxDepositAnswerDeposit is a part of the API.
type SandboxDepositAnswerDeposit struct {
	Amount         Decimal `json:"amount"`
	Confirmations  int64   `json:"confirmations"`
	Crypto         string  `json:"crypto"`
	DepositAddress string  `json:"depositAddress"`
	Network        string  `json:"network"`
}

// SandboxDepositAnswer is a part of the API.
type SandboxDepositAnswer struct {
	Deposit SandboxDepositAnswerDeposit `json:"deposit"`
	Success bool                        `json:"success"`
}

// SandboxOutage is a part of the API.
type SandboxOutage struct {
	// With `network`: which one.
	Network string `json:"network,omitzero"`
	// 60 when absent; 0 ends the outage.
	Seconds *int64 `json:"seconds,omitzero"`
	// `rates`: no prices. `network`: the network is not followed.
	What string `json:"what"`
}

// SandboxOutageAnswerOutage is a part of the API.
type SandboxOutageAnswerOutage struct {
	// Null for an outage of the prices.
	Network string `json:"network"`
	// ISO 8601, UTC, with milliseconds.
	Until string `json:"until"`
	// `rates` or `network`.
	What string `json:"what"`
}

// SandboxOutageAnswer is a part of the API.
type SandboxOutageAnswer struct {
	Outage  SandboxOutageAnswerOutage `json:"outage"`
	Success bool                      `json:"success"`
}

// SandboxOutcome is a part of the API.
type SandboxOutcome struct {
	// `succeed` pays, `fail` never pays, `return` pays and takes it back, `timeout` answers nothing.
	Outcome string `json:"outcome"`
}

// SandboxOutcomeAnswerPayout is a part of the API.
type SandboxOutcomeAnswerPayout struct {
	// Missing while there is no payout yet.
	ID string `json:"id"`
	// The outcome that was ordered: `succeed`, `fail`, `return` or `timeout`.
	Outcome   string `json:"outcome"`
	Reference string `json:"reference"`
}

// SandboxOutcomeAnswer is a part of the API.
type SandboxOutcomeAnswer struct {
	Payout  SandboxOutcomeAnswerPayout `json:"payout"`
	Success bool                       `json:"success"`
}

// SandboxSimulateDeposit is a part of the API.
type SandboxSimulateDeposit struct {
	// In the payment's crypto; a number, or a string that holds one. Default is the amount still owed.
	Amount Decimal `json:"amount,omitzero"`
	// Confirmations; enough when absent.
	Steps *int64 `json:"steps,omitzero"`
}

// SandboxWalletDeposit is a part of the API.
type SandboxWalletDeposit struct {
	// In the wallet's crypto; a number, or a string that holds one.
	Amount        Decimal `json:"amount"`
	Confirmations *int64  `json:"confirmations,omitzero"`
	// `reorg`: the transfer's block leaves the chain after `confirmations` (1 when absent), and a later block
	// holds it again. `reorg_dropped`: the same, and no block does.
	Outcome string `json:"outcome,omitzero"`
}

// SandboxWalletDepositAnswerDeposit is a part of the API.
type SandboxWalletDepositAnswerDeposit struct {
	// A canonical decimal.
	Amount         string `json:"amount"`
	Confirmations  int64  `json:"confirmations"`
	Crypto         string `json:"crypto"`
	DepositAddress string `json:"depositAddress"`
	Network        string `json:"network"`
	TxHash         string `json:"txHash"`
}

// SandboxWalletDepositAnswer is a part of the API.
type SandboxWalletDepositAnswer struct {
	Deposit SandboxWalletDepositAnswerDeposit `json:"deposit"`
	Success bool                              `json:"success"`
}

// Settle is a part of the API.
type Settle struct {
	// The caller's own name of the payout that it made.
	SettlementReference string `json:"settlementReference,omitzero"`
	SettlementToken     string `json:"settlementToken"`
}

// SettledWithin is of the API: How many payments were settled within this time of the confirmation of their
// money.
type SettledWithin struct {
	Day         int64 `json:"day"`
	FiveMinutes int64 `json:"fiveMinutes"`
	Hour        int64 `json:"hour"`
	Minute      int64 `json:"minute"`
}

// SettlementAccount is a part of the API.
type SettlementAccount struct {
	ConfirmedAt string `json:"confirmedAt"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string             `json:"createdAt"`
	Currency  FiatCurrency       `json:"currency"`
	HeldUntil string             `json:"heldUntil"`
	ID        string             `json:"id"`
	Receiver  SettlementReceiver `json:"receiver"`
	// `unconfirmed`: proposed; `active`: confirmed, and money may go there from `heldUntil`.
	Status string `json:"status"`
}

// SettlementAccountAnswer is a part of the API.
type SettlementAccountAnswer struct {
	SettlementAccount SettlementAccount `json:"settlementAccount"`
	Success           bool              `json:"success"`
}

// SettlementAccountDeletedAnswer is a part of the API.
type SettlementAccountDeletedAnswer struct {
	Deleted string `json:"deleted"`
	ID      string `json:"id"`
	Success bool   `json:"success"`
}

// SettlementAccountEventDataSettlementAccount is a part of the API.
type SettlementAccountEventDataSettlementAccount struct {
	ConfirmedAt string `json:"confirmedAt"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string             `json:"createdAt"`
	Currency  FiatCurrency       `json:"currency"`
	HeldUntil string             `json:"heldUntil"`
	ID        string             `json:"id"`
	Receiver  SettlementReceiver `json:"receiver"`
	Sequence  int64              `json:"sequence"`
	// `unconfirmed`: proposed; `active`: confirmed; `deleted`: no money goes there any more.
	Status string `json:"status"`
}

// SettlementAccountEventData is a part of the API.
type SettlementAccountEventData struct {
	SettlementAccount SettlementAccountEventDataSettlementAccount `json:"settlementAccount"`
}

// SettlementAccountEvent is a part of the API.
type SettlementAccountEvent struct {
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string                     `json:"createdAt"`
	Data      SettlementAccountEventData `json:"data"`
	ID        string                     `json:"id"`
	Mode      Mode                       `json:"mode"`
	// The change of the account that the event reports.
	Type string `json:"type"`
}

// SettlementAccountsAnswer is a part of the API.
type SettlementAccountsAnswer struct {
	SettlementAccounts []SettlementAccount `json:"settlementAccounts"`
	Success            bool                `json:"success"`
}

// SettlementReceiver is a part of the API.
type SettlementReceiver struct {
	// As the bank gives it; empty where the corridor has no names.
	AccountName string `json:"accountName"`
	// The last four characters; the others are covered.
	AccountNumber string `json:"accountNumber"`
	BankName      string `json:"bankName"`
	NameVerified  bool   `json:"nameVerified"`
}

// SettlementSettings is a part of the API.
type SettlementSettings struct {
	Daily []DailySettlement `json:"daily"`
	// Who settles payments of type `merchant` without a receiver.
	MerchantPayments string `json:"merchantPayments"`
}

// SettlementSettingsAnswer is a part of the API.
type SettlementSettingsAnswer struct {
	Settings SettlementSettings `json:"settings"`
	Success  bool               `json:"success"`
}

// SettlementTokenAnswer is a part of the API.
type SettlementTokenAnswer struct {
	// ISO 8601, UTC, with milliseconds.
	ExpiresAt string `json:"expiresAt"`
	// Missing only from a replay later than 15 minutes.
	SettlementToken string `json:"settlementToken"`
	Success         bool   `json:"success"`
}

// SettlementsAnswerSettlements is a part of the API.
type SettlementsAnswerSettlements struct {
	// As the create sent it.
	BankRef         string  `json:"bankRef"`
	ConvertedAmount Decimal `json:"convertedAmount"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt    string       `json:"createdAt"`
	Crypto       string       `json:"crypto"`
	Fee          Decimal      `json:"fee"`
	FiatAmount   Decimal      `json:"fiatAmount"`
	FiatCurrency FiatCurrency `json:"fiatCurrency"`
	// As the create sent it.
	MerchantReference string  `json:"merchantReference"`
	Network           string  `json:"network"`
	PayoutAmount      Decimal `json:"payoutAmount"`
	PayoutReference   string  `json:"payoutReference"`
	Rate              Decimal `json:"rate"`
	ReceivedAmount    Decimal `json:"receivedAmount"`
	// The code of a shard, which is always the same for you, and twelve random characters; references from
	// before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
	// Every holder of its reference can claim the gift, so neither log nor show it.
	Reference string `json:"reference"`
	// ISO 8601, UTC, with milliseconds.
	SettledAt string `json:"settledAt"`
	// `causeway` paid the receiver; the `caller` did, and confirmed it.
	SettledBy string `json:"settledBy"`
	// As the caller's settlement sent it.
	SettlementReference string      `json:"settlementReference"`
	Type                PaymentType `json:"type"`
}

// SettlementsAnswerTotalsCrypto is a part of the API.
type SettlementsAnswerTotalsCrypto struct {
	ConvertedAmount Decimal `json:"convertedAmount"`
	Count           int64   `json:"count"`
	Crypto          string  `json:"crypto"`
	Network         string  `json:"network"`
	ReceivedAmount  Decimal `json:"receivedAmount"`
}

// SettlementsAnswerTotalsFiat is a part of the API.
type SettlementsAnswerTotalsFiat struct {
	Count        int64        `json:"count"`
	Fee          Decimal      `json:"fee"`
	FiatAmount   Decimal      `json:"fiatAmount"`
	FiatCurrency FiatCurrency `json:"fiatCurrency"`
	PayoutAmount Decimal      `json:"payoutAmount"`
}

// SettlementsAnswerTotals is a part of the API.
type SettlementsAnswerTotals struct {
	Count  int64                           `json:"count"`
	Crypto []SettlementsAnswerTotalsCrypto `json:"crypto"`
	Fiat   []SettlementsAnswerTotalsFiat   `json:"fiat"`
}

// SettlementsAnswer is a part of the API.
type SettlementsAnswer struct {
	// ISO 8601, UTC, with milliseconds.
	From        string                         `json:"from"`
	Settlements []SettlementsAnswerSettlements `json:"settlements"`
	Success     bool                           `json:"success"`
	// ISO 8601, UTC, with milliseconds.
	To     string                  `json:"to"`
	Totals SettlementsAnswerTotals `json:"totals"`
}

// SimulatePayer is a part of the API.
type SimulatePayer struct {
	// `full` pays what is owed, `partial` a part, `over` more, `late` after `expiresAt`.
	Scenario string `json:"scenario"`
}

// Statistics is a part of the API.
type Statistics struct {
	By []string `json:"by"`
	// A day in UTC.
	From string `json:"from"`
	// Without `by` there are none. A day without payments has no group.
	Groups []StatisticsGroup `json:"groups"`
	// A day in UTC.
	To     string            `json:"to"`
	Totals StatisticsFigures `json:"totals"`
}

// StatisticsAmounts is a part of the API.
type StatisticsAmounts struct {
	Fee Decimal `json:"fee"`
	// Of all payments.
	FiatAmount   Decimal      `json:"fiatAmount"`
	FiatCurrency FiatCurrency `json:"fiatCurrency"`
	PayoutAmount Decimal      `json:"payoutAmount"`
	// The `fiatAmount` of settled payments.
	SettledAmount Decimal `json:"settledAmount"`
}

// StatisticsAnswer is a part of the API.
type StatisticsAnswer struct {
	Statistics Statistics `json:"statistics"`
	Success    bool       `json:"success"`
}

// StatisticsFigures is a part of the API.
type StatisticsFigures struct {
	Amounts []StatisticsAmounts `json:"amounts"`
	Count   int64               `json:"count"`
	Ended   int64               `json:"ended"`
	// A mean; null while none is settled.
	SecondsToSettle *Decimal      `json:"secondsToSettle"`
	Settled         int64         `json:"settled"`
	SettledUSD      Decimal       `json:"settledUsd"`
	SettledWithin   SettledWithin `json:"settledWithin"`
	// Four digits after the point; null while none has ended.
	SuccessRate    *Decimal `json:"successRate"`
	TransactionUSD Decimal  `json:"transactionUsd"`
}

// StatisticsGroup is of the API: The fields that `by` names, and the figures of the group.
type StatisticsGroup struct {
	Amounts      []StatisticsAmounts `json:"amounts"`
	Count        int64               `json:"count"`
	Day          string              `json:"day"`
	Ended        int64               `json:"ended"`
	FiatCurrency FiatCurrency        `json:"fiatCurrency"`
	// Empty for requests that nobody has fulfilled.
	Network string `json:"network"`
	// A mean; null while none is settled.
	SecondsToSettle *Decimal      `json:"secondsToSettle"`
	Settled         int64         `json:"settled"`
	SettledUSD      Decimal       `json:"settledUsd"`
	SettledWithin   SettledWithin `json:"settledWithin"`
	Status          PaymentStatus `json:"status"`
	// Four digits after the point; null while none has ended.
	SuccessRate    *Decimal    `json:"successRate"`
	TransactionUSD Decimal     `json:"transactionUsd"`
	Type           PaymentType `json:"type"`
}

// Tier is of the API: Requests a second, and at once: `standard` 50 and 500, `premium` 200 and 2 000,
// `unlimited` without a bound.
type Tier string

// The values of Tier.
const (
	TierStandard  Tier = "standard"
	TierPremium   Tier = "premium"
	TierUnlimited Tier = "unlimited"
)

// Timeline is a part of the API.
type Timeline struct {
	Entries []TimelineEntry `json:"entries"`
	ID      string          `json:"id"`
	// The code of a shard, which is always the same for you, and twelve random characters; references from
	// before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
	// Every holder of its reference can claim the gift, so neither log nor show it.
	Reference string `json:"reference"`
}

// TimelineAnswer is a part of the API.
type TimelineAnswer struct {
	Success  bool     `json:"success"`
	Timeline Timeline `json:"timeline"`
}

// TimelineEntry is a part of the API.
type TimelineEntry struct {
	// ISO 8601, UTC, with milliseconds.
	At string `json:"at"`
	// Names the member that is present.
	Kind     string            `json:"kind"`
	Payout   *TimelinePayout   `json:"payout"`
	Quote    *TimelineQuote    `json:"quote"`
	Refund   *TimelineRefund   `json:"refund"`
	Status   *TimelineStatus   `json:"status"`
	Transfer *TimelineTransfer `json:"transfer"`
}

// TimelinePayout is of the API: An attempt of the payout was begun.
type TimelinePayout struct {
	Amount   Decimal      `json:"amount"`
	Attempt  int64        `json:"attempt"`
	Currency FiatCurrency `json:"currency"`
	EndedAt  string       `json:"endedAt"`
	ID       string       `json:"id"`
	// Of this attempt at the rail.
	Reference string `json:"reference"`
	SentAt    string `json:"sentAt"`
	Status    string `json:"status"`
}

// TimelineQuote is of the API: The payment got its price and its deposit address.
type TimelineQuote struct {
	Charge         Charge  `json:"charge"`
	Crypto         string  `json:"crypto"`
	CryptoAmount   Decimal `json:"cryptoAmount"`
	DepositAddress string  `json:"depositAddress"`
	// ISO 8601, UTC, with milliseconds.
	ExpiresAt    string       `json:"expiresAt"`
	FiatAmount   Decimal      `json:"fiatAmount"`
	FiatCurrency FiatCurrency `json:"fiatCurrency"`
	Network      string       `json:"network"`
	Rate         Decimal      `json:"rate"`
}

// TimelineRefund is of the API: A refund was requested.
type TimelineRefund struct {
	Address     string  `json:"address"`
	Amount      Decimal `json:"amount"`
	ConfirmedAt string  `json:"confirmedAt"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string `json:"createdAt"`
	Crypto    string `json:"crypto"`
	// A public page about the transaction; null in test mode.
	ExplorerURL string `json:"explorerUrl"`
	// Stable code.
	Failure string       `json:"failure"`
	ID      string       `json:"id"`
	Network string       `json:"network"`
	Status  RefundStatus `json:"status"`
	TxHash  string       `json:"txHash"`
}

// TimelineStatus is of the API: The payment got this status or exception.
type TimelineStatus struct {
	Exception PaymentException `json:"exception"`
	Status    PaymentStatus    `json:"status"`
}

// TimelineTransfer is of the API: A transfer to the deposit address was first seen.
type TimelineTransfer struct {
	Amount        Decimal `json:"amount"`
	BlockHeight   *int64  `json:"blockHeight"`
	Confirmations int64   `json:"confirmations"`
	// May be another one than the quote's.
	Crypto string `json:"crypto"`
	// A public page about the transaction; null in test mode.
	ExplorerURL string `json:"explorerUrl"`
	MinedAt     string `json:"minedAt"`
	Network     string `json:"network"`
	// Null where only finality counts.
	RequiredConfirmations *int64 `json:"requiredConfirmations"`
	// The transfer is on its chain no more.
	Reverted bool   `json:"reverted"`
	TxHash   string `json:"txHash"`
}

// UpdateReport is a part of the API.
type UpdateReport struct {
	// Kept as they were when absent.
	AdminNotes string `json:"adminNotes,omitzero"`
	// Who confirmed it; kept as it was when absent.
	Confirmer string       `json:"confirmer,omitzero"`
	Status    ReportStatus `json:"status"`
}

// VerifyReceiver is a part of the API.
type VerifyReceiver struct {
	AccountNumber string `json:"accountNumber"`
	BankCode      string `json:"bankCode"`
	// `NGN`, `GHS`, `KES` or `ZAR`: the country of the bank, where its code is used in several.
	FiatCurrency string `json:"fiatCurrency,omitzero"`
	// A payment whose mode and currency count. Without a key it is required, and a gift that can be claimed.
	Reference string `json:"reference,omitzero"`
}

// Wallet is a part of the API.
type Wallet struct {
	Address string `json:"address"`
	// A canonical decimal.
	Amount string `json:"amount"`
	// Depth of the newest transfer.
	Confirmations int64 `json:"confirmations"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string `json:"createdAt"`
	Crypto    string `json:"crypto"`
	// ISO 8601, UTC, with milliseconds.
	ExpiresAt string       `json:"expiresAt"`
	ID        string       `json:"id"`
	Metadata  Metadata     `json:"metadata"`
	Network   string       `json:"network"`
	Status    WalletStatus `json:"status"`
}

// WalletAnswer is a part of the API.
type WalletAnswer struct {
	Success bool   `json:"success"`
	Wallet  Wallet `json:"wallet"`
}

// WalletCreatedAnswerWallet is a part of the API.
type WalletCreatedAnswerWallet struct {
	Address string `json:"address"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string `json:"createdAt"`
	Crypto    string `json:"crypto"`
	// ISO 8601, UTC, with milliseconds.
	ExpiresAt string   `json:"expiresAt"`
	ID        string   `json:"id"`
	Metadata  Metadata `json:"metadata"`
	Network   string   `json:"network"`
	Status    string   `json:"status"`
}

// WalletCreatedAnswer is a part of the API.
type WalletCreatedAnswer struct {
	Success bool                      `json:"success"`
	Wallet  WalletCreatedAnswerWallet `json:"wallet"`
}

// WalletDeposit is a part of the API.
type WalletDeposit struct {
	// A canonical decimal.
	Amount        string `json:"amount"`
	BlockHeight   int64  `json:"blockHeight"`
	Confirmations int64  `json:"confirmations"`
	// Whether it is part of the wallet's amount.
	Counted bool   `json:"counted"`
	Crypto  string `json:"crypto"`
	// ISO 8601, UTC, with milliseconds.
	FirstSeenAt string `json:"firstSeenAt"`
	Network     string `json:"network"`
	// `seen`: not deep enough yet; `confirmed`: deep enough; `reverted`: it left the chain.
	Status string `json:"status"`
	TxHash string `json:"txHash"`
}

// WalletDepositListAnswer is a part of the API.
type WalletDepositListAnswer struct {
	Deposits   []WalletDeposit `json:"deposits"`
	Pagination Pagination      `json:"pagination"`
	Success    bool            `json:"success"`
}

// WalletEventDataWallet is a part of the API.
type WalletEventDataWallet struct {
	Address string `json:"address"`
	// A canonical decimal.
	Amount string `json:"amount"`
	// Depth of the newest transfer.
	Confirmations int64 `json:"confirmations"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string `json:"createdAt"`
	Crypto    string `json:"crypto"`
	// ISO 8601, UTC, with milliseconds.
	ExpiresAt string       `json:"expiresAt"`
	ID        string       `json:"id"`
	Metadata  Metadata     `json:"metadata"`
	Network   string       `json:"network"`
	Sequence  int64        `json:"sequence"`
	Status    WalletStatus `json:"status"`
}

// WalletEventData is a part of the API.
type WalletEventData struct {
	Wallet WalletEventDataWallet `json:"wallet"`
}

// WalletEvent is a part of the API.
type WalletEvent struct {
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string          `json:"createdAt"`
	Data      WalletEventData `json:"data"`
	ID        string          `json:"id"`
	Mode      Mode            `json:"mode"`
	// The status that the wallet has reached.
	Type string `json:"type"`
}

// WalletItem is a part of the API.
type WalletItem struct {
	Address string `json:"address"`
	// A canonical decimal.
	Amount string `json:"amount"`
	// Depth of the newest transfer.
	Confirmations int64 `json:"confirmations"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string       `json:"createdAt"`
	Crypto    string       `json:"crypto"`
	ID        string       `json:"id"`
	Network   string       `json:"network"`
	Status    WalletStatus `json:"status"`
}

// WalletListAnswerPagination is a part of the API.
type WalletListAnswerPagination struct {
	// Only in pages by cursor.
	HasMore *bool `json:"hasMore"`
	Limit   int64 `json:"limit"`
	// Only in pages by cursor.
	NextCursor string `json:"nextCursor"`
	Offset     int64  `json:"offset"`
	Returned   int64  `json:"returned"`
}

// WalletListAnswer is a part of the API.
type WalletListAnswer struct {
	Pagination WalletListAnswerPagination `json:"pagination"`
	Success    bool                       `json:"success"`
	Wallets    []WalletItem               `json:"wallets"`
}

// WalletStatus is of the API: `watching`: nothing has come; `deposit_detected`: a transfer was seen and is not
// deep enough; `confirmed`: every transfer is; `swept`: the money has left for the treasury; `expired`: nothing
// came in time, and later money counts still.
type WalletStatus string

// The values of WalletStatus.
const (
	WalletStatusWatching        WalletStatus = "watching"
	WalletStatusDepositDetected WalletStatus = "deposit_detected"
	WalletStatusConfirmed       WalletStatus = "confirmed"
	WalletStatusSwept           WalletStatus = "swept"
	WalletStatusExpired         WalletStatus = "expired"
)

// WalletWithdrawal is of the API: Crypto that leaves from the deposit wallets of a merchant.
type WalletWithdrawal struct {
	Address   string `json:"address"`
	AddressID string `json:"addressId"`
	// A canonical decimal.
	Amount string `json:"amount"`
	// `requested` waits for the answer whether a transaction may land, `too_late` says that one may.
	Cancellation string `json:"cancellation"`
	ConfirmedAt  string `json:"confirmedAt"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string `json:"createdAt"`
	Crypto    string `json:"crypto"`
	// Stable code of why a `failed` one failed, such as `insufficient_balance`, `refused` or `cancelled`.
	Failure string `json:"failure"`
	// A canonical decimal.
	Fee     string       `json:"fee"`
	ID      string       `json:"id"`
	Network string       `json:"network"`
	Status  RefundStatus `json:"status"`
	// Of the newest transaction; it may be replaced until the withdrawal is confirmed.
	TxHash string `json:"txHash"`
}

// WalletWithdrawalAnswer is a part of the API.
type WalletWithdrawalAnswer struct {
	Success    bool             `json:"success"`
	Withdrawal WalletWithdrawal `json:"withdrawal"`
}

// WalletWithdrawalEventDataWithdrawal is a part of the API.
type WalletWithdrawalEventDataWithdrawal struct {
	Address   string `json:"address"`
	AddressID string `json:"addressId"`
	// A canonical decimal.
	Amount string `json:"amount"`
	// `requested` waits for the answer whether a transaction may land, `too_late` says that one may.
	Cancellation string `json:"cancellation"`
	ConfirmedAt  string `json:"confirmedAt"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string `json:"createdAt"`
	Crypto    string `json:"crypto"`
	// Stable code of why a `failed` one failed, such as `insufficient_balance`, `refused` or `cancelled`.
	Failure string `json:"failure"`
	// A canonical decimal.
	Fee      string       `json:"fee"`
	ID       string       `json:"id"`
	Network  string       `json:"network"`
	Sequence int64        `json:"sequence"`
	Status   RefundStatus `json:"status"`
	// Of the newest transaction; it may be replaced until the withdrawal is confirmed.
	TxHash string `json:"txHash"`
}

// WalletWithdrawalEventData is a part of the API.
type WalletWithdrawalEventData struct {
	Withdrawal WalletWithdrawalEventDataWithdrawal `json:"withdrawal"`
}

// WalletWithdrawalEvent is a part of the API.
type WalletWithdrawalEvent struct {
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string                    `json:"createdAt"`
	Data      WalletWithdrawalEventData `json:"data"`
	ID        string                    `json:"id"`
	Mode      Mode                      `json:"mode"`
	// The state that the withdrawal has reached.
	Type string `json:"type"`
}

// WalletWithdrawalFeesAnswerFees is a part of the API.
type WalletWithdrawalFeesAnswerFees struct {
	Crypto string `json:"crypto"`
	// A canonical decimal.
	Fee string `json:"fee"`
	// A canonical decimal.
	Minimum string `json:"minimum"`
	Network string `json:"network"`
	Open    bool   `json:"open"`
}

// WalletWithdrawalFeesAnswer is a part of the API.
type WalletWithdrawalFeesAnswer struct {
	Fees    []WalletWithdrawalFeesAnswerFees `json:"fees"`
	Success bool                             `json:"success"`
}

// WalletWithdrawalsAnswer is a part of the API.
type WalletWithdrawalsAnswer struct {
	Pagination  Pagination         `json:"pagination"`
	Success     bool               `json:"success"`
	Withdrawals []WalletWithdrawal `json:"withdrawals"`
}

// WebhookAttemptLatencyMs is a part of the API.
type WebhookAttemptLatencyMs struct {
	Connect Decimal `json:"connect"`
	Dns     Decimal `json:"dns"`
	Tls     Decimal `json:"tls"`
	Total   Decimal `json:"total"`
	Wait    Decimal `json:"wait"`
}

// WebhookAttempt is a part of the API.
type WebhookAttempt struct {
	// ISO 8601, UTC, with milliseconds.
	At string `json:"at"`
	// `ok http_4xx http_5xx throttled gone redirect timeout_connect timeout_response dns refused reset tls
	// blocked_ssrf malformed internal`.
	Class string `json:"class"`
	// The first 512 bytes of a 2xx body, 4 KiB of another.
	Excerpt string `json:"excerpt"`
	// How `excerpt` holds the bytes of the answer: as `utf8` text or as `base64`.
	ExcerptEncoding string `json:"excerptEncoding"`
	// Phases that a kept connection skips are 0; wait is from the request to the first byte.
	LatencyMs WebhookAttemptLatencyMs `json:"latencyMs"`
	Number    int64                   `json:"number"`
	// Null when no answer came.
	Status *int64 `json:"status"`
	// `auto`: by the schedule; `manual`: by a retry; `replay`: by a replay; `probe`: a test of an endpoint that
	// was failing.
	Trigger string `json:"trigger"`
}

// WebhookDelivery is a part of the API.
type WebhookDelivery struct {
	AttemptCount int64            `json:"attemptCount"`
	Attempts     []WebhookAttempt `json:"attempts"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string `json:"createdAt"`
	// Null for a `callbackUrl`.
	EndpointID    string `json:"endpointId"`
	EventID       string `json:"eventId"`
	FinishedAt    string `json:"finishedAt"`
	ID            string `json:"id"`
	NextAttemptAt string `json:"nextAttemptAt"`
	ObjectID      string `json:"objectId"`
	Sequence      int64  `json:"sequence"`
	// `pending`: the first attempt is due; `retrying`: another follows; `held`: the endpoint is disabled;
	// `delivered`: an attempt succeeded; `exhausted`: the last attempt failed.
	Status string        `json:"status"`
	Type   EventTypeName `json:"type"`
	URL    string        `json:"url"`
}

// WebhookDeliveryAnswer is a part of the API.
type WebhookDeliveryAnswer struct {
	Delivery WebhookDelivery `json:"delivery"`
	Success  bool            `json:"success"`
}

// WebhookDeliveryListAnswer is a part of the API.
type WebhookDeliveryListAnswer struct {
	Deliveries []WebhookDelivery `json:"deliveries"`
	Pagination Pagination        `json:"pagination"`
	Success    bool              `json:"success"`
}

// WebhookEndpoint is a part of the API.
type WebhookEndpoint struct {
	// ISO 8601, UTC, with milliseconds.
	CreatedAt   string `json:"createdAt"`
	Description string `json:"description"`
	DisabledAt  string `json:"disabledAt"`
	// `gone`: it answered 410. `failing`: no success for 5 days.
	DisabledReason string          `json:"disabledReason"`
	Enabled        bool            `json:"enabled"`
	FailingSince   string          `json:"failingSince"`
	ID             string          `json:"id"`
	Types          []EventTypeName `json:"types"`
	// ISO 8601, UTC, with milliseconds.
	UpdatedAt string `json:"updatedAt"`
	URL       string `json:"url"`
}

// WebhookEndpointAnswer is a part of the API.
type WebhookEndpointAnswer struct {
	Endpoint WebhookEndpoint `json:"endpoint"`
	Success  bool            `json:"success"`
}

// WebhookEndpointCreate is a part of the API.
type WebhookEndpointCreate struct {
	Description string `json:"description,omitzero"`
	Enabled     *bool  `json:"enabled,omitzero"`
	// Every type when empty. A live endpoint also gets the events that warn of money that may leave.
	Types []EventTypeName `json:"types,omitzero"`
	URL   string          `json:"url"`
}

// WebhookEndpointDeletedAnswer is a part of the API.
type WebhookEndpointDeletedAnswer struct {
	Deleted bool   `json:"deleted"`
	ID      string `json:"id"`
	Success bool   `json:"success"`
}

// WebhookEndpointListAnswer is a part of the API.
type WebhookEndpointListAnswer struct {
	Endpoints  []WebhookEndpoint `json:"endpoints"`
	Pagination Pagination        `json:"pagination"`
	Success    bool              `json:"success"`
}

// WebhookEndpointPatch is a part of the API.
type WebhookEndpointPatch struct {
	Description string          `json:"description,omitzero"`
	Enabled     *bool           `json:"enabled,omitzero"`
	Types       []EventTypeName `json:"types,omitzero"`
	URL         string          `json:"url,omitzero"`
}

// WebhookReplayAnswerReplay is a part of the API.
type WebhookReplayAnswerReplay struct {
	CreatedAt  string `json:"createdAt"`
	EndpointID string `json:"endpointId"`
	// ISO 8601, UTC, with milliseconds.
	From string `json:"from"`
	// Null for a dry run.
	ID string `json:"id"`
	// Those of them that were put on their way.
	Sent int64 `json:"sent"`
	// `dry_run` counts and sends nothing; `running`, `paused`, and `finished` once all were sent.
	State    string   `json:"state"`
	Statuses []string `json:"statuses"`
	// ISO 8601, UTC, with milliseconds.
	To string `json:"to"`
	// Deliveries in the range when it was asked for.
	Total int64           `json:"total"`
	Types []EventTypeName `json:"types"`
}

// WebhookReplayAnswer is a part of the API.
type WebhookReplayAnswer struct {
	Replay  WebhookReplayAnswerReplay `json:"replay"`
	Success bool                      `json:"success"`
}

// WebhookReplayCreate is a part of the API.
type WebhookReplayCreate struct {
	DryRun     *bool  `json:"dryRun,omitzero"`
	EndpointID string `json:"endpointId,omitzero"`
	From       string `json:"from"`
	// The deliveries that are sent again: those that are `exhausted`, those that were `delivered`, or `all`.
	Status string `json:"status,omitzero"`
	// Now when absent.
	To    string          `json:"to,omitzero"`
	Types []EventTypeName `json:"types,omitzero"`
}

// WebhookRetryAnswerDelivery is a part of the API.
type WebhookRetryAnswerDelivery struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

// WebhookRetryAnswer is a part of the API.
type WebhookRetryAnswer struct {
	Delivery WebhookRetryAnswerDelivery `json:"delivery"`
	Success  bool                       `json:"success"`
}

// WebhookRotation is a part of the API.
type WebhookRotation struct {
	// Whether the earlier secrets end now, because one of them has leaked.
	RevokePrevious *bool `json:"revokePrevious,omitzero"`
}

// WebhookSecretAnswerPrevious is a part of the API.
type WebhookSecretAnswerPrevious struct {
	// ISO 8601, UTC, with milliseconds.
	ExpiresAt string `json:"expiresAt"`
}

// WebhookSecretAnswer is a part of the API.
type WebhookSecretAnswer struct {
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string `json:"createdAt"`
	// When the previous secret ends, while it still signs; it is not shown again. Older ones may sign too,
	// until their own 24 hours have passed.
	Previous *WebhookSecretAnswerPrevious `json:"previous"`
	// Absent only in a late replay of a rotation.
	Secret  string `json:"secret"`
	Success bool   `json:"success"`
}

// Withdrawal is a part of the API.
type Withdrawal struct {
	Amount Decimal `json:"amount"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string       `json:"createdAt"`
	Currency  FiatCurrency `json:"currency"`
	EndedAt   string       `json:"endedAt"`
	// Stable code of why a failed withdrawal failed.
	Failure             string             `json:"failure"`
	ID                  string             `json:"id"`
	Receiver            SettlementReceiver `json:"receiver"`
	SettlementAccountID string             `json:"settlementAccountId"`
	Status              WithdrawalStatus   `json:"status"`
}

// WithdrawalAnswer is a part of the API.
type WithdrawalAnswer struct {
	Success    bool       `json:"success"`
	Withdrawal Withdrawal `json:"withdrawal"`
}

// WithdrawalEventDataWithdrawal is a part of the API.
type WithdrawalEventDataWithdrawal struct {
	Amount Decimal `json:"amount"`
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string       `json:"createdAt"`
	Currency  FiatCurrency `json:"currency"`
	EndedAt   string       `json:"endedAt"`
	// Stable code of why a failed withdrawal failed.
	Failure             string             `json:"failure"`
	ID                  string             `json:"id"`
	Receiver            SettlementReceiver `json:"receiver"`
	Sequence            int64              `json:"sequence"`
	SettlementAccountID string             `json:"settlementAccountId"`
	Status              WithdrawalStatus   `json:"status"`
}

// WithdrawalEventData is a part of the API.
type WithdrawalEventData struct {
	Withdrawal WithdrawalEventDataWithdrawal `json:"withdrawal"`
}

// WithdrawalEvent is a part of the API.
type WithdrawalEvent struct {
	// ISO 8601, UTC, with milliseconds.
	CreatedAt string              `json:"createdAt"`
	Data      WithdrawalEventData `json:"data"`
	ID        string              `json:"id"`
	Mode      Mode                `json:"mode"`
	// The status that the withdrawal has reached.
	Type string `json:"type"`
}

// WithdrawalStatus is of the API: `requested` waits for operators; `approved` leaves soon; `sending` is on its
// way; `paid`: the bank has paid it; `failed`: refused or never paid, and in the balance again; `returned`: the
// bank sent it back after it was paid.
type WithdrawalStatus string

// The values of WithdrawalStatus.
const (
	WithdrawalStatusRequested WithdrawalStatus = "requested"
	WithdrawalStatusApproved  WithdrawalStatus = "approved"
	WithdrawalStatusSending   WithdrawalStatus = "sending"
	WithdrawalStatusPaid      WithdrawalStatus = "paid"
	WithdrawalStatusFailed    WithdrawalStatus = "failed"
	WithdrawalStatusReturned  WithdrawalStatus = "returned"
)

// WithdrawalsAnswer is a part of the API.
type WithdrawalsAnswer struct {
	Pagination  Pagination   `json:"pagination"`
	Success     bool         `json:"success"`
	Withdrawals []Withdrawal `json:"withdrawals"`
}

// ErrorCode is the code of an error. A newer gateway may know more.
type ErrorCode string

// The codes of errors.
const (
	CodeAboveMaximum                 ErrorCode = "above_maximum"
	CodeAddressBookFull              ErrorCode = "address_book_full"
	CodeAddressKnown                 ErrorCode = "address_known"
	CodeAddressNotFound              ErrorCode = "address_not_found"
	CodeAlreadyPaused                ErrorCode = "already_paused"
	CodeAlreadySettled               ErrorCode = "already_settled"
	CodeAmountAboveOwed              ErrorCode = "amount_above_owed"
	CodeAmountBelowMinimum           ErrorCode = "amount_below_minimum"
	CodeAmountOutOfRange             ErrorCode = "amount_out_of_range"
	CodeAPIKeyAmbiguous              ErrorCode = "api_key_ambiguous"
	CodeAPIKeyExpired                ErrorCode = "api_key_expired"
	CodeAPIKeyInUse                  ErrorCode = "api_key_in_use"
	CodeAPIKeyInvalid                ErrorCode = "api_key_invalid"
	CodeAPIKeyMissing                ErrorCode = "api_key_missing"
	CodeAPIKeyNoHeir                 ErrorCode = "api_key_no_heir"
	CodeAPIKeyNotFound               ErrorCode = "api_key_not_found"
	CodeAPIKeyRevoked                ErrorCode = "api_key_revoked"
	CodeApprovalInvalid              ErrorCode = "approval_invalid"
	CodeApprovalOpen                 ErrorCode = "approval_open"
	CodeApprovalOutdated             ErrorCode = "approval_outdated"
	CodeApprovalRequired             ErrorCode = "approval_required"
	CodeAssertionInvalid             ErrorCode = "assertion_invalid"
	CodeBalanceUnavailable           ErrorCode = "balance_unavailable"
	CodeBodyTooLarge                 ErrorCode = "body_too_large"
	CodeBodyTooSlow                  ErrorCode = "body_too_slow"
	CodeBodyUnreadable               ErrorCode = "body_unreadable"
	CodeBusy                         ErrorCode = "busy"
	CodeCancelTooLate                ErrorCode = "cancel_too_late"
	CodeCapacity                     ErrorCode = "capacity"
	CodeCurrencyNotEnabled           ErrorCode = "currency_not_enabled"
	CodeDailyLimitExceeded           ErrorCode = "daily_limit_exceeded"
	CodeDayNotClosed                 ErrorCode = "day_not_closed"
	CodeDeadMessageNotFound          ErrorCode = "dead_message_not_found"
	CodeDeadMessageRefused           ErrorCode = "dead_message_refused"
	CodeDeliveryNotFound             ErrorCode = "delivery_not_found"
	CodeDepositAttributed            ErrorCode = "deposit_attributed"
	CodeDepositNotFinal              ErrorCode = "deposit_not_final"
	CodeDepositNotFound              ErrorCode = "deposit_not_found"
	CodeDepositReorged               ErrorCode = "deposit_reorged"
	CodeEndpointDisabled             ErrorCode = "endpoint_disabled"
	CodeEndpointLimit                ErrorCode = "endpoint_limit"
	CodeEndpointNotFound             ErrorCode = "endpoint_not_found"
	CodeFeeChanged                   ErrorCode = "fee_changed"
	CodeFeeScheduleNotFound          ErrorCode = "fee_schedule_not_found"
	CodeGiftAlreadyClaimed           ErrorCode = "gift_already_claimed"
	CodeGiftCancelled                ErrorCode = "gift_cancelled"
	CodeGiftExpired                  ErrorCode = "gift_expired"
	CodeGiftNotClaimable             ErrorCode = "gift_not_claimable"
	CodeHeadersTooLarge              ErrorCode = "headers_too_large"
	CodeHintNotNeeded                ErrorCode = "hint_not_needed"
	CodeIdempotencyInProgress        ErrorCode = "idempotency_in_progress"
	CodeIdempotencyKeyReused         ErrorCode = "idempotency_key_reused"
	CodeIdentityInvalid              ErrorCode = "identity_invalid"
	CodeInsufficientBalance          ErrorCode = "insufficient_balance"
	CodeInternal                     ErrorCode = "internal"
	CodeInvalidJson                  ErrorCode = "invalid_json"
	CodeInvalidReportID              ErrorCode = "invalid_report_id"
	CodeInvalidSettlementToken       ErrorCode = "invalid_settlement_token"
	CodeIPNotAllowed                 ErrorCode = "ip_not_allowed"
	CodeKeyIsConsole                 ErrorCode = "key_is_console"
	CodeKeyRequired                  ErrorCode = "key_required"
	CodeKeysUnavailable              ErrorCode = "keys_unavailable"
	CodeLiveDisabled                 ErrorCode = "live_disabled"
	CodeMerchantChanged              ErrorCode = "merchant_changed"
	CodeMerchantExists               ErrorCode = "merchant_exists"
	CodeMerchantInShards             ErrorCode = "merchant_in_shards"
	CodeMerchantIsSuspended          ErrorCode = "merchant_is_suspended"
	CodeMerchantNameFixed            ErrorCode = "merchant_name_fixed"
	CodeMerchantNotApproved          ErrorCode = "merchant_not_approved"
	CodeMerchantNotFound             ErrorCode = "merchant_not_found"
	CodeMerchantNotSuspended         ErrorCode = "merchant_not_suspended"
	CodeMerchantReferenceUsed        ErrorCode = "merchant_reference_used"
	CodeMerchantSuspended            ErrorCode = "merchant_suspended"
	CodeMerchantUnknown              ErrorCode = "merchant_unknown"
	CodeMethodNotAllowed             ErrorCode = "method_not_allowed"
	CodeMoneyUnclaimed               ErrorCode = "money_unclaimed"
	CodeMonthArchived                ErrorCode = "month_archived"
	CodeNameServiceUnavailable       ErrorCode = "name_service_unavailable"
	CodeNetworkNotEnabled            ErrorCode = "network_not_enabled"
	CodeNetworkNotScanned            ErrorCode = "network_not_scanned"
	CodeNetworkUnavailable           ErrorCode = "network_unavailable"
	CodeNetworkUnknown               ErrorCode = "network_unknown"
	CodeNoAddress                    ErrorCode = "no_address"
	CodeNoFailedPayout               ErrorCode = "no_failed_payout"
	CodeNoRefundAddress              ErrorCode = "no_refund_address"
	CodeNoSuchPayout                 ErrorCode = "no_such_payout"
	CodeNotAGift                     ErrorCode = "not_a_gift"
	CodeNotARequest                  ErrorCode = "not_a_request"
	CodeNotAccused                   ErrorCode = "not_accused"
	CodeNotClosed                    ErrorCode = "not_closed"
	CodeNotConfirmed                 ErrorCode = "not_confirmed"
	CodeNotExpirable                 ErrorCode = "not_expirable"
	CodeNotInReview                  ErrorCode = "not_in_review"
	CodeNotPayable                   ErrorCode = "not_payable"
	CodeNotPossible                  ErrorCode = "not_possible"
	CodeNotSettledByCaller           ErrorCode = "not_settled_by_caller"
	CodeNothingConfirmed             ErrorCode = "nothing_confirmed"
	CodeNothingOwed                  ErrorCode = "nothing_owed"
	CodeOperatorRequired             ErrorCode = "operator_required"
	CodeOperatorTokenEnded           ErrorCode = "operator_token_ended"
	CodeOperatorTokenExpired         ErrorCode = "operator_token_expired"
	CodeOperatorTokenInvalid         ErrorCode = "operator_token_invalid"
	CodeOperatorTokenMissing         ErrorCode = "operator_token_missing"
	CodeOperatorTokenNotFound        ErrorCode = "operator_token_not_found"
	CodeOperatorTokenNotYours        ErrorCode = "operator_token_not_yours"
	CodeOperatorTokenUsed            ErrorCode = "operator_token_used"
	CodeOperatorTokensTooMany        ErrorCode = "operator_tokens_too_many"
	CodeOperatorsUnavailable         ErrorCode = "operators_unavailable"
	CodeOverloaded                   ErrorCode = "overloaded"
	CodeOwedTooShortly               ErrorCode = "owed_too_shortly"
	CodePasskeyByToken               ErrorCode = "passkey_by_token"
	CodePasskeyKnown                 ErrorCode = "passkey_known"
	CodePasskeyNotFound              ErrorCode = "passkey_not_found"
	CodePasskeysTooMany              ErrorCode = "passkeys_too_many"
	CodePauseNotFound                ErrorCode = "pause_not_found"
	CodePaymentChanged               ErrorCode = "payment_changed"
	CodePaymentElsewhere             ErrorCode = "payment_elsewhere"
	CodePaymentExists                ErrorCode = "payment_exists"
	CodePaymentLinkBusy              ErrorCode = "payment_link_busy"
	CodePaymentLinkClosed            ErrorCode = "payment_link_closed"
	CodePaymentLinkNotFound          ErrorCode = "payment_link_not_found"
	CodePaymentNotFound              ErrorCode = "payment_not_found"
	CodePayoutAmountDiffers          ErrorCode = "payout_amount_differs"
	CodePayoutConcluded              ErrorCode = "payout_concluded"
	CodePayoutInFlight               ErrorCode = "payout_in_flight"
	CodePayoutNotFound               ErrorCode = "payout_not_found"
	CodePayoutNotMade                ErrorCode = "payout_not_made"
	CodePayoutNotSent                ErrorCode = "payout_not_sent"
	CodePayoutSentAgain              ErrorCode = "payout_sent_again"
	CodePermissionMissing            ErrorCode = "permission_missing"
	CodeQuotesPaused                 ErrorCode = "quotes_paused"
	CodeRailNotFound                 ErrorCode = "rail_not_found"
	CodeRateLimited                  ErrorCode = "rate_limited"
	CodeRateUnavailable              ErrorCode = "rate_unavailable"
	CodeReceiverForgotten            ErrorCode = "receiver_forgotten"
	CodeReferenceRequired            ErrorCode = "reference_required"
	CodeRefundAddressChanged         ErrorCode = "refund_address_changed"
	CodeRefundAddressHeld            ErrorCode = "refund_address_held"
	CodeRefundAddressInternal        ErrorCode = "refund_address_internal"
	CodeRefundAddressNotNeeded       ErrorCode = "refund_address_not_needed"
	CodeRefundAddressNotProposed     ErrorCode = "refund_address_not_proposed"
	CodeRefundAddressRefused         ErrorCode = "refund_address_refused"
	CodeRefundAddressUnfit           ErrorCode = "refund_address_unfit"
	CodeRefundBegun                  ErrorCode = "refund_begun"
	CodeRefundDecided                ErrorCode = "refund_decided"
	CodeRefundDiffers                ErrorCode = "refund_differs"
	CodeRefundNotCancellable         ErrorCode = "refund_not_cancellable"
	CodeRefundNotFound               ErrorCode = "refund_not_found"
	CodeRefundOpen                   ErrorCode = "refund_open"
	CodeRefundUnverified             ErrorCode = "refund_unverified"
	CodeRefundsClosed                ErrorCode = "refunds_closed"
	CodeRefundsPaused                ErrorCode = "refunds_paused"
	CodeReplayLimit                  ErrorCode = "replay_limit"
	CodeReplayNotFound               ErrorCode = "replay_not_found"
	CodeReportNotFound               ErrorCode = "report_not_found"
	CodeRequestAlreadyFulfilled      ErrorCode = "request_already_fulfilled"
	CodeRequestCancelled             ErrorCode = "request_cancelled"
	CodeRequestExpired               ErrorCode = "request_expired"
	CodeRescanUnderWay               ErrorCode = "rescan_under_way"
	CodeRotationLimit                ErrorCode = "rotation_limit"
	CodeRouteNotFound                ErrorCode = "route_not_found"
	CodeSanctionsListOutdated        ErrorCode = "sanctions_list_outdated"
	CodeScreeningUnavailable         ErrorCode = "screening_unavailable"
	CodeSecondOperatorRequired       ErrorCode = "second_operator_required"
	CodeServiceUnavailable           ErrorCode = "service_unavailable"
	CodeSettlementAccountConfirmed   ErrorCode = "settlement_account_confirmed"
	CodeSettlementAccountCurrency    ErrorCode = "settlement_account_currency"
	CodeSettlementAccountDiffers     ErrorCode = "settlement_account_differs"
	CodeSettlementAccountHeld        ErrorCode = "settlement_account_held"
	CodeSettlementAccountNotFound    ErrorCode = "settlement_account_not_found"
	CodeSettlementAccountRemoved     ErrorCode = "settlement_account_removed"
	CodeSettlementAccountUnconfirmed ErrorCode = "settlement_account_unconfirmed"
	CodeShardMissing                 ErrorCode = "shard_missing"
	CodeShardUnknown                 ErrorCode = "shard_unknown"
	CodeSignatureExpired             ErrorCode = "signature_expired"
	CodeSignatureInvalid             ErrorCode = "signature_invalid"
	CodeSignatureMissing             ErrorCode = "signature_missing"
	CodeSignatureReplayed            ErrorCode = "signature_replayed"
	CodeSignaturesUnavailable        ErrorCode = "signatures_unavailable"
	CodeSweepBusy                    ErrorCode = "sweep_busy"
	CodeSweepNotFound                ErrorCode = "sweep_not_found"
	CodeTimeout                      ErrorCode = "timeout"
	CodeTokenByToken                 ErrorCode = "token_by_token"
	CodeTooManyGroups                ErrorCode = "too_many_groups"
	CodeTooManyGuesses               ErrorCode = "too_many_guesses"
	CodeTooManyKeys                  ErrorCode = "too_many_keys"
	CodeTooManyPaymentLinks          ErrorCode = "too_many_payment_links"
	CodeTooManyProposals             ErrorCode = "too_many_proposals"
	CodeTooManyReports               ErrorCode = "too_many_reports"
	CodeTooManySettlementAccounts    ErrorCode = "too_many_settlement_accounts"
	CodeTooManyTransactions          ErrorCode = "too_many_transactions"
	CodeTooManyWithdrawals           ErrorCode = "too_many_withdrawals"
	CodeTransactionUsed              ErrorCode = "transaction_used"
	CodeTransitionRefused            ErrorCode = "transition_refused"
	CodeTreasuryNotReady             ErrorCode = "treasury_not_ready"
	CodeTypeNotEnabled               ErrorCode = "type_not_enabled"
	CodeUnclaimedNotFound            ErrorCode = "unclaimed_not_found"
	CodeUnclaimedReturned            ErrorCode = "unclaimed_returned"
	CodeUnsupportedMediaType         ErrorCode = "unsupported_media_type"
	CodeUnsupportedPair              ErrorCode = "unsupported_pair"
	CodeUpstreamFailed               ErrorCode = "upstream_failed"
	CodeUpstreamTimeout              ErrorCode = "upstream_timeout"
	CodeUpstreamUnavailable          ErrorCode = "upstream_unavailable"
	CodeURLTooLong                   ErrorCode = "url_too_long"
	CodeValidationFailed             ErrorCode = "validation_failed"
	CodeWalletNotFound               ErrorCode = "wallet_not_found"
	CodeWindowOpen                   ErrorCode = "window_open"
	CodeWithdrawalAddressHeld        ErrorCode = "withdrawal_address_held"
	CodeWithdrawalAddressInternal    ErrorCode = "withdrawal_address_internal"
	CodeWithdrawalAddressRefused     ErrorCode = "withdrawal_address_refused"
	CodeWithdrawalAddressRemoved     ErrorCode = "withdrawal_address_removed"
	CodeWithdrawalDecided            ErrorCode = "withdrawal_decided"
	CodeWithdrawalNotCancellable     ErrorCode = "withdrawal_not_cancellable"
	CodeWithdrawalNotFound           ErrorCode = "withdrawal_not_found"
	CodeWithdrawalsClosed            ErrorCode = "withdrawals_closed"
	CodeWithdrawalsPaused            ErrorCode = "withdrawals_paused"
)

// AddressBook is the data of a AddressBookEvent.
func (e *Event) AddressBook() (*AddressBookEventData, error) { return dataOf[AddressBookEventData](e) }

// Endpoint is the data of a EndpointEvent.
func (e *Event) Endpoint() (*EndpointEventData, error) { return dataOf[EndpointEventData](e) }

// Payment is the data of a PaymentEvent.
func (e *Event) Payment() (*PaymentEventData, error) { return dataOf[PaymentEventData](e) }

// Report is the data of a ReportEvent.
func (e *Event) Report() (*ReportEventData, error) { return dataOf[ReportEventData](e) }

// SettlementAccount is the data of a SettlementAccountEvent.
func (e *Event) SettlementAccount() (*SettlementAccountEventData, error) {
	return dataOf[SettlementAccountEventData](e)
}

// Wallet is the data of a WalletEvent.
func (e *Event) Wallet() (*WalletEventData, error) { return dataOf[WalletEventData](e) }

// WalletWithdrawal is the data of a WalletWithdrawalEvent.
func (e *Event) WalletWithdrawal() (*WalletWithdrawalEventData, error) {
	return dataOf[WalletWithdrawalEventData](e)
}

// Withdrawal is the data of a WithdrawalEvent.
func (e *Event) Withdrawal() (*WithdrawalEventData, error) { return dataOf[WithdrawalEventData](e) }
