// Package rpctest is a node for tests of drivers: it gives the answers that a test sets.
package rpctest

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/services/wallets/internal/chain/rpc"
)

// Node answers from a table: by "method", "method parameter", "method parameter parameter" or "/path" with a raw
// result, or for a path a raw body.
type Node struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string]string
}

// New starts a node that knows nothing.
func New(t testing.TB) *Node {
	t.Helper()
	n := &Node{answers: map[string]string{}}
	n.Server = httptest.NewServer(http.HandlerFunc(n.serve))
	t.Cleanup(n.Close)
	return n
}

// Set gives an answer. A key may hold parameters too, and goes before one that holds fewer.
func (n *Node) Set(key, answer string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers[key] = answer
}

func (n *Node) answer(keys ...string) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, key := range keys {
		if answer, known := n.answers[key]; known {
			return answer, true
		}
	}
	return "", false
}

func (n *Node) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.URL.Path != "/" {
		var request map[string]any
		_ = json.Unmarshal(body, &request)
		answer, _ := n.answer(fmt.Sprint(r.URL.Path, " ", request["id_or_num"]), r.URL.Path)
		fmt.Fprint(w, answer)
		return
	}
	var call struct {
		Method string
		Params []json.RawMessage
	}
	_ = json.Unmarshal(body, &call)
	keys := []string{call.Method}
	for _, p := range call.Params {
		keys = append([]string{keys[0] + " " + string(p)}, keys...)
	}
	switch answer, known := n.answer(keys...); {
	case !known:
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"the method does not exist"}}`)
	case len(answer) > 6 && answer[:6] == "error:":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":%s}`, answer[6:])
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, answer)
	}
}

// Config is a pool's over nodes.
func Config(nodes ...*Node) rpc.Config {
	cfg := rpc.Config{Timeout: 5 * time.Second, Lag: 5}
	for _, n := range nodes {
		cfg.URLs = append(cfg.URLs, n.URL)
	}
	return cfg
}

// Quiet are a log and metrics without output.
func Quiet() (*slog.Logger, *rpc.Metrics) {
	return slog.New(slog.DiscardHandler), rpc.NewMetrics(prometheus.NewRegistry())
}

// Watched is a fixed set of keys.
type Watched map[string]bool

// Has implements chain.Watched.
func (w Watched) Has(key []byte) bool { return w[string(key)] }
