package evm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// badRequest is an operation refused because of what the caller asked.
type badRequest struct{ text string }

func (e badRequest) Error() string { return e.text }

func refusal(format string, args ...any) error { return badRequest{fmt.Sprintf(format, args...)} }

type transferRequest struct {
	payment
	Payments []payment `json:"payments"` // several in one transaction, instead of to and amount
	Token    tokenName `json:"token"`
	Mine     int       `json:"mine"` // blocks to mine at once afterwards
}

func (r transferRequest) all() []payment {
	if len(r.Payments) > 0 {
		return r.Payments
	}
	return []payment{r.payment}
}

// tokenName reads true (USDT), false (the native coin) or the name of a token.
type tokenName string

// UnmarshalJSON accepts a boolean or a string.
func (t *tokenName) UnmarshalJSON(raw []byte) error {
	switch string(bytes.TrimSpace(raw)) {
	case "true":
		*t = usdt
		return nil
	case "false", "null":
		*t = ""
		return nil
	}
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return fmt.Errorf("token must be true, false or a name: %w", err)
	}
	*t = tokenName(strings.ToUpper(name))
	return nil
}

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
	handle(mux, s, "GET /status", func(ctx context.Context, _ struct{}) (any, error) { return s.status(ctx) })
	handle(mux, s, "POST /mine", func(ctx context.Context, r struct {
		Blocks int `json:"blocks"`
	},
	) (any, error) {
		return s.chain.mine(ctx, max(r.Blocks, 1))
	})
	handle(mux, s, "POST /transfer", s.transfer)
	handle(mux, s, "POST /fork", func(ctx context.Context, r struct {
		Depth int  `json:"depth"`
		Keep  bool `json:"keep"`
	},
	) (any, error) {
		return s.chain.fork(ctx, r.Depth, r.Keep)
	})
	handle(mux, s, "POST /reorg", func(ctx context.Context, r reorgRequest) (any, error) { return s.chain.reorg(ctx, r) })
	handle(mux, s, "POST /drop", func(ctx context.Context, r struct {
		TxHashes []string `json:"txHashes"`
	},
	) (any, error) {
		dropped, err := s.chain.drop(ctx, r.TxHashes)
		return map[string]any{"dropped": dropped}, err
	})
	handle(mux, s, "POST /include", s.include)
	handle(mux, s, "POST /replace", s.replace)
	handle(mux, s, "POST /rpc", s.rpc)
	handle(mux, s, "POST /block-time", s.setBlockTime)
	handle(mux, s, "POST /finality", func(_ context.Context, r struct {
		Depth int64 `json:"depth"`
	},
	) (any, error) {
		return map[string]int64{"depth": r.Depth}, s.front.finality.set(r.Depth)
	})
	return mux
}

// handle decodes, runs the operation alone on the chain while the front door waits, and encodes.
func handle[T any](mux *http.ServeMux, s *Server, route string, f func(context.Context, T) (any, error)) {
	mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
		var body T
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&body); err != nil && !errors.Is(err, io.EOF) {
			answer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		s.chain.mu.Lock()
		s.front.busy.Lock()
		result, err := f(r.Context(), body)
		s.front.busy.Unlock()
		s.chain.mu.Unlock()
		var bad badRequest
		switch {
		case errors.As(err, &bad):
			answer(w, http.StatusBadRequest, map[string]string{"error": bad.text})
		case err != nil:
			answer(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
		default:
			answer(w, http.StatusOK, result)
		}
	})
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func (s *Server) status(ctx context.Context) (any, error) {
	head, err := s.chain.head(ctx)
	if err != nil {
		return nil, err
	}
	finalized, safe, err := s.front.finality.heights(ctx)
	if err != nil {
		return nil, err
	}
	waiting, err := s.chain.pending(ctx)
	if err != nil {
		return nil, err
	}
	result := status{
		Head: head, Finalized: finalized, Safe: safe, Pending: []string{}, Tokens: s.tokens(),
		RPCMode: s.front.mode.Load().(string), RPCRequests: s.front.requests.Load(),
	}
	for _, tx := range waiting {
		result.Pending = append(result.Pending, tx.Hash().Hex())
	}
	return result, nil
}

func (s *Server) transfer(ctx context.Context, r transferRequest) (any, error) {
	if r.Mine < 0 || r.Mine > maxBlocks {
		return nil, refusal("mine must be 0..%d", maxBlocks)
	}
	tx, err := s.chain.transfer(ctx, string(r.Token), r.all(), transferTip)
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
	transferRequest
	TxHash string `json:"txHash"`
},
) (any, error) {
	tx, err := s.chain.replace(ctx, r.TxHash, string(r.Token), r.all())
	if err != nil {
		return nil, err
	}
	head, err := s.chain.head(ctx)
	return included{TxHash: tx.Hash().Hex(), Head: head}, err
}

func (s *Server) rpc(_ context.Context, r struct {
	Enabled bool   `json:"enabled"`
	Mode    string `json:"mode"` // how it fails while not enabled; refuse by default
},
) (any, error) {
	mode := rpcServing
	if !r.Enabled {
		mode = rpcRefuse
		if r.Mode != "" {
			mode = r.Mode
		}
	}
	return map[string]string{"rpcMode": mode}, s.front.set(mode)
}
