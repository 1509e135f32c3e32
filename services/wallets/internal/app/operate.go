package app

import (
	"context"
	"encoding/base64"
	"errors"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/wallets/internal/wallet"
)

// The errors of operators' decisions.
var (
	ErrNotScanned = fault.New(fault.NotFound, "network_not_scanned", "This network is not scanned in this mode")
	ErrRescanning = fault.New(fault.Conflict, "rescan_under_way", "A rescan of this network is under way. Wait until it has ended.")
	ErrNoSweep    = fault.New(fault.NotFound, "sweep_not_found", "No open or blocked sweep has this id")
	ErrSweepBusy  = fault.New(fault.Conflict, "sweep_busy",
		"A transaction of this sweep is under way, or may still land. It cannot be released yet.")
)

// Scan is a network's scan as operators see it.
type Scan struct {
	wallet.Progress
	MovedAt  time.Time // when the scan has last moved
	JudgedAt time.Time // when its state was last judged
	Silent   bool      // nobody has judged it for a minute
}

// Endpoint is the health of a host's RPC endpoints.
type Endpoint struct {
	Network, Host        string
	Healthy              bool
	Outcome              string
	Head                 int64
	AnsweredAt, FailedAt time.Time
}

// Rescan is a range of blocks that an operator has scanned again.
type Rescan struct {
	ID                 int64
	Mode               tenant.Mode
	Network            string
	From, To, Next     int64
	Operator, Reason   string
	OrderedAt, EndedAt time.Time
	Taken              bool // a worker has begun
	Problem            string
	Blocks, Found      int64
	Repeated           int64
}

// state is the word for where a rescan is.
func (r Rescan) state() string {
	switch {
	case r.EndedAt.IsZero() && !r.Taken:
		return "waiting"
	case r.EndedAt.IsZero():
		return "running"
	case r.Problem != "":
		return "failed"
	}
	return "done"
}

// Sweep is a sweep that has not ended.
type Sweep struct {
	ID, Network, Address, Asset string
	Units                       decimal.Decimal
	State, Reason               string
	CreatedAt                   time.Time
	Kind, Outgoing              string // of its newest transaction, "" without one
	Attempt                     int
	TxHash                      string
}

// SweepQuery is a page of the sweeps under way, oldest first.
type SweepQuery struct {
	Network, State string // "" for all
	Limit          int
	After          Position
}

// Station is how much of an asset waits at the stations of a live network.
type Station struct {
	Network, Asset                 string
	Refunds, RefundsBlocked, Short int64 // refunds and withdrawals that have not ended; Short lack money at the refund station
	Needed                         decimal.Decimal
	Sweeps, SweepsBlocked          int64
	Collecting                     decimal.Decimal // base units of the sweeps
	OldestRefund, OldestSweep      time.Time
}

// Pool is how many addresses of a family were issued, and for imported ones how many are left.
type Pool struct {
	Slot     wallet.Slot
	Issued   int64
	Imported bool
	Left     int64
}

// OperatedStore is what operators read and decide.
type OperatedStore interface {
	Progress(ctx context.Context) ([]Scan, error)
	Endpoints(ctx context.Context) ([]Endpoint, error)
	// NewestRescans has the newest rescan of each scan.
	NewestRescans(ctx context.Context) ([]Rescan, error)
	// Rescans lists rescans before an id, newest first.
	Rescans(ctx context.Context, before int64, most int) ([]Rescan, error)
	// OrderRescan stores an order with its answer. It returns idempotency.ErrTaken if a request with the same key won,
	// ErrNotScanned, and ErrRescanning.
	OrderRescan(ctx context.Context, r Rescan, k idempotency.Key, answer func(Rescan) (idempotency.Answer, error)) (idempotency.Answer, error)
	// ScannedTo is the height of a scan; found is false where nothing is scanned.
	ScannedTo(ctx context.Context, mode tenant.Mode, network string) (height int64, found bool, err error)
	UnfinishedSweeps(ctx context.Context, q SweepQuery) ([]Sweep, error)
	// FreeSweep releases a sweep with its answer, and notes who did it.
	FreeSweep(ctx context.Context, sweepID, operator, reason string, k idempotency.Key, a idempotency.Answer) error
	StationNeeds(ctx context.Context) ([]Station, error)
	Pools(ctx context.Context) ([]Pool, error)
	Replay(ctx context.Context, k idempotency.Key) (idempotency.Answer, bool, error)
	Settled(ctx context.Context, k idempotency.Key) (idempotency.Answer, error)
}

// Operators is the use cases of operators.
type Operators struct {
	Store OperatedStore
	Low   int64 // mark of the pools of imported addresses
}

type page struct {
	Limit      int     `json:"limit"`
	NextCursor *string `json:"nextCursor"`
	HasMore    bool    `json:"hasMore"`
}

// paged cuts a list that was read with one row more than a page holds.
func paged[T any](rows []T, limit int, cursor func(T) string) ([]T, page) {
	p := page{Limit: limit}
	if len(rows) > limit {
		rows = rows[:limit]
		next := cursor(rows[limit-1])
		p.HasMore, p.NextCursor = true, &next
	}
	return rows, p
}

type endpointView struct {
	Host       string  `json:"host"`
	Healthy    bool    `json:"healthy"`
	Outcome    string  `json:"outcome"`
	Head       *int64  `json:"head"`
	AnsweredAt *string `json:"answeredAt"`
	FailedAt   *string `json:"failedAt"`
}

type rescanView struct {
	ID        int64       `json:"id"`
	Mode      tenant.Mode `json:"mode"`
	Network   string      `json:"network"`
	From      int64       `json:"from"`
	To        int64       `json:"to"`
	Next      int64       `json:"next"`
	State     string      `json:"state"`
	Blocks    int64       `json:"blocks"`
	Found     int64       `json:"found"`
	Repeated  int64       `json:"repeated"`
	Problem   *string     `json:"problem"`
	Operator  string      `json:"operator"`
	Reason    string      `json:"reason"`
	OrderedAt string      `json:"orderedAt"`
	EndedAt   *string     `json:"endedAt"`
}

func rescanViewOf(r Rescan) rescanView {
	return rescanView{
		r.ID, r.Mode, r.Network, r.From, r.To, r.Next, r.state(), r.Blocks, r.Found, r.Repeated, textOrNull(r.Problem), r.Operator, r.Reason,
		timestamp.Text(r.OrderedAt), timestamp.OrNull(r.EndedAt),
	}
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

type networkView struct {
	Mode      tenant.Mode    `json:"mode"`
	Network   string         `json:"network"`
	State     string         `json:"state"`
	Height    *int64         `json:"height"`
	Finalized *int64         `json:"finalized"`
	Head      *int64         `json:"head"`
	Lag       *int64         `json:"lag"`
	BlockTime *string        `json:"blockTime"`
	HeadTime  *string        `json:"headTime"`
	MovedAt   *string        `json:"movedAt"`
	JudgedAt  *string        `json:"judgedAt"`
	Endpoints []endpointView `json:"endpoints"`
	Rescan    *rescanView    `json:"rescan"`
}

// silent is the state of a scan that no worker judges, beside those of wallet.ScanState.
const silent = "silent"

// Networks is the body of GET /v1/admin/networks.
func (a *Operators) Networks(ctx context.Context) ([]byte, error) {
	scans, err := a.Store.Progress(ctx)
	if err != nil {
		return nil, err
	}
	hosts, err := a.Store.Endpoints(ctx)
	if err != nil {
		return nil, err
	}
	rescans, err := a.Store.NewestRescans(ctx)
	if err != nil {
		return nil, err
	}
	byNetwork := map[string][]endpointView{}
	for _, h := range hosts {
		one := endpointView{Host: h.Host, Healthy: h.Healthy, Outcome: h.Outcome, AnsweredAt: timestamp.OrNull(h.AnsweredAt), FailedAt: timestamp.OrNull(h.FailedAt)}
		if h.Head > 0 {
			one.Head = &h.Head
		}
		byNetwork[h.Network] = append(byNetwork[h.Network], one)
	}
	again := map[string]*rescanView{}
	for _, r := range rescans {
		v := rescanViewOf(r)
		again[string(r.Mode)+" "+r.Network] = &v
	}
	out := make([]networkView, 0, len(scans))
	begun := map[string]bool{}
	for _, s := range scans {
		v := networkView{
			Mode: s.Mode, Network: s.Network, State: string(s.State), Height: &s.Height, Finalized: &s.Finalized, BlockTime: timestamp.OrNull(s.BlockTime),
			HeadTime: timestamp.OrNull(s.HeadTime), MovedAt: timestamp.OrNull(s.MovedAt), Endpoints: []endpointView{}, Rescan: again[string(s.Mode)+" "+s.Network],
		}
		if s.Silent || s.State == "" {
			v.State = silent
		}
		if s.State != "" {
			v.JudgedAt = timestamp.OrNull(s.JudgedAt)
		}
		if s.Head > 0 {
			lag := max(0, s.Head-s.Height)
			v.Head, v.Lag = &s.Head, &lag
		}
		if s.Mode == tenant.Live {
			begun[s.Network] = true
			if hosts := byNetwork[s.Network]; hosts != nil {
				v.Endpoints = hosts
			}
		}
		out = append(out, v)
	}
	for _, n := range money.Networks() { // endpoints are there, and no block was scanned yet
		if hosts := byNetwork[n.Name]; hosts != nil && !begun[n.Name] {
			out = append(out, networkView{Mode: tenant.Live, Network: n.Name, State: string(wallet.ScanUnreachable), Endpoints: hosts})
		}
	}
	return encode(struct {
		Success  bool          `json:"success"`
		Networks []networkView `json:"networks"`
	}{true, out})
}

// RescanMost bounds the blocks of one rescan.
const RescanMost = 50_000

// Rescan orders a range of blocks of a network to be scanned again.
func (a *Operators) Rescan(ctx context.Context, r Rescan, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if earlier, found, err := a.replay(ctx, k); err != nil || found {
		return earlier, err
	}
	n, known := money.NetworkOf(r.Network)
	if !known {
		return idempotency.Answer{}, ErrNotScanned
	}
	r.Network = n.Name
	if r.To < r.From {
		problems.Add("to", "must be at least from")
	} else if r.To-r.From >= RescanMost {
		problems.Add("to", "must be less than %d blocks after from", RescanMost)
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	height, found, err := a.Store.ScannedTo(ctx, r.Mode, r.Network)
	switch {
	case err != nil:
		return idempotency.Answer{}, err
	case !found:
		return idempotency.Answer{}, ErrNotScanned
	case r.To > height:
		problems.Add("to", "must be at most %d, the newest block that was scanned", height)
		return idempotency.Answer{}, problems.Err()
	}
	answer, err := a.Store.OrderRescan(ctx, r, k, func(r Rescan) (idempotency.Answer, error) {
		body, err := encode(struct {
			Success bool       `json:"success"`
			Rescan  rescanView `json:"rescan"`
		}{true, rescanViewOf(r)})
		return idempotency.Answer{Status: statusCreated, Body: body}, err
	})
	if errors.Is(err, idempotency.ErrTaken) {
		return a.Store.Settled(ctx, k)
	}
	return answer, err
}

func (a *Operators) replay(ctx context.Context, k idempotency.Key) (idempotency.Answer, bool, error) {
	if !k.Sent() {
		return idempotency.Answer{}, false, nil
	}
	return a.Store.Replay(ctx, k)
}

// Rescans is the body of GET /v1/admin/rescans, newest first.
func (a *Operators) Rescans(ctx context.Context, before int64, limit int) ([]byte, error) {
	rows, err := a.Store.Rescans(ctx, before, limit+1)
	if err != nil {
		return nil, err
	}
	rows, at := paged(rows, limit, func(r Rescan) string { return NumberCursor(r.ID) })
	out := make([]rescanView, 0, len(rows))
	for _, r := range rows {
		out = append(out, rescanViewOf(r))
	}
	return encode(struct {
		Success    bool         `json:"success"`
		Rescans    []rescanView `json:"rescans"`
		Pagination page         `json:"pagination"`
	}{true, out, at})
}

// NumberCursor writes the id of the last row of a page; ParseNumber reads it.
func NumberCursor(id int64) string {
	return base64.RawURLEncoding.EncodeToString([]byte("n" + strconv.FormatInt(id, 10)))
}

// ParseNumber reads the text that NumberCursor wrote.
func ParseNumber(text string) (id int64, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < 2 || raw[0] != 'n' {
		return 0, false
	}
	id, err = strconv.ParseInt(string(raw[1:]), 10, 64)
	return id, err == nil && id > 0
}

type sweepView struct {
	ID          string       `json:"id"`
	Network     string       `json:"network"`
	Crypto      string       `json:"crypto"`
	Amount      money.Number `json:"amount"`
	Address     string       `json:"address"`
	State       string       `json:"state"`
	Reason      *string      `json:"reason"`
	Transaction *sweepTx     `json:"transaction"`
	CreatedAt   string       `json:"createdAt"`
}

type sweepTx struct {
	Kind    string  `json:"kind"`
	State   string  `json:"state"`
	Attempt int     `json:"attempt"`
	TxHash  *string `json:"txHash"`
}

// Sweeps is the body of GET /v1/admin/sweeps.
func (a *Operators) Sweeps(ctx context.Context, q SweepQuery) ([]byte, error) {
	limit := q.Limit
	q.Limit++
	rows, err := a.Store.UnfinishedSweeps(ctx, q)
	if err != nil {
		return nil, err
	}
	rows, at := paged(rows, limit, func(s Sweep) string { return Position{s.CreatedAt, s.ID}.Cursor() })
	out := make([]sweepView, 0, len(rows))
	for _, s := range rows {
		v := sweepView{
			ID: s.ID, Network: s.Network, Crypto: s.Asset, Amount: money.N(assetOf(s.Network, s.Asset).FromUnits(s.Units)), Address: s.Address, State: s.State,
			Reason: textOrNull(s.Reason), CreatedAt: timestamp.Text(s.CreatedAt),
		}
		if s.Kind != "" {
			v.Transaction = &sweepTx{s.Kind, s.Outgoing, s.Attempt, textOrNull(s.TxHash)}
		}
		out = append(out, v)
	}
	return encode(struct {
		Success    bool        `json:"success"`
		Sweeps     []sweepView `json:"sweeps"`
		Pagination page        `json:"pagination"`
	}{true, out, at})
}

// Release ends a sweep that waits or is blocked, so that its deposits enter another.
func (a *Operators) Release(ctx context.Context, sweepID, operator, reason string, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if earlier, found, err := a.replay(ctx, k); err != nil || found {
		return earlier, err
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	body, err := encode(struct {
		Success bool   `json:"success"`
		SweepID string `json:"sweepId"`
		State   string `json:"state"`
	}{true, sweepID, "released"})
	if err != nil {
		return idempotency.Answer{}, err
	}
	answer := idempotency.Answer{Status: statusOK, Body: body}
	if err := a.Store.FreeSweep(ctx, sweepID, operator, reason, k, answer); errors.Is(err, idempotency.ErrTaken) {
		return a.Store.Settled(ctx, k)
	} else if err != nil {
		return idempotency.Answer{}, err
	}
	return answer, nil
}

type stationView struct {
	Network string      `json:"network"`
	Crypto  string      `json:"crypto"`
	Refunds waitingView `json:"refunds"`
	Short   int64       `json:"short"`
	Sweeps  waitingView `json:"sweeps"`
}

type waitingView struct {
	Open     int64        `json:"open"`
	Blocked  int64        `json:"blocked"`
	Amount   money.Number `json:"amount"`
	OldestAt *string      `json:"oldestAt"`
}

// Stations is the body of GET /v1/admin/stations.
func (a *Operators) Stations(ctx context.Context) ([]byte, error) {
	rows, err := a.Store.StationNeeds(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]stationView, 0, len(rows))
	for _, s := range rows {
		asset := assetOf(s.Network, s.Asset)
		out = append(out, stationView{
			Network: s.Network, Crypto: s.Asset, Short: s.Short,
			Refunds: waitingView{s.Refunds, s.RefundsBlocked, money.N(asset.FromUnits(s.Needed)), timestamp.OrNull(s.OldestRefund)},
			Sweeps:  waitingView{s.Sweeps, s.SweepsBlocked, money.N(asset.FromUnits(s.Collecting)), timestamp.OrNull(s.OldestSweep)},
		})
	}
	return encode(struct {
		Success  bool          `json:"success"`
		Stations []stationView `json:"stations"`
	}{true, out})
}

type poolView struct {
	Mode   tenant.Mode  `json:"mode"`
	Family money.Family `json:"family"`
	Issued int64        `json:"issued"`
	Left   *int64       `json:"left"`
	Low    *int64       `json:"low"`
}

// Pools is the body of GET /v1/admin/address-pools.
func (a *Operators) Pools(ctx context.Context) ([]byte, error) {
	rows, err := a.Store.Pools(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]poolView, 0, len(rows))
	for _, p := range rows {
		v := poolView{Mode: p.Slot.Mode, Family: p.Slot.Family, Issued: p.Issued}
		if p.Imported {
			v.Left, v.Low = &p.Left, &a.Low
		}
		out = append(out, v)
	}
	return encode(struct {
		Success bool       `json:"success"`
		Pools   []poolView `json:"pools"`
	}{true, out})
}
