package causeway

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"strings"
)

// Generated from gateway/openapi.yaml by make docs. Do not edit.

// GetBalances calls GET /v1/balances: Show the merchant's balances.
//
// Needs the permission `wallet:read`. `balances` covers the wallets of all keys of the merchant in the key's
// mode, per crypto and network. `pending` counts deposits that are on the chain and not deep enough yet. A key
// that has `payment:read` too gets `fiat`: what is owed to the merchant, one entry per currency. Its `pending`
// is the money of confirmed payments without a receiver that are not settled yet; a reorganisation can take it
// back. A part of the service that is away is a 503 for the whole answer.
func (c *Client) GetBalances(ctx context.Context, opts ...Option) (*BalancesAnswer, error) {
	var out BalancesAnswer
	if err := c.call(ctx, operation{"GET", "/v1/balances", "needed", true}, request{}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListBanksQuery are the parameters of ListBanks.
// Those that are zero are left out.
type ListBanksQuery struct {
	// The rails of this mode decide which banks there are. Without it those of the key that is sent along, and
	// without a key those of live mode, where it is open.
	Mode string
	// Only banks of this currency.
	Currency string
	// Words of the name, in any order and case.
	Name string
}

func (q ListBanksQuery) values() url.Values {
	v := url.Values{}
	if q.Mode != "" {
		v.Set("mode", q.Mode)
	}
	if q.Currency != "" {
		v.Set("currency", q.Currency)
	}
	if q.Name != "" {
		v.Set("name", q.Name)
	}
	return v
}

// ListBanks calls GET /v1/banks: List banks.
//
// Needs no key. The banks are those of the rails' own lists, read daily. The search for `name` accepts words in
// any order and case, common short names, and one typing error in a word. A code finds its bank in any list of
// codes.
func (c *Client) ListBanks(ctx context.Context, query ListBanksQuery, opts ...Option) (*BankListAnswer, error) {
	var out BankListAnswer
	if err := c.call(ctx, operation{"GET", "/v1/banks", "optional", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// GetCheckout calls GET /v1/checkout/{reference}: Read what a payer needs.
//
// Needs no key: the reference is the secret. The answer shows nothing about the merchant, the payer or the
// receiver. For a request that is not fulfilled yet, `options` lists the price now in each accepted crypto and
// network.
func (c *Client) GetCheckout(ctx context.Context, reference string, opts ...Option) (*CheckoutAnswer, error) {
	var out CheckoutAnswer
	if err := c.call(ctx, operation{"GET", "/v1/checkout/{reference}", "none", true}, request{path: []string{reference}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ProposeRefundAddress calls POST /v1/checkout/{reference}/refund-address: Propose the address of a refund.
//
// Needs no key: every holder of the reference may propose an address, while something is owed to the payer
// (`takesRefundAddress` of the checkout), else it is 409 `refund_address_not_needed`. It takes no effect until
// the merchant or an operator confirms it; the merchant gets `payment.refund_address_proposed`. A later proposal
// replaces an earlier one. A payment takes 5 different addresses of its network, refused ones included: more are
// 409 `too_many_proposals`.
func (c *Client) ProposeRefundAddress(ctx context.Context, reference string, body RefundAddress, opts ...Option) (*ProposedRefundAddressAnswer, error) {
	var out ProposedRefundAddressAnswer
	if err := c.call(ctx, operation{"POST", "/v1/checkout/{reference}/refund-address", "none", true}, request{path: []string{reference}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// SimulatePayer calls POST /v1/checkout/{reference}/simulate: Play the payer of a test payment.
//
// Needs no key: every holder of a test-mode payment's reference may pay it with simulated money, as the page at
// `/pay/:reference` offers it. `full` sends the owed amount, `partial` half of it, `over` a fifth more; `late`
// closes the window first. Live payments get 404.
func (c *Client) SimulatePayer(ctx context.Context, reference string, body SimulatePayer, opts ...Option) (*SandboxDepositAnswer, error) {
	var out SandboxDepositAnswer
	if err := c.call(ctx, operation{"POST", "/v1/checkout/{reference}/simulate", "none", true}, request{path: []string{reference}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// NameTransaction calls POST /v1/checkout/{reference}/transaction: Name the transaction that paid.
//
// Needs no key: every holder of the reference may name a transaction. On an EVM network whose endpoints do not
// trace, the service does not see coin from a smart wallet, a contract or an exchange by itself
// (`takesTransactionHash` of the checkout, `seesContractTransfers` of GET /v1/networks). The service computes
// what the transaction paid to the payment's address; this coin becomes a transfer like any other and waits for
// the same confirmations. Naming it moves nothing by itself, and the answer is the same whether or not the
// transaction exists.
//
// The same transaction may be named any number of times. A payment takes 5 different ones: more are 409
// `too_many_transactions`. Where the service sees every transfer by itself, the answer is 400 `hint_not_needed`.
func (c *Client) NameTransaction(ctx context.Context, reference string, body NameTransaction, opts ...Option) (*NamedTransactionAnswer, error) {
	var out NamedTransactionAnswer
	if err := c.call(ctx, operation{"POST", "/v1/checkout/{reference}/transaction", "none", false}, request{path: []string{reference}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListEventsQuery are the parameters of ListEvents.
// Those that are zero are left out.
type ListEventsQuery struct {
	// The code of the shard that answers, as in its references and ids. An operator who names none gets the
	// shard of the object in the path, else the first, `AA`. A merchant needs it if its payments are in several
	// shards, and names one of them.
	Shard string
	// Most items of a page.
	Limit int
	// The `nextCursor` of the page before.
	Cursor string
	// Only events of this type.
	Type string
	// Only events from this time on.
	From string
}

func (q ListEventsQuery) values() url.Values {
	v := url.Values{}
	if q.Shard != "" {
		v.Set("shard", q.Shard)
	}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	if q.Type != "" {
		v.Set("type", q.Type)
	}
	if q.From != "" {
		v.Set("from", q.From)
	}
	return v
}

// ListEvents calls GET /v1/events: Catch up with events.
//
// Needs the permission `webhook:manage`. The bodies as they are sent to endpoints, in the order in which they
// were accepted. That order may differ from the order in which they happened: `data.*.sequence` counts the
// events of one object. Store `nextCursor` and continue with it, even when `hasMore` is false: then you miss no
// event. Kept for 30 days. An event that this service cannot decrypt is left out, so that the others reach you.
// Its webhook is sent once the service can decrypt it, and the operator names the time from which to read again.
func (c *Client) ListEvents(ctx context.Context, query ListEventsQuery, opts ...Option) (*EventListAnswer, error) {
	var out EventListAnswer
	if err := c.call(ctx, operation{"GET", "/v1/events", "needed", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// IterateEvents walks through all items of ListEvents, page after page.
// It ends with the first error.
func (c *Client) IterateEvents(ctx context.Context, query ListEventsQuery, opts ...Option) iter.Seq2[Event, error] {
	return pages[Event](ctx, c, operation{"GET", "/v1/events", "needed", true}, listing{"", "events", false}, request{query: query.values()}, opts)
}

// GetLink calls GET /v1/links/{id}: Read a payment link as a payer.
//
// `options` are the ways to pay a link of type `merchant` now; a `request` gets its price once it is made.
func (c *Client) GetLink(ctx context.Context, id string, opts ...Option) (*LinkAnswer, error) {
	var out LinkAnswer
	if err := c.call(ctx, operation{"GET", "/v1/links/{id}", "none", true}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// PayLink calls POST /v1/links/{id}/payments: Make a payment out of a link.
//
// For payers; paced by address. The link's id is in the payment's `metadata.paymentLink`. A link that has ended,
// has expired or has made as many payments as it may is 409 `payment_link_closed`. Payments that expired or were
// cancelled do not count. While 200 payments that it made within 30 minutes wait for their money, it is 429
// `payment_link_busy`.
func (c *Client) PayLink(ctx context.Context, id string, body LinkPayment, opts ...Option) (*PaymentCreatedAnswer, error) {
	var out PaymentCreatedAnswer
	if err := c.call(ctx, operation{"POST", "/v1/links/{id}/payments", "none", true}, request{path: []string{id}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// GetMe calls GET /v1/me: The key that asks.
//
// Any key may ask. `permissions` are spelled out; `perSecond` and `burst` are null when the tier has no limit.
func (c *Client) GetMe(ctx context.Context, opts ...Option) (*MeAnswer, error) {
	var out MeAnswer
	if err := c.call(ctx, operation{"GET", "/v1/me", "needed", true}, request{}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListNetworksQuery are the parameters of ListNetworks.
// Those that are zero are left out.
type ListNetworksQuery struct {
	// Minimums and limits are those of this mode. Without it those of the key that is sent along, and without a
	// key those of live mode, where it is open.
	Mode string
}

func (q ListNetworksQuery) values() url.Values {
	v := url.Values{}
	if q.Mode != "" {
		v.Set("mode", q.Mode)
	}
	return v
}

// ListNetworks calls GET /v1/networks: List networks and what is taken on them.
//
// Needs no key.
func (c *Client) ListNetworks(ctx context.Context, query ListNetworksQuery, opts ...Option) (*NetworkListAnswer, error) {
	var out NetworkListAnswer
	if err := c.call(ctx, operation{"GET", "/v1/networks", "optional", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListPaymentLinksQuery are the parameters of ListPaymentLinks.
// Those that are zero are left out.
type ListPaymentLinksQuery struct {
	// Most items of a page.
	Limit int
	// The `nextCursor` of the page before.
	Cursor string
}

func (q ListPaymentLinksQuery) values() url.Values {
	v := url.Values{}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	return v
}

// ListPaymentLinks calls GET /v1/payment-links: List payment links.
//
// Needs the permission `payment:read`. Newest first.
func (c *Client) ListPaymentLinks(ctx context.Context, query ListPaymentLinksQuery, opts ...Option) (*PaymentLinkListAnswer, error) {
	var out PaymentLinkListAnswer
	if err := c.call(ctx, operation{"GET", "/v1/payment-links", "needed", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// IteratePaymentLinks walks through all items of ListPaymentLinks, page after page.
// It ends with the first error.
func (c *Client) IteratePaymentLinks(ctx context.Context, query ListPaymentLinksQuery, opts ...Option) iter.Seq2[PaymentLink, error] {
	return pages[PaymentLink](ctx, c, operation{"GET", "/v1/payment-links", "needed", true}, listing{"", "paymentLinks", false}, request{query: query.values()}, opts)
}

// CreatePaymentLink calls POST /v1/payment-links: Make a reusable payment link.
//
// Needs the permission `payment:create`. Anybody who has the link makes payments out of it: of type `request`,
// which are paid out to a confirmed settlement account, or of type `merchant`, whose money is the merchant's.
// Without `fiatAmount` the payer names the amount. A merchant has 1 000 links at most that have not ended.
func (c *Client) CreatePaymentLink(ctx context.Context, body PaymentLinkCreate, opts ...Option) (*PaymentLinkAnswer, error) {
	var out PaymentLinkAnswer
	if err := c.call(ctx, operation{"POST", "/v1/payment-links", "needed", true}, request{body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// GetPaymentLink calls GET /v1/payment-links/{id}: Read a payment link.
//
// Needs the permission `payment:read`.
func (c *Client) GetPaymentLink(ctx context.Context, id string, opts ...Option) (*PaymentLinkAnswer, error) {
	var out PaymentLinkAnswer
	if err := c.call(ctx, operation{"GET", "/v1/payment-links/{id}", "needed", true}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ChangePaymentLink calls PATCH /v1/payment-links/{id}: Change or end a payment link.
//
// Needs the permission `payment:create`. Fields that are not sent stay as they are. Payments that the link has
// made go on. `usageLimit: 0` removes the limit.
func (c *Client) ChangePaymentLink(ctx context.Context, id string, body PaymentLinkChange, opts ...Option) (*PaymentLinkAnswer, error) {
	var out PaymentLinkAnswer
	if err := c.call(ctx, operation{"PATCH", "/v1/payment-links/{id}", "needed", false}, request{path: []string{id}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListPaymentsQuery are the parameters of ListPayments.
// Those that are zero are left out.
type ListPaymentsQuery struct {
	// Only payments that have one of these statuses, separated by commas; `all` is no filter.
	Status []string
	// Only payments of this type.
	Type string
	// Created at or after this time or day.
	From string
	// Created before this time or day.
	To string
	// Only payments with this `merchantReference`. Several have one where earlier ones are expired, cancelled
	// or refunded.
	MerchantReference string
	// Only payments with this `payer.chatId`. A payer that was erased is not found.
	PayerChatID string
	// Only payments to which this transaction made a transfer, also one that left its chain since.
	TxHash string
	// Only the payment of this deposit address, in any spelling that its network knows.
	Address string
	// Most items of a page.
	Limit int
	// The `nextCursor` of the page before.
	Cursor string
}

func (q ListPaymentsQuery) values() url.Values {
	v := url.Values{}
	if len(q.Status) > 0 {
		v.Set("status", strings.Join(q.Status, ","))
	}
	if q.Type != "" {
		v.Set("type", q.Type)
	}
	if q.From != "" {
		v.Set("from", q.From)
	}
	if q.To != "" {
		v.Set("to", q.To)
	}
	if q.MerchantReference != "" {
		v.Set("merchantReference", q.MerchantReference)
	}
	if q.PayerChatID != "" {
		v.Set("payerChatId", q.PayerChatID)
	}
	if q.TxHash != "" {
		v.Set("txHash", q.TxHash)
	}
	if q.Address != "" {
		v.Set("address", q.Address)
	}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	return v
}

// ListPayments calls GET /v1/payments: List payments.
//
// Needs the permission `payment:read`. Newest first. Each item has the fields of GET /v1/payments/{reference}.
func (c *Client) ListPayments(ctx context.Context, query ListPaymentsQuery, opts ...Option) (*PaymentListAnswer, error) {
	var out PaymentListAnswer
	if err := c.call(ctx, operation{"GET", "/v1/payments", "needed", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// IteratePayments walks through all items of ListPayments, page after page.
// It ends with the first error.
func (c *Client) IteratePayments(ctx context.Context, query ListPaymentsQuery, opts ...Option) iter.Seq2[Payment, error] {
	return pages[Payment](ctx, c, operation{"GET", "/v1/payments", "needed", true}, listing{"", "payments", false}, request{query: query.values()}, opts)
}

// CreatePayment calls POST /v1/payments: Create a payment.
//
// Needs the permission `payment:create`.
func (c *Client) CreatePayment(ctx context.Context, body CreatePayment, opts ...Option) (*PaymentCreatedAnswer, error) {
	var out PaymentCreatedAnswer
	if err := c.call(ctx, operation{"POST", "/v1/payments", "needed", true}, request{body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ClaimGift calls POST /v1/payments/gifts/{reference}/claim/confirm: Claim a gift to a bank account.
//
// Needs no key: the reference is the secret. This service looks up the account's name and ignores names that a
// client sends. The first of several claims wins. A gift that is not paid yet is settling with the exception
// `unfunded`, and the payout leaves when its deposit is confirmed.
func (c *Client) ClaimGift(ctx context.Context, reference string, body ClaimGift, opts ...Option) (*GiftClaimedAnswer, error) {
	var out GiftClaimedAnswer
	if err := c.call(ctx, operation{"POST", "/v1/payments/gifts/{reference}/claim/confirm", "none", true}, request{path: []string{reference}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// FulfillRequest calls POST /v1/payments/requests/{reference}/fulfill: Choose the crypto of a request and get
// its price and address.
//
// Needs no key: the reference is the secret. The rate is locked now and the fee is charged from crypto. The
// first of several fulfilments wins.
func (c *Client) FulfillRequest(ctx context.Context, reference string, body FulfillRequest, opts ...Option) (*PaymentFulfilledAnswer, error) {
	var out PaymentFulfilledAnswer
	if err := c.call(ctx, operation{"POST", "/v1/payments/requests/{reference}/fulfill", "none", true}, request{path: []string{reference}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// VerifyReceiver calls POST /v1/payments/verify-receiver: Look up the holder of an account.
//
// Needs the permission `payment:create`; or, without any key, the `reference` of a gift that can be claimed.
// Every other reference is a 401. An invalid key, or one without the permission, counts as none. Without a key
// ten accounts may be looked up for one gift, and one more each minute, besides the limit for one address.
//
// With a key `reference` is optional and names a payment of its merchant. Without one the key's mode counts, and
// without `fiatCurrency` the bank's code decides the currency, else NGN; a payment's own mode and currency come
// before both. `nameVerified` is false and the name empty where the country's banks report no names.
func (c *Client) VerifyReceiver(ctx context.Context, body VerifyReceiver, opts ...Option) (*ReceiverVerifiedAnswer, error) {
	var out ReceiverVerifiedAnswer
	if err := c.call(ctx, operation{"POST", "/v1/payments/verify-receiver", "optional", true}, request{body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// GetPayment calls GET /v1/payments/{reference}: Read a payment.
//
// Needs the permission `payment:read`. Another merchant's payment, or one of the other mode, is a 404.
func (c *Client) GetPayment(ctx context.Context, reference string, opts ...Option) (*PaymentAnswer, error) {
	var out PaymentAnswer
	if err := c.call(ctx, operation{"GET", "/v1/payments/{reference}", "needed", true}, request{path: []string{reference}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// CancelPayment calls POST /v1/payments/{reference}/cancel: Withdraw a payment.
//
// Needs the permission `payment:create`. Only while nothing has been seen on the chain; later it is a 409. A
// POST without a body.
func (c *Client) CancelPayment(ctx context.Context, reference string, opts ...Option) (*PaymentAnswer, error) {
	var out PaymentAnswer
	if err := c.call(ctx, operation{"POST", "/v1/payments/{reference}/cancel", "needed", true}, request{path: []string{reference}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// SetRefundAddress calls POST /v1/payments/{reference}/refund-address: Say where a refund goes.
//
// Needs the permission `payment:create`. An address of the payment's network, checked for its shape and
// checksum. An address of this service is refused, in any spelling: a deposit address, that of a standalone
// wallet (`/v1/wallets`), a treasury. The money would not reach the payer. An operator can mark a payment
// refunded only if it has an address. If the address became known later as one of this service, the mark is
// refused too.
//
// Each change sends `payment.refund_address_changed`. After it no refund of a live payment leaves until
// `heldUntil`, 24 hours later by default, so that somebody can stop a change that the merchant did not order.
func (c *Client) SetRefundAddress(ctx context.Context, reference string, body RefundAddress, opts ...Option) (*RefundAddressAnswer, error) {
	var out RefundAddressAnswer
	if err := c.call(ctx, operation{"POST", "/v1/payments/{reference}/refund-address", "needed", true}, request{path: []string{reference}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ConfirmRefundAddress calls POST /v1/payments/{reference}/refund-address/confirm: Confirm the refund address
// that the payer proposed.
//
// Needs the permission `refund:create`. Makes the payer's `refundAddressProposed` the address of refunds. The
// body repeats the address: if the payer has proposed another one since, the answer is 409
// `refund_address_not_proposed`. Anybody who has the link of the pay page can propose an address, so ask the
// payer over a way that you know before you confirm it. The address is checked and screened again, and the
// change counts like one by POST /v1/payments/{reference}/refund-address.
func (c *Client) ConfirmRefundAddress(ctx context.Context, reference string, body RefundAddress, opts ...Option) (*RefundAddressAnswer, error) {
	var out RefundAddressAnswer
	if err := c.call(ctx, operation{"POST", "/v1/payments/{reference}/refund-address/confirm", "needed", true}, request{path: []string{reference}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListRefunds calls GET /v1/payments/{reference}/refunds: List the refunds of a payment.
//
// Needs the permission `payment:read`. Oldest first, failed ones too.
func (c *Client) ListRefunds(ctx context.Context, reference string, opts ...Option) (*RefundsAnswer, error) {
	var out RefundsAnswer
	if err := c.call(ctx, operation{"GET", "/v1/payments/{reference}/refunds", "needed", true}, request{path: []string{reference}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// CreateRefund calls POST /v1/payments/{reference}/refunds: Refund the payer on the chain.
//
// Needs the permission `refund:create`. Sends crypto that is owed to the payer to the payment's refund address,
// in the asset and on the network on which it came: money that is short, over, late, unclaimed or of a wrong
// asset. Without `amount` it takes everything that is owed in one asset. Money that a running payment may still
// convert or pay out is not owed (409 `nothing_owed`). The money is held at once, so that refunds together never
// exceed what is owed (409 `amount_above_owed`). A payment that waits for a decision owes all of its money: such
// a request reserves the money and blocks `accept` and `retry_payout`, and its approval reverses the conversion.
//
// Up to a configured worth the request approves itself. Above it, and where the senders or a payout give cause,
// the refund stays `requested` until operators approve it. Test mode has no bound, and its simulated chain
// confirms a refund within 30 seconds. The other refusals are 409 `no_refund_address`, `refund_address_held`,
// `refund_address_internal`, `refund_address_refused`, `refund_address_unfit` and `refunds_closed`, and 503
// `refunds_paused` and `network_unavailable`.
func (c *Client) CreateRefund(ctx context.Context, reference string, body CreateRefund, opts ...Option) (*RefundAnswer, error) {
	var out RefundAnswer
	if err := c.call(ctx, operation{"POST", "/v1/payments/{reference}/refunds", "needed", true}, request{path: []string{reference}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// SettlePayment calls POST /v1/payments/{reference}/settle: Say that the receiver has been paid.
//
// Needs the permission `payment:create`. For a confirmed `bank_confirmation`, and a confirmed `merchant` without
// a receiver: the caller pays out itself and presents the one-time token of `payment.confirmed`.
func (c *Client) SettlePayment(ctx context.Context, reference string, body Settle, opts ...Option) (*PaymentAnswer, error) {
	var out PaymentAnswer
	if err := c.call(ctx, operation{"POST", "/v1/payments/{reference}/settle", "needed", true}, request{path: []string{reference}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// IssueSettlementToken calls POST /v1/payments/{reference}/settlement-token: Get a new settlement token.
//
// Needs the permission `payment:create`. The old token is void at once. The token works once, for 24 hours. A
// replay by Idempotency-Key shows it for 15 minutes. A POST without a body.
func (c *Client) IssueSettlementToken(ctx context.Context, reference string, opts ...Option) (*SettlementTokenAnswer, error) {
	var out SettlementTokenAnswer
	if err := c.call(ctx, operation{"POST", "/v1/payments/{reference}/settlement-token", "needed", true}, request{path: []string{reference}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// GetPaymentTimeline calls GET /v1/payments/{reference}/timeline: Read what has happened to a payment.
//
// Needs the permission `payment:read`. Everything that happened, oldest first: changes of the status, the quote,
// each transfer, each attempt of the payout, each refund. The member that `kind` names holds what happened, in
// its present state. `id` names the payment in GET /v1/webhooks/deliveries?objectId=….
func (c *Client) GetPaymentTimeline(ctx context.Context, reference string, opts ...Option) (*TimelineAnswer, error) {
	var out TimelineAnswer
	if err := c.call(ctx, operation{"GET", "/v1/payments/{reference}/timeline", "needed", true}, request{path: []string{reference}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListRatesQuery are the parameters of ListRates.
// Those that are zero are left out.
type ListRatesQuery struct {
	// The prices of this mode. Without it those of the key that is sent along, and without a key those of live
	// mode, where it is open.
	Mode string
	// Only rates of this currency.
	Fiat string
	// Only rates of this crypto.
	Crypto string
}

func (q ListRatesQuery) values() url.Values {
	v := url.Values{}
	if q.Mode != "" {
		v.Set("mode", q.Mode)
	}
	if q.Fiat != "" {
		v.Set("fiat", q.Fiat)
	}
	if q.Crypto != "" {
		v.Set("crypto", q.Crypto)
	}
	return v
}

// ListRates calls GET /v1/rates: Read the rates.
//
// Needs no key. The rates that would price a payment now, with their sources and ages.
func (c *Client) ListRates(ctx context.Context, query ListRatesQuery, opts ...Option) (*RateListAnswer, error) {
	var out RateListAnswer
	if err := c.call(ctx, operation{"GET", "/v1/rates", "optional", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListReportsQuery are the parameters of ListReports.
// Those that are zero are left out.
type ListReportsQuery struct {
	// Only reports of these statuses, separated by commas; `all` is no filter.
	Status []string
	// Only reports of this type.
	ComplaintType string
	// Most items of a page.
	Limit int
	// The `nextCursor` of the page before.
	Cursor string
}

func (q ListReportsQuery) values() url.Values {
	v := url.Values{}
	if len(q.Status) > 0 {
		v.Set("status", strings.Join(q.Status, ","))
	}
	if q.ComplaintType != "" {
		v.Set("complaintType", q.ComplaintType)
	}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	return v
}

// ListReports calls GET /v1/reports: List the merchant's own reports.
//
// Needs the permission `report:manage`; reports of the calling key's own merchant and mode only, whichever of
// its keys filed them. Newest first. It shows `confirmer` and `adminNotes`, which the public never sees.
func (c *Client) ListReports(ctx context.Context, query ListReportsQuery, opts ...Option) (*ReportOwnListAnswer, error) {
	var out ReportOwnListAnswer
	if err := c.call(ctx, operation{"GET", "/v1/reports", "needed", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// IterateReports walks through all items of ListReports, page after page.
// It ends with the first error.
func (c *Client) IterateReports(ctx context.Context, query ListReportsQuery, opts ...Option) iter.Seq2[ReportManaged, error] {
	return pages[ReportManaged](ctx, c, operation{"GET", "/v1/reports", "needed", true}, listing{"data", "reports", false}, request{query: query.values()}, opts)
}

// CreateReport calls POST /v1/reports: File a report.
//
// Needs the permission `report:create`. A phone number is kept as digits: spaces, -, ., brackets and a leading +
// are dropped. Addresses and the session reference are trimmed and not checked for format or existence. One key
// may file 1 000 reports on one wallet address an hour (`FLOOD_PER_HOUR`); then 429.
//
// Reports are public. Only keys of the merchant who filed the report see a gift's reference: for others
// `sessionReference` is null, and other texts show the code covered (`CW-****`). After an upgrade from a release
// whose gifts have no `G`, this holds for every reference of a report that may name one of them.
func (c *Client) CreateReport(ctx context.Context, body CreateReport, opts ...Option) (*ReportAnswer, error) {
	var out ReportAnswer
	if err := c.call(ctx, operation{"POST", "/v1/reports", "needed", true}, request{body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// LookupReportsQuery are the parameters of LookupReports.
// Those that are zero are left out.
type LookupReportsQuery struct {
	// The reporter's phone number; required unless `walletAddress` is given.
	PhoneNumber string
	// The reporter's wallet address; required unless `phoneNumber` is given.
	WalletAddress string
	// Only reports of this status.
	Status string
	// Only reports of this type.
	ComplaintType string
	// Most reports of a page.
	Limit int
	// How many reports to pass over; not together with `cursor`.
	Offset *int
	// The `nextCursor` of the page before; empty for the first page.
	Cursor string
}

func (q LookupReportsQuery) values() url.Values {
	v := url.Values{}
	if q.PhoneNumber != "" {
		v.Set("phoneNumber", q.PhoneNumber)
	}
	if q.WalletAddress != "" {
		v.Set("walletAddress", q.WalletAddress)
	}
	if q.Status != "" {
		v.Set("status", q.Status)
	}
	if q.ComplaintType != "" {
		v.Set("complaintType", q.ComplaintType)
	}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Offset != nil {
		v.Set("offset", strconv.Itoa(*q.Offset))
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	return v
}

// LookupReports calls GET /v1/reports/lookup: Find reports by the reporter's phone or wallet, newest first.
//
// Public. A key is optional: its own merchant's reports show more; a bad key is ignored. Give `phoneNumber`,
// `walletAddress` or both; with both a report is found if either is its own. Values are cleaned as at filing and
// never refused: a value that is no phone number finds nothing. `0x…` addresses are compared without case,
// others exactly. Pages by `offset`, or by `cursor`. An empty `cursor` begins the list and adds `nextCursor` and
// `hasMore`. One phone or wallet may be looked up 50 times at once and 5 times a second.
func (c *Client) LookupReports(ctx context.Context, query LookupReportsQuery, opts ...Option) (*ReportListAnswer, error) {
	var out ReportListAnswer
	if err := c.call(ctx, operation{"GET", "/v1/reports/lookup", "optional", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// IterateLookupReports walks through all items of LookupReports, page after page.
// It ends with the first error.
func (c *Client) IterateLookupReports(ctx context.Context, query LookupReportsQuery, opts ...Option) iter.Seq2[Report, error] {
	return pages[Report](ctx, c, operation{"GET", "/v1/reports/lookup", "optional", true}, listing{"data", "reports", true}, request{query: query.values()}, opts)
}

// GetReport calls GET /v1/reports/{reportId}: Read a report.
//
// Public. A key is optional: its own merchant's report shows more; a bad key is ignored. One address may ask for
// 30 unknown ids a minute; then 429.
func (c *Client) GetReport(ctx context.Context, reportID string, opts ...Option) (*ReportAnswer, error) {
	var out ReportAnswer
	if err := c.call(ctx, operation{"GET", "/v1/reports/{reportId}", "optional", true}, request{path: []string{reportID}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// UpdateReport calls PATCH /v1/reports/{reportId}: Move a report on.
//
// Needs the permission `report:manage`; reports of the calling key's own merchant and mode only. A pending
// report may become processing or dismissed, a processing one resolved or dismissed; any other move is a 409.
// The answer shows `confirmer` and `adminNotes`, which the public never sees.
func (c *Client) UpdateReport(ctx context.Context, reportID string, body UpdateReport, opts ...Option) (*ReportManagedAnswer, error) {
	var out ReportManagedAnswer
	if err := c.call(ctx, operation{"PATCH", "/v1/reports/{reportId}", "needed", false}, request{path: []string{reportID}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// SandboxTakeDownQuery are the parameters of SandboxTakeDown.
// Those that are zero are left out.
type SandboxTakeDownQuery struct {
	// The code of the shard that answers, as in its references and ids. An operator who names none gets the
	// shard of the object in the path, else the first, `AA`. A merchant needs it if its payments are in several
	// shards, and names one of them.
	Shard string
}

func (q SandboxTakeDownQuery) values() url.Values {
	v := url.Values{}
	if q.Shard != "" {
		v.Set("shard", q.Shard)
	}
	return v
}

// SandboxTakeDown calls POST /v1/sandbox/outages: Take prices or a network of your test mode down.
//
// Needs the permission `payment:create`. For the merchant's own test payments, and for nobody else's, there are
// no prices (503 `rate_unavailable`), or a network is not followed (503 `network_unavailable`; payouts and
// claims that rest on it wait), until `until`. Another outage of the same part replaces it, and one of 0 seconds
// ends it. It takes a second at most until every process knows.
func (c *Client) SandboxTakeDown(ctx context.Context, body SandboxOutage, query SandboxTakeDownQuery, opts ...Option) (*SandboxOutageAnswer, error) {
	var out SandboxOutageAnswer
	if err := c.call(ctx, operation{"POST", "/v1/sandbox/outages", "needed", true}, request{body: body, query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// SandboxDepositPayment calls POST /v1/sandbox/payments/{reference}/deposits: Send a transfer on the simulated
// chain.
//
// Needs the permission `payment:create`. The transfer is seen at once and mined in the next simulated block.
// Accepts payments that are pending, confirming, settling unfunded, expired or cancelled.
func (c *Client) SandboxDepositPayment(ctx context.Context, reference string, body SandboxDeposit, opts ...Option) (*SandboxDepositAnswer, error) {
	var out SandboxDepositAnswer
	if err := c.call(ctx, operation{"POST", "/v1/sandbox/payments/{reference}/deposits", "needed", true}, request{path: []string{reference}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// SandboxExpirePayment calls POST /v1/sandbox/payments/{reference}/expire: Close the payment window as the timer
// would.
//
// Needs the permission `payment:create`. A POST without a body.
func (c *Client) SandboxExpirePayment(ctx context.Context, reference string, opts ...Option) (*PaymentAnswer, error) {
	var out PaymentAnswer
	if err := c.call(ctx, operation{"POST", "/v1/sandbox/payments/{reference}/expire", "needed", true}, request{path: []string{reference}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// SandboxSimulateDeposit calls POST /v1/sandbox/payments/{reference}/simulate-deposit: Send a transfer on the
// simulated chain, in the form of another engine.
//
// Needs the permission `payment:create`. As `deposits`; `steps` is the number of confirmations of the transfer.
func (c *Client) SandboxSimulateDeposit(ctx context.Context, reference string, body SandboxSimulateDeposit, opts ...Option) (*SandboxDepositAnswer, error) {
	var out SandboxDepositAnswer
	if err := c.call(ctx, operation{"POST", "/v1/sandbox/payments/{reference}/simulate-deposit", "needed", true}, request{path: []string{reference}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// SandboxPayoutOutcome calls POST /v1/sandbox/payouts/{id}/outcome: Say what becomes of a payout.
//
// Needs the permission `payment:create`. Before or after it is sent. A payout that failed or came back has its
// outcome already; one that succeeded can still be returned.
func (c *Client) SandboxPayoutOutcome(ctx context.Context, id string, body SandboxOutcome, opts ...Option) (*SandboxOutcomeAnswer, error) {
	var out SandboxOutcomeAnswer
	if err := c.call(ctx, operation{"POST", "/v1/sandbox/payouts/{id}/outcome", "needed", true}, request{path: []string{id}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// SandboxDepositWallet calls POST /v1/sandbox/wallets/{id}/deposits: Send a transfer to a wallet on the
// simulated chain.
//
// Needs the permission `wallet:create`. Accepts a wallet of any status. Without `confirmations` the chain grows
// until the transfer is deep enough.
func (c *Client) SandboxDepositWallet(ctx context.Context, id string, body SandboxWalletDeposit, opts ...Option) (*SandboxWalletDepositAnswer, error) {
	var out SandboxWalletDepositAnswer
	if err := c.call(ctx, operation{"POST", "/v1/sandbox/wallets/{id}/deposits", "needed", true}, request{path: []string{id}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListSettlementAccounts calls GET /v1/settlement-accounts: List the settlement accounts.
//
// Needs the permission `payment:read`. The oldest first; a merchant has 20 at most in each mode.
func (c *Client) ListSettlementAccounts(ctx context.Context, opts ...Option) (*SettlementAccountsAnswer, error) {
	var out SettlementAccountsAnswer
	if err := c.call(ctx, operation{"GET", "/v1/settlement-accounts", "needed", true}, request{}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// CreateSettlementAccount calls POST /v1/settlement-accounts: Propose a bank account for withdrawals.
//
// Needs the permission `settlement:manage`. The bank gives the name; compare it before the confirmation, without
// which no money goes to the account.
func (c *Client) CreateSettlementAccount(ctx context.Context, body CreateSettlementAccount, opts ...Option) (*SettlementAccountAnswer, error) {
	var out SettlementAccountAnswer
	if err := c.call(ctx, operation{"POST", "/v1/settlement-accounts", "needed", true}, request{body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// DeleteSettlementAccount calls DELETE /v1/settlement-accounts/{id}: Take a settlement account away.
//
// Needs the permission `settlement:manage`. No withdrawal goes to it any more; one that has left is not called
// back.
func (c *Client) DeleteSettlementAccount(ctx context.Context, id string, opts ...Option) (*SettlementAccountDeletedAnswer, error) {
	var out SettlementAccountDeletedAnswer
	if err := c.call(ctx, operation{"DELETE", "/v1/settlement-accounts/{id}", "needed", false}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// GetSettlementAccount calls GET /v1/settlement-accounts/{id}: Show a settlement account.
//
// Needs the permission `payment:read`.
func (c *Client) GetSettlementAccount(ctx context.Context, id string, opts ...Option) (*SettlementAccountAnswer, error) {
	var out SettlementAccountAnswer
	if err := c.call(ctx, operation{"GET", "/v1/settlement-accounts/{id}", "needed", true}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ConfirmSettlementAccount calls POST /v1/settlement-accounts/{id}/confirm: Confirm a settlement account.
//
// Needs the permission `withdrawal:create`. The body repeats the account number. In live mode no money leaves to
// the account for 24 hours (`heldUntil`).
func (c *Client) ConfirmSettlementAccount(ctx context.Context, id string, body ConfirmSettlementAccount, opts ...Option) (*SettlementAccountAnswer, error) {
	var out SettlementAccountAnswer
	if err := c.call(ctx, operation{"POST", "/v1/settlement-accounts/{id}/confirm", "needed", true}, request{path: []string{id}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// GetSettlementSettings calls GET /v1/settlement-settings: Show how the merchant's own money is settled.
//
// Needs the permission `payment:read`.
func (c *Client) GetSettlementSettings(ctx context.Context, opts ...Option) (*SettlementSettingsAnswer, error) {
	var out SettlementSettingsAnswer
	if err := c.call(ctx, operation{"GET", "/v1/settlement-settings", "needed", true}, request{}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ChangeSettlementSettings calls PATCH /v1/settlement-settings: Choose how the merchant's own money is settled.
//
// Needs the permission `settlement:manage`. A field that is not sent stays as it is. With `merchantPayments` set
// to `balance`, payments of type `merchant` without a receiver that are created from then on have no settlement
// token: their money is credited to the merchant's balance once its transfers are final. `self`, the default,
// leaves them to the merchant to settle. A payment keeps the choice with which it was created. `daily` replaces
// all daily settlements: once each UTC day everything that is available, if it is at least `minimum`, is
// withdrawn to the account. An empty list ends them.
func (c *Client) ChangeSettlementSettings(ctx context.Context, body ChangeSettlementSettings, opts ...Option) (*SettlementSettingsAnswer, error) {
	var out SettlementSettingsAnswer
	if err := c.call(ctx, operation{"PATCH", "/v1/settlement-settings", "needed", false}, request{body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListSettlementsQuery are the parameters of ListSettlements.
// Those that are zero are left out.
type ListSettlementsQuery struct {
	// The code of the shard that answers, as in its references and ids. An operator who names none gets the
	// shard of the object in the path, else the first, `AA`. A merchant needs it if its payments are in several
	// shards, and names one of them.
	Shard string
	// Settled at or after this time or day.
	From string
	// Settled before this time or day.
	To string
}

func (q ListSettlementsQuery) values() url.Values {
	v := url.Values{}
	if q.Shard != "" {
		v.Set("shard", q.Shard)
	}
	if q.From != "" {
		v.Set("from", q.From)
	}
	if q.To != "" {
		v.Set("to", q.To)
	}
	return v
}

// ListSettlements calls GET /v1/settlements: Report what was settled.
//
// Needs the permission `payment:read`. One row for each payment that was settled between `from` and `to` (by
// default the last 30 days), in the order of settlement; columns of one currency may be added up. The CSV has no
// totals. The report may have any length and is streamed; a report that was cut off lacks the last chunk, and
// its JSON lacks the totals. A key reads four reports at a time (429 beyond); a reader who takes less than 16
// KiB a second over ten seconds is cut off.
func (c *Client) ListSettlements(ctx context.Context, query ListSettlementsQuery, opts ...Option) (*SettlementsAnswer, error) {
	var out SettlementsAnswer
	if err := c.call(ctx, operation{"GET", "/v1/settlements", "needed", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// GetStatisticsQuery are the parameters of GetStatistics.
// Those that are zero are left out.
type GetStatisticsQuery struct {
	// The code of the shard that answers, as in its references and ids. An operator who names none gets the
	// shard of the object in the path, else the first, `AA`. A merchant needs it if its payments are in several
	// shards, and names one of them.
	Shard string
	// The first day.
	From string
	// The last day.
	To string
	// Only payments in this currency.
	FiatCurrency string
	// Only payments on this network.
	Network string
	// Only payments of this type.
	Type string
	// The fields that make a group, separated by commas. Without it there are totals only.
	By []string
}

func (q GetStatisticsQuery) values() url.Values {
	v := url.Values{}
	if q.Shard != "" {
		v.Set("shard", q.Shard)
	}
	if q.From != "" {
		v.Set("from", q.From)
	}
	if q.To != "" {
		v.Set("to", q.To)
	}
	if q.FiatCurrency != "" {
		v.Set("fiatCurrency", q.FiatCurrency)
	}
	if q.Network != "" {
		v.Set("network", q.Network)
	}
	if q.Type != "" {
		v.Set("type", q.Type)
	}
	if len(q.By) > 0 {
		v.Set("by", strings.Join(q.By, ","))
	}
	return v
}

// GetStatistics calls GET /v1/statistics: Read the figures of your payments.
//
// Needs the permission `payment:read`. Sums over the payments that were created on the days from `from` to `to`,
// both included, in UTC; by default the last 30 days, and 366 at most. The sums are exact at the time of the
// answer. `ended` counts settled, expired, cancelled and refunded payments, and `successRate` is `settled`
// divided by `ended`. `fee` and `payoutAmount` are those of settled payments, as in GET /v1/settlements.
// `secondsToSettle` is the mean time from the confirmation of the money (of a gift: from its claim, if that is
// later) to the settlement, and `settledWithin` counts the payments that took no longer. More than 10 000 groups
// are 400 `too_many_groups`.
func (c *Client) GetStatistics(ctx context.Context, query GetStatisticsQuery, opts ...Option) (*StatisticsAnswer, error) {
	var out StatisticsAnswer
	if err := c.call(ctx, operation{"GET", "/v1/statistics", "needed", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListWalletsQuery are the parameters of ListWallets.
// Those that are zero are left out.
type ListWalletsQuery struct {
	// Only wallets of this status.
	Status string
	// Most items of a page.
	Limit int
	// How many wallets to pass over; not together with `cursor`.
	Offset *int
	// The `nextCursor` of the page before; empty for the first page.
	Cursor string
}

func (q ListWalletsQuery) values() url.Values {
	v := url.Values{}
	if q.Status != "" {
		v.Set("status", q.Status)
	}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Offset != nil {
		v.Set("offset", strconv.Itoa(*q.Offset))
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	return v
}

// ListWallets calls GET /v1/wallets: List the calling key's wallets, newest first.
//
// Needs the permission `wallet:read`. Pages by `offset`, or by `cursor`. An empty `cursor` begins the list and
// adds `nextCursor` and `hasMore` to `pagination`.
func (c *Client) ListWallets(ctx context.Context, query ListWalletsQuery, opts ...Option) (*WalletListAnswer, error) {
	var out WalletListAnswer
	if err := c.call(ctx, operation{"GET", "/v1/wallets", "needed", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// IterateWallets walks through all items of ListWallets, page after page.
// It ends with the first error.
func (c *Client) IterateWallets(ctx context.Context, query ListWalletsQuery, opts ...Option) iter.Seq2[WalletItem, error] {
	return pages[WalletItem](ctx, c, operation{"GET", "/v1/wallets", "needed", true}, listing{"", "wallets", true}, request{query: query.values()}, opts)
}

// CreateWallet calls POST /v1/wallets: Make a deposit wallet.
//
// Needs the permission `wallet:create`. The scan of the address begins before the answer. Wallets belong to the
// key that made them.
func (c *Client) CreateWallet(ctx context.Context, body CreateWallet, opts ...Option) (*WalletCreatedAnswer, error) {
	var out WalletCreatedAnswer
	if err := c.call(ctx, operation{"POST", "/v1/wallets", "needed", true}, request{body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListWalletWithdrawalAddressesQuery are the parameters of ListWalletWithdrawalAddresses.
// Those that are zero are left out.
type ListWalletWithdrawalAddressesQuery struct {
	// Most items of a page.
	Limit int
	// The `nextCursor` of the page before.
	Cursor string
}

func (q ListWalletWithdrawalAddressesQuery) values() url.Values {
	v := url.Values{}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	return v
}

// ListWalletWithdrawalAddresses calls GET /v1/wallets/address-book: List the address book, newest first.
//
// Needs the permission `wallet:read`. The book belongs to the merchant in the mode of the key.
func (c *Client) ListWalletWithdrawalAddresses(ctx context.Context, query ListWalletWithdrawalAddressesQuery, opts ...Option) (*AddressBookAnswer, error) {
	var out AddressBookAnswer
	if err := c.call(ctx, operation{"GET", "/v1/wallets/address-book", "needed", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// IterateWalletWithdrawalAddresses walks through all items of ListWalletWithdrawalAddresses, page after page.
// It ends with the first error.
func (c *Client) IterateWalletWithdrawalAddresses(ctx context.Context, query ListWalletWithdrawalAddressesQuery, opts ...Option) iter.Seq2[AddressBookEntry, error] {
	return pages[AddressBookEntry](ctx, c, operation{"GET", "/v1/wallets/address-book", "needed", true}, listing{"", "addresses", false}, request{query: query.values()}, opts)
}

// AddWalletWithdrawalAddress calls POST /v1/wallets/address-book: Add an address to the address book.
//
// Needs the permission `wallet:withdraw`. The address has the form of the network, and on solana belongs to a
// wallet. One of this service is a 409 `withdrawal_address_internal`, a listed one a 409
// `withdrawal_address_refused`, a second entry of the same a 409 `address_known`. The merchant gets
// `wallet.address_added`, and no withdrawal of live mode goes there before `usableAt`, 24 hours later. The book
// of a mode has at most 200 addresses (409 `address_book_full`).
func (c *Client) AddWalletWithdrawalAddress(ctx context.Context, body NewAddressBookEntry, opts ...Option) (*AddressBookEntryAnswer, error) {
	var out AddressBookEntryAnswer
	if err := c.call(ctx, operation{"POST", "/v1/wallets/address-book", "needed", true}, request{body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// RemoveWalletWithdrawalAddress calls DELETE /v1/wallets/address-book/{id}: Take an address out of the address
// book.
//
// Needs the permission `wallet:withdraw`. Withdrawals to it that wait for operators cannot be approved any more;
// approved ones go on.
func (c *Client) RemoveWalletWithdrawalAddress(ctx context.Context, id string, opts ...Option) (*AddressRemovedAnswer, error) {
	var out AddressRemovedAnswer
	if err := c.call(ctx, operation{"DELETE", "/v1/wallets/address-book/{id}", "needed", false}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListWalletWithdrawalsQuery are the parameters of ListWalletWithdrawals.
// Those that are zero are left out.
type ListWalletWithdrawalsQuery struct {
	// Most items of a page.
	Limit int
	// The `nextCursor` of the page before.
	Cursor string
}

func (q ListWalletWithdrawalsQuery) values() url.Values {
	v := url.Values{}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	return v
}

// ListWalletWithdrawals calls GET /v1/wallets/withdrawals: List withdrawals, newest first.
//
// Needs the permission `wallet:read`.
func (c *Client) ListWalletWithdrawals(ctx context.Context, query ListWalletWithdrawalsQuery, opts ...Option) (*WalletWithdrawalsAnswer, error) {
	var out WalletWithdrawalsAnswer
	if err := c.call(ctx, operation{"GET", "/v1/wallets/withdrawals", "needed", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// IterateWalletWithdrawals walks through all items of ListWalletWithdrawals, page after page.
// It ends with the first error.
func (c *Client) IterateWalletWithdrawals(ctx context.Context, query ListWalletWithdrawalsQuery, opts ...Option) iter.Seq2[WalletWithdrawal, error] {
	return pages[WalletWithdrawal](ctx, c, operation{"GET", "/v1/wallets/withdrawals", "needed", true}, listing{"", "withdrawals", false}, request{query: query.values()}, opts)
}

// CreateWalletWithdrawal calls POST /v1/wallets/withdrawals: Withdraw crypto from the deposit wallets.
//
// Needs the permission `wallet:withdraw`. Sends `amount` from the merchant's balance of the mode to an address
// of the address book; the balance pays the fee besides. The balance is asked after the answer: a withdrawal
// that it does not cover fails with `insufficient_balance` within seconds, and nothing is taken. A withdrawal of
// live mode waits for operators as `requested` above `WITHDRAWAL_APPROVAL_ABOVE_USD` within 24 hours, and is a
// 400 `daily_limit_exceeded` above the merchant's limit. Every approved withdrawal counts, whatever became of
// it. The refusals are 409 `withdrawals_closed`, `withdrawal_address_held`, `withdrawal_address_internal`,
// `withdrawal_address_refused`, `fee_changed` and `too_many_withdrawals` (100 of a mode have not ended), 400
// `amount_below_minimum` below the fee, and 503 `withdrawals_paused`, `network_unavailable`, `rate_unavailable`
// and `sanctions_list_outdated`. Test mode has no limits, and its simulated chain confirms within 30 seconds.
func (c *Client) CreateWalletWithdrawal(ctx context.Context, body NewWalletWithdrawal, opts ...Option) (*WalletWithdrawalAnswer, error) {
	var out WalletWithdrawalAnswer
	if err := c.call(ctx, operation{"POST", "/v1/wallets/withdrawals", "needed", true}, request{body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListWalletWithdrawalFees calls GET /v1/wallets/withdrawals/fees: Show the fees of withdrawals.
//
// Needs the permission `wallet:read`. The fee of a pair is in its own crypto, is paid besides the amount, and
// covers the fee of the network, whatever that asks. It holds until operators change it. Name it as `fee` in the
// withdrawal to be sure that no other one is taken. `open` says whether the pair can be withdrawn in the mode of
// the key.
func (c *Client) ListWalletWithdrawalFees(ctx context.Context, opts ...Option) (*WalletWithdrawalFeesAnswer, error) {
	var out WalletWithdrawalFeesAnswer
	if err := c.call(ctx, operation{"GET", "/v1/wallets/withdrawals/fees", "needed", true}, request{}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// GetWalletWithdrawal calls GET /v1/wallets/withdrawals/{id}: Read a withdrawal.
//
// Needs the permission `wallet:read`.
func (c *Client) GetWalletWithdrawal(ctx context.Context, id string, opts ...Option) (*WalletWithdrawalAnswer, error) {
	var out WalletWithdrawalAnswer
	if err := c.call(ctx, operation{"GET", "/v1/wallets/withdrawals/{id}", "needed", true}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// CancelWalletWithdrawal calls POST /v1/wallets/withdrawals/{id}/cancel: Cancel a withdrawal that is not signed.
//
// Needs the permission `wallet:withdraw`. A POST without a body. One that is `requested` fails as `cancelled` at
// once. One that is `approved` or `signing` shows `cancellation: requested` and fails within seconds if nothing
// can have been signed for it; otherwise it goes on with `cancellation: too_late`. Any other is a 409
// `withdrawal_not_cancellable`. After a restore one that is `requested` in live mode is a 503
// `withdrawals_paused` for a while.
func (c *Client) CancelWalletWithdrawal(ctx context.Context, id string, opts ...Option) (*WalletWithdrawalAnswer, error) {
	var out WalletWithdrawalAnswer
	if err := c.call(ctx, operation{"POST", "/v1/wallets/withdrawals/{id}/cancel", "needed", true}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// GetWallet calls GET /v1/wallets/{id}: Read a wallet.
//
// Needs the permission `wallet:read`. A wallet of another key, even of the same merchant, is a 404.
func (c *Client) GetWallet(ctx context.Context, id string, opts ...Option) (*WalletAnswer, error) {
	var out WalletAnswer
	if err := c.call(ctx, operation{"GET", "/v1/wallets/{id}", "needed", true}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListWalletDepositsQuery are the parameters of ListWalletDeposits.
// Those that are zero are left out.
type ListWalletDepositsQuery struct {
	// Most items of a page.
	Limit int
	// The `nextCursor` of the page before.
	Cursor string
}

func (q ListWalletDepositsQuery) values() url.Values {
	v := url.Values{}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	return v
}

// ListWalletDeposits calls GET /v1/wallets/{id}/deposits: List the transfers to a wallet's address, newest
// first.
//
// Needs the permission `wallet:read`. Also shows transfers in another crypto or on another network of the
// address's family; `counted` says whether a transfer is part of the wallet's `amount`.
func (c *Client) ListWalletDeposits(ctx context.Context, id string, query ListWalletDepositsQuery, opts ...Option) (*WalletDepositListAnswer, error) {
	var out WalletDepositListAnswer
	if err := c.call(ctx, operation{"GET", "/v1/wallets/{id}/deposits", "needed", true}, request{path: []string{id}, query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// IterateWalletDeposits walks through all items of ListWalletDeposits, page after page.
// It ends with the first error.
func (c *Client) IterateWalletDeposits(ctx context.Context, id string, query ListWalletDepositsQuery, opts ...Option) iter.Seq2[WalletDeposit, error] {
	return pages[WalletDeposit](ctx, c, operation{"GET", "/v1/wallets/{id}/deposits", "needed", true}, listing{"", "deposits", false}, request{path: []string{id}, query: query.values()}, opts)
}

// ListWebhookDeliveriesQuery are the parameters of ListWebhookDeliveries.
// Those that are zero are left out.
type ListWebhookDeliveriesQuery struct {
	// Most items of a page.
	Limit int
	// The `nextCursor` of the page before.
	Cursor string
	// Only deliveries to this endpoint.
	EndpointID string
	// Only deliveries of this event.
	EventID string
	// Only deliveries of events of this object: a payment (`pay_…`, as its timeline shows it), a wallet or a
	// report.
	ObjectID string
	// Only events of this type.
	Type   string
	Status string
}

func (q ListWebhookDeliveriesQuery) values() url.Values {
	v := url.Values{}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	if q.EndpointID != "" {
		v.Set("endpointId", q.EndpointID)
	}
	if q.EventID != "" {
		v.Set("eventId", q.EventID)
	}
	if q.ObjectID != "" {
		v.Set("objectId", q.ObjectID)
	}
	if q.Type != "" {
		v.Set("type", q.Type)
	}
	if q.Status != "" {
		v.Set("status", q.Status)
	}
	return v
}

// ListWebhookDeliveries calls GET /v1/webhooks/deliveries: List deliveries with their attempts.
//
// Needs the permission `webhook:manage`. Newest first, kept for 30 days. A delivery is listed once its first
// attempt has ended, or a few seconds after its event while that attempt is under way.
func (c *Client) ListWebhookDeliveries(ctx context.Context, query ListWebhookDeliveriesQuery, opts ...Option) (*WebhookDeliveryListAnswer, error) {
	var out WebhookDeliveryListAnswer
	if err := c.call(ctx, operation{"GET", "/v1/webhooks/deliveries", "needed", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// IterateWebhookDeliveries walks through all items of ListWebhookDeliveries, page after page.
// It ends with the first error.
func (c *Client) IterateWebhookDeliveries(ctx context.Context, query ListWebhookDeliveriesQuery, opts ...Option) iter.Seq2[WebhookDelivery, error] {
	return pages[WebhookDelivery](ctx, c, operation{"GET", "/v1/webhooks/deliveries", "needed", true}, listing{"", "deliveries", false}, request{query: query.values()}, opts)
}

// GetWebhookDelivery calls GET /v1/webhooks/deliveries/{id}: Read a delivery with its attempts.
//
// Needs the permission `webhook:manage`.
func (c *Client) GetWebhookDelivery(ctx context.Context, id string, opts ...Option) (*WebhookDeliveryAnswer, error) {
	var out WebhookDeliveryAnswer
	if err := c.call(ctx, operation{"GET", "/v1/webhooks/deliveries/{id}", "needed", true}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// RetryWebhookDelivery calls POST /v1/webhooks/deliveries/{id}/retry: Send a delivery again now.
//
// Needs the permission `webhook:manage`. With the same `webhook-id` and body and a new signature, to the URL
// that the endpoint has now. Accepts delivered ones too. The schedule begins anew. One to a URL that the
// endpoint left goes there within the 48 hours, and is refused later.
func (c *Client) RetryWebhookDelivery(ctx context.Context, id string, opts ...Option) (*WebhookRetryAnswer, error) {
	var out WebhookRetryAnswer
	if err := c.call(ctx, operation{"POST", "/v1/webhooks/deliveries/{id}/retry", "needed", true}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListWebhookEndpointsQuery are the parameters of ListWebhookEndpoints.
// Those that are zero are left out.
type ListWebhookEndpointsQuery struct {
	// Most items of a page.
	Limit int
	// The `nextCursor` of the page before.
	Cursor string
}

func (q ListWebhookEndpointsQuery) values() url.Values {
	v := url.Values{}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	return v
}

// ListWebhookEndpoints calls GET /v1/webhooks/endpoints: List registered endpoints.
//
// Needs the permission `webhook:manage`.
func (c *Client) ListWebhookEndpoints(ctx context.Context, query ListWebhookEndpointsQuery, opts ...Option) (*WebhookEndpointListAnswer, error) {
	var out WebhookEndpointListAnswer
	if err := c.call(ctx, operation{"GET", "/v1/webhooks/endpoints", "needed", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// IterateWebhookEndpoints walks through all items of ListWebhookEndpoints, page after page.
// It ends with the first error.
func (c *Client) IterateWebhookEndpoints(ctx context.Context, query ListWebhookEndpointsQuery, opts ...Option) iter.Seq2[WebhookEndpoint, error] {
	return pages[WebhookEndpoint](ctx, c, operation{"GET", "/v1/webhooks/endpoints", "needed", true}, listing{"", "endpoints", false}, request{query: query.values()}, opts)
}

// CreateWebhookEndpoint calls POST /v1/webhooks/endpoints: Register an endpoint.
//
// Needs the permission `webhook:manage`. Every event whose type is in `types` (all, when it is empty) is sent to
// the endpoint besides the payment's `callbackUrl`, signed with a secret of the endpoint's own. In live mode
// every endpoint also gets the events that warn of money that may leave, whatever its `types`:
// `settlement_account.…`, `withdrawal.…`, `wallet.address_…`, `wallet.withdrawal_…` and
// `payment.refund_address_changed`. At most 100 in each mode. Live mode takes https URLs of public names only.
func (c *Client) CreateWebhookEndpoint(ctx context.Context, body WebhookEndpointCreate, opts ...Option) (*WebhookEndpointAnswer, error) {
	var out WebhookEndpointAnswer
	if err := c.call(ctx, operation{"POST", "/v1/webhooks/endpoints", "needed", true}, request{body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// DeleteWebhookEndpoint calls DELETE /v1/webhooks/endpoints/{id}: Take an endpoint away.
//
// Needs the permission `webhook:manage`. Events that are not delivered yet are dropped. Live mode: for 48 hours
// the events that warn of money that may leave still go to its URL, if it had that URL for a day, and so do
// those that are not delivered yet.
func (c *Client) DeleteWebhookEndpoint(ctx context.Context, id string, opts ...Option) (*WebhookEndpointDeletedAnswer, error) {
	var out WebhookEndpointDeletedAnswer
	if err := c.call(ctx, operation{"DELETE", "/v1/webhooks/endpoints/{id}", "needed", false}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// GetWebhookEndpoint calls GET /v1/webhooks/endpoints/{id}: Read an endpoint.
//
// Needs the permission `webhook:manage`.
func (c *Client) GetWebhookEndpoint(ctx context.Context, id string, opts ...Option) (*WebhookEndpointAnswer, error) {
	var out WebhookEndpointAnswer
	if err := c.call(ctx, operation{"GET", "/v1/webhooks/endpoints/{id}", "needed", true}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ChangeWebhookEndpoint calls PATCH /v1/webhooks/endpoints/{id}: Change an endpoint.
//
// Needs the permission `webhook:manage`. Members that are absent stay. A disabled endpoint's events are held;
// enabling it sends them. A live endpoint that leaves a URL, which it had for a day, or is disabled: for 48
// hours the events that warn of money that may leave also go to that URL, and so do those that wait for the
// endpoint then.
func (c *Client) ChangeWebhookEndpoint(ctx context.Context, id string, body WebhookEndpointPatch, opts ...Option) (*WebhookEndpointAnswer, error) {
	var out WebhookEndpointAnswer
	if err := c.call(ctx, operation{"PATCH", "/v1/webhooks/endpoints/{id}", "needed", false}, request{path: []string{id}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// RotateWebhookEndpoint calls POST /v1/webhooks/endpoints/{id}/rotate: Replace an endpoint's secret.
//
// Needs the permission `webhook:manage`. Each secret signs for 24 hours after it is replaced, and every delivery
// carries the signatures of all of them. Four may sign at a time; a fifth is refused with `rotation_limit`.
// After a leak send `revokePrevious`: it ends all earlier secrets at once and is never refused for their number.
func (c *Client) RotateWebhookEndpoint(ctx context.Context, id string, body WebhookRotation, opts ...Option) (*WebhookSecretAnswer, error) {
	var out WebhookSecretAnswer
	if err := c.call(ctx, operation{"POST", "/v1/webhooks/endpoints/{id}/rotate", "needed", true}, request{path: []string{id}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// GetWebhookEndpointSecret calls GET /v1/webhooks/endpoints/{id}/secret: Read an endpoint's secret.
//
// Needs the permission `webhook:manage`.
func (c *Client) GetWebhookEndpointSecret(ctx context.Context, id string, opts ...Option) (*WebhookSecretAnswer, error) {
	var out WebhookSecretAnswer
	if err := c.call(ctx, operation{"GET", "/v1/webhooks/endpoints/{id}/secret", "needed", true}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// RotateWebhookEndpointSecret calls POST /v1/webhooks/endpoints/{id}/secret/rotate: Replace an endpoint's
// secret.
//
// Needs the permission `webhook:manage`. Each secret signs for 24 hours after it is replaced, and every delivery
// carries the signatures of all of them. Four may sign at a time; a fifth is refused with `rotation_limit`.
// After a leak send `revokePrevious`: it ends all earlier secrets at once and is never refused for their number.
func (c *Client) RotateWebhookEndpointSecret(ctx context.Context, id string, body WebhookRotation, opts ...Option) (*WebhookSecretAnswer, error) {
	var out WebhookSecretAnswer
	if err := c.call(ctx, operation{"POST", "/v1/webhooks/endpoints/{id}/secret/rotate", "needed", true}, request{path: []string{id}, body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// TestWebhookEndpoint calls POST /v1/webhooks/endpoints/{id}/test: Send a test event.
//
// Needs the permission `webhook:manage`. A `webhook.test` event goes only to this endpoint, by the same way as
// every event. The answer waits a few seconds for the first attempt.
func (c *Client) TestWebhookEndpoint(ctx context.Context, id string, opts ...Option) (*WebhookDeliveryAnswer, error) {
	var out WebhookDeliveryAnswer
	if err := c.call(ctx, operation{"POST", "/v1/webhooks/endpoints/{id}/test", "needed", true}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// CreateWebhookReplayQuery are the parameters of CreateWebhookReplay.
// Those that are zero are left out.
type CreateWebhookReplayQuery struct {
	// The code of the shard that answers, as in its references and ids. An operator who names none gets the
	// shard of the object in the path, else the first, `AA`. A merchant needs it if its payments are in several
	// shards, and names one of them.
	Shard string
}

func (q CreateWebhookReplayQuery) values() url.Values {
	v := url.Values{}
	if q.Shard != "" {
		v.Set("shard", q.Shard)
	}
	return v
}

// CreateWebhookReplay calls POST /v1/webhooks/replays: Send the deliveries of a range of time again.
//
// Needs the permission `webhook:manage`. To one endpoint, and none to a URL that it left, or, without
// `endpointId`, to `callbackUrl`s. `dryRun` counts and sends nothing. A replay uses at most a fifth of the
// capacity, and can be paused.
func (c *Client) CreateWebhookReplay(ctx context.Context, body WebhookReplayCreate, query CreateWebhookReplayQuery, opts ...Option) (*WebhookReplayAnswer, error) {
	var out WebhookReplayAnswer
	if err := c.call(ctx, operation{"POST", "/v1/webhooks/replays", "needed", true}, request{body: body, query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// GetWebhookReplay calls GET /v1/webhooks/replays/{id}: Read a replay.
//
// Needs the permission `webhook:manage`.
func (c *Client) GetWebhookReplay(ctx context.Context, id string, opts ...Option) (*WebhookReplayAnswer, error) {
	var out WebhookReplayAnswer
	if err := c.call(ctx, operation{"GET", "/v1/webhooks/replays/{id}", "needed", true}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// PauseWebhookReplay calls POST /v1/webhooks/replays/{id}/pause: Pause a replay.
//
// Needs the permission `webhook:manage`. Running attempts are still made.
func (c *Client) PauseWebhookReplay(ctx context.Context, id string, opts ...Option) (*WebhookReplayAnswer, error) {
	var out WebhookReplayAnswer
	if err := c.call(ctx, operation{"POST", "/v1/webhooks/replays/{id}/pause", "needed", false}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ResumeWebhookReplay calls POST /v1/webhooks/replays/{id}/resume: Go on with a replay.
//
// Needs the permission `webhook:manage`. A finished replay stays finished.
func (c *Client) ResumeWebhookReplay(ctx context.Context, id string, opts ...Option) (*WebhookReplayAnswer, error) {
	var out WebhookReplayAnswer
	if err := c.call(ctx, operation{"POST", "/v1/webhooks/replays/{id}/resume", "needed", false}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// GetWebhookSecret calls GET /v1/webhooks/secret: Read the secret that signs callbacks.
//
// Needs the permission `webhook:manage`. One secret per merchant and mode signs every delivery to a
// `callbackUrl`. It is created at its first use.
func (c *Client) GetWebhookSecret(ctx context.Context, opts ...Option) (*WebhookSecretAnswer, error) {
	var out WebhookSecretAnswer
	if err := c.call(ctx, operation{"GET", "/v1/webhooks/secret", "needed", true}, request{}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// RotateWebhookSecret calls POST /v1/webhooks/secret/rotate: Replace the secret that signs callbacks.
//
// Needs the permission `webhook:manage`. Each secret signs for 24 hours after it is replaced, and every delivery
// carries the signatures of all of them. Four may sign at a time; a fifth is refused with `rotation_limit`.
// After a leak send `revokePrevious`: it ends all earlier secrets at once and is never refused for their number.
func (c *Client) RotateWebhookSecret(ctx context.Context, body WebhookRotation, opts ...Option) (*WebhookSecretAnswer, error) {
	var out WebhookSecretAnswer
	if err := c.call(ctx, operation{"POST", "/v1/webhooks/secret/rotate", "needed", true}, request{body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// ListWithdrawalsQuery are the parameters of ListWithdrawals.
// Those that are zero are left out.
type ListWithdrawalsQuery struct {
	// Most items of a page.
	Limit int
	// The `nextCursor` of the page before.
	Cursor string
}

func (q ListWithdrawalsQuery) values() url.Values {
	v := url.Values{}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	return v
}

// ListWithdrawals calls GET /v1/withdrawals: List withdrawals.
//
// Needs the permission `payment:read`. The newest first.
func (c *Client) ListWithdrawals(ctx context.Context, query ListWithdrawalsQuery, opts ...Option) (*WithdrawalsAnswer, error) {
	var out WithdrawalsAnswer
	if err := c.call(ctx, operation{"GET", "/v1/withdrawals", "needed", true}, request{query: query.values()}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// IterateWithdrawals walks through all items of ListWithdrawals, page after page.
// It ends with the first error.
func (c *Client) IterateWithdrawals(ctx context.Context, query ListWithdrawalsQuery, opts ...Option) iter.Seq2[Withdrawal, error] {
	return pages[Withdrawal](ctx, c, operation{"GET", "/v1/withdrawals", "needed", true}, listing{"", "withdrawals", false}, request{query: query.values()}, opts)
}

// CreateWithdrawal calls POST /v1/withdrawals: Pay a balance out to a settlement account.
//
// Needs the permission `withdrawal:create`. The money leaves the available balance at once, and is in it again
// where it cannot be paid. In live mode a withdrawal above a bound is `requested` until two operators have
// approved it. At most 100 withdrawals of a mode have not ended (409 `too_many_withdrawals`).
func (c *Client) CreateWithdrawal(ctx context.Context, body CreateWithdrawal, opts ...Option) (*WithdrawalAnswer, error) {
	var out WithdrawalAnswer
	if err := c.call(ctx, operation{"POST", "/v1/withdrawals", "needed", true}, request{body: body}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// GetWithdrawal calls GET /v1/withdrawals/{id}: Show a withdrawal.
//
// Needs the permission `payment:read`.
func (c *Client) GetWithdrawal(ctx context.Context, id string, opts ...Option) (*WithdrawalAnswer, error) {
	var out WithdrawalAnswer
	if err := c.call(ctx, operation{"GET", "/v1/withdrawals/{id}", "needed", true}, request{path: []string{id}}, opts, &out); err != nil {
		return nil, err
	}
	return &out, nil
}
