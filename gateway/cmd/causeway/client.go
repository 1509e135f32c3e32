package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Bounds of one call.
const (
	callTime  = 20 * time.Second
	answerMax = 8 << 20
)

// refusal is an answer in the API's error shape.
type refusal struct {
	Status  int
	Message string
	Code    string
	Fields  []struct{ Field, Message string }
	ID      string
}

func (r *refusal) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%d %s", r.Message, r.Status, r.Code)
	if r.ID != "" {
		fmt.Fprintf(&b, ", request %s", r.ID)
	}
	b.WriteString(")")
	for _, f := range r.Fields {
		fmt.Fprintf(&b, "\n  %s: %s", f.Field, f.Message)
	}
	return b.String()
}

// call makes one request with the key, or with the operator's token under /v1/admin, and reads the answer into out.
func (c *cli) call(ctx context.Context, method, path string, in, out any) (http.Header, error) {
	secret, what := c.key, "an API key: --key or CAUSEWAY_API_KEY" //nolint:gosec // the name of a setting
	if strings.HasPrefix(path, "/v1/admin/") {
		secret, what = c.admin, "an operator's token: --admin-token or CAUSEWAY_ADMIN_TOKEN"
	}
	if secret == "" {
		return nil, misused("this needs %s", what)
	}
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return nil, misused("%v", err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set("User-Agent", "causeway-cli/1")
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPost {
		r.Header.Set("Idempotency-Key", once())
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", c.url, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, answerMax))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if res.StatusCode/100 != 2 {
		return nil, refused(res.StatusCode, raw)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("%s does not answer like Causeway: %w", c.url, err)
	}
	return res.Header, nil
}

// once is a fresh Idempotency-Key, so that a request that a proxy repeats takes effect once.
func once() string {
	raw := make([]byte, 16)
	_, _ = rand.Read(raw) // never fails: the program crashes instead
	return "cli-" + hex.EncodeToString(raw)
}

func refused(status int, raw []byte) error {
	var shape struct {
		Message string `json:"message"`
		Error   struct {
			Code      string `json:"code"`
			RequestID string `json:"requestId"`
			Fields    []struct{ Field, Message string }
		} `json:"error"`
	}
	if err := json.Unmarshal(raw, &shape); err != nil || shape.Message == "" {
		return &refusal{Status: status, Message: "the answer is not Causeway's", Code: http.StatusText(status)}
	}
	return &refusal{Status: status, Message: shape.Message, Code: shape.Error.Code, Fields: shape.Error.Fields, ID: shape.Error.RequestID}
}
