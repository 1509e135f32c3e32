package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/banks"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payouts"
	"causeway.internal/services/payments/internal/refund"
	"causeway.internal/services/payments/internal/screen"
	"causeway.internal/services/payments/internal/store"
)

// alertCounter counts the alerts to operators, by mode: a merchant causes those of test mode at will, in the sandbox.
func alertCounter(registry prometheus.Registerer) func(tenant.Mode, alert.Code) {
	alerts := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "payments_alerts_total", Help: "Alerts to operators, by mode and code."}, []string{"mode", "code"})
	registry.MustRegister(alerts)
	for _, code := range alert.Codes() { // 0 from the start: increase() does not see a series appear
		for _, mode := range tenant.Modes() {
			alerts.WithLabelValues(string(mode), code.String())
		}
	}
	return func(mode tenant.Mode, code alert.Code) { alerts.WithLabelValues(string(mode), code.String()).Inc() }
}

// attachCounter counts the archived payments that come back.
func attachCounter(registry prometheus.Registerer) func() {
	attached := prometheus.NewCounter(prometheus.CounterOpts{Name: "payments_attached_total", Help: "Archived payments that a change attached."})
	registry.MustRegister(attached)
	return attached.Inc
}

// moveMetrics counts the payments that enter each status, and measures how long they stay in it.
func moveMetrics(registry prometheus.Registerer) func(store.Move) {
	entered := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "payments_entered_total", Help: "Payments that entered a status, by mode and type.",
	}, []string{"mode", "type", "status"})
	stayed := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "payments_status_seconds", Help: "Time that payments spent in a status before they left it.",
		Buckets: []float64{1, 5, 15, 60, 300, 900, 1800, 3600, 4 * 3600, 24 * 3600, 72 * 3600},
	}, []string{"mode", "status"})
	registry.MustRegister(entered, stayed)
	for _, mode := range tenant.Modes() { // 0 from the start: the objective of payouts sees the first one
		stayed.WithLabelValues(string(mode), string(payment.StatusSettling))
	}
	return func(m store.Move) {
		entered.WithLabelValues(string(m.Mode), string(m.Type), string(m.To)).Inc()
		if m.From != payment.StateNone {
			stayed.WithLabelValues(string(m.Mode), string(m.From)).Observe(m.After.Seconds())
		}
	}
}

// networkGauge shows which networks take payments. A network of live mode that was never scanned has no series, because
// it may have no RPC endpoint.
func networkGauge(registry prometheus.Registerer) func(tenant.Mode, string, bool) {
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "payments_network_open", Help: "1 while the scan of a network follows its chain, so that it takes payments; 0 while it is closed.",
	}, []string{"mode", "network"})
	registry.MustRegister(gauge)
	for _, n := range money.Networks() { // every network of test mode is scanned; closed until wallets reports it
		gauge.WithLabelValues(string(tenant.Test), n.Name)
	}
	return func(mode tenant.Mode, network string, open bool) {
		gauge.WithLabelValues(string(mode), network).Set(oneIf(open))
	}
}

// capacityGauge shows how much of each cap is used.
func capacityGauge(registry prometheus.Registerer) func(kind, of string, share decimal.Decimal) {
	used := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "payments_capacity_used", Help: "Share of a cap that is open: crypto at locked rates by asset, fiat promised to receivers by currency. Alert from 0.7 on.",
	}, []string{"kind", "of"})
	registry.MustRegister(used)
	return func(kind, of string, share decimal.Decimal) {
		used.WithLabelValues(kind, of).Set(share.InexactFloat64())
	}
}

// sanctionsMetrics shows the age and the size of the list of sanctioned addresses. Age matters where live money may
// leave, so outdated stays 0 while live mode is closed.
func sanctionsMetrics(registry prometheus.Registerer, list *screen.File, live bool) {
	gauge := func(name, help string, value func() float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("payments_sanctions_list_age_seconds", "Time since the source of the list of sanctioned addresses was asked.",
		func() float64 { return list.Age().Seconds() })
	gauge("payments_sanctions_list_entries", "Addresses on the list of sanctioned addresses.",
		func() float64 { return float64(list.Current().Len()) })
	gauge("payments_sanctions_list_outdated", "1 while the list is older than SANCTIONS_MAX_AGE and live mode is open: no live crypto is sent.",
		func() float64 { return oneIf(live && list.Outdated()) })
	gauge("payments_sanctions_list_refused", "1 while SANCTIONS_FILE is bad, empty or half as long as before: the list before it stays in force.",
		func() float64 { return oneIf(list.Refused()) })
}

// railMetrics makes the metrics of the rails.
func railMetrics(registry prometheus.Registerer) payouts.Metrics {
	outcomes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "payments_payouts_total", Help: "Outcomes of payouts, by rail, currency and outcome.",
	}, []string{"rail", "currency", "outcome"})
	breakers := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "payments_rail_breaker_open", Help: "1 while the breaker of a corridor is open: no payout is sent over the rail in the currency.",
	}, []string{"rail", "currency"})
	floats := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "payments_rail_float", Help: "Our balance at a rail when it was last read, in whole units of the currency.",
	}, []string{"rail", "currency"})
	hints := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "payments_rail_hints_total", Help: "Webhooks of rails, by rail and outcome: ok, other (names no payout), forged.",
	}, []string{"rail", "outcome"})
	registry.MustRegister(outcomes, breakers, floats, hints)
	return payouts.Metrics{
		Outcome: func(rail string, cur money.Currency, outcome string) {
			outcomes.WithLabelValues(rail, string(cur), outcome).Inc()
		},
		Breaker: func(rail string, cur money.Currency, open bool) {
			breakers.WithLabelValues(rail, string(cur)).Set(oneIf(open))
		},
		Float: func(rail string, cur money.Currency, left decimal.Decimal) {
			floats.WithLabelValues(rail, string(cur)).Set(float64(left.IntPart()))
		},
		Hint: func(rail, outcome string) { hints.WithLabelValues(rail, outcome).Inc() },
	}
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// leaderMetrics are set by the process that leads the timers, and by no other.
type leaderMetrics struct {
	unknown, unknownOldest, open, openOldest, frozen, stuck *prometheus.GaugeVec // payouts by mode
	payments                                                *prometheus.GaugeVec
	refunds, refundOldest                                   *prometheus.GaugeVec // that have not ended
	differences                                             *prometheus.GaugeVec
	reconciled                                              prometheus.Gauge
	stock                                                   *prometheus.GaugeVec
	owed, owedOldest                                        *prometheus.GaugeVec
	collected, collectingCost                               *prometheus.GaugeVec // USD of the last 24 hours
	difference, unread                                      *prometheus.GaugeVec // of the treasury from chains and rails
	closed                                                  prometheus.Gauge
	banks, bankAge, bankRefused                             *prometheus.GaugeVec // lists of banks
}

func newLeaderMetrics(registry prometheus.Registerer) *leaderMetrics {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		registry.MustRegister(g)
		return g
	}
	m := &leaderMetrics{
		unknown:       gauge("payments_payouts_unknown", "Payouts of unknown outcome.", "mode"),
		unknownOldest: gauge("payments_payout_unknown_oldest_seconds", "Time since the oldest payout of unknown outcome was first sent.", "mode"),
		open:          gauge("payments_payouts_open", "Payouts that have not ended.", "mode"),
		openOldest:    gauge("payments_payout_open_oldest_seconds", "Time since the oldest payout that has not ended was entered.", "mode"),
		frozen: gauge("payments_payouts_frozen",
			"Payouts whose rail's answer does not match what was sent; an operator has to conclude them.", "mode"),
		stuck: gauge("payments_payouts_stuck",
			"Payouts that are not sent again by themselves; an operator has to conclude them.", "mode"),
		payments: gauge("payments_open",
			"Payments in a status that they will leave; 20000 means that many or more.", "mode", "type", "status"),
		refunds: gauge("payments_refunds", "Refunds that have not ended; those in the state requested wait for operators.", "mode", "state"),
		refundOldest: gauge("payments_refund_oldest_seconds",
			"Time since the oldest refund of a state that has not ended was requested.", "mode", "state"),
		differences: gauge("payments_ledger_differences", "Open differences of the ledger from deposits, payouts and rails, by kind.", "kind"),
		reconciled: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "payments_reconciled_timestamp_seconds", Help: "When the books were last compared.",
		}),
		stock:      gauge("payments_address_stock", "Free deposit addresses that no replica has leased.", "mode", "family"),
		owed:       gauge("payments_owed", "Sums owed to payers, receivers and merchants, by the last list, in whole units of the asset.", "mode", "to", "asset"),
		owedOldest: gauge("payments_owed_oldest_seconds", "Time since the oldest amount that is owed was booked.", "mode", "to", "asset"),
		difference: gauge("payments_treasury_difference",
			"Surplus of a chain or a rail over the ledger, by the last reading, in whole units of the asset.", "mode", "place", "asset"),
		unread: gauge("payments_treasury_unread",
			"1 where a chain or a rail should have been read for the report of the treasury and was not, else 0.", "mode", "place", "asset"),
		closed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "payments_ledger_closed_timestamp_seconds", Help: "When the last closed day of the ledger ended.",
		}),
		collected: gauge("payments_collected_usd",
			"Worth of the live sweeps of the last 24 hours, in US dollars at present prices.", "network", "asset"),
		collectingCost: gauge("payments_collecting_cost_usd",
			"Gas of the live sweeps and fundings of the last 24 hours, in US dollars at present prices.", "network", "asset"),
	}
	m.banks = gauge("payments_bank_list_banks", "Banks in a rail's own list, as it was last taken.", "rail", "currency")
	m.bankAge = gauge("payments_bank_list_age_seconds", "Time since a rail's own list of banks was last taken.", "rail", "currency")
	m.bankRefused = gauge("payments_bank_list_refused",
		"1 while a rail's own list of banks is empty, too long, or less than half as long as before: the list before it stays in force.", "rail", "currency")
	registry.MustRegister(m.reconciled, m.closed)
	return m
}

// ofPayouts are the gauges that count payouts by mode.
func (m *leaderMetrics) ofPayouts() []*prometheus.GaugeVec {
	return []*prometheus.GaugeVec{m.unknown, m.unknownOldest, m.open, m.openOldest, m.frozen, m.stuck}
}

// reset removes the values, because a former leader must not show old ones.
func (m *leaderMetrics) reset() {
	for _, gauge := range append(m.ofPayouts(), m.payments, m.refunds, m.refundOldest, m.differences, m.stock, m.owed, m.owedOldest, m.collected, m.collectingCost, m.difference, m.unread, m.banks, m.bankAge, m.bankRefused) {
		gauge.Reset()
	}
}

// countPayouts measures the payouts that have not ended, and those of unknown outcome.
func (m *leaderMetrics) countPayouts(s *store.Store) func(context.Context) error {
	return func(ctx context.Context) error {
		all, err := s.Unknowns(ctx)
		if err != nil {
			return err
		}
		for _, mode := range tenant.Modes() {
			for _, gauge := range m.ofPayouts() {
				gauge.WithLabelValues(string(mode)).Set(0)
			}
		}
		for _, u := range all {
			mode := string(u.Mode)
			m.unknown.WithLabelValues(mode).Set(float64(u.Payouts))
			m.unknownOldest.WithLabelValues(mode).Set(u.Oldest.Seconds())
			m.open.WithLabelValues(mode).Set(float64(u.Open))
			m.openOldest.WithLabelValues(mode).Set(u.Waits.Seconds())
			m.frozen.WithLabelValues(mode).Set(float64(u.Frozen))
			m.stuck.WithLabelValues(mode).Set(float64(u.Stuck))
		}
		return nil
	}
}

// countPayments counts the payments in each status that is not final.
func (m *leaderMetrics) countPayments(s *store.Store) func(context.Context) error {
	return func(ctx context.Context) error {
		all, err := s.Open(ctx)
		for _, o := range all {
			m.payments.WithLabelValues(string(o.Mode), string(o.Type), string(o.Status)).Set(float64(o.Payments))
		}
		return err
	}
}

// countRefunds counts the refunds in each state that is not final, and measures how old the oldest is.
func (m *leaderMetrics) countRefunds(s *store.Store) func(context.Context) error {
	return func(ctx context.Context) error {
		all, err := s.OpenRefunds(ctx)
		if err == nil {
			m.openRefunds(all)
		}
		return err
	}
}

// openRefunds shows the refunds that have not ended, also where there are none.
func (m *leaderMetrics) openRefunds(all []store.OpenRefunds) {
	for _, mode := range tenant.Modes() {
		for _, state := range refund.States() {
			if state.Open() {
				m.refunds.WithLabelValues(string(mode), string(state)).Set(0)
				m.refundOldest.WithLabelValues(string(mode), string(state)).Set(0)
			}
		}
	}
	for _, o := range all {
		m.refunds.WithLabelValues(string(o.Mode), string(o.State)).Set(float64(o.Refunds))
		m.refundOldest.WithLabelValues(string(o.Mode), string(o.State)).Set(o.Oldest.Seconds())
	}
}

// compared shows the open differences that reconciliation found, and when it compared the books.
func (m *leaderMetrics) compared(open map[string]int, at time.Time) {
	for _, kind := range books.DiffKinds() {
		m.differences.WithLabelValues(kind).Set(float64(open[kind]))
	}
	m.reconciled.Set(float64(at.Unix()))
}

// bankLists makes the leader read the rails' lists of banks and show them.
func (m *leaderMetrics) bankLists(b *banks.Banks, every time.Duration) banks.Refresher {
	return banks.Refresher{Banks: b, Every: every, Metrics: banks.Metrics{
		Listed: func(p banks.Place, n int, age time.Duration) {
			m.banks.WithLabelValues(p.Rail, string(p.Currency)).Set(float64(n))
			m.bankAge.WithLabelValues(p.Rail, string(p.Currency)).Set(age.Seconds())
		},
		Refused: func(p banks.Place, refused bool) {
			m.bankRefused.WithLabelValues(p.Rail, string(p.Currency)).Set(oneIf(refused))
		},
	}}
}

// listOwed makes the list of what is owed and shows its sums. The first list of a day goes to the log.
func (m *leaderMetrics) listOwed(s *store.Store, log *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		sums, fresh, err := s.MakeOwed(ctx)
		if err != nil {
			return err
		}
		m.owed.Reset()
		m.owedOldest.Reset()
		for _, o := range sums {
			m.owed.WithLabelValues(o.Mode, o.To, o.Asset).Set(o.Amount.InexactFloat64())
			m.owedOldest.WithLabelValues(o.Mode, o.To, o.Asset).Set(time.Since(o.Oldest).Seconds())
			if fresh {
				log.InfoContext(ctx, "owed money", "mode", o.Mode, "to", o.To, "asset", o.Asset, "amount", o.Amount, "entries", o.Count, "oldest", o.Oldest)
			}
		}
		return nil
	}
}

// close closes the days that have ended, and shows when the last one did.
func (m *leaderMetrics) close(days func(context.Context) (string, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		last, err := days(ctx)
		if err != nil {
			return err
		}
		if day, err := time.Parse(time.DateOnly, last); err == nil {
			m.closed.Set(float64(day.AddDate(0, 0, 1).Unix()))
		}
		return nil
	}
}

// treasury shows the differences of a report in place of those before. A place that is silent keeps the last known one.
func (m *leaderMetrics) treasury(t books.Treasury) {
	mode := string(t.Mode)
	m.difference.DeletePartialMatch(prometheus.Labels{"mode": mode})
	m.unread.DeletePartialMatch(prometheus.Labels{"mode": mode})
	show := func(place, asset string, r books.Read) {
		if r.Last != nil {
			m.difference.WithLabelValues(mode, place, asset).Set(r.Last.InexactFloat64())
		}
		m.unread.WithLabelValues(mode, place, asset).Set(oneIf(r.Unread))
	}
	for _, l := range t.Crypto {
		show(l.Network, l.Asset, l.Read)
	}
	for _, f := range t.Floats {
		show(f.Rail, f.Currency, f.Read)
	}
}

// countCollecting measures the cost of collecting, at present prices.
func (m *leaderMetrics) countCollecting(of func(ctx context.Context, mode tenant.Mode) ([]books.Collecting, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		all, err := of(ctx, tenant.Live)
		if err == nil {
			m.collecting(all)
		}
		return err
	}
}

// collecting shows the cost of collecting in place of the one before.
func (m *leaderMetrics) collecting(all []books.Collecting) {
	m.collected.Reset()
	m.collectingCost.Reset()
	for _, c := range all {
		m.collected.WithLabelValues(c.Network, c.Asset).Set(c.USD.InexactFloat64())
		m.collectingCost.WithLabelValues(c.Network, c.Asset).Set(c.Cost.InexactFloat64())
	}
}

// stocked shows the free addresses of a mode and family.
func (m *leaderMetrics) stocked(mode tenant.Mode, family money.Family, free int) {
	m.stock.WithLabelValues(string(mode), string(family)).Set(float64(free))
}
