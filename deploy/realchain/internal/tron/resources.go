package tron

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"causeway.internal/deploy/realchain/internal/node"
)

// balanceSelector is balanceOf(address).
const balanceSelector = "70a08231"

// of is the account that a request names; nil for one that does not exist.
func (c *chain) of(r object, member string) (string, *account) {
	who, err := hex.DecodeString(fmt.Sprint(r[member]))
	if err != nil {
		return "", nil
	}
	return string(who), c.state.accounts[string(who)]
}

func (c *chain) resources(r object) any {
	_, a := c.of(r, "address")
	if a == nil {
		return object{}
	}
	return object{
		"freeNetUsed": a.freeUsed, "freeNetLimit": c.prices.free, "EnergyUsed": a.used, "EnergyLimit": (a.stake - a.lentOut + a.lentIn) / 1_000_000 * c.prices.perTRX,
		"TotalEnergyLimit": 180_000_000_000, "TotalEnergyWeight": 180_000_000_000 / c.prices.perTRX,
	}
}

// lendable is the stake whose energy is neither lent nor used.
func (c *chain) lendable(r object) any {
	_, a := c.of(r, "owner_address")
	if a == nil || a.stake == a.lentOut {
		return object{}
	}
	return object{"max_size": max(0, a.stake-a.lentOut-a.used/c.prices.perTRX*1_000_000)}
}

func (c *chain) lent(r object) any {
	from, _ := c.of(r, "fromAddress")
	to, _ := c.of(r, "toAddress")
	sum := c.state.lent[[2]string{from, to}]
	if sum == 0 {
		return object{}
	}
	return object{"delegatedResource": []object{{
		"from": hex.EncodeToString([]byte(from)), "to": hex.EncodeToString([]byte(to)), "frozen_balance_for_energy": sum,
	}}}
}

func (c *chain) parameters(object) any {
	return object{"chainParameter": []object{
		{"key": "getMaintenanceTimeInterval", "value": 21600000},
		{"key": "getCreateAccountFee", "value": c.prices.openBytes},
		{"key": "getTransactionFee", "value": c.prices.byte},
		{"key": "getCreateNewAccountFeeInSystemContract", "value": c.prices.open},
		{"key": "getEnergyFee", "value": c.prices.energy},
		{"key": "getFreeNetLimit", "value": c.prices.free},
		{"key": "getAllowMultiSign"},
	}}
}

var (
	_ node.Dropper = (*chain)(nil)
	_ node.Setter  = (*chain)(nil)
)

// Drop implements node.Dropper.
func (c *chain) Drop(_ context.Context, hashes []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(t *tx) bool {
		gone := len(hashes) == 0 || slices.Contains(hashes, t.id)
		if gone {
			delete(c.known, t.id)
		}
		return gone
	})
	return nil
}

// settings are what a test may change of the chain.
type settings struct {
	Every     *string          `json:"every"`     // a block this often, with the time of the clock; "0": none, but the time stays
	Hold      *bool            `json:"hold"`      // no block takes a waiting transaction
	Stake     map[string]int64 `json:"stake"`     // sun frozen for energy, by address
	EnergyFee int64            `json:"energyFee"` // sun
	Transfer  int64            `json:"transfer"`  // energy of a token's transfer
	Unlend    []string         `json:"unlend"`    // addresses whose lent energy goes back
}

// Set implements node.Setter.
func (c *chain) Set(_ context.Context, raw json.RawMessage) error {
	var s settings
	if err := json.Unmarshal(raw, &s); err != nil {
		return node.Refusal("%s", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.Every != nil {
		every, err := time.ParseDuration(*s.Every)
		if err != nil {
			return node.Refusal("%s", err)
		}
		c.clock = c.now
		c.minesBy(every)
	}
	if s.Hold != nil {
		c.held = *s.Hold
	}
	for text, sun := range s.Stake {
		who, err := read(text)
		if err != nil {
			return err
		}
		c.state.freeze(string(who), sun)
	}
	if s.EnergyFee > 0 {
		c.prices.energy = s.EnergyFee
	}
	if s.Transfer > 0 {
		c.prices.transfer = s.Transfer
	}
	c.state.prices = c.prices
	for _, text := range s.Unlend {
		who, err := read(text)
		if err != nil {
			return err
		}
		for pair, sun := range c.state.lent {
			if pair[1] == string(who) {
				c.state.unlend(pair[0], pair[1], sun)
			}
		}
	}
	return nil
}

// minesBy mines a block at intervals; 0 stops it. The caller holds the lock.
func (c *chain) minesBy(every time.Duration) {
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
	if every <= 0 {
		return
	}
	tick, over := time.NewTicker(every), make(chan struct{})
	c.stop = func() { tick.Stop(); close(over) }
	go func() {
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				c.mu.Lock()
				c.mine()
				c.mu.Unlock()
			}
		}
	}()
}
