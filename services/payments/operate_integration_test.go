//go:build integration

package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"causeway.internal/libs/command"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/payments/migrations"
)

// Each verb of an operator prints what the runbooks quote.
func TestOperate(t *testing.T) {
	cfg := pg.Config(t, migrations.FS)
	environ := map[string]string{"DATABASE_URL": cfg.URL.Reveal(), "MASTER_KEYS": "k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32))}
	for _, c := range []struct {
		line, says string
		fails      bool
	}{
		{"pauses", "nothing is paused", false},
		{"pause payouts --currency NGN --network trc20 --rail sim", "payouts paused: currency NGN, network tron, rail sim, since ", false},
		{"pause payouts --currency NGN --network tron --rail sim", "nothing changed", true},
		{"pause quotes", "quotes paused: currency all, network all, rail all, since ", false},
		{"pauses", "by cli:", false},
		{"resume quotes", "payouts paused: currency NGN", false},
		{"resume quotes", "nothing changed", true},
		{"resume payouts --currency NGN --network tron --rail sim", "nothing is paused", false},
		{"pause", "usage", true},
		{"pause everything", "usage", true},
		{"pause quotes --currency USD", `"USD" is no currency`, true},
		{"pause quotes --network doge", `"doge" is no network`, true},
		{"pause quotes --rail sim", "flag provided but not defined: -rail", true},
		{"pause payouts now", "unexpected argument", true},
		{"erase --merchant m --payer nobody --mode test", "0 payments erased, 0 not over yet", false},
		{"erase --merchant m", "are needed", true},
		{"fees", "1 fee_ngn_1: NGN, mode both, merchant everyone, 100000=500,1000000=1000,2000000=1500,rest=7.5bp, from 2026-01-01", false},
		{"fees publish --currency NGN --mode live --merchant m1 --tiers rest=100+50bp>=400<=2000 --note agreed", ": NGN, mode live, merchant m1, rest=100+50bp>=400<=2000, from ", false},
		{"fees end --currency NGN --mode live --merchant m1 --note over", ": NGN, mode live, merchant m1, as everyone, from ", false},
		{"fees end --currency NGN --mode live --note over", "--merchant is needed", true},
		{"fees publish --currency NGN --mode live --tiers rest=100 --note agreed --from yesterday", "--from", true},
		{"fees publish --currency NGN --mode live --tiers rest=100 --note agreed --from 2026-01-01T00:00:00Z", "validFrom: must be at least 10 seconds", true},
		{"fees publish --currency NGN --mode live --tiers 1000=101,rest=200 --note agreed", "tiers[0]: has a fee of more than a tenth", true},
		{"fees publish --currency NGN --mode live --tiers all=1 --note agreed", "is no tier", true},
		{"fees publish --currency NGN --mode live --tiers rest=100", "note: is required", true},
		{"fees publish --currency NGN --tiers rest=100 --note agreed", "mode: must be one of", true},
		{"fees --merchant m2", "", false},
		{"book topup --ref B1 --rail paystack --currency NGN --amount 1000000", "booked float:B1", false},
		{"book topup --ref B1 --rail paystack --currency NGN --amount 1000000", "booked already", true},
		{"book sale --ref S1 --network erc20 --crypto usdt --amount 250.5", "booked sold:S1", false},
		{"book sweep --ref 0x2 --network trc20 --crypto USDT --amount 31.25 --gas 27.6", "booked sweep:0x2", false},
		{"book gas --ref 0x4 --network erc20 --amount 0.002", "booked gas:0x4", false},
		{"book gas --ref 0xAB --network erc20 --amount 0.002", "booked gas:0xab", false},
		{"book gas --ref 0xab --network erc20 --amount 0.002", "booked already", true},
		{"book gas --ref 0x5 --network moon --amount 0.002", "no network", true},
		{"--as ada.obi book capital --ref C1 --network trc20 --crypto trx --amount 5.0", "not booked yet", false},
		{"--as ada.obi book capital --ref C1 --network tron --crypto TRX --amount 5", "second_operator_required", true},
		{"--as bo.eze book capital --ref C1 --network tron --crypto TRX --amount 50", "not booked yet", false},
		{"--as ada.obi book capital --ref C1 --network tron --crypto TRX --amount 50", "booked capital:c1", false},
		{"--as bo.eze book capital --ref C1 --network tron --crypto TRX --amount 50", "booked already", true},
		{"book spread --ref D1 --currency NGN --amount -12.5", "booked spread:D1", false},
		{"book spread --ref D2 --currency USD --amount 1", "--currency", true},
		{"book topup --ref B2 --rail paystack --currency NGN --amount -1", "positive", true},
		{"book topup --rail paystack --currency NGN --amount 1", "--ref", true},
		{"book topup --ref B2 --currency NGN --amount 1", "--rail", true},
		{"book sale --ref S2 --network erc20 --crypto DOGE --amount 1", "is not taken", true},
		{"book sweep --ref 0x3 --network trc20 --crypto USDT --amount 1 --gas x", "no amount of gas", true},
		{"book merchant --ref M1 --merchant m1 --rail paystack --currency NGN --amount 10", "0 NGN are available", true},
		{"--as ada.obi book merchant --ref M1 --merchant m1 --rail paystack --currency NGN --amount 10.00 --overdraw ticket", "not booked yet", false},
		{"--as ada.obi book merchant --ref M1 --merchant m1 --rail paystack --currency NGN --amount 10 --overdraw again", "second_operator_required", true},
		{"--as bo.eze book merchant --ref M1 --merchant m1 --rail paystack --currency NGN --amount 10", "0 NGN are available", true},
		{"--as bo.eze book merchant --ref M1 --merchant m1 --rail paystack --currency NGN --amount 10 --overdraw ticket", "booked paid:M1", false},
		{"book merchant --ref M2 --merchant m1 --rail paystack --currency NGN --amount -10", "positive", true},
		{"book merchant --undo M2", "no payment to a merchant is booked", true},
		{"book merchant --undo M1 --amount 20", "no other flag", true},
		{"--as ada.obi book merchant --undo M1", "not booked yet", false},
		{"--as ada.obi book merchant --undo M1", "second_operator_required", true},
		{"--as bo.eze book merchant --undo M1", "booked back paid:M1", false},
		{"--as bo.eze book merchant --undo M1", "booked already", true},
		{"book gift --ref 1 --network trc20 --crypto USDT --amount 1", "usage", true},
		{"book", "usage", true},
		{"rotate-master", "0 rows sealed", false},
		{"rotate-master now", "usage", true},
	} {
		words := strings.Fields(c.line)
		var out bytes.Buffer
		err := program.Run(t.Context(), command.Input{Args: words, Environ: environ, Out: &out})
		text := out.String()
		if err != nil {
			text += err.Error()
		}
		if (err != nil) != c.fails || !strings.Contains(text, c.says) {
			t.Errorf("payments %s: %s", c.line, text)
		}
	}
	if err := program.Run(t.Context(), command.Input{Args: []string{"pauses"}}); err == nil || errors.Is(err, command.ErrUsage) {
		t.Errorf("without a database: %v", err)
	}
}
