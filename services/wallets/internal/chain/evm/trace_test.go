package evm

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/chain/rpctest"
)

func call(kind, to, value, failure string, calls ...string) string {
	extra := ""
	if failure != "" {
		extra = fmt.Sprintf(`,"error":%q`, failure)
	}
	if len(calls) > 0 {
		extra += `,"calls":[` + strings.Join(calls, ",") + `]`
	}
	return fmt.Sprintf(`{"from":%q,"gas":"0x1","input":"0x","to":%q,"value":%q,"type":%q%s}`, payer, strings.ToLower(to), value, kind, extra)
}

func traced(tx int, root string) string {
	return fmt.Sprintf(`{"txHash":%q,"result":%s}`, h32(tx), root)
}

// flat is one entry of trace_block.
type flat struct {
	tx                                      int
	kind, callKind, to, value, path, failed string
}

func (f flat) String() string {
	failure, to := "", strings.ToLower(f.to)
	if f.failed != "" {
		failure = fmt.Sprintf(`"error":%q,`, f.failed)
	}
	action := fmt.Sprintf(`"callType":%q,"from":%q,"to":%q,"value":%q,"gas":"0x0","input":"0x"`, f.callKind, payer, to, f.value)
	if f.kind == "suicide" {
		action = fmt.Sprintf(`"address":%q,"refundAddress":%q,"balance":%q`, payer, to, f.value)
	}
	return fmt.Sprintf(`{"action":{%s},"blockHash":%q,"blockNumber":5,%s"result":{"gasUsed":"0x0"},"subtraces":0,"traceAddress":[%s],"transactionHash":%q,"type":%q}`,
		action, h32(105), failure, f.path, h32(f.tx), f.kind)
}

// ecrecover is a precompile. A node that traces a block in parity's form leaves calls to it out, callTracer does not.
const ecrecover = "0x0000000000000000000000000000000000000001"

// third is neither a deposit address nor one that chains reserve.
const third = "0x6fac4d18c912343bf86fa7049364dd4e424ab9c0"

// Both ways of tracing show the same payments of contracts with the same numbers, without the transaction's own value,
// reverted calls and delegate calls. A Safe's payment comes after a call to a precompile for each of its owners.
func TestTrace(t *testing.T) {
	block := blockJSON(5, 105, 104, "", txJSON(1, other, "0x9", "0x2"), txJSON(2, ourHex, "0x7", "0x2"))
	debug := "[" + traced(1, call("CALL", other, "0x9", "",
		call("STATICCALL", ecrecover, "0x0", ""),
		call("STATICCALL", ecrecover, "0x0", ""),
		call("CALL", other, "0x0", ""),
		call("CALL", third, "0x00", ""), // some nodes pad
		call("CALL", ourHex, "0x3", ""),
		call("DELEGATECALL", ourHex, "0x3", "", call("SELFDESTRUCT", ourHex, "0x4", "")),
		call("CALL", other, "0x3", "execution reverted", call("CALL", ourHex, "0x5", "")),
		call("STATICCALL", ourHex, "0x0", ""),
		call("CALL", ourHex, "0x6", "out of gas"),
		call("CALL", ourHex, "0x8", ""))) + "," + traced(2, call("CALL", ourHex, "0x7", "")) + "]"
	blocks := "[" + strings.Join([]string{
		flat{1, "call", "call", other, "0x9", "", ""}.String(),
		flat{1, "call", "call", other, "0x0", "0", ""}.String(),
		flat{1, "call", "call", ourHex, "0x3", "1", ""}.String(),
		flat{1, "call", "delegatecall", ourHex, "0x3", "2", ""}.String(),
		flat{1, "suicide", "", ourHex, "0x4", "2,0", ""}.String(),
		flat{1, "call", "call", other, "0x3", "3", "Reverted"}.String(),
		flat{1, "call", "call", ourHex, "0x5", "3,0", ""}.String(),
		flat{1, "call", "staticcall", ourHex, "0x0", "4", ""}.String(),
		flat{1, "call", "call", ourHex, "0x6", "5", "out of gas"}.String(),
		flat{1, "call", "call", ourHex, "0x8", "6", ""}.String(),
		flat{2, "call", "call", ourHex, "0x7", "", ""}.String(),
		`{"action":{"author":"` + payer + `","rewardType":"block","value":"0x1"},"blockHash":"` + h32(105) + `","traceAddress":[],"transactionHash":null,"type":"reward"}`,
	}, ",") + "]"
	for way, answer := range map[string][2]string{TraceDebug: {"debug_traceBlockByHash", debug}, TraceBlock: {"trace_block", blocks}} {
		t.Run(way, func(t *testing.T) {
			f := newFake(t)
			f.set("eth_getBlockByNumber", block)
			f.set("eth_getTransactionReceipt", receiptJSON(2, 105, 1))
			f.set(answer[0], answer[1])
			got, err := match(t, tracing(t, way, f.URL), 5)
			if err != nil {
				t.Fatal(err)
			}
			want := map[int]string{chain.FirstInternal: "3", chain.FirstInternal + 1: "4", chain.FirstInternal + 2: "8", 0: "7"}
			if len(got) != len(want) {
				t.Fatalf("trace a transaction: got %+v, want %v", got, want)
			}
			for _, g := range got {
				if g.Asset != "ETH" || g.Contract != "" || g.Amount.String() != want[g.Ordinal] || (g.TxHash == h32(2)) != (g.Ordinal == 0) {
					t.Errorf("%+v, want %v", g, want)
				}
			}
			for name, spoilt := range map[string]string{
				"null": "null", "an object": "{}", "none": "[]", "cut": answer[1][:len(answer[1])/2], "of another block": strings.ReplaceAll(answer[1], h32(105), h32(999)),
				"of another transaction": strings.Replace(answer[1], h32(2), h32(3), 1), "value a number": strings.Replace(answer[1], `"0x8"`, `8`, 1),
				"value of 257 bits": strings.Replace(answer[1], `"0x8"`, `"0x1`+strings.Repeat("0", 64)+`"`, 1), "no kind": strings.Replace(answer[1], `"type"`, `"kind"`, 1),
				"nested": strings.Repeat("[", 10_000),
			} {
				if way == TraceDebug && name == "of another block" {
					continue // it names no block
				}
				f.set(answer[0], spoilt)
				if got, err := match(t, tracing(t, way, f.URL), 5); err == nil {
					t.Errorf("%s was believed: %+v", name, got)
				}
			}
		})
	}
}

// drawn is a call with the calls below it.
type drawn struct {
	kind, to, value string
	failed          string
	calls           []drawn
}

func drawCall(r *rapid.T, depth int) (c drawn) {
	kinds := []string{"CALL", "CALL", "CALL", "STATICCALL", "DELEGATECALL", "CALLCODE", "CREATE", "CREATE2"}
	c.kind = rapid.SampledFrom(kinds).Draw(r, "kind")
	c.to = rapid.SampledFrom([]string{ourHex, ourHex, third, payer, ecrecover}).Draw(r, "to")
	if c.value = "0x0"; c.kind != "STATICCALL" {
		c.value = rapid.SampledFrom([]string{"0x0", "0x1", "0x2", "0x3"}).Draw(r, "value")
	}
	c.failed = rapid.SampledFrom([]string{"", "", "", "reverted"}).Draw(r, "failed")
	if depth == 0 || c.to == ecrecover {
		return c
	}
	for range rapid.IntRange(0, 4).Draw(r, "calls") {
		c.calls = append(c.calls, drawCall(r, depth-1))
	}
	if rapid.IntRange(0, 3).Draw(r, "ends") == 0 {
		heir := rapid.SampledFrom([]string{ourHex, payer}).Draw(r, "heir")
		c.calls = append(c.calls, drawn{kind: "SELFDESTRUCT", to: heir, value: "0x4"})
	}
	return c
}

// moved lists what a call and those below it move, in the order in which they run.
func (c drawn) moved(root bool) (out []string) {
	if c.failed != "" {
		return nil
	}
	if !root && (c.kind == "CALL" || c.kind == "SELFDESTRUCT") && c.value != "0x0" && c.to != payer && c.to != ecrecover {
		out = append(out, c.to+" "+c.value)
	}
	for _, below := range c.calls {
		out = append(out, below.moved(false)...)
	}
	return out
}

// debug writes callTracer's form. reth lists a selfdestruct before the other calls.
func (c drawn) debug(reth bool) string {
	var first, calls []string
	for _, below := range c.calls {
		if reth && below.kind == "SELFDESTRUCT" {
			first = append(first, below.debug(reth))
		} else {
			calls = append(calls, below.debug(reth))
		}
	}
	return call(c.kind, c.to, c.value, c.failed, append(first, calls...)...)
}

// blocks writes the form of trace_block. valued leaves out calls to precompiles only if they have no value, as most
// nodes do.
func (c drawn) blocks(path string, reth, valued bool) (out []string) {
	f := flat{1, "call", strings.ToLower(c.kind), c.to, c.value, path, c.failed}
	switch c.kind {
	case "CREATE", "CREATE2":
		f.kind = "create"
	case "SELFDESTRUCT":
		f.kind = "suicide"
	}
	out = append(out, f.String())
	var below []string
	at := 0
	for _, b := range c.calls {
		if b.to == ecrecover && (!valued || b.value == "0x0") {
			continue
		}
		place := strings.TrimPrefix(fmt.Sprintf("%s,%d", path, at), ",")
		at++
		if list := b.blocks(place, reth, valued); reth && b.kind == "SELFDESTRUCT" {
			below = append(list, below...)
		} else {
			below = append(below, list...)
		}
	}
	return append(out, below...)
}

// However nodes list the calls of a transaction, its payments are the same and have the same numbers.
func TestTrace_sameInBothForms(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		root := drawCall(r, 4)
		root.kind, root.to, root.value = "CALL", other, "0x9"
		reth, valued := rapid.Bool().Draw(r, "reth"), rapid.Bool().Draw(r, "valued")
		b := &block{hash: mustHash(h32(105)), txs: []hash{mustHash(h32(1))}, number: 5}
		one, err := decodeCalls([]byte("["+traced(1, root.debug(reth))+"]"), b)
		if err != nil {
			r.Fatal(err)
		}
		two, err := decodeTraces([]byte("["+strings.Join(root.blocks("", reth, valued), ",")+"]"), b)
		if err != nil {
			r.Fatal(err)
		}
		if !reflect.DeepEqual(one, two) {
			r.Fatalf("trace one transaction in both forms: got %v and %v, want the same", one, two)
		}
		var got []string
		for i, p := range one {
			if p.ordinal != chain.FirstInternal+i || p.tx != b.txs[0] || p.from.String() != payer {
				r.Errorf("trace payment %d: got %+v, want it numbered by rank", i, p)
			}
			got = append(got, fmt.Sprintf("%s 0x%x", p.to, p.value))
		}
		if want := root.moved(true); !strings.EqualFold(strings.Join(got, ", "), strings.Join(want, ", ")) {
			r.Errorf("trace a transaction: got %v, want %v", got, want)
		}
	})
}

// The answers of go-ethereum 1.17 in both forms about one transaction, without gas and data. It calls precompiles with
// and without value, a contract that ends itself, one that reverts, one that runs out of gas, a delegate, CALLCODE, and
// one with more than there is, and it makes a contract with value. In the form of trace_block, go-ethereum leaves out a
// precompile that is paid.
func TestTrace_ofGeth(t *testing.T) {
	b := &block{hash: mustHash(h32(105)), txs: []hash{mustHash(h32(1))}, number: 5}
	for form, decode := range map[string]func([]byte) ([]internal, error){
		"callTracer": func(text []byte) ([]internal, error) {
			return decodeCalls([]byte("["+traced(1, string(text))+"]"), b)
		},
		"flatCallTracer": func(text []byte) ([]internal, error) { return decodeTraces(text, b) },
	} {
		text, err := os.ReadFile(filepath.Join("testdata", form+".json"))
		if err != nil {
			t.Fatal(err)
		}
		list, err := decode(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range list {
			got += fmt.Sprintf("%d:%s:%s ", p.ordinal, p.to.String()[:6], p.value)
		}
		if want := "2000000:0x9858:3 2000001:0x2222:1 2000002:0x6fac:1 2000003:0x9858:40 2000004:0x9858:4 2000005:0x9858:8 "; got != want {
			t.Errorf("read a trace in the form of %s: got %s, want %s", form, got, want)
		}
	}
}

func tracing(t *testing.T, way, url string) *Driver {
	t.Helper()
	network, _ := money.NetworkOf("ethereum")
	log, metrics := rpctest.Quiet()
	cfg := rpctest.Config()
	cfg.URLs = []string{url}
	d, err := New(Config{Network: network, ChainID: 1, Tokens: map[string]string{"USDT": usdt}, Trace: way, RPC: cfg}, log, metrics)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Transaction types that go-ethereum does not decode: deposits from L1 on Base, and every type of Arbitrum's. Their
// blocks are ordinary, and their fields differ from those of other types.
func TestFetch_typesOfOtherChains(t *testing.T) {
	for network, kinds := range map[string][]string{"base": {"0x7e"}, "arbitrum": {"0x64", "0x65", "0x66", "0x68", "0x69", "0x6a", "0x78"}} {
		for i, kind := range kinds {
			t.Run(network+" "+kind, func(t *testing.T) {
				tx := fmt.Sprintf(`{"blockHash":%q,"blockNumber":"0x5","from":%q,"gas":"0x0","gasPrice":"0x0","hash":%q,"input":"0x","nonce":"0x0","to":%q,"transactionIndex":"0x0",`+
					`"value":"0x7","type":%q,"v":"0x0","r":"0x0","s":"0x0","sourceHash":%q,"mint":"0x7","isSystemTx":false,"requestId":%q,"ticketId":%q,"maxRefund":"0x1","refundTo":%q}`,
					h32(105), payer, h32(70+i), strings.ToLower(ourHex), kind, h32(1), h32(2), h32(3), payer)
				f := newFake(t)
				f.set("eth_getBlockByNumber", blockJSON(5, 105, 104, "", txJSON(1, other, "0x1", "0x2"), tx))
				f.set("eth_getTransactionReceipt", receiptJSON(70+i, 105, 1))
				got, err := match(t, newDriver(t, f.URL), 5)
				if err != nil || len(got) != 1 || got[0].TxHash != h32(70+i) || got[0].Amount.Int64() != 7 || got[0].Asset != "ETH" {
					t.Errorf("match a transaction of another chain's type: got %+v, %v, want 7 wei", got, err)
				}
			})
		}
	}
}

func FuzzTraces(f *testing.F) {
	b := &block{hash: mustHash(h32(105)), txs: []hash{mustHash(h32(1)), mustHash(h32(2))}, number: 5}
	f.Add([]byte("[" + traced(1, call("CALL", other, "0x9", "", call("CALL", ourHex, "0x3", ""))) + "," + traced(2, call("CALL", ourHex, "0x7", "x")) + "]"))
	f.Add([]byte("[" + flat{1, "call", "call", other, "0x9", "", ""}.String() + "," + flat{1, "suicide", "", ourHex, "0x4", "0", ""}.String() + "]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, decode := range []func([]byte, *block) ([]internal, error){decodeCalls, decodeTraces} {
			list, err := decode(text, b)
			if err != nil {
				continue
			}
			for _, i := range list {
				if i.value.Sign() <= 0 || i.value.BitLen() > 256 || i.ordinal < chain.FirstInternal || i.from == i.to {
					t.Errorf("read an internal payment: got %+v, want a positive amount of 256 bits", i)
				}
			}
		}
		_, _ = rpc.Unwrap(text)
	})
}
