// Generated from gateway/openapi.yaml by make docs. Do not edit.

import type * as t from './types.js';
import type { Listing, Operation, Request, RequestOptions } from './request.js';

/** `object.field` of each whole number of an answer. Every other number is a Decimal. */
export const integers: ReadonlySet<string> = new Set([
  'address.sequence',
  'attempts.number',
  'attempts.status',
  'crypto.count',
  'cryptos.decimals',
  'data.limit',
  'data.offset',
  'data.total',
  'deliveries.attemptCount',
  'deliveries.sequence',
  'delivery.attemptCount',
  'delivery.sequence',
  'deposit.confirmations',
  'deposits.blockHeight',
  'deposits.confirmations',
  'endpoint.sequence',
  'fiat.count',
  'groups.count',
  'groups.ended',
  'groups.settled',
  'key.id',
  'limits.burst',
  'limits.perSecond',
  'networks.confirmations',
  'pagination.limit',
  'pagination.offset',
  'pagination.returned',
  'payment.confirmations',
  'payment.requiredConfirmations',
  'payment.sequence',
  'paymentLink.usageLimit',
  'paymentLink.uses',
  'paymentLinks.usageLimit',
  'paymentLinks.uses',
  'payments.confirmations',
  'payout.attempt',
  'rates.ageSeconds',
  'rates.sources',
  'rates.spreadBps',
  'replay.sent',
  'replay.total',
  'report.apiKeyId',
  'report.id',
  'report.sequence',
  'reports.apiKeyId',
  'reports.id',
  'settledWithin.day',
  'settledWithin.fiveMinutes',
  'settledWithin.hour',
  'settledWithin.minute',
  'settlementAccount.sequence',
  'totals.count',
  'totals.ended',
  'totals.settled',
  'transfer.blockHeight',
  'transfer.confirmations',
  'transfer.requiredConfirmations',
  'transfers.confirmations',
  'wallet.confirmations',
  'wallet.sequence',
  'wallets.confirmations',
  'withdrawal.sequence',
]);

/** A method for each operation of the API. */
export abstract class Operations {
  protected abstract call<T>(operation: Operation, request: Request): Promise<T>;
  protected abstract pages<T>(operation: Operation, listing: Listing, request: Request): AsyncGenerator<T, void, undefined>;

  /**
   * Show the merchant's balances.
   *
   * Needs the permission `wallet:read`. `balances` covers the wallets of all keys of the merchant in the key's
   * mode, per crypto and network. `pending` counts deposits that are on the chain and not deep enough yet. A key
   * that has `payment:read` too gets `fiat`: what is owed to the merchant, one entry per currency. Its `pending`
   * is the money of confirmed payments without a receiver that are not settled yet; a reorganisation can take it
   * back. A part of the service that is away is a 503 for the whole answer.
   *
   * GET /v1/balances
   */
  getBalances(options: RequestOptions = {}): Promise<t.BalancesAnswer> {
    return this.call({ method: 'GET', path: '/v1/balances', key: 'needed', repeatable: true }, { options });
  }

  /**
   * List banks.
   *
   * Needs no key. The banks are those of the rails' own lists, read daily. The search for `name` accepts words
   * in any order and case, common short names, and one typing error in a word. A code finds its bank in any list
   * of codes.
   *
   * GET /v1/banks
   */
  listBanks(query: t.ListBanksQuery = {}, options: RequestOptions = {}): Promise<t.BankListAnswer> {
    return this.call({ method: 'GET', path: '/v1/banks', key: 'optional', repeatable: true }, { query, options });
  }

  /**
   * Read what a payer needs.
   *
   * Needs no key: the reference is the secret. The answer shows nothing about the merchant, the payer or the
   * receiver. For a request that is not fulfilled yet, `options` lists the price now in each accepted crypto and
   * network.
   *
   * GET /v1/checkout/{reference}
   */
  getCheckout(reference: string, options: RequestOptions = {}): Promise<t.CheckoutAnswer> {
    return this.call({ method: 'GET', path: '/v1/checkout/{reference}', key: 'none', repeatable: true }, { path: { reference }, options });
  }

  /**
   * Propose the address of a refund.
   *
   * Needs no key: every holder of the reference may propose an address, while something is owed to the payer
   * (`takesRefundAddress` of the checkout), else it is 409 `refund_address_not_needed`. It takes no effect until
   * the merchant or an operator confirms it; the merchant gets `payment.refund_address_proposed`. A later
   * proposal replaces an earlier one. A payment takes 5 different addresses of its network, refused ones
   * included: more are 409 `too_many_proposals`.
   *
   * POST /v1/checkout/{reference}/refund-address
   */
  proposeRefundAddress(reference: string, body: t.RefundAddress, options: RequestOptions = {}): Promise<t.ProposedRefundAddressAnswer> {
    return this.call({ method: 'POST', path: '/v1/checkout/{reference}/refund-address', key: 'none', repeatable: true }, { path: { reference }, body, options });
  }

  /**
   * Play the payer of a test payment.
   *
   * Needs no key: every holder of a test-mode payment's reference may pay it with simulated money, as the page
   * at `/pay/:reference` offers it. `full` sends the owed amount, `partial` half of it, `over` a fifth more;
   * `late` closes the window first. Live payments get 404.
   *
   * POST /v1/checkout/{reference}/simulate
   */
  simulatePayer(reference: string, body: t.SimulatePayer, options: RequestOptions = {}): Promise<t.SandboxDepositAnswer> {
    return this.call({ method: 'POST', path: '/v1/checkout/{reference}/simulate', key: 'none', repeatable: true }, { path: { reference }, body, options });
  }

  /**
   * Name the transaction that paid.
   *
   * Needs no key: every holder of the reference may name a transaction. On an EVM network whose endpoints do not
   * trace, the service does not see coin from a smart wallet, a contract or an exchange by itself
   * (`takesTransactionHash` of the checkout, `seesContractTransfers` of GET /v1/networks). The service computes
   * what the transaction paid to the payment's address; this coin becomes a transfer like any other and waits
   * for the same confirmations. Naming it moves nothing by itself, and the answer is the same whether or not the
   * transaction exists.
   *
   * The same transaction may be named any number of times. A payment takes 5 different ones: more are 409
   * `too_many_transactions`. Where the service sees every transfer by itself, the answer is 400
   * `hint_not_needed`.
   *
   * POST /v1/checkout/{reference}/transaction
   */
  nameTransaction(reference: string, body: t.NameTransaction, options: RequestOptions = {}): Promise<t.NamedTransactionAnswer> {
    return this.call({ method: 'POST', path: '/v1/checkout/{reference}/transaction', key: 'none', repeatable: false }, { path: { reference }, body, options });
  }

  /**
   * Catch up with events.
   *
   * Needs the permission `webhook:manage`. The bodies as they are sent to endpoints, in the order in which they
   * were accepted. That order may differ from the order in which they happened: `data.*.sequence` counts the
   * events of one object. Store `nextCursor` and continue with it, even when `hasMore` is false: then you miss
   * no event. Kept for 30 days. An event that this service cannot decrypt is left out, so that the others reach
   * you. Its webhook is sent once the service can decrypt it, and the operator names the time from which to read
   * again.
   *
   * GET /v1/events
   */
  listEvents(query: t.ListEventsQuery = {}, options: RequestOptions = {}): Promise<t.EventListAnswer> {
    return this.call({ method: 'GET', path: '/v1/events', key: 'needed', repeatable: true }, { query, options });
  }

  /** All items of {@link listEvents}, page after page. */
  iterateEvents(query: t.ListEventsQuery = {}, options: RequestOptions = {}): AsyncGenerator<t.PaymentEvent | t.WalletEvent | t.WithdrawalEvent | t.WalletWithdrawalEvent | t.SettlementAccountEvent | t.AddressBookEvent | t.ReportEvent | t.EndpointEvent, void, undefined> {
    return this.pages({ method: 'GET', path: '/v1/events', key: 'needed', repeatable: true }, { in: '', items: 'events', offset: false }, { query, options });
  }

  /**
   * Read a payment link as a payer.
   *
   * `options` are the ways to pay a link of type `merchant` now; a `request` gets its price once it is made.
   *
   * GET /v1/links/{id}
   */
  getLink(id: string, options: RequestOptions = {}): Promise<t.LinkAnswer> {
    return this.call({ method: 'GET', path: '/v1/links/{id}', key: 'none', repeatable: true }, { path: { id }, options });
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
   */
  payLink(id: string, body: t.LinkPayment = {}, options: RequestOptions = {}): Promise<t.PaymentCreatedAnswer> {
    return this.call({ method: 'POST', path: '/v1/links/{id}/payments', key: 'none', repeatable: true }, { path: { id }, body, options });
  }

  /**
   * The key that asks.
   *
   * Any key may ask. `permissions` are spelled out; `perSecond` and `burst` are null when the tier has no limit.
   *
   * GET /v1/me
   */
  getMe(options: RequestOptions = {}): Promise<t.MeAnswer> {
    return this.call({ method: 'GET', path: '/v1/me', key: 'needed', repeatable: true }, { options });
  }

  /**
   * List networks and what is taken on them.
   *
   * Needs no key.
   *
   * GET /v1/networks
   */
  listNetworks(query: t.ListNetworksQuery = {}, options: RequestOptions = {}): Promise<t.NetworkListAnswer> {
    return this.call({ method: 'GET', path: '/v1/networks', key: 'optional', repeatable: true }, { query, options });
  }

  /**
   * List payment links.
   *
   * Needs the permission `payment:read`. Newest first.
   *
   * GET /v1/payment-links
   */
  listPaymentLinks(query: t.ListPaymentLinksQuery = {}, options: RequestOptions = {}): Promise<t.PaymentLinkListAnswer> {
    return this.call({ method: 'GET', path: '/v1/payment-links', key: 'needed', repeatable: true }, { query, options });
  }

  /** All items of {@link listPaymentLinks}, page after page. */
  iteratePaymentLinks(query: t.ListPaymentLinksQuery = {}, options: RequestOptions = {}): AsyncGenerator<t.PaymentLink, void, undefined> {
    return this.pages({ method: 'GET', path: '/v1/payment-links', key: 'needed', repeatable: true }, { in: '', items: 'paymentLinks', offset: false }, { query, options });
  }

  /**
   * Make a reusable payment link.
   *
   * Needs the permission `payment:create`. Anybody who has the link makes payments out of it: of type `request`,
   * which are paid out to a confirmed settlement account, or of type `merchant`, whose money is the merchant's.
   * Without `fiatAmount` the payer names the amount. A merchant has 1 000 links at most that have not ended.
   *
   * POST /v1/payment-links
   */
  createPaymentLink(body: t.PaymentLinkCreate, options: RequestOptions = {}): Promise<t.PaymentLinkAnswer> {
    return this.call({ method: 'POST', path: '/v1/payment-links', key: 'needed', repeatable: true }, { body, options });
  }

  /**
   * Read a payment link.
   *
   * Needs the permission `payment:read`.
   *
   * GET /v1/payment-links/{id}
   */
  getPaymentLink(id: string, options: RequestOptions = {}): Promise<t.PaymentLinkAnswer> {
    return this.call({ method: 'GET', path: '/v1/payment-links/{id}', key: 'needed', repeatable: true }, { path: { id }, options });
  }

  /**
   * Change or end a payment link.
   *
   * Needs the permission `payment:create`. Fields that are not sent stay as they are. Payments that the link has
   * made go on. `usageLimit: 0` removes the limit.
   *
   * PATCH /v1/payment-links/{id}
   */
  changePaymentLink(id: string, body: t.PaymentLinkChange, options: RequestOptions = {}): Promise<t.PaymentLinkAnswer> {
    return this.call({ method: 'PATCH', path: '/v1/payment-links/{id}', key: 'needed', repeatable: false }, { path: { id }, body, options });
  }

  /**
   * List payments.
   *
   * Needs the permission `payment:read`. Newest first. Each item has the fields of GET /v1/payments/{reference}.
   *
   * GET /v1/payments
   */
  listPayments(query: t.ListPaymentsQuery = {}, options: RequestOptions = {}): Promise<t.PaymentListAnswer> {
    return this.call({ method: 'GET', path: '/v1/payments', key: 'needed', repeatable: true }, { query, options });
  }

  /** All items of {@link listPayments}, page after page. */
  iteratePayments(query: t.ListPaymentsQuery = {}, options: RequestOptions = {}): AsyncGenerator<t.Payment, void, undefined> {
    return this.pages({ method: 'GET', path: '/v1/payments', key: 'needed', repeatable: true }, { in: '', items: 'payments', offset: false }, { query, options });
  }

  /**
   * Create a payment.
   *
   * Needs the permission `payment:create`.
   *
   * POST /v1/payments
   */
  createPayment(body: t.CreatePayment, options: RequestOptions = {}): Promise<t.PaymentCreatedAnswer> {
    return this.call({ method: 'POST', path: '/v1/payments', key: 'needed', repeatable: true }, { body, options });
  }

  /**
   * Claim a gift to a bank account.
   *
   * Needs no key: the reference is the secret. This service looks up the account's name and ignores names that a
   * client sends. The first of several claims wins. A gift that is not paid yet is settling with the exception
   * `unfunded`, and the payout leaves when its deposit is confirmed.
   *
   * POST /v1/payments/gifts/{reference}/claim/confirm
   */
  claimGift(reference: string, body: t.ClaimGift, options: RequestOptions = {}): Promise<t.GiftClaimedAnswer> {
    return this.call({ method: 'POST', path: '/v1/payments/gifts/{reference}/claim/confirm', key: 'none', repeatable: true }, { path: { reference }, body, options });
  }

  /**
   * Choose the crypto of a request and get its price and address.
   *
   * Needs no key: the reference is the secret. The rate is locked now and the fee is charged from crypto. The
   * first of several fulfilments wins.
   *
   * POST /v1/payments/requests/{reference}/fulfill
   */
  fulfillRequest(reference: string, body: t.FulfillRequest, options: RequestOptions = {}): Promise<t.PaymentFulfilledAnswer> {
    return this.call({ method: 'POST', path: '/v1/payments/requests/{reference}/fulfill', key: 'none', repeatable: true }, { path: { reference }, body, options });
  }

  /**
   * Look up the holder of an account.
   *
   * Needs the permission `payment:create`; or, without any key, the `reference` of a gift that can be claimed.
   * Every other reference is a 401. An invalid key, or one without the permission, counts as none. Without a key
   * ten accounts may be looked up for one gift, and one more each minute, besides the limit for one address.
   *
   * With a key `reference` is optional and names a payment of its merchant. Without one the key's mode counts,
   * and without `fiatCurrency` the bank's code decides the currency, else NGN; a payment's own mode and currency
   * come before both. `nameVerified` is false and the name empty where the country's banks report no names.
   *
   * POST /v1/payments/verify-receiver
   */
  verifyReceiver(body: t.VerifyReceiver, options: RequestOptions = {}): Promise<t.ReceiverVerifiedAnswer> {
    return this.call({ method: 'POST', path: '/v1/payments/verify-receiver', key: 'optional', repeatable: true }, { body, options });
  }

  /**
   * Read a payment.
   *
   * Needs the permission `payment:read`. Another merchant's payment, or one of the other mode, is a 404.
   *
   * GET /v1/payments/{reference}
   */
  getPayment(reference: string, options: RequestOptions = {}): Promise<t.PaymentAnswer> {
    return this.call({ method: 'GET', path: '/v1/payments/{reference}', key: 'needed', repeatable: true }, { path: { reference }, options });
  }

  /**
   * Withdraw a payment.
   *
   * Needs the permission `payment:create`. Only while nothing has been seen on the chain; later it is a 409. A
   * POST without a body.
   *
   * POST /v1/payments/{reference}/cancel
   */
  cancelPayment(reference: string, options: RequestOptions = {}): Promise<t.PaymentAnswer> {
    return this.call({ method: 'POST', path: '/v1/payments/{reference}/cancel', key: 'needed', repeatable: true }, { path: { reference }, options });
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
   * `heldUntil`, 24 hours later by default, so that somebody can stop a change that the merchant did not order.
   *
   * POST /v1/payments/{reference}/refund-address
   */
  setRefundAddress(reference: string, body: t.RefundAddress, options: RequestOptions = {}): Promise<t.RefundAddressAnswer> {
    return this.call({ method: 'POST', path: '/v1/payments/{reference}/refund-address', key: 'needed', repeatable: true }, { path: { reference }, body, options });
  }

  /**
   * Confirm the refund address that the payer proposed.
   *
   * Needs the permission `refund:create`. Makes the payer's `refundAddressProposed` the address of refunds. The
   * body repeats the address: if the payer has proposed another one since, the answer is 409
   * `refund_address_not_proposed`. Anybody who has the link of the pay page can propose an address, so ask the
   * payer over a way that you know before you confirm it. The address is checked and screened again, and the
   * change counts like one by POST /v1/payments/{reference}/refund-address.
   *
   * POST /v1/payments/{reference}/refund-address/confirm
   */
  confirmRefundAddress(reference: string, body: t.RefundAddress, options: RequestOptions = {}): Promise<t.RefundAddressAnswer> {
    return this.call({ method: 'POST', path: '/v1/payments/{reference}/refund-address/confirm', key: 'needed', repeatable: true }, { path: { reference }, body, options });
  }

  /**
   * List the refunds of a payment.
   *
   * Needs the permission `payment:read`. Oldest first, failed ones too.
   *
   * GET /v1/payments/{reference}/refunds
   */
  listRefunds(reference: string, options: RequestOptions = {}): Promise<t.RefundsAnswer> {
    return this.call({ method: 'GET', path: '/v1/payments/{reference}/refunds', key: 'needed', repeatable: true }, { path: { reference }, options });
  }

  /**
   * Refund the payer on the chain.
   *
   * Needs the permission `refund:create`. Sends crypto that is owed to the payer to the payment's refund
   * address, in the asset and on the network on which it came: money that is short, over, late, unclaimed or of
   * a wrong asset. Without `amount` it takes everything that is owed in one asset. Money that a running payment
   * may still convert or pay out is not owed (409 `nothing_owed`). The money is held at once, so that refunds
   * together never exceed what is owed (409 `amount_above_owed`). A payment that waits for a decision owes all
   * of its money: such a request reserves the money and blocks `accept` and `retry_payout`, and its approval
   * reverses the conversion.
   *
   * Up to a configured worth the request approves itself. Above it, and where the senders or a payout give
   * cause, the refund stays `requested` until operators approve it. Test mode has no bound, and its simulated
   * chain confirms a refund within 30 seconds. The other refusals are 409 `no_refund_address`,
   * `refund_address_held`, `refund_address_internal`, `refund_address_refused`, `refund_address_unfit` and
   * `refunds_closed`, and 503 `refunds_paused` and `network_unavailable`.
   *
   * POST /v1/payments/{reference}/refunds
   */
  createRefund(reference: string, body: t.CreateRefund, options: RequestOptions = {}): Promise<t.RefundAnswer> {
    return this.call({ method: 'POST', path: '/v1/payments/{reference}/refunds', key: 'needed', repeatable: true }, { path: { reference }, body, options });
  }

  /**
   * Say that the receiver has been paid.
   *
   * Needs the permission `payment:create`. For a confirmed `bank_confirmation`, and a confirmed `merchant`
   * without a receiver: the caller pays out itself and presents the one-time token of `payment.confirmed`.
   *
   * POST /v1/payments/{reference}/settle
   */
  settlePayment(reference: string, body: t.Settle, options: RequestOptions = {}): Promise<t.PaymentAnswer> {
    return this.call({ method: 'POST', path: '/v1/payments/{reference}/settle', key: 'needed', repeatable: true }, { path: { reference }, body, options });
  }

  /**
   * Get a new settlement token.
   *
   * Needs the permission `payment:create`. The old token is void at once. The token works once, for 24 hours. A
   * replay by Idempotency-Key shows it for 15 minutes. A POST without a body.
   *
   * POST /v1/payments/{reference}/settlement-token
   */
  issueSettlementToken(reference: string, options: RequestOptions = {}): Promise<t.SettlementTokenAnswer> {
    return this.call({ method: 'POST', path: '/v1/payments/{reference}/settlement-token', key: 'needed', repeatable: true }, { path: { reference }, options });
  }

  /**
   * Read what has happened to a payment.
   *
   * Needs the permission `payment:read`. Everything that happened, oldest first: changes of the status, the
   * quote, each transfer, each attempt of the payout, each refund. The member that `kind` names holds what
   * happened, in its present state. `id` names the payment in GET /v1/webhooks/deliveries?objectId=….
   *
   * GET /v1/payments/{reference}/timeline
   */
  getPaymentTimeline(reference: string, options: RequestOptions = {}): Promise<t.TimelineAnswer> {
    return this.call({ method: 'GET', path: '/v1/payments/{reference}/timeline', key: 'needed', repeatable: true }, { path: { reference }, options });
  }

  /**
   * Read the rates.
   *
   * Needs no key. The rates that would price a payment now, with their sources and ages.
   *
   * GET /v1/rates
   */
  listRates(query: t.ListRatesQuery = {}, options: RequestOptions = {}): Promise<t.RateListAnswer> {
    return this.call({ method: 'GET', path: '/v1/rates', key: 'optional', repeatable: true }, { query, options });
  }

  /**
   * List the merchant's own reports.
   *
   * Needs the permission `report:manage`; reports of the calling key's own merchant and mode only, whichever of
   * its keys filed them. Newest first. It shows `confirmer` and `adminNotes`, which the public never sees.
   *
   * GET /v1/reports
   */
  listReports(query: t.ListReportsQuery = {}, options: RequestOptions = {}): Promise<t.ReportOwnListAnswer> {
    return this.call({ method: 'GET', path: '/v1/reports', key: 'needed', repeatable: true }, { query, options });
  }

  /** All items of {@link listReports}, page after page. */
  iterateReports(query: t.ListReportsQuery = {}, options: RequestOptions = {}): AsyncGenerator<t.ReportManaged, void, undefined> {
    return this.pages({ method: 'GET', path: '/v1/reports', key: 'needed', repeatable: true }, { in: 'data', items: 'reports', offset: false }, { query, options });
  }

  /**
   * File a report.
   *
   * Needs the permission `report:create`. A phone number is kept as digits: spaces, -, ., brackets and a leading
   * + are dropped. Addresses and the session reference are trimmed and not checked for format or existence. One
   * key may file 1 000 reports on one wallet address an hour (`FLOOD_PER_HOUR`); then 429.
   *
   * Reports are public. Only keys of the merchant who filed the report see a gift's reference: for others
   * `sessionReference` is null, and other texts show the code covered (`CW-****`). After an upgrade from a
   * release whose gifts have no `G`, this holds for every reference of a report that may name one of them.
   *
   * POST /v1/reports
   */
  createReport(body: t.CreateReport, options: RequestOptions = {}): Promise<t.ReportAnswer> {
    return this.call({ method: 'POST', path: '/v1/reports', key: 'needed', repeatable: true }, { body, options });
  }

  /**
   * Find reports by the reporter's phone or wallet, newest first.
   *
   * Public. A key is optional: its own merchant's reports show more; a bad key is ignored. Give `phoneNumber`,
   * `walletAddress` or both; with both a report is found if either is its own. Values are cleaned as at filing
   * and never refused: a value that is no phone number finds nothing. `0x…` addresses are compared without case,
   * others exactly. Pages by `offset`, or by `cursor`. An empty `cursor` begins the list and adds `nextCursor`
   * and `hasMore`. One phone or wallet may be looked up 50 times at once and 5 times a second.
   *
   * GET /v1/reports/lookup
   */
  lookupReports(query: t.LookupReportsQuery = {}, options: RequestOptions = {}): Promise<t.ReportListAnswer> {
    return this.call({ method: 'GET', path: '/v1/reports/lookup', key: 'optional', repeatable: true }, { query, options });
  }

  /** All items of {@link lookupReports}, page after page. */
  iterateLookupReports(query: t.LookupReportsQuery = {}, options: RequestOptions = {}): AsyncGenerator<t.Report, void, undefined> {
    return this.pages({ method: 'GET', path: '/v1/reports/lookup', key: 'optional', repeatable: true }, { in: 'data', items: 'reports', offset: true }, { query, options });
  }

  /**
   * Read a report.
   *
   * Public. A key is optional: its own merchant's report shows more; a bad key is ignored. One address may ask
   * for 30 unknown ids a minute; then 429.
   *
   * GET /v1/reports/{reportId}
   */
  getReport(reportId: string, options: RequestOptions = {}): Promise<t.ReportAnswer> {
    return this.call({ method: 'GET', path: '/v1/reports/{reportId}', key: 'optional', repeatable: true }, { path: { reportId }, options });
  }

  /**
   * Move a report on.
   *
   * Needs the permission `report:manage`; reports of the calling key's own merchant and mode only. A pending
   * report may become processing or dismissed, a processing one resolved or dismissed; any other move is a 409.
   * The answer shows `confirmer` and `adminNotes`, which the public never sees.
   *
   * PATCH /v1/reports/{reportId}
   */
  updateReport(reportId: string, body: t.UpdateReport, options: RequestOptions = {}): Promise<t.ReportManagedAnswer> {
    return this.call({ method: 'PATCH', path: '/v1/reports/{reportId}', key: 'needed', repeatable: false }, { path: { reportId }, body, options });
  }

  /**
   * Take prices or a network of your test mode down.
   *
   * Needs the permission `payment:create`. For the merchant's own test payments, and for nobody else's, there
   * are no prices (503 `rate_unavailable`), or a network is not followed (503 `network_unavailable`; payouts and
   * claims that rest on it wait), until `until`. Another outage of the same part replaces it, and one of 0
   * seconds ends it. It takes a second at most until every process knows.
   *
   * POST /v1/sandbox/outages
   */
  sandboxTakeDown(body: t.SandboxOutage, query: t.SandboxTakeDownQuery = {}, options: RequestOptions = {}): Promise<t.SandboxOutageAnswer> {
    return this.call({ method: 'POST', path: '/v1/sandbox/outages', key: 'needed', repeatable: true }, { body, query, options });
  }

  /**
   * Send a transfer on the simulated chain.
   *
   * Needs the permission `payment:create`. The transfer is seen at once and mined in the next simulated block.
   * Accepts payments that are pending, confirming, settling unfunded, expired or cancelled.
   *
   * POST /v1/sandbox/payments/{reference}/deposits
   */
  sandboxDepositPayment(reference: string, body: t.SandboxDeposit = {}, options: RequestOptions = {}): Promise<t.SandboxDepositAnswer> {
    return this.call({ method: 'POST', path: '/v1/sandbox/payments/{reference}/deposits', key: 'needed', repeatable: true }, { path: { reference }, body, options });
  }

  /**
   * Close the payment window as the timer would.
   *
   * Needs the permission `payment:create`. A POST without a body.
   *
   * POST /v1/sandbox/payments/{reference}/expire
   */
  sandboxExpirePayment(reference: string, options: RequestOptions = {}): Promise<t.PaymentAnswer> {
    return this.call({ method: 'POST', path: '/v1/sandbox/payments/{reference}/expire', key: 'needed', repeatable: true }, { path: { reference }, options });
  }

  /**
   * Send a transfer on the simulated chain, in the form of another engine.
   *
   * Needs the permission `payment:create`. As `deposits`; `steps` is the number of confirmations of the
   * transfer.
   *
   * POST /v1/sandbox/payments/{reference}/simulate-deposit
   */
  sandboxSimulateDeposit(reference: string, body: t.SandboxSimulateDeposit = {}, options: RequestOptions = {}): Promise<t.SandboxDepositAnswer> {
    return this.call({ method: 'POST', path: '/v1/sandbox/payments/{reference}/simulate-deposit', key: 'needed', repeatable: true }, { path: { reference }, body, options });
  }

  /**
   * Say what becomes of a payout.
   *
   * Needs the permission `payment:create`. Before or after it is sent. A payout that failed or came back has its
   * outcome already; one that succeeded can still be returned.
   *
   * POST /v1/sandbox/payouts/{id}/outcome
   */
  sandboxPayoutOutcome(id: string, body: t.SandboxOutcome, options: RequestOptions = {}): Promise<t.SandboxOutcomeAnswer> {
    return this.call({ method: 'POST', path: '/v1/sandbox/payouts/{id}/outcome', key: 'needed', repeatable: true }, { path: { id }, body, options });
  }

  /**
   * Send a transfer to a wallet on the simulated chain.
   *
   * Needs the permission `wallet:create`. Accepts a wallet of any status. Without `confirmations` the chain
   * grows until the transfer is deep enough.
   *
   * POST /v1/sandbox/wallets/{id}/deposits
   */
  sandboxDepositWallet(id: string, body: t.SandboxWalletDeposit, options: RequestOptions = {}): Promise<t.SandboxWalletDepositAnswer> {
    return this.call({ method: 'POST', path: '/v1/sandbox/wallets/{id}/deposits', key: 'needed', repeatable: true }, { path: { id }, body, options });
  }

  /**
   * List the settlement accounts.
   *
   * Needs the permission `payment:read`. The oldest first; a merchant has 20 at most in each mode.
   *
   * GET /v1/settlement-accounts
   */
  listSettlementAccounts(options: RequestOptions = {}): Promise<t.SettlementAccountsAnswer> {
    return this.call({ method: 'GET', path: '/v1/settlement-accounts', key: 'needed', repeatable: true }, { options });
  }

  /**
   * Propose a bank account for withdrawals.
   *
   * Needs the permission `settlement:manage`. The bank gives the name; compare it before the confirmation,
   * without which no money goes to the account.
   *
   * POST /v1/settlement-accounts
   */
  createSettlementAccount(body: t.CreateSettlementAccount, options: RequestOptions = {}): Promise<t.SettlementAccountAnswer> {
    return this.call({ method: 'POST', path: '/v1/settlement-accounts', key: 'needed', repeatable: true }, { body, options });
  }

  /**
   * Take a settlement account away.
   *
   * Needs the permission `settlement:manage`. No withdrawal goes to it any more; one that has left is not called
   * back.
   *
   * DELETE /v1/settlement-accounts/{id}
   */
  deleteSettlementAccount(id: string, options: RequestOptions = {}): Promise<t.SettlementAccountDeletedAnswer> {
    return this.call({ method: 'DELETE', path: '/v1/settlement-accounts/{id}', key: 'needed', repeatable: false }, { path: { id }, options });
  }

  /**
   * Show a settlement account.
   *
   * Needs the permission `payment:read`.
   *
   * GET /v1/settlement-accounts/{id}
   */
  getSettlementAccount(id: string, options: RequestOptions = {}): Promise<t.SettlementAccountAnswer> {
    return this.call({ method: 'GET', path: '/v1/settlement-accounts/{id}', key: 'needed', repeatable: true }, { path: { id }, options });
  }

  /**
   * Confirm a settlement account.
   *
   * Needs the permission `withdrawal:create`. The body repeats the account number. In live mode no money leaves
   * to the account for 24 hours (`heldUntil`).
   *
   * POST /v1/settlement-accounts/{id}/confirm
   */
  confirmSettlementAccount(id: string, body: t.ConfirmSettlementAccount, options: RequestOptions = {}): Promise<t.SettlementAccountAnswer> {
    return this.call({ method: 'POST', path: '/v1/settlement-accounts/{id}/confirm', key: 'needed', repeatable: true }, { path: { id }, body, options });
  }

  /**
   * Show how the merchant's own money is settled.
   *
   * Needs the permission `payment:read`.
   *
   * GET /v1/settlement-settings
   */
  getSettlementSettings(options: RequestOptions = {}): Promise<t.SettlementSettingsAnswer> {
    return this.call({ method: 'GET', path: '/v1/settlement-settings', key: 'needed', repeatable: true }, { options });
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
   */
  changeSettlementSettings(body: t.ChangeSettlementSettings, options: RequestOptions = {}): Promise<t.SettlementSettingsAnswer> {
    return this.call({ method: 'PATCH', path: '/v1/settlement-settings', key: 'needed', repeatable: false }, { body, options });
  }

  /**
   * Report what was settled.
   *
   * Needs the permission `payment:read`. One row for each payment that was settled between `from` and `to` (by
   * default the last 30 days), in the order of settlement; columns of one currency may be added up. The CSV has
   * no totals. The report may have any length and is streamed; a report that was cut off lacks the last chunk,
   * and its JSON lacks the totals. A key reads four reports at a time (429 beyond); a reader who takes less than
   * 16 KiB a second over ten seconds is cut off.
   *
   * GET /v1/settlements
   */
  listSettlements(query: t.ListSettlementsQuery = {}, options: RequestOptions = {}): Promise<t.SettlementsAnswer> {
    return this.call({ method: 'GET', path: '/v1/settlements', key: 'needed', repeatable: true }, { query, options });
  }

  /**
   * Read the figures of your payments.
   *
   * Needs the permission `payment:read`. Sums over the payments that were created on the days from `from` to
   * `to`, both included, in UTC; by default the last 30 days, and 366 at most. The sums are exact at the time of
   * the answer. `ended` counts settled, expired, cancelled and refunded payments, and `successRate` is `settled`
   * divided by `ended`. `fee` and `payoutAmount` are those of settled payments, as in GET /v1/settlements.
   * `secondsToSettle` is the mean time from the confirmation of the money (of a gift: from its claim, if that is
   * later) to the settlement, and `settledWithin` counts the payments that took no longer. More than 10 000
   * groups are 400 `too_many_groups`.
   *
   * GET /v1/statistics
   */
  getStatistics(query: t.GetStatisticsQuery = {}, options: RequestOptions = {}): Promise<t.StatisticsAnswer> {
    return this.call({ method: 'GET', path: '/v1/statistics', key: 'needed', repeatable: true }, { query, options });
  }

  /**
   * List the calling key's wallets, newest first.
   *
   * Needs the permission `wallet:read`. Pages by `offset`, or by `cursor`. An empty `cursor` begins the list and
   * adds `nextCursor` and `hasMore` to `pagination`.
   *
   * GET /v1/wallets
   */
  listWallets(query: t.ListWalletsQuery = {}, options: RequestOptions = {}): Promise<t.WalletListAnswer> {
    return this.call({ method: 'GET', path: '/v1/wallets', key: 'needed', repeatable: true }, { query, options });
  }

  /** All items of {@link listWallets}, page after page. */
  iterateWallets(query: t.ListWalletsQuery = {}, options: RequestOptions = {}): AsyncGenerator<t.WalletItem, void, undefined> {
    return this.pages({ method: 'GET', path: '/v1/wallets', key: 'needed', repeatable: true }, { in: '', items: 'wallets', offset: true }, { query, options });
  }

  /**
   * Make a deposit wallet.
   *
   * Needs the permission `wallet:create`. The scan of the address begins before the answer. Wallets belong to
   * the key that made them.
   *
   * POST /v1/wallets
   */
  createWallet(body: t.CreateWallet, options: RequestOptions = {}): Promise<t.WalletCreatedAnswer> {
    return this.call({ method: 'POST', path: '/v1/wallets', key: 'needed', repeatable: true }, { body, options });
  }

  /**
   * List the address book, newest first.
   *
   * Needs the permission `wallet:read`. The book belongs to the merchant in the mode of the key.
   *
   * GET /v1/wallets/address-book
   */
  listWalletWithdrawalAddresses(query: t.ListWalletWithdrawalAddressesQuery = {}, options: RequestOptions = {}): Promise<t.AddressBookAnswer> {
    return this.call({ method: 'GET', path: '/v1/wallets/address-book', key: 'needed', repeatable: true }, { query, options });
  }

  /** All items of {@link listWalletWithdrawalAddresses}, page after page. */
  iterateWalletWithdrawalAddresses(query: t.ListWalletWithdrawalAddressesQuery = {}, options: RequestOptions = {}): AsyncGenerator<t.AddressBookEntry, void, undefined> {
    return this.pages({ method: 'GET', path: '/v1/wallets/address-book', key: 'needed', repeatable: true }, { in: '', items: 'addresses', offset: false }, { query, options });
  }

  /**
   * Add an address to the address book.
   *
   * Needs the permission `wallet:withdraw`. The address has the form of the network, and on solana belongs to a
   * wallet. One of this service is a 409 `withdrawal_address_internal`, a listed one a 409
   * `withdrawal_address_refused`, a second entry of the same a 409 `address_known`. The merchant gets
   * `wallet.address_added`, and no withdrawal of live mode goes there before `usableAt`, 24 hours later. The
   * book of a mode has at most 200 addresses (409 `address_book_full`).
   *
   * POST /v1/wallets/address-book
   */
  addWalletWithdrawalAddress(body: t.NewAddressBookEntry, options: RequestOptions = {}): Promise<t.AddressBookEntryAnswer> {
    return this.call({ method: 'POST', path: '/v1/wallets/address-book', key: 'needed', repeatable: true }, { body, options });
  }

  /**
   * Take an address out of the address book.
   *
   * Needs the permission `wallet:withdraw`. Withdrawals to it that wait for operators cannot be approved any
   * more; approved ones go on.
   *
   * DELETE /v1/wallets/address-book/{id}
   */
  removeWalletWithdrawalAddress(id: string, options: RequestOptions = {}): Promise<t.AddressRemovedAnswer> {
    return this.call({ method: 'DELETE', path: '/v1/wallets/address-book/{id}', key: 'needed', repeatable: false }, { path: { id }, options });
  }

  /**
   * List withdrawals, newest first.
   *
   * Needs the permission `wallet:read`.
   *
   * GET /v1/wallets/withdrawals
   */
  listWalletWithdrawals(query: t.ListWalletWithdrawalsQuery = {}, options: RequestOptions = {}): Promise<t.WalletWithdrawalsAnswer> {
    return this.call({ method: 'GET', path: '/v1/wallets/withdrawals', key: 'needed', repeatable: true }, { query, options });
  }

  /** All items of {@link listWalletWithdrawals}, page after page. */
  iterateWalletWithdrawals(query: t.ListWalletWithdrawalsQuery = {}, options: RequestOptions = {}): AsyncGenerator<t.WalletWithdrawal, void, undefined> {
    return this.pages({ method: 'GET', path: '/v1/wallets/withdrawals', key: 'needed', repeatable: true }, { in: '', items: 'withdrawals', offset: false }, { query, options });
  }

  /**
   * Withdraw crypto from the deposit wallets.
   *
   * Needs the permission `wallet:withdraw`. Sends `amount` from the merchant's balance of the mode to an address
   * of the address book; the balance pays the fee besides. The balance is asked after the answer: a withdrawal
   * that it does not cover fails with `insufficient_balance` within seconds, and nothing is taken. A withdrawal
   * of live mode waits for operators as `requested` above `WITHDRAWAL_APPROVAL_ABOVE_USD` within 24 hours, and
   * is a 400 `daily_limit_exceeded` above the merchant's limit. Every approved withdrawal counts, whatever
   * became of it. The refusals are 409 `withdrawals_closed`, `withdrawal_address_held`,
   * `withdrawal_address_internal`, `withdrawal_address_refused`, `fee_changed` and `too_many_withdrawals` (100
   * of a mode have not ended), 400 `amount_below_minimum` below the fee, and 503 `withdrawals_paused`,
   * `network_unavailable`, `rate_unavailable` and `sanctions_list_outdated`. Test mode has no limits, and its
   * simulated chain confirms within 30 seconds.
   *
   * POST /v1/wallets/withdrawals
   */
  createWalletWithdrawal(body: t.NewWalletWithdrawal, options: RequestOptions = {}): Promise<t.WalletWithdrawalAnswer> {
    return this.call({ method: 'POST', path: '/v1/wallets/withdrawals', key: 'needed', repeatable: true }, { body, options });
  }

  /**
   * Show the fees of withdrawals.
   *
   * Needs the permission `wallet:read`. The fee of a pair is in its own crypto, is paid besides the amount, and
   * covers the fee of the network, whatever that asks. It holds until operators change it. Name it as `fee` in
   * the withdrawal to be sure that no other one is taken. `open` says whether the pair can be withdrawn in the
   * mode of the key.
   *
   * GET /v1/wallets/withdrawals/fees
   */
  listWalletWithdrawalFees(options: RequestOptions = {}): Promise<t.WalletWithdrawalFeesAnswer> {
    return this.call({ method: 'GET', path: '/v1/wallets/withdrawals/fees', key: 'needed', repeatable: true }, { options });
  }

  /**
   * Read a withdrawal.
   *
   * Needs the permission `wallet:read`.
   *
   * GET /v1/wallets/withdrawals/{id}
   */
  getWalletWithdrawal(id: string, options: RequestOptions = {}): Promise<t.WalletWithdrawalAnswer> {
    return this.call({ method: 'GET', path: '/v1/wallets/withdrawals/{id}', key: 'needed', repeatable: true }, { path: { id }, options });
  }

  /**
   * Cancel a withdrawal that is not signed.
   *
   * Needs the permission `wallet:withdraw`. A POST without a body. One that is `requested` fails as `cancelled`
   * at once. One that is `approved` or `signing` shows `cancellation: requested` and fails within seconds if
   * nothing can have been signed for it; otherwise it goes on with `cancellation: too_late`. Any other is a 409
   * `withdrawal_not_cancellable`. After a restore one that is `requested` in live mode is a 503
   * `withdrawals_paused` for a while.
   *
   * POST /v1/wallets/withdrawals/{id}/cancel
   */
  cancelWalletWithdrawal(id: string, options: RequestOptions = {}): Promise<t.WalletWithdrawalAnswer> {
    return this.call({ method: 'POST', path: '/v1/wallets/withdrawals/{id}/cancel', key: 'needed', repeatable: true }, { path: { id }, options });
  }

  /**
   * Read a wallet.
   *
   * Needs the permission `wallet:read`. A wallet of another key, even of the same merchant, is a 404.
   *
   * GET /v1/wallets/{id}
   */
  getWallet(id: string, options: RequestOptions = {}): Promise<t.WalletAnswer> {
    return this.call({ method: 'GET', path: '/v1/wallets/{id}', key: 'needed', repeatable: true }, { path: { id }, options });
  }

  /**
   * List the transfers to a wallet's address, newest first.
   *
   * Needs the permission `wallet:read`. Also shows transfers in another crypto or on another network of the
   * address's family; `counted` says whether a transfer is part of the wallet's `amount`.
   *
   * GET /v1/wallets/{id}/deposits
   */
  listWalletDeposits(id: string, query: t.ListWalletDepositsQuery = {}, options: RequestOptions = {}): Promise<t.WalletDepositListAnswer> {
    return this.call({ method: 'GET', path: '/v1/wallets/{id}/deposits', key: 'needed', repeatable: true }, { path: { id }, query, options });
  }

  /** All items of {@link listWalletDeposits}, page after page. */
  iterateWalletDeposits(id: string, query: t.ListWalletDepositsQuery = {}, options: RequestOptions = {}): AsyncGenerator<t.WalletDeposit, void, undefined> {
    return this.pages({ method: 'GET', path: '/v1/wallets/{id}/deposits', key: 'needed', repeatable: true }, { in: '', items: 'deposits', offset: false }, { path: { id }, query, options });
  }

  /**
   * List deliveries with their attempts.
   *
   * Needs the permission `webhook:manage`. Newest first, kept for 30 days. A delivery is listed once its first
   * attempt has ended, or a few seconds after its event while that attempt is under way.
   *
   * GET /v1/webhooks/deliveries
   */
  listWebhookDeliveries(query: t.ListWebhookDeliveriesQuery = {}, options: RequestOptions = {}): Promise<t.WebhookDeliveryListAnswer> {
    return this.call({ method: 'GET', path: '/v1/webhooks/deliveries', key: 'needed', repeatable: true }, { query, options });
  }

  /** All items of {@link listWebhookDeliveries}, page after page. */
  iterateWebhookDeliveries(query: t.ListWebhookDeliveriesQuery = {}, options: RequestOptions = {}): AsyncGenerator<t.WebhookDelivery, void, undefined> {
    return this.pages({ method: 'GET', path: '/v1/webhooks/deliveries', key: 'needed', repeatable: true }, { in: '', items: 'deliveries', offset: false }, { query, options });
  }

  /**
   * Read a delivery with its attempts.
   *
   * Needs the permission `webhook:manage`.
   *
   * GET /v1/webhooks/deliveries/{id}
   */
  getWebhookDelivery(id: string, options: RequestOptions = {}): Promise<t.WebhookDeliveryAnswer> {
    return this.call({ method: 'GET', path: '/v1/webhooks/deliveries/{id}', key: 'needed', repeatable: true }, { path: { id }, options });
  }

  /**
   * Send a delivery again now.
   *
   * Needs the permission `webhook:manage`. With the same `webhook-id` and body and a new signature, to the URL
   * that the endpoint has now. Accepts delivered ones too. The schedule begins anew. One to a URL that the
   * endpoint left goes there within the 48 hours, and is refused later.
   *
   * POST /v1/webhooks/deliveries/{id}/retry
   */
  retryWebhookDelivery(id: string, options: RequestOptions = {}): Promise<t.WebhookRetryAnswer> {
    return this.call({ method: 'POST', path: '/v1/webhooks/deliveries/{id}/retry', key: 'needed', repeatable: true }, { path: { id }, options });
  }

  /**
   * List registered endpoints.
   *
   * Needs the permission `webhook:manage`.
   *
   * GET /v1/webhooks/endpoints
   */
  listWebhookEndpoints(query: t.ListWebhookEndpointsQuery = {}, options: RequestOptions = {}): Promise<t.WebhookEndpointListAnswer> {
    return this.call({ method: 'GET', path: '/v1/webhooks/endpoints', key: 'needed', repeatable: true }, { query, options });
  }

  /** All items of {@link listWebhookEndpoints}, page after page. */
  iterateWebhookEndpoints(query: t.ListWebhookEndpointsQuery = {}, options: RequestOptions = {}): AsyncGenerator<t.WebhookEndpoint, void, undefined> {
    return this.pages({ method: 'GET', path: '/v1/webhooks/endpoints', key: 'needed', repeatable: true }, { in: '', items: 'endpoints', offset: false }, { query, options });
  }

  /**
   * Register an endpoint.
   *
   * Needs the permission `webhook:manage`. Every event whose type is in `types` (all, when it is empty) is sent
   * to the endpoint besides the payment's `callbackUrl`, signed with a secret of the endpoint's own. In live
   * mode every endpoint also gets the events that warn of money that may leave, whatever its `types`:
   * `settlement_account.…`, `withdrawal.…`, `wallet.address_…`, `wallet.withdrawal_…` and
   * `payment.refund_address_changed`. At most 100 in each mode. Live mode takes https URLs of public names only.
   *
   * POST /v1/webhooks/endpoints
   */
  createWebhookEndpoint(body: t.WebhookEndpointCreate, options: RequestOptions = {}): Promise<t.WebhookEndpointAnswer> {
    return this.call({ method: 'POST', path: '/v1/webhooks/endpoints', key: 'needed', repeatable: true }, { body, options });
  }

  /**
   * Take an endpoint away.
   *
   * Needs the permission `webhook:manage`. Events that are not delivered yet are dropped. Live mode: for 48
   * hours the events that warn of money that may leave still go to its URL, if it had that URL for a day, and so
   * do those that are not delivered yet.
   *
   * DELETE /v1/webhooks/endpoints/{id}
   */
  deleteWebhookEndpoint(id: string, options: RequestOptions = {}): Promise<t.WebhookEndpointDeletedAnswer> {
    return this.call({ method: 'DELETE', path: '/v1/webhooks/endpoints/{id}', key: 'needed', repeatable: false }, { path: { id }, options });
  }

  /**
   * Read an endpoint.
   *
   * Needs the permission `webhook:manage`.
   *
   * GET /v1/webhooks/endpoints/{id}
   */
  getWebhookEndpoint(id: string, options: RequestOptions = {}): Promise<t.WebhookEndpointAnswer> {
    return this.call({ method: 'GET', path: '/v1/webhooks/endpoints/{id}', key: 'needed', repeatable: true }, { path: { id }, options });
  }

  /**
   * Change an endpoint.
   *
   * Needs the permission `webhook:manage`. Members that are absent stay. A disabled endpoint's events are held;
   * enabling it sends them. A live endpoint that leaves a URL, which it had for a day, or is disabled: for 48
   * hours the events that warn of money that may leave also go to that URL, and so do those that wait for the
   * endpoint then.
   *
   * PATCH /v1/webhooks/endpoints/{id}
   */
  changeWebhookEndpoint(id: string, body: t.WebhookEndpointPatch, options: RequestOptions = {}): Promise<t.WebhookEndpointAnswer> {
    return this.call({ method: 'PATCH', path: '/v1/webhooks/endpoints/{id}', key: 'needed', repeatable: false }, { path: { id }, body, options });
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
   */
  rotateWebhookEndpoint(id: string, body: t.WebhookRotation = {}, options: RequestOptions = {}): Promise<t.WebhookSecretAnswer> {
    return this.call({ method: 'POST', path: '/v1/webhooks/endpoints/{id}/rotate', key: 'needed', repeatable: true }, { path: { id }, body, options });
  }

  /**
   * Read an endpoint's secret.
   *
   * Needs the permission `webhook:manage`.
   *
   * GET /v1/webhooks/endpoints/{id}/secret
   */
  getWebhookEndpointSecret(id: string, options: RequestOptions = {}): Promise<t.WebhookSecretAnswer> {
    return this.call({ method: 'GET', path: '/v1/webhooks/endpoints/{id}/secret', key: 'needed', repeatable: true }, { path: { id }, options });
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
   */
  rotateWebhookEndpointSecret(id: string, body: t.WebhookRotation = {}, options: RequestOptions = {}): Promise<t.WebhookSecretAnswer> {
    return this.call({ method: 'POST', path: '/v1/webhooks/endpoints/{id}/secret/rotate', key: 'needed', repeatable: true }, { path: { id }, body, options });
  }

  /**
   * Send a test event.
   *
   * Needs the permission `webhook:manage`. A `webhook.test` event goes only to this endpoint, by the same way as
   * every event. The answer waits a few seconds for the first attempt.
   *
   * POST /v1/webhooks/endpoints/{id}/test
   */
  testWebhookEndpoint(id: string, options: RequestOptions = {}): Promise<t.WebhookDeliveryAnswer> {
    return this.call({ method: 'POST', path: '/v1/webhooks/endpoints/{id}/test', key: 'needed', repeatable: true }, { path: { id }, options });
  }

  /**
   * Send the deliveries of a range of time again.
   *
   * Needs the permission `webhook:manage`. To one endpoint, and none to a URL that it left, or, without
   * `endpointId`, to `callbackUrl`s. `dryRun` counts and sends nothing. A replay uses at most a fifth of the
   * capacity, and can be paused.
   *
   * POST /v1/webhooks/replays
   */
  createWebhookReplay(body: t.WebhookReplayCreate, query: t.CreateWebhookReplayQuery = {}, options: RequestOptions = {}): Promise<t.WebhookReplayAnswer> {
    return this.call({ method: 'POST', path: '/v1/webhooks/replays', key: 'needed', repeatable: true }, { body, query, options });
  }

  /**
   * Read a replay.
   *
   * Needs the permission `webhook:manage`.
   *
   * GET /v1/webhooks/replays/{id}
   */
  getWebhookReplay(id: string, options: RequestOptions = {}): Promise<t.WebhookReplayAnswer> {
    return this.call({ method: 'GET', path: '/v1/webhooks/replays/{id}', key: 'needed', repeatable: true }, { path: { id }, options });
  }

  /**
   * Pause a replay.
   *
   * Needs the permission `webhook:manage`. Running attempts are still made.
   *
   * POST /v1/webhooks/replays/{id}/pause
   */
  pauseWebhookReplay(id: string, options: RequestOptions = {}): Promise<t.WebhookReplayAnswer> {
    return this.call({ method: 'POST', path: '/v1/webhooks/replays/{id}/pause', key: 'needed', repeatable: false }, { path: { id }, options });
  }

  /**
   * Go on with a replay.
   *
   * Needs the permission `webhook:manage`. A finished replay stays finished.
   *
   * POST /v1/webhooks/replays/{id}/resume
   */
  resumeWebhookReplay(id: string, options: RequestOptions = {}): Promise<t.WebhookReplayAnswer> {
    return this.call({ method: 'POST', path: '/v1/webhooks/replays/{id}/resume', key: 'needed', repeatable: false }, { path: { id }, options });
  }

  /**
   * Read the secret that signs callbacks.
   *
   * Needs the permission `webhook:manage`. One secret per merchant and mode signs every delivery to a
   * `callbackUrl`. It is created at its first use.
   *
   * GET /v1/webhooks/secret
   */
  getWebhookSecret(options: RequestOptions = {}): Promise<t.WebhookSecretAnswer> {
    return this.call({ method: 'GET', path: '/v1/webhooks/secret', key: 'needed', repeatable: true }, { options });
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
   */
  rotateWebhookSecret(body: t.WebhookRotation = {}, options: RequestOptions = {}): Promise<t.WebhookSecretAnswer> {
    return this.call({ method: 'POST', path: '/v1/webhooks/secret/rotate', key: 'needed', repeatable: true }, { body, options });
  }

  /**
   * List withdrawals.
   *
   * Needs the permission `payment:read`. The newest first.
   *
   * GET /v1/withdrawals
   */
  listWithdrawals(query: t.ListWithdrawalsQuery = {}, options: RequestOptions = {}): Promise<t.WithdrawalsAnswer> {
    return this.call({ method: 'GET', path: '/v1/withdrawals', key: 'needed', repeatable: true }, { query, options });
  }

  /** All items of {@link listWithdrawals}, page after page. */
  iterateWithdrawals(query: t.ListWithdrawalsQuery = {}, options: RequestOptions = {}): AsyncGenerator<t.Withdrawal, void, undefined> {
    return this.pages({ method: 'GET', path: '/v1/withdrawals', key: 'needed', repeatable: true }, { in: '', items: 'withdrawals', offset: false }, { query, options });
  }

  /**
   * Pay a balance out to a settlement account.
   *
   * Needs the permission `withdrawal:create`. The money leaves the available balance at once, and is in it again
   * where it cannot be paid. In live mode a withdrawal above a bound is `requested` until two operators have
   * approved it. At most 100 withdrawals of a mode have not ended (409 `too_many_withdrawals`).
   *
   * POST /v1/withdrawals
   */
  createWithdrawal(body: t.CreateWithdrawal, options: RequestOptions = {}): Promise<t.WithdrawalAnswer> {
    return this.call({ method: 'POST', path: '/v1/withdrawals', key: 'needed', repeatable: true }, { body, options });
  }

  /**
   * Show a withdrawal.
   *
   * Needs the permission `payment:read`.
   *
   * GET /v1/withdrawals/{id}
   */
  getWithdrawal(id: string, options: RequestOptions = {}): Promise<t.WithdrawalAnswer> {
    return this.call({ method: 'GET', path: '/v1/withdrawals/{id}', key: 'needed', repeatable: true }, { path: { id }, options });
  }
}
