package tron

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpctest"
)

const (
	usdt  = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
	usdtX = "a614f803b6fd780986a42c78ec9c7f77e6ded13c"
)

var (
	ours  = strings.Repeat("aa", 20)
	other = strings.Repeat("bb", 20)
	payer = strings.Repeat("cc", 20)
)

func idOf(height int64, fork byte) string {
	return fmt.Sprintf("%016x%s", height, strings.Repeat(fmt.Sprintf("%02x", fork), 24))
}

// transfer is a plain transfer of TRX; its signed bytes are only the two addresses, the only checked part.
func transfer(mark, to, amount, result string) (text, id string) {
	raw := mark + "41" + payer + "41" + to
	b, err := hex.DecodeString(raw)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(b)
	id = hex.EncodeToString(sum[:])
	return fmt.Sprintf(`{"ret":[{"contractRet":%q}],"signature":["00"],"txID":%q,"raw_data":{"contract":[{"parameter":{"value":{"amount":%s,`+
		`"owner_address":"41%s","to_address":"41%s"},"type_url":"type.googleapis.com/protocol.TransferContract"},"type":"TransferContract"}],"expiration":1},"raw_data_hex":%q}`,
		result, id, amount, payer, to, raw), id
}

func trigger(mark string) (text, id string) {
	id = strings.Repeat(mark, 32)
	return fmt.Sprintf(`{"ret":[{"contractRet":"SUCCESS"}],"txID":%q,"raw_data":{"contract":[{"parameter":{"value":{"data":"a9059cbb","owner_address":"41%s",`+
		`"contract_address":"41%s"}},"type":"TriggerSmartContract"}]},"raw_data_hex":"00"}`, id, payer, usdtX), id
}

func blockJSON(height int64, txs ...string) string {
	list := ""
	if len(txs) > 0 {
		list = `,"transactions":[` + strings.Join(txs, ",") + `]`
	}
	return fmt.Sprintf(`{"blockID":%q,"block_header":{"raw_data":{"number":%d,"txTrieRoot":"00","witness_address":"41","parentHash":%q,"version":30,`+
		`"timestamp":1700000000000},"witness_signature":"00"}%s}`, idOf(height, 1), height, idOf(height-1, 1), list)
}

func logOf(token, to, data string) string {
	return fmt.Sprintf(`{"address":%q,"topics":["%s","%s%s","%s%s"],"data":%q}`, token, transferTopic, strings.Repeat("0", 24), payer, strings.Repeat("0", 24), to, data)
}

func word(n int64) string { return fmt.Sprintf("%064x", n) }

func infoOf(id string, height int64, result, rest string) string {
	return fmt.Sprintf(`{"id":%q,"fee":1,"blockNumber":%d,"blockTimeStamp":1700000000000,"contractResult":[""],"receipt":{"net_usage":345%s}%s}`, id, height, result, rest)
}

const succeeded = `,"result":"SUCCESS"`

func serving(t testing.TB) *rpctest.Node {
	n := rpctest.New(t)
	genesis := strings.Replace(strings.Replace(blockJSON(0), idOf(0, 1), MainGenesis, 1), `"number":0,`, ``, 1)
	n.Set("/wallet/getblock 0", strings.Replace(genesis, idOf(-1, 1), strings.Repeat("0", 64), 1))
	n.Set("/wallet/triggerconstantcontract", `{"result":{"result":true},"constant_result":["`+word(6)+`"]}`)
	n.Set("/wallet/getnowblock", blockJSON(9))
	n.Set("/walletsolidity/getnowblock", blockJSON(3))
	n.Set("/wallet/getblock", `{}`)
	n.Set("/wallet/getblock 9", blockJSON(9))
	n.Set("/wallet/gettransactioninfobyblocknum", `[]`)
	return n
}

func newDriver(t testing.TB, nodes ...*rpctest.Node) *Driver {
	t.Helper()
	n, _ := money.NetworkOf("tron")
	log, metrics := rpctest.Quiet()
	d, err := New(Config{Network: n, Tokens: map[string]string{"USDT": usdt}, RPC: rpctest.Config(nodes...)}, log, metrics)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func us() rpctest.Watched {
	key, _ := hex.DecodeString(ours)
	return rpctest.Watched{string(key): true}
}

func TestMatch(t *testing.T) {
	n := serving(t)
	good, goodID := transfer("01", ours, "7", "SUCCESS")
	failed, failedID := transfer("02", ours, "7", "OUT_OF_ENERGY")
	theirs, theirsID := transfer("03", other, "7", "SUCCESS")
	call, callID := trigger("d1")
	reverted, revertedID := trigger("d2")
	n.Set("/wallet/getblock 9", blockJSON(9, good, failed, theirs, call, reverted))
	n.Set("/wallet/gettransactioninfobyblocknum", "["+strings.Join([]string{
		infoOf(goodID, 9, "", ""), infoOf(failedID, 9, "", `,"result":"FAILED"`), infoOf(theirsID, 9, "", ""),
		infoOf(callID, 9, succeeded, `,"log":[`+strings.Join([]string{
			logOf(usdtX, other, word(1)), logOf(usdtX, ours, word(11)), logOf(strings.Repeat("ee", 20), ours, word(99)), logOf(usdtX, ours, word(12)), logOf(usdtX, ours, word(0)),
			`{"address":"` + usdtX + `","topics":["` + strings.Repeat("1", 64) + `"],"data":""}`,
		}, ",")+`],"internal_transactions":[`+strings.Join([]string{
			internalOf("call", ours, `{"callValue":5},{"callValue":3,"tokenId":"1000001"}`, ""),
			internalOf("call", ours, `{"callValue":6}`, `,"rejected":true`),
			`{"transferTo_address":"","callValueInfo":[{}],"note":"63616c6c"}`, internalOf("call", other, `{}`, ""),
			internalOf("call", other, `{"callValue":9}`, ""), internalOf("suicide", ours, `{"callValue":8}`, ""),
		}, ",")+"]"),
		infoOf(revertedID, 9, `,"result":"REVERT"`, `,"result":"FAILED","log":[`+logOf(usdtX, ours, word(50))+`]`),
	}, ",")+"]")
	d := newDriver(t, n)
	head, err := d.Head(t.Context())
	if err != nil || head.Height != 9 || head.Hash != idOf(9, 1) || head.Parent != idOf(8, 1) || head.Finalized != 3 {
		t.Fatalf("read the head: got %+v, %v, want block 9 with the final height 3", head, err)
	}
	b, err := d.Fetch(t.Context(), 9)
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Match(t.Context(), us())
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		tx      string
		ordinal int
		asset   string
		amount  int64
	}{
		{goodID, 0, "TRX", 7},
		{callID, 2, "USDT", 11},
		{callID, 4, "USDT", 12},
		{callID, chain.FirstInternal, "TRX", 5},
		{callID, chain.FirstInternal + 2, "TRX", 8},
	}
	if len(got) != len(want) {
		t.Fatalf("%d transfers: %+v", len(got), got)
	}
	for i, w := range want {
		if g := got[i]; g.TxHash != w.tx || g.Ordinal != w.ordinal || g.Asset != w.asset || g.Amount.Int64() != w.amount || (g.Contract == usdt) != (w.asset == "USDT") || len(g.Senders) != 1 {
			t.Errorf("transfer %d is %+v, want %+v", i, g, w)
		}
	}
}

// internalOf is what a contract did, as a node lists it. Its note says what that was, in hex.
func internalOf(note, to, values, rest string) string {
	return fmt.Sprintf(`{"hash":"00","caller_address":"41%s","transferTo_address":"41%s","callValueInfo":[%s],"note":"%x"%s}`,
		payer, to, values, note, rest)
}

// A contract that lends its energy to an address moves no TRX, though a node with saveFeaturedInternalTx lists it as a
// transfer of the staked amount. Such entries change no number: a node without that setting leaves them out.
func TestMatch_featured(t *testing.T) {
	paid := internalOf("call", ours, `{"callValue":5}`, "")
	staked := func(note, to string) string { return internalOf(note, to, `{"callValue":7000000}`, "") }
	var want []chain.Transfer
	for name, list := range map[string][]string{
		"without": {paid, paid},
		"with": {
			staked("freezeBalanceV2ForEnergy", payer), staked("delegateResourceOfEnergy", ours), paid,
			staked("unDelegateResourceOfEnergy", ours), staked("freezeForBandwidth", ours), paid, staked("withdrawReward", payer), staked("", ours),
		},
	} {
		n := serving(t)
		call, id := trigger("d1")
		n.Set("/wallet/getblock 9", blockJSON(9, call))
		info := infoOf(id, 9, succeeded, `,"internal_transactions":[`+strings.Join(list, ",")+`]`)
		n.Set("/wallet/gettransactioninfobyblocknum", "["+info+"]")
		b, err := newDriver(t, n).Fetch(t.Context(), 9)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Match(t.Context(), us())
		if err != nil || len(got) != 2 || got[0].Amount.Int64() != 5 || got[1].Amount.Int64() != 5 {
			t.Fatalf("match a block %s what contracts staked: got %+v, %v, want two payments of 5", name, got, err)
		}
		if want == nil {
			want = got
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("match a block %s what contracts staked: got %+v, want %+v", name, got, want)
		}
	}
}

// {} for a block is "no such block" only above the endpoint's own head; below, it is a gap, and the driver tries again.
func TestFetch_emptyObject(t *testing.T) {
	d := newDriver(t, serving(t))
	if _, err := d.Fetch(t.Context(), 10); !errors.Is(err, chain.ErrNoBlock) {
		t.Errorf("above the head: %v", err)
	}
	if _, err := d.Fetch(t.Context(), 7); err == nil || errors.Is(err, chain.ErrNoBlock) {
		t.Errorf("below the head: %v", err)
	}
	full, whole := serving(t), serving(t)
	whole.Set("/wallet/getblock 7", blockJSON(7))
	if b, err := newDriver(t, full, whole).Fetch(t.Context(), 7); err != nil || b.Header().Height != 7 {
		t.Errorf("another endpoint has it: %v", err)
	}
}

// A partial or false answer of an endpoint is an error.
func TestFetch_hostileAnswers(t *testing.T) {
	tx, id := transfer("01", ours, "7", "SUCCESS")
	good := blockJSON(9, tx)
	for name, answer := range map[string]string{
		"HTML page":          "<!DOCTYPE html>",
		"nothing":            "",
		"cut":                good[:len(good)/2],
		"an array":           "[]",
		"null":               "null",
		"an error":           `{"Error":"class java.lang.NullPointerException : null"}`,
		"another block":      blockJSON(8, tx),
		"id of another":      strings.Replace(good, idOf(9, 1), idOf(10, 1), 1),
		"parent of another":  strings.Replace(good, idOf(8, 1), idOf(7, 1), 1),
		"short id":           strings.Replace(good, idOf(9, 1), "09", 1),
		"no header":          strings.Replace(good, "block_header", "header", 1),
		"no parent":          strings.Replace(good, "parentHash", "parent", 1),
		"number a string":    strings.Replace(good, `"number":9`, `"number":"9"`, 1),
		"huge number":        strings.Replace(good, `"number":9`, `"number":99999999999999999999`, 1),
		"negative time":      strings.Replace(good, `1700000000000`, `-1700000000000`, 1),
		"time of year 10000": strings.Replace(good, `1700000000000`, `253402300800000`, 1),
		"transactions null":  strings.Replace(good, `"transactions":[`+tx+`]`, `"transactions":null`, 1),
		"no id":              strings.Replace(good, "txID", "txid", 1),
		"amount a string":    strings.Replace(good, `"amount":7`, `"amount":"7"`, 1),
		"amount a float":     strings.Replace(good, `"amount":7`, `"amount":7.5`, 1),
		"huge amount":        strings.Replace(good, `"amount":7`, `"amount":1e30`, 1),
		"negative amount":    strings.Replace(good, `"amount":7`, `"amount":-7`, 1),
		"no receiver":        strings.Replace(good, "to_address", "to", 1),
	} {
		t.Run(name, func(t *testing.T) {
			n := serving(t)
			n.Set("/wallet/getblock 9", answer)
			n.Set("/wallet/gettransactioninfobyblocknum", "["+infoOf(id, 9, "", "")+"]")
			b, err := newDriver(t, n).Fetch(t.Context(), 9)
			if err == nil || errors.Is(err, chain.ErrNoBlock) {
				t.Errorf("was believed: %+v, %v", b, err)
			}
		})
	}
	info := infoOf(id, 9, succeeded, `,"log":[`+logOf(usdtX, ours, word(11))+`]`)
	for name, answer := range map[string]string{
		"none though there is a transaction": "[]",
		"an object":                          "{}",
		"one too many":                       "[" + info + "," + info + "]",
		"of another transaction":             "[" + strings.Replace(info, id, strings.Repeat("1", 64), 1) + "]",
		"of another block":                   "[" + strings.Replace(info, `"blockNumber":9`, `"blockNumber":8`, 1) + "]",
		"no id":                              "[" + strings.Replace(info, `"id"`, `"txid"`, 1) + "]",
		"cut":                                "[" + info,
		"topic too short":                    "[" + strings.Replace(info, transferTopic.String(), "dd", 1) + "]",
		"log without address":                "[" + strings.Replace(info, `"address"`, `"addr"`, 1) + "]",
		"data not hex":                       "[" + strings.Replace(info, word(11), strings.Repeat("z", 64), 1) + "]",
	} {
		t.Run("outcomes "+name, func(t *testing.T) {
			n := serving(t)
			n.Set("/wallet/getblock 9", good)
			n.Set("/wallet/gettransactioninfobyblocknum", answer)
			if b, err := newDriver(t, n).Fetch(t.Context(), 9); err == nil {
				t.Errorf("was believed: %+v", b)
			}
		})
	}
}

// A payment that its own signed bytes do not confirm is not credited.
func TestMatch_notWhatWasSigned(t *testing.T) {
	tx, id := transfer("01", other, "7", "SUCCESS")
	n := serving(t)
	n.Set("/wallet/getblock 9", blockJSON(9, strings.Replace(tx, `"to_address":"41`+other, `"to_address":"41`+ours, 1)))
	n.Set("/wallet/gettransactioninfobyblocknum", "["+infoOf(id, 9, "", "")+"]")
	b, err := newDriver(t, n).Fetch(t.Context(), 9)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.Match(t.Context(), us()); err == nil {
		t.Errorf("was believed: %+v", got)
	}
}

func TestVerify(t *testing.T) {
	for name, set := range map[string][2]string{
		"another chain":        {"/wallet/getblock 0", strings.Replace(strings.Replace(blockJSON(0), idOf(0, 1), idOf(0, 7), 1), `"number":0,`, ``, 1)},
		"18 decimals":          {"/wallet/triggerconstantcontract", `{"constant_result":["` + word(18) + `"]}`},
		"no contract there":    {"/wallet/triggerconstantcontract", `{"result":{"code":"CONTRACT_VALIDATE_ERROR"}}`},
		"decimals beyond 63":   {"/wallet/triggerconstantcontract", `{"constant_result":["` + strings.Repeat("f", 64) + `"]}`},
		"decimals not a word":  {"/wallet/triggerconstantcontract", `{"constant_result":["06"]}`},
		"genesis is forgotten": {"/wallet/getblock 0", `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			n := serving(t)
			n.Set(set[0], set[1])
			if head, err := newDriver(t, n).Head(t.Context()); err == nil {
				t.Errorf("was used: %+v", head)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	tx, id := transfer("01", ours, "7", "SUCCESS")
	call, _ := trigger("d1")
	f.Add([]byte(blockJSON(9, tx, call)))
	f.Add([]byte("[" + infoOf(id, 9, succeeded, `,"log":[`+logOf(usdtX, ours, word(11))+`],"internal_transactions":[{"callValueInfo":[{"callValue":5}],"rejected":true}]`) + "]"))
	f.Add([]byte(`{"constant_result":["` + word(6) + `"]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if blk, err := decodeBlock(b); err == nil {
			if blk.number < 0 || len(blk.payments) > len(blk.txs) {
				t.Errorf("decode a block: got %+v, want no negative number and no more payments than transactions", blk)
			}
			for i := range blk.payments {
				if blk.payments[i].amount <= 0 {
					t.Errorf("decode a payment: got %+v, want a positive amount", blk.payments[i])
				}
				blk.payments[i].signed()
			}
		}
		if infos, err := decodeInfos(b); err == nil {
			for _, i := range infos {
				for _, e := range i.logs {
					if e.amount != nil && (e.amount.Sign() <= 0 || e.amount.BitLen() > 256) {
						t.Errorf("decode an event: got %+v, want a positive amount of 256 bits", e)
					}
				}
				for _, c := range i.internal {
					if c.amount < 0 {
						t.Errorf("decode an internal payment: got %+v, want no negative amount", c)
					}
				}
			}
		}
		_, _ = decodeConstant(b)
	})
}
