package payment

import (
	"slices"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/refund"
)

// Owed is the money of one asset on one network that is owed to the payer (docs/architecture.md#refunds).
type Owed struct {
	Network  string
	Asset    string
	Contract string          // of a token, "" for the coin of the network
	Amount   decimal.Decimal // most that a refund may take now
	Free     decimal.Decimal // part of Amount that a refund takes without reversing the conversion
}

// Owed lists what is owed to the payer and may leave now, by asset and network. It excludes money that a running
// payment may still convert or pay out, money that a refund holds or has returned, and sums that are not worth the fee
// of their network. A payment that waits for an operator owes the converted money too, because a refund reverses the
// conversion.
func (pol Policy) Owed(p Payment, rows []Deposit, refunds []refund.Refund) []Owed {
	c := change{pol: pol, p: p, rows: rows, refunds: refunds}
	return c.owed()
}

func (c *change) owed() (out []Owed) {
	for _, d := range c.rows {
		if d.Booked == "" {
			continue
		}
		i := slices.IndexFunc(out, func(o Owed) bool { return o.Network == d.Network && o.Asset == d.Asset })
		if i < 0 {
			i, out = len(out), append(out, Owed{Network: d.Network, Asset: d.Asset, Contract: d.Contract})
		}
		out[i].Amount = out[i].Amount.Add(d.BookedAmount)
	}
	for i := range out {
		o := &out[i]
		for _, d := range c.rows { // also of a transfer that was reorged away after a refund took its money
			if d.Network == o.Network && d.Asset == o.Asset {
				o.Amount = o.Amount.Sub(d.Refunded)
			}
		}
		for _, r := range c.refunds {
			if r.Reserves() && r.Network == o.Network && r.Asset == o.Asset {
				o.Amount = o.Amount.Sub(r.Amount)
			}
		}
		if o.Free = o.Amount; c.quotes(*o) {
			c.exclude(o)
		}
	}
	return slices.DeleteFunc(out, func(o Owed) bool { return !o.Amount.IsPositive() || o.Amount.LessThan(c.least(o.Network, o.Asset)) })
}

// exclude takes out the money of the quoted asset that the payment has converted or may still convert.
func (c *change) exclude(o *Owed) {
	if c.p.Credit.Frozen {
		o.Free = o.Free.Sub(c.p.Credit.Crypto)
	}
	switch {
	case c.converts():
		o.Amount, o.Free = decimal.Zero, decimal.Zero
	case c.p.Status() != StatusNeedsReview, c.p.Payout.paysNow():
		o.Amount = o.Free
	}
}

// reserved reports a request for converted money that waits for its approval.
func (c *change) reserved() bool { return slices.ContainsFunc(c.refunds, refund.Refund.Reserves) }

// quotes reports the quoted asset on the quoted network.
func (c *change) quotes(o Owed) bool { return c.p.quoted(Deposit{Network: o.Network, Asset: o.Asset}) }

// converts reports a running payment, which may still convert money of the quoted asset. A payment whose payout has
// left converts nothing more.
func (c *change) converts() bool {
	switch c.p.State() {
	case created, pending, confirming, confirmed, unfunded:
		return true
	case settling:
		return !c.p.Payout.Left()
	case StateNone, settled, expired, cancelled, review, refunded:
	}
	return false
}

// least is the smallest sum that a refund returns: about the fee of its network, taken as a tenth of the amount that is
// worth collecting. Fees of test mode are nobody's.
func (c *change) least(network, asset string) decimal.Decimal {
	if c.p.Mode != tenant.Live {
		return decimal.Zero
	}
	n, _ := money.NetworkOf(network)
	a, _ := n.Asset(asset)
	return a.Worthwhile.Shift(-1)
}

// refunding reports that a refund has taken money of the quoted asset. From then on the payment converts nothing: the
// rest can only be refunded.
func (c *change) refunding() bool {
	return slices.ContainsFunc(c.rows, func(d Deposit) bool { return c.p.quoted(d) && d.Refunded.IsPositive() })
}

// The refusals of refunds.
var (
	errNoRefundAddress = fault.New(fault.Conflict, "no_refund_address", "The payer's refund address has to be given first")
	errNothingOwed     = fault.New(fault.Conflict, "nothing_owed", "Nothing is owed to the payer that could be refunded now")
	errRefundBegun     = fault.New(fault.Conflict, "refund_begun", "A refund has taken money of this payment, so the rest can only be refunded")
	errAddressChanged  = fault.New(fault.Conflict, "refund_address_changed", "The refund address has changed since the request. Request the refund again.")
	errMoneyGone       = fault.New(fault.Conflict, "deposit_not_final",
		"A deposit of this refund has left its chain. Wait until it is back, or refuse the refund.")
	errOneHost = fault.New(fault.Conflict, "deposit_not_final",
		"Fewer than two hosts have shown a deposit of this refund. Wait until a second one has.")
	errRefundOpen = fault.New(fault.Conflict, "refund_open", "A refund of this payment is under way. Wait until it is confirmed or has failed.")
)

// ChooseOwed is what is owed in the named asset and network. Empty names choose the only one; of several the caller has
// to name one.
func ChooseOwed(owed []Owed, crypto, network string) (Owed, error) {
	found := slices.DeleteFunc(slices.Clone(owed), func(o Owed) bool {
		return crypto != "" && symbol(crypto) != o.Asset || network != "" && networkName(network) != o.Network
	})
	switch {
	case len(found) == 0:
		return Owed{}, errNothingOwed
	case len(found) == 1:
		return found[0], nil
	}
	choices := ""
	for _, o := range found {
		if choices != "" {
			choices += ", "
		}
		choices += o.Asset + " on " + o.Network
	}
	var several fault.Problems
	field := "crypto"
	if crypto != "" {
		field = "network"
	}
	several.Add(field, "is required, because several assets are owed: %s", choices)
	return Owed{}, several.Err()
}

func networkName(name string) string {
	if n, ok := money.NetworkOf(clean(name)); ok {
		return n.Name
	}
	return name
}

// requestRefund holds the money of a new refund. More than the free money is only reserved: its approval reverses the
// conversion, because until then the payout may turn out to be paid.
func (c *change) requestRefund(t RequestRefund) error {
	r := t.Refund
	if c.p.RefundAddress == "" {
		return errNoRefundAddress
	}
	if err := c.held(); err != nil {
		return err
	}
	owed, err := c.owedFor(&r)
	if err != nil {
		return err
	}
	if least := c.least(r.Network, r.Asset); r.Amount.LessThan(least) {
		var small fault.Problems
		small.Add("amount", "must be at least %s %s, because a smaller refund costs more than it brings", least, r.Asset)
		return small.Err()
	}
	r.PaymentID, r.Mode, r.Contract, r.Address = c.p.ID, c.p.Mode, owed.Contract, c.p.RefundAddress
	r.State, r.Version, r.CreatedAt = refund.Requested, 1, c.now
	c.p.Refunds++
	if r.Amount.LessThanOrEqual(owed.Free) {
		c.hold(&r)
	}
	c.keepRefund(r, true)
	return nil
}

// owedFor is what is owed in the asset of a refund, which takes all of it where it names no amount.
func (c *change) owedFor(r *refund.Refund) (Owed, error) {
	all := c.owed()
	i := slices.IndexFunc(all, func(o Owed) bool { return o.Network == r.Network && o.Asset == r.Asset })
	if i < 0 {
		return Owed{}, errNothingOwed
	}
	owed := all[i]
	if r.Amount.IsZero() {
		r.Amount = owed.Amount
	}
	if r.Amount.GreaterThan(owed.Amount) {
		return owed, fault.New(fault.Conflict, "amount_above_owed", "Only %s %s on %s is owed to the payer", owed.Amount, owed.Asset, owed.Network)
	}
	return owed, nil
}

// holdReserved holds the money of a request that only reserved it. It reverses the conversion where that is still
// needed, and refuses money that is no longer owed.
func (c *change) holdReserved(r *refund.Refund) error {
	owed, err := c.owedFor(r)
	if err != nil {
		return err
	}
	if r.Amount.GreaterThan(owed.Free) {
		c.unconvert()
		c.p.Credit.Frozen = false
	}
	c.hold(r)
	return nil
}

// hold takes the money of a refund from deposits and from the accounts that owe it. Deposits that were converted come
// last, because only their surplus is free. The payer's account has no more of it than its balance; the rest is in
// suspense, where a converted transfer is booked that was mined again with another amount.
func (c *change) hold(r *refund.Refund) {
	left, balance := r.Amount, c.customer(*r)
	for _, converted := range []bool{false, true} {
		for i := range c.rows {
			d := &c.rows[i]
			part := decimal.Min(left, d.BookedAmount.Sub(d.Refunded))
			if d.Booked == "" || d.Network != r.Network || d.Asset != r.Asset || d.Counted.IsPositive() != converted || !part.IsPositive() {
				continue
			}
			payers := decimal.Zero
			if d.Booked == bookedCustomer || converted {
				payers = decimal.Min(part, balance)
			}
			balance = balance.Sub(payers)
			if payers.IsPositive() {
				r.Parts = append(r.Parts, refund.Part{Deposit: d.Key, From: refund.Customer, Amount: payers})
			}
			if rest := part.Sub(payers); rest.IsPositive() {
				r.Parts = append(r.Parts, refund.Part{Deposit: d.Key, From: refund.Suspense, Amount: rest})
			}
			d.Refunded, left = d.Refunded.Add(part), left.Sub(part)
			c.mark(*d)
		}
	}
	c.post(payback(*r).Held())
}

// customer is the balance of the payer's account in the asset of a refund, never more than the ledger has.
func (c *change) customer(r refund.Refund) (balance decimal.Decimal) {
	for _, d := range c.rows {
		switch {
		case d.Network != r.Network || d.Asset != r.Asset:
		case d.Booked == bookedCustomer:
			balance = balance.Add(d.BookedAmount)
		default:
			balance = balance.Add(d.Counted)
		}
	}
	if c.p.Credit.Frozen && c.quotes(Owed{Network: r.Network, Asset: r.Asset}) {
		balance = balance.Sub(c.p.Credit.Crypto)
	}
	for _, o := range c.refunds {
		if o.State == refund.Failed || o.Network != r.Network || o.Asset != r.Asset {
			continue
		}
		for _, part := range o.Parts {
			if part.From == refund.Customer {
				balance = balance.Sub(part.Amount)
			}
		}
	}
	return decimal.Max(balance, decimal.Zero)
}

// payback is a refund for the ledger.
func payback(r refund.Refund) ledger.Payback {
	n, _ := money.NetworkOf(r.Network)
	out := ledger.Payback{
		Payment: r.PaymentID, Refund: r.ID, N: r.Finals, Network: r.Network, Asset: r.Asset, Coin: n.Coin().Symbol, Fee: r.Fee,
	}
	for _, part := range r.Parts {
		from := ledger.Suspense(r.Asset)
		if part.From == refund.Customer {
			from = ledger.Customer(r.PaymentID, r.Asset)
		}
		out.Parts = append(out.Parts, ledger.PaybackPart{From: from, Amount: part.Amount})
	}
	return out
}

// changeRefund moves a refund and books what the move causes. A payment that waits for an operator ends when all that
// it owes is refunded, and waits again when such a refund turns out to have failed.
func (c *change) changeRefund(t ChangeRefund) error {
	r, effects, err := refund.Apply(t.Refund, t.Trigger, c.now)
	if err != nil {
		return err
	}
	if r.Version == t.Refund.Version {
		return nil
	}
	c.refunds = slices.DeleteFunc(slices.Clone(t.Refunds), func(o refund.Refund) bool { return o.ID == r.ID })
	if t.Trigger.Name == refund.OnApprove {
		if err := c.approvable(t.Refund); err != nil {
			return err
		}
		if t.Refund.Reserves() {
			if err := c.holdReserved(&r); err != nil {
				return err
			}
		}
	}
	for _, effect := range effects {
		switch effect {
		case refund.Book:
			c.post(payback(r).Confirmed())
		case refund.Reverse:
			c.post(payback(t.Refund).Reversed())
		case refund.GiveBack:
			c.giveBack(r)
		}
	}
	c.keepRefund(r, r.State != t.Refund.State || r.State == refund.Confirmed)
	others := slices.ContainsFunc(t.Refunds, func(o refund.Refund) bool { return o.ID != r.ID && o.State.Open() })
	switch {
	case r.State == refund.Confirmed && c.p.Status() == StatusNeedsReview && !c.p.Credit.Frozen && !others && len(c.owed()) == 0:
		c.p.End = Refunded
	case r.State == refund.Failed && t.Refund.Finals > 0 && c.p.End == Refunded && c.p.RefundTx == "":
		c.p.End = NotEnded
	}
	return nil
}

// approvable refuses to approve a refund while its address is held, after the address has changed, or of money that may
// not be here.
func (c *change) approvable(r refund.Refund) error {
	switch err := c.held(); {
	case err != nil:
		return err
	case r.Address != c.p.RefundAddress:
		return errAddressChanged
	}
	for _, d := range c.rows {
		takes := slices.ContainsFunc(r.Parts, func(p refund.Part) bool { return p.Deposit == d.Key })
		switch {
		case takes && d.Refunded.GreaterThan(d.BookedAmount):
			return errMoneyGone
		case (takes || r.Reserves() && d.Network == r.Network && d.Asset == r.Asset && d.Booked != "") && c.unseen(d):
			return errOneHost
		}
	}
	return nil
}

// unseen reports a deposit that one host alone may have invented, and that is worth so much that a second host is still
// asked about it. People who approve a refund of it could not know.
func (c *change) unseen(d Deposit) bool {
	return c.p.Mode == tenant.Live && c.pol.WitnessUSD.IsPositive() && d.Witness == WitnessPending && c.p.usd(d).GreaterThan(c.pol.WitnessUSD)
}

// endRequests fails the chosen requests that wait for an approval, and gives their money back.
func (c *change) endRequests(code string, chosen func(refund.Refund) bool) error {
	for i, r := range c.refunds {
		if r.State != refund.Requested || !chosen(r) {
			continue
		}
		ended, _, err := refund.Apply(r, refund.Trigger{Name: refund.OnRefuse, Failure: code}, c.now)
		if err != nil {
			return err
		}
		c.giveBack(ended)
		c.keepRefund(ended, true)
		c.refunds[i] = ended
	}
	return nil
}

// giveBack returns the money of a failed refund to what is owed, and books the fee of a transaction that failed.
func (c *change) giveBack(r refund.Refund) {
	c.post(payback(r).GivenBack())
	if r.TxHash != "" {
		n, _ := money.NetworkOf(r.Network)
		c.post(ledger.GasSpent(r.TxHash, n.Name, n.Coin().Symbol, r.Fee))
	}
	for _, part := range r.Parts {
		if i := slices.IndexFunc(c.rows, func(d Deposit) bool { return d.Key == part.Deposit }); i >= 0 {
			d := &c.rows[i]
			d.Refunded = d.Refunded.Sub(part.Amount)
			c.mark(*d)
		}
	}
}

// keepRefund stores a refund, and tells the merchant about a new state.
func (c *change) keepRefund(r refund.Refund, news bool) {
	c.facts = append(c.facts, KeepRefund{r})
	if news {
		c.event(EventRefund+string(r.State), false)
	}
}

// NeedsPerson reports a refund that a person has to approve at any amount. A sender of its asset is on a list or not
// judged, a deposit of it is too shallow for its worth, or no second host has confirmed it. Or a payout of the payment
// failed or came back, so that the money may have left.
func (pol Policy) NeedsPerson(p Payment, r refund.Refund, rows []Deposit) bool {
	if p.Mode != tenant.Live {
		return false
	}
	if p.Screening == Hit || p.Hold == HoldScreening || p.Hold == HoldUnverified || p.Reorged || p.Payout == PayoutFailed || p.Payout == PayoutReturned {
		return true
	}
	return slices.ContainsFunc(rows, func(d Deposit) bool {
		if d.Screening == Hit {
			return true
		}
		return d.Network == r.Network && d.Asset == r.Asset && d.Booked != "" && !pol.sure(p, d)
	})
}

// sure reports a deposit whose refund needs no person: deep enough for its worth, confirmed by a second host where the
// policy asks for one, and from senders that are on no list.
func (pol Policy) sure(p Payment, d Deposit) bool {
	witnessed := !pol.WitnessUSD.IsPositive() || d.Witness != WitnessPending && d.Witness != WitnessAlone
	return witnessed && d.Screening == Clear && pol.Depths.Required(d.Network, d.Asset, p.usd(d)).Met(d)
}

// usd is the worth of a deposit in US dollars. A coin without a known worth counts as more than any bound.
func (p Payment) usd(d Deposit) decimal.Decimal {
	switch {
	case p.quoted(d):
		return decimal.Max(p.risk(), d.Amount.Mul(p.Quote.Rate.UnitUSD()))
	case stable(d):
		return d.Amount
	case d.USD.IsPositive():
		return d.USD
	}
	return money.Max
}

// WorthInFiat is the worth of an amount of the payer's money in the payment's currency, at the rate that was locked. ok
// is false when the worth is not known.
func (p Payment) WorthInFiat(r refund.Refund, rows []Deposit) (worth decimal.Decimal, ok bool) {
	rate := p.Quote.Rate
	of := Deposit{Network: r.Network, Asset: r.Asset}
	switch {
	case p.quoted(of):
		return r.Amount.Mul(rate.Value), true
	case stable(of):
		return r.Amount.Mul(rate.USD), rate.USD.IsPositive()
	}
	var amount, usd decimal.Decimal
	for _, d := range rows {
		if d.Network == r.Network && d.Asset == r.Asset && d.USD.IsPositive() {
			amount, usd = amount.Add(d.Amount), usd.Add(d.USD)
		}
	}
	if !amount.IsPositive() || !rate.USD.IsPositive() {
		return decimal.Zero, false
	}
	return money.DivUp(r.Amount.Mul(usd).Mul(rate.USD), amount, money.FiatDigits), true
}
