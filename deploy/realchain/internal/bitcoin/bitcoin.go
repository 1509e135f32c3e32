// Package bitcoin is a real bitcoin node for tests: btcd on regtest, in a process of its own, behind the usual two
// ports. The package builds blocks and passes them to the node, which checks them by the rules of the network: a test
// decides the content and the order of blocks, and the node decides whether they are a chain.
//
// All money is locked by the script OP_TRUE inside P2WSH, so that no key is needed and real witnesses are on the chain.
package bitcoin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/btcsuite/btcd/address/v2"
	"github.com/btcsuite/btcd/chaincfg/v2"
	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"causeway.internal/deploy/realchain/internal/node"
)

const (
	maturity  = 100
	funding   = 12  // first blocks whose rewards are spent by transfers
	coinsEach = 100 // outputs of each of their rewards
	coin      = 5e7 // satoshi of each
	fee       = 500 // of a transfer, in satoshi
	// replaceable marks inputs of a transaction that another with a higher fee may replace (BIP-125).
	replaceable = wire.MaxTxInSequenceNum - 2
)

// open is the witness script OP_TRUE, and lock the output script that wants it.
var (
	open = []byte{0x51}
	lock = func() []byte {
		sum := sha256.Sum256(open)
		return append([]byte{0, 32}, sum[:]...)
	}()
)

// chain is the node and what waits for its next block.
type chain struct {
	*btcd
	coins   []wire.OutPoint
	waiting []*wire.MsgTx
	orphans map[chainhash.Hash]*wire.MsgTx
	made    uint32 // blocks ever made: no two are alike
}

var _ node.Chain = (*chain)(nil)

// Start runs btcd and mines until money can be spent.
func Start(ctx context.Context, binary Binary, cfg node.Config) (*node.Server, error) {
	n, err := startBtcd(ctx, binary)
	if err != nil {
		return nil, err
	}
	c := &chain{btcd: n, orphans: map[chainhash.Hash]*wire.MsgTx{}}
	if err := c.Mine(ctx, funding+maturity); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	cfg.Inner, cfg.User = "http://"+n.addr, user+":"+n.password
	cfg.Ready.Genesis = chaincfg.RegressionNetParams.GenesisHash.String()
	return node.Start(ctx, cfg, c)
}

// Head implements node.Chain.
func (c *chain) Head(ctx context.Context) (node.Block, error) {
	var height int64
	if err := c.call(ctx, &height, "getblockcount"); err != nil {
		return node.Block{}, err
	}
	hash, err := c.hash(ctx, height)
	return node.Block{Height: height, Hash: hash}, err
}

func (c *chain) hash(ctx context.Context, height int64) (hash string, err error) {
	err = c.call(ctx, &hash, "getblockhash", height)
	return hash, err
}

func (c *chain) block(ctx context.Context, height int64) (*wire.MsgBlock, error) {
	hash, err := c.hash(ctx, height)
	if err != nil {
		return nil, err
	}
	var text string
	if err := c.call(ctx, &text, "getblock", hash, 0); err != nil {
		return nil, err
	}
	raw, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("reading block %d: %w", height, err)
	}
	b := &wire.MsgBlock{}
	return b, b.Deserialize(bytes.NewReader(raw))
}

// Mine implements node.Chain.
func (c *chain) Mine(ctx context.Context, blocks int) error {
	head, err := c.Head(ctx)
	if err != nil {
		return err
	}
	tip, err := c.block(ctx, head.Height)
	if err != nil {
		return err
	}
	if c.waiting, err = c.withPool(ctx); err != nil {
		return err
	}
	for i := range blocks {
		height := head.Height + 1 + int64(i)
		b := c.assemble(tip, height)
		var raw bytes.Buffer
		if err := b.Serialize(&raw); err != nil {
			return err
		}
		if err := c.submit(ctx, hex.EncodeToString(raw.Bytes())); err != nil {
			return fmt.Errorf("block %d: %w", height, err)
		}
		if height <= funding {
			id := b.Transactions[0].TxHash()
			for vout := range uint32(coinsEach) {
				c.coins = append(c.coins, wire.OutPoint{Hash: id, Index: vout})
			}
		}
		c.waiting, tip = nil, b
	}
	return nil
}

// withPool lists the transactions that wait here and, behind them, those that others gave to the node's mempool. Of two
// transactions that spend the same output, the one that waits here comes first. An orphaned one stays out until it is
// included.
func (c *chain) withPool(ctx context.Context) ([]*wire.MsgTx, error) {
	var ids []string
	if err := c.call(ctx, &ids, "getrawmempool"); err != nil {
		return nil, err
	}
	all, spent := slices.Clone(c.waiting), map[wire.OutPoint]bool{}
	for _, tx := range all {
		for _, in := range tx.TxIn {
			spent[in.PreviousOutPoint] = true
		}
	}
	for _, id := range ids {
		var text string
		if err := c.call(ctx, &text, "getrawtransaction", id, 0); err != nil {
			return nil, err
		}
		tx, err := parse(text)
		if err != nil {
			return nil, err
		}
		taken := func(in *wire.TxIn) bool { return spent[in.PreviousOutPoint] }
		if c.orphans[tx.TxHash()] == nil && !slices.ContainsFunc(tx.TxIn, taken) {
			all = append(all, tx)
		}
	}
	return all, nil
}

func parse(text string) (*wire.MsgTx, error) {
	raw, err := hex.DecodeString(text)
	if err != nil {
		return nil, node.Refusal("the bytes are not in hex: %v", err)
	}
	tx := &wire.MsgTx{}
	if err := tx.Deserialize(bytes.NewReader(raw)); err != nil {
		return nil, node.Refusal("the bytes are no transaction: %v", err)
	}
	return tx, nil
}

// Take implements node.Taker: the next block holds the transaction, whatever the mempool says.
func (c *chain) Take(_ context.Context, raw string) (string, error) {
	tx, err := parse(raw)
	if err != nil {
		return "", err
	}
	c.waiting = append(c.waiting, tx)
	return tx.TxHash().String(), nil
}

func (c *chain) submit(ctx context.Context, block string) error {
	var problem any
	err := c.call(ctx, &problem, "submitblock", block)
	if err == nil && problem != nil {
		err = fmt.Errorf("the node refuses a block: %v", problem)
	}
	return err
}

// raw are the blocks of the chain after the first, as they are submitted.
func (c *chain) raw(ctx context.Context) ([]string, error) {
	head, err := c.Head(ctx)
	if err != nil {
		return nil, err
	}
	blocks := make([]string, head.Height)
	for i := range blocks {
		hash, err := c.hash(ctx, int64(i)+1)
		if err == nil {
			err = c.call(ctx, &blocks[i], "getblock", hash, 0)
		}
		if err != nil {
			return nil, err
		}
	}
	return blocks, nil
}

// assemble makes the block that follows tip, with everything that waits, and does its work.
func (c *chain) assemble(tip *wire.MsgBlock, height int64) *wire.MsgBlock {
	c.made++
	reward := wire.NewMsgTx(2)
	mark := append(pushHeight(height), 4)
	mark = binary.LittleEndian.AppendUint32(mark, c.made)
	reward.AddTxIn(&wire.TxIn{PreviousOutPoint: wire.OutPoint{Index: wire.MaxPrevOutIndex}, SignatureScript: mark, Sequence: wire.MaxTxInSequenceNum})
	outputs, value := 1, int64(1e4) // far below what the network allows after many halvings
	if height <= funding {
		outputs, value = coinsEach, coin
	}
	for range outputs {
		reward.AddTxOut(wire.NewTxOut(value, lock))
	}
	b := wire.NewMsgBlock(&wire.BlockHeader{
		Version: 0x20000000, PrevBlock: tip.BlockHash(), Timestamp: later(tip.Header.Timestamp), Bits: chaincfg.RegressionNetParams.PowLimitBits,
	})
	b.Transactions = append([]*wire.MsgTx{reward}, c.waiting...)
	commit(b)
	ids := make([]chainhash.Hash, len(b.Transactions))
	for i, tx := range b.Transactions {
		ids[i] = tx.TxHash()
	}
	b.Header.MerkleRoot = merkle(ids)
	for hash := b.BlockHash(); hash[31]&0x80 != 0; hash = b.BlockHash() { // the network wants one bit of work
		b.Header.Nonce++
	}
	return b
}

// later is a time after the parent's and not far from now.
func later(parent time.Time) time.Time {
	next, least := parent.Add(time.Second), time.Now().Add(-time.Hour).Truncate(time.Second)
	if next.Before(least) {
		return least
	}
	return next
}

// pushHeight is how a block's first transaction begins (BIP-34).
func pushHeight(height int64) []byte {
	if height <= 16 {
		return []byte{byte(0x50 + height)}
	}
	var number []byte
	for n := height; n > 0; n >>= 8 {
		number = append(number, byte(n))
	}
	if number[len(number)-1]&0x80 != 0 {
		number = append(number, 0)
	}
	return append([]byte{byte(len(number))}, number...)
}

// commit binds the witnesses to the block (BIP-141).
func commit(b *wire.MsgBlock) {
	reward := b.Transactions[0]
	reward.TxIn[0].Witness = wire.TxWitness{make([]byte, 32)}
	ids := make([]chainhash.Hash, len(b.Transactions))
	for i, tx := range b.Transactions[1:] {
		ids[i+1] = tx.WitnessHash()
	}
	root := merkle(ids)
	sum := chainhash.DoubleHashB(append(root[:], make([]byte, 32)...))
	reward.AddTxOut(wire.NewTxOut(0, append([]byte{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed}, sum...)))
}

func merkle(ids []chainhash.Hash) chainhash.Hash {
	level := slices.Clone(ids)
	for len(level) > 1 {
		if len(level)%2 == 1 {
			level = append(level, level[len(level)-1])
		}
		for i := range len(level) / 2 {
			level[i] = chainhash.DoubleHashH(append(bytes.Clone(level[2*i][:]), level[2*i+1][:]...))
		}
		level = level[:len(level)/2]
	}
	return level[0]
}

// Transfer implements node.Chain.
func (c *chain) Transfer(ctx context.Context, token string, payments []node.Payment) (string, error) {
	tx, need, err := pay(token, payments)
	if err != nil {
		return "", err
	}
	have := int64(0)
	for ; have < need; have += coin {
		if len(c.coins) == 0 {
			return "", node.Refusal("this node's money is spent")
		}
		in := wire.NewTxIn(&c.coins[0], nil, wire.TxWitness{open})
		in.Sequence = replaceable
		tx.AddTxIn(in)
		c.coins = c.coins[1:]
	}
	if rest := have - need - fee; rest > 0 { // else the miner's; without it the node's estimates would be absurd
		tx.AddTxOut(wire.NewTxOut(rest, lock))
	}
	return c.enter(ctx, tx), nil
}

// pay makes a transaction that has no inputs yet.
func pay(token string, payments []node.Payment) (*wire.MsgTx, int64, error) {
	if token != "" {
		return nil, 0, node.Refusal("bitcoin has no tokens")
	}
	if len(payments) == 0 || len(payments) > 100 {
		return nil, 0, node.Refusal("1..100 payments in one transaction")
	}
	tx, sum := wire.NewMsgTx(2), int64(1)
	for _, p := range payments {
		script, err := scriptOf(p.To)
		if err != nil {
			return nil, 0, err
		}
		amount, err := strconv.ParseInt(p.Amount, 10, 64)
		if err != nil || amount < 0 || amount > 100*coin {
			return nil, 0, node.Refusal("amount must be satoshi, got %q", p.Amount)
		}
		tx.AddTxOut(wire.NewTxOut(amount, script))
		sum += amount
	}
	return tx, sum, nil
}

func scriptOf(to string) ([]byte, error) {
	decoded, err := address.DecodeAddress(to, &chaincfg.RegressionNetParams)
	if err != nil {
		return nil, node.Refusal("to: %v", err)
	}
	program := decoded.ScriptAddress()
	switch decoded.(type) {
	case *address.AddressWitnessPubKeyHash, *address.AddressWitnessScriptHash:
		return append([]byte{0, byte(len(program))}, program...), nil
	case *address.AddressTaproot:
		return append([]byte{0x51, byte(len(program))}, program...), nil
	}
	return nil, node.Refusal("to must be a segwit address")
}

// enter lets a transaction wait for the next block, and in the node's mempool if that takes it: blocks are made of what
// waits here.
func (c *chain) enter(ctx context.Context, tx *wire.MsgTx) string {
	c.waiting = append(c.waiting, tx)
	c.announce(ctx, tx)
	return tx.TxHash().String()
}

// announce gives a transaction to the node's mempool, which has rules of its own.
func (c *chain) announce(ctx context.Context, tx *wire.MsgTx) {
	var raw bytes.Buffer
	if tx.Serialize(&raw) == nil {
		if err := c.call(ctx, nil, "sendrawtransaction", hex.EncodeToString(raw.Bytes()), true); err != nil {
			fmt.Fprintln(os.Stderr, "realchain: btcd's mempool refuses a transaction:", err)
		}
	}
}

// Drop implements node.Dropper: the transactions, or all without a list, wait no longer and can be included again.
func (c *chain) Drop(ctx context.Context, txHashes []string) error {
	var stays []*wire.MsgTx
	for _, tx := range c.waiting {
		if len(txHashes) > 0 && !slices.Contains(txHashes, tx.TxHash().String()) {
			stays = append(stays, tx)
			continue
		}
		c.orphans[tx.TxHash()] = tx
	}
	blocks, err := c.raw(ctx)
	if err != nil {
		return err
	}
	if err := c.restart(ctx); err != nil { // on regtest it begins with nothing
		return err
	}
	for _, b := range blocks {
		if err := c.submit(ctx, b); err != nil {
			return err
		}
	}
	c.waiting = stays
	for _, tx := range stays {
		c.announce(ctx, tx)
	}
	return nil
}

// Fork implements node.Chain.
func (c *chain) Fork(ctx context.Context, depth int) ([]string, error) {
	head, err := c.Head(ctx)
	if err != nil {
		return nil, err
	}
	if int64(depth) > head.Height-funding-maturity {
		return nil, node.Refusal("depth reaches below block %d, whose money is being spent", funding+maturity)
	}
	var orphaned []string
	for height := head.Height - int64(depth) + 1; height <= head.Height; height++ {
		b, err := c.block(ctx, height)
		if err != nil {
			return nil, err
		}
		for _, tx := range b.Transactions[1:] {
			c.orphans[tx.TxHash()] = tx
			orphaned = append(orphaned, tx.TxHash().String())
		}
	}
	first, err := c.hash(ctx, head.Height-int64(depth)+1)
	if err != nil {
		return nil, err
	}
	return orphaned, c.call(ctx, nil, "invalidateblock", first)
}

func (c *chain) orphan(text string) (*wire.MsgTx, error) {
	id, err := chainhash.NewHashFromStr(text)
	if err == nil && c.orphans[*id] != nil {
		return c.orphans[*id], nil
	}
	return nil, node.Refusal("transaction %s was not orphaned", text)
}

// standing finds a transaction that is in no block.
func (c *chain) standing(text string) (*wire.MsgTx, error) {
	for _, tx := range c.waiting {
		if tx.TxHash().String() == text {
			return tx, nil
		}
	}
	return c.orphan(text)
}

// Include implements node.Chain.
func (c *chain) Include(ctx context.Context, txHash string, ahead int) error {
	tx, err := c.orphan(txHash)
	if err != nil {
		return err
	}
	for range ahead {
		filler := []node.Payment{{To: "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080", Amount: "1000"}}
		if _, err := c.Transfer(ctx, "", filler); err != nil {
			return err
		}
	}
	delete(c.orphans, tx.TxHash())
	c.enter(ctx, tx)
	return nil
}

// Replace implements node.Chain: the new transaction spends what the old one did.
func (c *chain) Replace(ctx context.Context, txHash, token string, payments []node.Payment) (string, error) {
	old, err := c.standing(txHash)
	if err != nil {
		return "", err
	}
	tx, need, err := pay(token, payments)
	if err != nil {
		return "", err
	}
	if have := int64(len(old.TxIn)) * coin; need > have {
		return "", node.Refusal("the replacement may move %d", have)
	}
	tx.TxIn = old.TxIn
	c.waiting = slices.DeleteFunc(c.waiting, func(tx *wire.MsgTx) bool { return tx == old })
	return c.enter(ctx, tx), nil
}

// Finality implements node.Chain. Bitcoin knows no final blocks.
func (c *chain) Finality(context.Context, int64) error {
	return node.Refusal("bitcoin has no final blocks")
}
