package solana

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpctest"
)

const (
	usdt = "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB"
	usdc = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
)

func name(what string) string {
	sum := sha256.Sum256([]byte(what))
	text, err := address.Encode(money.Solana, address.Mainnet, sum[:])
	if err != nil {
		panic(err)
	}
	return text
}

var ours, payer, signature = name("ours"), name("payer"), strings.Repeat("5", 88)

func held(index int, owner, mint, amount string) string {
	return fmt.Sprintf(`{"accountIndex":%d,"mint":%q,"owner":%q,"programId":%q,"uiTokenAmount":{"amount":%q,"decimals":6,"uiAmount":1.5}}`, index, mint, owner, tokenProgram, amount)
}

// tx has the accounts payer, receiver, and two token accounts.
func tx(failure, pre, post, preTokens, postTokens string) string {
	return fmt.Sprintf(`{"meta":{"err":%s,"fee":5000,"preBalances":[%s],"postBalances":[%s],"preTokenBalances":[%s],"postTokenBalances":[%s],"logMessages":["a [1]"],`+
		`"loadedAddresses":{"readonly":[],"writable":[%q]}},"transaction":{"message":{"accountKeys":[%q,%q,%q]},"signatures":[%q]},"version":0}`,
		failure, pre, post, preTokens, postTokens, name("token account of us"), payer, ours, name("token account of payer"), signature)
}

func blockJSON(slot, parent int64, txs ...string) string {
	return fmt.Sprintf(`{"blockHeight":1,"blockTime":1700000000,"blockhash":%q,"parentSlot":%d,"previousBlockhash":%q,"transactions":[%s]}`,
		name(fmt.Sprint("block ", slot)), parent, name(fmt.Sprint("block ", parent)), strings.Join(txs, ","))
}

func mint(decimals byte) string {
	data := make([]byte, 82)
	data[44], data[45] = decimals, 1
	return fmt.Sprintf(`{"context":{"slot":1},"value":{"data":[%q,"base64"],"owner":%q,"lamports":1,"executable":false}}`, base64.StdEncoding.EncodeToString(data), tokenProgram)
}

const skipped = `error:{"code":-32007,"message":"Slot was skipped, or missing due to ledger jump to recent snapshot"}`

func serving(t testing.TB) *rpctest.Node {
	n := rpctest.New(t)
	n.Set("getGenesisHash", `"`+MainGenesis+`"`)
	n.Set("getAccountInfo", mint(6))
	n.Set("getSlot", "9")
	n.Set("getBlock", skipped)
	n.Set("getBlock 9", blockJSON(9, 6))
	n.Set("getBlock 6", blockJSON(6, 5))
	n.Set("getBlocks", "[9]")
	return n
}

func newDriver(t testing.TB, nodes ...*rpctest.Node) *Driver {
	t.Helper()
	n, _ := money.NetworkOf("solana")
	log, metrics := rpctest.Quiet()
	d, err := New(Config{Network: n, Tokens: map[string]string{"USDT": usdt, "USDC": usdc}, RPC: rpctest.Config(nodes...)}, log, metrics)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func us() rpctest.Watched {
	key, _ := address.Parse(money.Solana, address.Mainnet, ours)
	return rpctest.Watched{string(key): true}
}

func match(t *testing.T, txs ...string) ([]chain.Transfer, error) {
	n := serving(t)
	n.Set("getBlock 9", blockJSON(9, 6, txs...))
	b, err := newDriver(t, n).Fetch(t.Context(), 9)
	if err != nil {
		return nil, err
	}
	return b.Match(t.Context(), us())
}

func TestMatch(t *testing.T) {
	still := "9,1,2,2"
	for name, c := range map[string]struct {
		tx   string
		want []chain.Transfer
	}{
		"coin":                       {tx("null", "100,1,2,2", "50,46,2,2", "", ""), []chain.Transfer{{Ordinal: 1, Asset: "SOL"}}},
		"failed":                     {tx(`{"InstructionError":[0,{"Custom":1}]}`, "100,1,2,2", "50,46,2,2", "", ""), nil},
		"coin that leaves":           {tx("null", "100,50,2,2", "145,5,2,2", "", ""), nil},
		"token":                      {tx("null", still, still, held(2, payer, usdt, "100")+","+held(3, ours, usdt, "5"), held(2, payer, usdt, "55")+","+held(3, ours, usdt, "50")), []chain.Transfer{{Ordinal: 3, Asset: "USDT", Contract: usdt}}},
		"token account is new":       {tx("null", still, still, "", held(3, ours, usdc, "45")), []chain.Transfer{{Ordinal: 3, Asset: "USDC", Contract: usdc}}},
		"between our own accounts":   {tx("null", still, still, held(2, ours, usdt, "45")+","+held(3, ours, usdt, "0"), held(2, ours, usdt, "0")+","+held(3, ours, usdt, "45")), nil},
		"into two of our accounts":   {tx("null", still, still, "", held(2, ours, usdt, "40")+","+held(3, ours, usdt, "5")), []chain.Transfer{{Ordinal: 2, Asset: "USDT", Contract: usdt}}},
		"account closed meanwhile":   {tx("null", still, still, held(3, ours, usdt, "5"), ""), nil},
		"a token that is not listed": {tx("null", still, still, "", held(3, ours, payer, "45")), nil},
		"coin and token":             {tx("null", "100,1,2,2", "50,46,2,2", "", held(3, ours, usdt, "45")), []chain.Transfer{{Ordinal: 1, Asset: "SOL"}, {Ordinal: 3, Asset: "USDT", Contract: usdt}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := match(t, c.tx)
			if err != nil || len(got) != len(c.want) {
				t.Fatalf("match a transaction: got %+v, %v, want %+v", got, err, c.want)
			}
			for i, w := range c.want {
				if g := got[i]; g.TxHash != signature || g.Ordinal != w.Ordinal || g.Asset != w.Asset || g.Contract != w.Contract || g.Amount.Int64() != 45 {
					t.Errorf("%+v, want %+v", g, w)
				}
			}
		})
	}
}

// A slot without a block is an empty block between its neighbours, if the next block proves it; else it is a gap.
func TestSkippedSlots(t *testing.T) {
	n := serving(t)
	d := newDriver(t, n)
	before := name("block 6")
	for at, want := range map[int64]chain.Header{
		6: {Hash: name("block 6"), Parent: name("block 5")}, 7: {Hash: before, Parent: before}, 8: {Hash: before, Parent: before}, 9: {Hash: name("block 9"), Parent: before},
	} {
		h, err := d.Header(t.Context(), at)
		if err != nil || h.Height != at || h.Hash != want.Hash || h.Parent != want.Parent {
			t.Errorf("slot %d: %+v, %v", at, h, err)
		}
		if b, err := d.Fetch(t.Context(), at); err != nil || b.Header() != h {
			t.Errorf("slot %d: %v", at, err)
		}
	}
	if _, err := d.Header(t.Context(), 10); !errors.Is(err, chain.ErrNoBlock) {
		t.Errorf("above the head: %v", err)
	}
	n.Set("getBlock 9", blockJSON(9, 7)) // slot 7 was not skipped: this node lacks it
	if _, err := d.Header(t.Context(), 7); err == nil || errors.Is(err, chain.ErrNoBlock) {
		t.Errorf("a gap passed as a skipped slot: %v", err)
	}
	for _, blocks := range []string{"[]", "[7,9]", "[9,8]", `{"a":1}`, "[-1]", "null"} {
		n.Set("getBlocks", blocks)
		if _, err := d.Header(t.Context(), 7); err == nil || errors.Is(err, chain.ErrNoBlock) {
			t.Errorf("blocks %s: a gap passed as a skipped slot: %v", blocks, err)
		}
	}
}

// A partial or false answer of an endpoint is an error.
func TestFetch_hostileAnswers(t *testing.T) {
	one := tx("null", "100,1,2,2", "50,46,2,2", "", held(3, ours, usdt, "45"))
	good := blockJSON(9, 6, one)
	for name, answer := range map[string]string{
		"a string":                    `"block"`,
		"an array":                    `[]`,
		"cut":                         good[:len(good)/2],
		"no hash":                     strings.Replace(good, `"blockhash"`, `"hash"`, 1),
		"short hash":                  strings.Replace(good, name("block 9"), "abc", 1),
		"no parent":                   strings.Replace(good, `"previousBlockhash"`, `"previous"`, 1),
		"parent above":                strings.Replace(good, `"parentSlot":6`, `"parentSlot":9`, 1),
		"parent slot a string":        strings.Replace(good, `"parentSlot":6`, `"parentSlot":"6"`, 1),
		"time null":                   strings.Replace(good, `1700000000`, `null`, 1),
		"time of year 10000":          strings.Replace(good, `1700000000`, `253402300800`, 1),
		"no transactions":             strings.Replace(good, `"transactions"`, `"txs"`, 1),
		"transactions null":           strings.Replace(good, `"transactions":[`+one+`]`, `"transactions":null`, 1),
		"meta null":                   blockJSON(9, 6, strings.Replace(one, `"meta":{`, `"meta":null,"x":{`, 1)),
		"no meta":                     blockJSON(9, 6, strings.Replace(one, `"meta"`, `"m"`, 1)),
		"no error field":              blockJSON(9, 6, strings.Replace(one, `"err"`, `"error"`, 1)),
		"no signature":                blockJSON(9, 6, strings.Replace(one, `"signatures":["`+signature+`"]`, `"signatures":[]`, 1)),
		"no keys":                     blockJSON(9, 6, strings.Replace(one, `"accountKeys"`, `"keys"`, 1)),
		"a balance too few":           blockJSON(9, 6, strings.Replace(one, `"postBalances":[50,46,2,2]`, `"postBalances":[50,46,2]`, 1)),
		"a balance a string":          blockJSON(9, 6, strings.Replace(one, `[50,46,2,2]`, `[50,"46",2,2]`, 1)),
		"a huge balance":              blockJSON(9, 6, strings.Replace(one, `[50,46,2,2]`, `[50,1e30,2,2]`, 1)),
		"a negative balance":          blockJSON(9, 6, strings.Replace(one, `[50,46,2,2]`, `[50,-46,2,2]`, 1)),
		"a key that is none":          blockJSON(9, 6, strings.Replace(one, ours+`",`, `0OIl",`, 1)),
		"token of an unknown account": blockJSON(9, 6, strings.Replace(one, `"accountIndex":3`, `"accountIndex":4`, 1)),
		"token amount a number":       blockJSON(9, 6, strings.Replace(one, `"amount":"45"`, `"amount":45`, 1)),
		"token amount of 65 bits":     blockJSON(9, 6, strings.Replace(one, `"amount":"45"`, `"amount":"99999999999999999999"`, 1)),
		"negative token amount":       blockJSON(9, 6, strings.Replace(one, `"amount":"45"`, `"amount":"-45"`, 1)),
		"token without owner":         blockJSON(9, 6, strings.Replace(one, `"owner"`, `"holder"`, 1)),
		"unknown error":               `error:{"code":-32602,"message":"Invalid params"}`,
	} {
		t.Run(name, func(t *testing.T) {
			n := serving(t)
			n.Set("getBlock 9", answer)
			if b, err := newDriver(t, n).Fetch(t.Context(), 9); err == nil || errors.Is(err, chain.ErrNoBlock) {
				t.Errorf("was believed: %+v", b)
			}
		})
	}
	for _, slot := range []string{`"9"`, `-9`, `9.5`, `null`, `{}`, `1e300`} {
		n := serving(t)
		n.Set("getSlot", slot)
		if head, err := newDriver(t, n).Head(t.Context()); err == nil {
			t.Errorf("slot %s was believed: %+v", slot, head)
		}
	}
}

func TestVerify(t *testing.T) {
	for name, set := range map[string][2]string{
		"another chain":     {"getGenesisHash", `"EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"`},
		"genesis a number":  {"getGenesisHash", `5`},
		"18 decimals":       {"getAccountInfo", mint(18)},
		"no account there":  {"getAccountInfo", `{"context":{"slot":1},"value":null}`},
		"no mint":           {"getAccountInfo", strings.Replace(mint(6), tokenProgram, MainGenesis, 1)},
		"another encoding":  {"getAccountInfo", strings.Replace(mint(6), "base64", "base58", 1)},
		"data not base64":   {"getAccountInfo", strings.Replace(mint(6), `["`, `["*`, 1)},
		"an answer too few": {"getAccountInfo", `{}`},
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
	f.Add([]byte(blockJSON(9, 6, tx("null", "100,1,2,2", "50,46,2,2", held(2, payer, usdt, "100"), held(3, ours, usdt, "45")))))
	f.Add([]byte(mint(6)))
	f.Add([]byte("[1,2,3]"))
	d := newDriver(f, serving(f)).decoder
	f.Fuzz(func(t *testing.T, b []byte) {
		if blk, err := d.block(b, true); err == nil && blk != nil {
			for _, g := range blk.gains {
				if g.amount.Sign() <= 0 || len(g.owner) != 32 || g.index < 0 {
					t.Errorf("decode a gain: got %+v, want a positive amount of an owner", g)
				}
			}
		}
		_, _ = decodeSlots(b)
		_, _ = decodeMint(b)
		_, _ = decodeNumber(b)
	})
}
