package tron

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"

	"causeway.internal/services/wallets/internal/chain/rpctest"
	"causeway.internal/services/wallets/internal/sweep"
)

const somebody = "TMVQGm1qAQYVdetCeGRRkTWYYrLXuHK2HC"

// A transaction is missing from a block only if every endpoint shows that block, whole and without it.
func TestLacks(t *testing.T) {
	tx, id := transfer("01", ours, "7", "SUCCESS")
	info := "[" + infoOf(id, 7, "", "") + "]"
	with := func() *rpctest.Node {
		n := serving(t)
		n.Set("/wallet/getblock 7", blockJSON(7, tx))
		n.Set("/wallet/gettransactioninfobyblocknum", info)
		return n
	}
	without := func() *rpctest.Node {
		n := serving(t)
		n.Set("/wallet/getblock 7", blockJSON(7))
		return n
	}
	behind := serving(t)
	behind.Set("/wallet/getnowblock", blockJSON(6))
	later := without()
	later.Set("/wallet/getblock 7", strings.Replace(blockJSON(7), `"timestamp":`, `"timestamp":9`, 1))
	for name, c := range map[string]struct {
		nodes []*rpctest.Node
		lacks bool
		fails bool
	}{
		"one endpoint without it":          {[]*rpctest.Node{without()}, true, false},
		"two endpoints without it":         {[]*rpctest.Node{without(), without()}, true, false},
		"the first endpoint hides it":      {[]*rpctest.Node{without(), with()}, false, false},
		"the second endpoint hides it":     {[]*rpctest.Node{with(), without()}, false, false},
		"an endpoint is behind":            {[]*rpctest.Node{without(), behind}, false, true},
		"an endpoint has another time":     {[]*rpctest.Node{without(), later}, false, true},
		"an endpoint lacks the block":      {[]*rpctest.Node{without(), serving(t)}, false, true},
		"an endpoint of another chain":     {[]*rpctest.Node{without(), rpctest.New(t)}, false, true},
		"results of it, without the bytes": {[]*rpctest.Node{without(), func() *rpctest.Node { n := with(); n.Set("/wallet/gettransactioninfobyblocknum", "[]"); return n }()}, false, true},
	} {
		h, lacks, err := newDriver(t, c.nodes...).Lacks(t.Context(), 7, id)
		if lacks != c.lacks || (err != nil) != c.fails || (err == nil && h.Height != 7) {
			t.Errorf("%s: lacks is %v of block %d, %v, want %v and a failure %v", name, lacks, h.Height, err, c.lacks, c.fails)
		}
	}
}

// A receipt counts only if the block that it names holds the transaction.
func TestReceipt(t *testing.T) {
	call, id := trigger("d1")
	n := serving(t)
	n.Set("/wallet/getblock 9", blockJSON(9, call))
	answer := infoOf(id, 9, succeeded, `,"fee":345000,"log":[`+logOf(usdtX, ours, word(11))+`]`)
	n.Set("/wallet/gettransactioninfobyid", answer)
	d := newDriver(t, n)
	r, found, err := d.Receipt(t.Context(), id)
	if err != nil || !found || !r.OK || r.Starved || r.Height != 9 || r.Block != idOf(9, 1) || r.Fee.Int64() != 345_000 || len(r.Moved) != 1 || r.Moved[0].Contract != usdt || r.Moved[0].Amount.Int64() != 11 {
		t.Errorf("the receipt is %+v, %v, %v", r, found, err)
	}
	n.Set("/wallet/gettransactioninfobyid", strings.Replace(strings.Replace(answer, `"result":"SUCCESS"`, `"result":"OUT_OF_ENERGY"`, 1), `"fee"`, `"result":"FAILED","fee"`, 1))
	if r, found, err := d.Receipt(t.Context(), id); err != nil || !found || r.OK || !r.Starved || len(r.Moved) != 0 {
		t.Errorf("the receipt without energy is %+v, %v, %v", r, found, err)
	}
	for name, answer := range map[string]string{"nothing": `{}`, "a block without it": strings.Replace(answer, `"blockNumber":9`, `"blockNumber":3`, 1)} {
		n.Set("/wallet/gettransactioninfobyid", answer)
		n.Set("/wallet/getblock 3", blockJSON(3))
		if r, found, err := d.Receipt(t.Context(), id); err != nil || found {
			t.Errorf("%s is the receipt %+v, %v", name, r, err)
		}
	}
	n.Set("/wallet/gettransactioninfobyid", strings.Replace(answer, id, strings.Repeat("1", 64), 1))
	if r, found, err := d.Receipt(t.Context(), id); err == nil || found {
		t.Errorf("the result of another transaction is the receipt %+v", r)
	}
}

func TestSend(t *testing.T) {
	n := serving(t)
	d := newDriver(t, n)
	for answer, want := range map[string]struct{ refused, fails bool }{
		`{"result":true,"code":"SUCCESS","txid":"01"}`:                   {},
		`{"result":false,"code":"DUP_TRANSACTION_ERROR"}`:                {},
		`{"result":false,"code":"TAPOS_ERROR","message":"x"}`:            {true, true},
		`{"result":false,"code":"TRANSACTION_EXPIRATION_ERROR"}`:         {true, true},
		`{"result":false,"code":"CONTRACT_VALIDATE_ERROR","message":""}`: {true, true},
		`{"result":false,"code":"SERVER_BUSY"}`:                          {false, true},
		`{}`:                                                             {false, true},
		`{"Error":"class java.lang.NullPointer"}`:                        {false, true},
	} {
		n.Set("/wallet/broadcasthex", answer)
		err := d.Send(t.Context(), []byte{1})
		if (err != nil) != want.fails || errors.Is(err, sweep.ErrRefused) != want.refused {
			t.Errorf("%s is %v, want a failure %v and a refusal %v", answer, err, want.fails, want.refused)
		}
	}
}

// Numbers of nodes are bounded, and parameters must be there.
func TestRates(t *testing.T) {
	n := serving(t)
	d := newDriver(t, n)
	good := `{"chainParameter":[{"key":"getEnergyFee","value":210},{"key":"getTransactionFee","value":1000},{"key":"getCreateNewAccountFeeInSystemContract","value":1000000},{"key":"getCreateAccountFee","value":100000},{"key":"getFreeNetLimit","value":600},{"key":"getAllowMultiSign"}]}`
	n.Set("/wallet/getchainparameters", good)
	n.Set("/wallet/getaccountresource", `{"freeNetLimit":600,"TotalEnergyLimit":180000000000,"TotalEnergyWeight":19000000000}`)
	r, err := d.Rates(t.Context(), somebody)
	want := sweep.Rates{Energy: 210, Byte: 1000, Open: 1_100_000, FreeBytes: 600, StakeOf: big.NewInt(19_000_000_000_000_000), EnergyOf: big.NewInt(180_000_000_000)}
	if got, _ := json.Marshal(r); err != nil || string(got) != string(must(json.Marshal(want))) {
		t.Errorf("the rates are %s, %v, want %+v", got, err, want)
	}
	for name, answer := range map[string]string{
		"none": `{}`, "one is missing": strings.Replace(good, "getEnergyFee", "getOther", 1), "one is negative": strings.Replace(good, "210", "-1", 1),
		"one is huge": strings.Replace(good, "210", "2100000000000", 1), "text": strings.Replace(good, "210", `"210"`, 1),
	} {
		n.Set("/wallet/getchainparameters", answer)
		if r, err := d.Rates(t.Context(), somebody); err == nil {
			t.Errorf("%s: the rates are %+v", name, r)
		}
	}
}

func TestMeans(t *testing.T) {
	n := serving(t)
	d := newDriver(t, n)
	n.Set("/wallet/getaccount", `{}`)
	if m, err := d.Means(t.Context(), somebody); err != nil || m.Active {
		t.Errorf("an address without an account has %+v, %v", m, err)
	}
	n.Set("/wallet/getaccount", `{"address":"41","balance":7}`)
	n.Set("/wallet/getaccountresource", `{"freeNetUsed":100,"freeNetLimit":600,"NetUsed":5,"NetLimit":2000,"EnergyUsed":30,"EnergyLimit":10}`)
	if m, err := d.Means(t.Context(), somebody); err != nil || m != (sweep.Means{Active: true, Coins: 7, Bandwidth: 1_995}) {
		t.Errorf("an account has %+v, %v, want 7 sun, 1995 bytes and no energy", m, err)
	}
	n.Set("/wallet/getaccountresource", `{}`)
	n.Set("/wallet/getaccount", `{"address":"41","type":"Contract"}`)
	if m, err := d.Means(t.Context(), somebody); err != nil || m != (sweep.Means{Active: true, Contract: true}) {
		t.Errorf("a contract has %+v, %v, want it to be known as one", m, err)
	}
	n.Set("/wallet/getaccountresource", `{"freeNetLimit":-1}`)
	if m, err := d.Means(t.Context(), somebody); err == nil {
		t.Errorf("a negative limit gives %+v", m)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
