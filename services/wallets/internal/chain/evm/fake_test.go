package evm

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain/rpc"
)

// fake is a JSON-RPC node that answers from a table, so that a test can make it say anything.
type fake struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string]string // method, or method and first or last parameter, to the raw result
	raw     map[string]func(w http.ResponseWriter)
	asked   map[string]int
}

const (
	usdt   = "0xdAC17F958D2ee523a2206206994597C13D831ec7"
	ourHex = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
	other  = "0x00000000000000000000000000000000000000aa"
	payer  = "0x00000000000000000000000000000000000000bb"
)

func h32(n int) string { return fmt.Sprintf("0x%064x", n) }

func topicOf(a string) string { return "0x" + strings.Repeat("0", 24) + strings.ToLower(a[2:]) }

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{answers: map[string]string{
		"eth_chainId": `"0x1"`,
		"eth_call":    `"` + h32(6) + `"`,
		"eth_getLogs": `[]`,
	}, raw: map[string]func(http.ResponseWriter){}, asked: map[string]int{}}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Method string
		Params []any
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	key := call.Method
	if len(call.Params) > 0 {
		key = fmt.Sprint(call.Method, " ", call.Params[0])
	}
	f.mu.Lock()
	f.asked[call.Method]++
	raw, answer := f.raw[call.Method], f.answers[key]
	if answer == "" && len(call.Params) > 1 {
		answer = f.answers[fmt.Sprint(call.Method, " ", call.Params[len(call.Params)-1])]
	}
	if answer == "" {
		answer = f.answers[call.Method]
	}
	f.mu.Unlock()
	switch {
	case raw != nil:
		raw(w)
	case answer == "":
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"the method does not exist"}}`)
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, answer)
	}
}

func (f *fake) set(key, answer string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[key] = answer
}

func (f *fake) setRaw(method string, raw func(http.ResponseWriter)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.raw[method] = raw
}

func (f *fake) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[method]
}

// blockJSON writes a block as geth does, with the needed members among others.
func blockJSON(number, id, parent int, bloom string, txs ...string) string {
	if bloom == "" {
		bloom = "0x" + strings.Repeat("0", 512)
	}
	return fmt.Sprintf(`{"baseFeePerGas":"0x7","difficulty":"0x0","extraData":"0x","gasLimit":"0x1c9c380","hash":%q,"logsBloom":%q,`+
		`"number":"0x%x","parentHash":%q,"timestamp":"0x65f00000","transactions":[%s],"uncles":[],"withdrawals":[{"index":"0x1","amount":"0x2"}]}`,
		h32(id), bloom, number, h32(parent), strings.Join(txs, ","))
}

func txJSON(id int, to, value, kind string) string {
	if to != "null" {
		to = `"` + strings.ToLower(to) + `"`
	}
	return fmt.Sprintf(`{"type":%q,"accessList":[{"address":"0x1","storageKeys":["}{\"]["]}],"input":"0x","hash":%q,"from":%q,"to":%s,"value":%q}`,
		kind, h32(id), payer, to, value)
}

func logJSON(token, to string, amount int64, tx, block, index int) string {
	return fmt.Sprintf(`{"address":%q,"topics":[%q,%q,%q],"data":"0x%064x","blockNumber":"0x5","transactionHash":%q,"transactionIndex":"0x0",`+
		`"blockHash":%q,"logIndex":"0x%x","removed":false}`, strings.ToLower(token), transferTopic, topicOf(payer), topicOf(to), amount, h32(tx), h32(block), index)
}

func receiptJSON(tx, block, status int, logs ...string) string {
	return fmt.Sprintf(`{"transactionHash":%q,"blockHash":%q,"status":"0x%x","gasUsed":"0x5208","logs":[%s],"logsBloom":"0x00"}`,
		h32(tx), h32(block), status, strings.Join(logs, ","))
}

// bloomJSON is a filter with a listed token and Transfer in it.
func bloomJSON() string {
	var b bloom
	key, _ := address.Parse(money.EVM, address.Mainnet, usdt)
	for _, value := range [][]byte{key, transferTopic[:]} {
		for _, bit := range bloomBits(value) {
			b[len(b)-1-int(bit/8)] |= 1 << (bit % 8)
		}
	}
	return fmt.Sprintf("0x%x", b[:])
}

func newDriver(t testing.TB, urls ...string) *Driver {
	t.Helper()
	network, _ := money.NetworkOf("ethereum")
	d, err := New(Config{Network: network, ChainID: 1, Tokens: map[string]string{"USDT": usdt}, RPC: rpc.Config{URLs: urls, Timeout: 5 * time.Second}},
		slog.New(slog.NewTextHandler(io.Discard, nil)), rpc.NewMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// watched is a fixed set.
type watched map[string]bool

func (w watched) Has(key []byte) bool { return w[string(key)] }

func us(t *testing.T) watched {
	t.Helper()
	key, err := address.Parse(money.EVM, address.Mainnet, ourHex)
	if err != nil {
		t.Fatal(err)
	}
	return watched{string(key): true}
}

func big10(s string) *big.Int {
	n, _ := new(big.Int).SetString(s, 10)
	return n
}
