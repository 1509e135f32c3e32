//go:build integration && long

package main

import (
	"encoding/base64"
	"testing"

	"causeway.internal/services/wallets/internal/fixture"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
	"causeway.internal/services/wallets/internal/trontx"
	"causeway.internal/services/wallets/internal/wallet"
)

// theft has the signer sign a transfer to somebody else, as a signer with another policy.
func (c *custody) theft(t *testing.T, r intent.Request, treasury string) intent.Signed {
	t.Helper()
	c.changePolicy(t, treasury, r.To)
	r.ID, r.Kind, r.Network = "theft", intent.Sweep, c.Subject.Network
	signed, err := c.asked(t, r)
	if err != nil {
		t.Fatalf("sign a transfer to %s: got %v, want no error", r.To, err)
	}
	c.changePolicy(t, r.To, treasury)
	return signed
}

// index is the index of the address of a wallet.
func (c *custody) index(t *testing.T, w wallet.Wallet) uint32 {
	t.Helper()
	return uint32(c.count(t, `SELECT idx FROM addresses WHERE address = $1`, w.Address))
}

// Another deposit fills a robbed address up: the sweep of the lost one is not given up, but takes that money. The sweep
// of the later deposit misses it, and is given up beside the same transaction.
func TestSweep_lostAndFilled(t *testing.T) {
	t.Parallel()
	c, w, _, foreign := newStolen(t)
	c.Mine(1)
	c.startWallets(t)
	c.Mine(6)
	first := c.missed(t, w)
	c.Transfer(map[string]any{"to": w.Address, "amount": "30000002", "token": "USDT", "mine": 6})
	c.await(t, "the later deposit is final", func() bool {
		return c.count(t, `SELECT count(*) FROM deposits WHERE wallet_id = $1 AND finalized AND sweep IS NULL`, w.ID) == 1
	})
	c.sweepGoesOn(t, "the theft, while the money is there", first, foreign, "is on the chain")
	c.Do("/block-time", map[string]string{"every": blockTime})
	if _, err := c.pool.Exec(t.Context(), `UPDATE sweeps SET due_at = now()`); err != nil { // ten minutes have passed
		t.Fatal(err)
	}
	c.await(t, "the first sweep takes the money", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE id = $1 AND state = 'swept'`, first) == 1
	})
	second := c.missed(t, w)
	c.sweepGivenUp(t, second, foreign)
	if got := c.moved(t, w.Address, treasury); len(got) != 1 || got[0] != "25000001" {
		t.Errorf("read the transfers to the treasury: got %v, want one of 25000001", got)
	}
}

// Somebody with the words moves TRX of a deposit away before its sweep is planned. The sweep never gets a transaction,
// and is given up.
func TestSweep_tronLost(t *testing.T) {
	t.Parallel()
	c := newTron(t, nil)
	w := c.wallet(t, "TRX")
	c.wallets.kill(t)
	paid := c.Transfer(map[string]any{"to": w.Address, "amount": "50000000", "token": false})
	fixture.Await(t, "the deposit is in a block", func() bool { return c.sun(t, w.Address) == 50_000_000 })
	var block struct {
		ID     string `json:"blockID"`
		Header struct {
			Raw struct {
				Timestamp int64 `json:"timestamp"`
			} `json:"raw_data"`
		} `json:"block_header"`
	}
	c.post(t, "/wallet/getnowblock", nil, &block)
	to := trontx.Account{7}.String()
	signed := c.theft(t, intent.Request{
		Index: c.index(t, w), Asset: "TRX", Amount: "48000000", To: to,
		Tron: &intent.Tron{Block: block.ID, Timestamp: block.Header.Raw.Timestamp, Expiration: block.Header.Raw.Timestamp + 110_000},
	}, tronTreasury)
	var taken struct {
		Result  bool
		Message string
	}
	c.post(t, "/wallet/broadcasthex", map[string]any{"transaction": signed.Raw}, &taken)
	if !taken.Result {
		t.Fatalf("send the theft: got %+v, want it taken", taken)
	}
	fixture.Await(t, "the thief has the coins", func() bool { return c.sun(t, to) == 48_000_000 })
	c.startWallets(t)
	id := c.missed(t, w)
	c.sweepGoesOn(t, "the payer's transaction", id, paid, "is not from")
	c.sweepGivenUp(t, id, signed.TxHash)
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx`); n != 0 {
		t.Errorf("count the transactions of the sweep: got %d, want none", n)
	}
}

// The same with SOL.
func TestSweep_solanaLost(t *testing.T) {
	t.Parallel()
	c := newSolCustody(t, nil)
	w := c.wallet(t, "SOL")
	c.wallets.kill(t)
	paid := c.Transfer(map[string]any{"to": w.Address, "amount": "2000000000", "token": false, "mine": 1})
	to := soltx.Account{77, 4}
	for _, err := soltx.ParseOwner(to.String()); err != nil; _, err = soltx.ParseOwner(to.String()) {
		to[1]++ // the treasury of a policy is an address of a key
	}
	signed := c.theft(t, intent.Request{
		Asset: "SOL", Amount: "2000000000", To: to.String(),
		Solana: &intent.Solana{
			Station: c.station.String(), NonceAt: c.nonceAt.String(), Nonce: soltx.Account{77, 3}.String(), UnitLimit: 100_000,
			Moves: []intent.SolanaMove{{Index: c.index(t, w), Owner: w.Address, Amount: "2000000000"}},
		},
	}, c.treasury.String())
	raw, err := signed.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	c.call(t, "sendTransaction", base64.StdEncoding.EncodeToString(raw), map[string]any{"encoding": "base64", "skipPreflight": true})
	c.startWallets(t)
	c.flow()
	id := c.missed(t, w)
	c.sweepGoesOn(t, "the payer's transaction", id, paid, "has not signed it")
	c.sweepGivenUp(t, id, signed.TxHash)
}
