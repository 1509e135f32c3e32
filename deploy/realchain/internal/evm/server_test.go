package evm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"causeway.internal/deploy/realchain/internal/node"
)

// client speaks plain JSON-RPC and plain JSON, as a scanner and a test do; it uses nothing of go-ethereum.
type client struct {
	t      *testing.T
	server *Server
	ready  Ready
}

// config is that of a node with the flags' defaults.
func config() Config {
	return Config{Listen: "127.0.0.1:0", Control: "127.0.0.1:0", ChainID: 1, Decimals: 6, Finality: 64, Now: time.Now}
}

func start(t *testing.T) client {
	t.Helper()
	return startWith(t, config())
}

func startWith(t *testing.T, cfg Config) client {
	t.Helper()
	t.Parallel()
	s, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return client{t: t, server: s, ready: s.Ready()}
}

func (c client) post(url string, body, into any) (int, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusServiceUnavailable {
		return response.StatusCode, nil
	}
	return response.StatusCode, json.NewDecoder(response.Body).Decode(into)
}

func (c client) rpc(into any, method string, params ...any) {
	c.t.Helper()
	if params == nil {
		params = []any{}
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	_, err := c.post(c.ready.RPCURL, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, &answer)
	if err != nil {
		c.t.Fatal(err)
	}
	if answer.Error != nil {
		if answer.Error.Message == "transaction indexing is in progress" {
			return // go-ethereum says so instead of "not found" while it indexes a new block
		}
		c.t.Fatalf("call %s: %s", method, answer.Error.Message)
	}
	if err := json.Unmarshal(answer.Result, into); err != nil {
		c.t.Fatalf("%s: %v in %s", method, err, answer.Result)
	}
}

func (c client) control(path string, body map[string]any, into any) {
	c.t.Helper()
	var raw json.RawMessage
	code, err := c.post(c.ready.ControlURL+path, body, &raw)
	if err != nil || code != http.StatusOK {
		c.t.Fatalf("call %s: got %d, %v, %s, want 200", path, code, err, raw)
	}
	if into != nil {
		if err := json.Unmarshal(raw, into); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c client) height() int64 {
	c.t.Helper()
	var hexed string
	c.rpc(&hexed, "eth_blockNumber")
	n, err := strconv.ParseInt(strings.TrimPrefix(hexed, "0x"), 16, 64)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

type log struct {
	Address, Data, TransactionHash, BlockHash, BlockNumber, LogIndex string
	Topics                                                           []string
}

type receipt struct {
	Status, BlockHash, BlockNumber string
	Logs                           []log
}

func (c client) receipt(hash string) *receipt {
	c.t.Helper()
	var r *receipt
	c.rpc(&r, "eth_getTransactionReceipt", hash)
	return r // nil while it is not mined or not indexed yet
}

const payer = "0x00000000000000000000000000000000000a11ce"

func (c client) pay(amount string) string {
	c.t.Helper()
	var sent included
	c.control("/transfer", map[string]any{"to": payer, "amount": amount, "token": true}, &sent)
	return sent.TxHash
}

func TestTransferIsMinedWithOneLogOfTheToken(t *testing.T) {
	c := start(t)
	var chainID string
	c.rpc(&chainID, "eth_chainId")
	if chainID != "0x1" {
		t.Errorf("chain id %s", chainID)
	}
	hash := c.pay("25000000")
	if c.receipt(hash) != nil {
		t.Fatal("mined before a block was asked for")
	}
	c.control("/mine", map[string]any{"blocks": 12}, nil)
	if c.height() != c.ready.Block+12 {
		t.Errorf("height %d", c.height())
	}
	r := c.receipt(hash)
	if r == nil || r.Status != "0x1" || len(r.Logs) != 1 {
		t.Fatalf("receipt %+v", r)
	}
	var logs []log
	c.rpc(&logs, "eth_getLogs", map[string]any{"blockHash": r.BlockHash, "address": []string{c.ready.Token}})
	if len(logs) != 1 || logs[0].TransactionHash != hash || len(logs[0].Topics) != 3 || !strings.HasSuffix(logs[0].Topics[2], payer[2:]) {
		t.Fatalf("logs %+v", logs)
	}
	if got, _ := new(big.Int).SetString(logs[0].Data[2:], 16); got.Int64() != 25_000_000 {
		t.Errorf("amount %s", got)
	}
	if got := c.call(c.ready.Token, "0x313ce567"); got.Int64() != 6 {
		t.Errorf("decimals %s", got)
	}
}

// call asks a contract for a number.
func (c client) call(contract, data string) *big.Int {
	c.t.Helper()
	var answer string
	c.rpc(&answer, "eth_call", map[string]any{"to": contract, "data": data}, "latest")
	number, ok := new(big.Int).SetString(strings.TrimPrefix(answer, "0x"), 16)
	if !ok {
		c.t.Fatalf("%s of %s: %q", data, contract, answer)
	}
	return number
}

// TestDecimals: tokens have the decimals that are asked for, and every account holds enough whole ones.
func TestDecimals(t *testing.T) {
	cfg := config()
	cfg.ChainID, cfg.Decimals = 56, 18
	c := startWith(t, cfg)
	for name, contract := range c.ready.Tokens {
		if got := c.call(contract, "0x313ce567"); got.Int64() != 18 {
			t.Errorf("decimals of %s: %s", name, got)
		}
		held := c.call(contract, "0x70a08231"+fmt.Sprintf("%064s", c.ready.Faucet[2:])) // balanceOf
		if want := new(big.Int).Exp(big.NewInt(10), big.NewInt(30), nil); held.Cmp(want) != 0 {
			t.Errorf("the faucet holds %s of %s", held, name)
		}
	}
	cfg.Decimals = 19
	if s, err := Start(t.Context(), cfg); err == nil {
		t.Errorf("19 decimals were taken: %v", s.Close())
	}
}

func TestNativeAndBatchTransfers(t *testing.T) {
	c := start(t)
	c.control("/transfer", map[string]any{"to": payer, "amount": "1000000000000000000", "token": false, "mine": 1}, nil)
	var balance string
	c.rpc(&balance, "eth_getBalance", payer, "latest")
	if balance != "0xde0b6b3a7640000" {
		t.Errorf("balance %s", balance)
	}
	other := "0x00000000000000000000000000000000000b0b00"
	var sent included
	c.control("/transfer", map[string]any{"token": "USDC", "mine": 1, "payments": []node.Payment{{To: payer, Amount: "1"}, {To: other, Amount: "2"}, {To: payer, Amount: "3"}}}, &sent)
	if r := c.receipt(sent.TxHash); r == nil || r.Status != "0x1" || len(r.Logs) != 3 {
		t.Errorf("batch receipt %+v", r)
	}
	c.control("/transfer", map[string]any{"token": false, "mine": 1, "payments": []node.Payment{{To: payer, Amount: "1"}, {To: other, Amount: "7"}}}, &sent)
	c.rpc(&balance, "eth_getBalance", other, "latest")
	if balance != "0x7" {
		t.Errorf("internal transfer left %s", balance)
	}
}

func TestForkTakesTheHeadBackAndDropsTheTransfer(t *testing.T) {
	c := start(t)
	hash := c.pay("1")
	c.control("/mine", map[string]any{"blocks": 3}, nil)
	old := c.receipt(hash)
	before := c.height()
	var forked forkResult
	c.control("/fork", map[string]any{"depth": 3}, &forked)
	if c.height() != before-3 || len(forked.Orphaned) != 1 || forked.Orphaned[0] != hash {
		t.Fatalf("height %d after %+v", c.height(), forked)
	}
	c.control("/mine", map[string]any{"blocks": 5}, nil)
	if r := c.receipt(hash); r != nil {
		t.Fatalf("a dropped transfer is still mined: %+v", r)
	}
	var atHeight struct{ Hash string }
	c.rpc(&atHeight, "eth_getBlockByNumber", old.BlockNumber, false)
	if atHeight.Hash == old.BlockHash {
		t.Error("the new branch repeats the old block")
	}
}

// TestForkAfterTheFreezer: go-ethereum's freezer, which runs once a minute, keeps no block that a fork abandons.
func TestForkAfterTheFreezer(t *testing.T) {
	c := start(t)
	c.control("/mine", map[string]any{"blocks": 40 - c.height()}, nil)
	db := reflect.ValueOf(c.server.chain.backend.service.ChainDb()).Elem().FieldByName("Database").Interface()
	if err := db.(interface{ Freeze() error }).Freeze(); err != nil {
		t.Fatal(err)
	}
	c.control("/fork", map[string]any{"depth": 10}, nil)
	for height := 30; height <= 40; height++ {
		var b *struct{ Number string }
		c.rpc(&b, "eth_getBlockByNumber", fmt.Sprintf("0x%x", height), false)
		if there := b != nil; there != (height == 30) {
			t.Errorf("block %d is there: %t, with the head at %d", height, there, c.height())
		}
	}
}

func TestReincludedAtAnotherHeightAndLogIndex(t *testing.T) {
	c := start(t)
	hash := c.pay("5")
	c.control("/mine", map[string]any{"blocks": 2}, nil)
	old := c.receipt(hash)
	var result forkResult
	c.control("/reorg", map[string]any{"depth": 2, "blocks": 4, "include": hash, "includeAfter": 2, "ahead": 3}, &result)
	now := c.receipt(hash)
	if now == nil || now.BlockNumber == old.BlockNumber || now.BlockHash == old.BlockHash {
		t.Fatalf("before %+v, after %+v", old, now)
	}
	if old.Logs[0].LogIndex != "0x0" || now.Logs[0].LogIndex != "0x3" {
		t.Errorf("log index %s, then %s", old.Logs[0].LogIndex, now.Logs[0].LogIndex)
	}
	if result.Head.Height != c.height() {
		t.Errorf("head %+v, height %d", result.Head, c.height())
	}
}

func TestReplacedByAnotherTransaction(t *testing.T) {
	c := start(t)
	hash := c.pay("5")
	c.control("/mine", map[string]any{"blocks": 1}, nil)
	c.control("/fork", map[string]any{"depth": 1}, nil)
	var sent included
	other := map[string]any{"txHash": hash, "to": "0x00000000000000000000000000000000000000bb", "amount": "6", "token": true}
	c.control("/replace", other, &sent)
	c.control("/mine", map[string]any{"blocks": 2}, nil)
	if r := c.receipt(sent.TxHash); r == nil || r.Status != "0x1" {
		t.Errorf("the replacement: %+v", r)
	}
	if r := c.receipt(hash); r != nil {
		t.Errorf("the replaced transaction is mined: %+v", r)
	}
}

func TestKeptTransactionsReturnToThePool(t *testing.T) {
	c := start(t)
	first, second := c.pay("1"), ""
	c.control("/mine", map[string]any{"blocks": 2}, nil)
	second = c.pay("2")
	c.control("/fork", map[string]any{"depth": 2, "keep": true}, nil)
	c.control("/mine", map[string]any{"blocks": 1}, nil)
	if c.receipt(first) == nil || c.receipt(second) == nil {
		t.Error("a kept or waiting transaction was lost")
	}
}

func TestDropOneOfThePool(t *testing.T) {
	c := start(t)
	gone, stays := c.pay("1"), c.pay("2")
	c.control("/drop", map[string]any{"txHashes": []string{gone}}, nil)
	c.control("/mine", map[string]any{"blocks": 1}, nil)
	if c.receipt(gone) != nil || c.receipt(stays) == nil {
		t.Error("the wrong transaction was dropped")
	}
	c.control("/include", map[string]any{"txHash": gone}, nil)
	c.control("/mine", map[string]any{"blocks": 1}, nil)
	if c.receipt(gone) == nil {
		t.Error("the dropped transaction was not mined when sent again")
	}
}

func TestManyTransfersRightAfterBlocks(t *testing.T) {
	c := start(t)
	var hashes []string
	for i := range 20 {
		for range 5 {
			hashes = append(hashes, c.pay(fmt.Sprint(i+1)))
		}
		c.control("/mine", map[string]any{"blocks": 1}, nil)
	}
	for _, hash := range hashes {
		if r := c.receipt(hash); r == nil || r.Status != "0x1" {
			t.Fatalf("get the receipt of %s: got %+v, want success", hash, r)
		}
	}
}

func TestFrontDoorFailsAndComesBackOnTheSamePort(t *testing.T) {
	c := start(t)
	ask := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []any{}}
	var answer json.RawMessage
	for _, mode := range []string{"refuse", "error", "hang"} {
		c.control("/rpc", map[string]any{"enabled": false, "mode": mode}, nil)
		switch mode {
		case "refuse":
			if _, err := c.post(c.ready.RPCURL, ask, &answer); err == nil {
				t.Error("a refused connection was answered")
			}
		case "error":
			if code, err := c.post(c.ready.RPCURL, ask, &answer); err != nil || code != http.StatusServiceUnavailable {
				t.Errorf("answered %d, %v", code, err)
			}
		case "hang":
			before := c.statusOf().RPCRequests
			back := make(chan error, 1)
			go func() {
				_, err := c.post(c.ready.RPCURL, ask, &answer)
				back <- err
			}()
			c.eventually("the request to arrive", func() bool { return c.statusOf().RPCRequests > before })
			c.control("/rpc", map[string]any{"enabled": true}, nil)
			if err := <-back; err != nil {
				t.Error(err)
			}
		}
		c.control("/rpc", map[string]any{"enabled": true}, nil)
		if c.height() != c.ready.Block {
			t.Errorf("after %s: height %d", mode, c.height())
		}
	}
}

// eventually asks until the condition holds or ten seconds have passed.
func (c client) eventually(what string, holds func() bool) {
	c.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for !holds() {
		select {
		case <-deadline:
			c.t.Fatalf("waited too long for %s", what)
		case <-tick.C:
		}
	}
}

func (c client) statusOf() status {
	var s status
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, c.ready.ControlURL+"/status", nil)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(&s); err != nil {
		c.t.Fatal(err)
	}
	return s
}

// TestFinalityTrailsTheHead: the tags are heights that a live chain could give, and finalized never moves back.
func TestFinalityTrailsTheHead(t *testing.T) {
	c := start(t)
	tags := func() (finalized, safe int64) {
		var answers [2]struct{ Number string }
		c.rpc(&answers[0], "eth_getBlockByNumber", "finalized", false)
		c.rpc(&answers[1], "eth_getBlockByNumber", "safe", false)
		finalized, _ = strconv.ParseInt(answers[0].Number[2:], 16, 64)
		safe, _ = strconv.ParseInt(answers[1].Number[2:], 16, 64)
		return finalized, safe
	}
	for _, want := range []struct{ height, finalized, safe int64 }{{31, 0, 0}, {33, 0, 1}, {64, 0, 32}, {70, 6, 38}} {
		c.control("/mine", map[string]any{"blocks": want.height - c.height()}, nil)
		finalized, safe := tags()
		if s := c.statusOf(); s.Finalized != want.finalized || s.Safe != want.safe || finalized != want.finalized || safe != want.safe {
			t.Errorf("at %d: finalized %d, safe %d, %+v", want.height, finalized, safe, s)
		}
	}
	c.control("/fork", map[string]any{"depth": 5}, nil)
	if finalized, safe := tags(); finalized != 6 || safe != 33 {
		t.Errorf("after a fork: finalized %d, safe %d", finalized, safe)
	}
	c.control("/finality", map[string]any{"depth": 4}, nil)
	if finalized, _ := tags(); finalized != 61 {
		t.Errorf("with a depth of 4: finalized %d", finalized)
	}
	var logs []log
	c.rpc(&logs, "eth_getLogs", map[string]any{"fromBlock": "0x1", "toBlock": "finalized"})
	if len(logs) == 0 {
		t.Error("no logs of the deployment up to the finalized block")
	}
}

func TestBlocksComeByThemselves(t *testing.T) {
	c := start(t)
	c.control("/block-time", map[string]any{"every": "10ms"}, nil)
	hash := c.pay("9")
	c.eventually("blocks", func() bool { return c.receipt(hash) != nil && c.height() >= 5 })
}

func TestBadControlRequests(t *testing.T) {
	c := start(t)
	for path, body := range map[string]map[string]any{
		"/mine":       {"blocks": 100_000},
		"/transfer":   {"to": "nobody", "amount": "1", "token": true},
		"/fork":       {"depth": 99},
		"/include":    {"txHash": "0x01"},
		"/replace":    {"txHash": "0x01", "to": payer, "amount": "1"},
		"/rpc":        {"enabled": false, "mode": "sleepy"},
		"/block-time": {"every": "soon"},
		"/drop":       {"unknown": 1},
	} {
		var answer struct{ Error string }
		if code, err := c.post(c.ready.ControlURL+path, body, &answer); err != nil || code != http.StatusBadRequest || answer.Error == "" {
			t.Errorf("call %s with a bad body: got %d, %v, %+v, want 400 with an error", path, code, err, answer)
		}
	}
}

func TestOnlyLoopback(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", "10.0.0.1:0", "nonsense"} {
		if _, err := Start(t.Context(), Config{Listen: addr, Control: "127.0.0.1:0", ChainID: 1, Now: time.Now}); err == nil {
			t.Errorf("%s was accepted", addr)
		}
	}
}
