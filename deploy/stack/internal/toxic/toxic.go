// Package toxic forwards TCP connections and disturbs them on request: latency, silence, resets. In chaos runs it is
// between the services and their servers. It does not interpret the bytes.
package toxic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	dialTimeout = 5 * time.Second
	chunkBytes  = 32 << 10
	stuckPoll   = 10 * time.Millisecond
)

// Poison is how a door treats what passes. The zero value lets it pass.
type Poison struct {
	Latency time.Duration // added to every chunk, in either direction
	Jitter  time.Duration // up to so much more
	Stuck   bool          // nothing passes, nothing is refused: a cable pulled out
}

// Door is one forwarded address.
type Door struct {
	listener net.Listener
	targets  []string

	mu     sync.Mutex
	poison Poison
	conns  map[*net.TCPConn]*net.TCPConn // by the side that dialled us
}

// Open listens and forwards until Close. Of several targets each connection gets one at random that takes it, as the
// Service of a cluster does.
func Open(listen string, targets ...string) (*Door, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("open the door to %v: %w", targets, err)
	}
	d := &Door{listener: listener, targets: targets, conns: map[*net.TCPConn]*net.TCPConn{}}
	go d.accept()
	return d, nil
}

// Addr is where the door listens.
func (d *Door) Addr() string { return d.listener.Addr().String() }

// Set changes how everything is treated that passes from now on.
func (d *Door) Set(p Poison) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.poison = p
}

func (d *Door) current() Poison {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.poison
}

// Cut resets about that share of the open connections, both sides of each, and says how many.
func (d *Door) Cut(share float64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	cut := 0
	for near, far := range d.conns {
		if rand.Float64() < share {
			reset(near)
			reset(far)
			cut++
		}
	}
	return cut
}

// Close stops listening and resets every connection.
func (d *Door) Close() error {
	err := d.listener.Close()
	d.Cut(1.1)
	return err
}

// reset closes with RST, so that the peer sees an error and not an end.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // it may be closed already
	_ = c.Close()
}

func (d *Door) accept() {
	for {
		conn, err := d.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if near, ok := conn.(*net.TCPConn); err == nil && ok {
			go d.serve(near)
		}
	}
}

// dial connects to a target; nil if none takes the connection.
func (d *Door) dial() *net.TCPConn {
	for _, i := range rand.Perm(len(d.targets)) {
		conn, err := net.DialTimeout("tcp", d.targets[i], dialTimeout)
		if far, ok := conn.(*net.TCPConn); err == nil && ok {
			return far
		}
	}
	return nil
}

func (d *Door) serve(near *net.TCPConn) {
	far := d.dial()
	if far == nil {
		reset(near) // as a server that is down would answer
		return
	}
	d.mu.Lock()
	d.conns[near] = far
	d.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { d.copy(far, near) })
	both.Go(func() { d.copy(near, far) })
	both.Wait()
	d.mu.Lock()
	delete(d.conns, near)
	d.mu.Unlock()
}

// copy passes bytes one way until the source ends; an orderly end is passed on, anything else resets both.
func (d *Door) copy(to, from *net.TCPConn) {
	buffer := make([]byte, chunkBytes)
	for {
		n, err := from.Read(buffer)
		d.hold()
		if n > 0 {
			if _, writeErr := to.Write(buffer[:n]); writeErr != nil {
				err = writeErr
			}
		}
		if errors.Is(err, io.EOF) {
			_ = to.CloseWrite() // fails only if the other side is gone too
			return
		}
		if err != nil {
			reset(to)
			reset(from)
			return
		}
	}
}

// hold makes one chunk wait for as long as the poison says.
func (d *Door) hold() {
	p := d.current()
	if wait := p.Latency + time.Duration(rand.Int64N(int64(p.Jitter)+1)); wait > 0 {
		time.Sleep(wait)
	}
	for d.current().Stuck {
		time.Sleep(stuckPoll)
	}
}

// Control steers doors over HTTP: GET /readyz; PUT /NAME?latency=50ms&jitter=50ms&stuck=true (absent is none); POST
// /NAME/cut?share=0.5 answers how many connections were reset.
func Control(doors map[string]*Door) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("PUT /{door}", func(w http.ResponseWriter, r *http.Request) {
		door := doors[r.PathValue("door")]
		p, err := parsePoison(r)
		if door == nil || err != nil {
			http.Error(w, fmt.Sprintf("no such door, or %v", err), http.StatusBadRequest)
			return
		}
		door.Set(p)
	})
	mux.HandleFunc("POST /{door}/cut", func(w http.ResponseWriter, r *http.Request) {
		door := doors[r.PathValue("door")]
		share, err := strconv.ParseFloat(r.FormValue("share"), 64)
		if door == nil || err != nil {
			http.Error(w, fmt.Sprintf("no such door, or %v", err), http.StatusBadRequest)
			return
		}
		fmt.Fprintln(w, door.Cut(share))
	})
	return mux
}

func parsePoison(r *http.Request) (p Poison, err error) {
	for name, into := range map[string]*time.Duration{"latency": &p.Latency, "jitter": &p.Jitter} {
		if text := r.FormValue(name); text != "" {
			if *into, err = time.ParseDuration(text); err != nil || *into < 0 {
				return p, fmt.Errorf("%s is not a duration", name)
			}
		}
	}
	p.Stuck = r.FormValue("stuck") == "true"
	return p, nil
}
