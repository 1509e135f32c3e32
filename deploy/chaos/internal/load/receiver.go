package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// Delivery is one webhook request as it arrived, in the order of arrival.
type Delivery struct {
	At        time.Time
	EventID   string
	Type      string
	Reference string
	Status    string
	Sequence  int64
	Accepted  bool   // answered 204; else refused on purpose, so that it must come again
	Problem   string // why it cannot be trusted, "" when it can
}

// Receiver is the merchant's end of the callbacks. It refuses some first attempts, so that retries are part of every
// run.
type Receiver struct {
	URL    string
	secret string
	server *http.Server

	mu         sync.Mutex
	random     *rand.Rand
	refuse     float64
	down       bool // everything is refused
	seen       map[string]bool
	deliveries []Delivery
	held       chan struct{} // closed to let the held request go on
	holding    chan struct{} // closed when a request is held
}

// Listen starts a receiver on a free port of loopback. refuse is the share of events whose first attempt gets a 500.
func Listen(secret string, seed uint64, refuse float64) (*Receiver, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for callbacks: %w", err)
	}
	r := &Receiver{
		URL: "http://" + listener.Addr().String() + "/callbacks", secret: secret,
		random: rand.New(rand.NewPCG(seed, 2)), refuse: refuse, seen: map[string]bool{},
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(listener) }() // ends with Close
	return r, nil
}

// Close stops listening.
func (r *Receiver) Close() error { return r.server.Close() }

// ServeHTTP notes one delivery.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(io.LimitReader(request.Body, 1<<20))
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest) // the sender died in the middle; this was no delivery
		return
	}
	r.wait()
	if r.note(read(r.secret, request.Header, body, time.Now())) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	http.Error(w, "not now", http.StatusInternalServerError)
}

// Refuse answers every attempt with a 500, or no longer.
func (r *Receiver) Refuse(all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = all
}

// Hold lets the next request wait unanswered until release; holding is closed when it is there.
func (r *Receiver) Hold() (holding <-chan struct{}, release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held, r.holding = make(chan struct{}), make(chan struct{})
	held := r.held
	return r.holding, sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(held)
		r.held, r.holding = nil, nil
	})
}

func (r *Receiver) wait() {
	r.mu.Lock()
	held, holding := r.held, r.holding
	r.holding = nil // the first request only
	r.mu.Unlock()
	if holding != nil {
		close(holding)
		<-held
	}
}

func (r *Receiver) note(d Delivery) (accepted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d.Accepted = !r.down && (r.seen[d.EventID] || r.random.Float64() >= r.refuse)
	r.seen[d.EventID] = true
	r.deliveries = append(r.deliveries, d)
	return d.Accepted
}

// Deliveries returns everything that has arrived.
func (r *Receiver) Deliveries() []Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Delivery(nil), r.deliveries...)
}

// paymentTold is what the auditor compares of a payment in an event.
type paymentTold struct {
	Reference string `json:"reference"`
	Status    string `json:"status"`
	Sequence  int64  `json:"sequence"`
}

// read takes from a webhook what the auditor compares.
func read(secret string, header http.Header, body []byte, now time.Time) Delivery {
	d := Delivery{At: now, EventID: header.Get("webhook-id")}
	if err := verify(secret, header, body, now); err != nil {
		d.Problem = err.Error()
		return d
	}
	var event struct {
		ID   string `json:"id"`
		Type string `json:"type"`
		Data struct {
			Payment paymentTold `json:"payment"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		d.Problem = "not JSON: " + err.Error()
		return d
	}
	d.Type, d.Reference, d.Status, d.Sequence = event.Type, event.Data.Payment.Reference, event.Data.Payment.Status, event.Data.Payment.Sequence
	if event.ID != d.EventID {
		d.Problem = "the body's id " + event.ID + " differs from the header's"
	}
	return d
}
