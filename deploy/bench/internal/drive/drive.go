// Package drive sends the same kind of HTTP request from a number of clients for a while and measures what comes back.
package drive

import (
	"context"
	"fmt"
	"io"
	"net/http"
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

// Run lets clients send requests, each the next as soon as the last is answered, for the given time. next makes a
// request; n is unique over all clients of the run.
func Run(ctx context.Context, clients int, length time.Duration, next func(n int) (*http.Request, error)) Result {
	transport := &http.Transport{MaxIdleConnsPerHost: clients, MaxConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	results := make([]Result, clients)
	began := time.Now()
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() {
			for n := c; ctx.Err() == nil; n += clients {
				results[c].one(client, next, n)
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

func (r *Result) one(client *http.Client, next func(int) (*http.Request, error), n int) {
	began := time.Now()
	err := send(client, next, n)
	if err != nil {
		if r.Failed++; r.Failure == "" {
			r.Failure = err.Error()
		}
		return
	}
	r.Done++
	r.Latencies = append(r.Latencies, time.Since(began))
}

func send(client *http.Client, next func(int) (*http.Request, error), n int) error {
	request, err := next(n)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %.300s", response.Status, content)
	}
	return nil
}
