package evm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/cpu"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/scanner"
)

func match(t *testing.T, d *Driver, height int64) ([]chain.Transfer, error) {
	t.Helper()
	b, err := d.Fetch(t.Context(), height)
	if err != nil {
		return nil, err
	}
	return b.Match(t.Context(), us(t))
}

func TestMatch(t *testing.T) {
	f := newFake(t)
	f.set("eth_getBlockByNumber 0x5", blockJSON(5, 105, 104, bloomJSON(),
		txJSON(1, ourHex, "0xde0b6b3a7640000", "0x2"), // to a deposit address
		txJSON(2, ourHex, "0x5", "0x0"),               // to a deposit address, but it fails
		txJSON(3, other, "0x5", "0x0"),                // a foreign one
		txJSON(4, "null", "0x5", "0x2"),               // creates a contract
		txJSON(5, ourHex, "0x0", "0x2"),               // carries nothing
		txJSON(6, ourHex, "0x7", "0x7e"),              // a deposit from L1 on Base: a type that libraries refuse
		txJSON(7, usdt, "0x0", "0x2")))                // a token call with two transfers to deposit addresses
	f.set("eth_getLogs", "["+strings.Join([]string{
		logJSON(usdt, other, 9, 7, 105, 3),
		logJSON(usdt, ourHex, 11, 7, 105, 4),
		logJSON(usdt, ourHex, 12, 7, 105, 6),
		logJSON(usdt, ourHex, 0, 7, 105, 7),   // moves nothing
		logJSON(other, ourHex, 99, 7, 105, 8), // calls itself a token, is on no list
	}, ",")+"]")
	f.set("eth_getTransactionReceipt "+h32(1), receiptJSON(1, 105, 1))
	f.set("eth_getTransactionReceipt "+h32(2), receiptJSON(2, 105, 0))
	f.set("eth_getTransactionReceipt "+h32(6), receiptJSON(6, 105, 1))
	called := receiptJSON(7, 105, 1,
		logJSON(usdt, other, 9, 7, 105, 3), logJSON(usdt, ourHex, 11, 7, 105, 4),
		`{"address":"`+other+`","topics":[],"data":"0x","transactionHash":"`+h32(7)+`","blockHash":"`+h32(105)+`","logIndex":"0x5"}`,
		logJSON(usdt, ourHex, 12, 7, 105, 6), logJSON(usdt, ourHex, 0, 7, 105, 7), logJSON(other, ourHex, 99, 7, 105, 8))
	f.set("eth_getTransactionReceipt "+h32(7), called)
	var all []string
	for tx := 1; tx < 7; tx++ {
		all = append(all, receiptJSON(tx, 105, 1))
	}
	f.set("eth_getBlockReceipts", "["+strings.Join(append(all, called), ",")+"]")
	got, err := match(t, newDriver(t, f.URL), 5)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		tx, ordinal int
		asset       string
		amount      string
	}{{1, 0, "ETH", "1000000000000000000"}, {6, 0, "ETH", "7"}, {7, 2, "USDT", "11"}, {7, 4, "USDT", "12"}}
	if len(got) != len(want) {
		t.Fatalf("%d transfers: %+v", len(got), got)
	}
	for i, w := range want {
		g := got[i]
		if g.TxHash != h32(w.tx) || g.Ordinal != w.ordinal || g.Asset != w.asset || g.Amount.Cmp(big10(w.amount)) != 0 || (g.Contract == usdt) != (w.asset == "USDT") ||
			len(g.Senders) != 1 || !strings.EqualFold(g.Senders[0], payer) {
			t.Errorf("transfer %d is %+v, want %+v", i, g, w)
		}
	}
	if n := f.count("eth_getTransactionReceipt"); n != 4 {
		t.Errorf("%d receipts were asked for; only hits cost one", n)
	}
}

func TestHead_finalized(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		want   int64
	}{
		"known":        {blockJSON(3, 103, 102, ""), 3},
		"no such tag":  {"", 0},
		"none yet":     {"null", 0},
		"after head":   {blockJSON(30, 103, 102, ""), 0},
		"not a block":  {`"0x3"`, 0},
		"unknown type": {`[]`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.set("eth_getBlockByNumber latest", blockJSON(9, 109, 108, ""))
			if c.answer != "" {
				f.set("eth_getBlockByNumber finalized", c.answer)
			}
			head, err := newDriver(t, f.URL).Head(t.Context())
			if err != nil || head.Height != 9 || head.Hash != h32(109) || head.Parent != h32(108) || head.Finalized != c.want {
				t.Errorf("read the head: got %+v, %v, want block 9 with the final height %d", head, err, c.want)
			}
		})
	}
}

func TestHeader_noBlock(t *testing.T) {
	f := newFake(t)
	f.set("eth_getBlockByNumber", "null")
	d := newDriver(t, f.URL)
	if _, err := d.Header(t.Context(), 7); !errors.Is(err, chain.ErrNoBlock) {
		t.Errorf("read the header of a block that is not there: got %v, want ErrNoBlock", err)
	}
	if _, err := d.Fetch(t.Context(), 7); !errors.Is(err, chain.ErrNoBlock) {
		t.Errorf("fetch a block that is not there: got %v, want ErrNoBlock", err)
	}
}

// Every partial or false answer of an endpoint is an error: the scanner does not move.
func TestFetch_hostileAnswers(t *testing.T) {
	good := blockJSON(5, 105, 104, "", txJSON(1, ourHex, "0x5", "0x2"))
	blocks := map[string]string{
		"another number":      blockJSON(6, 105, 104, ""),
		"huge number":         strings.Replace(good, `"number":"0x5"`, `"number":"0xffffffffffffffffff"`, 1),
		"number over 63 bits": strings.Replace(good, `"number":"0x5"`, `"number":"0xffffffffffffffff"`, 1),
		"number as a number":  strings.Replace(good, `"number":"0x5"`, `"number":5`, 1),
		"negative number":     strings.Replace(good, `"number":"0x5"`, `"number":"0x-5"`, 1),
		"no hash":             strings.Replace(good, `"hash":"`+h32(105)+`",`, ``, 1),
		"short hash":          strings.Replace(good, h32(105), "0x12", 1),
		"hash not hex":        strings.Replace(good, h32(105), "0x"+strings.Repeat("z", 64), 1),
		"no parent":           strings.Replace(good, "parentHash", "parent", 1),
		"no transactions":     strings.Replace(good, `"transactions"`, `"txs"`, 1),
		"transactions null":   strings.Replace(good, `"transactions":[`+txJSON(1, ourHex, "0x5", "0x2")+`]`, `"transactions":null`, 1),
		"hashes only":         blockJSON(5, 105, 104, "", `"`+h32(1)+`"`),
		"value missing":       strings.Replace(good, `"value"`, `"val"`, 1),
		"value a float":       strings.Replace(good, `"value":"0x5"`, `"value":1.5`, 1),
		"value of 257 bits":   strings.Replace(good, `"value":"0x5"`, `"value":"0x1`+strings.Repeat("0", 64)+`"`, 1),
		"value signed":        strings.Replace(good, `"value":"0x5"`, `"value":"0x+5"`, 1),
		"to of 19 bytes":      strings.Replace(good, strings.ToLower(ourHex), "0x9858", 1),
		"bloom cut":           strings.Replace(good, `"logsBloom":"0x00`, `"logsBloom":"0x`, 1),
		"time of year 10000":  strings.Replace(good, `"timestamp":"0x65f00000"`, `"timestamp":"0x3afff44180"`, 1),
		"cut":                 good[:len(good)/2],
		"a string":            `"block"`,
		"an array":            `[]`,
		"a number":            `17`,
		"nested":              strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
	}
	for name, answer := range blocks {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.set("eth_getBlockByNumber", answer)
			if b, err := newDriver(t, f.URL).Fetch(t.Context(), 5); err == nil || errors.Is(err, chain.ErrNoBlock) {
				t.Errorf("was believed: %+v, %v", b, err)
			}
		})
	}
	logs := map[string]string{
		"null":             "null",
		"an object":        "{}",
		"of another block": "[" + logJSON(usdt, ourHex, 1, 1, 999, 0) + "]",
		"removed":          "[" + strings.Replace(logJSON(usdt, ourHex, 1, 1, 105, 0), `"removed":false`, `"removed":true`, 1) + "]",
		"without index":    "[" + strings.Replace(logJSON(usdt, ourHex, 1, 1, 105, 0), `"logIndex"`, `"index"`, 1) + "]",
		"cut":              "[" + logJSON(usdt, ourHex, 1, 1, 105, 0),
	}
	for name, answer := range logs {
		t.Run("logs "+name, func(t *testing.T) {
			f := newFake(t)
			f.set("eth_getBlockByNumber", good)
			f.set("eth_getLogs", answer)
			if _, err := newDriver(t, f.URL).Fetch(t.Context(), 5); err == nil {
				t.Error("was believed")
			}
		})
	}
	for name, raw := range map[string]func(http.ResponseWriter){
		"HTML page":  func(w http.ResponseWriter) { fmt.Fprint(w, "<!DOCTYPE html><html>Just a moment…</html>") },
		"empty":      func(http.ResponseWriter) {},
		"status 500": func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"status 204": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
		"redirect": func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(http.StatusFound)
		},
		"no result":       func(w http.ResponseWriter) { fmt.Fprint(w, `{"jsonrpc":"2.0","id":1}`) },
		"trailing data":   func(w http.ResponseWriter) { fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s} {}`, good) },
		"result and more": func(w http.ResponseWriter) { fmt.Fprintf(w, `{"result":%s,"error":{"code":1,"message":"x"}}`, good) },
		"two answers":     func(w http.ResponseWriter) { fmt.Fprintf(w, `[{"result":%s}]`, good) },
		"cut body": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100000")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":`)
		},
	} {
		t.Run("HTTP "+name, func(t *testing.T) {
			f := newFake(t)
			f.setRaw("eth_getBlockByNumber", raw)
			if _, err := newDriver(t, f.URL).Fetch(t.Context(), 5); err == nil || strings.Contains(err.Error(), f.URL) {
				t.Errorf("was believed, or shows the URL: %v", err)
			}
		})
	}
}

// A receipt that does not confirm a hit is an error too.
func TestMatch_doubtfulReceipts(t *testing.T) {
	for name, receipt := range map[string]string{
		"none":                "null",
		"of another block":    receiptJSON(7, 999, 1, logJSON(usdt, ourHex, 11, 7, 999, 4)),
		"of another tx":       receiptJSON(8, 105, 1, logJSON(usdt, ourHex, 11, 8, 105, 4)),
		"without the log":     receiptJSON(7, 105, 1),
		"with another amount": receiptJSON(7, 105, 1, logJSON(usdt, ourHex, 12, 7, 105, 4)),
		"failed":              receiptJSON(7, 105, 0, logJSON(usdt, ourHex, 11, 7, 105, 4)),
		"without status":      strings.Replace(receiptJSON(7, 105, 1, logJSON(usdt, ourHex, 11, 7, 105, 4)), `"status"`, `"root"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.set("eth_getBlockByNumber", blockJSON(5, 105, 104, bloomJSON(), txJSON(7, usdt, "0x0", "0x2")))
			f.set("eth_getLogs", "["+logJSON(usdt, ourHex, 11, 7, 105, 4)+"]")
			f.set("eth_getTransactionReceipt", receipt)
			if got, err := match(t, newDriver(t, f.URL), 5); err == nil {
				t.Errorf("was believed: %+v", got)
			}
		})
	}
}

// The bloom filter allows logs and the answer has none: the receipts decide, all at once or one by one.
func TestFetch_suspiciouslyEmpty(t *testing.T) {
	block := blockJSON(5, 105, 104, bloomJSON(), txJSON(7, usdt, "0x0", "0x2"))
	whole := receiptJSON(7, 105, 1, logJSON(usdt, ourHex, 11, 7, 105, 0))
	for name, c := range map[string]struct {
		set   map[string]string
		found int
		fails bool
	}{
		"receipts have the log":             {map[string]string{"eth_getBlockReceipts": "[" + whole + "]"}, 1, false},
		"receipts agree that there is none": {map[string]string{"eth_getBlockReceipts": "[" + receiptJSON(7, 105, 1) + "]"}, 0, false},
		"one by one":                        {nil, 1, false},
		"receipts are empty too":            {map[string]string{"eth_getBlockReceipts": "[]"}, 0, true},
		"receipts are null":                 {map[string]string{"eth_getBlockReceipts": "null"}, 0, true},
		"receipts of another block":         {map[string]string{"eth_getBlockReceipts": "[" + receiptJSON(7, 999, 1) + "]"}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.set("eth_getBlockByNumber", block)
			f.set("eth_getTransactionReceipt", whole)
			for key, answer := range c.set {
				f.set(key, answer)
			}
			got, err := match(t, newDriver(t, f.URL), 5)
			if (err != nil) != c.fails || len(got) != c.found {
				t.Errorf("match a block that looks empty: got %+v, %v, want %d transfers", got, err, c.found)
			}
		})
	}
	for _, status := range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed} {
		t.Run(fmt.Sprintf("one by one after HTTP status %d", status), func(t *testing.T) {
			f := newFake(t)
			f.set("eth_getBlockByNumber", block)
			f.set("eth_getTransactionReceipt", whole)
			f.raw["eth_getBlockReceipts"] = func(w http.ResponseWriter) { http.Error(w, "not on this plan", status) }
			if got, err := match(t, newDriver(t, f.URL), 5); err != nil || len(got) != 1 {
				t.Errorf("match by single receipts: got %+v, %v, want one transfer", got, err)
			}
		})
	}
	t.Run("the filter says no", func(t *testing.T) {
		f := newFake(t)
		f.set("eth_getBlockByNumber", blockJSON(5, 105, 104, "", txJSON(7, usdt, "0x0", "0x2")))
		if _, err := match(t, newDriver(t, f.URL), 5); err != nil || f.count("eth_getBlockReceipts") != 0 {
			t.Errorf("match a block whose filter says no: got %v, want no question for receipts", err)
		}
	})
}

func TestVerify(t *testing.T) {
	for name, set := range map[string][2]string{
		"another chain":      {"eth_chainId", `"0x89"`},
		"chain id a number":  {"eth_chainId", `1`},
		"18 decimals":        {"eth_call", `"` + h32(18) + `"`},
		"no contract there":  {"eth_call", `"0x"`},
		"decimals beyond 63": {"eth_call", `"0x` + strings.Repeat("f", 64) + `"`},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.set("eth_getBlockByNumber", blockJSON(5, 105, 104, ""))
			f.set(set[0], set[1])
			if _, err := newDriver(t, f.URL).Head(t.Context()); err == nil || f.count("eth_getBlockByNumber") != 0 {
				t.Errorf("was used: %v", err)
			}
		})
	}
}

// A node that omits only some of a block's logs is detected too, by its own receipts or by another endpoint.
func TestFetch_partialLogs(t *testing.T) {
	ours, theirs := logJSON(usdt, ourHex, 11, 7, 105, 0), logJSON(usdt, other, 12, 8, 105, 1)
	node := func(logs ...string) *fake {
		f := newFake(t)
		f.set("eth_getBlockByNumber", blockJSON(5, 105, 104, bloomJSON(), txJSON(7, usdt, "0x0", "0x2"), txJSON(8, usdt, "0x0", "0x2")))
		f.set("eth_getTransactionReceipt "+h32(7), receiptJSON(7, 105, 1, ours))
		f.set("eth_getTransactionReceipt "+h32(8), receiptJSON(8, 105, 1, theirs))
		f.set("eth_getBlockReceipts", "["+receiptJSON(7, 105, 1, ours)+","+receiptJSON(8, 105, 1, theirs)+"]")
		f.set("eth_getLogs", "["+strings.Join(logs, ",")+"]")
		return f
	}
	t.Run("one endpoint", func(t *testing.T) {
		f := node(theirs)
		if got, err := match(t, newDriver(t, f.URL), 5); err != nil || len(got) != 1 || f.count("eth_getBlockReceipts") != 1 || f.count("eth_getLogs") != 1 {
			t.Errorf("match with one endpoint's partial logs: got %+v, %v, want one transfer by the receipts", got, err)
		}
	})
	t.Run("the second endpoint has them", func(t *testing.T) {
		a, b := node(theirs), node(theirs, ours)
		got, err := match(t, newDriver(t, a.URL, b.URL), 5)
		if err != nil || len(got) != 1 || a.count("eth_getBlockReceipts")+b.count("eth_getBlockReceipts") > 1 {
			t.Errorf("match with logs that the second endpoint has: got %+v, %v, want one transfer", got, err)
		}
	})
	t.Run("the first endpoint hides them behind an empty filter", func(t *testing.T) {
		a, b := node(), node(theirs, ours)
		a.set("eth_getBlockByNumber", blockJSON(5, 105, 104, "0x"+strings.Repeat("00", 256), txJSON(7, usdt, "0x0", "0x2"), txJSON(8, usdt, "0x0", "0x2")))
		if got, err := match(t, newDriver(t, a.URL, b.URL), 5); err != nil || len(got) != 1 {
			t.Errorf("match logs hidden by an empty filter: got %+v, %v, want one transfer", got, err)
		}
	})
	t.Run("the second endpoint is the partial one", func(t *testing.T) {
		a, b := node(theirs, ours), node(theirs)
		if got, err := match(t, newDriver(t, a.URL, b.URL), 5); err != nil || len(got) != 1 {
			t.Errorf("match with partial logs of the second endpoint: got %+v, %v, want one transfer", got, err)
		}
	})
	t.Run("whole answers cost one more call", func(t *testing.T) {
		a, b := node(ours, theirs), node(ours, theirs)
		if got, err := match(t, newDriver(t, a.URL, b.URL), 5); err != nil || len(got) != 1 ||
			a.count("eth_getLogs") != 1 || b.count("eth_getLogs") != 1 || a.count("eth_getBlockReceipts")+b.count("eth_getBlockReceipts") != 0 {
			t.Errorf("match with logs of both endpoints: got %+v, %v, want one transfer without receipts", got, err)
		}
	})
	t.Run("a log that the second endpoint does not know", func(t *testing.T) {
		a, b := node(ours, theirs), node(theirs)
		b.set("eth_getTransactionReceipt "+h32(7), receiptJSON(7, 105, 1))
		d := newDriver(t, a.URL, b.URL)
		for range 5 {
			if got, err := match(t, d, 5); !errors.Is(err, rpc.ErrMoved) {
				t.Errorf("match a block that moves: got %+v, %v, want ErrMoved", got, err)
			}
		}
	})
	t.Run("the second endpoint lacks the block", func(t *testing.T) {
		a, b := node(ours, theirs), node()
		b.set("eth_getTransactionReceipt "+h32(7), "null")
		b.set("eth_getBlockByNumber", "null")
		if got, err := match(t, newDriver(t, a.URL, b.URL), 5); err != nil || len(got) != 1 {
			t.Errorf("match a block that the second endpoint lacks: got %+v, %v, want one transfer", got, err)
		}
	})
}

// The filter allows logs, this endpoint has none and another has them: the driver reads from the other one.
func TestFetch_anotherEndpointHasTheLogs(t *testing.T) {
	a, b := newFake(t), newFake(t)
	for _, f := range []*fake{a, b} {
		f.set("eth_getBlockByNumber", blockJSON(5, 105, 104, bloomJSON(), txJSON(7, usdt, "0x0", "0x2")))
		f.set("eth_getTransactionReceipt", receiptJSON(7, 105, 1, logJSON(usdt, ourHex, 11, 7, 105, 0)))
	}
	b.set("eth_getLogs", "["+logJSON(usdt, ourHex, 11, 7, 105, 0)+"]")
	got, err := match(t, newDriver(t, a.URL, b.URL), 5)
	if err != nil || len(got) != 1 || a.count("eth_getBlockReceipts") != 0 {
		t.Errorf("match with another endpoint's logs: got %+v, %v, want one transfer without receipts", got, err)
	}
	b.set("eth_getLogs", "[]") // now neither has any
	if got, err = match(t, newDriver(t, a.URL, b.URL), 5); err != nil || len(got) != 0 || a.count("eth_getBlockReceipts") != 0 {
		t.Errorf("match without logs: got %+v, %v, want nothing", got, err)
	}
}

func TestNew_refuses(t *testing.T) {
	network, _ := money.NetworkOf("base")
	for name, cfg := range map[string]Config{
		"no URL":           {},
		"no scheme":        {RPC: rpc.Config{URLs: []string{"localhost:8545"}}},
		"websocket":        {RPC: rpc.Config{URLs: []string{"ws://localhost:8545"}}},
		"bad checksum":     {RPC: rpc.Config{URLs: []string{"http://x"}}, Tokens: map[string]string{"USDC": "0xdAC17F958D2ee523a2206206994597C13D831eC7"}},
		"unlisted token":   {RPC: rpc.Config{URLs: []string{"http://x"}}, Tokens: map[string]string{"USDT": usdt}},
		"the coin a token": {RPC: rpc.Config{URLs: []string{"http://x"}}, Tokens: map[string]string{"ETH": usdt}},
	} {
		cfg.Network = network
		if _, err := New(cfg, slog.New(slog.NewTextHandler(io.Discard, nil)), rpc.NewMetrics(prometheus.NewRegistry())); err == nil {
			t.Errorf("%s: was accepted", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(blockJSON(5, 105, 104, bloomJSON(), txJSON(1, ourHex, "0x5", "0x2"))))
	f.Add([]byte("[" + logJSON(usdt, ourHex, 11, 7, 105, 4) + "]"))
	f.Add([]byte("[" + receiptJSON(7, 105, 1, logJSON(usdt, ourHex, 11, 7, 105, 4)) + "]"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"\"unknown block\""}}`))
	f.Add([]byte(`{"result":"\\\"","a":{"b":[1,2,"]"]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if blk, err := decodeBlock(b, true); err == nil && blk != nil && (blk.number < 0 || len(blk.payments) > len(blk.txs)) {
			t.Errorf("decode a block: got %+v, want no negative number and no more payments than transactions", blk)
		}
		if events, err := decodeLogs(b); err == nil {
			for _, e := range events {
				if e.amount.Sign() <= 0 || e.amount.BitLen() > 256 || e.index < 0 {
					t.Errorf("decode an event: got %+v, want a positive amount of 256 bits", e)
				}
			}
		}
		_, _ = decodeReceipt(b)
		_, _ = decodeReceipts(b)
		_, _ = decodeNumber(b)
		_, _ = decodeWord(b)
		if result, err := rpc.Unwrap(b); err == nil && result == nil {
			t.Error("an answer without a result was accepted")
		}
	})
}

// BenchmarkBlock decodes a block of 2 000 transactions with the 1 000 logs of tokens in it and looks every receiver up
// among a million watched addresses: the processor time of one block without the network's.
func BenchmarkBlock(b *testing.B) {
	txs, logs := make([]string, 2000), make([]string, 1000)
	for i := range txs {
		txs[i] = strings.Replace(txJSON(i, fmt.Sprintf("0x%040x", i), "0x5", "0x2"), `"input":"0x"`, `"input":"0x`+strings.Repeat("ab", 68)+`"`, 1)
	}
	for i := range logs {
		logs[i] = logJSON(usdt, fmt.Sprintf("0x%040x", i), 1+int64(i), i, 105, i)
	}
	answer := func(result string) []byte { return []byte(`{"jsonrpc":"2.0","id":1,"result":` + result + `}`) }
	block, events := answer(blockJSON(5, 105, 104, bloomJSON(), txs...)), answer("["+strings.Join(logs, ",")+"]")
	b.SetBytes(int64(len(block) + len(events)))
	watch := scanner.NewWatch(tenant.Live, money.EVM, million{})
	if err := watch.Refresh(b.Context()); err != nil {
		b.Fatal(err)
	}
	d := newDriver(b, "http://127.0.0.1:1")
	began := cpu.Spent()
	for b.Loop() {
		found, err := d.benchmark(block, events, watch)
		if err != nil || found > 50 {
			b.Fatal(err, found)
		}
	}
	cpu.Report(b, began)
}

// benchmark runs Fetch and Match over two answers, up to the receipts of the hits.
func (d *Driver) benchmark(block, events []byte, watched chain.Watched) (found int, err error) {
	result, err := rpc.Unwrap(block)
	if err != nil {
		return 0, err
	}
	blk, err := decodeBlock(result, true)
	if err != nil {
		return 0, err
	}
	if result, err = rpc.Unwrap(events); err != nil {
		return 0, err
	}
	list, err := decodeLogs(result)
	if err != nil {
		return 0, err
	}
	if list = d.listed(list); len(blk.payments) < 1999 || len(list) != 1000 {
		return 0, fmt.Errorf("%d payments, %d logs", len(blk.payments), len(list))
	}
	for i := range blk.payments {
		if watched.Has(blk.payments[i].to[:]) {
			found++
		}
	}
	for i := range list {
		if watched.Has(list[i].to[:]) {
			found++
		}
	}
	return found, nil
}

// million are a million allocations.
type million struct{}

func (million) CountAddresses(context.Context, tenant.Mode, money.Family) (int64, error) {
	return 1_000_000, nil
}

func (million) AddressesAfter(_ context.Context, _ tenant.Mode, _ money.Family, seq int64, f func(int64, []byte)) error {
	key := make([]byte, 20)
	for i := seq; i < 1_000_000; i++ {
		binary.BigEndian.PutUint64(key[12:], uint64(i)*0x9e3779b97f4a7c15)
		f(i+1, key)
	}
	return nil
}
