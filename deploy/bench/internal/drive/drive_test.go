package drive_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"causeway.internal/deploy/bench/internal/drive"
)

// asked is how many requests run sends.
const asked = 20

func run(t *testing.T, h http.HandlerFunc) drive.Result {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	request := drive.Request{Method: http.MethodPost, Path: "/a?b=c", Header: "X-One: 1\r\n", Body: "hello"}
	return drive.Run(t.Context(), server.URL, 2, time.Minute, func(n int) drive.Request {
		if n >= asked {
			return drive.Request{}
		}
		return request
	})
}

func TestRun(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	got := run(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "hello" || r.URL.RequestURI() != "/a?b=c" || r.Header.Get("X-One") != "1" || r.Method != http.MethodPost {
			t.Errorf("read a request: %v, %s %s with the header %v; want POST /a?b=c with X-One: 1 and the body hello", err, r.Method, r.URL, r.Header)
		}
		if served.Add(1)%5 == 0 {
			w.Header().Set("Connection", "close")
		}
		w.Header().Set("Content-Length", "9000") // more than a buffer
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, strings.Repeat("x", 9000))
	})
	if got.Done != asked || served.Load() != asked || got.Failed != 0 || len(got.Latencies) != got.Done || got.Seconds <= 0 {
		t.Errorf("%d done of %d, %d failed: %s", got.Done, served.Load(), got.Failed, got.Failure)
	}
}

// An answer other than a whole 2xx of known length is a failure and is reported.
func TestRun_failures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"refused": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, strings.Repeat("no ", 500), http.StatusTooManyRequests)
		}, "429 Too Many Requests: no no"},
		"cut short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "half")
			panic(http.ErrAbortHandler)
		}, "reading the answer"},
		"of no length": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "part")
			_ = http.NewResponseController(w).Flush()
		}, "reading the answer: no answer of HTTP/1.1 with a length"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := run(t, test.answer); got.Done != 0 || got.Failed == 0 || !strings.Contains(got.Failure, test.want) {
				t.Errorf("%d done, %d failed: %s", got.Done, got.Failed, got.Failure)
			}
		})
	}
}

func TestRun_nobodyThere(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(nil)
	server.Close()
	if got := drive.Run(t.Context(), server.URL, 1, time.Millisecond, func(int) drive.Request { return drive.Request{Method: "GET", Path: "/"} }); got.Failed == 0 {
		t.Error("no failure")
	}
}
