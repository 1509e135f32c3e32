<?php

// Generated from gateway/openapi.yaml by make docs. Do not edit.

declare(strict_types=1);

namespace Causeway;

/**
 * A method for each operation of the API.
 *
 * @phpstan-import-type BalancesAnswer from Types
 * @phpstan-import-type BankListAnswer from Types
 * @phpstan-import-type CheckoutAnswer from Types
 * @phpstan-import-type ProposedRefundAddressAnswer from Types
 * @phpstan-import-type RefundAddress from Types
 * @phpstan-import-type SandboxDepositAnswer from Types
 * @phpstan-import-type SimulatePayer from Types
 * @phpstan-import-type NamedTransactionAnswer from Types
 * @phpstan-import-type NameTransaction from Types
 * @phpstan-import-type EventListAnswer from Types
 * @phpstan-import-type PaymentEvent from Types
 * @phpstan-import-type WalletEvent from Types
 * @phpstan-import-type WithdrawalEvent from Types
 * @phpstan-import-type WalletWithdrawalEvent from Types
 * @phpstan-import-type SettlementAccountEvent from Types
 * @phpstan-import-type AddressBookEvent from Types
 * @phpstan-import-type ReportEvent from Types
 * @phpstan-import-type EndpointEvent from Types
 * @phpstan-import-type EventTypeName from Types
 * @phpstan-import-type LinkAnswer from Types
 * @phpstan-import-type PaymentCreatedAnswer from Types
 * @phpstan-import-type LinkPayment from Types
 * @phpstan-import-type MeAnswer from Types
 * @phpstan-import-type NetworkListAnswer from Types
 * @phpstan-import-type PaymentLinkListAnswer from Types
 * @phpstan-import-type PaymentLink from Types
 * @phpstan-import-type PaymentLinkAnswer from Types
 * @phpstan-import-type PaymentLinkCreate from Types
 * @phpstan-import-type PaymentLinkChange from Types
 * @phpstan-import-type PaymentListAnswer from Types
 * @phpstan-import-type Payment from Types
 * @phpstan-import-type CreatePayment from Types
 * @phpstan-import-type GiftClaimedAnswer from Types
 * @phpstan-import-type ClaimGift from Types
 * @phpstan-import-type PaymentFulfilledAnswer from Types
 * @phpstan-import-type FulfillRequest from Types
 * @phpstan-import-type ReceiverVerifiedAnswer from Types
 * @phpstan-import-type VerifyReceiver from Types
 * @phpstan-import-type PaymentAnswer from Types
 * @phpstan-import-type RefundAddressAnswer from Types
 * @phpstan-import-type RefundsAnswer from Types
 * @phpstan-import-type RefundAnswer from Types
 * @phpstan-import-type CreateRefund from Types
 * @phpstan-import-type Settle from Types
 * @phpstan-import-type SettlementTokenAnswer from Types
 * @phpstan-import-type TimelineAnswer from Types
 * @phpstan-import-type RateListAnswer from Types
 * @phpstan-import-type ReportOwnListAnswer from Types
 * @phpstan-import-type ReportManaged from Types
 * @phpstan-import-type ReportAnswer from Types
 * @phpstan-import-type CreateReport from Types
 * @phpstan-import-type ReportListAnswer from Types
 * @phpstan-import-type Report from Types
 * @phpstan-import-type ComplaintType from Types
 * @phpstan-import-type ReportManagedAnswer from Types
 * @phpstan-import-type UpdateReport from Types
 * @phpstan-import-type SandboxOutageAnswer from Types
 * @phpstan-import-type SandboxOutage from Types
 * @phpstan-import-type SandboxDeposit from Types
 * @phpstan-import-type SandboxSimulateDeposit from Types
 * @phpstan-import-type SandboxOutcomeAnswer from Types
 * @phpstan-import-type SandboxOutcome from Types
 * @phpstan-import-type SandboxWalletDepositAnswer from Types
 * @phpstan-import-type SandboxWalletDeposit from Types
 * @phpstan-import-type SettlementAccountsAnswer from Types
 * @phpstan-import-type SettlementAccountAnswer from Types
 * @phpstan-import-type CreateSettlementAccount from Types
 * @phpstan-import-type SettlementAccountDeletedAnswer from Types
 * @phpstan-import-type ConfirmSettlementAccount from Types
 * @phpstan-import-type SettlementSettingsAnswer from Types
 * @phpstan-import-type ChangeSettlementSettings from Types
 * @phpstan-import-type SettlementsAnswer from Types
 * @phpstan-import-type StatisticsAnswer from Types
 * @phpstan-import-type WalletListAnswer from Types
 * @phpstan-import-type WalletItem from Types
 * @phpstan-import-type WalletCreatedAnswer from Types
 * @phpstan-import-type CreateWallet from Types
 * @phpstan-import-type AddressBookAnswer from Types
 * @phpstan-import-type AddressBookEntry from Types
 * @phpstan-import-type AddressBookEntryAnswer from Types
 * @phpstan-import-type NewAddressBookEntry from Types
 * @phpstan-import-type AddressRemovedAnswer from Types
 * @phpstan-import-type WalletWithdrawalsAnswer from Types
 * @phpstan-import-type WalletWithdrawal from Types
 * @phpstan-import-type WalletWithdrawalAnswer from Types
 * @phpstan-import-type NewWalletWithdrawal from Types
 * @phpstan-import-type WalletWithdrawalFeesAnswer from Types
 * @phpstan-import-type WalletAnswer from Types
 * @phpstan-import-type WalletDepositListAnswer from Types
 * @phpstan-import-type WalletDeposit from Types
 * @phpstan-import-type WebhookDeliveryListAnswer from Types
 * @phpstan-import-type WebhookDelivery from Types
 * @phpstan-import-type WebhookDeliveryAnswer from Types
 * @phpstan-import-type WebhookRetryAnswer from Types
 * @phpstan-import-type WebhookEndpointListAnswer from Types
 * @phpstan-import-type WebhookEndpoint from Types
 * @phpstan-import-type WebhookEndpointAnswer from Types
 * @phpstan-import-type WebhookEndpointCreate from Types
 * @phpstan-import-type WebhookEndpointDeletedAnswer from Types
 * @phpstan-import-type WebhookEndpointPatch from Types
 * @phpstan-import-type WebhookSecretAnswer from Types
 * @phpstan-import-type WebhookRotation from Types
 * @phpstan-import-type WebhookReplayAnswer from Types
 * @phpstan-import-type WebhookReplayCreate from Types
 * @phpstan-import-type WithdrawalsAnswer from Types
 * @phpstan-import-type Withdrawal from Types
 * @phpstan-import-type WithdrawalAnswer from Types
 * @phpstan-import-type CreateWithdrawal from Types
 */
abstract class Operations
{
    /**
     * @param array<string, string> $path
     * @param array<string, mixed> $query
     * @param array<string, mixed>|null $body
     * @return array<string, mixed>
     */
    abstract protected function call(Operation $operation, array $path, array $query, ?array $body, ?RequestOptions $options): array;

    /**
     * @param array<string, string> $path
     * @param array<string, mixed> $query
     * @return \Generator<int, mixed>
     */
    abstract protected function pages(Operation $operation, string $in, string $items, bool $offset, array $path, array $query, ?RequestOptions $options): \Generator;

    /**
     * Show the merchant's balances.
     *
     * Needs the permission `wallet:read`. `balances` covers the wallets of all keys of the merchant in the key's
     * mode, per crypto and network. `pending` counts deposits that are on the chain and not deep enough yet. A
     * key that has `payment:read` too gets `fiat`: what is owed to the merchant, one entry per currency. Its
     * `pending` is the money of confirmed payments without a receiver that are not settled yet; a reorganisation
     * can take it back. A part of the service that is away is a 503 for the whole answer.
     *
     * GET /v1/balances
     *
     * @return BalancesAnswer
     */
    public function getBalances(?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/balances', 'needed', true), [], [], null, $options);
    }

    /**
     * List banks.
     *
     * Needs no key. The banks are those of the rails' own lists, read daily. The search for `name` accepts words
     * in any order and case, common short names, and one typing error in a word. A code finds its bank in any
     * list of codes.
     *
     * GET /v1/banks
     *
     * @param array{mode?: 'live'|'test'|'', currency?: string, name?: string} $query
     * @return BankListAnswer
     */
    public function listBanks(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/banks', 'optional', true), [], $query, null, $options);
    }

    /**
     * Read what a payer needs.
     *
     * Needs no key: the reference is the secret. The answer shows nothing about the merchant, the payer or the
     * receiver. For a request that is not fulfilled yet, `options` lists the price now in each accepted crypto
     * and network.
     *
     * GET /v1/checkout/{reference}
     *
     * @return CheckoutAnswer
     */
    public function getCheckout(string $reference, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/checkout/{reference}', 'none', true), ['reference' => $reference], [], null, $options);
    }

    /**
     * Propose the address of a refund.
     *
     * Needs no key: every holder of the reference may propose an address, while something is owed to the payer
     * (`takesRefundAddress` of the checkout), else it is 409 `refund_address_not_needed`. It takes no effect
     * until the merchant or an operator confirms it; the merchant gets `payment.refund_address_proposed`. A
     * later proposal replaces an earlier one. A payment takes 5 different addresses of its network, refused ones
     * included: more are 409 `too_many_proposals`.
     *
     * POST /v1/checkout/{reference}/refund-address
     *
     * @param RefundAddress $body
     * @return ProposedRefundAddressAnswer
     */
    public function proposeRefundAddress(string $reference, array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/checkout/{reference}/refund-address', 'none', true), ['reference' => $reference], [], $body, $options);
    }

    /**
     * Play the payer of a test payment.
     *
     * Needs no key: every holder of a test-mode payment's reference may pay it with simulated money, as the page
     * at `/pay/:reference` offers it. `full` sends the owed amount, `partial` half of it, `over` a fifth more;
     * `late` closes the window first. Live payments get 404.
     *
     * POST /v1/checkout/{reference}/simulate
     *
     * @param SimulatePayer $body
     * @return SandboxDepositAnswer
     */
    public function simulatePayer(string $reference, array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/checkout/{reference}/simulate', 'none', true), ['reference' => $reference], [], $body, $options);
    }

    /**
     * Name the transaction that paid.
     *
     * Needs no key: every holder of the reference may name a transaction. On an EVM network whose endpoints do
     * not trace, the service does not see coin from a smart wallet, a contract or an exchange by itself
     * (`takesTransactionHash` of the checkout, `seesContractTransfers` of GET /v1/networks). The service
     * computes what the transaction paid to the payment's address; this coin becomes a transfer like any other
     * and waits for the same confirmations. Naming it moves nothing by itself, and the answer is the same
     * whether or not the transaction exists.
     *
     * The same transaction may be named any number of times. A payment takes 5 different ones: more are 409
     * `too_many_transactions`. Where the service sees every transfer by itself, the answer is 400
     * `hint_not_needed`.
     *
     * POST /v1/checkout/{reference}/transaction
     *
     * @param NameTransaction $body
     * @return NamedTransactionAnswer
     */
    public function nameTransaction(string $reference, array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/checkout/{reference}/transaction', 'none', false), ['reference' => $reference], [], $body, $options);
    }

    /**
     * Catch up with events.
     *
     * Needs the permission `webhook:manage`. The bodies as they are sent to endpoints, in the order in which
     * they were accepted. That order may differ from the order in which they happened: `data.*.sequence` counts
     * the events of one object. Store `nextCursor` and continue with it, even when `hasMore` is false: then you
     * miss no event. Kept for 30 days. An event that this service cannot decrypt is left out, so that the others
     * reach you. Its webhook is sent once the service can decrypt it, and the operator names the time from which
     * to read again.
     *
     * GET /v1/events
     *
     * @param array{shard?: string, limit?: int, cursor?: string, type?: EventTypeName, from?: string} $query
     * @return EventListAnswer
     */
    public function listEvents(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/events', 'needed', true), [], $query, null, $options);
    }

    /**
     * All items of listEvents, page after page.
     *
     * @param array{shard?: string, limit?: int, cursor?: string, type?: EventTypeName, from?: string} $query
     * @return \Generator<int, PaymentEvent|WalletEvent|WithdrawalEvent|WalletWithdrawalEvent|SettlementAccountEvent|AddressBookEvent|ReportEvent|EndpointEvent>
     */
    public function iterateEvents(array $query = [], ?RequestOptions $options = null): \Generator
    {
        return $this->pages(new Operation('GET', '/v1/events', 'needed', true), '', 'events', false, [], $query, $options);
    }

    /**
     * Read a payment link as a payer.
     *
     * `options` are the ways to pay a link of type `merchant` now; a `request` gets its price once it is made.
     *
     * GET /v1/links/{id}
     *
     * @return LinkAnswer
     */
    public function getLink(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/links/{id}', 'none', true), ['id' => $id], [], null, $options);
    }

    /**
     * Make a payment out of a link.
     *
     * For payers; paced by address. The link's id is in the payment's `metadata.paymentLink`. A link that has
     * ended, has expired or has made as many payments as it may is 409 `payment_link_closed`. Payments that
     * expired or were cancelled do not count. While 200 payments that it made within 30 minutes wait for their
     * money, it is 429 `payment_link_busy`.
     *
     * POST /v1/links/{id}/payments
     *
     * @param LinkPayment $body
     * @return PaymentCreatedAnswer
     */
    public function payLink(string $id, array $body = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/links/{id}/payments', 'none', true), ['id' => $id], [], $body, $options);
    }

    /**
     * The key that asks.
     *
     * Any key may ask. `permissions` are spelled out; `perSecond` and `burst` are null when the tier has no
     * limit.
     *
     * GET /v1/me
     *
     * @return MeAnswer
     */
    public function getMe(?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/me', 'needed', true), [], [], null, $options);
    }

    /**
     * List networks and what is taken on them.
     *
     * Needs no key.
     *
     * GET /v1/networks
     *
     * @param array{mode?: 'live'|'test'|''} $query
     * @return NetworkListAnswer
     */
    public function listNetworks(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/networks', 'optional', true), [], $query, null, $options);
    }

    /**
     * List payment links.
     *
     * Needs the permission `payment:read`. Newest first.
     *
     * GET /v1/payment-links
     *
     * @param array{limit?: int, cursor?: string} $query
     * @return PaymentLinkListAnswer
     */
    public function listPaymentLinks(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/payment-links', 'needed', true), [], $query, null, $options);
    }

    /**
     * All items of listPaymentLinks, page after page.
     *
     * @param array{limit?: int, cursor?: string} $query
     * @return \Generator<int, PaymentLink>
     */
    public function iteratePaymentLinks(array $query = [], ?RequestOptions $options = null): \Generator
    {
        return $this->pages(new Operation('GET', '/v1/payment-links', 'needed', true), '', 'paymentLinks', false, [], $query, $options);
    }

    /**
     * Make a reusable payment link.
     *
     * Needs the permission `payment:create`. Anybody who has the link makes payments out of it: of type
     * `request`, which are paid out to a confirmed settlement account, or of type `merchant`, whose money is the
     * merchant's. Without `fiatAmount` the payer names the amount. A merchant has 1 000 links at most that have
     * not ended.
     *
     * POST /v1/payment-links
     *
     * @param PaymentLinkCreate $body
     * @return PaymentLinkAnswer
     */
    public function createPaymentLink(array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/payment-links', 'needed', true), [], [], $body, $options);
    }

    /**
     * Read a payment link.
     *
     * Needs the permission `payment:read`.
     *
     * GET /v1/payment-links/{id}
     *
     * @return PaymentLinkAnswer
     */
    public function getPaymentLink(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/payment-links/{id}', 'needed', true), ['id' => $id], [], null, $options);
    }

    /**
     * Change or end a payment link.
     *
     * Needs the permission `payment:create`. Fields that are not sent stay as they are. Payments that the link
     * has made go on. `usageLimit: 0` removes the limit.
     *
     * PATCH /v1/payment-links/{id}
     *
     * @param PaymentLinkChange $body
     * @return PaymentLinkAnswer
     */
    public function changePaymentLink(string $id, array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('PATCH', '/v1/payment-links/{id}', 'needed', false), ['id' => $id], [], $body, $options);
    }

    /**
     * List payments.
     *
     * Needs the permission `payment:read`. Newest first. Each item has the fields of GET
     * /v1/payments/{reference}.
     *
     * GET /v1/payments
     *
     * @param array{status?: 'all'|'created'|'pending'|'confirming'|'confirmed'|'settling'|'settled'|'expired'|'cancelled'|'needs_review'|'refunded'|''|list<'all'|'created'|'pending'|'confirming'|'confirmed'|'settling'|'settled'|'expired'|'cancelled'|'needs_review'|'refunded'|''>, type?: 'transfer'|'gift'|'request'|'merchant'|'bank_confirmation'|'', from?: string, to?: string, merchantReference?: string, payerChatId?: string, txHash?: string, address?: string, limit?: int, cursor?: string} $query
     * @return PaymentListAnswer
     */
    public function listPayments(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/payments', 'needed', true), [], $query, null, $options);
    }

    /**
     * All items of listPayments, page after page.
     *
     * @param array{status?: 'all'|'created'|'pending'|'confirming'|'confirmed'|'settling'|'settled'|'expired'|'cancelled'|'needs_review'|'refunded'|''|list<'all'|'created'|'pending'|'confirming'|'confirmed'|'settling'|'settled'|'expired'|'cancelled'|'needs_review'|'refunded'|''>, type?: 'transfer'|'gift'|'request'|'merchant'|'bank_confirmation'|'', from?: string, to?: string, merchantReference?: string, payerChatId?: string, txHash?: string, address?: string, limit?: int, cursor?: string} $query
     * @return \Generator<int, Payment>
     */
    public function iteratePayments(array $query = [], ?RequestOptions $options = null): \Generator
    {
        return $this->pages(new Operation('GET', '/v1/payments', 'needed', true), '', 'payments', false, [], $query, $options);
    }

    /**
     * Create a payment.
     *
     * Needs the permission `payment:create`.
     *
     * POST /v1/payments
     *
     * @param CreatePayment $body
     * @return PaymentCreatedAnswer
     */
    public function createPayment(array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/payments', 'needed', true), [], [], $body, $options);
    }

    /**
     * Claim a gift to a bank account.
     *
     * Needs no key: the reference is the secret. This service looks up the account's name and ignores names that
     * a client sends. The first of several claims wins. A gift that is not paid yet is settling with the
     * exception `unfunded`, and the payout leaves when its deposit is confirmed.
     *
     * POST /v1/payments/gifts/{reference}/claim/confirm
     *
     * @param ClaimGift $body
     * @return GiftClaimedAnswer
     */
    public function claimGift(string $reference, array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/payments/gifts/{reference}/claim/confirm', 'none', true), ['reference' => $reference], [], $body, $options);
    }

    /**
     * Choose the crypto of a request and get its price and address.
     *
     * Needs no key: the reference is the secret. The rate is locked now and the fee is charged from crypto. The
     * first of several fulfilments wins.
     *
     * POST /v1/payments/requests/{reference}/fulfill
     *
     * @param FulfillRequest $body
     * @return PaymentFulfilledAnswer
     */
    public function fulfillRequest(string $reference, array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/payments/requests/{reference}/fulfill', 'none', true), ['reference' => $reference], [], $body, $options);
    }

    /**
     * Look up the holder of an account.
     *
     * Needs the permission `payment:create`; or, without any key, the `reference` of a gift that can be claimed.
     * Every other reference is a 401. An invalid key, or one without the permission, counts as none. Without a
     * key ten accounts may be looked up for one gift, and one more each minute, besides the limit for one
     * address.
     *
     * With a key `reference` is optional and names a payment of its merchant. Without one the key's mode counts,
     * and without `fiatCurrency` the bank's code decides the currency, else NGN; a payment's own mode and
     * currency come before both. `nameVerified` is false and the name empty where the country's banks report no
     * names.
     *
     * POST /v1/payments/verify-receiver
     *
     * @param VerifyReceiver $body
     * @return ReceiverVerifiedAnswer
     */
    public function verifyReceiver(array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/payments/verify-receiver', 'optional', true), [], [], $body, $options);
    }

    /**
     * Read a payment.
     *
     * Needs the permission `payment:read`. Another merchant's payment, or one of the other mode, is a 404.
     *
     * GET /v1/payments/{reference}
     *
     * @return PaymentAnswer
     */
    public function getPayment(string $reference, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/payments/{reference}', 'needed', true), ['reference' => $reference], [], null, $options);
    }

    /**
     * Withdraw a payment.
     *
     * Needs the permission `payment:create`. Only while nothing has been seen on the chain; later it is a 409. A
     * POST without a body.
     *
     * POST /v1/payments/{reference}/cancel
     *
     * @return PaymentAnswer
     */
    public function cancelPayment(string $reference, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/payments/{reference}/cancel', 'needed', true), ['reference' => $reference], [], null, $options);
    }

    /**
     * Say where a refund goes.
     *
     * Needs the permission `payment:create`. An address of the payment's network, checked for its shape and
     * checksum. An address of this service is refused, in any spelling: a deposit address, that of a standalone
     * wallet (`/v1/wallets`), a treasury. The money would not reach the payer. An operator can mark a payment
     * refunded only if it has an address. If the address became known later as one of this service, the mark is
     * refused too.
     *
     * Each change sends `payment.refund_address_changed`. After it no refund of a live payment leaves until
     * `heldUntil`, 24 hours later by default, so that somebody can stop a change that the merchant did not
     * order.
     *
     * POST /v1/payments/{reference}/refund-address
     *
     * @param RefundAddress $body
     * @return RefundAddressAnswer
     */
    public function setRefundAddress(string $reference, array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/payments/{reference}/refund-address', 'needed', true), ['reference' => $reference], [], $body, $options);
    }

    /**
     * Confirm the refund address that the payer proposed.
     *
     * Needs the permission `refund:create`. Makes the payer's `refundAddressProposed` the address of refunds.
     * The body repeats the address: if the payer has proposed another one since, the answer is 409
     * `refund_address_not_proposed`. Anybody who has the link of the pay page can propose an address, so ask the
     * payer over a way that you know before you confirm it. The address is checked and screened again, and the
     * change counts like one by POST /v1/payments/{reference}/refund-address.
     *
     * POST /v1/payments/{reference}/refund-address/confirm
     *
     * @param RefundAddress $body
     * @return RefundAddressAnswer
     */
    public function confirmRefundAddress(string $reference, array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/payments/{reference}/refund-address/confirm', 'needed', true), ['reference' => $reference], [], $body, $options);
    }

    /**
     * List the refunds of a payment.
     *
     * Needs the permission `payment:read`. Oldest first, failed ones too.
     *
     * GET /v1/payments/{reference}/refunds
     *
     * @return RefundsAnswer
     */
    public function listRefunds(string $reference, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/payments/{reference}/refunds', 'needed', true), ['reference' => $reference], [], null, $options);
    }

    /**
     * Refund the payer on the chain.
     *
     * Needs the permission `refund:create`. Sends crypto that is owed to the payer to the payment's refund
     * address, in the asset and on the network on which it came: money that is short, over, late, unclaimed or
     * of a wrong asset. Without `amount` it takes everything that is owed in one asset. Money that a running
     * payment may still convert or pay out is not owed (409 `nothing_owed`). The money is held at once, so that
     * refunds together never exceed what is owed (409 `amount_above_owed`). A payment that waits for a decision
     * owes all of its money: such a request reserves the money and blocks `accept` and `retry_payout`, and its
     * approval reverses the conversion.
     *
     * Up to a configured worth the request approves itself. Above it, and where the senders or a payout give
     * cause, the refund stays `requested` until operators approve it. Test mode has no bound, and its simulated
     * chain confirms a refund within 30 seconds. The other refusals are 409 `no_refund_address`,
     * `refund_address_held`, `refund_address_internal`, `refund_address_refused`, `refund_address_unfit` and
     * `refunds_closed`, and 503 `refunds_paused` and `network_unavailable`.
     *
     * POST /v1/payments/{reference}/refunds
     *
     * @param CreateRefund $body
     * @return RefundAnswer
     */
    public function createRefund(string $reference, array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/payments/{reference}/refunds', 'needed', true), ['reference' => $reference], [], $body, $options);
    }

    /**
     * Say that the receiver has been paid.
     *
     * Needs the permission `payment:create`. For a confirmed `bank_confirmation`, and a confirmed `merchant`
     * without a receiver: the caller pays out itself and presents the one-time token of `payment.confirmed`.
     *
     * POST /v1/payments/{reference}/settle
     *
     * @param Settle $body
     * @return PaymentAnswer
     */
    public function settlePayment(string $reference, array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/payments/{reference}/settle', 'needed', true), ['reference' => $reference], [], $body, $options);
    }

    /**
     * Get a new settlement token.
     *
     * Needs the permission `payment:create`. The old token is void at once. The token works once, for 24 hours.
     * A replay by Idempotency-Key shows it for 15 minutes. A POST without a body.
     *
     * POST /v1/payments/{reference}/settlement-token
     *
     * @return SettlementTokenAnswer
     */
    public function issueSettlementToken(string $reference, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/payments/{reference}/settlement-token', 'needed', true), ['reference' => $reference], [], null, $options);
    }

    /**
     * Read what has happened to a payment.
     *
     * Needs the permission `payment:read`. Everything that happened, oldest first: changes of the status, the
     * quote, each transfer, each attempt of the payout, each refund. The member that `kind` names holds what
     * happened, in its present state. `id` names the payment in GET /v1/webhooks/deliveries?objectId=….
     *
     * GET /v1/payments/{reference}/timeline
     *
     * @return TimelineAnswer
     */
    public function getPaymentTimeline(string $reference, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/payments/{reference}/timeline', 'needed', true), ['reference' => $reference], [], null, $options);
    }

    /**
     * Read the rates.
     *
     * Needs no key. The rates that would price a payment now, with their sources and ages.
     *
     * GET /v1/rates
     *
     * @param array{mode?: 'live'|'test'|'', fiat?: string, crypto?: string} $query
     * @return RateListAnswer
     */
    public function listRates(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/rates', 'optional', true), [], $query, null, $options);
    }

    /**
     * List the merchant's own reports.
     *
     * Needs the permission `report:manage`; reports of the calling key's own merchant and mode only, whichever
     * of its keys filed them. Newest first. It shows `confirmer` and `adminNotes`, which the public never sees.
     *
     * GET /v1/reports
     *
     * @param array{status?: 'all'|'pending'|'processing'|'resolved'|'dismissed'|''|list<'all'|'pending'|'processing'|'resolved'|'dismissed'|''>, complaintType?: 'track_transaction'|'stolen_funds'|'fraud'|'', limit?: int, cursor?: string} $query
     * @return ReportOwnListAnswer
     */
    public function listReports(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/reports', 'needed', true), [], $query, null, $options);
    }

    /**
     * All items of listReports, page after page.
     *
     * @param array{status?: 'all'|'pending'|'processing'|'resolved'|'dismissed'|''|list<'all'|'pending'|'processing'|'resolved'|'dismissed'|''>, complaintType?: 'track_transaction'|'stolen_funds'|'fraud'|'', limit?: int, cursor?: string} $query
     * @return \Generator<int, ReportManaged>
     */
    public function iterateReports(array $query = [], ?RequestOptions $options = null): \Generator
    {
        return $this->pages(new Operation('GET', '/v1/reports', 'needed', true), 'data', 'reports', false, [], $query, $options);
    }

    /**
     * File a report.
     *
     * Needs the permission `report:create`. A phone number is kept as digits: spaces, -, ., brackets and a
     * leading + are dropped. Addresses and the session reference are trimmed and not checked for format or
     * existence. One key may file 1 000 reports on one wallet address an hour (`FLOOD_PER_HOUR`); then 429.
     *
     * Reports are public. Only keys of the merchant who filed the report see a gift's reference: for others
     * `sessionReference` is null, and other texts show the code covered (`CW-****`). After an upgrade from a
     * release whose gifts have no `G`, this holds for every reference of a report that may name one of them.
     *
     * POST /v1/reports
     *
     * @param CreateReport $body
     * @return ReportAnswer
     */
    public function createReport(array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/reports', 'needed', true), [], [], $body, $options);
    }

    /**
     * Find reports by the reporter's phone or wallet, newest first.
     *
     * Public. A key is optional: its own merchant's reports show more; a bad key is ignored. Give `phoneNumber`,
     * `walletAddress` or both; with both a report is found if either is its own. Values are cleaned as at filing
     * and never refused: a value that is no phone number finds nothing. `0x…` addresses are compared without
     * case, others exactly. Pages by `offset`, or by `cursor`. An empty `cursor` begins the list and adds
     * `nextCursor` and `hasMore`. One phone or wallet may be looked up 50 times at once and 5 times a second.
     *
     * GET /v1/reports/lookup
     *
     * @param array{phoneNumber?: string, walletAddress?: string, status?: 'all'|'pending'|'processing'|'resolved'|'dismissed', complaintType?: ComplaintType, limit?: int, offset?: int, cursor?: string} $query
     * @return ReportListAnswer
     */
    public function lookupReports(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/reports/lookup', 'optional', true), [], $query, null, $options);
    }

    /**
     * All items of lookupReports, page after page.
     *
     * @param array{phoneNumber?: string, walletAddress?: string, status?: 'all'|'pending'|'processing'|'resolved'|'dismissed', complaintType?: ComplaintType, limit?: int, offset?: int, cursor?: string} $query
     * @return \Generator<int, Report>
     */
    public function iterateLookupReports(array $query = [], ?RequestOptions $options = null): \Generator
    {
        return $this->pages(new Operation('GET', '/v1/reports/lookup', 'optional', true), 'data', 'reports', true, [], $query, $options);
    }

    /**
     * Read a report.
     *
     * Public. A key is optional: its own merchant's report shows more; a bad key is ignored. One address may ask
     * for 30 unknown ids a minute; then 429.
     *
     * GET /v1/reports/{reportId}
     *
     * @return ReportAnswer
     */
    public function getReport(string $reportId, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/reports/{reportId}', 'optional', true), ['reportId' => $reportId], [], null, $options);
    }

    /**
     * Move a report on.
     *
     * Needs the permission `report:manage`; reports of the calling key's own merchant and mode only. A pending
     * report may become processing or dismissed, a processing one resolved or dismissed; any other move is a
     * 409. The answer shows `confirmer` and `adminNotes`, which the public never sees.
     *
     * PATCH /v1/reports/{reportId}
     *
     * @param UpdateReport $body
     * @return ReportManagedAnswer
     */
    public function updateReport(string $reportId, array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('PATCH', '/v1/reports/{reportId}', 'needed', false), ['reportId' => $reportId], [], $body, $options);
    }

    /**
     * Take prices or a network of your test mode down.
     *
     * Needs the permission `payment:create`. For the merchant's own test payments, and for nobody else's, there
     * are no prices (503 `rate_unavailable`), or a network is not followed (503 `network_unavailable`; payouts
     * and claims that rest on it wait), until `until`. Another outage of the same part replaces it, and one of 0
     * seconds ends it. It takes a second at most until every process knows.
     *
     * POST /v1/sandbox/outages
     *
     * @param SandboxOutage $body
     * @param array{shard?: string} $query
     * @return SandboxOutageAnswer
     */
    public function sandboxTakeDown(array $body, array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/sandbox/outages', 'needed', true), [], $query, $body, $options);
    }

    /**
     * Send a transfer on the simulated chain.
     *
     * Needs the permission `payment:create`. The transfer is seen at once and mined in the next simulated block.
     * Accepts payments that are pending, confirming, settling unfunded, expired or cancelled.
     *
     * POST /v1/sandbox/payments/{reference}/deposits
     *
     * @param SandboxDeposit $body
     * @return SandboxDepositAnswer
     */
    public function sandboxDepositPayment(string $reference, array $body = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/sandbox/payments/{reference}/deposits', 'needed', true), ['reference' => $reference], [], $body, $options);
    }

    /**
     * Close the payment window as the timer would.
     *
     * Needs the permission `payment:create`. A POST without a body.
     *
     * POST /v1/sandbox/payments/{reference}/expire
     *
     * @return PaymentAnswer
     */
    public function sandboxExpirePayment(string $reference, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/sandbox/payments/{reference}/expire', 'needed', true), ['reference' => $reference], [], null, $options);
    }

    /**
     * Send a transfer on the simulated chain, in the form of another engine.
     *
     * Needs the permission `payment:create`. As `deposits`; `steps` is the number of confirmations of the
     * transfer.
     *
     * POST /v1/sandbox/payments/{reference}/simulate-deposit
     *
     * @param SandboxSimulateDeposit $body
     * @return SandboxDepositAnswer
     */
    public function sandboxSimulateDeposit(string $reference, array $body = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/sandbox/payments/{reference}/simulate-deposit', 'needed', true), ['reference' => $reference], [], $body, $options);
    }

    /**
     * Say what becomes of a payout.
     *
     * Needs the permission `payment:create`. Before or after it is sent. A payout that failed or came back has
     * its outcome already; one that succeeded can still be returned.
     *
     * POST /v1/sandbox/payouts/{id}/outcome
     *
     * @param SandboxOutcome $body
     * @return SandboxOutcomeAnswer
     */
    public function sandboxPayoutOutcome(string $id, array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/sandbox/payouts/{id}/outcome', 'needed', true), ['id' => $id], [], $body, $options);
    }

    /**
     * Send a transfer to a wallet on the simulated chain.
     *
     * Needs the permission `wallet:create`. Accepts a wallet of any status. Without `confirmations` the chain
     * grows until the transfer is deep enough.
     *
     * POST /v1/sandbox/wallets/{id}/deposits
     *
     * @param SandboxWalletDeposit $body
     * @return SandboxWalletDepositAnswer
     */
    public function sandboxDepositWallet(string $id, array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/sandbox/wallets/{id}/deposits', 'needed', true), ['id' => $id], [], $body, $options);
    }

    /**
     * List the settlement accounts.
     *
     * Needs the permission `payment:read`. The oldest first; a merchant has 20 at most in each mode.
     *
     * GET /v1/settlement-accounts
     *
     * @return SettlementAccountsAnswer
     */
    public function listSettlementAccounts(?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/settlement-accounts', 'needed', true), [], [], null, $options);
    }

    /**
     * Propose a bank account for withdrawals.
     *
     * Needs the permission `settlement:manage`. The bank gives the name; compare it before the confirmation,
     * without which no money goes to the account.
     *
     * POST /v1/settlement-accounts
     *
     * @param CreateSettlementAccount $body
     * @return SettlementAccountAnswer
     */
    public function createSettlementAccount(array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/settlement-accounts', 'needed', true), [], [], $body, $options);
    }

    /**
     * Take a settlement account away.
     *
     * Needs the permission `settlement:manage`. No withdrawal goes to it any more; one that has left is not
     * called back.
     *
     * DELETE /v1/settlement-accounts/{id}
     *
     * @return SettlementAccountDeletedAnswer
     */
    public function deleteSettlementAccount(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('DELETE', '/v1/settlement-accounts/{id}', 'needed', false), ['id' => $id], [], null, $options);
    }

    /**
     * Show a settlement account.
     *
     * Needs the permission `payment:read`.
     *
     * GET /v1/settlement-accounts/{id}
     *
     * @return SettlementAccountAnswer
     */
    public function getSettlementAccount(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/settlement-accounts/{id}', 'needed', true), ['id' => $id], [], null, $options);
    }

    /**
     * Confirm a settlement account.
     *
     * Needs the permission `withdrawal:create`. The body repeats the account number. In live mode no money
     * leaves to the account for 24 hours (`heldUntil`).
     *
     * POST /v1/settlement-accounts/{id}/confirm
     *
     * @param ConfirmSettlementAccount $body
     * @return SettlementAccountAnswer
     */
    public function confirmSettlementAccount(string $id, array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/settlement-accounts/{id}/confirm', 'needed', true), ['id' => $id], [], $body, $options);
    }

    /**
     * Show how the merchant's own money is settled.
     *
     * Needs the permission `payment:read`.
     *
     * GET /v1/settlement-settings
     *
     * @return SettlementSettingsAnswer
     */
    public function getSettlementSettings(?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/settlement-settings', 'needed', true), [], [], null, $options);
    }

    /**
     * Choose how the merchant's own money is settled.
     *
     * Needs the permission `settlement:manage`. A field that is not sent stays as it is. With `merchantPayments`
     * set to `balance`, payments of type `merchant` without a receiver that are created from then on have no
     * settlement token: their money is credited to the merchant's balance once its transfers are final. `self`,
     * the default, leaves them to the merchant to settle. A payment keeps the choice with which it was created.
     * `daily` replaces all daily settlements: once each UTC day everything that is available, if it is at least
     * `minimum`, is withdrawn to the account. An empty list ends them.
     *
     * PATCH /v1/settlement-settings
     *
     * @param ChangeSettlementSettings $body
     * @return SettlementSettingsAnswer
     */
    public function changeSettlementSettings(array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('PATCH', '/v1/settlement-settings', 'needed', false), [], [], $body, $options);
    }

    /**
     * Report what was settled.
     *
     * Needs the permission `payment:read`. One row for each payment that was settled between `from` and `to` (by
     * default the last 30 days), in the order of settlement; columns of one currency may be added up. The CSV
     * has no totals. The report may have any length and is streamed; a report that was cut off lacks the last
     * chunk, and its JSON lacks the totals. A key reads four reports at a time (429 beyond); a reader who takes
     * less than 16 KiB a second over ten seconds is cut off.
     *
     * GET /v1/settlements
     *
     * @param array{shard?: string, from?: string, to?: string} $query
     * @return SettlementsAnswer
     */
    public function listSettlements(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/settlements', 'needed', true), [], $query, null, $options);
    }

    /**
     * Read the figures of your payments.
     *
     * Needs the permission `payment:read`. Sums over the payments that were created on the days from `from` to
     * `to`, both included, in UTC; by default the last 30 days, and 366 at most. The sums are exact at the time
     * of the answer. `ended` counts settled, expired, cancelled and refunded payments, and `successRate` is
     * `settled` divided by `ended`. `fee` and `payoutAmount` are those of settled payments, as in GET
     * /v1/settlements. `secondsToSettle` is the mean time from the confirmation of the money (of a gift: from
     * its claim, if that is later) to the settlement, and `settledWithin` counts the payments that took no
     * longer. More than 10 000 groups are 400 `too_many_groups`.
     *
     * GET /v1/statistics
     *
     * @param array{shard?: string, from?: string, to?: string, fiatCurrency?: 'NGN'|'GHS'|'KES'|'ZAR'|'', network?: string, type?: 'transfer'|'gift'|'request'|'merchant'|'bank_confirmation'|'', by?: 'day'|'fiatCurrency'|'network'|'status'|'type'|list<'day'|'fiatCurrency'|'network'|'status'|'type'>} $query
     * @return StatisticsAnswer
     */
    public function getStatistics(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/statistics', 'needed', true), [], $query, null, $options);
    }

    /**
     * List the calling key's wallets, newest first.
     *
     * Needs the permission `wallet:read`. Pages by `offset`, or by `cursor`. An empty `cursor` begins the list
     * and adds `nextCursor` and `hasMore` to `pagination`.
     *
     * GET /v1/wallets
     *
     * @param array{status?: 'all'|'watching'|'deposit_detected'|'confirmed'|'swept'|'expired', limit?: int, offset?: int, cursor?: string} $query
     * @return WalletListAnswer
     */
    public function listWallets(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/wallets', 'needed', true), [], $query, null, $options);
    }

    /**
     * All items of listWallets, page after page.
     *
     * @param array{status?: 'all'|'watching'|'deposit_detected'|'confirmed'|'swept'|'expired', limit?: int, offset?: int, cursor?: string} $query
     * @return \Generator<int, WalletItem>
     */
    public function iterateWallets(array $query = [], ?RequestOptions $options = null): \Generator
    {
        return $this->pages(new Operation('GET', '/v1/wallets', 'needed', true), '', 'wallets', true, [], $query, $options);
    }

    /**
     * Make a deposit wallet.
     *
     * Needs the permission `wallet:create`. The scan of the address begins before the answer. Wallets belong to
     * the key that made them.
     *
     * POST /v1/wallets
     *
     * @param CreateWallet $body
     * @return WalletCreatedAnswer
     */
    public function createWallet(array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/wallets', 'needed', true), [], [], $body, $options);
    }

    /**
     * List the address book, newest first.
     *
     * Needs the permission `wallet:read`. The book belongs to the merchant in the mode of the key.
     *
     * GET /v1/wallets/address-book
     *
     * @param array{limit?: int, cursor?: string} $query
     * @return AddressBookAnswer
     */
    public function listWalletWithdrawalAddresses(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/wallets/address-book', 'needed', true), [], $query, null, $options);
    }

    /**
     * All items of listWalletWithdrawalAddresses, page after page.
     *
     * @param array{limit?: int, cursor?: string} $query
     * @return \Generator<int, AddressBookEntry>
     */
    public function iterateWalletWithdrawalAddresses(array $query = [], ?RequestOptions $options = null): \Generator
    {
        return $this->pages(new Operation('GET', '/v1/wallets/address-book', 'needed', true), '', 'addresses', false, [], $query, $options);
    }

    /**
     * Add an address to the address book.
     *
     * Needs the permission `wallet:withdraw`. The address has the form of the network, and on solana belongs to
     * a wallet. One of this service is a 409 `withdrawal_address_internal`, a listed one a 409
     * `withdrawal_address_refused`, a second entry of the same a 409 `address_known`. The merchant gets
     * `wallet.address_added`, and no withdrawal of live mode goes there before `usableAt`, 24 hours later. The
     * book of a mode has at most 200 addresses (409 `address_book_full`).
     *
     * POST /v1/wallets/address-book
     *
     * @param NewAddressBookEntry $body
     * @return AddressBookEntryAnswer
     */
    public function addWalletWithdrawalAddress(array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/wallets/address-book', 'needed', true), [], [], $body, $options);
    }

    /**
     * Take an address out of the address book.
     *
     * Needs the permission `wallet:withdraw`. Withdrawals to it that wait for operators cannot be approved any
     * more; approved ones go on.
     *
     * DELETE /v1/wallets/address-book/{id}
     *
     * @return AddressRemovedAnswer
     */
    public function removeWalletWithdrawalAddress(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('DELETE', '/v1/wallets/address-book/{id}', 'needed', false), ['id' => $id], [], null, $options);
    }

    /**
     * List withdrawals, newest first.
     *
     * Needs the permission `wallet:read`.
     *
     * GET /v1/wallets/withdrawals
     *
     * @param array{limit?: int, cursor?: string} $query
     * @return WalletWithdrawalsAnswer
     */
    public function listWalletWithdrawals(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/wallets/withdrawals', 'needed', true), [], $query, null, $options);
    }

    /**
     * All items of listWalletWithdrawals, page after page.
     *
     * @param array{limit?: int, cursor?: string} $query
     * @return \Generator<int, WalletWithdrawal>
     */
    public function iterateWalletWithdrawals(array $query = [], ?RequestOptions $options = null): \Generator
    {
        return $this->pages(new Operation('GET', '/v1/wallets/withdrawals', 'needed', true), '', 'withdrawals', false, [], $query, $options);
    }

    /**
     * Withdraw crypto from the deposit wallets.
     *
     * Needs the permission `wallet:withdraw`. Sends `amount` from the merchant's balance of the mode to an
     * address of the address book; the balance pays the fee besides. The balance is asked after the answer: a
     * withdrawal that it does not cover fails with `insufficient_balance` within seconds, and nothing is taken.
     * A withdrawal of live mode waits for operators as `requested` above `WITHDRAWAL_APPROVAL_ABOVE_USD` within
     * 24 hours, and is a 400 `daily_limit_exceeded` above the merchant's limit. Every approved withdrawal
     * counts, whatever became of it. The refusals are 409 `withdrawals_closed`, `withdrawal_address_held`,
     * `withdrawal_address_internal`, `withdrawal_address_refused`, `fee_changed` and `too_many_withdrawals` (100
     * of a mode have not ended), 400 `amount_below_minimum` below the fee, and 503 `withdrawals_paused`,
     * `network_unavailable`, `rate_unavailable` and `sanctions_list_outdated`. Test mode has no limits, and its
     * simulated chain confirms within 30 seconds.
     *
     * POST /v1/wallets/withdrawals
     *
     * @param NewWalletWithdrawal $body
     * @return WalletWithdrawalAnswer
     */
    public function createWalletWithdrawal(array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/wallets/withdrawals', 'needed', true), [], [], $body, $options);
    }

    /**
     * Show the fees of withdrawals.
     *
     * Needs the permission `wallet:read`. The fee of a pair is in its own crypto, is paid besides the amount,
     * and covers the fee of the network, whatever that asks. It holds until operators change it. Name it as
     * `fee` in the withdrawal to be sure that no other one is taken. `open` says whether the pair can be
     * withdrawn in the mode of the key.
     *
     * GET /v1/wallets/withdrawals/fees
     *
     * @return WalletWithdrawalFeesAnswer
     */
    public function listWalletWithdrawalFees(?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/wallets/withdrawals/fees', 'needed', true), [], [], null, $options);
    }

    /**
     * Read a withdrawal.
     *
     * Needs the permission `wallet:read`.
     *
     * GET /v1/wallets/withdrawals/{id}
     *
     * @return WalletWithdrawalAnswer
     */
    public function getWalletWithdrawal(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/wallets/withdrawals/{id}', 'needed', true), ['id' => $id], [], null, $options);
    }

    /**
     * Cancel a withdrawal that is not signed.
     *
     * Needs the permission `wallet:withdraw`. A POST without a body. One that is `requested` fails as
     * `cancelled` at once. One that is `approved` or `signing` shows `cancellation: requested` and fails within
     * seconds if nothing can have been signed for it; otherwise it goes on with `cancellation: too_late`. Any
     * other is a 409 `withdrawal_not_cancellable`. After a restore one that is `requested` in live mode is a 503
     * `withdrawals_paused` for a while.
     *
     * POST /v1/wallets/withdrawals/{id}/cancel
     *
     * @return WalletWithdrawalAnswer
     */
    public function cancelWalletWithdrawal(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/wallets/withdrawals/{id}/cancel', 'needed', true), ['id' => $id], [], null, $options);
    }

    /**
     * Read a wallet.
     *
     * Needs the permission `wallet:read`. A wallet of another key, even of the same merchant, is a 404.
     *
     * GET /v1/wallets/{id}
     *
     * @return WalletAnswer
     */
    public function getWallet(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/wallets/{id}', 'needed', true), ['id' => $id], [], null, $options);
    }

    /**
     * List the transfers to a wallet's address, newest first.
     *
     * Needs the permission `wallet:read`. Also shows transfers in another crypto or on another network of the
     * address's family; `counted` says whether a transfer is part of the wallet's `amount`.
     *
     * GET /v1/wallets/{id}/deposits
     *
     * @param array{limit?: int, cursor?: string} $query
     * @return WalletDepositListAnswer
     */
    public function listWalletDeposits(string $id, array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/wallets/{id}/deposits', 'needed', true), ['id' => $id], $query, null, $options);
    }

    /**
     * All items of listWalletDeposits, page after page.
     *
     * @param array{limit?: int, cursor?: string} $query
     * @return \Generator<int, WalletDeposit>
     */
    public function iterateWalletDeposits(string $id, array $query = [], ?RequestOptions $options = null): \Generator
    {
        return $this->pages(new Operation('GET', '/v1/wallets/{id}/deposits', 'needed', true), '', 'deposits', false, ['id' => $id], $query, $options);
    }

    /**
     * List deliveries with their attempts.
     *
     * Needs the permission `webhook:manage`. Newest first, kept for 30 days. A delivery is listed once its first
     * attempt has ended, or a few seconds after its event while that attempt is under way.
     *
     * GET /v1/webhooks/deliveries
     *
     * @param array{limit?: int, cursor?: string, endpointId?: string, eventId?: string, objectId?: string, type?: EventTypeName, status?: 'pending'|'retrying'|'held'|'delivered'|'exhausted'|'all'} $query
     * @return WebhookDeliveryListAnswer
     */
    public function listWebhookDeliveries(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/webhooks/deliveries', 'needed', true), [], $query, null, $options);
    }

    /**
     * All items of listWebhookDeliveries, page after page.
     *
     * @param array{limit?: int, cursor?: string, endpointId?: string, eventId?: string, objectId?: string, type?: EventTypeName, status?: 'pending'|'retrying'|'held'|'delivered'|'exhausted'|'all'} $query
     * @return \Generator<int, WebhookDelivery>
     */
    public function iterateWebhookDeliveries(array $query = [], ?RequestOptions $options = null): \Generator
    {
        return $this->pages(new Operation('GET', '/v1/webhooks/deliveries', 'needed', true), '', 'deliveries', false, [], $query, $options);
    }

    /**
     * Read a delivery with its attempts.
     *
     * Needs the permission `webhook:manage`.
     *
     * GET /v1/webhooks/deliveries/{id}
     *
     * @return WebhookDeliveryAnswer
     */
    public function getWebhookDelivery(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/webhooks/deliveries/{id}', 'needed', true), ['id' => $id], [], null, $options);
    }

    /**
     * Send a delivery again now.
     *
     * Needs the permission `webhook:manage`. With the same `webhook-id` and body and a new signature, to the URL
     * that the endpoint has now. Accepts delivered ones too. The schedule begins anew. One to a URL that the
     * endpoint left goes there within the 48 hours, and is refused later.
     *
     * POST /v1/webhooks/deliveries/{id}/retry
     *
     * @return WebhookRetryAnswer
     */
    public function retryWebhookDelivery(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/webhooks/deliveries/{id}/retry', 'needed', true), ['id' => $id], [], null, $options);
    }

    /**
     * List registered endpoints.
     *
     * Needs the permission `webhook:manage`.
     *
     * GET /v1/webhooks/endpoints
     *
     * @param array{limit?: int, cursor?: string} $query
     * @return WebhookEndpointListAnswer
     */
    public function listWebhookEndpoints(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/webhooks/endpoints', 'needed', true), [], $query, null, $options);
    }

    /**
     * All items of listWebhookEndpoints, page after page.
     *
     * @param array{limit?: int, cursor?: string} $query
     * @return \Generator<int, WebhookEndpoint>
     */
    public function iterateWebhookEndpoints(array $query = [], ?RequestOptions $options = null): \Generator
    {
        return $this->pages(new Operation('GET', '/v1/webhooks/endpoints', 'needed', true), '', 'endpoints', false, [], $query, $options);
    }

    /**
     * Register an endpoint.
     *
     * Needs the permission `webhook:manage`. Every event whose type is in `types` (all, when it is empty) is
     * sent to the endpoint besides the payment's `callbackUrl`, signed with a secret of the endpoint's own. In
     * live mode every endpoint also gets the events that warn of money that may leave, whatever its `types`:
     * `settlement_account.…`, `withdrawal.…`, `wallet.address_…`, `wallet.withdrawal_…` and
     * `payment.refund_address_changed`. At most 100 in each mode. Live mode takes https URLs of public names
     * only.
     *
     * POST /v1/webhooks/endpoints
     *
     * @param WebhookEndpointCreate $body
     * @return WebhookEndpointAnswer
     */
    public function createWebhookEndpoint(array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/webhooks/endpoints', 'needed', true), [], [], $body, $options);
    }

    /**
     * Take an endpoint away.
     *
     * Needs the permission `webhook:manage`. Events that are not delivered yet are dropped. Live mode: for 48
     * hours the events that warn of money that may leave still go to its URL, if it had that URL for a day, and
     * so do those that are not delivered yet.
     *
     * DELETE /v1/webhooks/endpoints/{id}
     *
     * @return WebhookEndpointDeletedAnswer
     */
    public function deleteWebhookEndpoint(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('DELETE', '/v1/webhooks/endpoints/{id}', 'needed', false), ['id' => $id], [], null, $options);
    }

    /**
     * Read an endpoint.
     *
     * Needs the permission `webhook:manage`.
     *
     * GET /v1/webhooks/endpoints/{id}
     *
     * @return WebhookEndpointAnswer
     */
    public function getWebhookEndpoint(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/webhooks/endpoints/{id}', 'needed', true), ['id' => $id], [], null, $options);
    }

    /**
     * Change an endpoint.
     *
     * Needs the permission `webhook:manage`. Members that are absent stay. A disabled endpoint's events are
     * held; enabling it sends them. A live endpoint that leaves a URL, which it had for a day, or is disabled:
     * for 48 hours the events that warn of money that may leave also go to that URL, and so do those that wait
     * for the endpoint then.
     *
     * PATCH /v1/webhooks/endpoints/{id}
     *
     * @param WebhookEndpointPatch $body
     * @return WebhookEndpointAnswer
     */
    public function changeWebhookEndpoint(string $id, array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('PATCH', '/v1/webhooks/endpoints/{id}', 'needed', false), ['id' => $id], [], $body, $options);
    }

    /**
     * Replace an endpoint's secret.
     *
     * Needs the permission `webhook:manage`. Each secret signs for 24 hours after it is replaced, and every
     * delivery carries the signatures of all of them. Four may sign at a time; a fifth is refused with
     * `rotation_limit`. After a leak send `revokePrevious`: it ends all earlier secrets at once and is never
     * refused for their number.
     *
     * POST /v1/webhooks/endpoints/{id}/rotate
     *
     * @param WebhookRotation $body
     * @return WebhookSecretAnswer
     */
    public function rotateWebhookEndpoint(string $id, array $body = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/webhooks/endpoints/{id}/rotate', 'needed', true), ['id' => $id], [], $body, $options);
    }

    /**
     * Read an endpoint's secret.
     *
     * Needs the permission `webhook:manage`.
     *
     * GET /v1/webhooks/endpoints/{id}/secret
     *
     * @return WebhookSecretAnswer
     */
    public function getWebhookEndpointSecret(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/webhooks/endpoints/{id}/secret', 'needed', true), ['id' => $id], [], null, $options);
    }

    /**
     * Replace an endpoint's secret.
     *
     * Needs the permission `webhook:manage`. Each secret signs for 24 hours after it is replaced, and every
     * delivery carries the signatures of all of them. Four may sign at a time; a fifth is refused with
     * `rotation_limit`. After a leak send `revokePrevious`: it ends all earlier secrets at once and is never
     * refused for their number.
     *
     * POST /v1/webhooks/endpoints/{id}/secret/rotate
     *
     * @param WebhookRotation $body
     * @return WebhookSecretAnswer
     */
    public function rotateWebhookEndpointSecret(string $id, array $body = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/webhooks/endpoints/{id}/secret/rotate', 'needed', true), ['id' => $id], [], $body, $options);
    }

    /**
     * Send a test event.
     *
     * Needs the permission `webhook:manage`. A `webhook.test` event goes only to this endpoint, by the same way
     * as every event. The answer waits a few seconds for the first attempt.
     *
     * POST /v1/webhooks/endpoints/{id}/test
     *
     * @return WebhookDeliveryAnswer
     */
    public function testWebhookEndpoint(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/webhooks/endpoints/{id}/test', 'needed', true), ['id' => $id], [], null, $options);
    }

    /**
     * Send the deliveries of a range of time again.
     *
     * Needs the permission `webhook:manage`. To one endpoint, and none to a URL that it left, or, without
     * `endpointId`, to `callbackUrl`s. `dryRun` counts and sends nothing. A replay uses at most a fifth of the
     * capacity, and can be paused.
     *
     * POST /v1/webhooks/replays
     *
     * @param WebhookReplayCreate $body
     * @param array{shard?: string} $query
     * @return WebhookReplayAnswer
     */
    public function createWebhookReplay(array $body, array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/webhooks/replays', 'needed', true), [], $query, $body, $options);
    }

    /**
     * Read a replay.
     *
     * Needs the permission `webhook:manage`.
     *
     * GET /v1/webhooks/replays/{id}
     *
     * @return WebhookReplayAnswer
     */
    public function getWebhookReplay(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/webhooks/replays/{id}', 'needed', true), ['id' => $id], [], null, $options);
    }

    /**
     * Pause a replay.
     *
     * Needs the permission `webhook:manage`. Running attempts are still made.
     *
     * POST /v1/webhooks/replays/{id}/pause
     *
     * @return WebhookReplayAnswer
     */
    public function pauseWebhookReplay(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/webhooks/replays/{id}/pause', 'needed', false), ['id' => $id], [], null, $options);
    }

    /**
     * Go on with a replay.
     *
     * Needs the permission `webhook:manage`. A finished replay stays finished.
     *
     * POST /v1/webhooks/replays/{id}/resume
     *
     * @return WebhookReplayAnswer
     */
    public function resumeWebhookReplay(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/webhooks/replays/{id}/resume', 'needed', false), ['id' => $id], [], null, $options);
    }

    /**
     * Read the secret that signs callbacks.
     *
     * Needs the permission `webhook:manage`. One secret per merchant and mode signs every delivery to a
     * `callbackUrl`. It is created at its first use.
     *
     * GET /v1/webhooks/secret
     *
     * @return WebhookSecretAnswer
     */
    public function getWebhookSecret(?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/webhooks/secret', 'needed', true), [], [], null, $options);
    }

    /**
     * Replace the secret that signs callbacks.
     *
     * Needs the permission `webhook:manage`. Each secret signs for 24 hours after it is replaced, and every
     * delivery carries the signatures of all of them. Four may sign at a time; a fifth is refused with
     * `rotation_limit`. After a leak send `revokePrevious`: it ends all earlier secrets at once and is never
     * refused for their number.
     *
     * POST /v1/webhooks/secret/rotate
     *
     * @param WebhookRotation $body
     * @return WebhookSecretAnswer
     */
    public function rotateWebhookSecret(array $body = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/webhooks/secret/rotate', 'needed', true), [], [], $body, $options);
    }

    /**
     * List withdrawals.
     *
     * Needs the permission `payment:read`. The newest first.
     *
     * GET /v1/withdrawals
     *
     * @param array{limit?: int, cursor?: string} $query
     * @return WithdrawalsAnswer
     */
    public function listWithdrawals(array $query = [], ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/withdrawals', 'needed', true), [], $query, null, $options);
    }

    /**
     * All items of listWithdrawals, page after page.
     *
     * @param array{limit?: int, cursor?: string} $query
     * @return \Generator<int, Withdrawal>
     */
    public function iterateWithdrawals(array $query = [], ?RequestOptions $options = null): \Generator
    {
        return $this->pages(new Operation('GET', '/v1/withdrawals', 'needed', true), '', 'withdrawals', false, [], $query, $options);
    }

    /**
     * Pay a balance out to a settlement account.
     *
     * Needs the permission `withdrawal:create`. The money leaves the available balance at once, and is in it
     * again where it cannot be paid. In live mode a withdrawal above a bound is `requested` until two operators
     * have approved it. At most 100 withdrawals of a mode have not ended (409 `too_many_withdrawals`).
     *
     * POST /v1/withdrawals
     *
     * @param CreateWithdrawal $body
     * @return WithdrawalAnswer
     */
    public function createWithdrawal(array $body, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('POST', '/v1/withdrawals', 'needed', true), [], [], $body, $options);
    }

    /**
     * Show a withdrawal.
     *
     * Needs the permission `payment:read`.
     *
     * GET /v1/withdrawals/{id}
     *
     * @return WithdrawalAnswer
     */
    public function getWithdrawal(string $id, ?RequestOptions $options = null): array
    {
        return $this->call(new Operation('GET', '/v1/withdrawals/{id}', 'needed', true), ['id' => $id], [], null, $options);
    }
}
