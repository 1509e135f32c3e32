package operators

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/stock"
	"causeway.internal/services/payments/internal/views"
)

// Corridor is a rail and a currency of a mode.
type Corridor struct {
	Mode     tenant.Mode
	Rail     string
	Currency money.Currency
}

// Traffic is what became of the newest payouts of a corridor, and how many have no end yet.
type Traffic struct {
	Corridor
	Ended, Succeeded, Failed, Returned int
	Newest                             time.Time
	Open                               int
	OldestOpen                         time.Time
}

// Screening is a check of addresses against the lists of sanctions and reports that has hit.
type Screening struct {
	ID                            int64
	Mode                          tenant.Mode
	PaymentID, MerchantID         string
	Deposit                       string
	Stage, Verdict, Reason, Lists string
	Addresses                     []string
	At                            time.Time
	Status, Hold                  string // of the payment now
}

// ScreeningFilter chooses hits, newest first.
type ScreeningFilter struct {
	Mode   tenant.Mode // "" for both
	Stage  string      // "" for all
	Before int64
	Most   int
}

// Close is a closed day.
type Close struct {
	Day         string
	LastJournal int64
	ClosedAt    time.Time
	Modes       []string // whose reports are made
	Found       *int     // differences that the reconciliation of the day found, nil before its end
}

// Overview is what operators read of rails, the stock, screenings and closes.
type Overview interface {
	// Traffic reads the ends of at most so many payouts of each corridor within a day, and counts those without an end.
	Traffic(ctx context.Context, of []Corridor, most int) ([]Traffic, error)
	// RailStates lists the states that workers have reported within a minute.
	RailStates(ctx context.Context) ([]provider.RailState, error)
	// Levels counts the shelves of the stock of addresses.
	Levels(ctx context.Context, of []stock.Shelf, stale time.Duration) ([]stock.Level, error)
	// Hits lists screenings that have hit.
	Hits(ctx context.Context, f ScreeningFilter) ([]Screening, error)
	// Closes lists closed days before a day, newest first.
	Closes(ctx context.Context, before string, most int) ([]Close, error)
}

// recent is how many payouts of a corridor the rate of success counts.
const recent = 200

type railView struct {
	Mode         tenant.Mode    `json:"mode"`
	Rail         string         `json:"rail"`
	Currency     money.Currency `json:"fiatCurrency"`
	Simulated    bool           `json:"simulated"`
	Paused       bool           `json:"paused"`
	Breaker      string         `json:"breaker"`
	BreakerUntil *string        `json:"breakerUntil"`
	Workers      int            `json:"workers"`
	Float        *money.Number  `json:"float"`
	FloatAt      *string        `json:"floatAt"`
	Recent       recentView     `json:"recent"`
	Open         int            `json:"open"`
	OldestOpenAt *string        `json:"oldestOpenAt"`
}

// recentView is what became of the newest payouts. Rate is the part that succeeded, null without payouts.
type recentView struct {
	Payouts   int           `json:"payouts"`
	Succeeded int           `json:"succeeded"`
	Failed    int           `json:"failed"`
	Returned  int           `json:"returned"`
	Rate      *money.Number `json:"successRate"`
	NewestAt  *string       `json:"newestAt"`
}

// The states of a breaker. A rail whose workers tell nothing, or that is simulated, has none.
const (
	breakerNone   = "none"
	breakerClosed = "closed"
	breakerOpen   = "open"
)

// Rails is the body of GET /v1/admin/rails: the rails of each mode in the order in which they are tried.
func (a *Operators) Rails(ctx context.Context) ([]byte, error) {
	var of []Corridor
	simulated := map[Corridor]bool{}
	for _, mode := range tenant.Modes() {
		for _, p := range a.Providers[mode].Rails() {
			for _, cur := range money.Currencies() {
				if _, pays := p.Caps().Currencies[cur]; pays {
					c := Corridor{mode, p.Name(), cur}
					of, simulated[c] = append(of, c), p.Caps().Simulated
				}
			}
		}
	}
	traffic, err := a.Store.Traffic(ctx, of, recent)
	if err != nil {
		return nil, err
	}
	states, err := a.Store.RailStates(ctx)
	if err != nil {
		return nil, err
	}
	pauses, err := a.Store.Pauses(ctx)
	if err != nil {
		return nil, err
	}
	byCorridor := map[Corridor]Traffic{}
	for _, t := range traffic {
		byCorridor[t.Corridor] = t
	}
	out := struct {
		Success bool       `json:"success"`
		Rails   []railView `json:"rails"`
	}{true, make([]railView, 0, len(of))}
	for _, c := range of {
		v := railView{Mode: c.Mode, Rail: c.Rail, Currency: c.Currency, Simulated: simulated[c], Paused: paused(pauses, c), Breaker: breakerNone}
		if !v.Simulated {
			v.add(states)
		}
		t := byCorridor[c]
		v.Open, v.OldestOpenAt = t.Open, timestamp.OrNull(t.OldestOpen)
		v.Recent = recentView{Payouts: t.Ended, Succeeded: t.Succeeded, Failed: t.Failed, Returned: t.Returned, NewestAt: timestamp.OrNull(t.Newest)}
		if t.Ended > 0 {
			rate := money.N(decimal.New(int64(t.Succeeded*1000/t.Ended), -3))
			v.Recent.Rate = &rate
		}
		out.Rails = append(out.Rails, v)
	}
	return views.Encode(out)
}

// add takes in the states of the rail's workers: its breaker is open while that of one of them is, and its float is the
// newest that was read.
func (v *railView) add(states []provider.RailState) {
	var until, read time.Time
	for _, s := range states {
		if s.Rail != v.Rail || s.Currency != v.Currency {
			continue
		}
		v.Workers++
		if v.Breaker == breakerNone {
			v.Breaker = breakerClosed
		}
		if !s.OpenUntil.IsZero() {
			v.Breaker = breakerOpen
		}
		if s.OpenUntil.After(until) {
			until = s.OpenUntil
		}
		if s.ReadAt.After(read) {
			float := money.N(s.Balance)
			read, v.Float = s.ReadAt, &float
		}
	}
	v.BreakerUntil, v.FloatAt = timestamp.OrNull(until), timestamp.OrNull(read)
}

// paused reports whether no payout of a corridor leaves.
func paused(pauses []admission.Pause, c Corridor) bool {
	return slices.ContainsFunc(pauses, func(p admission.Pause) bool {
		return p.What == admission.PausePayouts && (p.Currency == "" || p.Currency == c.Currency) && (p.Rail == "" || p.Rail == c.Rail) &&
			p.Network == "" && p.MerchantID == ""
	})
}

type stockView struct {
	Mode          tenant.Mode  `json:"mode"`
	Family        money.Family `json:"family"`
	Networks      []string     `json:"networks"`
	Free          int          `json:"free"`
	Target        int          `json:"target"`
	RefillAt      int          `json:"refillAt"`
	Low           bool         `json:"low"`
	BusiestMinute int          `json:"busiestMinute"`
	LastHour      int          `json:"lastHour"`
	Asked         int          `json:"asked"`
	Overdue       bool         `json:"overdue"`
}

// stockStale is how long a request for addresses waits before it counts as overdue.
const stockStale = 30 * time.Second

// AddressStock is the body of GET /v1/admin/address-stock.
func (a *Operators) AddressStock(ctx context.Context) ([]byte, error) {
	var of []stock.Shelf
	for _, mode := range tenant.Modes() {
		for _, family := range a.Families[mode] {
			of = append(of, stock.Shelf{Mode: mode, Family: family})
		}
	}
	levels, err := a.Store.Levels(ctx, of, stockStale)
	if err != nil {
		return nil, err
	}
	known := map[stock.Shelf]stock.Level{}
	for _, l := range levels {
		known[l.Shelf] = l
	}
	out := struct {
		Success bool        `json:"success"`
		Stock   []stockView `json:"stock"`
	}{true, make([]stockView, 0, len(of))}
	for _, k := range of {
		l := known[k]
		target := l.Target(a.StockLeast)
		v := stockView{
			Mode: k.Mode, Family: k.Family, Networks: networksOf(k.Family), Free: l.Free, Target: target, RefillAt: target / 2, Low: l.Free <= target/4,
			BusiestMinute: l.Peak, LastHour: l.Hour,
		}
		if l.Open != nil {
			v.Asked, v.Overdue = l.Open.Count, l.Open.Stale
		}
		out.Stock = append(out.Stock, v)
	}
	return views.Encode(out)
}

// networksOf lists the networks whose payments take addresses of a family.
func networksOf(family money.Family) []string {
	names := []string{}
	for _, n := range money.Networks() {
		if n.Family == family {
			names = append(names, n.Name)
		}
	}
	return names
}

type screeningView struct {
	ID         int64       `json:"id"`
	Mode       tenant.Mode `json:"mode"`
	Stage      string      `json:"stage"`
	Reason     string      `json:"reason"`
	Lists      string      `json:"lists"`
	Addresses  []string    `json:"addresses"`
	PaymentID  *string     `json:"paymentId"`
	MerchantID *string     `json:"merchantId"`
	Status     *string     `json:"status"`
	Hold       *string     `json:"hold"`
	Deposit    *string     `json:"deposit"`
	At         string      `json:"at"`
}

// Screenings is the body of GET /v1/admin/screenings: the checks that have hit, newest first.
func (a *Operators) Screenings(ctx context.Context, f ScreeningFilter) ([]byte, error) {
	limit := f.Most
	f.Most++
	rows, err := a.Store.Hits(ctx, f)
	if err != nil {
		return nil, err
	}
	rows, at := page(rows, limit, func(s Screening) string { return strconv.FormatInt(s.ID, 10) })
	out := struct {
		Success    bool             `json:"success"`
		Screenings []screeningView  `json:"screenings"`
		Pagination views.Pagination `json:"pagination"`
	}{true, make([]screeningView, 0, len(rows)), at}
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	for _, s := range rows {
		out.Screenings = append(out.Screenings, screeningView{
			s.ID, s.Mode, s.Stage, s.Reason, s.Lists, s.Addresses, text(s.PaymentID), text(s.MerchantID), text(s.Status), text(s.Hold), text(s.Deposit), timestamp.Text(s.At),
		})
	}
	return views.Encode(out)
}

type closeView struct {
	Day         string   `json:"day"`
	LastJournal int64    `json:"lastJournal"`
	ClosedAt    string   `json:"closedAt"`
	Reports     []string `json:"reports"`
	Differences *int     `json:"differences"`
}

// Closes is the body of GET /v1/admin/closes: the closed days, newest first.
func (a *Operators) Closes(ctx context.Context, before string, limit int) ([]byte, error) {
	rows, err := a.Store.Closes(ctx, before, limit+1)
	if err != nil {
		return nil, err
	}
	rows, at := page(rows, limit, func(c Close) string { return c.Day })
	out := struct {
		Success    bool             `json:"success"`
		Closes     []closeView      `json:"closes"`
		Pagination views.Pagination `json:"pagination"`
	}{true, make([]closeView, 0, len(rows)), at}
	for _, c := range rows {
		out.Closes = append(out.Closes, closeView{c.Day, c.LastJournal, timestamp.Text(c.ClosedAt), c.Modes, c.Found})
	}
	return views.Encode(out)
}
