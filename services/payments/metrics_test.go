package main

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/refund"
	"causeway.internal/services/payments/internal/store"
)

// Each event at a rail counts in its metric under its labels.
func TestRailMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	w := railMetrics(registry)
	w.Outcome("paystack", money.NGN, "succeeded")
	w.Breaker("paystack", money.NGN, true)
	w.Float("paystack", money.NGN, decimal.RequireFromString("1234.99"))
	w.Hint("paystack", "forged")
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range families {
		m := f.GetMetric()[0]
		text := fmt.Sprint(m.GetCounter().GetValue()+m.GetGauge().GetValue(), " of")
		for _, l := range m.GetLabel() {
			text += " " + l.GetValue()
		}
		got[f.GetName()] = text
	}
	for name, want := range map[string]string{
		"payments_payouts_total": "1 of NGN succeeded paystack", "payments_rail_breaker_open": "1 of NGN paystack",
		"payments_rail_float": "1234 of NGN paystack", "payments_rail_hints_total": "1 of forged paystack",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

// A rule sees a counter grow from 0 and never sees it appear, so each counter that a rule is about is there from the
// start.
func TestMetrics_start(t *testing.T) {
	registry := prometheus.NewRegistry()
	raise := alertCounter(registry)
	moveMetrics(registry)
	raise(tenant.Live, alert.PayoutVanished)
	families, err := registry.Gather()
	if err != nil {
		t.Fatalf("Gather() = %v, want no error", err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	want := map[string]float64{"payments_status_seconds live settling": 0, "payments_status_seconds test settling": 0}
	for _, code := range alert.Codes() {
		want["payments_alerts_total "+code.String()+" live"], want["payments_alerts_total "+code.String()+" test"] = 0, 0
	}
	want["payments_alerts_total payout_vanished live"] = 1
	if !maps.Equal(got, want) {
		t.Errorf("a process in which one payout has vanished shows %v, want %v", got, want)
	}
}

// The metrics of both roles live in one registry, and a former leader shows no old values.
func TestLeaderMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	railMetrics(registry)
	moveMetrics(registry)
	networkGauge(registry)
	capacityGauge(registry)
	alertCounter(registry)
	m := newLeaderMetrics(registry)
	m.compared(map[string]int{"clearing": 2}, time.Unix(1e9, 0))
	m.stocked(tenant.Test, money.Tron, 7)
	m.collecting([]books.Collecting{{Collected: books.Collected{Network: "base", Asset: "USDT"}, USD: decimal.NewFromInt(9)}})
	m.collecting([]books.Collecting{{Collected: books.Collected{Network: "base", Asset: "USDC"}, USD: decimal.NewFromInt(40), Cost: decimal.NewFromInt(2)}})
	m.openRefunds([]store.OpenRefunds{{Mode: tenant.Live, State: refund.Requested, Refunds: 3, Oldest: time.Hour}})
	values := func() map[string]float64 {
		families, err := registry.Gather()
		if err != nil {
			t.Fatalf("Gather() = %v, want no error", err)
		}
		got := map[string]float64{}
		for _, f := range families {
			for _, x := range f.GetMetric() {
				got[f.GetName()] += x.GetGauge().GetValue()
			}
		}
		return got
	}
	if got := values(); got["payments_ledger_differences"] != 2 || got["payments_address_stock"] != 7 || got["payments_reconciled_timestamp_seconds"] != 1e9 {
		t.Errorf("a leader shows %v, want 2 differences, 7 addresses and the time of the comparison", got)
	}
	if got := values(); got["payments_collected_usd"] != 40 || got["payments_collecting_cost_usd"] != 2 {
		t.Errorf("a leader shows %v, want 40 collected dollars for 2, and no sum of before", got)
	}
	if got := values(); got["payments_refunds"] != 3 || got["payments_refund_oldest_seconds"] != 3600 {
		t.Errorf("a leader shows %v, want 3 refunds, the oldest an hour old", got)
	}
	m.openRefunds(nil)
	if got := values(); got["payments_refunds"] != 0 || got["payments_refund_oldest_seconds"] != 0 {
		t.Errorf("a leader shows %v once no refund is open, want none", got)
	}
	one, none := decimal.NewFromInt(1), decimal.Zero
	m.treasury(books.Treasury{Mode: tenant.Live, Crypto: []books.CryptoLine{
		{Network: "tron", Asset: "TRX", Read: books.Read{Unread: true, Last: &one}}, {Network: "tron", Asset: "USDT", Read: books.Read{Difference: &none, Last: &none}},
	}})
	if got := values(); got["payments_treasury_unread"] != 1 || got["payments_treasury_difference"] != 1 {
		t.Errorf("a leader shows %v after a report with one unread line, want it unread, with its last difference", got)
	}
	m.reset()
	if got := values(); got["payments_ledger_differences"] != 0 || got["payments_address_stock"] != 0 || got["payments_collected_usd"] != 0 || got["payments_reconciled_timestamp_seconds"] != 1e9 {
		t.Errorf("a former leader shows %v, want the time of the comparison alone", got)
	}
}
