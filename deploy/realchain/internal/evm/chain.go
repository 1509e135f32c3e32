// Package evm is a real EVM node for tests: go-ethereum's simulated backend with three tokens deployed, a front door
// for JSON-RPC that can be broken on purpose, and the operations that produce every reorganisation a scanner must
// survive.
//
// Nothing here is a model of a chain: blocks, logs, receipts, the transaction pool and forks are go-ethereum's own.
// Block times are whole seconds and grow by at least one second a block, so fast mining runs ahead of the wall clock.
package evm

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	ethnode "github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"causeway.internal/deploy/realchain/internal/node"
)

const (
	accountCount = 32   // senders, so that dropping one transaction never blocks another by its nonce
	maxBlocks    = 1000 // bound of one mine or fork request
	sendPatience = 5 * time.Second
	sendPause    = 5 * time.Millisecond
	transferTip  = params.GWei // per gas; fillers pay more and therefore come first in a block
	transferGas  = 120_000
)

// chain is the node and everything that changes it. Its methods are safe for concurrent use and run one at a time.
type chain struct {
	mu       sync.Mutex
	backend  *backend
	raw      *rpc.Client
	innerURL string
	chainID  *big.Int
	signer   types.Signer
	accounts []account
	next     int // account that sends next
	tokens   map[string]common.Address
	orphans  map[common.Hash]*types.Transaction // transactions of abandoned blocks and dropped ones, for include and replace
}

type account struct {
	key     *ecdsa.PrivateKey
	address common.Address
}

// testAccounts derives the funded accounts. The keys are public knowledge on purpose: they hold nothing outside tests.
func testAccounts() ([]account, error) {
	accounts := make([]account, accountCount)
	for i := range accounts {
		seed := sha256.Sum256([]byte("causeway test chain account " + strconv.Itoa(i)))
		key, err := crypto.ToECDSA(seed[:])
		if err != nil {
			return nil, fmt.Errorf("deriving account %d: %w", i, err)
		}
		accounts[i] = account{key: key, address: crypto.PubkeyToAddress(key.PublicKey)}
	}
	return accounts, nil
}

// newChain starts the node on a free loopback port and deploys the tokens, which have these decimals, in block 1.
func newChain(ctx context.Context, chainID, decimals int64) (*chain, error) {
	accounts, err := testAccounts()
	if err != nil {
		return nil, err
	}
	alloc := types.GenesisAlloc{}
	for _, a := range accounts {
		alloc[a.address] = types.Account{Balance: new(big.Int).Mul(big.NewInt(1_000_000), big.NewInt(params.Ether))}
	}
	backend, port, err := startBackend(alloc, chainID)
	if err != nil {
		return nil, err
	}
	url := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	raw, err := rpc.DialContext(ctx, url)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connecting to the node: %w", err), backend.Close())
	}
	c := &chain{
		backend: backend, raw: raw, innerURL: url, chainID: big.NewInt(chainID), signer: types.LatestSignerForChainID(big.NewInt(chainID)),
		accounts: accounts, tokens: map[string]common.Address{}, orphans: map[common.Hash]*types.Transaction{},
	}
	if err := c.deployTokens(ctx, decimals); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *chain) close() error {
	c.raw.Close()
	return c.backend.Close()
}

// startBackend finds a free port for the node's own HTTP server. The port is closed between the search and the start,
// so a lost race is tried again.
func startBackend(alloc types.GenesisAlloc, chainID int64) (node *backend, port int, err error) {
	for range 5 {
		if port, err = freePort(); err != nil {
			return nil, 0, err
		}
		if node, err = tryBackend(alloc, chainID, port); err == nil {
			return node, port, nil
		}
	}
	return nil, 0, err
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}

func tryBackend(alloc types.GenesisAlloc, chainID int64, port int) (*backend, error) {
	return newBackend(alloc, func(nodeConf *ethnode.Config, ethConf *ethconfig.Config) {
		nodeConf.HTTPHost = "127.0.0.1"
		nodeConf.HTTPPort = port
		nodeConf.HTTPModules = []string{"eth", "net", "web3", "debug", "txpool"}
		config := *ethConf.Genesis.Config
		config.ChainID = big.NewInt(chainID)
		ethConf.Genesis.Config = &config
		ethConf.TxPool.AccountSlots, ethConf.TxPool.GlobalSlots = 100_000, 100_000
		ethConf.TxPool.AccountQueue, ethConf.TxPool.GlobalQueue = 100_000, 100_000
	})
}

// block names one block.
type block struct {
	Height int64  `json:"height"`
	Hash   string `json:"hash"`
	Time   int64  `json:"time"` // unix seconds
}

// head is the latest block of the canonical chain.
func (c *chain) head(ctx context.Context) (block, error) {
	header, err := c.backend.Client().HeaderByNumber(ctx, nil)
	if err != nil {
		return block{}, fmt.Errorf("reading the head: %w", err)
	}
	return block{Height: header.Number.Int64(), Hash: header.Hash().Hex(), Time: int64(header.Time)}, nil //nolint:gosec // unix seconds
}

// mine seals blocks; the first takes everything that waits in the pool.
func (c *chain) mine(ctx context.Context, blocks int) (block, error) {
	if blocks < 1 || blocks > maxBlocks {
		return block{}, node.Refusal("blocks must be 1..%d", maxBlocks)
	}
	for range blocks {
		before, err := c.head(ctx)
		if err != nil {
			return block{}, err
		}
		c.backend.Commit()
		after, err := c.head(ctx)
		if err != nil {
			return block{}, err
		}
		if after.Height != before.Height+1 {
			return block{}, fmt.Errorf("sealing a block on %d: the head is %d", before.Height, after.Height)
		}
	}
	return c.head(ctx)
}

// send hands a signed transaction to the pool. The pool follows a new head in the background, so right after a block it
// may refuse with a stale nonce or balance; such refusals are tried again for a while.
func (c *chain) send(ctx context.Context, tx *types.Transaction) error {
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	for {
		err := c.backend.Client().SendTransaction(ctx, tx)
		if err == nil || err.Error() == "already known" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("sending %s: %w", tx.Hash(), err)
		case <-time.After(sendPause):
		}
	}
}

// pending lists the pool in the order of nonces per sender, the transactions of other clients included.
func (c *chain) pending(ctx context.Context) ([]*types.Transaction, error) {
	var content map[string]map[string]map[string]*types.Transaction
	if err := c.raw.CallContext(ctx, &content, "txpool_content"); err != nil {
		return nil, fmt.Errorf("reading the pool: %w", err)
	}
	var all []*types.Transaction
	for _, bySender := range content {
		for _, byNonce := range bySender {
			for _, tx := range byNonce {
				all = append(all, tx)
			}
		}
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].Nonce() != all[j].Nonce() {
			return all[i].Nonce() < all[j].Nonce()
		}
		return all[i].Hash().Cmp(all[j].Hash()) < 0
	})
	return all, nil
}

// idleAccount is the next account with nothing in the pool, so that its transaction depends on no other one.
func (c *chain) idleAccount(ctx context.Context) (account, uint64, error) {
	waiting, err := c.pending(ctx)
	if err != nil {
		return account{}, 0, err
	}
	count := map[common.Address]uint64{}
	for _, tx := range waiting {
		if sender, err := types.Sender(c.signer, tx); err == nil {
			count[sender]++
		}
	}
	best := c.next
	for i := range c.accounts {
		at := (c.next + i) % len(c.accounts)
		if count[c.accounts[at].address] < count[c.accounts[best].address] {
			best = at
		}
	}
	c.next = (best + 1) % len(c.accounts)
	chosen := c.accounts[best]
	mined, err := c.backend.Client().NonceAt(ctx, chosen.address, nil)
	if err != nil {
		return account{}, 0, fmt.Errorf("reading a nonce: %w", err)
	}
	return chosen, mined + count[chosen.address], nil
}

// sign completes a transaction with a fee cap far above what an empty chain asks, and signs it.
func (c *chain) sign(from account, draft types.DynamicFeeTx) (*types.Transaction, error) {
	draft.ChainID, draft.GasFeeCap = c.chainID, new(big.Int).Add(big.NewInt(100*params.GWei), draft.GasTipCap)
	tx, err := types.SignNewTx(from.key, c.signer, &draft)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	return tx, nil
}
