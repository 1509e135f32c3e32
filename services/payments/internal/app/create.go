package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/stock"
)

// Backlog says whether so much waits for delivery that new work must be refused.
type Backlog interface {
	Full(ctx context.Context) error
}

// Deps is what the use cases need.
type Deps struct {
	Payments Payments
	Lists    Lists

	Settlements Settlements
	Stock       *stock.Stock
	Backlog     Backlog
	Worlds      map[tenant.Mode]provider.Set
	Families    map[tenant.Mode][]money.Family // whose addresses each open mode has
	Policy      payment.Policy
	Render      Renderer
	Callback    func(mode tenant.Mode, url string) error                // nil when the URL may be registered; the error's text is shown
	Refusal     func(ctx context.Context, f *fault.Error) change.Answer // the exact reply that a fault becomes
	Now         func() time.Time
	Log         *slog.Logger
	Screening   admission.Screening
	Pauses      *admission.Pauses
	Scans       *admission.Scans
	Daily       admission.Daily
	Capacity    *admission.Capacity
	Hints       Hints
	Watch       Watch
	Operators   OperatorLists
	Approvals   Approvals
	SecondAbove map[money.Currency]decimal.Decimal // what moves more money than this needs a second operator
	Keys        *keyring.Ring                      // seals answers that hold a secret while they may be repeated

	Transactions Transactions

	PlainGifts bool // gifts are not marked, because a release may be asked for them that knows no marked reference
}

// App is the use cases. It is safe for concurrent use.
type App struct {
	Deps
	names   *names
	lookups *lookups
}

// New makes the use cases.
func New(d Deps) *App { return &App{Deps: d, names: newNames(d.Now), lookups: newLookups(d.Now)} }

// tries bounds how often a create takes another address or reference.
const tries = 5

// Create makes a payment out of a command. problems carries what the decoder found wrong already, so that the caller
// learns everything at once. Nothing is written unless everything holds; the write is one round trip.
//
// Whether the key has an answer already is asked by that write, and otherwise only when there is something to refuse: then
// the earlier answer is given, whatever is wrong with the request or the world by now.
func (a *App) Create(ctx context.Context, o change.Owner, c payment.Command, problems *fault.Problems, k change.Key) (change.Answer, error) {
	answer, err := a.create(ctx, o, c, problems, k)
	if err == nil {
		return answer, nil
	}
	if earlier, found, lookErr := a.replay(ctx, k); lookErr != nil || found {
		return earlier, lookErr
	}
	return change.Answer{}, err
}

func (a *App) create(ctx context.Context, o change.Owner, c payment.Command, problems *fault.Problems, k change.Key) (change.Answer, error) {
	if c.CallbackURL != "" {
		if err := a.Callback(o.Mode, c.CallbackURL); err != nil {
			problems.Add("callbackUrl", "%s", err.Error())
		}
	}
	terms, err := c.Check(o.Mode, a.Policy.Fees, problems)
	if err != nil {
		return change.Answer{}, err
	}
	if err := knownBank(o.Mode, terms.Draft()); err != nil {
		return change.Answer{}, err
	}
	world, ok := a.Worlds[o.Mode]
	if !ok {
		return change.Answer{}, change.ErrLiveDisabled
	}
	if err := a.Backlog.Full(ctx); err != nil {
		return change.Answer{}, err
	}
	draft, err := a.draft(ctx, o, world, terms)
	if err != nil {
		return change.Answer{}, err
	}
	return a.insert(ctx, draft, k)
}

// knownBank refuses, in live mode only, a bank that nobody knows or that is another country's
// (docs/api-contract.md#receivers).
func knownBank(mode tenant.Mode, draft payment.Payment) error {
	if mode != tenant.Live || !draft.Receiver.Known() {
		return nil
	}
	var p fault.Problems
	if _, ok := rail.BankName(draft.Currency, draft.Receiver.BankCode); !ok {
		p.Add("receiver.bankCode", "is no bank of %s", draft.Currency)
	}
	return p.Err()
}

func (a *App) replay(ctx context.Context, k change.Key) (change.Answer, bool, error) {
	if k.Key == "" {
		return change.Answer{}, false, nil
	}
	answer, found, err := a.Payments.Replay(ctx, k)
	return unseal(a.Keys, k, answer), found, err
}

// payable refuses a payout that its rail would refuse for its size.
func (a *App) payable(w provider.Set, p payment.Payment) error {
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
func (a *App) draft(ctx context.Context, o change.Owner, w provider.Set, terms payment.Terms) (payment.Payment, error) {
	draft := terms.Draft()
	draft.MerchantID, draft.KeyID, draft.Mode = o.MerchantID, o.KeyID, o.Mode
	var err error
	if draft.Rail, err = w.Route(draft); err != nil { // a gift's payout needs one too, once somebody has claimed it
		return payment.Payment{}, err
	}
	if draft.Receiver.Known() {
		named, _, err := a.names.resolve(ctx, w.Namer(draft.Currency), o.Mode, draft.Currency, draft.Receiver)
		if errors.Is(err, rail.ErrNotFound) {
			return payment.Payment{}, accountNotFound()
		}
		draft.Receiver = named
	}
	if draft.Type == payment.Request {
		return draft, a.payable(w, draft)
	}
	q, err := a.quote(w, terms.Ask)
	if err != nil {
		return payment.Payment{}, err
	}
	draft.Quote, draft.FiatAmount = q, q.FiatAmount
	if err := a.payable(w, draft); err != nil {
		return payment.Payment{}, err
	}
	if err := a.Scans.Quotes(o.Mode, q.Network); err != nil {
		return payment.Payment{}, err
	}
	return draft, a.Capacity.Take(o.Mode, q)
}

func (a *App) quote(w provider.Set, ask quote.Ask) (quote.Quote, error) {
	if err := a.Pauses.Quotes(ask.Currency, ask.Network); err != nil {
		return quote.Quote{}, err
	}
	r, err := w.Rates.Quote(ask.Currency, ask.Asset.Symbol)
	if err != nil {
		return quote.Quote{}, err
	}
	q, err := a.Policy.Fees.Make(ask, r)
	if err != nil {
		return quote.Quote{}, err
	}
	return q, w.Minimums.Check(ask, q)
}

// insert gives the draft its identity and its address and writes it. An address or reference that turns out to be used
// costs another round trip and nothing else.
func (a *App) insert(ctx context.Context, draft payment.Payment, k change.Key) (change.Answer, error) {
	var last error
	for range tries {
		now := a.Now().UTC().Truncate(time.Microsecond) // what PostgreSQL keeps of a time
		draft.ID, draft.Reference = id.New(id.Payment, now), a.reference(draft.Type)
		address, err := a.address(ctx, draft)
		if err != nil {
			return change.Answer{}, err
		}
		draft.Address = address.Address
		p, facts, err := a.Policy.Apply(payment.Payment{}, payment.Create{Draft: draft}, now)
		if err != nil {
			a.giveBack(draft, address)
			return change.Answer{}, err
		}
		body, err := a.Render.Created(p)
		if err != nil {
			a.giveBack(draft, address)
			return change.Answer{}, err
		}
		answer := change.Answer{Status: change.StatusCreated, Body: body}
		switch last = a.Payments.Insert(ctx, change.Newborn{Payment: p, WalletID: address.WalletID, Facts: facts, Key: k, Answer: answer, Reservations: a.Daily.Quoted(a.Keys, p)}); {
		case last == nil:
			return answer, nil
		case errors.Is(last, change.ErrKeyTaken):
			a.giveBack(draft, address)
			return a.Payments.Settled(ctx, k)
		case errors.Is(last, change.ErrDailyLimit):
			a.giveBack(draft, address)
			return change.Answer{}, last
		case errors.Is(last, change.ErrReferenceUsed):
			a.giveBack(draft, address)
		case errors.Is(last, change.ErrAddressUsed):
			a.Log.WarnContext(ctx, "an address from stock was used already", "mode", draft.Mode)
		default:
			return change.Answer{}, last // the write may have happened: the address stays leased until that is known
		}
	}
	return change.Answer{}, last
}

// reference draws one of a payment's type: that of a gift is a bearer secret, and is known for one by its shape.
func (a *App) reference(kind payment.Type) string {
	switch {
	case kind != payment.Gift:
		return id.PaymentReference()
	case a.PlainGifts:
		return id.EarlierReference()
	}
	return id.GiftReference()
}

// address takes one for a priced draft; a request gets none before it is fulfilled.
func (a *App) address(ctx context.Context, draft payment.Payment) (stock.Address, error) {
	if !draft.Quote.Priced() {
		return stock.Address{}, nil
	}
	n, _ := money.NetworkOf(draft.Quote.Network) // the terms were checked
	return a.Stock.Take(ctx, draft.Mode, n.Family)
}

func (a *App) giveBack(draft payment.Payment, address stock.Address) {
	if address.Address == "" {
		return
	}
	n, _ := money.NetworkOf(draft.Quote.Network)
	a.Stock.Give(draft.Mode, n.Family, address)
}

// Show is the body of GET /v1/payments/:reference.
func (a *App) Show(ctx context.Context, o change.Owner, reference string) ([]byte, error) {
	if !id.IsPaymentReference(reference) {
		return nil, change.ErrNotFound
	}
	v, err := a.Payments.Find(ctx, o, reference)
	if err != nil {
		return nil, err
	}
	return a.Render.Shown(v)
}
