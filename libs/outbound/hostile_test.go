package outbound

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// oneServed is a listener that serves its first connection. It accepts every other one and says nothing on it.
type oneServed struct {
	net.Listener
	mu   sync.Mutex
	held []net.Conn
}

func (l *oneServed) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		l.held = append(l.held, c)
		first := len(l.held) == 1
		l.mu.Unlock()
		if first {
			return c, nil
		}
	}
}

func (l *oneServed) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.held {
		_ = c.Close()
	}
	return l.Listener.Close()
}

// TestPost_boundsSocketsPerHost posts to a host that serves one connection and completes no other handshake. Attempts
// take turns on the one, and the dials that they leave behind stay few.
func TestPost_boundsSocketsPerHost(t *testing.T) {
	for _, protocol := range []string{"http/1.1", "h2"} {
		t.Run(protocol, func(t *testing.T) {
			inner := &oneServed{}
			nothing := func(http.ResponseWriter, *http.Request) {}
			f := prepareFar(t, true, protocol == "h2", time.Minute, nothing, func(f *far) Config {
				inner.Listener, f.Listener = f.Listener, inner
				return Config{PerHost: 1, Total: 3 * time.Second}
			})
			f.post(t, OK)
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for range 50 {
						f.post(t, OK)
					}
				})
			}
			all.Wait()
			inner.mu.Lock()
			defer inner.mu.Unlock()
			if n := len(inner.held); n > hostConns {
				t.Errorf("%d sockets, want %d at most", n, hostConns)
			}
		})
	}
}

// TestPost_http2WithFewSockets meets hosts that speak HTTP/2 where few connections may be open: attempts that begin
// together share one, and one that the server closed is not counted for ever.
func TestPost_http2WithFewSockets(t *testing.T) {
	t.Parallel()
	nothing := func(http.ResponseWriter, *http.Request) {}
	f := prepareFar(t, true, true, 200*time.Millisecond, nothing, func(*far) Config { return Config{PerHost: 1} })
	for range hostConns + 1 {
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { f.post(t, OK) })
		}
		all.Wait()
		for range f.opened.Swap(0) {
			<-f.closed
		}
	}
}

// TestPost_repeatsOnce posts over kept connections that the server closes instead of answering: the event is sent once
// more, and not again, however many of them there are.
func TestPost_repeatsOnce(t *testing.T) {
	type count struct{}
	for _, kept := range []int{1, 6} {
		t.Run(fmt.Sprint(kept), func(t *testing.T) {
			var asked atomic.Int32
			var here sync.WaitGroup
			here.Add(kept)
			answer := func(_ http.ResponseWriter, r *http.Request) {
				switch n, _ := r.Context().Value(count{}).(*atomic.Int32); {
				case n.Add(1) > 1:
					asked.Add(1)
					panic(http.ErrAbortHandler)
				case r.URL.Path == "/keep":
					here.Done()
					here.Wait()
				default:
					asked.Add(1)
				}
			}
			f := prepareFar(t, false, false, time.Minute, answer, func(f *far) Config {
				f.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
					return context.WithValue(ctx, count{}, new(atomic.Int32))
				}
				return Config{}
			})
			var all sync.WaitGroup
			for range kept {
				all.Go(func() {
					if res := f.client.Post(t.Context(), f.URL+"/keep", nil, []byte("{}")); res.Class != OK {
						t.Errorf("got %s (%v)", res.Class, res.Err)
					}
				})
			}
			all.Wait()
			want := OK // over the new connection
			if kept > 1 {
				want = Reset
			}
			f.post(t, want)
			if n := asked.Load(); n != 2 {
				t.Errorf("sent %d times, want 2", n)
			}
		})
	}
}

// TestPost_repeatsNothingWithoutBody has nothing by which repeats could be counted, and so makes none.
func TestPost_repeatsNothingWithoutBody(t *testing.T) {
	var asked atomic.Int32
	f := newFar(t, false, false, time.Minute, func(http.ResponseWriter, *http.Request) {
		if asked.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
	})
	for range 2 {
		f.client.Post(t.Context(), f.URL, nil, nil)
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("sent %d times, want 2", n)
	}
}

// TestPost_http2RepeatsOnce posts to a server that refuses every stream as one that it has not begun.
func TestPost_http2RepeatsOnce(t *testing.T) {
	var asked atomic.Int32
	refuse := map[string]func(*http.Server, *tls.Conn, http.Handler){
		"h2": func(_ *http.Server, c *tls.Conn, _ http.Handler) {
			framer := http2.NewFramer(c, c)
			_, _ = io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
			_ = framer.WriteSettings()
			for {
				frame, err := framer.ReadFrame()
				if err != nil {
					return
				}
				if head, ok := frame.(*http2.HeadersFrame); ok {
					asked.Add(1)
					_ = framer.WriteRSTStream(head.StreamID, http2.ErrCodeRefusedStream)
				}
			}
		},
	}
	f := prepareFar(t, true, false, time.Minute, nil, func(f *far) Config {
		f.Config.TLSNextProto, f.TLS = refuse, &tls.Config{NextProtos: []string{"h2"}} //nolint:gosec // a server of a test
		return Config{}
	})
	f.post(t, Reset)
	if n := asked.Load(); n != 2 {
		t.Errorf("sent %d times, want 2", n)
	}
}

// mute is a connection that pretends to send, if it is the first one, once silent is set.
type mute struct {
	net.Conn
	silent *atomic.Bool
	first  bool
}

func (c mute) Write(p []byte) (int, error) {
	if c.first && c.silent.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

type muteListener struct {
	net.Listener
	silent atomic.Bool
	count  int
}

func (l *muteListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	l.count++
	return mute{c, &l.silent, l.count == 1}, err
}

// TestPost_http2LostConnection loses a kept connection without a word from the server. A ping notices, and the next
// attempt goes over a new one.
func TestPost_http2LostConnection(t *testing.T) {
	l := &muteListener{}
	nothing := func(http.ResponseWriter, *http.Request) {}
	f := prepareFar(t, true, true, time.Minute, nothing, func(f *far) Config {
		l.Listener, f.Listener = f.Listener, l
		return Config{Total: 2 * time.Second}
	})
	f.post(t, OK)
	l.silent.Store(true)
	select {
	case <-f.closed:
	case <-time.After(10 * time.Second):
		t.Fatal("the lost connection is still open")
	}
	f.post(t, OK)
	if n := f.opened.Load(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

// TestPost_dialThatHangsAfterRepeat loses its kept connection, and the handshake of the next one hangs. That is no
// time-out of a response.
func TestPost_dialThatHangsAfterRepeat(t *testing.T) {
	var asked atomic.Int32
	once := func(http.ResponseWriter, *http.Request) {
		if asked.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
	}
	f := prepareFar(t, true, false, time.Minute, once, func(f *far) Config {
		f.Listener = &oneServed{Listener: f.Listener}
		return Config{Total: time.Second}
	})
	f.post(t, OK)
	res := f.post(t, TimeoutConnect)
	if res.Remote.IsValid() || res.Timing.Wait != 0 {
		t.Errorf("got %+v", res)
	}
}

// TestPost_largeHead takes a response whose head is as large as it may be.
func TestPost_largeHead(t *testing.T) {
	f := newFar(t, false, false, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Filler", strings.Repeat("a", 30<<10))
	})
	f.post(t, OK)
}

// TestNew_kept says which connections are kept: 4096 over all hosts, and none that was idle for a minute.
func TestNew_kept(t *testing.T) {
	tr := client(t, Config{}).transport
	if tr.MaxIdleConns != 4096 || tr.IdleConnTimeout != time.Minute || tr.MaxIdleConnsPerHost != 32 || tr.MaxConnsPerHost != 96 {
		t.Errorf("got %d over all, %d for a host, %d open, %v", tr.MaxIdleConns, tr.MaxIdleConnsPerHost, tr.MaxConnsPerHost, tr.IdleConnTimeout)
	}
}
