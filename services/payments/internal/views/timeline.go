package views

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
)

// Step is a change of a payment's state, as the history holds it.
type Step struct {
	To        payment.State
	Exception payment.Exception
	At        time.Time
}

// Past is what has happened to a payment.
type Past struct {
	Steps   []Step           // oldest first
	Payouts []*payout.Payout // every attempt, oldest first
}

// The kinds of entries of a timeline.
const (
	entryStatus   = "status"
	entryQuote    = "quote"
	entryTransfer = "transfer"
	entryPayout   = "payout"
	entryRefund   = "refund"
)

// entry is one thing that happened. The member that its kind names is present.
type entry struct {
	At       string         `json:"at"`
	Kind     string         `json:"kind"`
	Status   *statusEntry   `json:"status,omitempty"`
	Quote    *quoteEntry    `json:"quote,omitempty"`
	Transfer *transferEntry `json:"transfer,omitempty"`
	Payout   *payoutEntry   `json:"payout,omitempty"`
	Refund   *refundEntry   `json:"refund,omitempty"`
	at       time.Time
}

type statusEntry struct {
	Status    payment.Status     `json:"status"`
	Exception *payment.Exception `json:"exception"`
}

type quoteEntry struct {
	Crypto         string         `json:"crypto"`
	Network        string         `json:"network"`
	CryptoAmount   json.Number    `json:"cryptoAmount"`
	FiatAmount     json.Number    `json:"fiatAmount"`
	FiatCurrency   money.Currency `json:"fiatCurrency"`
	Rate           json.Number    `json:"rate"`
	Charge         charge         `json:"charge"`
	DepositAddress string         `json:"depositAddress"`
	ExpiresAt      string         `json:"expiresAt"`
}

type transferEntry struct {
	TxHash        string      `json:"txHash"`
	ExplorerURL   *string     `json:"explorerUrl"`
	Crypto        string      `json:"crypto"`
	Network       string      `json:"network"`
	Amount        json.Number `json:"amount"`
	Confirmations int64       `json:"confirmations"`
	Required      *int64      `json:"requiredConfirmations"`
	Reverted      bool        `json:"reverted"`
	BlockHeight   *int64      `json:"blockHeight"`
	MinedAt       *string     `json:"minedAt"`
}

type payoutEntry struct {
	PayoutView
	Attempt int     `json:"attempt"`
	SentAt  *string `json:"sentAt"`
	EndedAt *string `json:"endedAt"`
}

type refundEntry struct {
	RefundView
	ExplorerURL *string `json:"explorerUrl"`
}

type timelineAnswer struct {
	Success  bool     `json:"success"`
	Timeline timeline `json:"timeline"`
}

type timeline struct {
	ID        string  `json:"id"`
	Reference string  `json:"reference"`
	Entries   []entry `json:"entries"`
}

// Timeline is the body of GET /v1/payments/:reference/timeline.
func (a *Reader) Timeline(ctx context.Context, o tenant.Owner, reference string) ([]byte, error) {
	if !id.IsPaymentReference(reference) {
		return nil, change.ErrNotFound
	}
	v, err := a.Store.Find(ctx, o, reference)
	if err != nil {
		return nil, err
	}
	past, err := a.Store.Past(ctx, v.Payment.ID)
	if err != nil {
		return nil, err
	}
	return Encode(timelineAnswer{true, timeline{v.Payment.ID, v.Payment.Reference, entries(v, past, a.Depths)}})
}

// entries lists everything, oldest first; what happened at one time is in the order of a payment's life.
func entries(v change.View, past Past, depths payment.Depths) []entry {
	out := statusEntries(past.Steps)
	p := v.Payment
	if q := p.Quote; q.Priced() {
		at := p.CreatedAt
		if !p.FulfilledAt.IsZero() {
			at = p.FulfilledAt
		}
		out = append(out, entry{Kind: entryQuote, at: at, Quote: &quoteEntry{
			Crypto: q.Crypto, Network: p.NetworkName, CryptoAmount: money.Text(q.CryptoAmount), FiatAmount: money.Text(p.FiatAmount), FiatCurrency: p.Currency,
			Rate: money.Text(q.Rate.Value), Charge: charge{money.Text(q.Charge.Fiat), money.Text(q.Charge.Crypto), money.Text(q.Charge.USD)},
			DepositAddress: p.Address, ExpiresAt: timestamp.Text(p.ExpiresAt),
		}})
	}
	for _, d := range v.Rows {
		t := transferEntry{
			TxHash: d.TxHash, ExplorerURL: explorer(p.Mode, d.Network, d.TxHash), Crypto: d.Asset, Network: d.Network, Amount: money.Text(d.Amount),
			Confirmations: d.Confirmations(v.Heads[d.Network].Height), Reverted: d.Reverted, MinedAt: timestamp.OrNull(d.BlockTime),
		}
		if need := depths.Required(d.Network, d.Asset, p.Quote.TransactionUSD); need.Confirmations > 0 {
			t.Required = &need.Confirmations
		}
		if d.BlockHeight > 0 {
			t.BlockHeight = &d.BlockHeight
		}
		out = append(out, entry{Kind: entryTransfer, at: d.FirstSeenAt, Transfer: &t})
	}
	for _, o := range past.Payouts {
		out = append(out, entry{Kind: entryPayout, at: o.CreatedAt, Payout: &payoutEntry{
			PayoutViewOf(*o), o.Attempt, timestamp.OrNull(o.SentAt), timestamp.OrNull(o.DoneAt),
		}})
	}
	for _, r := range v.Refunds {
		out = append(out, entry{Kind: entryRefund, at: r.CreatedAt, Refund: &refundEntry{RefundOf(r), explorer(p.Mode, r.Network, r.TxHash)}})
	}
	slices.SortStableFunc(out, func(a, b entry) int { return a.at.Compare(b.at) })
	for i := range out {
		out[i].At = timestamp.Text(out[i].at)
	}
	return out
}

// statusEntries leaves out the steps that a merchant cannot tell from the one before.
func statusEntries(steps []Step) []entry {
	out := []entry{}
	for i, s := range steps {
		status := s.To.Status()
		if i > 0 && status == steps[i-1].To.Status() && s.Exception == steps[i-1].Exception {
			continue
		}
		e := &statusEntry{Status: status}
		if s.Exception != payment.None {
			e.Exception = &s.Exception
		}
		out = append(out, entry{Kind: entryStatus, at: s.At, Status: e})
	}
	return out
}

// explorer is a public page about a transaction; nil in test mode, whose chains nobody else knows.
func explorer(mode tenant.Mode, network, hash string) *string {
	n, ok := money.NetworkOf(network)
	if !ok || mode != tenant.Live {
		return nil
	}
	page := n.TransactionPage(hash)
	if page == "" {
		return nil
	}
	return &page
}
