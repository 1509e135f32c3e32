package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"causeway.internal/deploy/bench/internal/stack"
	"causeway.internal/libs/testkit/receiver"
)

// sinkVerb makes this program the sink: `bench receiver ENDPOINTS HUNG`.
const sinkVerb = "receiver"

const (
	hookPath     = "/hook"
	countPath    = "/count"
	arriveWithin = 2 * time.Minute
)

// sink is a process with a number of endpoints, each a receiver of the testkit with a listener of its own, some of
// which hang. Both sides of a row post to the same one, so it costs both the same.
type sink struct {
	own     *stack.Own
	control string
	urls    []string
	hung    int
}

// opened is what the process says first: where it listens.
type opened struct {
	Control string   `json:"control"`
	URLs    []string `json:"urls"`
}

// count is what has come to the endpoints that do not hang.
type count struct {
	Arrived  int64 `json:"arrived"`  // requests
	Accepted int64 `json:"accepted"` // different events; only where it was asked for
	Invalid  int64 `json:"invalid"`
}

func newSink(b *bench, endpoints, hung int) (*sink, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.Command(self, sinkVerb, strconv.Itoa(endpoints), strconv.Itoa(hung)) //nolint:noctx // it is ended by End, politely
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the receiver: %w", err)
	}
	s := &sink{hung: hung}
	if s.own, err = b.stack.Beside(sinkVerb, cmd); err != nil {
		return nil, err
	}
	var at opened
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &at)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the receiver: %w", err), s.own.End())
	}
	s.control, s.urls = at.Control, at.URLs
	return s, nil
}

func (s *sink) close() error { return s.own.End() }

// count waits until so many requests have arrived; with audit it tells the different events among them.
func (s *sink) count(ctx context.Context, atLeast int64, audit bool) (c count, err error) {
	ctx, cancel := context.WithTimeout(ctx, arriveWithin)
	defer cancel()
	url := fmt.Sprintf("http://%s%s?arrived=%d&audit=%t", s.control, countPath, atLeast, audit)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return c, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return c, fmt.Errorf("waiting until %d events have arrived: %w", atLeast, err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&c); err != nil {
		return c, fmt.Errorf("reading what has arrived: %w", err)
	}
	return c, nil
}

// checked is the audit at the end of a round: every event arrived, and none that does not read.
func (s *sink) checked(ctx context.Context, events int64) error {
	c, err := s.count(ctx, 0, true)
	if err == nil && (c.Accepted != events || c.Invalid != 0) {
		err = fmt.Errorf("%d requests brought %d different events of %d, %d requests were invalid", c.Arrived, c.Accepted, events, c.Invalid)
	}
	return err
}

// tally counts arrivals and wakes who waits for them.
type tally struct {
	mu      sync.Mutex
	arrived int64
	wanted  int64
	reached chan struct{}
}

func (t *tally) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arrived++
	if t.reached != nil && t.arrived >= t.wanted {
		close(t.reached)
		t.reached = nil
	}
}

// await is for one caller at a time.
func (t *tally) await(ctx context.Context, wanted int64) int64 {
	t.mu.Lock()
	t.wanted = wanted
	if t.arrived < wanted {
		reached := make(chan struct{})
		t.reached = reached
		t.mu.Unlock()
		select {
		case <-reached:
		case <-ctx.Done():
		}
		t.mu.Lock()
	}
	defer t.mu.Unlock()
	return t.arrived
}

// serveSink is the process. It says where it listens and serves until ctx ends.
func serveSink(ctx context.Context, args []string, out io.Writer) error {
	endpoints, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("reading how many endpoints: %w", err)
	}
	hung, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("reading how many of them hang: %w", err)
	}
	var arrivals tally
	var well []*receiver.Receiver
	var at opened
	for n := range endpoints {
		r, err := receiver.New(receiver.Options{DropBodies: true})
		if err != nil {
			return err
		}
		defer r.Close()
		if at.URLs = append(at.URLs, r.URL(hookPath)); n < hung {
			r.Fault(hookPath, receiver.Hang(hangFor))
			continue
		}
		r.Fault(hookPath, func(receiver.Call) bool { arrivals.add(); return false })
		well = append(well, r)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	at.Control = listener.Addr().String()
	if err := json.NewEncoder(out).Encode(at); err != nil {
		return fmt.Errorf("saying where it listens: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wanted, _ := strconv.ParseInt(r.FormValue("arrived"), 10, 64) // our own figure
		c := count{Arrived: arrivals.await(r.Context(), wanted)}
		if r.FormValue("audit") == "true" {
			for _, one := range well {
				a := one.Audit(nil)
				c.Accepted, c.Invalid = c.Accepted+int64(a.Accepted), c.Invalid+int64(len(a.Invalid))
			}
		}
		_ = json.NewEncoder(w).Encode(c) // who asked may have gone
	})}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
