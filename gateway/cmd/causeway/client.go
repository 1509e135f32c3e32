package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"causeway.internal/gateway/internal/credential"
	"causeway.internal/libs/version"
)

// adminPath is the beginning of the operators' paths.
const adminPath = "/v1/admin/"

// Bounds of one call.
const (
	callTime  = 20 * time.Second
	answerMax = 8 << 20
)

// refusal is an answer in the API's error shape.
type refusal struct {
	Status  int     `json:"status,omitempty"`
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Fields  []field `json:"fields,omitempty"`
	ID      string  `json:"requestId,omitempty"`
}

// field says why a field of a request is refused.
type field struct {
	Field   string `json:"field"`
	Message string `json:"message"`
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

// call makes one request and reads the answer into out.
func (c *cli) call(ctx context.Context, method, path string, in, out any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	res, err := c.send(ctx, method, path, in)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return res.Header, c.decode(res.Body, out)
}

// send makes one request. The answer is one that succeeded.
func (c *cli) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	if err := c.settle(); err != nil {
		return nil, err
	}
	secret, err := c.secret(path)
	if err != nil {
		return nil, err
	}
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return nil, misused("%v", err)
	}
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	r.Header.Set("User-Agent", "causeway-cli/"+version.Read().Version)
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPost {
		r.Header.Set("Idempotency-Key", once())
	}
	res, err := direct.Do(r)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", c.url, err)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusUnauthorized && secret == "" {
		return nil, misused("this needs an API key: --key, CAUSEWAY_API_KEY or a profile")
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, answerMax))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return nil, refused(res.StatusCode, raw)
}

// decode reads JSON into out.
func (c *cli) decode(body io.Reader, out any) error {
	raw, err := io.ReadAll(io.LimitReader(body, answerMax+1))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if len(raw) > answerMax {
		return fmt.Errorf("the answer has more than %d MiB: ask for less of it", answerMax>>20)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("%s does not answer like Causeway: %w", c.url, err)
	}
	return nil
}

// secret is what authenticates a call: the operator's token under /v1/admin, elsewhere the key. Public paths need none.
// Another machine gets only what is Causeway's: the variable API_KEY may hold a secret of any vendor. It gets live keys
// and operators' tokens over https alone. Tokens for development have any form, so this machine may get every text.
func (c *cli) secret(path string) (string, error) {
	base, err := url.Parse(c.url)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return "", misused("%q is no http URL", c.url)
	}
	here := loopback(base.Hostname())
	live, admin := strings.HasPrefix(c.key, livePrefix), strings.HasPrefix(path, adminPath)
	kind, _, whole := credential.Parse(c.key)
	switch {
	case admin && c.admin == "":
		return "", misused("this needs an operator's token: --admin-token, or CAUSEWAY_ADMIN_TOKEN beside a URL of the environment or --url")
	case admin && !here && !credential.IsToken(c.admin):
		return "", misused("this is no operator's token, which begins with op_: it is not sent to %s", base.Host)
	case live && !c.live && !admin:
		return "", misused("this key is live: say --live to use it")
	case c.live && !live && !admin:
		return "", misused("--live needs a live key, which begins with %s", livePrefix)
	case c.key != "" && !here && !admin && (!whole || kind != credential.Secret):
		return "", misused("this is no key of Causeway, which begins with %s or %s: it is not sent to %s", testPrefix, livePrefix, base.Host)
	case (live || admin) && !here && base.Scheme != "https":
		return "", misused("a live key or an operator's token is sent over https only, not to %s", c.url)
	case admin:
		return c.admin, nil
	}
	return c.key, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// direct follows no redirect: the key belongs to one address, and a POST must not become a GET.
var direct = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

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
			Fields    []field
		} `json:"error"`
	}
	if err := json.Unmarshal(raw, &shape); err != nil || shape.Message == "" {
		return &refusal{Status: status, Message: "the answer is not Causeway's", Code: http.StatusText(status)}
	}
	return &refusal{Status: status, Message: shape.Message, Code: shape.Error.Code, Fields: shape.Error.Fields, ID: shape.Error.RequestID}
}
