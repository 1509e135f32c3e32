//go:build integration

package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/trontx"
	"causeway.internal/services/wallets/internal/wallet"
)

const (
	tronTreasury = "TMVQGm1qAQYVdetCeGRRkTWYYrLXuHK2HC"
	// xpubTron is the account key of words on tron.
	xpubTron = "xpub6D1AabNHCupeiLM65ZR9UStMhJ1vCpyV4XbZdyhMZBiJXALQtmn9p42VTQckoHVn8WNqS7dqnJokZHAHcHGoaQgmv8D45oNUKx6DZMNZBCd"
	// tronStake is enough energy for dozens of transfers.
	tronStake = 1_000_000_000_000
)

// tronCustody is custody on tron.
type tronCustody struct {
	*custody
	station string
	hides   atomic.Bool // the liar shows no transaction of the station
	hidden  sync.Map    // ids of those
}

// newTron starts a chain, a signer and wallets that sweeps tron. A block comes every blockTime; the third after a block
// makes it final.
func newTron(t *testing.T, change func(policy string, environ map[string]string) string) *tronCustody {
	t.Helper()
	c := &tronCustody{custody: custodyOf(t, "tron")}
	c.derives(t, chainSettings{XpubLiveTron: xpubTron})
	maps.Copy(c.environ, map[string]string{
		"XPUB_LIVE_TRON": xpubTron, "CONFIRMATIONS": "tron=2",
		"TRON_GENESIS": c.Genesis, "TRON_START": "1", "TRON_POLL": poll, "TRON_ROLLBACK_GRACE": "200ms", "TRON_TOKENS": "USDT:" + c.Tokens["USDT"],
		"TRON_SWEEP_TREASURY": tronTreasury, "TRON_SWEEP_LEAST": "USDT:20,TRX:30", "TRON_SWEEP_EXPIRY": "20s", "TRON_SWEEP_RESEND": "1s",
	})
	policy := fmt.Sprintf(`{"mode":"live","account":0,"gasAccount":1,"indexBelow":100000,"networks":{"tron":{"treasury":"%s","countPerHour":10000,
"assets":{"TRX":{"perHour":"1000000000000"},"USDT":{"contract":"%s","perHour":"1000000000000"}},"fund":{"most":"40000000","perHour":"1000000000000"},
"tron":{"maxFeeLimit":"40000000","expiresWithin":120,"expiryMargin":1,"lend":{"most":"20000000000","perHour":"90000000000000"}}}}}`, tronTreasury, c.Tokens["USDT"])
	if change != nil {
		policy = change(policy, c.environ)
	}
	c.listen(t)
	c.seal(t, policy)
	c.openDoors(t, "TRON_RPC_URLS", c.requests)
	c.Do("/finality", map[string]int{"depth": 3})
	c.startSigner(t)
	stations, err := c.client.Stations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.station = stations.Tron
	c.Transfer(map[string]any{"to": c.station, "amount": "5000000000", "token": false})
	c.Transfer(map[string]any{"to": tronTreasury, "amount": "1000000", "token": false}) // it is an account
	c.Transfer(map[string]any{"to": tronTreasury, "amount": "1", "token": "USDT"})      // it has held the token before
	c.Do("/set", map[string]any{"every": blockTime, "stake": map[string]int64{c.station: tronStake}})
	c.startWallets(t)
	return c
}

// requests names the requests to the node at which a test may stop.
func (c *tronCustody) requests(body []byte) (string, string) {
	var r struct {
		Transaction string `json:"transaction"`
	}
	if json.Unmarshal(body, &r) != nil || r.Transaction == "" {
		return "", ""
	}
	raw, err := hex.DecodeString(r.Transaction)
	if err != nil {
		return "", ""
	}
	tx, err := trontx.Parse(raw)
	if err != nil {
		return "", ""
	}
	kind := intent.Sweep
	switch {
	case tx.Type == trontx.Delegate:
		kind = intent.Delegate
	case tx.Type == trontx.Undelegate:
		kind = intent.Undelegate
	case tx.Owner.String() == c.station:
		kind = intent.Fund
	}
	return "send", string(kind)
}

// post asks the node.
func (c *tronCustody) post(t *testing.T, path string, body map[string]any, out any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(c.RPC+path, "application/json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		t.Fatalf("read the node's answer to %s: %v", path, err)
	}
}

func tronHex(t *testing.T, text string) string {
	t.Helper()
	a, err := trontx.ParseAccount(text)
	if err != nil {
		t.Fatal(err)
	}
	return a.Hex()
}

// sun is the balance of an address in TRX.
func (c *tronCustody) sun(t *testing.T, of string) int64 {
	t.Helper()
	var out struct {
		Balance int64 `json:"balance"`
	}
	c.post(t, "/wallet/getaccount", map[string]any{"address": tronHex(t, of)}, &out)
	return out.Balance
}

// moved are the USDT transfers on the chain from one address to another.
func (c *tronCustody) moved(t *testing.T, from, to string) (amounts []string) {
	t.Helper()
	topic := func(a string) string { return strings.Repeat("0", 24) + tronHex(t, a)[2:] }
	var head struct {
		Header struct {
			Raw struct{ Number int64 } `json:"raw_data"`
		} `json:"block_header"`
	}
	c.post(t, "/wallet/getnowblock", nil, &head)
	for n := int64(1); n <= head.Header.Raw.Number; n++ {
		var infos []struct {
			Log []struct {
				Topics []string
				Data   string
			}
		}
		c.post(t, "/wallet/gettransactioninfobyblocknum", map[string]any{"num": n}, &infos)
		for _, i := range infos {
			for _, l := range i.Log {
				if l.Topics[1] == topic(from) && l.Topics[2] == topic(to) {
					sum, _ := new(big.Int).SetString(l.Data, 16)
					amounts = append(amounts, sum.String())
				}
			}
		}
	}
	return amounts
}

// lent is the stake whose energy an address uses.
func (c *tronCustody) lent(t *testing.T, to string) int64 {
	t.Helper()
	var out struct {
		Resources []struct {
			Sun int64 `json:"frozen_balance_for_energy"`
		} `json:"delegatedResource"`
	}
	c.post(t, "/wallet/getdelegatedresourcev2", map[string]any{"fromAddress": tronHex(t, c.station), "toAddress": tronHex(t, to)}, &out)
	if len(out.Resources) == 0 {
		return 0
	}
	return out.Resources[0].Sun
}

// holds checks the state after a sweep of a USDT wallet: the chain moved the money once, the wallet got one event, the
// energy is back, every row has ended, and the books agree with the chain.
func (c *tronCustody) holds(t *testing.T, w wallet.Wallet, amount string) {
	t.Helper()
	c.await(t, "swept "+w.Address, func() bool { return c.eventsOf(w) == "watching deposit_detected confirmed swept" })
	c.await(t, "the energy of "+w.Address+" is back, and known to be", func() bool {
		return c.lent(t, w.Address) == 0 && c.count(t, `SELECT count(*) FROM outgoing_tx o JOIN sweeps s ON s.id = o.sweep WHERE s.wallet_id = $1
AND (o.state IN ('planned', 'signed', 'broadcast', 'mined') OR (o.kind = 'delegate' AND o.state = 'final' AND NOT o.returned))`, w.ID) == 0
	})
	if got := c.moved(t, w.Address, tronTreasury); len(got) != 1 || got[0] != amount {
		t.Errorf("the chain moved %v from %s, want %s once", got, w.Address, amount)
	}
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx o JOIN sweeps s ON s.id = o.sweep WHERE s.wallet_id = $1 AND o.kind = 'sweep' AND o.state = 'final'`, w.ID); n != 1 {
		t.Errorf("%d sweeping transactions are final, want 1", n)
	}
	if n := c.count(t, `SELECT count(*) FROM deposits WHERE wallet_id = $1`, w.ID); n != 1 {
		t.Errorf("the wallet has %d deposits, want 1: the gas station's TRX is none", n)
	}
	c.booked(t, w, "USDT", amount)
	if got, want := c.books(t, w, "gas_float", "TRX"), c.sun(t, w.Address); got != want {
		t.Errorf("the books have %d sun of the station's on %s, the chain %d", got, w.Address, want)
	}
}

// stationHolds compares the books of the gas station with the chain.
func (c *tronCustody) stationHolds(t *testing.T) {
	t.Helper()
	var spent int64
	if err := c.pool.QueryRow(t.Context(), `SELECT coalesce(sum(credit - debit), 0)::bigint FROM custody_entries WHERE account = 'gas_station'`).Scan(&spent); err != nil {
		t.Fatal(err)
	}
	if left := c.sun(t, c.station); left+spent != 5_000_000_000 {
		t.Errorf("the books say that the station spent %d sun, %d of 5000000000 are left", spent, left)
	}
}

// tronKill is a point at which a process dies.
type tronKill struct {
	name, side string
	at         func(c *custody, kind intent.Kind) func(t *testing.T) stop
}

func killAtDoor(what string, answered bool, side string) tronKill {
	return tronKill{fmt.Sprintf("%s, answered %v, %s dies", what, answered, side), side, func(c *custody, kind intent.Kind) func(t *testing.T) stop {
		return c.door(what, kind, answered)
	}}
}

func killAtRow(state string) tronKill {
	return tronKill{"writing " + state, "wallets", func(c *custody, kind intent.Kind) func(t *testing.T) stop {
		return c.row(string(kind) + " " + state)
	}}
}

// dies holds one side at a point while a wallet is swept, kills it there, and starts it again.
func (c *tronCustody) dies(t *testing.T, at func(t *testing.T) stop, side string) {
	c.made++
	amount := fmt.Sprint(25_000_000 + c.made)
	w := c.wallet(t, "USDT")
	place := at(t)
	c.Transfer(map[string]any{"to": w.Address, "amount": amount, "token": "USDT"})
	c.killAt(t, place, side)
	c.holds(t, w, amount)
}

// Without a stake the gas station gives TRX to burn. An address that also holds a merchant's TRX loses none of it to
// the token's transfer.
func TestSweep_tronBurns(t *testing.T) {
	t.Parallel()
	c := newTron(t, nil)
	c.Do("/set", map[string]any{"stake": map[string]int64{c.station: 0}})
	w := c.wallet(t, "USDT")
	c.Transfer(map[string]any{"to": w.Address, "amount": "25000001", "token": "USDT"})
	c.holds(t, w, "25000001")
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx WHERE kind = 'delegate'`); n != 0 {
		t.Errorf("energy was lent %d times without a stake", n)
	}
	if float := c.sun(t, w.Address); float >= 8_035_600 || c.books(t, w, "fees", "TRX") == 0 {
		t.Errorf("%d sun are left of the funding, want less: the transfer burns some", float)
	}
	c.stationHolds(t)
	// TRX pays for its own bytes. A sum that is not worth it stays.
	c.Do("/set", map[string]any{"stake": map[string]int64{c.station: tronStake}})
	both := c.wallet(t, "TRX")
	before := c.sun(t, tronTreasury)
	c.Transfer(map[string]any{"to": both.Address, "amount": "29000000", "token": false})
	c.Transfer(map[string]any{"to": both.Address, "amount": "26000000", "token": "USDT"})
	c.await(t, "the token is swept", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE address = $1 AND asset = 'USDT' AND state = 'swept'`, both.Address) == 1
	})
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx WHERE kind = 'delegate'`); n != 0 {
		t.Errorf("energy was lent %d times to an address with a merchant's TRX", n)
	}
	if left, float := c.sun(t, both.Address), c.books(t, both, "gas_float", "TRX"); left-29_000_000 != float {
		t.Errorf("%d sun are on the address and %d of them are the station's, want 29000000 of the merchant", left, float)
	}
	c.Transfer(map[string]any{"to": both.Address, "amount": "11000000", "token": false})
	c.await(t, "the TRX is swept", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE address = $1 AND asset = 'TRX' AND state = 'swept'`, both.Address) == 1
	})
	var amount, fee int64
	if err := c.pool.QueryRow(t.Context(), `SELECT o.amount::bigint, o.fee::bigint FROM outgoing_tx o JOIN sweeps s ON s.id = o.sweep
WHERE s.address = $1 AND s.asset = 'TRX' AND o.kind = 'sweep'`, both.Address).Scan(&amount, &fee); err != nil {
		t.Fatal(err)
	}
	if got := c.sun(t, tronTreasury) - before; got != amount || amount+fee != 40_000_000 {
		t.Errorf("%d sun arrived for %d and a fee of %d, want 40000000 together", got, amount, fee)
	}
}

// formsApart checks the signer's log: no two signatures for one purpose could land in the same block.
func (c *tronCustody) formsApart(t *testing.T) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(c.dir, "signer.log"))
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string]int64{}
	for line := range bytes.Lines(log) {
		var e struct {
			At      time.Time
			Event   string
			Request intent.Request
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Event != "signed" {
			continue
		}
		purpose := fmt.Sprint(e.Request.Kind, e.Request.Index, e.Request.Asset)
		if e.At.UnixMilli() <= ends[purpose] {
			t.Errorf("%s was signed at %s, when an earlier form could still land", purpose, e.At)
		}
		ends[purpose] = e.Request.Tron.Expiration
	}
}

// liar is an endpoint that shows the chain without the gas station's transactions while c.hides is set.
func (c *tronCustody) liar(t *testing.T) string {
	t.Helper()
	owner := tronHex(t, c.station)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res, err := http.Post(c.RPC+r.URL.Path, "application/json", r.Body) //nolint:gosec // the node of the test
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if c.hides.Load() {
			answer = c.without(owner, r.URL.Path, answer)
		}
		_, _ = w.Write(answer)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

// without is an answer of the node without the transactions of an owner.
func (c *tronCustody) without(owner, path string, answer []byte) []byte {
	hidden := func(tx any) bool {
		text, _ := json.Marshal(tx)
		return bytes.Contains(text, []byte(`"owner_address":"`+owner+`"`))
	}
	switch {
	case strings.HasSuffix(path, "/gettransactioninfobyid"):
		return []byte("{}")
	case strings.HasSuffix(path, "/getblock"):
		var b map[string]any
		if json.Unmarshal(answer, &b) != nil || b["transactions"] == nil {
			return answer
		}
		var kept []any
		for _, tx := range b["transactions"].([]any) {
			if hidden(tx) {
				c.hidden.Store(tx.(map[string]any)["txID"], true)
				continue
			}
			kept = append(kept, tx)
		}
		if b["transactions"] = kept; kept == nil {
			delete(b, "transactions")
		}
		answer, _ = json.Marshal(b)
	case strings.HasSuffix(path, "/gettransactioninfobyblocknum"):
		var list, kept []map[string]any
		if json.Unmarshal(answer, &list) != nil {
			return answer
		}
		for _, i := range list {
			if _, is := c.hidden.Load(i["id"]); !is {
				kept = append(kept, i)
			}
		}
		answer, _ = json.Marshal(kept)
	}
	return answer
}
