//go:build integration

package network_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/fixture"
)

// garbage are the ways in which a provider spoils a true answer. Each takes the whole body and returns the spoiled one.
var garbage = []struct {
	name  string
	spoil func(body []byte) []byte
}{
	{"an HTML page with status 200", func([]byte) []byte { return []byte("<!DOCTYPE html><html><title>Just a moment…</title></html>") }},
	{"JSON cut in the middle", func(b []byte) []byte { return b[:len(b)/2] }},
	{"nothing at all", func([]byte) []byte { return nil }},
	{"wrong types", func(b []byte) []byte {
		return rewritten(b, func(v any) any {
			switch v.(type) {
			case string:
				return json.Number("12345")
			case json.Number:
				return "a number"
			}
			return v
		}, nil)
	}},
	{"huge numbers", func(b []byte) []byte {
		return rewritten(b, func(v any) any {
			switch v := v.(type) {
			case string:
				return v + strings.Repeat("f", 200)
			case json.Number:
				return json.Number("1" + strings.Repeat("0", 400))
			}
			return v
		}, nil)
	}},
	{"negative numbers", func(b []byte) []byte {
		return rewritten(b, func(v any) any {
			switch v := v.(type) {
			case string:
				return "-" + v
			case json.Number:
				return json.Number("-" + string(v) + "1")
			}
			return v
		}, nil)
	}},
	{"missing fields", func(b []byte) []byte { return rewritten(b, nil, func(name string) string { return "x" + name }) }},
}

// rewritten changes every value and the name of every field of a JSON text.
func rewritten(body []byte, value func(any) any, name func(string) string) []byte {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var root any
	if err := decoder.Decode(&root); err != nil {
		return body
	}
	var walk func(v any, inside bool) any
	walk = func(v any, inside bool) any {
		switch v := v.(type) {
		case map[string]any:
			out := map[string]any{}
			for k, each := range v {
				within := inside || k != "id" && k != "jsonrpc"
				if name != nil {
					k = name(k)
				}
				out[k] = walk(each, within)
			}
			return out
		case []any:
			for i := range v {
				v[i] = walk(v[i], true)
			}
			return v
		}
		if value == nil || !inside {
			return v
		}
		return value(v)
	}
	out, err := json.Marshal(walk(root, false))
	if err != nil {
		panic(err)
	}
	return out
}

// spoiler is a provider that passes a node's answers on, or spoils them.
type spoiler struct {
	url   string
	spoil atomic.Pointer[func([]byte) []byte]
}

func newSpoiler(t *testing.T, rpcURL string) *spoiler {
	t.Helper()
	target, err := url.Parse(rpcURL)
	if err != nil {
		t.Fatal(err)
	}
	s := &spoiler{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Del("Accept-Encoding") },
		ModifyResponse: func(res *http.Response) error {
			spoil := s.spoil.Load()
			if spoil == nil {
				return nil
			}
			body, err := io.ReadAll(res.Body)
			if err != nil {
				return err
			}
			body = (*spoil)(body)
			res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			res.Header.Set("Content-Length", fmt.Sprint(len(body)))
			return nil
		},
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	at, _ := url.Parse(server.URL)
	at.User = target.User
	s.url = at.String()
	return s
}

// The scan logs and counts garbage and marks its endpoint as bad; the cursor does not move and nothing is credited.
// Once the endpoint recovers, the scan finds the deposits of the meantime.
func TestConformance_garbage(t *testing.T) {
	on(t, served, func(t *testing.T, s fixture.Subject) {
		n := s.Start(t)
		provider := newSpoiler(t, n.RPC)
		n.RPC = provider.url
		var log telemetrytest.Log
		l := fixture.NewChain(t, s, n)
		l.Stop()
		l.Driver, _ = l.Settings.Open(slog.New(slog.NewTextHandler(&log, nil)), l.Endpoints, l.Book)
		l.Start()
		for _, g := range garbage {
			l.CaughtUp()
			fixture.Await(t, "the endpoint to be good", func() bool { return gathered(t, l.Registry, "wallets_rpc_endpoint_healthy") == 1 })
			height, counted := l.Scanned(), gathered(t, l.Registry, "wallets_rpc_answers_total", "outcome", "garbage")
			log.Reset()
			provider.spoil.Store(&g.spoil)
			tx := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": s.Coins, "token": false, "mine": 2})
			fixture.Await(t, g.name+" to be counted and logged", func() bool {
				return gathered(t, l.Registry, "wallets_rpc_answers_total", "outcome", "garbage") > counted &&
					gathered(t, l.Registry, "wallets_rpc_endpoint_healthy") == 0 &&
					strings.Contains(log.String(), "RPC endpoint marked bad")
			})
			if l.Collect(); l.Scanned() != height || len(l.Of(tx)) > 0 {
				t.Errorf("%s: the cursor went from %d to %d, credited %+v", g.name, height, l.Scanned(), l.Of(tx))
			}
			provider.spoil.Store(nil)
			l.Found(tx)
		}
		if len(l.Last) != len(l.Sent) {
			t.Errorf("%d deposits of %d transfers", len(l.Last), len(l.Sent))
		}
	})
}

// The scan never reads from an endpoint that answers well but serves another chain, and reads from the right one beside
// it.
func TestConformance_foreignChain(t *testing.T) {
	on(t, served, func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		l.Stop()
		foreign := l.Settings
		foreign.ChainID, foreign.Genesis, foreign.Net = 999, strings.Repeat("1", 44), address.Mainnet
		registry := prometheus.NewRegistry()
		driver, _ := foreign.Open(slog.New(slog.NewTextHandler(t.Output(), nil)), rpc.NewMetrics(registry), l.Book)
		if head, err := driver.Head(t.Context()); err == nil {
			t.Errorf("a foreign chain was read: %+v", head)
		}
		if gathered(t, registry, "wallets_rpc_answers_total", "outcome", "garbage") != 1 {
			t.Error("it was not counted")
		}
	})
}

// With two providers, garbage from one changes nothing: the scan reads the other.
func TestConformance_garbageFromOneOfTwo(t *testing.T) {
	on(t, broadly(served), func(t *testing.T, s fixture.Subject) {
		n := s.Start(t)
		provider, good := newSpoiler(t, n.RPC), n.RPC
		n.RPC = provider.url
		l := fixture.NewChain(t, s, n, good)
		l.CaughtUp()
		provider.spoil.Store(&garbage[0].spoil)
		tx := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": s.Coins, "token": false, "mine": 1})
		l.Found(tx)
	})
}

// The scan sees a deposit to a deposit address on another EVM network than the payment's: one set serves the family.
func TestConformance_wrongEVMNetwork(t *testing.T) {
	t.Parallel()
	s := fixture.SubjectOf(t, "evm")
	s.Network, s.Flags, s.Coin = "polygon", []string{"--chain-id", "137"}, "POL"
	l := fixture.NewChain(t, s, s.Start(t))
	// One address belongs to a payment, which payments judges by the network in the message; the other to a standalone
	// wallet.
	if _, err := l.Pool.Exec(t.Context(), `INSERT INTO wallets (id, mode, merchant_id, key_id, family, network, network_name, crypto, address, metadata, status,
		sequence, created_at, expires_at) VALUES ('wal_1', 'live', 'm', 1, $1, 'ethereum', 'ethereum', 'USDT', $2, '{}', 'watching', 1, now(), now() + interval '1 day')`,
		string(money.EVM), l.Addresses[1]); err != nil {
		t.Fatal(err)
	}
	tx := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": s.Coins, "token": false})
	l.Transfer(map[string]any{"to": l.Addresses[1], "amount": s.Coins, "token": false, "mine": 1})
	if d := l.Found(tx); d.Network != "polygon" || d.Asset != "POL" || d.Address != l.Addresses[0] {
		t.Errorf("find a deposit beside a wrong network: got %+v, want POL on polygon", d)
	}
	select {
	case d := <-l.Strayed:
		if d.Network != "polygon" || d.Asset != "POL" || d.WalletID != "wal_1" || d.Amount.String() != s.Coins {
			t.Errorf("notice a deposit on another network: got %+v, want POL on polygon for wal_1", d)
		}
	case <-time.After(60 * time.Second):
		t.Error("the standalone wallet's deposit was not reported")
	}
}
