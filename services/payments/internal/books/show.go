package books

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/views"
)

// ErrNotClosed is the answer about a day without a close.
var ErrNotClosed = fault.New(fault.NotFound, "day_not_closed", "This day is not closed")

// ErrMonthNotClosed is the answer about a month that has ended and may still get journals.
var ErrMonthNotClosed = fault.New(fault.Conflict, "not_closed",
	"This month has ended, and its last day is not closed yet. Its journals are final soon after midnight in UTC.")

// ErrMonthArchived is the answer about a month some of whose journals are in an archive.
var ErrMonthArchived = fault.New(fault.Conflict, "month_archived",
	"Journals of this month are archived. Operators can attach their payments again (docs/runbooks/archive.md).")

// ErrFuture refuses a reading of the future, which would keep later ones out.
var ErrFuture = errors.New("it was read in the future")

// errNoReport is the answer before the first report.
var errNoReport = fault.New(fault.Unavailable, "treasury_not_ready", "The report of the treasury has not been made yet. Try again in a minute.")

// TreasuryOf is the report of a closed day, or the last one for day "".
func (a *Books) TreasuryOf(ctx context.Context, mode tenant.Mode, day string) (Treasury, error) {
	t, found, err := a.Store.TreasuryReport(ctx, mode, day)
	switch {
	case err != nil:
		return t, err
	case !found && day != "":
		return t, ErrNotClosed
	case !found:
		return t, errNoReport
	}
	return t, nil
}

type cryptoView struct {
	Network       string        `json:"network"`
	Asset         string        `json:"asset"`
	Ledger        placesView    `json:"ledger"`
	Observed      *observedView `json:"observed"`
	Standalone    *money.Number `json:"standaloneWallets"`
	OnTheWay      *money.Number `json:"onTheWay"`
	Difference    *money.Number `json:"difference"`
	Last          *money.Number `json:"lastDifference"`
	Unread        bool          `json:"unread"`
	AsOf          *string       `json:"asOf"`
	UnreadWallets int64         `json:"unreadAddresses"`
}

type placesView struct {
	DepositAddresses    money.Number `json:"depositAddresses"`
	TreasuryAndStations money.Number `json:"treasuryAndStations"`
}

type observedView struct {
	DepositAddresses *money.Number `json:"depositAddresses"`
	GasStation       *money.Number `json:"gasStation"`
	RefundStation    *money.Number `json:"refundStation"`
	Treasury         *money.Number `json:"treasury"`
}

type floatView struct {
	Rail       string        `json:"rail"`
	Currency   string        `json:"currency"`
	Ledger     money.Number  `json:"ledger"`
	Opening    *money.Number `json:"opening"`
	OnTheWay   money.Number  `json:"onTheWay"`
	Observed   *money.Number `json:"observed"`
	Difference *money.Number `json:"difference"`
	Last       *money.Number `json:"lastDifference"`
	Unread     bool          `json:"unread"`
	AsOf       *string       `json:"asOf"`
}

type owedLineView struct {
	To     string       `json:"to"`
	Kind   string       `json:"kind"`
	Name   string       `json:"name"`
	Asset  string       `json:"asset"`
	Amount money.Number `json:"amount"`
}

type ownLineView struct {
	Kind   string       `json:"kind"`
	Name   string       `json:"name"`
	Asset  string       `json:"asset"`
	Amount money.Number `json:"amount"`
}

type positionView struct {
	Asset  string        `json:"asset"`
	Amount money.Number  `json:"amount"`
	USD    *money.Number `json:"usd"`
}

type exchangeView struct {
	Positions  []positionView `json:"positions"`
	OpenResult *money.Number  `json:"openResultUsd"`
	Realised   []ownLineView  `json:"realised"`
}

type feeView struct {
	MerchantID string       `json:"merchantId"`
	Currency   string       `json:"currency"`
	Amount     money.Number `json:"amount"`
}

type collectingView struct {
	Network string       `json:"network"`
	Asset   string       `json:"asset"`
	Amount  money.Number `json:"amount"`
	USD     money.Number `json:"usd"`
	Coin    string       `json:"coin"`
	Gas     money.Number `json:"gas"`
	Cost    money.Number `json:"costUsd"`
	PerUSD  money.Number `json:"costPerUsd"`
}

type treasuryView struct {
	Mode       tenant.Mode      `json:"mode"`
	Day        *string          `json:"day"`
	MadeAt     string           `json:"madeAt"`
	Through    int64            `json:"lastJournal"`
	Crypto     []cryptoView     `json:"crypto"`
	Floats     []floatView      `json:"floats"`
	Owed       []owedLineView   `json:"owed"`
	Exchange   exchangeView     `json:"exchange"`
	Own        []ownLineView    `json:"own"`
	Fees       []feeView        `json:"fees"`
	Collecting []collectingView `json:"collecting"`
}

// number is a value or null.
func number(d *decimal.Decimal) *money.Number {
	if d == nil {
		return nil
	}
	n := money.N(*d)
	return &n
}

func (l CryptoLine) view() cryptoView {
	v := cryptoView{
		Network: l.Network, Asset: l.Asset, Ledger: placesView{money.N(l.Deposits), money.N(l.Hot)},
		OnTheWay: number(l.OnTheWay), Difference: number(l.Difference), Last: number(l.Last), Unread: l.Unread, AsOf: timestamp.OrNull(l.AsOf),
	}
	if h := l.Chain; h != nil {
		v.Observed = &observedView{number(h.Deposits), number(h.GasStation), number(h.RefundStation), number(h.Treasury)}
		v.Standalone, v.UnreadWallets = number(&h.Standalone), h.Unread
	}
	return v
}

func (t Treasury) view() treasuryView {
	v := treasuryView{
		Mode: t.Mode, MadeAt: timestamp.Text(t.MadeAt), Through: t.Through, Crypto: []cryptoView{}, Floats: []floatView{}, Owed: []owedLineView{},
		Own: []ownLineView{}, Fees: []feeView{}, Collecting: []collectingView{},
		Exchange: exchangeView{Positions: []positionView{}, OpenResult: number(t.OpenResult), Realised: []ownLineView{}},
	}
	if t.Day != "" {
		v.Day = &t.Day
	}
	for _, l := range t.Crypto {
		v.Crypto = append(v.Crypto, l.view())
	}
	for _, f := range t.Floats {
		v.Floats = append(v.Floats, floatView{
			f.Rail, f.Currency, money.N(f.Ledger), number(f.Opening), money.N(f.OnTheWay), number(f.Observed), number(f.Difference), number(f.Last), f.Unread,
			timestamp.OrNull(f.AsOf),
		})
	}
	for _, o := range t.Owed {
		v.Owed = append(v.Owed, owedLineView{creditor(o.Kind), o.Kind, ledger.Title(o.Kind), o.Asset, money.N(o.Amount)})
	}
	for _, p := range t.Positions {
		v.Exchange.Positions = append(v.Exchange.Positions, positionView{p.Asset, money.N(p.Amount), number(p.USD)})
	}
	for _, o := range t.Own {
		line := ownLineView{o.Kind, ledger.Title(o.Kind), o.Asset, money.N(o.Amount)}
		if v.Own = append(v.Own, line); o.Kind == "spread" {
			v.Exchange.Realised = append(v.Exchange.Realised, line)
		}
	}
	for _, f := range t.Fees {
		v.Fees = append(v.Fees, feeView{f.MerchantID, f.Currency, money.N(f.Amount)})
	}
	for _, c := range t.Collecting {
		v.Collecting = append(v.Collecting, collectingView{
			c.Network, c.Asset, money.N(c.Amount), money.N(c.USD), c.Coin, money.N(c.Gas), money.N(c.Cost), money.N(c.PerUSD()),
		})
	}
	return v
}

// JSON is the body of GET /v1/admin/treasury.
func (t Treasury) JSON() ([]byte, error) {
	return views.Encode(struct {
		Success  bool         `json:"success"`
		Treasury treasuryView `json:"treasury"`
	}{true, t.view()})
}

// CSV writes the report as one table: the part of the report, whose it is or where, the asset, and the figures that the
// part has.
func (t Treasury) CSV(_ context.Context, out io.Writer) error {
	w := csv.NewWriter(out)
	rows := [][]string{
		{"part", "place", "item", "asset", "ledger", "observed", "onTheWay", "difference", "usd", "asOf"},
		{"report", string(t.Mode), t.Day, "", strconv.FormatInt(t.Through, 10), "", "", "", "", timestamp.Text(t.MadeAt)},
	}
	row := func(cells ...string) { rows = append(rows, cells) }
	for _, l := range t.Crypto {
		at, h := when(l.AsOf), Holding{}
		if l.Chain != nil {
			h = *l.Chain
			row("crypto", l.Network, "standalone wallets", l.Asset, money.Canonical(h.Standalone), "", "", "", "", at)
		}
		row("crypto", l.Network, "deposit addresses", l.Asset, money.Canonical(l.Deposits), text(h.Deposits), "", "", "", at)
		row("crypto", l.Network, "treasury and stations", l.Asset, money.Canonical(l.Hot), "", "", "", "", at)
		row("crypto", l.Network, "gas station", l.Asset, "", text(h.GasStation), "", "", "", at)
		row("crypto", l.Network, "refund station", l.Asset, "", text(h.RefundStation), "", "", "", at)
		row("crypto", l.Network, "treasury", l.Asset, "", text(h.Treasury), "", "", "", at)
		row("crypto", l.Network, "all", l.Asset, money.Canonical(l.Deposits.Add(l.Hot).Add(h.Standalone)), observed(h), text(l.OnTheWay), text(l.Difference), "", at)
	}
	for _, f := range t.Floats {
		row("float", f.Rail, "ledger with opening", f.Currency, money.Canonical(f.Ledger.Add(orZero(f.Opening))), text(f.Observed), money.Canonical(f.OnTheWay), text(f.Difference), "", when(f.AsOf))
	}
	for _, o := range t.Owed {
		row("owed", creditor(o.Kind), ledger.Title(o.Kind), o.Asset, money.Canonical(o.Amount), "", "", "", "", "")
	}
	for _, p := range t.Positions {
		row("exchange", "position", ledger.Title("fx"), p.Asset, money.Canonical(p.Amount), "", "", "", text(p.USD), "")
	}
	row("exchange", "open result", "", "", "", "", "", "", text(t.OpenResult), "")
	for _, o := range t.Own {
		row("own", o.Kind, ledger.Title(o.Kind), o.Asset, money.Canonical(o.Amount), "", "", "", "", "")
	}
	for _, f := range t.Fees {
		row("fees", "merchant", f.MerchantID, f.Currency, money.Canonical(f.Amount), "", "", "", "", "")
	}
	for _, c := range t.Collecting {
		row("collecting", c.Network, "collected", c.Asset, money.Canonical(c.Amount), "", "", "", money.Canonical(c.USD), "")
		row("collecting", c.Network, "cost", c.Coin, money.Canonical(c.Gas), "", "", "", money.Canonical(c.Cost), "")
	}
	for _, r := range rows {
		for i, cell := range r {
			if _, err := money.Parse(cell); err != nil { // a negative figure is no formula
				r[i] = views.Plain(cell)
			}
		}
		if err := w.Write(r); err != nil {
			return fmt.Errorf("write CSV: %w", err)
		}
	}
	w.Flush()
	return w.Error()
}

func text(d *decimal.Decimal) string {
	if d == nil {
		return ""
	}
	return money.Canonical(*d)
}

func orZero(d *decimal.Decimal) decimal.Decimal {
	if d == nil {
		return decimal.Zero
	}
	return *d
}

func observed(h Holding) string {
	sum, whole := h.Observed()
	if !whole {
		return ""
	}
	return money.Canonical(sum)
}

func when(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return timestamp.Text(at)
}
