package rail

import (
	"testing"

	"pgregory.net/rapid"

	"causeway.internal/libs/money"
)

func TestSearch(t *testing.T) {
	for _, c := range []struct {
		cur  money.Currency
		text string
		want string // one of the first results, "" for no result
	}{
		{money.NGN, "guaranty", "Guaranty Trust Bank"},
		{money.NGN, "Garanty Trust", "Guaranty Trust Bank"},
		{money.NGN, "GTBank", "Guaranty Trust Bank"},
		{money.NGN, "trust, GUARANTY", "Guaranty Trust Bank"},
		{money.NGN, "firstbank", "First Bank of Nigeria"},
		{money.NGN, "058", "Guaranty Trust Bank"},
		{money.NGN, "000013", "Guaranty Trust Bank"},
		{money.NGN, "uba", "United Bank for Africa"},
		{money.NGN, "zeniht", "Zenith Bank"},
		{money.NGN, "palm pay", "PalmPay"},
		{money.NGN, "monipoint", "Moniepoint Microfinance Bank"},
		{money.GHS, "momo mtn", "MTN Mobile Money"},
		{money.GHS, "vodafone", "Telecel Cash"},
		{money.KES, "mpesa", "M-PESA"},
		{money.KES, "equitty", "Equity Bank"},
		{money.KES, "cooperative", "Co-operative Bank of Kenya"},
		{money.ZAR, "fnb", "First National Bank"},
		{money.ZAR, "capitek", "Capitec Bank"},
		{money.ZAR, "no such bank at all", ""},
		{money.ZAR, "gtbank", ""},
	} {
		found := Search(c.cur, KnownBanks(c.cur), c.text)
		if c.want == "" {
			if len(found) > 0 {
				t.Errorf("%q finds %v", c.text, found)
			}
			continue
		}
		hit := false
		for _, b := range found {
			hit = hit || b.Name == c.want
		}
		if !hit || len(found) > 3 {
			t.Errorf("%q finds %v, want %s", c.text, found, c.want)
		}
	}
	if len(Search(money.NGN, KnownBanks(money.NGN), "")) != len(KnownBanks(money.NGN)) {
		t.Error("nothing does not find everything")
	}
	for name := range short {
		known := false
		for _, cur := range money.Currencies() {
			for _, b := range KnownBanks(cur) {
				known = known || b.Name == name
			}
		}
		if !known {
			t.Errorf("a short name of %q, which is no bank", name)
		}
	}
}

func TestOneSlip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z]{5,12}`).Draw(t, "word")
		r := []rune(word)
		i := rapid.IntRange(0, len(r)-2).Draw(t, "place")
		slips := []string{string(r[:i]) + string(r[i+1:]), string(r[:i]) + "x" + string(r[i:]), string(r[:i]) + "x" + string(r[i+1:]), string(r[:i]) + string(r[i+1]) + string(r[i]) + string(r[i+2:])}
		for _, slip := range slips {
			if !oneSlip(word, slip) || !oneSlip(slip, word) {
				t.Fatalf("%s is more than one slip from %s", slip, word)
			}
		}
		if oneSlip(word, word+"xy") || oneSlip(word, "12345678901234") {
			t.Fatal("two slips are one")
		}
	})
}
