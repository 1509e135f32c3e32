// Package draws holds the use cases of withdrawals from standalone wallets (docs/decisions/0024): the address book and
// requests of merchants, decisions of operators, and the reports of wallets. Payments approves a withdrawal and signs
// its order; wallets keeps the balance and carries the order out.
package draws

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/address"
	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/draw"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/refund"
	"causeway.internal/services/payments/internal/refunds"
	"causeway.internal/services/payments/internal/views"
)

// Store is the tables of withdrawals.
type Store interface {
	// AddEntry decides on a new entry of the address book, alone at a time for a merchant, and stores the answer.
	AddEntry(ctx context.Context, o tenant.Owner, k idempotency.Key, rule EntryRule) (idempotency.Answer, error)
	// RemoveEntry takes an entry out of the address book.
	RemoveEntry(ctx context.Context, o tenant.Owner, entryID, by string) error
	// BookEntry is an entry of a merchant's address book.
	BookEntry(ctx context.Context, o tenant.Owner, entryID string) (draw.Entry, error)
	// BookEntries lists a merchant's address book, newest first.
	BookEntries(ctx context.Context, o tenant.Owner, before string, most int) ([]draw.Entry, error)

	// RequestDraw decides on a new withdrawal, alone at a time for a merchant, and stores the answer.
	RequestDraw(ctx context.Context, o tenant.Owner, k idempotency.Key, entryID string, rule RequestRule) (idempotency.Answer, error)
	// ChangeDraw decides on a withdrawal under its lock, and stores the answer.
	ChangeDraw(ctx context.Context, c Changing, rule ChangeRule) (idempotency.Answer, error)
	// Draw is a withdrawal of a merchant.
	Draw(ctx context.Context, o tenant.Owner, drawID string) (draw.Draw, error)
	// AnyDraw is the withdrawal of an id, for operators.
	AnyDraw(ctx context.Context, drawID string) (draw.Draw, error)
	// Draws lists the withdrawals of a merchant, newest first.
	Draws(ctx context.Context, o tenant.Owner, before string, most int) ([]draw.Draw, error)
	// WaitingDraws lists withdrawals that wait for operators or for the end of a cancellation, newest first.
	WaitingDraws(ctx context.Context, before string, most int) ([]draw.Draw, error)
}

// EntryRule decides on a new entry. known are the merchant's entries.
type EntryRule func(now time.Time, known []draw.Entry) (draw.Entry, idempotency.Answer, error)

// Asked is the state on which a request is decided.
type Asked struct {
	Now   time.Time
	Entry draw.Entry
	Spent decimal.Decimal // worth of the merchant's withdrawals of the last 24 hours, in US dollars
	Open  int             // the merchant's withdrawals that have not ended
}

// Ruling is the result of a decision. Without steps the withdrawal stays as it is.
type Ruling struct {
	Steps     []draw.Draw // after each change that has an event, and the last one
	Commands  []change.Command
	Waits     *approval.Request // the request of the first of two operators
	Withdrawn bool              // the open request of an operator is withdrawn
	Audit     *change.AuditNote
	Alerts    []payment.Alert
	Refused   error // the caller's error, though the change is kept
	Answer    idempotency.Answer
}

// RequestRule decides on a request.
type RequestRule func(Asked) (Ruling, error)

// Changing names a withdrawal that is to change: of a merchant, where there is one, by a request or by a message.
type Changing struct {
	DrawID    string
	Owner     *tenant.Owner
	Key       idempotency.Key
	MessageID string
	Spends    bool // it approves, alone at a time for a merchant
}

// Current is the state on which a change is decided.
type Current struct {
	Draw   draw.Draw
	Now    time.Time
	Open   *approval.Request
	Listed bool            // the entry is still in the address book
	Spent  decimal.Decimal // of one that is approved: worth of the merchant's others of the last 24 hours
}

// ChangeRule decides on a change.
type ChangeRule func(Current) (Ruling, error)

// Rules are the settings of withdrawals.
type Rules struct {
	Fees     draw.Fees
	Networks []string        // on which withdrawals of live mode leave
	Limits   draw.Limits     // of live mode
	Above    decimal.Decimal // worth in US dollars of 24 hours, above which a live withdrawal needs operators
	Hold     time.Duration   // of a new address, in live mode
	// Contracts are those of live mode's tokens that differ from the listed ones.
	Contracts draw.Contracts
}

// contract is that of an asset in a mode, "" of a coin.
func (r Rules) contract(mode tenant.Mode, pair quote.Pair, asset money.Asset) string {
	if own := r.Contracts[pair]; mode == tenant.Live && own != "" {
		return own
	}
	return asset.Contract
}

// Draws holds the use cases.
type Draws struct {
	Rules
	Store     Store
	Access    *access.Payments
	Providers map[tenant.Mode]provider.Set
	Screening admission.Screening
	Policy    payment.Policy
	Pauses    *admission.Pauses
	Terms     *admission.Terms
	Scans     *admission.Scans
	Signing   refunds.Keys
	Blind     *keyring.Ring // hashes requests of operators
	Shard     shard.Code
	Recovery  bool // the restored database lacks the withdrawals of the lost time
}

// The refusals of withdrawals.
var (
	ErrNotFound  = fault.New(fault.NotFound, "withdrawal_not_found", "Withdrawal not found")
	ErrNoEntry   = fault.New(fault.NotFound, "address_not_found", "Address not found in the address book")
	errKnown     = fault.New(fault.Conflict, "address_known", "The address book has this address already.")
	errFull      = fault.New(fault.Conflict, "address_book_full", "The address book is full. Remove an address first.")
	errInternal  = fault.New(fault.Conflict, "withdrawal_address_internal", "The address belongs to this service. Name another one.")
	errListed    = fault.New(fault.Conflict, "withdrawal_address_refused", "Nothing may be sent to the address. Name another one.")
	errRemoved   = fault.New(fault.Conflict, "withdrawal_address_removed", "The address is in the merchant's address book no more.")
	errClosed    = fault.New(fault.Conflict, "withdrawals_closed", "Withdrawals of this crypto on this network are not open.").Closed()
	errRecovery  = fault.New(fault.Unavailable, "withdrawals_paused", "Withdrawals are paused until lost data is restored. Try again later.").After(time.Minute).Closed()
	errPaused    = fault.New(fault.Unavailable, "withdrawals_paused", "Withdrawals on this network are paused right now. Try again later.").After(time.Minute).Closed()
	errNoPrice   = fault.New(fault.Unavailable, "rate_unavailable", "There is no current price of the crypto. Try again later.").After(10 * time.Second)
	errTooMany   = fault.New(fault.Conflict, "too_many_withdrawals", "Too many withdrawals have not ended. Wait for one, or cancel one.")
	errDecided   = fault.New(fault.Conflict, "withdrawal_decided", "The withdrawal is decided already.")
	errNotCancel = fault.New(fault.Conflict, "withdrawal_not_cancellable", "Only a withdrawal that is requested, approved or signing can be cancelled.")
)

// bookMost bounds the address book of a merchant.
const bookMost = 200

// openMost bounds the withdrawals of a merchant in a mode that have not ended.
const openMost = 100

// place is what an address is judged by besides its form; it needs other tables, which nobody asks under a lock.
type place struct{ ours, listed bool }

// judge looks an address up. A screener that fails, and in live mode an outdated list, stop everything.
func (a *Draws) judge(ctx context.Context, mode tenant.Mode, network, to string) (p place, err error) {
	if p.ours, err = a.Access.Ours(ctx, to); err != nil || !a.Policy.Screen {
		return p, err
	}
	verdict, err := a.Screening.Destination(ctx, mode, network, to)
	p.listed = verdict.Hit
	return p, err
}

func (p place) refusal() error {
	switch {
	case p.ours:
		return errInternal
	case p.listed:
		return errListed
	}
	return nil
}

// NewEntry is the decoded body of POST /v1/wallets/address-book.
type NewEntry struct{ Network, Address, Label string }

// Add puts an address into the address book of a merchant.
func (a *Draws) Add(ctx context.Context, o tenant.Owner, e NewEntry, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	n, known := money.NetworkOf(e.Network)
	if !known {
		problems.Add("network", "is not supported. Supported: %s", money.Pairs())
	}
	switch err := address.CheckOwner(n.Family, a.Policy.Net(payment.Payment{Mode: o.Mode}), e.Address); {
	case e.Address == "":
		problems.Add("address", "is required")
	case !known:
	case errors.Is(err, address.ErrShape):
		problems.Add("address", "is no address of %s", n.Name)
	case err != nil:
		problems.Add("address", "%s", err.Error())
	}
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	to := address.Canonical(n.Family, e.Address)
	judged, err := a.judge(ctx, o.Mode, n.Name, to)
	if err == nil {
		err = judged.refusal()
	}
	if err != nil {
		return idempotency.Answer{}, err
	}
	return a.settled(ctx, k)(a.Store.AddEntry(ctx, o, k, func(now time.Time, known []draw.Entry) (draw.Entry, idempotency.Answer, error) {
		entry := draw.Entry{
			ID: id.Placed(id.Payee, a.Shard, now), Mode: o.Mode, MerchantID: o.MerchantID, Network: n.Name, Address: to, Label: e.Label, CreatedBy: keyOf(o),
			CreatedAt: now, UsableAt: now,
		}
		if o.Mode == tenant.Live {
			entry.UsableAt = now.Add(a.Hold)
		}
		switch {
		case slices.ContainsFunc(known, func(x draw.Entry) bool { return x.Network == n.Name && x.Address == to }):
			return entry, idempotency.Answer{}, errKnown
		case len(known) >= bookMost:
			return entry, idempotency.Answer{}, errFull
		}
		body, err := views.Encode(views.EntryAnswer{Success: true, Address: views.EntryOf(entry)})
		return entry, idempotency.Answer{Status: change.StatusCreated, Body: body}, err
	}))
}

// settled answers with the stored answer of a request that another one has overtaken.
func (a *Draws) settled(ctx context.Context, k idempotency.Key) func(idempotency.Answer, error) (idempotency.Answer, error) {
	return func(answer idempotency.Answer, err error) (idempotency.Answer, error) {
		if errors.Is(err, idempotency.ErrTaken) {
			return a.Access.Settled(ctx, k)
		}
		// A refused request may have waited for the lock of the other one, whose effect is the reason of the refusal.
		if _, refused := errors.AsType[*fault.Error](err); refused {
			if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
				return earlier, err
			}
		}
		return answer, err
	}
}

func keyOf(o tenant.Owner) string { return "key " + strconv.FormatInt(o.KeyID, 10) }

// Remove takes an address out of the address book. Requests to it that wait for operators cannot be approved any more.
func (a *Draws) Remove(ctx context.Context, o tenant.Owner, entryID string) ([]byte, error) {
	if err := a.Store.RemoveEntry(ctx, o, entryID, keyOf(o)); err != nil {
		return nil, err
	}
	return []byte(`{"success":true}`), nil
}

// Book is the body of GET /v1/wallets/address-book.
func (a *Draws) Book(ctx context.Context, o tenant.Owner, before string, limit int) ([]byte, error) {
	rows, err := a.Store.BookEntries(ctx, o, before, limit+1)
	if err != nil {
		return nil, err
	}
	rows, p := views.PageOf(rows, limit, func(e draw.Entry) string { return e.ID })
	out := make([]views.EntryView, 0, len(rows))
	for _, e := range rows {
		out = append(out, views.EntryOf(e))
	}
	return views.Encode(views.BookAnswer{Success: true, Addresses: out, Pagination: p})
}

// opens reports whether withdrawals of a pair leave in a mode.
func (a *Draws) opens(mode tenant.Mode, pair quote.Pair) bool {
	_, priced := a.Fees[pair]
	if mode != tenant.Live {
		return priced
	}
	return priced && a.Signing[refund.Automatic] != nil && a.Signing[refund.ByOperator] != nil && slices.Contains(a.Networks, pair.Network)
}

// Charges is the body of GET /v1/wallets/withdrawals/fees.
func (a *Draws) Charges(o tenant.Owner) ([]byte, error) {
	out := views.ChargesAnswer{Success: true, Fees: []views.ChargeView{}}
	for _, n := range money.Networks() {
		for _, asset := range n.Assets {
			pair := quote.Pair{Network: n.Name, Crypto: asset.Symbol}
			if fee, ok := a.Fees[pair]; ok {
				out.Fees = append(out.Fees, views.ChargeView{
					Crypto: asset.Symbol, Network: n.Name, Fee: money.Canonical(fee), Minimum: money.Canonical(fee), Open: a.opens(o.Mode, pair),
				})
			}
		}
	}
	return views.Encode(out)
}

// lacks reports whether withdrawals of a mode may have been approved, and paid, in a time that a restore has lost.
func (a *Draws) lacks(mode tenant.Mode) bool { return a.Recovery && mode == tenant.Live }

// may refuses a withdrawal that must not leave now.
func (a *Draws) may(o tenant.Owner, pair quote.Pair, to place) error {
	mode := o.Mode
	switch {
	case a.Terms.Suspended(o.MerchantID) != nil:
		return admission.ErrSuspended
	case !a.opens(mode, pair):
		return errClosed
	case to.refusal() != nil:
		return to.refusal()
	case a.Pauses.Refunds("", pair.Network) != nil:
		return errPaused
	}
	return a.Scans.Quotes(o, pair.Network)
}

// Order is the decoded body of POST /v1/wallets/withdrawals.
type Order struct {
	Crypto, Network, EntryID string
	Amount                   decimal.Decimal
	Given                    bool             // there is an amount
	Fee                      *decimal.Decimal // the fee that the merchant has seen, if it says so
}

// check finds the pair of a request and the broken rules that need no row.
func (d Order) check(problems *fault.Problems) (n money.Network, asset money.Asset) {
	n, onNetwork := money.NetworkOf(d.Network)
	asset, listed := n.Asset(d.Crypto)
	switch {
	case d.Network == "":
		problems.Add("network", "is required")
	case d.Crypto == "":
		problems.Add("crypto", "is required")
	case !onNetwork:
		problems.Add("network", "is not supported. Supported: %s", money.Pairs())
	case !listed:
		problems.Add("crypto", "%q on %s is not supported. Supported: %s", d.Crypto, n.Name, money.Pairs())
	}
	switch {
	case !d.Given:
		problems.Add("amount", "is required")
	case !d.Amount.IsPositive() || d.Amount.GreaterThan(money.Max):
		problems.Add("amount", "must be greater than 0")
	case listed && money.Digits(d.Amount) > asset.Decimals:
		problems.Add("amount", "must have at most %d decimal places for %s on %s", asset.Decimals, asset.Symbol, n.Name)
	}
	if d.EntryID == "" {
		problems.Add("addressId", "is required")
	}
	return n, asset
}

// Request makes a withdrawal for a merchant. It approves itself while the worth of 24 hours is within the bound, and in
// test mode.
func (a *Draws) Request(ctx context.Context, o tenant.Owner, d Order, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	n, asset := d.check(problems)
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	entry, err := a.Store.BookEntry(ctx, o, d.EntryID)
	if err != nil {
		return idempotency.Answer{}, err
	}
	if a.lacks(o.Mode) {
		return idempotency.Answer{}, errRecovery
	}
	if entry.Network != n.Name {
		problems.Add("addressId", "is an address on %s", entry.Network)
		return idempotency.Answer{}, problems.Err()
	}
	pair := quote.Pair{Network: n.Name, Crypto: asset.Symbol}
	to, err := a.judge(ctx, o.Mode, n.Name, entry.Address)
	if err == nil {
		err = a.may(o, pair, to)
	}
	if err != nil {
		return idempotency.Answer{}, err
	}
	charge := a.Fees[pair]
	switch {
	case d.Fee != nil && !d.Fee.Equal(charge):
		return idempotency.Answer{}, fault.New(fault.Conflict, "fee_changed", "The fee is %s %s now.", money.Canonical(charge), asset.Symbol)
	case d.Amount.LessThan(charge):
		f := fault.New(fault.Invalid, "amount_below_minimum", "amount: must be at least %s %s", money.Canonical(charge), asset.Symbol)
		f.Fields = []fault.Field{{Field: "amount", Message: f.Message}}
		return idempotency.Answer{}, f
	}
	worth, err := a.worth(o.Mode, asset.Symbol, d.Amount.Add(charge))
	if err != nil {
		return idempotency.Answer{}, err
	}
	return a.settled(ctx, k)(a.Store.RequestDraw(ctx, o, k, entry.ID, func(s Asked) (Ruling, error) {
		w := draw.Draw{
			Refund: refund.Refund{
				ID: id.Placed(id.Draw, a.Shard, s.Now), Mode: o.Mode, Network: n.Name, Asset: asset.Symbol, Contract: a.contract(o.Mode, pair, asset), Amount: d.Amount,
				Address: s.Entry.Address, RequestedBy: keyOf(o), State: refund.Requested, Version: 1, CreatedAt: s.Now,
			},
			MerchantID: o.MerchantID, EntryID: s.Entry.ID, Charge: charge, USD: worth, Sequence: 1,
		}
		return a.request(w, s)
	}))
}

// worth is an amount in US dollars, rounded up to cents. Limits and the bound of automatic approvals rest on it.
func (a *Draws) worth(mode tenant.Mode, asset string, amount decimal.Decimal) (decimal.Decimal, error) {
	set, open := a.Providers[mode]
	if !open {
		return decimal.Decimal{}, errClosed
	}
	r, err := set.Rates.Quote(money.NGN, asset)
	if err != nil {
		return decimal.Decimal{}, errNoPrice.Because(err)
	}
	unit := r.UnitUSD()
	if !unit.IsPositive() { // nothing would count towards the limit
		return decimal.Decimal{}, errNoPrice
	}
	return money.Up(amount.Mul(unit), money.FiatDigits), nil
}

// within refuses a live withdrawal that passes the limit of its merchant. spent is the worth of the others of 24 hours.
func (a *Draws) within(w draw.Draw, spent decimal.Decimal) error {
	limit := a.Limits.Of(w.MerchantID)
	if w.Mode != tenant.Live || spent.Add(w.USD).LessThanOrEqual(limit) {
		return nil
	}
	return fault.New(fault.Invalid, "daily_limit_exceeded", "The limit of withdrawals within 24 hours is %s US dollars, and %s are used.",
		money.Canonical(limit), money.Canonical(spent))
}

// request decides on a request that passed every check outside of the lock.
func (a *Draws) request(w draw.Draw, s Asked) (Ruling, error) {
	live := w.Mode == tenant.Live
	if live && s.Now.Before(s.Entry.UsableAt) {
		until := s.Entry.UsableAt
		return Ruling{}, fault.New(fault.Conflict, "withdrawal_address_held", "The address is new, so no withdrawal goes there before %s", timestamp.Text(until)).
			After(until.Sub(s.Now))
	}
	if err := a.within(w, s.Spent); err != nil {
		return Ruling{}, err
	}
	if s.Open >= openMost {
		return Ruling{}, errTooMany
	}
	r := Ruling{Steps: []draw.Draw{w}}
	if !live || s.Spent.Add(w.USD).LessThanOrEqual(a.Above) {
		if err := a.approve(&r, w, refund.Automatic, s.Now); err != nil {
			return Ruling{}, err
		}
	}
	body, err := views.Encode(views.DrawAnswer{Success: true, Withdrawal: views.DrawOf(r.Steps[len(r.Steps)-1])})
	r.Answer = idempotency.Answer{Status: change.StatusCreated, Body: body}
	return r, err
}

// approve adds the approval of a withdrawal, and the message with its signed order, to a ruling.
func (a *Draws) approve(r *Ruling, w draw.Draw, by refund.Approval, now time.Time) error {
	next, _, err := w.Apply(refund.Trigger{Name: refund.OnApprove, Approval: by}, now)
	if err != nil {
		return errDecided
	}
	c, err := Command(a.Signing, next, now)
	if err != nil {
		return err
	}
	r.Steps, r.Commands = append(r.Steps, next), append(r.Commands, c)
	return nil
}

// Command is the message with the signed order of an approved withdrawal. Test mode may have no keys.
func Command(keys refunds.Keys, w draw.Draw, now time.Time) (change.Command, error) {
	key := keys[w.Approval]
	if key == nil && w.Mode == tenant.Live {
		return change.Command{}, errClosed
	}
	n, _ := money.NetworkOf(w.Network)
	asset, _ := n.Asset(w.Asset)
	m := wire.RefundApproved{
		Approved: w.Order().Approve(key, w.ApprovedAt), MerchantID: w.MerchantID, Charge: asset.ToUnits(w.Charge).String(),
		Cancelled: w.Cancelled == refund.CancelRequested,
	}
	if w.State == refund.Confirmed {
		m.PaidBy = w.TxHash
	}
	return change.Command{Name: wire.RefundApprovedV1, ID: id.New(id.Message, now), Payload: m}, m.Check()
}

// Show is the body of GET /v1/wallets/withdrawals/{id}.
func (a *Draws) Show(ctx context.Context, o tenant.Owner, drawID string) ([]byte, error) {
	w, err := a.Store.Draw(ctx, o, drawID)
	if err != nil {
		return nil, err
	}
	return views.Encode(views.DrawAnswer{Success: true, Withdrawal: views.DrawOf(w)})
}

// List is the body of GET /v1/wallets/withdrawals.
func (a *Draws) List(ctx context.Context, o tenant.Owner, before string, limit int) ([]byte, error) {
	rows, err := a.Store.Draws(ctx, o, before, limit+1)
	if err != nil {
		return nil, err
	}
	rows, p := views.PageOf(rows, limit, func(w draw.Draw) string { return w.ID })
	out := make([]views.DrawView, 0, len(rows))
	for _, w := range rows {
		out = append(out, views.DrawOf(w))
	}
	return views.Encode(views.DrawsAnswer{Success: true, Withdrawals: out, Pagination: p})
}
