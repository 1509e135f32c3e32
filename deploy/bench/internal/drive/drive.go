// Package drive sends the same kind of HTTP request from a number of clients for a while and measures what comes back.
// Its clients share two cores with what they measure, so each is a bare keep-alive connection: one write a request, one
// read an answer in the usual case, and nothing parsed but what tells a good answer from a bad one.
package drive

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Result is what a drive measured. Latencies are of answered requests, in order.
type Result struct {
	Done      int
	Seconds   float64
	Latencies []time.Duration
	Failed    int
	Failure   string // the first one
}

// Quantile returns the latency below which a share of the requests stayed.
func (r Result) Quantile(q float64) time.Duration {
	if len(r.Latencies) == 0 {
		return 0
	}
	return r.Latencies[min(len(r.Latencies)-1, int(q*float64(len(r.Latencies))))]
}

// Request is one request as it is sent. Host and Content-Length are added to it.
type Request struct {
	Method string
	Path   string // with the query
	Header string // lines that each end in CRLF
	Body   string
	Took   func(body []byte) // gets a good answer, which it may not keep; may be nil
}

// Run lets clients send requests to the host of base, such as http://127.0.0.1:8080, each the next as soon as the last
// is answered, for the given time, and at least one. next makes a request, and may take its time, which counts as
// nobody's; n is unique over all clients of the run. The zero request ends its client. An answer other than 2xx is a
// failure.
func Run(ctx context.Context, base string, clients int, length time.Duration, next func(n int) Request) Result {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	results := make([]Result, clients)
	began := time.Now()
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() {
			client := &client{base: base}
			defer client.close()
			for n := c; n == c || ctx.Err() == nil; n += clients {
				request := next(n)
				if request.Method == "" {
					return
				}
				results[c].one(client, request)
			}
		})
	}
	wait.Wait()
	total := Result{Seconds: time.Since(began).Seconds()}
	for _, r := range results {
		total.Done, total.Failed = total.Done+r.Done, total.Failed+r.Failed
		total.Latencies = append(total.Latencies, r.Latencies...)
		if total.Failure == "" {
			total.Failure = r.Failure
		}
	}
	slices.Sort(total.Latencies)
	return total
}

func (r *Result) one(c *client, request Request) {
	began := time.Now()
	if err := c.send(request); err != nil {
		if r.Failed++; r.Failure == "" {
			r.Failure = err.Error()
		}
		return
	}
	r.Done++
	r.Latencies = append(r.Latencies, time.Since(began))
}
