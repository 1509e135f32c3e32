//go:build integration

package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/wallet"
)

// authorizedGas is the gas of the test token's authorization beyond a plain transfer, and some more: the node has the
// prices of a coming fork, with which a new slot of storage takes more than 100 000.
const authorizedGas = 200_000

// newAuthorized is a custody whose signer authorizes sweeps of USDC, which the test token takes as USDC does
// (EIP-3009).
func newAuthorized(t *testing.T, gas uint64, change func(policy string, environ map[string]string) string) *custody {
	t.Helper()
	return newCustody(t, func(policy string, environ map[string]string) string {
		_, contract, _ := strings.Cut(environ["EVM_ETHEREUM_TOKENS"], "USDC:")
		environ["EVM_ETHEREUM_SWEEP_LEAST"] = "USDC:20,ETH:0.5"
		// A funding gives this sum as well, as for the data of a rollup. So an authorization is cheaper at any price of gas
		// that the node may suggest.
		environ["EVM_ETHEREUM_SWEEP_RESERVE_WEI"] = "10000000000000000"
		policy = strings.Replace(policy, `"assets":{`, fmt.Sprintf(`"assets":{"USDC":{"contract":"%s","perHour":"1000000000000",
"authorization":{"name":"Test USDC","version":"2","gas":%d}},`, contract, gas), 1)
		if change != nil {
			policy = change(policy, environ)
		}
		return policy
	})
}

// pay pays USDC to a new wallet.
func (c *custody) pay(t *testing.T, amount string, blocks int) wallet.Wallet {
	t.Helper()
	w := c.wallet(t, "USDC")
	c.Transfer(map[string]any{"to": w.Address, "amount": amount, "token": "USDC", "mine": blocks})
	return w
}

// arrived checks the state after a sweep with an authorization: the chain moved the money once, the address never had a
// coin, the station paid exactly the booked fees, and every row has ended.
func (c *custody) arrived(t *testing.T, w wallet.Wallet, amount string) {
	t.Helper()
	c.await(t, "swept "+w.Address, func() bool { return c.eventsOf(w) == "watching deposit_detected confirmed swept" })
	if n := c.count(t, swept, w.ID); n != 1 {
		t.Errorf("count the swept events: got %d, want 1", n)
	}
	if got := c.movedOf(t, "USDC", w.Address, treasury); len(got) != 1 || got[0] != amount {
		t.Errorf("read the transfers to the treasury: got %v, want one of %s", got, amount)
	}
	if left := c.coins(t, w.Address); left.Sign() != 0 {
		t.Errorf("read the coins of the deposit address: got %s, want none", left)
	}
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx o JOIN sweeps s ON s.id = o.sweep WHERE s.wallet_id = $1
AND (NOT o.authorized OR o.kind <> 'sweep' OR o.state NOT IN ('final', 'failed'))`, w.ID); n != 0 {
		t.Errorf("count other transactions than authorized ones that have ended: got %d, want none", n)
	}
	if n := c.count(t, `SELECT count(*) FROM sweeps WHERE wallet_id = $1 AND state = 'swept'`, w.ID); n != 1 {
		t.Errorf("count the swept sweeps: got %d, want 1", n)
	}
	c.stationAgrees(t)
}

// stationAgrees checks that the gas station has what it got, less what the books say that it gave and paid.
func (c *custody) stationAgrees(t *testing.T) {
	t.Helper()
	stations, err := c.client.Stations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var booked string
	if err := c.pool.QueryRow(t.Context(), `SELECT coalesce(sum(credit - debit), 0)::text FROM custody_entries WHERE account = 'gas_station'`).Scan(&booked); err != nil {
		t.Fatal(err)
	}
	if has := c.coins(t, stations.EVM).String(); add(t, has, booked) != stationFunds {
		t.Errorf("the gas station got %s, has %s, and the books say that it gave %s", stationFunds, has, booked)
	}
}

// A token's contract takes the authorization of a deposit address from the gas station: one transaction, and no coin
// for the address.
func TestSweep_authorized(t *testing.T) {
	t.Parallel()
	c := newAuthorized(t, authorizedGas, nil)
	c.MineEvery(100 * time.Millisecond)
	w := c.pay(t, "25000001", 1)
	c.arrived(t, w, "25000001")
	c.refusesThief(t)
	at := c.handed(t)
	c.Transfer(map[string]any{"to": at, "amount": "25000002", "token": "USDC"})
	c.await(t, "payments gets one message about one transaction", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for hash, ids := range c.final {
			for _, o := range ids {
				fee, ok := new(big.Int).SetString(o.Fee, 10)
				return len(c.final) == 1 && len(ids) == 1 && hash == o.TxHash && o.Kind == wire.OutgoingSweep && o.Asset == "USDC" &&
					o.Amount == "25000002" && ok && fee.Sign() > 0
			}
		}
		return false
	})
	c.stationAgrees(t)
}

// refusesThief asks the signer for an authorization to another address than the treasury, and of another address than
// the named one.
func (c *custody) refusesThief(t *testing.T) {
	t.Helper()
	own, err := c.client.Addresses(t.Context(), "evm", []uint32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	nonce := intent.AuthorizationNonce("theft")
	r := intent.Request{
		ID: "theft", Kind: intent.Sweep, Network: "ethereum", Asset: "USDC", Amount: "1", To: "0x00000000000000000000000000000000deadbeef",
		EVM: &intent.EVM{
			ChainID: uint64(c.Chain), Contract: c.Tokens["USDC"], Nonce: 1_000, Gas: 100_000, MaxFee: "2000000000", Tip: "1",
			Authorization: &intent.Authorization{
				Owner: own[0], Name: "Test USDC", Version: "2", Nonce: hex.EncodeToString(nonce[:]), Before: time.Now().Add(time.Hour).Unix(),
			},
		},
	}
	for want, change := range map[string]func(){
		intent.Destination: func() {},
		intent.Address:     func() { r.To, r.EVM.Authorization.Owner = treasury, own[1] },
	} {
		kept := r
		terms := *r.EVM
		authorization := *terms.Authorization
		terms.Authorization, r.EVM = &authorization, &terms
		change()
		_, err := c.asked(t, r)
		if no, ok := errors.AsType[*intent.Refusal](err); !ok || no.Code != want {
			t.Errorf("sign an authorization to %s of %s: got %v, want the refusal %s", r.To, r.EVM.Authorization.Owner, err, want)
		}
		r = kept
	}
}
