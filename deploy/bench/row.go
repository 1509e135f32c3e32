package main

import (
	"context"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"causeway.internal/deploy/bench/internal/stack"
	"causeway.internal/deploy/bench/internal/yardstick"
)

// row is one line of the table: a measured part of the product against a yardstick on the same machine in the same
// minutes. A new row is a file with a prepare function and a line in rows.
type row struct {
	name    string
	about   string
	target  float64 // the least ratio of the product to the yardstick; 0 if none is required
	prepare func(ctx context.Context, b *bench) (measure, error)
}

// rows in the order of the table.
var rows = []row{
	{"create/accept/16", "POST /v1/payments through the gateway (work stopped) against pgbench with the same statement, 16 clients", 0.35, acceptPath(16)},
	{"create/accept/64", "the same, 64 clients", 0.35, acceptPath(64)},
	{"create/whole/16", "the same with everything on: each payment's callback arrives, at most 1 000 are on their way, so that no outbox, queue or table of deliveries grows", 0.20, wholePath(16)},
	{"create/whole/64", "the same, 64 clients", 0.20, wholePath(64)},
	{"settle", "payments created, paid, paid out and reported: their last callback has arrived, against pgbench with the create's statement; the simulated bank has its answer at the first query; a side takes twice as long", 0, settle(0)},
	{"settle/endpoints/3", "the same, reported to three endpoints as well", 0, settle(3)},
	{"detect", "deposits of one block of a thousand, from the commit of that block until payments has committed the last as confirmed, against pgbench with the create's statement; the simulated chain makes the blocks on top in two seconds", 0, detect},
	{"read/one", "GET of a payment through the gateway against a bare Go handler with one indexed SELECT on the same database, 16 clients", 0.35, reads(false)},
	{"read/page", "the same for a page of fifty, of all statuses and types", 0.35, reads(true)},
	{latencyRows + "create", "1/p99 of a create with everything on at half of the capacity (64 callers, each the next as soon as the last is answered, measured first), against the same at a tenth; p50 and p99 of both; the time of a create begins when it is due; a side takes three times as long, and has 300 payments at least", 0, latencyPath(false)},
	{latencyRows + "webhook", "the same from the block of a deposit to the arrival of its first callback (payment.confirming), at half and at a tenth of the payments that settle in a second", 0, latencyPath(true)},
	{"idle", "one over the processors that the whole product uses which nobody calls, PostgreSQL and the broker included, without simulated blocks and with the intervals of production, against one over those of a bare broker with as many connections plus 0.03; a side takes five times as long, after a minute of rest; upkeep of what earlier rows wrote is done before; costs are milliseconds in a second", 1, idlePath},
	{"list/all/1e5", "pages of twenty, first ones and deep ones, over 10^5 payments of a merchant against the same over 10^4", 1 / 1.3, listFlat(unfiltered, 100_000)},
	{"list/all/1e6", "the same over 10^6", 1 / 1.3, listFlat(unfiltered, 1_000_000)},
	{"list/status/1e6", "the same by status, the rarest of 1 %", 1 / 1.3, listFlat(byStatus, 1_000_000)},
	{"list/type/1e6", "the same by type, the rarest of 1 %", 1 / 1.3, listFlat(byType, 1_000_000)},
	{"carry", "messages a second from a service's outbox over the broker into another's inbox, each pack in a transaction, against raw amqp091: publish with confirms, consume, acknowledge", 0.5, versus(carry(), "BenchmarkCarry/raw")},
	{"gateway/cpu", "reads of a payment per second of the gateway's processor time against a plain reverse proxy's plus 0.30 ms a request", 1, gatewayCPU},
	{"deliver/burst/1", "20 000 events (fewer in rounds below 6 s a side) from their publication to the broker (by 500, packed and confirmed as payments' relay does) until the last is at one endpoint, a testkit receiver in a process of its own, against a bare loop of signed posts to the same, 64 at a time, with the same time limits; events are made beforehand on both sides", 0.20, burst(1, false)},
	{"deliver/burst/100", "the same to 100 endpoints", 0.20, burst(100, false)},
	{"deliver/cpu/100", "deliveries to 100 endpoints per second of callback-dispatcher's processor time, until the last is recorded, against those of the bare loop", 0.20, burst(100, true)},
	{"deliver/intake", "status messages that wait in the broker, packed by 50, into the table of callback-dispatcher, to a disabled endpoint, against the 5 000/s that are demanded", 1, intake},
	{"deliver/backlog", "20 000 events (fewer in rounds below 6 s a side) to 100 endpoints while a million deliveries are due to another, against the same without", 0.85, backlog},
	{"deliver/hung/5", "1/p99 of healthy endpoints at 150/s while 5 of 100 hang 10 s, against the same with none; a side takes five times as long", 1 / 1.25, isolation(5)},
	{"deliver/hung/50", "the same with 50 of 100 hanging", 1 / 1.5, isolation(50)},
	{"reports/lookup/flat", "look-ups through the gateway, first page and total, over 10^7 reports against the same over 10^4", 1 / 1.3, lookupFlat(false)},
	{"reports/lookup/cpu", "the same per second of the processor time of reports and PostgreSQL", 1 / 1.3, lookupFlat(true)},
	{"reports/lookup/deep", "pages at any of 250 000 offsets of one phone against first pages, both over 10^7 reports", 0.2, lookupDeep},
	{"reports/create", "POST /v1/reports through the gateway, 16 clients, until callback-dispatcher has the event of each, per second of the processor time of all processes but the client, against 1.2 ms; upkeep of what earlier rows wrote is done before", 1, reportCreate}, // after the look-ups, whose databases are copies of one without reports
	{"wallets/set/memory", "addresses watched per MB of a million in memory, against 60 MB for all", 1, against(setMemory())},
	{"wallets/set/load", "addresses loaded into the set per second from memory, against 1 s for a million", 1, against(setLoad())},
	{"wallets/set/database", "the same from the database, against 10 s for a million", 1, against(setLoadDatabase())},
	{"wallets/start/memory", "addresses watched per MB of the most that a process takes in a start with 10^8, against 1 GiB", 1, against(startMemory())},
	{"wallets/start/growth", "the same after a quarter more, for which every table of the set grows", 1, against(startGrowth())},
	{"wallets/start/time", "addresses loaded from segments in the database per second at such a start, against 30 s for 10^8", 1, against(startTime())},
	{"wallets/block/cpu", "blocks of 2 000 transactions and 1 000 token logs per second of processor time, JSON to hits among a million, against 8 ms", 1, against(blockCPU())},
	{"wallets/block/found", "1/p99 from a block served by a real EVM node to its deposit committed and announced, a million watched, head asked for every 100 ms, against 250 ms", 1, against(found())},
	{"wallets/derive/evm", "addresses derived per second of one core, against 20 000", 1, against(derive("evm"))},
	{"wallets/derive/bitcoin", "the same for bitcoin", 1, against(derive("bitcoin"))},
	{"wallets/derive/tron", "the same for tron", 1, against(derive("tron"))},
	{"start/gateway", "starts a second, from the start of the process until it is ready, against a bare Go handler that has answered from the database", 0, started("gateway")},
	{"start/payments-serve", "the same", 0, started("payments-serve")},
	{"start/payments-work", "the same", 0, started("payments-work")},
	{"start/wallets-serve", "the same", 0, started("wallets-serve")},
	{"start/wallets-work", "the same", 0, started("wallets-work")},
	{"start/reports-serve", "the same", 0, started("reports-serve")},
	{"start/reports-work", "the same", 0, started("reports-work")},
	{"start/callback-dispatcher-serve", "the same", 0, started("callback-dispatcher-serve")},
	{"start/callback-dispatcher-work", "the same", 0, started("callback-dispatcher-work")},
}

// bars are what an operation of a row may cost the processes whose name begins so, in milliseconds of processor time.
var bars = map[string]map[string]float64{
	"create/whole/16": {"gateway": 0.30, "payments": 0.40, "postgres": 0.55},
	"create/whole/64": {"gateway": 0.30, "payments": 0.40, "postgres": 0.55},

	"deliver/burst/1":   {"postgres": 0.08},
	"deliver/burst/100": {"postgres": 0.08},
}

// measure takes both sides of one round, one after the other, and cleans up.
type measure struct {
	ours      func(ctx context.Context, length time.Duration) (side, error)
	yardstick func(ctx context.Context, length time.Duration) (side, error)
	close     func(ctx context.Context) error
}

// side is one side of a round.
type side struct {
	PerSec float64            `json:"perSecond"`
	P50    float64            `json:"p50Ms,omitempty"`
	P99    float64            `json:"p99Ms,omitempty"`
	CPU    map[string]float64 `json:"cpuMsPerOperation,omitempty"` // by process
	RSS    map[string]float64 `json:"rssMB,omitempty"`             // by process, at the end
}

// result is a finished row.
type result struct {
	Name      string    `json:"name"`
	About     string    `json:"about"`
	At        time.Time `json:"at"`
	Seconds   float64   `json:"secondsPerSide"`
	Load      float64   `json:"load"` // of the machine when the row began, processes that run or want to
	Ours      []side    `json:"ours"`
	Yardstick []side    `json:"yardstick"`
	Ratio     float64   `json:"ratio"` // median over the rounds
	Least     float64   `json:"least"`
	Most      float64   `json:"most"`
	Target    float64   `json:"target,omitempty"`
	Costs     []cost    `json:"costs,omitempty"`
	Met       bool      `json:"met"`
	Failure   string    `json:"failure,omitempty"` // why there are no figures
}

// cost is the processor time of an operation that a row has a bar for.
type cost struct {
	Process string  `json:"process"` // the beginning of its name
	Ms      float64 `json:"ms"`      // median over the rounds
	Most    float64 `json:"most"`
}

// bench is what rows are measured with.
type bench struct {
	stack   *stack.Stack
	say     func(format string, args ...any)
	outputs outputs // of Go benchmarks

	statement yardstick.Statement // the create's, once a row has learnt it
}

// memory is what each process occupies now. It is a remark of a row: one that cannot be read is left out.
func (b *bench) memory() map[string]float64 {
	all, err := b.stack.Memory()
	if err != nil {
		return nil
	}
	return all
}

// run measures a row: a warm-up of both sides, then rounds in which they take turns, the first of a pair changing from
// round to round so that neither always finds the warmer machine.
func (b *bench) run(ctx context.Context, r row, rounds int, length time.Duration) (res result, err error) {
	res = result{Name: r.name, About: r.about, Target: r.target, At: time.Now().UTC(), Seconds: length.Seconds(), Load: load()}
	m, err := r.prepare(ctx, b)
	if err != nil {
		return res, err
	}
	defer func() {
		if closeErr := m.close(context.WithoutCancel(ctx)); err == nil {
			err = closeErr
		}
	}()
	for _, warm := range []func(context.Context, time.Duration) (side, error){m.ours, m.yardstick} {
		if _, err := warm(ctx, max(length/3, 2*time.Second)); err != nil {
			return res, err
		}
	}
	var ratios []float64
	for i := range rounds {
		ours, yardstick, err := m.round(ctx, i, length)
		if err != nil {
			return res, err
		}
		res.Ours, res.Yardstick = append(res.Ours, ours), append(res.Yardstick, yardstick)
		ratios = append(ratios, ours.PerSec/yardstick.PerSec)
		b.say("%s round %d: %.0f/s against %.0f/s, ratio %.3f", r.name, i+1, ours.PerSec, yardstick.PerSec, ratios[i])
	}
	res.Ratio, res.Least, res.Most = median(ratios), slices.Min(ratios), slices.Max(ratios)
	res.Costs = costsOf(res.Ours, bars[r.name])
	res.Met = res.Ratio >= r.target && !slices.ContainsFunc(res.Costs, func(c cost) bool { return c.Ms > c.Most })
	return res, nil
}

// costsOf adds up what each group of processes cost in a round, and takes the median of the rounds.
func costsOf(sides []side, most map[string]float64) []cost {
	var all []cost
	for _, process := range slices.Sorted(maps.Keys(most)) {
		all = append(all, cost{process, medianOf(sides, func(s side) float64 {
			sum := 0.0
			for name, ms := range s.CPU {
				if strings.HasPrefix(name, process) {
					sum += ms
				}
			}
			return sum
		}), most[process]})
	}
	return all
}

// load is the first figure of proc_loadavg(5), 0 where there is none.
func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	value, _ := strconv.ParseFloat(first, 64) // the kernel writes digits
	return value
}

func (m measure) round(ctx context.Context, i int, length time.Duration) (ours, yardstick side, err error) {
	if i%2 == 1 {
		if yardstick, err = m.yardstick(ctx, length); err != nil {
			return ours, yardstick, err
		}
		ours, err = m.ours(ctx, length)
		return ours, yardstick, err
	}
	if ours, err = m.ours(ctx, length); err != nil {
		return ours, yardstick, err
	}
	yardstick, err = m.yardstick(ctx, length)
	return ours, yardstick, err
}

// median of at least one value.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// costs turns two readings of processor time into milliseconds per operation.
func costs(before, after map[string]float64, operations int) map[string]float64 {
	per := map[string]float64{}
	for name, used := range after {
		if ms := (used - before[name]) * 1000 / float64(max(operations, 1)); ms >= 0.001 {
			per[name] = ms
		}
	}
	return per
}
