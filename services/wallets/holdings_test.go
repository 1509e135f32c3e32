//go:build integration

package main

import (
	"encoding/json"
	"math/big"
	"testing"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/wire"
)

// held is the newest reading that payments received, by asset.
type held struct {
	*custody
	newest wire.HoldingsRead
}

// listenHoldings plays payments.
func (c *custody) listenHoldings(t *testing.T) *held {
	t.Helper()
	h := &held{custody: c}
	c.read(t, wire.Payments, wire.Payments+"."+string(wire.HoldingsReadV1), func(m bus.Message) error {
		var read wire.HoldingsRead
		if err := json.Unmarshal(m.Body, &read); err != nil {
			return err
		}
		if read.ReadAt.After(h.newest.ReadAt) {
			h.newest = read
		}
		return nil
	})
	return h
}

// of is the newest holding of an asset.
func (h *held) of(asset string) (wire.Holding, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.newest.Holdings {
		if one.Asset == asset {
			return one, true
		}
	}
	return wire.Holding{}, false
}

// differs is what the chain has beyond the books; false where a place was not read.
func (h *held) differs(asset string) (string, bool) {
	one, found := h.of(asset)
	sum := new(big.Int)
	for _, text := range []string{one.Deposits, one.GasStation, one.RefundStation, one.Treasury} {
		n, ok := new(big.Int).SetString(text, 10)
		if !ok {
			return "", false
		}
		sum.Add(sum, n)
	}
	expected, ok := new(big.Int).SetString(one.Expected, 10)
	if !ok {
		return "", false
	}
	return sum.Sub(sum, expected).String(), found && one.Unread == 0
}

// awaits waits until an asset has this holding and this difference.
func (h *held) awaits(t *testing.T, what string, want wire.Holding, difference string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			got, _ := h.of(want.Asset)
			t.Logf("%s: the newest reading has %+v, want %+v with a difference of %s", what, got, want, difference)
		}
	}()
	h.await(t, what, func() bool {
		got, _ := h.of(want.Asset)
		for asked, place := range map[*string]*string{
			&want.Deposits: &got.Deposits, &want.GasStation: &got.GasStation, &want.Treasury: &got.Treasury, &want.RefundStation: &got.RefundStation,
			&want.Expected: &got.Expected, &want.Standalone: &got.Standalone,
		} {
			if *asked != "" && *asked != *place {
				return false
			}
		}
		differs, read := h.differs(want.Asset)
		return read && differs == difference
	})
}

// TestHoldings: payments gets what the chain has on deposit addresses, at the station and in the treasury, and what
// wallets expects there. Nothing that is on its way is a difference; what came or went without wallets is one.
func TestHoldings(t *testing.T) {
	t.Parallel()
	c := newCustody(t, func(policy string, environ map[string]string) string {
		environ["HOLDINGS_EVERY"] = "500ms"
		return policy
	})
	h := c.listenHoldings(t)
	c.Do("/block-time", map[string]string{"every": blockTime})
	const filled = stationFunds // nobody has booked it
	h.awaits(t, "an empty network is read", wire.Holding{Asset: "USDT", Deposits: "0", Treasury: "0", Expected: "0", Standalone: "0"}, "0")
	merchants, ours, small, coin := c.wallet(t, "USDT"), c.handed(t), c.handed(t), c.handed(t)
	for at, amount := range map[string]string{merchants.Address: "100000000", ours: "50000000", small: "5000000"} {
		c.Transfer(map[string]any{"to": at, "amount": amount, "token": "USDT"})
	}
	c.Transfer(map[string]any{"to": coin, "amount": "100000000000000000", "token": false}) // too little for a sweep
	h.awaits(t, "two deposits are swept and one is not", wire.Holding{
		Asset: "USDT", Deposits: "5000000", GasStation: "0", RefundStation: "0", Treasury: "150000000", Expected: "155000000", Standalone: "100000000",
	}, "0")
	h.awaits(t, "fees are expected, and only the filling of the station is not", wire.Holding{Asset: "ETH", Treasury: "0"}, filled)
	c.Transfer(map[string]any{"to": treasury, "amount": "7000000", "token": "USDT"})
	h.awaits(t, "money comes that wallets does not know", wire.Holding{Asset: "USDT", Treasury: "157000000"}, "7000000")
	if _, err := c.pool.Exec(t.Context(), `UPDATE deposits SET amount = amount + 9000000 WHERE address = $1`, small); err != nil {
		t.Fatal(err)
	}
	h.awaits(t, "the books have more on an address than the chain", wire.Holding{Asset: "USDT", Deposits: "5000000", Expected: "164000000"}, "-2000000")
}
