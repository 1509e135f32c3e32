"""The operations of the API.

Generated from gateway/openapi.yaml by make docs. Do not edit.
"""

from abc import ABC, abstractmethod
from typing import Any, Iterator, Literal, Optional, Sequence, Union

from . import types as t
from ._request import Listing, Operation, Request

#: `object.field` of each whole number of an answer. Every other number is a Decimal.
INTEGERS = frozenset((
    "address.sequence",
    "attempts.number",
    "attempts.status",
    "crypto.count",
    "cryptos.decimals",
    "data.limit",
    "data.offset",
    "data.total",
    "deliveries.attemptCount",
    "deliveries.sequence",
    "delivery.attemptCount",
    "delivery.sequence",
    "deposit.confirmations",
    "deposits.blockHeight",
    "deposits.confirmations",
    "endpoint.sequence",
    "fiat.count",
    "groups.count",
    "groups.ended",
    "groups.settled",
    "key.id",
    "limits.burst",
    "limits.perSecond",
    "networks.confirmations",
    "pagination.limit",
    "pagination.offset",
    "pagination.returned",
    "payment.confirmations",
    "payment.requiredConfirmations",
    "payment.sequence",
    "paymentLink.usageLimit",
    "paymentLink.uses",
    "paymentLinks.usageLimit",
    "paymentLinks.uses",
    "payments.confirmations",
    "payout.attempt",
    "rates.ageSeconds",
    "rates.sources",
    "rates.spreadBps",
    "replay.sent",
    "replay.total",
    "report.apiKeyId",
    "report.id",
    "report.sequence",
    "reports.apiKeyId",
    "reports.id",
    "settledWithin.day",
    "settledWithin.fiveMinutes",
    "settledWithin.hour",
    "settledWithin.minute",
    "settlementAccount.sequence",
    "totals.count",
    "totals.ended",
    "totals.settled",
    "transfer.blockHeight",
    "transfer.confirmations",
    "transfer.requiredConfirmations",
    "transfers.confirmations",
    "wallet.confirmations",
    "wallet.sequence",
    "wallets.confirmations",
    "withdrawal.sequence",
))


class Operations(ABC):
    """A method for each operation of the API."""

    @abstractmethod
    def _call(self, operation: Operation, request: Request) -> Any: ...

    @abstractmethod
    def _pages(self, operation: Operation, listing: Listing, request: Request) -> Iterator[Any]: ...

    def get_balances(self, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.BalancesAnswer:
        """Show the merchant's balances.

        Needs the permission `wallet:read`. `balances` covers the wallets of all keys of the merchant in the
        key's mode, per crypto and network. `pending` counts deposits that are on the chain and not deep
        enough yet. A key that has `payment:read` too gets `fiat`: what is owed to the merchant, one entry per
        currency. Its `pending` is the money of confirmed payments without a receiver that are not settled
        yet; a reorganisation can take it back. A part of the service that is away is a 503 for the whole
        answer.

        GET /v1/balances
        """
        answer: t.BalancesAnswer = self._call(Operation("GET", "/v1/balances", "needed", True), Request(timeout=timeout, max_retries=max_retries))
        return answer

    def list_banks(self, *, mode: Optional[Literal["live", "test", ""]] = None, currency: Optional[str] = None, name: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.BankListAnswer:
        """List banks.

        Needs no key. The banks are those of the rails' own lists, read daily. The search for `name` accepts
        words in any order and case, common short names, and one typing error in a word. A code finds its bank
        in any list of codes.

        GET /v1/banks
        """
        answer: t.BankListAnswer = self._call(Operation("GET", "/v1/banks", "optional", True), Request(query={"mode": mode, "currency": currency, "name": name}, timeout=timeout, max_retries=max_retries))
        return answer

    def get_checkout(self, reference: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.CheckoutAnswer:
        """Read what a payer needs.

        Needs no key: the reference is the secret. The answer shows nothing about the merchant, the payer or
        the receiver. For a request that is not fulfilled yet, `options` lists the price now in each accepted
        crypto and network.

        GET /v1/checkout/{reference}
        """
        answer: t.CheckoutAnswer = self._call(Operation("GET", "/v1/checkout/{reference}", "none", True), Request(path={"reference": reference}, timeout=timeout, max_retries=max_retries))
        return answer

    def propose_refund_address(self, reference: str, body: t.RefundAddress, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.ProposedRefundAddressAnswer:
        """Propose the address of a refund.

        Needs no key: every holder of the reference may propose an address, while something is owed to the
        payer (`takesRefundAddress` of the checkout), else it is 409 `refund_address_not_needed`. It takes no
        effect until the merchant or an operator confirms it; the merchant gets
        `payment.refund_address_proposed`. A later proposal replaces an earlier one. A payment takes 5
        different addresses of its network, refused ones included: more are 409 `too_many_proposals`.

        POST /v1/checkout/{reference}/refund-address
        """
        answer: t.ProposedRefundAddressAnswer = self._call(Operation("POST", "/v1/checkout/{reference}/refund-address", "none", True), Request(path={"reference": reference}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def simulate_payer(self, reference: str, body: t.SimulatePayer, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.SandboxDepositAnswer:
        """Play the payer of a test payment.

        Needs no key: every holder of a test-mode payment's reference may pay it with simulated money, as the
        page at `/pay/:reference` offers it. `full` sends the owed amount, `partial` half of it, `over` a
        fifth more; `late` closes the window first. Live payments get 404.

        POST /v1/checkout/{reference}/simulate
        """
        answer: t.SandboxDepositAnswer = self._call(Operation("POST", "/v1/checkout/{reference}/simulate", "none", True), Request(path={"reference": reference}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def name_transaction(self, reference: str, body: t.NameTransaction, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.NamedTransactionAnswer:
        """Name the transaction that paid.

        Needs no key: every holder of the reference may name a transaction. On an EVM network whose endpoints
        do not trace, the service does not see coin from a smart wallet, a contract or an exchange by itself
        (`takesTransactionHash` of the checkout, `seesContractTransfers` of GET /v1/networks). The service
        computes what the transaction paid to the payment's address; this coin becomes a transfer like any
        other and waits for the same confirmations. Naming it moves nothing by itself, and the answer is the
        same whether or not the transaction exists.

        The same transaction may be named any number of times. A payment takes 5 different ones: more are 409
        `too_many_transactions`. Where the service sees every transfer by itself, the answer is 400
        `hint_not_needed`.

        POST /v1/checkout/{reference}/transaction
        """
        answer: t.NamedTransactionAnswer = self._call(Operation("POST", "/v1/checkout/{reference}/transaction", "none", False), Request(path={"reference": reference}, body=body, timeout=timeout, max_retries=max_retries))
        return answer

    def list_events(self, *, shard: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, type_: Optional[t.EventTypeName] = None, from_: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.EventListAnswer:
        """Catch up with events.

        Needs the permission `webhook:manage`. The bodies as they are sent to endpoints, in the order in which
        they were accepted. That order may differ from the order in which they happened: `data.*.sequence`
        counts the events of one object. Store `nextCursor` and continue with it, even when `hasMore` is
        false: then you miss no event. Kept for 30 days. An event that this service cannot decrypt is left
        out, so that the others reach you. Its webhook is sent once the service can decrypt it, and the
        operator names the time from which to read again.

        GET /v1/events
        """
        answer: t.EventListAnswer = self._call(Operation("GET", "/v1/events", "needed", True), Request(query={"shard": shard, "limit": limit, "cursor": cursor, "type": type_, "from": from_}, timeout=timeout, max_retries=max_retries))
        return answer

    def iterate_events(self, *, shard: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, type_: Optional[t.EventTypeName] = None, from_: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> Iterator[Union[t.PaymentEvent, t.WalletEvent, t.WithdrawalEvent, t.WalletWithdrawalEvent, t.SettlementAccountEvent, t.AddressBookEvent, t.ReportEvent, t.EndpointEvent]]:
        """All items of `list_events`, page after page."""
        return self._pages(Operation("GET", "/v1/events", "needed", True), Listing("", "events", False), Request(query={"shard": shard, "limit": limit, "cursor": cursor, "type": type_, "from": from_}, timeout=timeout, max_retries=max_retries))

    def get_link(self, id_: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.LinkAnswer:
        """Read a payment link as a payer.

        `options` are the ways to pay a link of type `merchant` now; a `request` gets its price once it is
        made.

        GET /v1/links/{id}
        """
        answer: t.LinkAnswer = self._call(Operation("GET", "/v1/links/{id}", "none", True), Request(path={"id": id_}, timeout=timeout, max_retries=max_retries))
        return answer

    def pay_link(self, id_: str, body: t.LinkPayment = {}, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.PaymentCreatedAnswer:
        """Make a payment out of a link.

        For payers; paced by address. The link's id is in the payment's `metadata.paymentLink`. A link that
        has ended, has expired or has made as many payments as it may is 409 `payment_link_closed`. Payments
        that expired or were cancelled do not count. While 200 payments that it made within 30 minutes wait
        for their money, it is 429 `payment_link_busy`.

        POST /v1/links/{id}/payments
        """
        answer: t.PaymentCreatedAnswer = self._call(Operation("POST", "/v1/links/{id}/payments", "none", True), Request(path={"id": id_}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def get_me(self, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.MeAnswer:
        """The key that asks.

        Any key may ask. `permissions` are spelled out; `perSecond` and `burst` are null when the tier has no
        limit.

        GET /v1/me
        """
        answer: t.MeAnswer = self._call(Operation("GET", "/v1/me", "needed", True), Request(timeout=timeout, max_retries=max_retries))
        return answer

    def list_networks(self, *, mode: Optional[Literal["live", "test", ""]] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.NetworkListAnswer:
        """List networks and what is taken on them.

        Needs no key.

        GET /v1/networks
        """
        answer: t.NetworkListAnswer = self._call(Operation("GET", "/v1/networks", "optional", True), Request(query={"mode": mode}, timeout=timeout, max_retries=max_retries))
        return answer

    def list_payment_links(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.PaymentLinkListAnswer:
        """List payment links.

        Needs the permission `payment:read`. Newest first.

        GET /v1/payment-links
        """
        answer: t.PaymentLinkListAnswer = self._call(Operation("GET", "/v1/payment-links", "needed", True), Request(query={"limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))
        return answer

    def iterate_payment_links(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> Iterator[t.PaymentLink]:
        """All items of `list_payment_links`, page after page."""
        return self._pages(Operation("GET", "/v1/payment-links", "needed", True), Listing("", "paymentLinks", False), Request(query={"limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))

    def create_payment_link(self, body: t.PaymentLinkCreate, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.PaymentLinkAnswer:
        """Make a reusable payment link.

        Needs the permission `payment:create`. Anybody who has the link makes payments out of it: of type
        `request`, which are paid out to a confirmed settlement account, or of type `merchant`, whose money is
        the merchant's. Without `fiatAmount` the payer names the amount. A merchant has 1 000 links at most
        that have not ended.

        POST /v1/payment-links
        """
        answer: t.PaymentLinkAnswer = self._call(Operation("POST", "/v1/payment-links", "needed", True), Request(body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def get_payment_link(self, id_: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.PaymentLinkAnswer:
        """Read a payment link.

        Needs the permission `payment:read`.

        GET /v1/payment-links/{id}
        """
        answer: t.PaymentLinkAnswer = self._call(Operation("GET", "/v1/payment-links/{id}", "needed", True), Request(path={"id": id_}, timeout=timeout, max_retries=max_retries))
        return answer

    def change_payment_link(self, id_: str, body: t.PaymentLinkChange, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.PaymentLinkAnswer:
        """Change or end a payment link.

        Needs the permission `payment:create`. Fields that are not sent stay as they are. Payments that the
        link has made go on. `usageLimit: 0` removes the limit.

        PATCH /v1/payment-links/{id}
        """
        answer: t.PaymentLinkAnswer = self._call(Operation("PATCH", "/v1/payment-links/{id}", "needed", False), Request(path={"id": id_}, body=body, timeout=timeout, max_retries=max_retries))
        return answer

    def list_payments(self, *, status: Optional[Union[Literal["all", "created", "pending", "confirming", "confirmed", "settling", "settled", "expired", "cancelled", "needs_review", "refunded", ""], Sequence[Literal["all", "created", "pending", "confirming", "confirmed", "settling", "settled", "expired", "cancelled", "needs_review", "refunded", ""]]]] = None, type_: Optional[Literal["transfer", "gift", "request", "merchant", "bank_confirmation", ""]] = None, from_: Optional[str] = None, to: Optional[str] = None, merchant_reference: Optional[str] = None, payer_chat_id: Optional[str] = None, tx_hash: Optional[str] = None, address: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.PaymentListAnswer:
        """List payments.

        Needs the permission `payment:read`. Newest first. Each item has the fields of GET
        /v1/payments/{reference}.

        GET /v1/payments
        """
        answer: t.PaymentListAnswer = self._call(Operation("GET", "/v1/payments", "needed", True), Request(query={"status": status, "type": type_, "from": from_, "to": to, "merchantReference": merchant_reference, "payerChatId": payer_chat_id, "txHash": tx_hash, "address": address, "limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))
        return answer

    def iterate_payments(self, *, status: Optional[Union[Literal["all", "created", "pending", "confirming", "confirmed", "settling", "settled", "expired", "cancelled", "needs_review", "refunded", ""], Sequence[Literal["all", "created", "pending", "confirming", "confirmed", "settling", "settled", "expired", "cancelled", "needs_review", "refunded", ""]]]] = None, type_: Optional[Literal["transfer", "gift", "request", "merchant", "bank_confirmation", ""]] = None, from_: Optional[str] = None, to: Optional[str] = None, merchant_reference: Optional[str] = None, payer_chat_id: Optional[str] = None, tx_hash: Optional[str] = None, address: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> Iterator[t.Payment]:
        """All items of `list_payments`, page after page."""
        return self._pages(Operation("GET", "/v1/payments", "needed", True), Listing("", "payments", False), Request(query={"status": status, "type": type_, "from": from_, "to": to, "merchantReference": merchant_reference, "payerChatId": payer_chat_id, "txHash": tx_hash, "address": address, "limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))

    def create_payment(self, body: t.CreatePayment, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.PaymentCreatedAnswer:
        """Create a payment.

        Needs the permission `payment:create`.

        POST /v1/payments
        """
        answer: t.PaymentCreatedAnswer = self._call(Operation("POST", "/v1/payments", "needed", True), Request(body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def claim_gift(self, reference: str, body: t.ClaimGift, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.GiftClaimedAnswer:
        """Claim a gift to a bank account.

        Needs no key: the reference is the secret. This service looks up the account's name and ignores names
        that a client sends. The first of several claims wins. A gift that is not paid yet is settling with
        the exception `unfunded`, and the payout leaves when its deposit is confirmed.

        POST /v1/payments/gifts/{reference}/claim/confirm
        """
        answer: t.GiftClaimedAnswer = self._call(Operation("POST", "/v1/payments/gifts/{reference}/claim/confirm", "none", True), Request(path={"reference": reference}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def fulfill_request(self, reference: str, body: t.FulfillRequest, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.PaymentFulfilledAnswer:
        """Choose the crypto of a request and get its price and address.

        Needs no key: the reference is the secret. The rate is locked now and the fee is charged from crypto.
        The first of several fulfilments wins.

        POST /v1/payments/requests/{reference}/fulfill
        """
        answer: t.PaymentFulfilledAnswer = self._call(Operation("POST", "/v1/payments/requests/{reference}/fulfill", "none", True), Request(path={"reference": reference}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def verify_receiver(self, body: t.VerifyReceiver, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.ReceiverVerifiedAnswer:
        """Look up the holder of an account.

        Needs the permission `payment:create`; or, without any key, the `reference` of a gift that can be
        claimed. Every other reference is a 401. An invalid key, or one without the permission, counts as
        none. Without a key ten accounts may be looked up for one gift, and one more each minute, besides the
        limit for one address.

        With a key `reference` is optional and names a payment of its merchant. Without one the key's mode
        counts, and without `fiatCurrency` the bank's code decides the currency, else NGN; a payment's own
        mode and currency come before both. `nameVerified` is false and the name empty where the country's
        banks report no names.

        POST /v1/payments/verify-receiver
        """
        answer: t.ReceiverVerifiedAnswer = self._call(Operation("POST", "/v1/payments/verify-receiver", "optional", True), Request(body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def get_payment(self, reference: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.PaymentAnswer:
        """Read a payment.

        Needs the permission `payment:read`. Another merchant's payment, or one of the other mode, is a 404.

        GET /v1/payments/{reference}
        """
        answer: t.PaymentAnswer = self._call(Operation("GET", "/v1/payments/{reference}", "needed", True), Request(path={"reference": reference}, timeout=timeout, max_retries=max_retries))
        return answer

    def cancel_payment(self, reference: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.PaymentAnswer:
        """Withdraw a payment.

        Needs the permission `payment:create`. Only while nothing has been seen on the chain; later it is a
        409. A POST without a body.

        POST /v1/payments/{reference}/cancel
        """
        answer: t.PaymentAnswer = self._call(Operation("POST", "/v1/payments/{reference}/cancel", "needed", True), Request(path={"reference": reference}, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def set_refund_address(self, reference: str, body: t.RefundAddress, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.RefundAddressAnswer:
        """Say where a refund goes.

        Needs the permission `payment:create`. An address of the payment's network, checked for its shape and
        checksum. An address of this service is refused, in any spelling: a deposit address, that of a
        standalone wallet (`/v1/wallets`), a treasury. The money would not reach the payer. An operator can
        mark a payment refunded only if it has an address. If the address became known later as one of this
        service, the mark is refused too.

        Each change sends `payment.refund_address_changed`. After it no refund of a live payment leaves until
        `heldUntil`, 24 hours later by default, so that somebody can stop a change that the merchant did not
        order.

        POST /v1/payments/{reference}/refund-address
        """
        answer: t.RefundAddressAnswer = self._call(Operation("POST", "/v1/payments/{reference}/refund-address", "needed", True), Request(path={"reference": reference}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def confirm_refund_address(self, reference: str, body: t.RefundAddress, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.RefundAddressAnswer:
        """Confirm the refund address that the payer proposed.

        Needs the permission `refund:create`. Makes the payer's `refundAddressProposed` the address of
        refunds. The body repeats the address: if the payer has proposed another one since, the answer is 409
        `refund_address_not_proposed`. Anybody who has the link of the pay page can propose an address, so ask
        the payer over a way that you know before you confirm it. The address is checked and screened again,
        and the change counts like one by POST /v1/payments/{reference}/refund-address.

        POST /v1/payments/{reference}/refund-address/confirm
        """
        answer: t.RefundAddressAnswer = self._call(Operation("POST", "/v1/payments/{reference}/refund-address/confirm", "needed", True), Request(path={"reference": reference}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def list_refunds(self, reference: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.RefundsAnswer:
        """List the refunds of a payment.

        Needs the permission `payment:read`. Oldest first, failed ones too.

        GET /v1/payments/{reference}/refunds
        """
        answer: t.RefundsAnswer = self._call(Operation("GET", "/v1/payments/{reference}/refunds", "needed", True), Request(path={"reference": reference}, timeout=timeout, max_retries=max_retries))
        return answer

    def create_refund(self, reference: str, body: t.CreateRefund, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.RefundAnswer:
        """Refund the payer on the chain.

        Needs the permission `refund:create`. Sends crypto that is owed to the payer to the payment's refund
        address, in the asset and on the network on which it came: money that is short, over, late, unclaimed
        or of a wrong asset. Without `amount` it takes everything that is owed in one asset. Money that a
        running payment may still convert or pay out is not owed (409 `nothing_owed`). The money is held at
        once, so that refunds together never exceed what is owed (409 `amount_above_owed`). A payment that
        waits for a decision owes all of its money: such a request reserves the money and blocks `accept` and
        `retry_payout`, and its approval reverses the conversion.

        Up to a configured worth the request approves itself. Above it, and where the senders or a payout give
        cause, the refund stays `requested` until operators approve it. Test mode has no bound, and its
        simulated chain confirms a refund within 30 seconds. The other refusals are 409 `no_refund_address`,
        `refund_address_held`, `refund_address_internal`, `refund_address_refused`, `refund_address_unfit` and
        `refunds_closed`, and 503 `refunds_paused` and `network_unavailable`.

        POST /v1/payments/{reference}/refunds
        """
        answer: t.RefundAnswer = self._call(Operation("POST", "/v1/payments/{reference}/refunds", "needed", True), Request(path={"reference": reference}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def settle_payment(self, reference: str, body: t.Settle, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.PaymentAnswer:
        """Say that the receiver has been paid.

        Needs the permission `payment:create`. For a confirmed `bank_confirmation`, and a confirmed `merchant`
        without a receiver: the caller pays out itself and presents the one-time token of `payment.confirmed`.

        POST /v1/payments/{reference}/settle
        """
        answer: t.PaymentAnswer = self._call(Operation("POST", "/v1/payments/{reference}/settle", "needed", True), Request(path={"reference": reference}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def issue_settlement_token(self, reference: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.SettlementTokenAnswer:
        """Get a new settlement token.

        Needs the permission `payment:create`. The old token is void at once. The token works once, for 24
        hours. A replay by Idempotency-Key shows it for 15 minutes. A POST without a body.

        POST /v1/payments/{reference}/settlement-token
        """
        answer: t.SettlementTokenAnswer = self._call(Operation("POST", "/v1/payments/{reference}/settlement-token", "needed", True), Request(path={"reference": reference}, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def get_payment_timeline(self, reference: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.TimelineAnswer:
        """Read what has happened to a payment.

        Needs the permission `payment:read`. Everything that happened, oldest first: changes of the status,
        the quote, each transfer, each attempt of the payout, each refund. The member that `kind` names holds
        what happened, in its present state. `id` names the payment in GET /v1/webhooks/deliveries?objectId=….

        GET /v1/payments/{reference}/timeline
        """
        answer: t.TimelineAnswer = self._call(Operation("GET", "/v1/payments/{reference}/timeline", "needed", True), Request(path={"reference": reference}, timeout=timeout, max_retries=max_retries))
        return answer

    def list_rates(self, *, mode: Optional[Literal["live", "test", ""]] = None, fiat: Optional[str] = None, crypto: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.RateListAnswer:
        """Read the rates.

        Needs no key. The rates that would price a payment now, with their sources and ages.

        GET /v1/rates
        """
        answer: t.RateListAnswer = self._call(Operation("GET", "/v1/rates", "optional", True), Request(query={"mode": mode, "fiat": fiat, "crypto": crypto}, timeout=timeout, max_retries=max_retries))
        return answer

    def list_reports(self, *, status: Optional[Union[Literal["all", "pending", "processing", "resolved", "dismissed", ""], Sequence[Literal["all", "pending", "processing", "resolved", "dismissed", ""]]]] = None, complaint_type: Optional[Literal["track_transaction", "stolen_funds", "fraud", ""]] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.ReportOwnListAnswer:
        """List the merchant's own reports.

        Needs the permission `report:manage`; reports of the calling key's own merchant and mode only,
        whichever of its keys filed them. Newest first. It shows `confirmer` and `adminNotes`, which the
        public never sees.

        GET /v1/reports
        """
        answer: t.ReportOwnListAnswer = self._call(Operation("GET", "/v1/reports", "needed", True), Request(query={"status": status, "complaintType": complaint_type, "limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))
        return answer

    def iterate_reports(self, *, status: Optional[Union[Literal["all", "pending", "processing", "resolved", "dismissed", ""], Sequence[Literal["all", "pending", "processing", "resolved", "dismissed", ""]]]] = None, complaint_type: Optional[Literal["track_transaction", "stolen_funds", "fraud", ""]] = None, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> Iterator[t.ReportManaged]:
        """All items of `list_reports`, page after page."""
        return self._pages(Operation("GET", "/v1/reports", "needed", True), Listing("data", "reports", False), Request(query={"status": status, "complaintType": complaint_type, "limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))

    def create_report(self, body: t.CreateReport, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.ReportAnswer:
        """File a report.

        Needs the permission `report:create`. A phone number is kept as digits: spaces, -, ., brackets and a
        leading + are dropped. Addresses and the session reference are trimmed and not checked for format or
        existence. One key may file 1 000 reports on one wallet address an hour (`FLOOD_PER_HOUR`); then 429.

        Reports are public. Only keys of the merchant who filed the report see a gift's reference: for others
        `sessionReference` is null, and other texts show the code covered (`CW-****`). After an upgrade from a
        release whose gifts have no `G`, this holds for every reference of a report that may name one of them.

        POST /v1/reports
        """
        answer: t.ReportAnswer = self._call(Operation("POST", "/v1/reports", "needed", True), Request(body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def lookup_reports(self, *, phone_number: Optional[str] = None, wallet_address: Optional[str] = None, status: Optional[Literal["all", "pending", "processing", "resolved", "dismissed"]] = None, complaint_type: Optional[t.ComplaintType] = None, limit: Optional[int] = None, offset: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.ReportListAnswer:
        """Find reports by the reporter's phone or wallet, newest first.

        Public. A key is optional: its own merchant's reports show more; a bad key is ignored. Give
        `phoneNumber`, `walletAddress` or both; with both a report is found if either is its own. Values are
        cleaned as at filing and never refused: a value that is no phone number finds nothing. `0x…` addresses
        are compared without case, others exactly. Pages by `offset`, or by `cursor`. An empty `cursor` begins
        the list and adds `nextCursor` and `hasMore`. One phone or wallet may be looked up 50 times at once
        and 5 times a second.

        GET /v1/reports/lookup
        """
        answer: t.ReportListAnswer = self._call(Operation("GET", "/v1/reports/lookup", "optional", True), Request(query={"phoneNumber": phone_number, "walletAddress": wallet_address, "status": status, "complaintType": complaint_type, "limit": limit, "offset": offset, "cursor": cursor}, timeout=timeout, max_retries=max_retries))
        return answer

    def iterate_lookup_reports(self, *, phone_number: Optional[str] = None, wallet_address: Optional[str] = None, status: Optional[Literal["all", "pending", "processing", "resolved", "dismissed"]] = None, complaint_type: Optional[t.ComplaintType] = None, limit: Optional[int] = None, offset: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> Iterator[t.Report]:
        """All items of `lookup_reports`, page after page."""
        return self._pages(Operation("GET", "/v1/reports/lookup", "optional", True), Listing("data", "reports", True), Request(query={"phoneNumber": phone_number, "walletAddress": wallet_address, "status": status, "complaintType": complaint_type, "limit": limit, "offset": offset, "cursor": cursor}, timeout=timeout, max_retries=max_retries))

    def get_report(self, report_id: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.ReportAnswer:
        """Read a report.

        Public. A key is optional: its own merchant's report shows more; a bad key is ignored. One address may
        ask for 30 unknown ids a minute; then 429.

        GET /v1/reports/{reportId}
        """
        answer: t.ReportAnswer = self._call(Operation("GET", "/v1/reports/{reportId}", "optional", True), Request(path={"reportId": report_id}, timeout=timeout, max_retries=max_retries))
        return answer

    def update_report(self, report_id: str, body: t.UpdateReport, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.ReportManagedAnswer:
        """Move a report on.

        Needs the permission `report:manage`; reports of the calling key's own merchant and mode only. A
        pending report may become processing or dismissed, a processing one resolved or dismissed; any other
        move is a 409. The answer shows `confirmer` and `adminNotes`, which the public never sees.

        PATCH /v1/reports/{reportId}
        """
        answer: t.ReportManagedAnswer = self._call(Operation("PATCH", "/v1/reports/{reportId}", "needed", False), Request(path={"reportId": report_id}, body=body, timeout=timeout, max_retries=max_retries))
        return answer

    def sandbox_take_down(self, body: t.SandboxOutage, *, shard: Optional[str] = None, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.SandboxOutageAnswer:
        """Take prices or a network of your test mode down.

        Needs the permission `payment:create`. For the merchant's own test payments, and for nobody else's,
        there are no prices (503 `rate_unavailable`), or a network is not followed (503 `network_unavailable`;
        payouts and claims that rest on it wait), until `until`. Another outage of the same part replaces it,
        and one of 0 seconds ends it. It takes a second at most until every process knows.

        POST /v1/sandbox/outages
        """
        answer: t.SandboxOutageAnswer = self._call(Operation("POST", "/v1/sandbox/outages", "needed", True), Request(body=body, query={"shard": shard}, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def sandbox_deposit_payment(self, reference: str, body: t.SandboxDeposit = {}, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.SandboxDepositAnswer:
        """Send a transfer on the simulated chain.

        Needs the permission `payment:create`. The transfer is seen at once and mined in the next simulated
        block. Accepts payments that are pending, confirming, settling unfunded, expired or cancelled.

        POST /v1/sandbox/payments/{reference}/deposits
        """
        answer: t.SandboxDepositAnswer = self._call(Operation("POST", "/v1/sandbox/payments/{reference}/deposits", "needed", True), Request(path={"reference": reference}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def sandbox_expire_payment(self, reference: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.PaymentAnswer:
        """Close the payment window as the timer would.

        Needs the permission `payment:create`. A POST without a body.

        POST /v1/sandbox/payments/{reference}/expire
        """
        answer: t.PaymentAnswer = self._call(Operation("POST", "/v1/sandbox/payments/{reference}/expire", "needed", True), Request(path={"reference": reference}, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def sandbox_simulate_deposit(self, reference: str, body: t.SandboxSimulateDeposit = {}, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.SandboxDepositAnswer:
        """Send a transfer on the simulated chain, in the form of another engine.

        Needs the permission `payment:create`. As `deposits`; `steps` is the number of confirmations of the
        transfer.

        POST /v1/sandbox/payments/{reference}/simulate-deposit
        """
        answer: t.SandboxDepositAnswer = self._call(Operation("POST", "/v1/sandbox/payments/{reference}/simulate-deposit", "needed", True), Request(path={"reference": reference}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def sandbox_payout_outcome(self, id_: str, body: t.SandboxOutcome, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.SandboxOutcomeAnswer:
        """Say what becomes of a payout.

        Needs the permission `payment:create`. Before or after it is sent. A payout that failed or came back
        has its outcome already; one that succeeded can still be returned.

        POST /v1/sandbox/payouts/{id}/outcome
        """
        answer: t.SandboxOutcomeAnswer = self._call(Operation("POST", "/v1/sandbox/payouts/{id}/outcome", "needed", True), Request(path={"id": id_}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def sandbox_deposit_wallet(self, id_: str, body: t.SandboxWalletDeposit, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.SandboxWalletDepositAnswer:
        """Send a transfer to a wallet on the simulated chain.

        Needs the permission `wallet:create`. Accepts a wallet of any status. Without `confirmations` the
        chain grows until the transfer is deep enough.

        POST /v1/sandbox/wallets/{id}/deposits
        """
        answer: t.SandboxWalletDepositAnswer = self._call(Operation("POST", "/v1/sandbox/wallets/{id}/deposits", "needed", True), Request(path={"id": id_}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def list_settlement_accounts(self, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.SettlementAccountsAnswer:
        """List the settlement accounts.

        Needs the permission `payment:read`. The oldest first; a merchant has 20 at most in each mode.

        GET /v1/settlement-accounts
        """
        answer: t.SettlementAccountsAnswer = self._call(Operation("GET", "/v1/settlement-accounts", "needed", True), Request(timeout=timeout, max_retries=max_retries))
        return answer

    def create_settlement_account(self, body: t.CreateSettlementAccount, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.SettlementAccountAnswer:
        """Propose a bank account for withdrawals.

        Needs the permission `settlement:manage`. The bank gives the name; compare it before the confirmation,
        without which no money goes to the account.

        POST /v1/settlement-accounts
        """
        answer: t.SettlementAccountAnswer = self._call(Operation("POST", "/v1/settlement-accounts", "needed", True), Request(body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def delete_settlement_account(self, id_: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.SettlementAccountDeletedAnswer:
        """Take a settlement account away.

        Needs the permission `settlement:manage`. No withdrawal goes to it any more; one that has left is not
        called back.

        DELETE /v1/settlement-accounts/{id}
        """
        answer: t.SettlementAccountDeletedAnswer = self._call(Operation("DELETE", "/v1/settlement-accounts/{id}", "needed", False), Request(path={"id": id_}, timeout=timeout, max_retries=max_retries))
        return answer

    def get_settlement_account(self, id_: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.SettlementAccountAnswer:
        """Show a settlement account.

        Needs the permission `payment:read`.

        GET /v1/settlement-accounts/{id}
        """
        answer: t.SettlementAccountAnswer = self._call(Operation("GET", "/v1/settlement-accounts/{id}", "needed", True), Request(path={"id": id_}, timeout=timeout, max_retries=max_retries))
        return answer

    def confirm_settlement_account(self, id_: str, body: t.ConfirmSettlementAccount, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.SettlementAccountAnswer:
        """Confirm a settlement account.

        Needs the permission `withdrawal:create`. The body repeats the account number. In live mode no money
        leaves to the account for 24 hours (`heldUntil`).

        POST /v1/settlement-accounts/{id}/confirm
        """
        answer: t.SettlementAccountAnswer = self._call(Operation("POST", "/v1/settlement-accounts/{id}/confirm", "needed", True), Request(path={"id": id_}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def get_settlement_settings(self, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.SettlementSettingsAnswer:
        """Show how the merchant's own money is settled.

        Needs the permission `payment:read`.

        GET /v1/settlement-settings
        """
        answer: t.SettlementSettingsAnswer = self._call(Operation("GET", "/v1/settlement-settings", "needed", True), Request(timeout=timeout, max_retries=max_retries))
        return answer

    def change_settlement_settings(self, body: t.ChangeSettlementSettings, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.SettlementSettingsAnswer:
        """Choose how the merchant's own money is settled.

        Needs the permission `settlement:manage`. A field that is not sent stays as it is. With
        `merchantPayments` set to `balance`, payments of type `merchant` without a receiver that are created
        from then on have no settlement token: their money is credited to the merchant's balance once its
        transfers are final. `self`, the default, leaves them to the merchant to settle. A payment keeps the
        choice with which it was created. `daily` replaces all daily settlements: once each UTC day everything
        that is available, if it is at least `minimum`, is withdrawn to the account. An empty list ends them.

        PATCH /v1/settlement-settings
        """
        answer: t.SettlementSettingsAnswer = self._call(Operation("PATCH", "/v1/settlement-settings", "needed", False), Request(body=body, timeout=timeout, max_retries=max_retries))
        return answer

    def list_settlements(self, *, shard: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.SettlementsAnswer:
        """Report what was settled.

        Needs the permission `payment:read`. One row for each payment that was settled between `from` and `to`
        (by default the last 30 days), in the order of settlement; columns of one currency may be added up.
        The CSV has no totals. The report may have any length and is streamed; a report that was cut off lacks
        the last chunk, and its JSON lacks the totals. A key reads four reports at a time (429 beyond); a
        reader who takes less than 16 KiB a second over ten seconds is cut off.

        GET /v1/settlements
        """
        answer: t.SettlementsAnswer = self._call(Operation("GET", "/v1/settlements", "needed", True), Request(query={"shard": shard, "from": from_, "to": to}, timeout=timeout, max_retries=max_retries))
        return answer

    def get_statistics(self, *, shard: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None, fiat_currency: Optional[Literal["NGN", "GHS", "KES", "ZAR", ""]] = None, network: Optional[str] = None, type_: Optional[Literal["transfer", "gift", "request", "merchant", "bank_confirmation", ""]] = None, by: Optional[Union[Literal["day", "fiatCurrency", "network", "status", "type"], Sequence[Literal["day", "fiatCurrency", "network", "status", "type"]]]] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.StatisticsAnswer:
        """Read the figures of your payments.

        Needs the permission `payment:read`. Sums over the payments that were created on the days from `from`
        to `to`, both included, in UTC; by default the last 30 days, and 366 at most. The sums are exact at
        the time of the answer. `ended` counts settled, expired, cancelled and refunded payments, and
        `successRate` is `settled` divided by `ended`. `fee` and `payoutAmount` are those of settled payments,
        as in GET /v1/settlements. `secondsToSettle` is the mean time from the confirmation of the money (of a
        gift: from its claim, if that is later) to the settlement, and `settledWithin` counts the payments
        that took no longer. More than 10 000 groups are 400 `too_many_groups`.

        GET /v1/statistics
        """
        answer: t.StatisticsAnswer = self._call(Operation("GET", "/v1/statistics", "needed", True), Request(query={"shard": shard, "from": from_, "to": to, "fiatCurrency": fiat_currency, "network": network, "type": type_, "by": by}, timeout=timeout, max_retries=max_retries))
        return answer

    def list_wallets(self, *, status: Optional[Literal["all", "watching", "deposit_detected", "confirmed", "swept", "expired"]] = None, limit: Optional[int] = None, offset: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WalletListAnswer:
        """List the calling key's wallets, newest first.

        Needs the permission `wallet:read`. Pages by `offset`, or by `cursor`. An empty `cursor` begins the
        list and adds `nextCursor` and `hasMore` to `pagination`.

        GET /v1/wallets
        """
        answer: t.WalletListAnswer = self._call(Operation("GET", "/v1/wallets", "needed", True), Request(query={"status": status, "limit": limit, "offset": offset, "cursor": cursor}, timeout=timeout, max_retries=max_retries))
        return answer

    def iterate_wallets(self, *, status: Optional[Literal["all", "watching", "deposit_detected", "confirmed", "swept", "expired"]] = None, limit: Optional[int] = None, offset: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> Iterator[t.WalletItem]:
        """All items of `list_wallets`, page after page."""
        return self._pages(Operation("GET", "/v1/wallets", "needed", True), Listing("", "wallets", True), Request(query={"status": status, "limit": limit, "offset": offset, "cursor": cursor}, timeout=timeout, max_retries=max_retries))

    def create_wallet(self, body: t.CreateWallet, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WalletCreatedAnswer:
        """Make a deposit wallet.

        Needs the permission `wallet:create`. The scan of the address begins before the answer. Wallets belong
        to the key that made them.

        POST /v1/wallets
        """
        answer: t.WalletCreatedAnswer = self._call(Operation("POST", "/v1/wallets", "needed", True), Request(body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def list_wallet_withdrawal_addresses(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.AddressBookAnswer:
        """List the address book, newest first.

        Needs the permission `wallet:read`. The book belongs to the merchant in the mode of the key.

        GET /v1/wallets/address-book
        """
        answer: t.AddressBookAnswer = self._call(Operation("GET", "/v1/wallets/address-book", "needed", True), Request(query={"limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))
        return answer

    def iterate_wallet_withdrawal_addresses(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> Iterator[t.AddressBookEntry]:
        """All items of `list_wallet_withdrawal_addresses`, page after page."""
        return self._pages(Operation("GET", "/v1/wallets/address-book", "needed", True), Listing("", "addresses", False), Request(query={"limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))

    def add_wallet_withdrawal_address(self, body: t.NewAddressBookEntry, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.AddressBookEntryAnswer:
        """Add an address to the address book.

        Needs the permission `wallet:withdraw`. The address has the form of the network, and on solana belongs
        to a wallet. One of this service is a 409 `withdrawal_address_internal`, a listed one a 409
        `withdrawal_address_refused`, a second entry of the same a 409 `address_known`. The merchant gets
        `wallet.address_added`, and no withdrawal of live mode goes there before `usableAt`, 24 hours later.
        The book of a mode has at most 200 addresses (409 `address_book_full`).

        POST /v1/wallets/address-book
        """
        answer: t.AddressBookEntryAnswer = self._call(Operation("POST", "/v1/wallets/address-book", "needed", True), Request(body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def remove_wallet_withdrawal_address(self, id_: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.AddressRemovedAnswer:
        """Take an address out of the address book.

        Needs the permission `wallet:withdraw`. Withdrawals to it that wait for operators cannot be approved
        any more; approved ones go on.

        DELETE /v1/wallets/address-book/{id}
        """
        answer: t.AddressRemovedAnswer = self._call(Operation("DELETE", "/v1/wallets/address-book/{id}", "needed", False), Request(path={"id": id_}, timeout=timeout, max_retries=max_retries))
        return answer

    def list_wallet_withdrawals(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WalletWithdrawalsAnswer:
        """List withdrawals, newest first.

        Needs the permission `wallet:read`.

        GET /v1/wallets/withdrawals
        """
        answer: t.WalletWithdrawalsAnswer = self._call(Operation("GET", "/v1/wallets/withdrawals", "needed", True), Request(query={"limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))
        return answer

    def iterate_wallet_withdrawals(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> Iterator[t.WalletWithdrawal]:
        """All items of `list_wallet_withdrawals`, page after page."""
        return self._pages(Operation("GET", "/v1/wallets/withdrawals", "needed", True), Listing("", "withdrawals", False), Request(query={"limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))

    def create_wallet_withdrawal(self, body: t.NewWalletWithdrawal, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WalletWithdrawalAnswer:
        """Withdraw crypto from the deposit wallets.

        Needs the permission `wallet:withdraw`. Sends `amount` from the merchant's balance of the mode to an
        address of the address book; the balance pays the fee besides. The balance is asked after the answer:
        a withdrawal that it does not cover fails with `insufficient_balance` within seconds, and nothing is
        taken. A withdrawal of live mode waits for operators as `requested` above
        `WITHDRAWAL_APPROVAL_ABOVE_USD` within 24 hours, and is a 400 `daily_limit_exceeded` above the
        merchant's limit. Every approved withdrawal counts, whatever became of it. The refusals are 409
        `withdrawals_closed`, `withdrawal_address_held`, `withdrawal_address_internal`,
        `withdrawal_address_refused`, `fee_changed` and `too_many_withdrawals` (100 of a mode have not ended),
        400 `amount_below_minimum` below the fee, and 503 `withdrawals_paused`, `network_unavailable`,
        `rate_unavailable` and `sanctions_list_outdated`. Test mode has no limits, and its simulated chain
        confirms within 30 seconds.

        POST /v1/wallets/withdrawals
        """
        answer: t.WalletWithdrawalAnswer = self._call(Operation("POST", "/v1/wallets/withdrawals", "needed", True), Request(body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def list_wallet_withdrawal_fees(self, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WalletWithdrawalFeesAnswer:
        """Show the fees of withdrawals.

        Needs the permission `wallet:read`. The fee of a pair is in its own crypto, is paid besides the
        amount, and covers the fee of the network, whatever that asks. It holds until operators change it.
        Name it as `fee` in the withdrawal to be sure that no other one is taken. `open` says whether the pair
        can be withdrawn in the mode of the key.

        GET /v1/wallets/withdrawals/fees
        """
        answer: t.WalletWithdrawalFeesAnswer = self._call(Operation("GET", "/v1/wallets/withdrawals/fees", "needed", True), Request(timeout=timeout, max_retries=max_retries))
        return answer

    def get_wallet_withdrawal(self, id_: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WalletWithdrawalAnswer:
        """Read a withdrawal.

        Needs the permission `wallet:read`.

        GET /v1/wallets/withdrawals/{id}
        """
        answer: t.WalletWithdrawalAnswer = self._call(Operation("GET", "/v1/wallets/withdrawals/{id}", "needed", True), Request(path={"id": id_}, timeout=timeout, max_retries=max_retries))
        return answer

    def cancel_wallet_withdrawal(self, id_: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WalletWithdrawalAnswer:
        """Cancel a withdrawal that is not signed.

        Needs the permission `wallet:withdraw`. A POST without a body. One that is `requested` fails as
        `cancelled` at once. One that is `approved` or `signing` shows `cancellation: requested` and fails
        within seconds if nothing can have been signed for it; otherwise it goes on with `cancellation:
        too_late`. Any other is a 409 `withdrawal_not_cancellable`. After a restore one that is `requested` in
        live mode is a 503 `withdrawals_paused` for a while.

        POST /v1/wallets/withdrawals/{id}/cancel
        """
        answer: t.WalletWithdrawalAnswer = self._call(Operation("POST", "/v1/wallets/withdrawals/{id}/cancel", "needed", True), Request(path={"id": id_}, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def get_wallet(self, id_: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WalletAnswer:
        """Read a wallet.

        Needs the permission `wallet:read`. A wallet of another key, even of the same merchant, is a 404.

        GET /v1/wallets/{id}
        """
        answer: t.WalletAnswer = self._call(Operation("GET", "/v1/wallets/{id}", "needed", True), Request(path={"id": id_}, timeout=timeout, max_retries=max_retries))
        return answer

    def list_wallet_deposits(self, id_: str, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WalletDepositListAnswer:
        """List the transfers to a wallet's address, newest first.

        Needs the permission `wallet:read`. Also shows transfers in another crypto or on another network of
        the address's family; `counted` says whether a transfer is part of the wallet's `amount`.

        GET /v1/wallets/{id}/deposits
        """
        answer: t.WalletDepositListAnswer = self._call(Operation("GET", "/v1/wallets/{id}/deposits", "needed", True), Request(path={"id": id_}, query={"limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))
        return answer

    def iterate_wallet_deposits(self, id_: str, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> Iterator[t.WalletDeposit]:
        """All items of `list_wallet_deposits`, page after page."""
        return self._pages(Operation("GET", "/v1/wallets/{id}/deposits", "needed", True), Listing("", "deposits", False), Request(path={"id": id_}, query={"limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))

    def list_webhook_deliveries(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, endpoint_id: Optional[str] = None, event_id: Optional[str] = None, object_id: Optional[str] = None, type_: Optional[t.EventTypeName] = None, status: Optional[Literal["pending", "retrying", "held", "delivered", "exhausted", "all"]] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookDeliveryListAnswer:
        """List deliveries with their attempts.

        Needs the permission `webhook:manage`. Newest first, kept for 30 days. A delivery is listed once its
        first attempt has ended, or a few seconds after its event while that attempt is under way.

        GET /v1/webhooks/deliveries
        """
        answer: t.WebhookDeliveryListAnswer = self._call(Operation("GET", "/v1/webhooks/deliveries", "needed", True), Request(query={"limit": limit, "cursor": cursor, "endpointId": endpoint_id, "eventId": event_id, "objectId": object_id, "type": type_, "status": status}, timeout=timeout, max_retries=max_retries))
        return answer

    def iterate_webhook_deliveries(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, endpoint_id: Optional[str] = None, event_id: Optional[str] = None, object_id: Optional[str] = None, type_: Optional[t.EventTypeName] = None, status: Optional[Literal["pending", "retrying", "held", "delivered", "exhausted", "all"]] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> Iterator[t.WebhookDelivery]:
        """All items of `list_webhook_deliveries`, page after page."""
        return self._pages(Operation("GET", "/v1/webhooks/deliveries", "needed", True), Listing("", "deliveries", False), Request(query={"limit": limit, "cursor": cursor, "endpointId": endpoint_id, "eventId": event_id, "objectId": object_id, "type": type_, "status": status}, timeout=timeout, max_retries=max_retries))

    def get_webhook_delivery(self, id_: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookDeliveryAnswer:
        """Read a delivery with its attempts.

        Needs the permission `webhook:manage`.

        GET /v1/webhooks/deliveries/{id}
        """
        answer: t.WebhookDeliveryAnswer = self._call(Operation("GET", "/v1/webhooks/deliveries/{id}", "needed", True), Request(path={"id": id_}, timeout=timeout, max_retries=max_retries))
        return answer

    def retry_webhook_delivery(self, id_: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookRetryAnswer:
        """Send a delivery again now.

        Needs the permission `webhook:manage`. With the same `webhook-id` and body and a new signature, to the
        URL that the endpoint has now. Accepts delivered ones too. The schedule begins anew. One to a URL that
        the endpoint left goes there within the 48 hours, and is refused later.

        POST /v1/webhooks/deliveries/{id}/retry
        """
        answer: t.WebhookRetryAnswer = self._call(Operation("POST", "/v1/webhooks/deliveries/{id}/retry", "needed", True), Request(path={"id": id_}, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def list_webhook_endpoints(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookEndpointListAnswer:
        """List registered endpoints.

        Needs the permission `webhook:manage`.

        GET /v1/webhooks/endpoints
        """
        answer: t.WebhookEndpointListAnswer = self._call(Operation("GET", "/v1/webhooks/endpoints", "needed", True), Request(query={"limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))
        return answer

    def iterate_webhook_endpoints(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> Iterator[t.WebhookEndpoint]:
        """All items of `list_webhook_endpoints`, page after page."""
        return self._pages(Operation("GET", "/v1/webhooks/endpoints", "needed", True), Listing("", "endpoints", False), Request(query={"limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))

    def create_webhook_endpoint(self, body: t.WebhookEndpointCreate, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookEndpointAnswer:
        """Register an endpoint.

        Needs the permission `webhook:manage`. Every event whose type is in `types` (all, when it is empty) is
        sent to the endpoint besides the payment's `callbackUrl`, signed with a secret of the endpoint's own.
        In live mode every endpoint also gets the events that warn of money that may leave, whatever its
        `types`: `settlement_account.…`, `withdrawal.…`, `wallet.address_…`, `wallet.withdrawal_…` and
        `payment.refund_address_changed`. At most 100 in each mode. Live mode takes https URLs of public names
        only.

        POST /v1/webhooks/endpoints
        """
        answer: t.WebhookEndpointAnswer = self._call(Operation("POST", "/v1/webhooks/endpoints", "needed", True), Request(body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def delete_webhook_endpoint(self, id_: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookEndpointDeletedAnswer:
        """Take an endpoint away.

        Needs the permission `webhook:manage`. Events that are not delivered yet are dropped. Live mode: for
        48 hours the events that warn of money that may leave still go to its URL, if it had that URL for a
        day, and so do those that are not delivered yet.

        DELETE /v1/webhooks/endpoints/{id}
        """
        answer: t.WebhookEndpointDeletedAnswer = self._call(Operation("DELETE", "/v1/webhooks/endpoints/{id}", "needed", False), Request(path={"id": id_}, timeout=timeout, max_retries=max_retries))
        return answer

    def get_webhook_endpoint(self, id_: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookEndpointAnswer:
        """Read an endpoint.

        Needs the permission `webhook:manage`.

        GET /v1/webhooks/endpoints/{id}
        """
        answer: t.WebhookEndpointAnswer = self._call(Operation("GET", "/v1/webhooks/endpoints/{id}", "needed", True), Request(path={"id": id_}, timeout=timeout, max_retries=max_retries))
        return answer

    def change_webhook_endpoint(self, id_: str, body: t.WebhookEndpointPatch, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookEndpointAnswer:
        """Change an endpoint.

        Needs the permission `webhook:manage`. Members that are absent stay. A disabled endpoint's events are
        held; enabling it sends them. A live endpoint that leaves a URL, which it had for a day, or is
        disabled: for 48 hours the events that warn of money that may leave also go to that URL, and so do
        those that wait for the endpoint then.

        PATCH /v1/webhooks/endpoints/{id}
        """
        answer: t.WebhookEndpointAnswer = self._call(Operation("PATCH", "/v1/webhooks/endpoints/{id}", "needed", False), Request(path={"id": id_}, body=body, timeout=timeout, max_retries=max_retries))
        return answer

    def rotate_webhook_endpoint(self, id_: str, body: t.WebhookRotation = {}, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookSecretAnswer:
        """Replace an endpoint's secret.

        Needs the permission `webhook:manage`. Each secret signs for 24 hours after it is replaced, and every
        delivery carries the signatures of all of them. Four may sign at a time; a fifth is refused with
        `rotation_limit`. After a leak send `revokePrevious`: it ends all earlier secrets at once and is never
        refused for their number.

        POST /v1/webhooks/endpoints/{id}/rotate
        """
        answer: t.WebhookSecretAnswer = self._call(Operation("POST", "/v1/webhooks/endpoints/{id}/rotate", "needed", True), Request(path={"id": id_}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def get_webhook_endpoint_secret(self, id_: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookSecretAnswer:
        """Read an endpoint's secret.

        Needs the permission `webhook:manage`.

        GET /v1/webhooks/endpoints/{id}/secret
        """
        answer: t.WebhookSecretAnswer = self._call(Operation("GET", "/v1/webhooks/endpoints/{id}/secret", "needed", True), Request(path={"id": id_}, timeout=timeout, max_retries=max_retries))
        return answer

    def rotate_webhook_endpoint_secret(self, id_: str, body: t.WebhookRotation = {}, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookSecretAnswer:
        """Replace an endpoint's secret.

        Needs the permission `webhook:manage`. Each secret signs for 24 hours after it is replaced, and every
        delivery carries the signatures of all of them. Four may sign at a time; a fifth is refused with
        `rotation_limit`. After a leak send `revokePrevious`: it ends all earlier secrets at once and is never
        refused for their number.

        POST /v1/webhooks/endpoints/{id}/secret/rotate
        """
        answer: t.WebhookSecretAnswer = self._call(Operation("POST", "/v1/webhooks/endpoints/{id}/secret/rotate", "needed", True), Request(path={"id": id_}, body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def test_webhook_endpoint(self, id_: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookDeliveryAnswer:
        """Send a test event.

        Needs the permission `webhook:manage`. A `webhook.test` event goes only to this endpoint, by the same
        way as every event. The answer waits a few seconds for the first attempt.

        POST /v1/webhooks/endpoints/{id}/test
        """
        answer: t.WebhookDeliveryAnswer = self._call(Operation("POST", "/v1/webhooks/endpoints/{id}/test", "needed", True), Request(path={"id": id_}, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def create_webhook_replay(self, body: t.WebhookReplayCreate, *, shard: Optional[str] = None, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookReplayAnswer:
        """Send the deliveries of a range of time again.

        Needs the permission `webhook:manage`. To one endpoint, and none to a URL that it left, or, without
        `endpointId`, to `callbackUrl`s. `dryRun` counts and sends nothing. A replay uses at most a fifth of
        the capacity, and can be paused.

        POST /v1/webhooks/replays
        """
        answer: t.WebhookReplayAnswer = self._call(Operation("POST", "/v1/webhooks/replays", "needed", True), Request(body=body, query={"shard": shard}, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def get_webhook_replay(self, id_: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookReplayAnswer:
        """Read a replay.

        Needs the permission `webhook:manage`.

        GET /v1/webhooks/replays/{id}
        """
        answer: t.WebhookReplayAnswer = self._call(Operation("GET", "/v1/webhooks/replays/{id}", "needed", True), Request(path={"id": id_}, timeout=timeout, max_retries=max_retries))
        return answer

    def pause_webhook_replay(self, id_: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookReplayAnswer:
        """Pause a replay.

        Needs the permission `webhook:manage`. Running attempts are still made.

        POST /v1/webhooks/replays/{id}/pause
        """
        answer: t.WebhookReplayAnswer = self._call(Operation("POST", "/v1/webhooks/replays/{id}/pause", "needed", False), Request(path={"id": id_}, timeout=timeout, max_retries=max_retries))
        return answer

    def resume_webhook_replay(self, id_: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookReplayAnswer:
        """Go on with a replay.

        Needs the permission `webhook:manage`. A finished replay stays finished.

        POST /v1/webhooks/replays/{id}/resume
        """
        answer: t.WebhookReplayAnswer = self._call(Operation("POST", "/v1/webhooks/replays/{id}/resume", "needed", False), Request(path={"id": id_}, timeout=timeout, max_retries=max_retries))
        return answer

    def get_webhook_secret(self, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookSecretAnswer:
        """Read the secret that signs callbacks.

        Needs the permission `webhook:manage`. One secret per merchant and mode signs every delivery to a
        `callbackUrl`. It is created at its first use.

        GET /v1/webhooks/secret
        """
        answer: t.WebhookSecretAnswer = self._call(Operation("GET", "/v1/webhooks/secret", "needed", True), Request(timeout=timeout, max_retries=max_retries))
        return answer

    def rotate_webhook_secret(self, body: t.WebhookRotation = {}, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WebhookSecretAnswer:
        """Replace the secret that signs callbacks.

        Needs the permission `webhook:manage`. Each secret signs for 24 hours after it is replaced, and every
        delivery carries the signatures of all of them. Four may sign at a time; a fifth is refused with
        `rotation_limit`. After a leak send `revokePrevious`: it ends all earlier secrets at once and is never
        refused for their number.

        POST /v1/webhooks/secret/rotate
        """
        answer: t.WebhookSecretAnswer = self._call(Operation("POST", "/v1/webhooks/secret/rotate", "needed", True), Request(body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def list_withdrawals(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WithdrawalsAnswer:
        """List withdrawals.

        Needs the permission `payment:read`. The newest first.

        GET /v1/withdrawals
        """
        answer: t.WithdrawalsAnswer = self._call(Operation("GET", "/v1/withdrawals", "needed", True), Request(query={"limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))
        return answer

    def iterate_withdrawals(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> Iterator[t.Withdrawal]:
        """All items of `list_withdrawals`, page after page."""
        return self._pages(Operation("GET", "/v1/withdrawals", "needed", True), Listing("", "withdrawals", False), Request(query={"limit": limit, "cursor": cursor}, timeout=timeout, max_retries=max_retries))

    def create_withdrawal(self, body: t.CreateWithdrawal, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WithdrawalAnswer:
        """Pay a balance out to a settlement account.

        Needs the permission `withdrawal:create`. The money leaves the available balance at once, and is in it
        again where it cannot be paid. In live mode a withdrawal above a bound is `requested` until two
        operators have approved it. At most 100 withdrawals of a mode have not ended (409
        `too_many_withdrawals`).

        POST /v1/withdrawals
        """
        answer: t.WithdrawalAnswer = self._call(Operation("POST", "/v1/withdrawals", "needed", True), Request(body=body, idempotency_key=idempotency_key, timeout=timeout, max_retries=max_retries))
        return answer

    def get_withdrawal(self, id_: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None) -> t.WithdrawalAnswer:
        """Show a withdrawal.

        Needs the permission `payment:read`.

        GET /v1/withdrawals/{id}
        """
        answer: t.WithdrawalAnswer = self._call(Operation("GET", "/v1/withdrawals/{id}", "needed", True), Request(path={"id": id_}, timeout=timeout, max_retries=max_retries))
        return answer
