package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// MaxBlocks bounds one request to mine or to fork.
const MaxBlocks = 1000

// Block names one block.
type Block struct {
	Height int64  `json:"height"`
	Hash   string `json:"hash"`
}

// Chain is a blockchain that can be paid on, grown and rearranged. Its methods run one at a time.
type Chain interface {
	Head(ctx context.Context) (Block, error)
	// Mine adds blocks; the first holds everything that waits.
	Mine(ctx context.Context, blocks int) error
	// Transfer makes one transaction with all the payments, which waits for the next block.
	Transfer(ctx context.Context, token string, payments []Payment) (txHash string, err error)
	// Fork takes the newest blocks off the chain. Their transactions can be included again or replaced.
	Fork(ctx context.Context, depth int) (orphaned []string, err error)
	// Include lets an orphaned transaction wait for the next block, behind ahead others.
	Include(ctx context.Context, txHash string, ahead int) error
	// Replace makes a transaction after which an orphaned or waiting one can never be mined again.
	Replace(ctx context.Context, txHash, token string, payments []Payment) (string, error)
	// Finality sets by how many blocks the final block trails the head, where the chain has such a thing.
	Finality(ctx context.Context, depth int64) error
	Close() error
}

// Setter is a chain with parameters that a test may change.
type Setter interface {
	Set(ctx context.Context, settings json.RawMessage) error
}

// Dropper is a chain whose waiting transactions can be lost.
type Dropper interface {
	Drop(ctx context.Context, txHashes []string) error
}

// Taker is a chain whose next block can be made to hold given bytes.
type Taker interface {
	Take(ctx context.Context, raw string) (txHash string, err error)
}

// Ready is what a caller needs to know; it is printed as one JSON line.
type Ready struct {
	RPCURL     string            `json:"rpcUrl"`
	ControlURL string            `json:"controlUrl"`
	ChainID    int64             `json:"chainId,omitempty"`
	Genesis    string            `json:"genesis,omitempty"` // what tells this chain from others
	Tokens     map[string]string `json:"tokens"`
	Block      int64             `json:"block"`
	StartedAt  time.Time         `json:"startedAt"`
}

// Config says where to listen and what lies behind.
type Config struct {
	Listen, Control string // loopback addresses
	Inner           string // URL of the node itself
	User            string // user:password that clients put before the host; "" for none
	Ready           Ready  // the rest of the ready line
	Now             func() time.Time
}

// Server is a running chain with its two ports.
type Server struct {
	mu      sync.Mutex
	chain   Chain
	front   *Front
	control *http.Server
	ready   Ready
	running sync.WaitGroup
}

// Loopback refuses an address that others could reach.
func Loopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("reading the address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%q is not a loopback address; its keys are public knowledge", addr)
	}
	return nil
}

// Start opens both ports of a chain, which it closes at the end or when it fails.
func Start(ctx context.Context, cfg Config, c Chain) (*Server, error) {
	s, err := start(ctx, cfg, c)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return s, nil
}

func start(ctx context.Context, cfg Config, c Chain) (*Server, error) {
	if err := errors.Join(Loopback(cfg.Listen), Loopback(cfg.Control)); err != nil {
		return nil, err
	}
	head, err := c.Head(ctx)
	if err != nil {
		return nil, err
	}
	front, err := NewFront(cfg.Listen, cfg.Inner, nil)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", cfg.Control)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the control port: %w", err), front.Close())
	}
	s := &Server{chain: c, front: front, ready: cfg.Ready}
	user := cfg.User
	if user != "" {
		user += "@"
	}
	s.ready.RPCURL, s.ready.ControlURL = "http://"+user+front.Addr(), "http://"+listener.Addr().String()
	s.ready.Block, s.ready.StartedAt = head.Height, cfg.Now().UTC()
	if s.ready.Tokens == nil {
		s.ready.Tokens = map[string]string{}
	}
	s.control = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	s.running.Go(func() { _ = s.control.Serve(listener) })
	return s, nil
}

// Ready describes the running server.
func (s *Server) Ready() Ready { return s.ready }

// Close stops both ports and the chain.
func (s *Server) Close() error {
	err := s.control.Close()
	s.running.Wait()
	return errors.Join(err, s.front.Close(), s.chain.Close())
}

func (s *Server) alone(operation func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.front.Alone(operation)
}

// done is the answer to whatever changed the chain.
type done struct {
	TxHash   string   `json:"txHash,omitempty"`
	Orphaned []string `json:"orphaned,omitempty"`
	Head     Block    `json:"head"`
}

func (s *Server) after(ctx context.Context, d done, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	d.Head, err = s.chain.Head(ctx)
	return d, err
}

type reorgRequest struct {
	Depth        int    `json:"depth"`        // blocks to abandon
	Blocks       int    `json:"blocks"`       // blocks of the new branch
	Include      string `json:"include"`      // one abandoned transaction to mine again
	IncludeAfter int    `json:"includeAfter"` // new blocks before the one that holds it
	Ahead        int    `json:"ahead"`        // transfers that come before it in that block
}

type replaceRequest struct {
	TransferRequest
	TxHash string `json:"txHash"`
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	Handle(mux, s.alone, "GET /status", func(ctx context.Context, _ struct{}) (any, error) {
		head, err := s.chain.Head(ctx)
		return map[string]any{"head": head, "rpcMode": s.front.Mode(), "rpcRequests": s.front.Requests.Load()}, err
	})
	Handle(mux, s.alone, "POST /mine", func(ctx context.Context, r struct {
		Blocks int `json:"blocks"`
	},
	) (any, error) {
		return s.after(ctx, done{}, s.mine(ctx, max(r.Blocks, 1)))
	})
	Handle(mux, s.alone, "POST /transfer", func(ctx context.Context, r TransferRequest) (any, error) {
		hash, err := s.chain.Transfer(ctx, string(r.Token), r.All())
		if err == nil && r.Mine > 0 {
			err = s.mine(ctx, r.Mine)
		}
		return s.after(ctx, done{TxHash: hash}, err)
	})
	Handle(mux, s.alone, "POST /fork", func(ctx context.Context, r struct {
		Depth int `json:"depth"`
	},
	) (any, error) {
		orphaned, err := s.fork(ctx, r.Depth)
		return s.after(ctx, done{Orphaned: orphaned}, err)
	})
	Handle(mux, s.alone, "POST /reorg", func(ctx context.Context, r reorgRequest) (any, error) {
		orphaned, err := s.reorg(ctx, r)
		return s.after(ctx, done{Orphaned: orphaned}, err)
	})
	Handle(mux, s.alone, "POST /replace", func(ctx context.Context, r replaceRequest) (any, error) {
		hash, err := s.chain.Replace(ctx, r.TxHash, string(r.Token), r.All())
		return s.after(ctx, done{TxHash: hash}, err)
	})
	Handle(mux, s.alone, "POST /include", func(ctx context.Context, r struct {
		TxHash string `json:"txHash"`
		Ahead  int    `json:"ahead"`
	},
	) (any, error) {
		return s.after(ctx, done{}, s.chain.Include(ctx, r.TxHash, r.Ahead))
	})
	Handle(mux, s.alone, "POST /finality", func(ctx context.Context, r struct {
		Depth int64 `json:"depth"`
	},
	) (any, error) {
		return s.after(ctx, done{}, s.chain.Finality(ctx, r.Depth))
	})
	if d, ok := s.chain.(Dropper); ok {
		Handle(mux, s.alone, "POST /drop", func(ctx context.Context, r struct {
			TxHashes []string `json:"txHashes"`
		},
		) (any, error) {
			return s.after(ctx, done{}, d.Drop(ctx, r.TxHashes))
		})
	}
	if k, ok := s.chain.(Taker); ok {
		Handle(mux, s.alone, "POST /take", func(ctx context.Context, r struct {
			Raw string `json:"raw"`
		},
		) (any, error) {
			hash, err := k.Take(ctx, r.Raw)
			return s.after(ctx, done{TxHash: hash}, err)
		})
	}
	if d, ok := s.chain.(Setter); ok {
		Handle(mux, s.alone, "POST /set", func(ctx context.Context, r json.RawMessage) (any, error) {
			return s.after(ctx, done{}, d.Set(ctx, r))
		})
	}
	Handle(mux, func(f func()) { f() }, "POST /rpc", s.front.Break)
	return mux
}

func (s *Server) mine(ctx context.Context, blocks int) error {
	if blocks < 1 || blocks > MaxBlocks {
		return Refusal("blocks must be 1..%d", MaxBlocks)
	}
	return s.chain.Mine(ctx, blocks)
}

func (s *Server) fork(ctx context.Context, depth int) ([]string, error) {
	if depth < 1 || depth > MaxBlocks {
		return nil, Refusal("depth must be 1..%d", MaxBlocks)
	}
	return s.chain.Fork(ctx, depth)
}

// reorg abandons depth blocks and mines a branch of blocks in their place, while clients wait.
func (s *Server) reorg(ctx context.Context, r reorgRequest) ([]string, error) {
	if r.Blocks < 1 || r.Blocks > MaxBlocks || r.IncludeAfter < 0 || r.IncludeAfter >= r.Blocks {
		return nil, Refusal("blocks must be 1..%d and includeAfter 0..blocks-1", MaxBlocks)
	}
	orphaned, err := s.fork(ctx, r.Depth)
	if err == nil && r.IncludeAfter > 0 {
		err = s.mine(ctx, r.IncludeAfter)
	}
	if err == nil && r.Include != "" {
		err = s.chain.Include(ctx, r.Include, r.Ahead)
	}
	if err == nil {
		err = s.mine(ctx, r.Blocks-r.IncludeAfter)
	}
	return orphaned, err
}
