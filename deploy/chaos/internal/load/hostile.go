package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Hostile is a number of webhook endpoints, each a listener of its own, that treat some first attempts badly and accept
// every event in the end. It notes what was accepted, and how often.
type Hostile struct {
	// Arrived gets a word, if nobody has left one there, whenever a request arrives.
	Arrived chan struct{}

	urls    []string
	servers []*http.Server
	closing context.Context
	close   context.CancelFunc

	mu       sync.Mutex
	random   *rand.Rand
	secrets  []string
	open     int
	attempts map[string]int
	accepted map[string]int
	treated  map[string]int // by what was done to them
	problems []string
}

// fault is one way to treat an attempt badly.
type fault struct {
	name   string
	share  float64 // of first attempts
	answer func(h *Hostile, w http.ResponseWriter, r *http.Request)
}

// Gone is the endpoint that asks for no more (410) every now and then. It is for a registered endpoint, which can be
// enabled again; Gone is its place among the URLs.
const Gone = 0

// faults, one endpoint each; attempts that hang are few, because a slow endpoint gets one attempt at a time.
var faults = []fault{
	{"410", 0.005, status(http.StatusGone)},
	{"none", 0, nil},
	{"hang", 0.01, func(h *Hostile, _ http.ResponseWriter, r *http.Request) { h.wait(r, 20*time.Second) }},
	{dripping, 0.01, raw(func(h *Hostile, conn net.Conn, r *http.Request) {
		_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
		for err == nil && h.wait(r, time.Second) {
			_, err = io.WriteString(conn, ".")
		}
	})},
	{"huge headers", 0.1, raw(func(_ *Hostile, conn net.Conn, _ *http.Request) {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X-Filler: "+strings.Repeat("h", 1000)+"\r\n", 100)+"\r\n")
	})},
	{"reset", 0.1, raw(func(_ *Hostile, conn net.Conn, _ *http.Request) {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // the close that follows is a reset
		}
	})},
	{"307", 0.1, status(http.StatusTemporaryRedirect, "Location", "/elsewhere")},
	{"429", 0.1, status(http.StatusTooManyRequests, "Retry-After", "1")},
	{"503", 0.1, status(http.StatusServiceUnavailable)},
	{endless, 0.1, raw(func(h *Hostile, conn net.Conn, _ *http.Request) {
		_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		for chunk := strings.Repeat("endless ", 4096); err == nil && h.closing.Err() == nil; {
			_, err = io.WriteString(conn, chunk)
		}
	})},
}

// These answer with a status of 2xx and a body that never ends. The status says that the merchant has the event, so the
// sender is content, and nothing comes again.
const (
	dripping = "a byte a second"
	endless  = "endless body"
)

func status(code int, header ...string) func(*Hostile, http.ResponseWriter, *http.Request) {
	return func(_ *Hostile, w http.ResponseWriter, _ *http.Request) {
		if len(header) == 2 {
			w.Header().Set(header[0], header[1])
		}
		w.WriteHeader(code)
	}
}

// raw takes the connection away from net/http and closes it in the end.
func raw(f func(h *Hostile, conn net.Conn, r *http.Request)) func(*Hostile, http.ResponseWriter, *http.Request) {
	return func(h *Hostile, w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		defer context.AfterFunc(h.closing, func() { conn.Close() })()
		f(h, conn, r)
	}
}

func (h *Hostile) wait(r *http.Request, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
	case <-h.closing.Done():
	}
	return false
}

// ListenHostile starts the endpoints. Signatures are checked with the secret.
func ListenHostile(secret string, seed uint64) (*Hostile, error) {
	h := &Hostile{
		Arrived: make(chan struct{}, 1), random: rand.New(rand.NewPCG(seed, 4)),
		attempts: map[string]int{}, accepted: map[string]int{}, treated: map[string]int{},
	}
	h.closing, h.close = context.WithCancel(context.Background())
	for n := range faults {
		listener, err := (&net.ListenConfig{}).Listen(h.closing, "tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(fmt.Errorf("listening for webhooks: %w", err), h.Close())
		}
		server := &http.Server{Handler: h.endpoint(n), ReadHeaderTimeout: 5 * time.Second}
		h.urls, h.servers, h.secrets = append(h.urls, "http://"+listener.Addr().String()+"/hook"), append(h.servers, server), append(h.secrets, secret)
		go func() { _ = server.Serve(listener) }() // ends with Close
	}
	return h, nil
}

// Close ends whatever hangs and stops listening.
func (h *Hostile) Close() error {
	h.close()
	var failures []error
	for _, server := range h.servers {
		failures = append(failures, server.Close())
	}
	return errors.Join(failures...)
}

// URLs returns the addresses of all endpoints.
func (h *Hostile) URLs() []string { return h.urls }

// Trust sets the secret of the endpoint at a place.
func (h *Hostile) Trust(place int, secret string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.secrets[place] = secret
}

func (h *Hostile) endpoint(n int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			http.Error(w, "unreadable", http.StatusBadRequest) // the sender died in the middle; this was no delivery
			return
		}
		bad := h.arrive(n, r.Header, body)
		defer h.leave()
		if bad {
			faults[n].answer(h, w, r)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// arrive notes an attempt and decides whether it is treated badly: a first one may be, a later one never.
func (h *Hostile) arrive(n int, header http.Header, body []byte) (bad bool) {
	select {
	case h.Arrived <- struct{}{}:
	default:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open++
	key := Slot(n, header.Get("webhook-id"))
	if err := verify(h.secrets[n], header, body, time.Now()); err != nil {
		h.problems = append(h.problems, key+": "+err.Error())
	}
	h.attempts[key]++
	bad = h.attempts[key] == 1 && h.random.Float64() < faults[n].share
	if bad {
		h.treated[faults[n].name]++
	}
	if name := faults[n].name; !bad || name == endless || name == dripping {
		h.accepted[key]++
	}
	return bad
}

func (h *Hostile) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
}

// Slot names an event at the endpoint of a place.
func Slot(place int, event string) string { return strconv.Itoa(place) + " " + event }

// Open says how many requests wait for an answer now.
func (h *Hostile) Open() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

// Missing returns the slots that were not accepted yet.
func (h *Hostile) Missing(slots []string) (missing []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, slot := range slots {
		if h.accepted[slot] == 0 {
			missing = append(missing, slot)
		}
	}
	return missing
}

// Seen is what has arrived.
type Seen struct {
	Accepted int            // different ones
	Repeated int            // accepted once more than needed
	Treated  map[string]int // attempts treated badly, by how
	Problems []string       // what could not be trusted
}

// Seen returns what has arrived so far.
func (h *Hostile) Seen() Seen {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Seen{Accepted: len(h.accepted), Treated: map[string]int{}, Problems: append([]string(nil), h.problems...)}
	for _, n := range h.accepted {
		s.Repeated += n - 1
	}
	for name, n := range h.treated {
		s.Treated[name] = n
	}
	return s
}
