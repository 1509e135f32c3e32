// Package intake takes new payments: it creates them, gives requests their price and address, and names the receivers of gifts.
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
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/pricing"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/receivers"
	"causeway.internal/services/payments/internal/stock"
	"causeway.internal/services/payments/internal/views"
)

// IntakeStore is the table of payments, to which Intake adds.
type Store interface {
	// Insert writes a new payment with its history, event and stored answer in one round trip. ErrAddressUsed and
	// ErrReferenceUsed ask for another try with another one; idempotency.ErrTaken means that a request with the same key
	// won.
	Insert(ctx context.Context, n change.Newborn) error
}

// Intake takes new payments: it creates them, gives requests their price and address, and names the receivers of gifts.
type Intake struct {
	Store      Store
	Access     *access.Payments
	Providers  map[tenant.Mode]provider.Set
	Pricing    *pricing.Pricing
	Receivers  *receivers.Receivers
	Stock      *stock.Stock
	Full       func(ctx context.Context) error // an error while so much waits for delivery that new work must be refused
	Policy     payment.Policy
	Daily      admission.Daily
	Capacity   *admission.Capacity
	Render     views.Renderer
	Callback   func(mode tenant.Mode, url string) error // nil when the URL may be registered; the error's text is shown
	Keys       *keyring.Ring
	PlainGifts bool // gifts are not marked, because a release may be asked for them that knows no marked reference
	Now        func() time.Time
	Log        *slog.Logger
}

// tries bounds how often a create takes another address or reference.
const tries = 5

// Create makes a payment out of a command. problems carries what the decoder found wrong already, so that the caller
// learns everything at once. Nothing is written unless everything holds; the write is one round trip.
//
// Whether the key has an answer already is asked by that write, and otherwise only when there is something to refuse: then
// the earlier answer is given, whatever is wrong with the request or the world by now.
func (a *Intake) Create(ctx context.Context, o tenant.Owner, c payment.Command, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	answer, err := a.create(ctx, o, c, problems, k)
	if err == nil {
		return answer, nil
	}
	if earlier, found, lookErr := a.Access.Replay(ctx, k); lookErr != nil || found {
		return earlier, lookErr
	}
	return idempotency.Answer{}, err
}

func (a *Intake) create(ctx context.Context, o tenant.Owner, c payment.Command, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if c.CallbackURL != "" {
		if err := a.Callback(o.Mode, c.CallbackURL); err != nil {
			problems.Add("callbackUrl", "%s", err.Error())
		}
	}
	terms, err := c.Check(o.Mode, a.Policy.Fees, problems)
	if err != nil {
		return idempotency.Answer{}, err
	}
	if err := receivers.KnownBank(o.Mode, terms.Draft()); err != nil {
		return idempotency.Answer{}, err
	}
	world, ok := a.Providers[o.Mode]
	if !ok {
		return idempotency.Answer{}, change.ErrLiveDisabled
	}
	if err := a.Full(ctx); err != nil {
		return idempotency.Answer{}, err
	}
	draft, err := a.draft(ctx, o, world, terms)
	if err != nil {
		return idempotency.Answer{}, err
	}
	return a.insert(ctx, draft, k)
}

// payable refuses a payout that its rail would refuse for its size.
func (a *Intake) payable(w provider.Set, p payment.Payment) error {
	found, ok := w.Named(p.Rail)
	if !ok {
		return nil // the caller settles
	}
	wide := a.Policy.Fees.Schedules[p.Currency]
	s := provider.Narrowed(wide, found.Caps().Currencies[p.Currency])
	if s.Min.Equal(wide.Min) && s.Max.Equal(wide.Max) {
		return nil // no narrower than what the price was checked against
	}
	amount := p.FiatAmount
	if p.Quote.Priced() {
		amount = p.Quote.PayoutAmount
	}
	return s.InRange("fiatAmount", amount)
}

// draft adds to the terms what the service itself decides: names, price, owner and rail.
func (a *Intake) draft(ctx context.Context, o tenant.Owner, w provider.Set, terms payment.Terms) (payment.Payment, error) {
	draft := terms.Draft()
	draft.MerchantID, draft.KeyID, draft.Mode = o.MerchantID, o.KeyID, o.Mode
	var err error
	if draft.Rail, err = w.Route(draft); err != nil { // a gift's payout needs one too, once somebody has claimed it
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
	q, err := a.Pricing.Quote(w, terms.Ask)
	if err != nil {
		return payment.Payment{}, err
	}
	draft.Quote, draft.FiatAmount = q, q.FiatAmount
	if err := a.payable(w, draft); err != nil {
		return payment.Payment{}, err
	}
	if err := a.Pricing.Scans.Quotes(o.Mode, q.Network); err != nil {
		return payment.Payment{}, err
	}
	return draft, a.Capacity.Take(o.Mode, q)
}

// insert gives the draft its identity and its address and writes it. An address or reference that turns out to be used
// costs another round trip and nothing else.
func (a *Intake) insert(ctx context.Context, draft payment.Payment, k idempotency.Key) (idempotency.Answer, error) {
	var last error
	for range tries {
		now := a.Now().UTC().Truncate(time.Microsecond) // what PostgreSQL keeps of a time
		draft.ID, draft.Reference = id.New(id.Payment, now), a.reference(draft.Type)
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
		switch last = a.Store.Insert(ctx, change.Newborn{Payment: p, WalletID: address.WalletID, Facts: facts, Key: k, Answer: answer, Reservations: a.Daily.Quoted(a.Keys, p)}); {
		case last == nil:
			return answer, nil
		case errors.Is(last, idempotency.ErrTaken):
			a.giveBack(draft, address)
			return a.Access.Store.Settled(ctx, k)
		case errors.Is(last, change.ErrDailyLimit):
			a.giveBack(draft, address)
			return idempotency.Answer{}, last
		case errors.Is(last, change.ErrReferenceUsed):
			a.giveBack(draft, address)
		case errors.Is(last, change.ErrAddressUsed):
			a.Log.WarnContext(ctx, "stock address already used", "mode", draft.Mode)
		default:
			return idempotency.Answer{}, last // the write may have happened: the address stays leased until that is known
		}
	}
	return idempotency.Answer{}, last
}

// reference draws one of a payment's type: that of a gift is a bearer secret, and is known for one by its shape.
func (a *Intake) reference(kind payment.Type) string {
	switch {
	case kind != payment.Gift:
		return id.PaymentReference()
	case a.PlainGifts:
		return id.EarlierReference()
	}
	return id.GiftReference()
}

// address takes one for a priced draft; a request gets none before it is fulfilled.
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
