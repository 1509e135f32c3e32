package main

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
)

// Each event at a rail counts in its metric under its labels.
func TestWatch(t *testing.T) {
	registry := prometheus.NewRegistry()
	w := watch(registry)
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
