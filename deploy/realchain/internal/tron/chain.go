// Package tron imitates a TRON node for tests, because no node's software is available: a chain in memory that answers
// the documented HTTP API, takes signed transactions only, checks their raw_data to the last byte, and can fork. It
// proves the authors' reading of that API and no more.
package tron

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"sync"
	"time"

	"github.com/btcsuite/btcd/address/v2/base58"
	"github.com/ethereum/go-ethereum/crypto"

	"causeway.internal/deploy/realchain/internal/node"
)

const (
	blockEvery = 3_000 // milliseconds
	genesisAt  = 1_700_000_000_000
	solidLag   = 18 // blocks by which the solid block trails the head: 19 of 27 have built on it
	expiresIn  = 10 * 60 * 1000
	expiresMax = 24 * 60 * 60 * 1000
	feeLimit   = 100_000_000
)

// tx is a transaction with what it does.
type tx struct {
	id        string
	raw       []byte
	data      rawData
	signature []byte
	logs      []movement
	internal  []movement
	failed    bool
	bad       bool // no contract understands the call

	outcome string // of a call: SUCCESS, REVERT, OUT_OF_ENERGY
	fee     int64  // sun that were burnt
	energy  int64  // that a call used
	wide    int64  // bytes of free bandwidth
}

// movement is one transfer inside a transaction: a log of a token, or coin that a contract sends.
type movement struct {
	contract, from, to []byte // 21 bytes each; contract is nil for coin
	amount             *big.Int
}

// block is one block. Its id begins with its number, as java-tron's does.
type block struct {
	number int64
	id     []byte
	parent []byte
	time   int64
	txs    []*tx
}

// chain is the node's state.
type chain struct {
	mu      sync.Mutex
	blocks  []block
	waiting []*tx
	orphans map[string]*tx
	known   map[string]bool // ids of waiting and mined transactions
	lag     int64
	salt    []byte
	made    uint64
	began   int64 // time of block 0 if it were of today: that block is the same in every process
	payer   *ecdsa.PrivateKey
	tokens  map[string][]byte
	inner   *inner

	state  *state
	prices prices
	clock  func() time.Time // of blocks, once they are mined by time; nil: each is 3 s after the one before
	now    func() time.Time
	held   bool   // waiting transactions enter no block
	stop   func() // mining by itself
}

var _ node.Chain = (*chain)(nil)

// tokenAddress names a contract of this chain.
func tokenAddress(name string) []byte {
	sum := sha256.Sum256([]byte("causeway test token " + name))
	return append([]byte{0x41}, sum[:20]...)
}

// Start opens the node.
func Start(ctx context.Context, cfg node.Config) (*node.Server, error) {
	seed := sha256.Sum256([]byte("causeway test tron payer"))
	payer, err := crypto.ToECDSA(seed[:])
	if err != nil {
		return nil, fmt.Errorf("deriving the payer: %w", err)
	}
	c := &chain{
		orphans: map[string]*tx{}, known: map[string]bool{}, lag: solidLag, salt: make([]byte, 8), payer: payer, began: cfg.Now().UnixMilli() - 3*blockEvery,
		tokens: map[string][]byte{"USDT": tokenAddress("USDT"), "FAKE": tokenAddress("FAKE")}, prices: firstPrices, now: cfg.Now,
	}
	if _, err := rand.Read(c.salt); err != nil {
		return nil, err
	}
	c.add(nil)
	if err := c.Mine(ctx, 2); err != nil {
		return nil, err
	}
	if c.inner, err = c.serve(); err != nil {
		return nil, err
	}
	cfg.Inner = c.inner.url
	cfg.Ready.Genesis = hex.EncodeToString(c.blocks[0].id)
	cfg.Ready.Tokens = map[string]string{}
	for name, at := range c.tokens {
		cfg.Ready.Tokens[name] = write(at)
	}
	return node.Start(ctx, cfg, c)
}

// write is an address as people read it.
func write(a []byte) string { return base58.CheckEncode(a[1:], a[0]) }

func read(text string) ([]byte, error) {
	body, version, err := base58.CheckDecode(text)
	if err != nil || version != 0x41 || len(body) != 20 {
		return nil, node.Refusal("%q is no tron address", text)
	}
	return append([]byte{version}, body...), nil
}

// add appends the next block. The first is the same on every chain of this program.
func (c *chain) add(txs []*tx) {
	b := block{number: int64(len(c.blocks)), time: c.began + int64(len(c.blocks))*blockEvery, parent: make([]byte, 32)}
	switch {
	case b.number == 0:
		b.time = genesisAt
		c.state = newState(c.owner(), c.prices)
	case c.clock != nil:
		b.time = max(c.head().time+1, c.clock().UnixMilli())
	case b.number > 1:
		b.time = max(b.time, c.head().time+1)
	}
	for _, t := range txs {
		if c.valid(t.data) == nil && c.state.execute(t) == nil {
			b.txs = append(b.txs, t)
			continue
		}
		delete(c.known, t.id) // it expired, or its owner cannot pay for it any more
	}
	header := varint(nil, 1, uint64(b.time)) //nolint:gosec // not negative
	if b.number > 0 {
		c.made++
		b.parent = c.blocks[b.number-1].id
		header = field(header, 9, binary.BigEndian.AppendUint64(bytes.Clone(c.salt), c.made))
	}
	header = varint(field(header, 3, b.parent), 7, uint64(b.number)) //nolint:gosec // not negative
	for _, t := range b.txs {
		header = field(header, 2, []byte(t.id))
	}
	sum := sha256.Sum256(header)
	b.id = append(binary.BigEndian.AppendUint64(nil, uint64(b.number)), sum[8:]...) //nolint:gosec // not negative
	c.blocks = append(c.blocks, b)
}

func (c *chain) head() block { return c.blocks[len(c.blocks)-1] }

func (c *chain) solid() block { return c.blocks[max(0, c.head().number-c.lag)] }

// Head implements node.Chain.
func (c *chain) Head(context.Context) (node.Block, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return node.Block{Height: c.head().number, Hash: hex.EncodeToString(c.head().id)}, nil
}

// Mine implements node.Chain.
func (c *chain) Mine(_ context.Context, blocks int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range blocks {
		c.mine()
	}
	return nil
}

func (c *chain) mine() {
	if c.held {
		c.add(nil)
		return
	}
	list := c.waiting
	c.waiting = nil
	c.add(list)
}

// Transfer implements node.Chain: it signs a transaction and broadcasts it as anybody would.
func (c *chain) Transfer(_ context.Context, token string, payments []node.Payment) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.transfer(token, payments)
}

func (c *chain) transfer(token string, payments []node.Payment) (string, error) {
	c.made++
	ref := c.solid() // as wallets of payers do: the transaction stays valid on every fork
	r := rawData{
		RefBytes: ref.id[6:8], RefHash: ref.id[8:16], Owner: c.owner(),
		Expiration: uint64(c.head().time + expiresIn), Timestamp: uint64(c.head().time) + c.made, //nolint:gosec // not negative
	}
	if err := r.pays(c.tokens, token, payments); err != nil {
		return "", err
	}
	raw := r.encode()
	sum := sha256.Sum256(raw)
	signature, err := crypto.Sign(sum[:], c.payer)
	if err != nil {
		return "", fmt.Errorf("signing: %w", err)
	}
	return c.broadcast(raw, signature)
}

// owner is the payer's address.
func (c *chain) owner() []byte {
	return append([]byte{0x41}, crypto.PubkeyToAddress(c.payer.PublicKey).Bytes()...)
}

// The calls that contracts of this chain understand: a token's transfer, and several transfers at once.
const (
	transferSelector = "a9059cbb" // transfer(address,uint256)
	batchSelector    = "88d695b2" // batchTransfer(address[],uint256[])
)

// pays fills in what the transaction does.
func (r *rawData) pays(tokens map[string][]byte, token string, payments []node.Payment) error {
	if len(payments) == 0 || len(payments) > 100 {
		return node.Refusal("1..100 payments in one transaction")
	}
	contract, known := tokens[token]
	if token != "" && !known {
		return node.Refusal("unknown token %q", token)
	}
	var all []movement
	sum := new(big.Int)
	for _, p := range payments {
		to, err := read(p.To)
		if err != nil {
			return err
		}
		amount, ok := new(big.Int).SetString(p.Amount, 10)
		if !ok || amount.Sign() < 0 || amount.BitLen() > 62 {
			return node.Refusal("amount must be base units, got %q", p.Amount)
		}
		all, sum = append(all, movement{to: to, amount: amount}), sum.Add(sum, amount)
	}
	if token == "" && len(all) == 1 {
		r.Type, r.To, r.Amount = transferContract, all[0].to, sum.Uint64()
		return nil
	}
	r.Type, r.FeeLimit, r.To = triggerContract, feeLimit, contract
	if token == "" { // coin to several goes through a contract, which sends it on
		r.To, r.Amount = tokens["USDT"], sum.Uint64()
	}
	if len(all) == 1 {
		r.Data = append(unhex(transferSelector), append(word(all[0].to[1:]), word(all[0].amount.Bytes())...)...)
		return nil
	}
	n := int64(len(all))
	r.Data = append(unhex(batchSelector), append(word(big.NewInt(64).Bytes()), word(big.NewInt(96+32*n).Bytes())...)...)
	r.Data = append(r.Data, word(big.NewInt(n).Bytes())...)
	for _, m := range all {
		r.Data = append(r.Data, word(m.to[1:])...)
	}
	r.Data = append(r.Data, word(big.NewInt(n).Bytes())...)
	for _, m := range all {
		r.Data = append(r.Data, word(m.amount.Bytes())...)
	}
	return nil
}

func unhex(text string) []byte {
	b, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return b
}

func word(b []byte) []byte { return append(make([]byte, 32-len(b)), b...) }

// broadcast takes a signed transaction in, as /wallet/broadcasthex does.
func (c *chain) broadcast(raw, signature []byte) (string, error) {
	r, err := decode(raw)
	if err != nil {
		return "", err
	}
	who, err := signer(raw, signature)
	if err != nil {
		return "", err
	}
	if !bytes.Equal(who, r.Owner) {
		return "", fmt.Errorf("signed by %s, owned by %s", write(who), write(r.Owner))
	}
	if err := c.valid(r); err != nil {
		return "", err
	}
	if r.Type == transferContract && c.contract(r.To) {
		return "", errors.New("Contract validate error : Cannot transfer TRX to a smartContract.") //nolint:revive,staticcheck // as nodes write it
	}
	sum := sha256.Sum256(raw)
	t := &tx{id: hex.EncodeToString(sum[:]), raw: raw, data: r, signature: signature}
	if c.known[t.id] {
		return "", errDuplicate
	}
	t.run(c.tokens)
	if err := c.state.may(t); err != nil {
		return "", err
	}
	c.enter(t)
	return t.id, nil
}

func (c *chain) enter(t *tx) {
	c.known[t.id] = true
	c.waiting = append(c.waiting, t)
}

// The refusals of a node by their codes.
var (
	errExpired   = errors.New("TRANSACTION_EXPIRATION_ERROR")
	errTapos     = errors.New("TAPOS_ERROR")
	errDuplicate = errors.New("DUP_TRANSACTION_ERROR")
	errBandwidth = errors.New("BANDWITH_ERROR")
)

// valid checks that the next block may hold the transaction: it builds on this chain, and has not expired.
func (c *chain) valid(r rawData) error {
	if now := uint64(c.head().time); r.Expiration <= now || r.Expiration > now+expiresMax { //nolint:gosec // not negative
		return errExpired
	}
	if !c.refers(r) {
		return errTapos
	}
	return nil
}

// refers reports whether the reference block is on the chain.
func (c *chain) refers(r rawData) bool {
	for i := len(c.blocks) - 1; i >= 0; i-- {
		if id := c.blocks[i].id; bytes.Equal(id[6:8], r.RefBytes) {
			return bytes.Equal(id[8:16], r.RefHash)
		}
	}
	return false
}

// run carries a contract call out.
func (t *tx) run(tokens map[string][]byte) {
	if t.data.Type != triggerContract {
		return
	}
	var to [][]byte
	var amounts []*big.Int
	d := t.data.Data
	known := false
	for _, at := range tokens {
		known = known || bytes.Equal(at, t.data.To)
	}
	switch {
	case !known || len(d) < 4:
	case hex.EncodeToString(d[:4]) == transferSelector && len(d) == 68:
		to, amounts = [][]byte{d[16:36]}, []*big.Int{new(big.Int).SetBytes(d[36:68])}
	case hex.EncodeToString(d[:4]) == batchSelector && len(d) >= 4+128:
		n := int(new(big.Int).SetBytes(d[68:100]).Int64())
		for i := range n {
			to = append(to, d[100+32*i+12:100+32*i+32])
			amounts = append(amounts, new(big.Int).SetBytes(d[132+32*(n+i):164+32*(n+i)]))
		}
	}
	t.bad = len(to) == 0
	t.failed = t.bad
	for i := range to {
		m := movement{contract: t.data.To, from: t.data.Owner, to: append([]byte{0x41}, to[i]...), amount: amounts[i]}
		if t.data.Amount > 0 {
			m.contract, m.from = nil, t.data.To
			t.internal = append(t.internal, m)
			continue
		}
		t.logs = append(t.logs, m)
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
			delete(c.known, t.id)
			c.orphans[t.id], orphaned = t, append(orphaned, t.id)
		}
	}
	c.blocks = c.blocks[:len(c.blocks)-depth]
	c.state = newState(c.owner(), c.prices).after(c.state)
	for _, b := range c.blocks {
		for _, t := range b.txs {
			if err := c.state.execute(t); err != nil {
				return nil, fmt.Errorf("block %d cannot be carried out again: %w", b.number, err)
			}
		}
	}
	return orphaned, nil
}

// Include implements node.Chain.
func (c *chain) Include(_ context.Context, txHash string, ahead int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.orphans[txHash]
	if t == nil {
		return node.Refusal("transaction %s was not orphaned", txHash)
	}
	for range ahead {
		if _, err := c.transfer("USDT", []node.Payment{{To: write(tokenAddress("filler")), Amount: "1"}}); err != nil {
			return err
		}
	}
	delete(c.orphans, txHash)
	c.enter(t)
	return nil
}

// Replace implements node.Chain: the old transaction expires unmined.
func (c *chain) Replace(_ context.Context, txHash, token string, payments []node.Payment) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.orphans[txHash] == nil {
		return "", node.Refusal("transaction %s was not orphaned", txHash)
	}
	delete(c.orphans, txHash)
	return c.transfer(token, payments)
}

// Finality implements node.Chain.
func (c *chain) Finality(_ context.Context, depth int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if depth < 0 || depth > 1_000_000 {
		return node.Refusal("depth must be 0..1000000")
	}
	c.lag = depth
	return nil
}

// Close implements node.Chain.
func (c *chain) Close() error {
	c.mu.Lock()
	c.minesBy(0)
	c.mu.Unlock()
	return c.inner.close()
}

// number reads id_or_num.
func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
