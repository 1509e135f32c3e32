package evm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"causeway.internal/deploy/realchain/internal/node"
)

// Config says where to listen and how the chain runs.
type Config struct {
	Listen    string        // JSON-RPC, loopback only
	Control   string        // control API, loopback only
	ChainID   int64         // greater than 0
	Decimals  int64         // of the tokens, 0 to 18
	BlockTime time.Duration // 0 mines on request only; else at least a millisecond
	Finality  int64         // blocks by which the finalized tag trails the head
	Now       func() time.Time
}

// Ready is what a caller needs to know; it is printed as one JSON line.
type Ready struct {
	RPCURL     string            `json:"rpcUrl"`
	ControlURL string            `json:"controlUrl"`
	ChainID    int64             `json:"chainId"`
	Token      string            `json:"token"`  // the USDT contract
	Tokens     map[string]string `json:"tokens"` // USDT, USDC, FAKE
	Faucet     string            `json:"faucet"` // first funded account
	Block      int64             `json:"block"`  // height after the deployment
	StartedAt  time.Time         `json:"startedAt"`
}

// Server is a running node with its two ports.
type Server struct {
	chain    *chain
	finality *finality
	front    *node.Front
	control  *http.Server
	ready    Ready

	ticker    *time.Ticker
	stop      context.CancelFunc
	running   sync.WaitGroup
	serveFail error
}

// Start opens everything and returns when requests are answered. ctx ends only the start; Close ends the server.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if err := check(cfg); err != nil {
		return nil, err
	}
	c, err := newChain(ctx, cfg.ChainID, cfg.Decimals)
	if err != nil {
		return nil, err
	}
	final := &finality{head: c.head, depth: cfg.Finality}
	f, err := node.NewFront(cfg.Listen, c.innerURL, final.rewrite)
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	listener, err := net.Listen("tcp", cfg.Control)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the control port: %w", err), f.Close(), c.close())
	}
	loop, stop := context.WithCancel(context.Background())
	s := &Server{chain: c, front: f, finality: final, stop: stop, ticker: time.NewTicker(time.Hour)}
	head, err := c.head(ctx)
	if err != nil {
		return nil, errors.Join(err, listener.Close(), f.Close(), c.close())
	}
	s.ready = Ready{
		RPCURL: "http://" + f.Addr(), ControlURL: "http://" + listener.Addr().String(), ChainID: cfg.ChainID,
		Token: c.tokens[usdt].Hex(), Tokens: s.tokens(), Faucet: c.accounts[0].address.Hex(), Block: head.Height, StartedAt: cfg.Now().UTC(),
	}
	s.schedule(cfg.BlockTime)
	s.control = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	s.running.Go(func() { s.mineOnTicks(loop) })
	s.running.Go(func() {
		if err := s.control.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.serveFail = err
		}
	})
	return s, nil
}

func check(cfg Config) error {
	for _, addr := range []string{cfg.Listen, cfg.Control} {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return fmt.Errorf("reading the address %q: %w", addr, err)
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return fmt.Errorf("%q is not a loopback address; its keys are public knowledge", addr)
		}
	}
	if cfg.ChainID <= 0 {
		return errors.New("the chain id must be greater than 0")
	}
	if cfg.Decimals < 0 || cfg.Decimals > 18 {
		return errors.New("the tokens' decimals must be 0 to 18")
	}
	if cfg.Finality < 0 {
		return errors.New("the finality must be 0 or more blocks")
	}
	if cfg.BlockTime < 0 || (cfg.BlockTime > 0 && cfg.BlockTime < time.Millisecond) {
		return errors.New("the block time must be 0 or at least a millisecond")
	}
	return nil
}

// Ready describes the running server.
func (s *Server) Ready() Ready { return s.ready }

func (s *Server) tokens() map[string]string {
	named := map[string]string{}
	for name, address := range s.chain.tokens {
		named[name] = address.Hex()
	}
	return named
}

// schedule sets how often a block is mined; 0 stops it.
func (s *Server) schedule(every time.Duration) {
	if every == 0 {
		s.ticker.Stop()
		return
	}
	s.ticker.Reset(every)
}

func (s *Server) setBlockTime(_ context.Context, r struct {
	Every string `json:"every"` // a Go duration, "0" for never
},
) (any, error) {
	every, err := time.ParseDuration(r.Every)
	if err != nil || every < 0 || (every > 0 && every < time.Millisecond) {
		return nil, node.Refusal("every must be 0 or a duration of at least 1ms")
	}
	s.schedule(every)
	return map[string]string{"every": every.String()}, nil
}

func (s *Server) mineOnTicks(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.ticker.C:
			s.chain.mu.Lock()
			_, _ = s.chain.mine(ctx, 1) // a failed block is tried again at the next tick
			s.chain.mu.Unlock()
		}
	}
}

// Close stops both ports and the node.
func (s *Server) Close() error {
	s.stop()
	s.ticker.Stop()
	closed := s.control.Close()
	s.running.Wait()
	return errors.Join(closed, s.serveFail, s.front.Close(), s.chain.close())
}
