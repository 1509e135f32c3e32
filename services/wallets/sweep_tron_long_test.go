//go:build integration && long

package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/chain/tron"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/sweeper"
	"causeway.internal/services/wallets/internal/wallet"
)

// TestSweep_tronKill9 kills wallets, or the signer, at the steps of a sweep for which an address is opened, gets energy
// and gives it back, and starts it again. The money moves once.
func TestSweep_tronKill9(t *testing.T) {
	t.Parallel()
	for _, kind := range []intent.Kind{intent.Fund, intent.Delegate, intent.Sweep, intent.Undelegate} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel() // a sweep takes the time of its blocks
			c := newTron(t, nil)
			c.installSteps(t)
			for _, k := range tronKills(kind) {
				t.Run(k.name, func(t *testing.T) { c.dies(t, k.at(c.custody, kind), k.side) })
			}
			if kind == intent.Fund {
				t.Run("opening", func(t *testing.T) { c.dies(t, c.row("open"), "wallets") })
			}
			c.stationHolds(t)
			c.logHolds(t)
		})
	}
}

// Two sweepers that both believe to lead, beside a third that does, make one transaction of each kind.
func TestSweep_tronTwoSweepers(t *testing.T) {
	t.Parallel()
	c := newTron(t, nil)
	n, _ := money.NetworkOf("tron")
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	terms, tronTerms, err := sweeper.TronSettings{MaxFee: 30_000_000, MaxStake: 20_000_000_000, Expiry: 20 * time.Second, Resend: time.Second}.Terms(n)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var rounds sync.WaitGroup
	t.Cleanup(func() { cancel(); rounds.Wait() })
	for range 2 {
		driver, err := tron.New(tron.Config{
			Network: n, Genesis: c.Genesis, Tokens: map[string]string{"USDT": c.Tokens["USDT"]}, RPC: rpc.Config{URLs: []string{c.RPC}, Timeout: 10 * time.Second, Lag: 7},
		}, log, rpc.NewMetrics(prometheus.NewRegistry()))
		if err != nil {
			t.Fatal(err)
		}
		one := sweeper.New(sweeper.Config{
			Network: "tron", Chain: driver, Coin: "TRX", Treasury: tronTreasury, Station: c.station, Terms: terms, Tron: tronTerms, Resend: time.Second,
		}, c.book.Sweeps(), c.client, log, func() string { return id.New("out_", time.Now()) })
		rounds.Go(func() {
			for ctx.Err() == nil {
				_ = one.Round(ctx)
			}
		})
	}
	for n := range 3 {
		w := c.wallet(t, "USDT")
		amount := fmt.Sprint(25_000_010 + n)
		c.Transfer(map[string]any{"to": w.Address, "amount": amount, "token": "USDT"})
		c.holds(t, w, amount)
		for _, kind := range []string{"fund", "delegate", "sweep", "undelegate"} {
			if n := c.count(t, `SELECT count(*) FROM outgoing_tx o JOIN sweeps s ON s.id = o.sweep WHERE s.wallet_id = $1 AND o.kind = $2`, w.ID, kind); n != 1 {
				t.Errorf("%d transactions %s, want 1", n, kind)
			}
		}
	}
	c.stationHolds(t)
}

// A transaction that no block takes is followed by another only when it has expired on the chain's own final blocks;
// one of them lands.
func TestSweep_tronExpired(t *testing.T) {
	t.Parallel()
	c := newTron(t, func(policy string, environ map[string]string) string {
		environ["TRON_SWEEP_EXPIRY"] = "3s"
		return policy
	})
	w := c.wallet(t, "USDT")
	sweeping := `SELECT count(*) FROM outgoing_tx WHERE kind = 'sweep' AND state = $1`
	gate := c.door("send", intent.Sweep, false)(t)
	c.Transfer(map[string]any{"to": w.Address, "amount": "25000001", "token": "USDT"})
	gate.wait(t)
	c.Do("/set", map[string]any{"hold": true})
	gate.gone(t)
	c.await(t, "the first form has expired, and a second one is signed", func() bool {
		return c.count(t, sweeping, "replaced") >= 1 && c.count(t, `SELECT count(*) FROM outgoing_tx WHERE kind = 'sweep' AND state IN ('signed', 'broadcast')`) == 1
	})
	c.Do("/set", map[string]any{"hold": false})
	c.holds(t, w, "25000001")
	c.formsApart(t)
}

// Lent energy goes away before the transfer is in a block: the transfer fails, its fee is booked, and it is planned
// again.
func TestSweep_tronOutOfEnergy(t *testing.T) {
	t.Parallel()
	c := newTron(t, func(policy string, environ map[string]string) string {
		environ["TRON_SWEEP_EXPIRY"] = "6s"
		return policy
	})
	w := c.wallet(t, "USDT")
	gate := c.door("send", intent.Sweep, false)(t)
	c.Transfer(map[string]any{"to": w.Address, "amount": "25000003", "token": "USDT"})
	gate.wait(t)
	c.Do("/set", map[string]any{"unlend": []string{w.Address}})
	gate.gone(t)
	c.await(t, "the transfer has failed", func() bool {
		return c.count(t, `SELECT count(*) FROM outgoing_tx WHERE kind = 'sweep' AND state = 'failed'`) == 1
	})
	c.holds(t, w, "25000003")
	var first, second int64
	if err := c.pool.QueryRow(t.Context(), `SELECT min((a.request::json->'tron'->>'feeLimit')::bigint), max((a.request::json->'tron'->>'feeLimit')::bigint)
FROM outgoing_attempts a JOIN outgoing_tx o ON o.id = a.outgoing WHERE o.kind = 'sweep'`).Scan(&first, &second); err != nil {
		t.Fatal(err)
	}
	if second <= first {
		t.Errorf("the limits were %d and %d, want a higher one after the failure", first, second)
	}
	c.formsApart(t)
	c.stationHolds(t)
}

// A block that holds a transaction leaves the chain: the same bytes are sent again and mined once.
func TestSweep_tronReorganised(t *testing.T) {
	t.Parallel()
	c := newTron(t, func(policy string, environ map[string]string) string {
		environ["TRON_SWEEP_EXPIRY"] = "100s" // the test stops the chain's blocks for a while
		return policy
	})
	w := c.wallet(t, "USDT")
	state := `SELECT count(*) FROM outgoing_tx o JOIN sweeps s ON s.id = o.sweep WHERE s.wallet_id = $1 AND o.kind = $2 AND o.state = $3`
	kinds := []intent.Kind{intent.Fund, intent.Delegate, intent.Sweep, intent.Undelegate}
	gate := c.door("send", kinds[0], false)(t)
	c.Transfer(map[string]any{"to": w.Address, "amount": "25000002", "token": "USDT"})
	for i, each := range kinds {
		kind := string(each)
		gate.wait(t)
		c.Do("/set", map[string]any{"every": "0", "hold": true}) // by hand from here
		gate.gone(t)
		c.await(t, kind+" is with the node", func() bool { return c.count(t, state, w.ID, kind, "broadcast") == 1 })
		c.Do("/finality", map[string]int{"depth": 20})
		c.Do("/set", map[string]any{"hold": false})
		c.Mine(1)
		c.await(t, kind+" is mined", func() bool { return c.count(t, state, w.ID, kind, "mined") == 1 })
		c.Do("/set", map[string]any{"hold": true})
		c.Do("/reorg", map[string]any{"depth": 1, "blocks": 2})
		c.await(t, kind+" is in no block", func() bool { return c.count(t, state, w.ID, kind, "broadcast") == 1 })
		c.Do("/set", map[string]any{"hold": false})
		c.await(t, kind+" is mined again", func() bool {
			c.Mine(1)
			return c.count(t, state, w.ID, kind, "mined") == 1
		})
		if i+1 < len(kinds) {
			gate = c.door("send", kinds[i+1], false)(t)
		}
		c.Do("/finality", map[string]int{"depth": 3})
		c.Do("/set", map[string]any{"every": blockTime})
	}
	c.holds(t, w, "25000002")
	c.stationHolds(t)
}

// A final refusal of the signer blocks the sweep until an operator releases it; lent energy goes back meanwhile.
func TestSweep_tronRefused(t *testing.T) {
	t.Parallel()
	c := newTron(t, func(policy string, environ map[string]string) string {
		return strings.Replace(policy, `"maxFeeLimit":"40000000"`, `"maxFeeLimit":"1"`, 1)
	})
	w := c.wallet(t, "USDT")
	c.Transfer(map[string]any{"to": w.Address, "amount": "25000004", "token": "USDT"})
	c.await(t, "the sweep is blocked", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'blocked' AND reason LIKE '%(fee)%'`) == 1
	})
	c.await(t, "the energy is back", func() bool {
		return c.lent(t, w.Address) == 0 && c.count(t, `SELECT count(*) FROM outgoing_tx WHERE kind = 'delegate' AND returned`) == 1
	})
	if got := c.moved(t, w.Address, tronTreasury); len(got) != 0 {
		t.Errorf("the chain moved %v, want nothing", got)
	}
}

// A node that hides a transaction, which is in a block, does not get a second one signed, however late it is.
func TestSweep_tronHidden(t *testing.T) {
	t.Parallel()
	c := newTron(t, func(policy string, environ map[string]string) string {
		environ["TRON_SWEEP_EXPIRY"] = "2s"
		return policy
	})
	liar := c.liar(t)
	c.wallets.kill(t)
	c.environ["TRON_RPC_URLS"] = liar + "," + c.environ["TRON_RPC_URLS"]
	c.startWallets(t)
	c.hides.Store(true)
	w := c.wallet(t, "USDT")
	c.Do("/set", map[string]any{"stake": map[string]int64{c.station: 0}})
	c.Transfer(map[string]any{"to": w.Address, "amount": "25000001", "token": "USDT"})
	c.await(t, "the funding is in a block that has long been final, and wallets has not seen it", func() bool {
		return c.sun(t, w.Address) > 0 && c.count(t, `SELECT count(*) FROM outgoing_tx o JOIN outgoing_attempts a ON a.outgoing = o.id
WHERE o.kind = 'fund' AND o.state = 'broadcast' AND a.signed_at < now() - interval '5 seconds'`) == 1
	})
	// On a slow machine an earlier one may have expired before a node took it: that one is in no block.
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx
WHERE id > (SELECT id FROM outgoing_tx WHERE kind = 'fund' AND state = 'broadcast')`); n != 0 {
		t.Errorf("%d transactions were planned after the hidden one, want none", n)
	}
	c.hides.Store(false)
	c.holds(t, w, "25000001")
	c.formsApart(t)
	c.stationHolds(t)
}

// The gas station has transactions for several sweeps under way at once: none waits for another one's signature.
func TestSweep_tronTogether(t *testing.T) {
	t.Parallel()
	c := newTron(t, nil)
	first := c.wallet(t, "USDT")
	c.Transfer(map[string]any{"to": first.Address, "amount": "25000000", "token": "USDT"})
	c.holds(t, first, "25000000")
	c.signer.kill(t)
	list := make([]wallet.Wallet, 5)
	for i := range list {
		list[i] = c.wallet(t, "USDT")
		c.Transfer(map[string]any{"to": list[i].Address, "amount": fmt.Sprint(25_000_001 + i), "token": "USDT"})
	}
	c.await(t, "the station's part of each sweep is planned while the signer is away", func() bool {
		return c.count(t, `SELECT count(DISTINCT sweep) FROM outgoing_tx WHERE sender = $1 AND state = 'planned'`, c.station) == int64(len(list))
	})
	c.startSigner(t)
	for i, w := range list {
		c.holds(t, w, fmt.Sprint(25_000_001+i))
	}
	c.stationHolds(t)
	c.formsApart(t)
}

// The signer signs transfers to its own treasury only, and lends energy to its own addresses only, whatever wallets
// requests.
func TestSweep_tronWrongDestination(t *testing.T) {
	t.Parallel()
	const thief = "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH"
	c := newTron(t, func(policy string, environ map[string]string) string {
		environ["TRON_SWEEP_TREASURY"] = thief
		return policy
	})
	w := c.wallet(t, "USDT")
	c.Transfer(map[string]any{"to": w.Address, "amount": "25000003", "token": "USDT"})
	for kind, asset := range map[intent.Kind]string{intent.Sweep: "USDT", intent.Fund: "TRX", intent.Delegate: "TRX"} {
		r := intent.Request{
			ID: "theft" + string(kind), Kind: kind, Network: "tron", Index: 5, Asset: asset, Amount: "25000003", To: thief,
			Tron: &intent.Tron{Block: strings.Repeat("0", 64), Expiration: time.Now().Add(time.Minute).UnixMilli()},
		}
		if kind == intent.Sweep {
			r.Tron.Contract, r.Tron.FeeLimit = c.Tokens["USDT"], 1
		}
		c.refused(t, r)
	}
	c.unswept(t) // wallets does not even send a request
}
