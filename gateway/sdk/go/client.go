package causeway

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Options are those of a client. Only BaseURL is needed, and APIKey for most operations.
type Options struct {
	// BaseURL is where the API is, such as https://api.example. It may have the path that a proxy strips.
	BaseURL string
	// APIKey is the secret of an API key, sk_….
	APIKey string
	// PublicKey is the public id of the same key, pk_…. With it each request is signed, and the secret never leaves the
	// program.
	PublicKey string
	// Mode is the mode that the key must have. A program that says "test" never moves money because of a wrong key.
	Mode Mode
	// Timeout bounds one attempt, 30 seconds by default.
	Timeout time.Duration
	// MaxRetries is how often a request is repeated at most: 3 by default, never where it is negative.
	MaxRetries int
	// MaxWait is the longest wait before a repetition, a minute by default. A longer Retry-After ends the call.
	MaxWait time.Duration
	// MaxAnswer is the most bytes of an answer, 64 MiB by default.
	MaxAnswer int64
	// UserAgent is the name of your program, for the User-Agent.
	UserAgent string
	// HTTPClient sends the requests. Its redirects are not followed, because the key goes to no other host.
	HTTPClient *http.Client
}

// Client calls the API. It holds no state besides its options, and one serves a whole program.
type Client struct {
	o    Options
	base string
	http http.Client
}

// New checks the options, and that they are of one mode.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.BaseURL)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http":
		return nil, errors.New("causeway: BaseURL is no http or https URL")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("causeway: BaseURL holds more than scheme, host and path")
	}
	var mode Mode
	if o.APIKey != "" {
		if mode, err = keyMode(o.APIKey, "sk"); err != nil {
			return nil, err
		}
	}
	if o.PublicKey != "" {
		public, err := keyMode(o.PublicKey, "pk")
		if err != nil {
			return nil, err
		}
		if public != mode {
			return nil, errors.New("causeway: PublicKey and APIKey are not of one mode")
		}
	}
	if o.Mode != "" && o.Mode != mode {
		return nil, fmt.Errorf("causeway: this client is for %s mode, and its key is of mode %q", o.Mode, mode)
	}
	if mode == "live" && base.Scheme != "https" && !loopback(base.Hostname()) {
		return nil, errors.New("causeway: a live key is sent over https only")
	}
	c := &Client{o: o, base: strings.TrimRight(base.String(), "/")}
	if o.HTTPClient != nil {
		c.http = *o.HTTPClient
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.o.Mode = mode
	if c.o.Timeout == 0 {
		c.o.Timeout = 30 * time.Second
	}
	if c.o.MaxRetries == 0 {
		c.o.MaxRetries = 3
	}
	if c.o.MaxWait == 0 {
		c.o.MaxWait = time.Minute
	}
	if c.o.MaxAnswer == 0 {
		c.o.MaxAnswer = 64 << 20
	}
	return c, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Mode is the mode of the key, "" without one.
func (c *Client) Mode() Mode { return c.o.Mode }

// Option changes one call.
type Option func(*request)

// IdempotencyKey names a POST: a second one with the same key and body has no effect of its own, and gets the answer of
// the first. Give it the id of your order. Without this option each call has a random key.
func IdempotencyKey(key string) Option { return func(r *request) { r.idempotencyKey = key } }

// operation is an operation of the API.
type operation struct {
	method, path string
	key          string // needed, optional or none
	repeatable   bool
}

// request fills an operation.
type request struct {
	path           []string // values of the names in the path, in their order
	query          url.Values
	body           any // nil without one
	idempotencyKey string
}

var idempotencyKeys = regexp.MustCompile(`^[\x21-\x7e][\x20-\x7e]{0,254}$`)

// call makes a request, repeats it as often as that helps, and reads the answer into out.
func (c *Client) call(ctx context.Context, op operation, r request, opts []Option, out any) error {
	for _, o := range opts {
		o(&r)
	}
	if op.key == "needed" && c.o.APIKey == "" {
		return fmt.Errorf("causeway: %s %s needs an APIKey", op.method, op.path)
	}
	target, err := r.target(op)
	if err != nil {
		return err
	}
	var body []byte
	if r.body != nil {
		if body, err = encode(r.body); err != nil {
			return err
		}
	}
	if op.method == http.MethodPost && op.repeatable {
		if r.idempotencyKey == "" {
			r.idempotencyKey = rand.Text()
		}
		if !idempotencyKeys.MatchString(r.idempotencyKey) {
			return errors.New("causeway: an idempotency key has 1 to 255 printable characters")
		}
	} else {
		r.idempotencyKey = ""
	}
	for attempt := 0; ; attempt++ {
		err := c.once(ctx, op, target, body, r.idempotencyKey, out)
		if err == nil || ctx.Err() != nil {
			return err
		}
		f := failure{retryAfter: -1}
		if refused, ok := errors.AsType[*APIError](err); ok {
			f = failure{refused.Status, refused.Code, refused.RetryAfter}
		} else if _, ok := errors.AsType[*ConnectionError](err); !ok {
			return err
		}
		wait, again := retryWait(f, op.repeatable, attempt, c.o.MaxRetries, c.o.MaxWait, mathrand.Float64()) //nolint:gosec // spreads clients
		if !again {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// encode writes JSON as the API reads it.
func encode(body any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, fmt.Errorf("causeway: write the request: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

var names = regexp.MustCompile(`\{\w+\}`)

// target is the path with its names and its query filled in.
func (r request) target(op operation) (string, error) {
	var err error
	i := 0
	path := names.ReplaceAllStringFunc(op.path, func(name string) string {
		value := r.path[i]
		i++
		if value == "" || value == "." || value == ".." {
			err = fmt.Errorf("causeway: %s of %s is missing", name, op.path)
		}
		return url.PathEscape(value)
	})
	if len(r.query) > 0 {
		path += "?" + r.query.Encode()
	}
	return path, err
}

// once makes one attempt. Each is signed afresh: the API takes a signature once.
func (c *Client) once(ctx context.Context, op operation, target string, body []byte, idempotencyKey string, out any) error {
	within, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(within, op.method, c.base+target, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("causeway: %s %s: %w", op.method, op.path, err)
	}
	h := req.Header
	h.Set("Accept", "application/json")
	h.Set("User-Agent", strings.TrimSpace(fmt.Sprintf("causeway-sdk-go/%s %s %s", Version, runtime.Version(), c.o.UserAgent)))
	if body != nil {
		h.Set("Content-Type", "application/json")
	}
	if idempotencyKey != "" {
		h.Set("Idempotency-Key", idempotencyKey)
	}
	if op.key != "none" {
		c.credential(h, op.method, target, body)
	}
	failed := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if within.Err() != nil {
			err = fmt.Errorf("no answer within %v", c.o.Timeout)
		}
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // the rest shows the address with its path, which holds references
		}
		return &ConnectionError{op.method + " " + op.path, err}
	}
	answer, err := c.http.Do(req)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, c.o.MaxAnswer+1))
	if err != nil {
		return failed(err)
	}
	if int64(len(raw)) > c.o.MaxAnswer {
		return fmt.Errorf("causeway: the answer has more than %d bytes", c.o.MaxAnswer)
	}
	if answer.StatusCode >= 200 && answer.StatusCode < 300 && len(raw) > 0 && raw[0] == '{' {
		if err := json.Unmarshal(raw, out); err != nil {
			return fmt.Errorf("causeway: read the answer to %s %s: %w", op.method, op.path, err)
		}
		return nil
	}
	return refusal(answer.StatusCode, raw, answer.Header.Get("X-Request-Id"), seconds(answer.Header.Get("Retry-After")))
}

// credential names or signs for the key. It signs the operation's path with its query, as the gateway gets it: a proxy
// has stripped the path of BaseURL.
func (c *Client) credential(h http.Header, method, path string, body []byte) {
	switch {
	case c.o.APIKey == "":
	case c.o.PublicKey == "":
		h.Set("Authorization", "Bearer "+c.o.APIKey)
	default:
		timestamp := time.Now().UnixMilli()
		h.Set("X-API-Key", c.o.PublicKey)
		h.Set("X-Timestamp", strconv.FormatInt(timestamp, 10))
		h.Set("X-Signature", requestSignature(c.o.APIKey, timestamp, method, path, body))
	}
}

// seconds reads Retry-After; negative where there is none.
func seconds(text string) time.Duration {
	n, err := strconv.ParseUint(text, 10, 30)
	if err != nil {
		return -1
	}
	return time.Duration(n) * time.Second //nolint:gosec // at most 30 bits
}

// listing says how the pages of an operation follow each other.
type listing struct {
	in, items string // fields of the answer that hold the page, "" for the answer itself, and of the page that hold the items
	offset    bool   // it is also read by offset; an empty cursor begins it
}

// pages walks through all pages of a list.
func pages[T any](ctx context.Context, c *Client, op operation, l listing, r request, opts []Option) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		query := url.Values{}
		for name, values := range r.query {
			query[name] = values
		}
		byOffset := l.offset && query.Has("offset")
		if l.offset && !byOffset && !query.Has("cursor") {
			query.Set("cursor", "")
		}
		r := r
		r.query = query
		for {
			var answer map[string]json.RawMessage
			err := c.call(ctx, op, r, opts, &answer)
			if err == nil && l.in != "" {
				raw := answer[l.in]
				answer = nil
				err = json.Unmarshal(raw, &answer)
			}
			var items []T
			if err == nil {
				err = json.Unmarshal(answer[l.items], &items)
			}
			var page struct {
				Limit      int    `json:"limit"`
				NextCursor string `json:"nextCursor"`
				HasMore    bool   `json:"hasMore"`
			}
			if raw, ok := answer["pagination"]; err == nil && ok {
				err = json.Unmarshal(raw, &page)
			} else if err == nil {
				page.Limit = whole(answer["limit"])
				for name, into := range map[string]any{"nextCursor": &page.NextCursor, "hasMore": &page.HasMore} {
					if raw, ok := answer[name]; ok && err == nil { // absent at the end
						err = json.Unmarshal(raw, into)
					}
				}
			}
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			switch {
			case byOffset && len(items) < page.Limit, !byOffset && (!page.HasMore || page.NextCursor == ""):
				return
			case byOffset:
				offset, _ := strconv.Atoi(query.Get("offset"))
				query.Set("offset", strconv.Itoa(offset+len(items)))
			case page.NextCursor == query.Get("cursor"):
				yield(none, fmt.Errorf("causeway: %s repeats the cursor %s", op.path, page.NextCursor))
				return
			default:
				query.Set("cursor", page.NextCursor)
			}
		}
	}
}

func whole(raw json.RawMessage) int {
	n, _ := strconv.Atoi(string(raw))
	return n
}
