package evm

import (
	"context"
	"net/http"

	"causeway.internal/deploy/realchain/internal/node"
)

type reorgRequest struct {
	Depth        int    `json:"depth"`        // blocks to abandon
	Blocks       int    `json:"blocks"`       // blocks of the new branch
	Keep         bool   `json:"keep"`         // abandoned transactions return to the pool and enter the first new block
	Include      string `json:"include"`      // one abandoned transaction to mine again
	IncludeAfter int    `json:"includeAfter"` // new blocks before the one that holds it
	Ahead        int    `json:"ahead"`        // transfers that come before it in that block
}

type included struct {
	TxHash string `json:"txHash"`
	Head   block  `json:"head"`
}

type status struct {
	Head        block             `json:"head"`
	Finalized   int64             `json:"finalized"`
	Safe        int64             `json:"safe"`
	Pending     []string          `json:"pending"`
	Tokens      map[string]string `json:"tokens"`
	RPCMode     string            `json:"rpcMode"` // "" while it serves
	RPCRequests int64             `json:"rpcRequests"`
}

// routes is the control API. Every POST takes and answers JSON; a refused request is 400 with {"error": …}.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	node.Handle(mux, s.alone, "GET /status", func(ctx context.Context, _ struct{}) (any, error) { return s.status(ctx) })
	node.Handle(mux, s.alone, "POST /mine", func(ctx context.Context, r struct {
		Blocks int `json:"blocks"`
	},
	) (any, error) {
		return s.chain.mine(ctx, max(r.Blocks, 1))
	})
	node.Handle(mux, s.alone, "POST /transfer", s.transfer)
	node.Handle(mux, s.alone, "POST /fork", func(ctx context.Context, r struct {
		Depth int  `json:"depth"`
		Keep  bool `json:"keep"`
	},
	) (any, error) {
		return s.chain.fork(ctx, r.Depth, r.Keep)
	})
	node.Handle(mux, s.alone, "POST /reorg", func(ctx context.Context, r reorgRequest) (any, error) { return s.chain.reorg(ctx, r) })
	node.Handle(mux, s.alone, "POST /drop", func(ctx context.Context, r struct {
		TxHashes []string `json:"txHashes"`
	},
	) (any, error) {
		dropped, err := s.chain.drop(ctx, r.TxHashes)
		return map[string]any{"dropped": dropped}, err
	})
	node.Handle(mux, s.alone, "POST /include", s.include)
	node.Handle(mux, s.alone, "POST /replace", s.replace)
	node.Handle(mux, s.alone, "POST /rpc", s.front.Break)
	node.Handle(mux, s.alone, "POST /block-time", s.setBlockTime)
	node.Handle(mux, s.alone, "POST /finality", func(_ context.Context, r struct {
		Depth int64 `json:"depth"`
	},
	) (any, error) {
		return map[string]int64{"depth": r.Depth}, s.finality.set(r.Depth)
	})
	return mux
}

// alone runs an operation alone on the chain while the front door waits.
func (s *Server) alone(operation func()) {
	s.chain.mu.Lock()
	defer s.chain.mu.Unlock()
	s.front.Alone(operation)
}

func (s *Server) status(ctx context.Context) (any, error) {
	head, err := s.chain.head(ctx)
	if err != nil {
		return nil, err
	}
	finalized, safe, err := s.finality.heights(ctx)
	if err != nil {
		return nil, err
	}
	waiting, err := s.chain.pending(ctx)
	if err != nil {
		return nil, err
	}
	result := status{
		Head: head, Finalized: finalized, Safe: safe, Pending: []string{}, Tokens: s.tokens(),
		RPCMode: s.front.Mode(), RPCRequests: s.front.Requests.Load(),
	}
	for _, tx := range waiting {
		result.Pending = append(result.Pending, tx.Hash().Hex())
	}
	return result, nil
}

func (s *Server) transfer(ctx context.Context, r node.TransferRequest) (any, error) {
	if r.Mine < 0 || r.Mine > maxBlocks {
		return nil, node.Refusal("mine must be 0..%d", maxBlocks)
	}
	tx, err := s.chain.transfer(ctx, string(r.Token), r.All(), transferTip)
	if err != nil {
		return nil, err
	}
	if r.Mine > 0 {
		if _, err := s.chain.mine(ctx, r.Mine); err != nil {
			return nil, err
		}
	}
	head, err := s.chain.head(ctx)
	return included{TxHash: tx.Hash().Hex(), Head: head}, err
}

func (s *Server) include(ctx context.Context, r struct {
	TxHash string `json:"txHash"`
	Ahead  int    `json:"ahead"`
},
) (any, error) {
	if err := s.chain.include(ctx, r.TxHash, r.Ahead); err != nil {
		return nil, err
	}
	head, err := s.chain.head(ctx)
	return included{TxHash: r.TxHash, Head: head}, err
}

func (s *Server) replace(ctx context.Context, r struct {
	node.TransferRequest
	TxHash string `json:"txHash"`
},
) (any, error) {
	tx, err := s.chain.replace(ctx, r.TxHash, string(r.Token), r.All())
	if err != nil {
		return nil, err
	}
	head, err := s.chain.head(ctx)
	return included{TxHash: tx.Hash().Hex(), Head: head}, err
}
