package evm

import (
	"fmt"
	"strings"
	"testing"

	"causeway.internal/libs/money"
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

// Both ways of tracing show the same: the payments of contracts, without the transaction's own value, reverted calls
// and delegate calls.
func TestTrace(t *testing.T) {
	block := blockJSON(5, 105, 104, "", txJSON(1, other, "0x9", "0x2"), txJSON(2, ourHex, "0x7", "0x2"))
	debug := "[" + traced(1, call("CALL", other, "0x9", "",
		call("CALL", ourHex, "0x3", ""),
		call("DELEGATECALL", ourHex, "0x3", "", call("SELFDESTRUCT", ourHex, "0x4", "")),
		call("CALL", other, "0x3", "execution reverted", call("CALL", ourHex, "0x5", "")),
		call("STATICCALL", ourHex, "0x0", ""),
		call("CALL", ourHex, "0x6", "out of gas"),
		call("CALL", ourHex, "0x8", ""))) + "," + traced(2, call("CALL", ourHex, "0x7", "")) + "]"
	blocks := "[" + strings.Join([]string{
		flat{1, "call", "call", other, "0x9", "", ""}.String(),
		flat{1, "call", "call", ourHex, "0x3", "0", ""}.String(),
		flat{1, "call", "delegatecall", ourHex, "0x3", "1", ""}.String(),
		flat{1, "suicide", "", ourHex, "0x4", "1,0", ""}.String(),
		flat{1, "call", "call", other, "0x3", "2", "Reverted"}.String(),
		flat{1, "call", "call", ourHex, "0x5", "2,0", ""}.String(),
		flat{1, "call", "staticcall", ourHex, "0x0", "3", ""}.String(),
		flat{1, "call", "call", ourHex, "0x6", "4", "out of gas"}.String(),
		flat{1, "call", "call", ourHex, "0x8", "5", ""}.String(),
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
			want := map[int]string{firstInternal + 1: "3", firstInternal + 3: "4", firstInternal + 8: "8", 0: "7"}
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
				if way == TraceDebug && name == "of another block" || way == TraceBlock && name == "of another transaction" {
					continue // one names no block; the other counts transactions
				}
				f.set(answer[0], spoilt)
				if got, err := match(t, tracing(t, way, f.URL), 5); err == nil {
					t.Errorf("%s was believed: %+v", name, got)
				}
			}
		})
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
				if i.value.Sign() <= 0 || i.value.BitLen() > 256 || i.ordinal < firstInternal {
					t.Errorf("read an internal payment: got %+v, want a positive amount of 256 bits", i)
				}
			}
		}
		_, _ = rpc.Unwrap(text)
	})
}
