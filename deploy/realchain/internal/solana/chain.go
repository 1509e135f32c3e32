// Package solana is a real Solana VM for tests: Surfpool runs every transaction, with the real system, token and
// associated token programs, and reports its result. The package builds blocks from those transactions, because
// Surfpool's own do not name each other as parents: a test decides the content of each slot, skips slots, and forks. A
// fork takes blocks off the chain that clients see; the accounts inside the VM stay as they are.
package solana

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"causeway.internal/deploy/realchain/internal/node"
)

const (
	rootLag   = 31 // blocks by which the rooted block trails the confirmed one
	skipEvery = 10 // every tenth slot has no block
	decimals  = 6
	patience  = 2 * time.Minute // on a busy machine, because a transaction that the VM runs later is in no block
)

// block is the block of a slot.
type block struct {
	slot, parentSlot int64
	hash, parent     key
	txs              []executed
}

// executed is a transaction as the VM tells it: {transaction, meta, version}.
type executed struct {
	signature string
	json      json.RawMessage
	left      map[string]json.RawMessage // the accounts that it named, as it left them
}

type chain struct {
	*surfnet
	mu       sync.Mutex
	blocks   []block
	waiting  []executed
	pool     []pooled                   // sent by clients, not run yet
	first    map[string]json.RawMessage // accounts as they were before the first transaction that named them
	orphans  map[string]executed
	lag      int
	salt     []byte
	made     uint64
	began    int64 // time of slot 0 in seconds
	mints    map[string]key
	server   *http.Server
	listener net.Listener
}

var _ node.Chain = (*chain)(nil)

// Start runs Surfpool from its native module and mines the first blocks.
func Start(ctx context.Context, module string, cfg node.Config) (*node.Server, error) {
	vm, err := startSurfnet(module)
	if err != nil {
		return nil, err
	}
	c := &chain{surfnet: vm, began: cfg.Now().Unix(), orphans: map[string]executed{}, first: map[string]json.RawMessage{}, lag: rootLag, salt: make([]byte, 8), mints: map[string]key{
		"USDT": mustKey("Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB"), "USDC": mustKey("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"),
		"FAKE": key(sha256.Sum256([]byte("causeway test mint"))),
	}}
	if err := c.prepare(ctx); err != nil {
		return nil, errors.Join(err, vm.Close())
	}
	cfg.Inner = "http://" + c.listener.Addr().String()
	cfg.Ready.Genesis, cfg.Ready.Tokens = c.blocks[0].hash.String(), map[string]string{}
	for name, mint := range c.mints {
		cfg.Ready.Tokens[name] = mint.String()
	}
	return node.Start(ctx, cfg, c)
}

// prepare makes the mints, gives the payer what it will pay with, and opens the port.
func (c *chain) prepare(ctx context.Context) error {
	if _, err := rand.Read(c.salt); err != nil {
		return err
	}
	self := key(c.payer.Public().(ed25519.PublicKey)).String()
	mint := make([]byte, 82) // state::Mint: no authority, a supply, decimals, initialized
	binary.LittleEndian.PutUint64(mint[36:], math.MaxInt64)
	mint[44], mint[45] = decimals, 1
	err := c.call(ctx, nil, "surfnet_setAccount", self, map[string]any{"lamports": 1_000_000_000_000_000})
	for _, at := range c.mints {
		err = errors.Join(err, c.call(ctx, nil, "surfnet_setAccount", at.String(), map[string]any{
			"lamports": 1_461_600, "data": hex.EncodeToString(mint), "owner": tokenProgram.String(), "executable": false,
		}), c.call(ctx, nil, "surfnet_setTokenAccount", self, at.String(), map[string]any{"amount": 1_000_000_000_000}))
	}
	if err != nil {
		return err
	}
	c.add(nil)
	if err := c.Mine(ctx, 2); err != nil {
		return err
	}
	if c.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = c.server.Serve(c.listener) }()
	return nil
}

// add appends a block in the next slot, or in the one after that.
func (c *chain) add(txs []executed) {
	b := block{txs: txs}
	if len(c.blocks) > 0 {
		last := c.head()
		b.slot, b.parentSlot, b.parent = last.slot+1, last.slot, last.hash
		if b.slot%skipEvery == skipEvery-1 {
			b.slot++
		}
		c.made++
	}
	seed := append(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(b.slot)), c.made), b.parent[:]...) //nolint:gosec // not negative
	if b.slot > 0 {
		seed = append(seed, c.salt...)
	}
	b.hash = sha256.Sum256(seed)
	c.blocks = append(c.blocks, b)
}

func (c *chain) head() block { return c.blocks[len(c.blocks)-1] }

func (c *chain) rooted() block { return c.blocks[max(0, len(c.blocks)-1-c.lag)] }

// Head implements node.Chain.
func (c *chain) Head(context.Context) (node.Block, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return node.Block{Height: c.head().slot, Hash: c.head().hash.String()}, nil
}

// Mine implements node.Chain. The first block takes what clients have sent.
func (c *chain) Mine(ctx context.Context, blocks int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.runPool(ctx); err != nil {
		return err
	}
	for range blocks {
		c.add(c.waiting)
		c.waiting = nil
	}
	return nil
}

// Transfer implements node.Chain: the VM runs the transaction at once, and it waits for a block.
func (c *chain) Transfer(ctx context.Context, token string, payments []node.Payment) (string, error) {
	list, err := c.instructions(token, payments)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var latest struct{ Value struct{ Blockhash string } } // it may expire while others have the lock
	if err := c.call(ctx, &latest, "getLatestBlockhash"); err != nil {
		return "", err
	}
	blockhash, ok := keyOf(latest.Value.Blockhash)
	if !ok {
		return "", fmt.Errorf("%q is no block hash", latest.Value.Blockhash)
	}
	signature, raw := transaction(c.payer, blockhash, list)
	done, err := c.run(ctx, pooled{signature, raw}, false)
	if err != nil {
		return "", err
	}
	c.waiting = append(c.waiting, done)
	return signature, nil
}

// instructions pay everybody, and move a number of lamports to the payer itself so that no two transactions are alike.
func (c *chain) instructions(token string, payments []node.Payment) ([]instruction, error) {
	if len(payments) == 0 || len(payments) > 8 {
		return nil, node.Refusal("1..8 payments in one transaction")
	}
	mint, known := c.mints[token]
	if token != "" && !known {
		return nil, node.Refusal("unknown token %q", token)
	}
	self := key(c.payer.Public().(ed25519.PublicKey))
	c.mu.Lock()
	c.made++
	list := []instruction{send(self, self, c.made)}
	c.mu.Unlock()
	for _, p := range payments {
		to, ok := keyOf(p.To)
		amount, err := strconv.ParseUint(p.Amount, 10, 63)
		if !ok || err != nil {
			return nil, node.Refusal("to must be an address and amount base units, got %q, %q", p.To, p.Amount)
		}
		if token == "" {
			list = append(list, send(self, to, amount))
			continue
		}
		from, err := holder(self, mint)
		if err != nil {
			return nil, err
		}
		account, err := holder(to, mint)
		if err != nil {
			return nil, err
		}
		list = append(list, open(self, account, to, mint), move(from, mint, account, self, amount, decimals))
	}
	return list, nil
}

// executed waits for what the VM says of a transaction.
func (c *chain) executed(ctx context.Context, signature string) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		var told map[string]json.RawMessage
		err := c.call(ctx, &told, "getTransaction", signature, map[string]any{"encoding": "json", "commitment": "processed", "maxSupportedTransactionVersion": 0})
		if err == nil && told["meta"] != nil {
			delete(told, "slot")
			delete(told, "blockTime")
			return json.Marshal(told)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("transaction %s was not executed: %w", signature, errors.Join(err, ctx.Err()))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Fork implements node.Chain.
func (c *chain) Fork(_ context.Context, depth int) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if depth >= len(c.blocks) {
		return nil, node.Refusal("the chain has %d blocks", len(c.blocks))
	}
	var orphaned []string
	for _, b := range c.blocks[len(c.blocks)-depth:] {
		for _, t := range b.txs {
			c.orphans[t.signature], orphaned = t, append(orphaned, t.signature)
		}
	}
	c.blocks = c.blocks[:len(c.blocks)-depth]
	return orphaned, nil
}

// Include implements node.Chain.
func (c *chain) Include(ctx context.Context, txHash string, ahead int) error {
	t, known := c.orphans[txHash]
	if !known {
		return node.Refusal("transaction %s was not orphaned", txHash)
	}
	for i := range ahead {
		filler := key(sha256.Sum256([]byte{byte(i)}))
		if _, err := c.Transfer(ctx, "", []node.Payment{{To: filler.String(), Amount: "2000000"}}); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.orphans, txHash)
	c.waiting = append(c.waiting, t)
	return nil
}

// Replace implements node.Chain: the old transaction's block hash runs out before it is in a block again.
func (c *chain) Replace(ctx context.Context, txHash, token string, payments []node.Payment) (string, error) {
	if _, known := c.orphans[txHash]; !known {
		return "", node.Refusal("transaction %s was not orphaned", txHash)
	}
	delete(c.orphans, txHash)
	return c.Transfer(ctx, token, payments)
}

// Finality implements node.Chain.
func (c *chain) Finality(_ context.Context, depth int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if depth < 0 || depth > 1_000_000 {
		return node.Refusal("depth must be 0..1000000")
	}
	c.lag = int(depth)
	return nil
}

// Close implements node.Chain.
func (c *chain) Close() error { return errors.Join(c.server.Close(), c.surfnet.Close()) }

// ServeHTTP answers what is about blocks itself and lets the VM answer the rest.
func (c *chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var request struct {
		ID     json.RawMessage
		Method string
		Params []json.RawMessage
	}
	if err := json.Unmarshal(raw, &request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	result, code, ours := c.answer(request.Method, request.Params)
	if !ours {
		result, code, ours = c.answerTransactions(r.Context(), request.Method, request.Params)
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case !ours:
		told, err := c.forward(r.Context(), raw)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		_, _ = io.Copy(w, bytes.NewReader(told))
	case code != 0:
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": request.ID, "error": map[string]any{"code": code, "message": result}})
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": result})
	}
}

// answer is what a validator says of blocks; code is that of an error.
func (c *chain) answer(method string, params []json.RawMessage) (result any, code int, ours bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var numbers []int64
	var options struct{ Commitment, TransactionDetails string }
	for _, p := range params {
		var n int64
		if json.Unmarshal(p, &n) == nil {
			numbers = append(numbers, n)
		} else {
			_ = json.Unmarshal(p, &options)
		}
	}
	tip := c.head()
	if options.Commitment == "" || options.Commitment == "finalized" {
		tip = c.rooted()
	}
	switch method {
	case "getGenesisHash":
		return c.blocks[0].hash.String(), 0, true
	case "getSlot":
		return tip.slot, 0, true
	case "getFirstAvailableBlock":
		return c.blocks[0].slot, 0, true
	case "getBlocks":
		list := []int64{}
		for _, b := range c.blocks {
			if len(numbers) == 2 && b.slot >= numbers[0] && b.slot <= min(numbers[1], tip.slot) {
				list = append(list, b.slot)
			}
		}
		return list, 0, true
	case "getBlock":
		if len(numbers) != 1 {
			return "Invalid params", -32602, true
		}
		return c.slot(numbers[0], tip.slot, options.TransactionDetails != "none")
	}
	return nil, 0, false
}

func (c *chain) slot(at, tip int64, full bool) (any, int, bool) {
	if at > tip {
		return fmt.Sprintf("Block not available for slot %d", at), -32004, true
	}
	for i, b := range c.blocks {
		if b.slot != at {
			continue
		}
		out := map[string]any{
			"blockhash": b.hash.String(), "previousBlockhash": b.parent.String(), "parentSlot": b.parentSlot, "blockHeight": i, "blockTime": c.began + b.slot,
		}
		if full {
			list := []json.RawMessage{}
			for _, t := range b.txs {
				list = append(list, t.json)
			}
			out["transactions"] = list
		}
		return out, 0, true
	}
	return fmt.Sprintf("Slot %d was skipped, or missing due to ledger jump to recent snapshot", at), -32007, true
}
