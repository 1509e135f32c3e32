// Package load is the merchant and the payer of a chaos run: it creates sandbox transfers through the gateway, pays each
// with a sandbox deposit, repeats every request under its idempotency key until it is answered, and receives the
// callbacks. It records what it did and judges nothing.
package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// requestTimeout bounds one request and patience all tries of one step: far longer than any outage we make.
	requestTimeout = 10 * time.Second
	patience       = 2 * time.Minute
	retryEvery     = 200 * time.Millisecond
	inFlightMax    = 128
)

// Payment is what the load knows of one payment it asked for.
type Payment struct {
	Key          string // unique; the request's idempotency key is made of it
	Reference    string // "" if no create was ever answered
	Address      string
	CryptoAmount string
	Created      time.Time
	Deposited    bool
	Problem      string // what went wrong that no fault excuses
}

// Config is how to load.
type Config struct {
	Gateways []string // base URLs; a payer turns to the next one when a request fails
	APIKey   string
	Callback string
	Rate     float64 // payments a second
	Seed     uint64
	Run      string // distinguishes this run's keys from every other's
}

// Load is a running load.
type Load struct {
	cfg    Config
	client *http.Client
	stop   context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	payments []*Payment
	retries  atomic.Int64
}

// Pairs are what the payments are paid in; each address family that the simulated chain offers is among them.
var Pairs = []struct{ Crypto, Network string }{{"USDT", "tron"}, {"USDC", "base"}, {"USDT", "ethereum"}, {"BTC", "bitcoin"}, {"POL", "polygon"}}

// accounts are who is paid. At the last one the simulated bank pays and its answer is lost (contract.md §8), so that the
// truth must be asked for.
var accounts = []string{"0123456789", "0123456789", "0123456789", "0123456789", "0123456789", "0000000005"}

// Start begins to create payments until Stop.
func Start(ctx context.Context, cfg Config) *Load {
	ctx, stop := context.WithCancel(ctx)
	l := &Load{cfg: cfg, stop: stop, done: make(chan struct{}), client: &http.Client{
		Timeout: requestTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: inFlightMax, MaxConnsPerHost: inFlightMax},
	}}
	go l.run(ctx)
	return l
}

// Stop ends the creating and waits until every payment that was begun has been paid or given up.
func (l *Load) Stop() {
	l.stop()
	<-l.done
	l.client.CloseIdleConnections()
}

// Payments returns what was asked for so far.
func (l *Load) Payments() []Payment {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Payment, len(l.payments))
	for i, p := range l.payments {
		all[i] = *p
	}
	return all
}

// Retries counts the requests that were sent again because the answer was lost or a 5xx.
func (l *Load) Retries() int64 { return l.retries.Load() }

func (l *Load) run(ctx context.Context) {
	defer close(l.done)
	var wait sync.WaitGroup
	defer wait.Wait()
	random := rand.New(rand.NewPCG(l.cfg.Seed, 1))
	slots := make(chan struct{}, inFlightMax)
	ticker := time.NewTicker(time.Duration(float64(time.Second) / l.cfg.Rate))
	defer ticker.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		select {
		case <-ctx.Done():
			return
		case slots <- struct{}{}:
		}
		p := &Payment{Key: l.cfg.Run + "-" + strconv.Itoa(i)}
		l.mu.Lock()
		l.payments = append(l.payments, p)
		l.mu.Unlock()
		pair, fiat, account := Pairs[random.IntN(len(Pairs))], 5_000+random.IntN(500_000), accounts[random.IntN(len(accounts))]
		wait.Go(func() {
			// What has begun is finished after Stop too: an unpaid payment would prove nothing.
			l.pay(context.WithoutCancel(ctx), p, pair.Crypto, pair.Network, account, fiat)
			<-slots
		})
	}
}

// pay creates one payment and makes its deposit.
func (l *Load) pay(ctx context.Context, p *Payment, crypto, network, account string, fiat int) {
	var created struct {
		Payment struct {
			Reference      string      `json:"reference"`
			DepositAddress string      `json:"depositAddress"`
			CryptoAmount   json.Number `json:"cryptoAmount"`
		} `json:"payment"`
	}
	err := l.persist(ctx, "/v1/payments", "create-"+p.Key, map[string]any{
		"type": "transfer", "fiatAmount": fiat, "fiatCurrency": "NGN", "crypto": crypto, "network": network, "chargeFrom": "fiat",
		"payer":    map[string]string{"chatId": "chaos"},
		"receiver": map[string]string{"bankCode": "058", "accountNumber": account},
		"metadata": map[string]string{"chaos": p.Key}, "callbackUrl": l.cfg.Callback,
	}, &created)
	if err != nil {
		l.note(func() { p.Problem = "create: " + err.Error() })
		return
	}
	l.note(func() {
		p.Reference, p.Address, p.CryptoAmount = created.Payment.Reference, created.Payment.DepositAddress, created.Payment.CryptoAmount.String()
		p.Created = time.Now()
	})
	err = l.persist(ctx, "/v1/sandbox/payments/"+created.Payment.Reference+"/deposits", "deposit-"+p.Key, map[string]any{}, &struct{}{})
	l.note(func() {
		p.Deposited = err == nil
		if err != nil {
			p.Problem = "deposit: " + err.Error()
		}
	})
}

func (l *Load) note(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// errFinal is an answer that repeating does not change.
var errFinal = errors.New("refused")

// persist repeats one request under its key until it is answered.
func (l *Load) persist(ctx context.Context, path, key string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for try := 0; ; try++ {
		err := l.post(ctx, l.gateway(key, try)+path, key, body, answer)
		if err == nil || errors.Is(err, errFinal) {
			return err
		}
		l.retries.Add(1)
		select {
		case <-ctx.Done():
			return fmt.Errorf("not answered within %s: %w", patience, err)
		case <-time.After(retryEvery):
		}
	}
}

// gateway spreads the keys over the gateways, and each try to the next one.
func (l *Load) gateway(key string, try int) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(key))
	return l.cfg.Gateways[(int(sum.Sum32()%1024)+try)%len(l.cfg.Gateways)]
}

func (l *Load) post(ctx context.Context, address, key string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%w: rendering the request: %w", errFinal, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%w: %w", errFinal, err)
	}
	request.Header.Set("Authorization", "Bearer "+l.cfg.APIKey)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	response, err := l.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	switch code := response.StatusCode; {
	case code/100 == 2:
		return json.Unmarshal(content, answer)
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusConflict && bytes.Contains(content, []byte("idempotency_in_progress")):
		return fmt.Errorf("%s: %.200s", response.Status, content)
	default:
		return fmt.Errorf("%w: %s: %.300s", errFinal, response.Status, content)
	}
}
