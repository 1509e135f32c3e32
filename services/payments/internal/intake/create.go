// Package intake creates payments, gives requests their price and address, and names the receivers of gifts.
package intake

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/link"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/pricing"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/receivers"
	"causeway.internal/services/payments/internal/stock"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/internal/withdrawal"
)

// Store is the table of payments, to which Intake adds.
type Store interface {
	// Insert writes a new payment with its history, event and stored answer in one round trip. After ErrAddressUsed or
	// ErrReferenceUsed the caller tries another one; idempotency.ErrTaken means that another request with the same key
	// won.
	Insert(ctx context.Context, n change.Newborn) error
	// GiveAway stores the answer under a key of a create in another shard, and gives the merchant's reference away, which
	// no payment here may have. idempotency.ErrTaken means that the key has an answer.
	GiveAway(ctx context.Context, o tenant.Owner, reference string, k idempotency.Key, a idempotency.Answer) error
	// MerchantSettings are a merchant's choices about its own money.
	MerchantSettings(ctx context.Context, o tenant.Owner) (withdrawal.Settings, error)
}

// Intake creates payments, gives requests their price and address, and names the receivers of gifts.
type Intake struct {
	Store      Store
	Access     *access.Payments
	Providers  map[tenant.Mode]provider.Set
	Pricing    *pricing.Pricing
	Receivers  *receivers.Receivers
	Stock      *stock.Stock
	Full       func(ctx context.Context) error // an error while the outbox is too full for new work
	Policy     payment.Policy
	Daily      admission.Daily
	Capacity   *admission.Capacity
	Render     views.Renderer
	Callback   func(mode tenant.Mode, url string) error // an error, whose text the caller sees, when the URL is refused
	Keys       *keyring.Ring
	Shard      shard.Code
	PlainGifts bool // gifts get no mark, because an earlier release that runs beside this one does not know it
	Now        func() time.Time
	Log        *slog.Logger
}

// tries bounds how often a create takes another address or reference.
const tries = 5

// Create makes a payment out of a command. problems carries those of the decoder, so that the caller gets all of them
// at once. Create writes nothing unless every rule holds; the write is one round trip.
//
// That write finds an earlier answer of the key. Without a write, Create looks for one only before it refuses, and then
// returns the earlier answer instead.
func (a *Intake) Create(ctx context.Context, o tenant.Owner, c payment.Command, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	return a.once(ctx, k, func() (idempotency.Answer, error) { return a.create(ctx, o, c, "", problems, k) })
}

// CreateLinked is Create for anybody who has a payment link. The write counts the payment against the link.
func (a *Intake) CreateLinked(ctx context.Context, o tenant.Owner, c payment.Command, linkID string, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	return a.once(ctx, k, func() (idempotency.Answer, error) { return a.create(ctx, o, c, linkID, problems, k) })
}

// once returns the earlier answer of the key where a create refuses.
func (a *Intake) once(ctx context.Context, k idempotency.Key, create func() (idempotency.Answer, error)) (idempotency.Answer, error) {
	answer, err := create()
	if err == nil {
		return answer, nil
	}
	if earlier, found, lookErr := a.Access.Replay(ctx, k); lookErr != nil || found {
		return earlier, lookErr
	}
	return idempotency.Answer{}, err
}

func (a *Intake) create(ctx context.Context, o tenant.Owner, c payment.Command, linkID string, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if c.CallbackURL != "" {
		if err := a.Callback(o.Mode, c.CallbackURL); err != nil {
			problems.Add("callbackUrl", "%s", err.Error())
		}
	}
	terms, err := c.Check(o.Mode, a.Policy.Limits, problems)
	if err != nil {
		return idempotency.Answer{}, err
	}
	set, ok := a.Providers[o.Mode]
	if err := receivers.KnownBank(o.Mode, set, terms.Draft()); err != nil {
		return idempotency.Answer{}, err
	}
	if !ok {
		return idempotency.Answer{}, change.ErrLiveDisabled
	}
	if err := a.Full(ctx); err != nil {
		return idempotency.Answer{}, err
	}
	draft, err := a.draft(ctx, o, set, terms)
	if err != nil {
		return idempotency.Answer{}, err
	}
	return a.insert(ctx, draft, linkID, k)
}

// payable refuses a payout whose amount its rail would refuse.
func (a *Intake) payable(w provider.Set, p payment.Payment) error {
	found, ok := w.Named(p.Rail)
	if !ok {
		return nil // the merchant settles
	}
	wide := a.Policy.Limits[p.Currency]
	b := provider.Narrowed(wide, found.Caps().Currencies[p.Currency])
	if b.Min.Equal(wide.Min) && b.Max.Equal(wide.Max) {
		return nil // the price was checked against the same limits
	}
	amount := p.FiatAmount
	if p.Quote.Priced() {
		amount = p.Quote.PayoutAmount
	}
	return b.InRange("fiatAmount", amount)
}

// draft adds names, price, owner and rail to the terms.
func (a *Intake) draft(ctx context.Context, o tenant.Owner, w provider.Set, terms payment.Terms) (payment.Payment, error) {
	draft := terms.Draft()
	draft.MerchantID, draft.KeyID, draft.Mode = o.MerchantID, o.KeyID, o.Mode
	if err := a.Pricing.Requested(draft); err != nil {
		return payment.Payment{}, err
	}
	if draft.MayCredit() {
		chosen, err := a.Store.MerchantSettings(ctx, o)
		if err != nil {
			return payment.Payment{}, err
		}
		draft.ToBalance = chosen.ToBalance
	}
	var err error
	if draft.Rail, err = w.Route(draft); err != nil { // of a gift too: its payout needs one after the claim
		return payment.Payment{}, err
	}
	if draft.Receiver.Known() {
		named, _, err := a.Receivers.Complete(ctx, o.Mode, draft.Currency, draft.Receiver)
		if errors.Is(err, rail.ErrNotFound) {
			return payment.Payment{}, receivers.AccountNotFound()
		}
		draft.Receiver = named
	}
	if draft.Type == payment.Request {
		return draft, a.payable(w, draft)
	}
	q, err := a.Pricing.Quote(w, o, terms.Ask)
	if err != nil {
		return payment.Payment{}, err
	}
	draft.Quote, draft.FiatAmount = q, q.FiatAmount
	if err := a.payable(w, draft); err != nil {
		return payment.Payment{}, err
	}
	if err := a.Pricing.Scans.Quotes(o, q.Network); err != nil {
		return payment.Payment{}, err
	}
	return draft, a.Capacity.Take(o.Mode, q)
}

// insert gives the draft its id, reference and address, and writes it. A used address or reference costs another round
// trip only.
func (a *Intake) insert(ctx context.Context, draft payment.Payment, linkID string, k idempotency.Key) (idempotency.Answer, error) {
	var last error
	for range tries {
		now := a.Now().UTC().Truncate(time.Microsecond) // the precision of PostgreSQL
		draft.ID, draft.Reference = id.Placed(id.Payment, a.Shard, now), a.reference(draft.Type)
		address, err := a.address(ctx, draft)
		if err != nil {
			return idempotency.Answer{}, err
		}
		draft.Address = address.Address
		p, facts, err := a.Policy.Apply(payment.Payment{}, payment.Create{Draft: draft}, now)
		if err != nil {
			a.giveBack(draft, address)
			return idempotency.Answer{}, err
		}
		body, err := a.Render.Created(p)
		if err != nil {
			a.giveBack(draft, address)
			return idempotency.Answer{}, err
		}
		answer := idempotency.Answer{Status: change.StatusCreated, Body: body}
		switch last = a.Store.Insert(ctx, change.Newborn{Payment: p, Link: linkID, WalletID: address.WalletID, Facts: facts, Key: k, Answer: answer, Reservations: a.Daily.Quoted(a.Keys, p)}); {
		case last == nil:
			return answer, nil
		case errors.Is(last, idempotency.ErrTaken):
			a.giveBack(draft, address)
			return a.Access.Store.Settled(ctx, k)
		case errors.Is(last, change.ErrDailyLimit), errors.Is(last, change.ErrMerchantReference), errors.Is(last, link.ErrClosed):
			a.giveBack(draft, address)
			return idempotency.Answer{}, last
		case errors.Is(last, change.ErrReferenceUsed):
			a.giveBack(draft, address)
		case errors.Is(last, change.ErrAddressUsed):
			a.Log.WarnContext(ctx, "stock address already used", "mode", draft.Mode)
		default:
			return idempotency.Answer{}, last // the write may have happened: the address stays leased until its lease ends
		}
	}
	return idempotency.Answer{}, last
}

// reference draws a reference of a payment's type. A gift's has a mark, so that every service recognises the bearer
// secret.
func (a *Intake) reference(kind payment.Type) string {
	switch {
	case kind != payment.Gift:
		return id.PaymentReference(a.Shard)
	case a.PlainGifts:
		return id.EarlierReference()
	}
	return id.GiftReference(a.Shard)
}

// address takes an address for a priced draft; a request gets one when it is fulfilled.
func (a *Intake) address(ctx context.Context, draft payment.Payment) (stock.Address, error) {
	if !draft.Quote.Priced() {
		return stock.Address{}, nil
	}
	n, _ := money.NetworkOf(draft.Quote.Network) // the terms were checked
	return a.Stock.Take(ctx, draft.Mode, n.Family)
}

func (a *Intake) giveBack(draft payment.Payment, address stock.Address) {
	if address.Address == "" {
		return
	}
	n, _ := money.NetworkOf(draft.Quote.Network)
	a.Stock.Give(draft.Mode, n.Family, address)
}
