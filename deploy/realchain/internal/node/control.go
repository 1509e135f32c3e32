package node

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

// Refusal makes an error that is the caller's fault.
func Refusal(format string, args ...any) error { return badRequest{fmt.Sprintf(format, args...)} }

// Payment is one amount in base units for one address.
type Payment struct {
	To     string `json:"to"`
	Amount string `json:"amount"`
}

// TokenName reads true (USDT), false (the native coin) or the name of a token.
type TokenName string

// UnmarshalJSON accepts a boolean or a string.
func (t *TokenName) UnmarshalJSON(raw []byte) error {
	switch string(bytes.TrimSpace(raw)) {
	case "true":
		*t = "USDT"
		return nil
	case "false", "null":
		*t = ""
		return nil
	}
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return fmt.Errorf("token must be true, false or a name: %w", err)
	}
	*t = TokenName(strings.ToUpper(name))
	return nil
}

// TransferRequest asks for one transaction.
type TransferRequest struct {
	Payment
	Payments []Payment `json:"payments"` // several in one transaction, instead of to and amount
	Token    TokenName `json:"token"`
	Mine     int       `json:"mine"` // blocks to mine at once afterwards
}

// All are the payments of the transaction.
func (r TransferRequest) All() []Payment {
	if len(r.Payments) > 0 {
		return r.Payments
	}
	return []Payment{r.Payment}
}

// Handle decodes, runs the operation alone while the front door waits, and encodes. Every POST takes and answers JSON;
// a refused request is 400 with {"error": …}. A caller who gives up leaves no operation half done.
func Handle[T any](mux *http.ServeMux, alone func(func()), route string, f func(context.Context, T) (any, error)) {
	mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
		var body T
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&body); err != nil && !errors.Is(err, io.EOF) {
			answer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		var result any
		var err error
		alone(func() { result, err = f(context.WithoutCancel(r.Context()), body) })
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

// RPCRequest breaks the front door or mends it.
type RPCRequest struct {
	Enabled bool   `json:"enabled"`
	Mode    string `json:"mode"` // how it fails while not enabled; refuse by default
}

// Break does what the request asks.
func (f *Front) Break(_ context.Context, r RPCRequest) (any, error) {
	mode := rpcServing
	if !r.Enabled {
		mode = rpcRefuse
		if r.Mode != "" {
			mode = r.Mode
		}
	}
	return map[string]string{"rpcMode": mode}, f.Set(mode)
}
