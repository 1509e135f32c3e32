// Package load is the merchant and the payer of a chaos run: it creates sandbox payments of every shape through the
// gateway, pays them with sandbox deposits, repeats every request under its idempotency key until it is answered, and
// receives the callbacks. It records what it did and judges nothing.
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
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// requestTimeout bounds one request and patience all tries of one step: far longer than any outage we make.
	requestTimeout = 10 * time.Second
	patience       = 12 * time.Minute
	retryEvery     = 200 * time.Millisecond
	inFlightMax    = 128
)

// Payment is what the load knows of one payment it asked for.
type Payment struct {
	Key          string // unique; the request's idempotency key is made of it
	Reference    string // "" if no create was ever answered
	Address      string
	CryptoAmount string
	CreatedAt    time.Time // as the answer says
	Answered     time.Time // when the create was, the first time that its answer arrived
	Pair         Pair
	Fiat         int
	Shape        Shape
	Account      string   // of the receiver; a gift has none until it is claimed
	Sent         []string // what the payer sent, in the order of sending
	Claimed      []string // accounts whose claims were answered with success
	Refused      bool     // the create, as the shape wants it
	Payer        string   // address of the payer to which a refund goes
	Problem      string   // what went wrong that no fault excuses
}

// Config is how to load.
type Config struct {
	Gateways []string // base URLs; a payer turns to the next one when a request fails
	APIKey   string
	Callback string
	Rate     float64 // payments a second
	Seed     uint64
	Run      string // distinguishes this run's keys from every other's
	Plain    bool   // payments of the shape Plain only
	Pairs    []Pair // what payments are paid in; empty means Pairs
	// Transfer pays on a live network; nil means that payers pay in the sandbox.
	Transfer func(ctx context.Context, pair Pair, address, amount string) error
	// Payers are the addresses to which money is sent back, by live network; a network without one refunds nothing.
	Payers map[string]string
	// Withdraws says that the merchant withdraws its own money, and that money goes astray. Books are the addresses to
	// which a merchant withdraws crypto, by network.
	Withdraws bool
	Books     map[string]string
	// Stray sends money of one of Strays to an address that no payment has or gets, once for each key. Operators are the
	// tokens of two, who send it back.
	Strays    []Pair
	Stray     func(ctx context.Context, key string, pair Pair, amount string) (address string, err error)
	Operators []string
}

// Pair is an asset on a network.
type Pair struct{ Crypto, Network string }

// Load is a running load.
type Load struct {
	cfg    Config
	client *http.Client
	stop   context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	payments []*Payment
	retries  atomic.Int64

	outlets     outlets
	withdrawn   atomic.Int64
	withdrawals []*Withdrawal
	wallets     []*Wallet
	draws       []*Draw
	strays      []*Stray
}

// Pairs are what the payments are paid in; each address family that the simulated chain offers is among them.
var Pairs = []Pair{{"USDT", "tron"}, {"USDC", "base"}, {"USDT", "ethereum"}, {"BTC", "bitcoin"}, {"POL", "polygon"}}

// Start begins to create payments until Stop.
func Start(ctx context.Context, cfg Config) (*Load, error) {
	ctx, stop := context.WithCancel(ctx)
	if len(cfg.Pairs) == 0 {
		cfg.Pairs = Pairs
	}
	l := &Load{cfg: cfg, stop: stop, done: make(chan struct{}), client: &http.Client{
		Timeout: requestTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: inFlightMax, MaxConnsPerHost: inFlightMax},
	}}
	if cfg.Withdraws {
		if err := l.prepare(ctx); err != nil {
			stop()
			return nil, err
		}
	}
	go l.run(ctx)
	return l, nil
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
		all[i].Sent, all[i].Claimed = slices.Clone(p.Sent), slices.Clone(p.Claimed)
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
	// Stop waits for everything that has begun: an unpaid payment would prove nothing.
	begin := func(do func(ctx context.Context)) {
		select {
		case <-ctx.Done():
		case slots <- struct{}{}:
			wait.Go(func() {
				do(context.WithoutCancel(ctx))
				<-slots
			})
		}
	}
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		p := l.next(i, random)
		begin(func(ctx context.Context) {
			l.note(func() { l.payments = append(l.payments, p) })
			l.pay(ctx, p)
		})
		if to := l.outlets.book; i%drawEach == drawEach/2 && len(to) > 0 {
			begin(func(ctx context.Context) { l.draw(ctx, p.Key, to[i/drawEach%len(to)]) })
		}
		if from := l.cfg.Strays; i%strayEach == strayEach/2 && len(from) > 0 && l.cfg.Withdraws {
			begin(func(ctx context.Context) { l.stray(ctx, p.Key, from[i/strayEach%len(from)]) })
		}
	}
}

// Each so many payments a wallet is paid to and withdrawn from, and money goes astray.
const (
	drawEach  = 16
	strayEach = 40
)

// The amount of a payment is fiatLeast, or fiatLive, and up to fiatMore besides, in NGN.
const (
	fiatLeast = 5_000
	fiatLive  = 100_000
	fiatMore  = 500_000
)

// next plans the next payment.
func (l *Load) next(i int, random *rand.Rand) *Payment {
	p := &Payment{Key: l.cfg.Run + "-" + strconv.Itoa(i), Shape: Plain, Account: usualAccount}
	p.Pair = l.cfg.Pairs[random.IntN(len(l.cfg.Pairs))]
	switch {
	case l.cfg.Transfer != nil:
		p.Pair = l.cfg.Pairs[i%len(l.cfg.Pairs)] // one after the other
		p.Payer = l.payer(p.Pair)
		if p.Shape = draw(liveShapes, random.IntN); p.Shape == Refunded && p.Payer == "" {
			p.Shape = CancelledPaid
		}
	case !l.cfg.Plain:
		p.Shape = draw(shapes, random.IntN)
		p.Payer = l.payer(p.Pair)
	}
	switch {
	case p.Shape != Withdrawn:
	case !l.cfg.Withdraws:
		p.Shape = Plain
	case l.cfg.Transfer == nil:
		p.Pair = soonFinal
	}
	if account := magic[p.Shape]; account != "" {
		p.Account = account
	}
	if p.Shape == ClaimedTwice || p.Shape == Withdrawn {
		p.Account = ""
	}
	p.Fiat = fiatLeast + random.IntN(fiatMore)
	if l.cfg.Transfer != nil {
		p.Fiat += fiatLive - fiatLeast // live networks have least amounts
	}
	if p.Shape == DustLast || p.Shape == DustAlone {
		p.Fiat = fiatLeast // a hundredth of it is dust
	}
	return p
}

// soonFinal is a pair of the simulated chain whose blocks are final soon: a balance has only money of final blocks.
var soonFinal = Pair{"USDT", "bsc"}

// payer is the address to which money goes back.
func (l *Load) payer(pair Pair) string {
	if l.cfg.Transfer != nil {
		return l.cfg.Payers[pair.Network]
	}
	return payers[pair.Network]
}

// pay creates one payment and does what its shape says.
func (l *Load) pay(ctx context.Context, p *Payment) {
	var created struct {
		Payment struct {
			Reference      string      `json:"reference"`
			DepositAddress string      `json:"depositAddress"`
			CryptoAmount   json.Number `json:"cryptoAmount"`
			CreatedAt      time.Time   `json:"createdAt"`
		} `json:"payment"`
	}
	body := map[string]any{
		"type": "transfer", "fiatAmount": p.Fiat, "fiatCurrency": "NGN", "crypto": p.Pair.Crypto, "network": p.Pair.Network, "chargeFrom": "fiat",
		"payer":    map[string]string{"chatId": "chaos"},
		"receiver": map[string]string{"bankCode": "058", "accountNumber": p.Account},
		"metadata": map[string]string{"chaos": p.Key}, "callbackUrl": l.cfg.Callback,
	}
	if p.Shape == ClaimedTwice {
		body["type"] = "gift"
		delete(body, "receiver")
	}
	if p.Shape == Withdrawn {
		body["type"] = "merchant"
		delete(body, "receiver")
		delete(body, "payer")
	}
	err := l.persist(ctx, "/v1/payments", "create-"+p.Key, body, &created)
	if p.Shape == NoAccount && errors.Is(err, errFinal) && strings.Contains(err.Error(), "receiver.accountNumber") {
		l.note(func() { p.Refused = true })
		return
	}
	if err != nil {
		l.note(func() { p.Problem = "create: " + err.Error() })
		return
	}
	l.note(func() {
		p.Reference, p.Address, p.CryptoAmount = created.Payment.Reference, created.Payment.DepositAddress, created.Payment.CryptoAmount.String()
		p.CreatedAt, p.Answered = created.Payment.CreatedAt, time.Now()
	})
	if err := l.act(ctx, p); err != nil {
		l.note(func() { p.Problem = err.Error() })
	}
}

func (l *Load) note(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// errFinal is an answer that repeating does not change.
var errFinal = errors.New("refused")

// persist repeats one request of the merchant under its key until it is answered.
func (l *Load) persist(ctx context.Context, path, key string, body, answer any) error {
	return l.persistAs(ctx, l.cfg.APIKey, path, key, body, answer)
}

// persistAs does the same for the bearer of a token.
func (l *Load) persistAs(ctx context.Context, token, path, key string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for try := 0; ; try++ {
		err := l.post(ctx, token, l.gateway(key, try)+path, key, body, answer)
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

// passes reports whether a conflict ends by itself: another request under the key is under way, or withdrawals are.
func passes(content []byte) bool {
	return bytes.Contains(content, []byte("idempotency_in_progress")) || bytes.Contains(content, []byte("too_many_withdrawals"))
}

func (l *Load) post(ctx context.Context, token, address, key string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%w: rendering the request: %w", errFinal, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%w: %w", errFinal, err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
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
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusConflict && passes(content):
		return fmt.Errorf("%s: %.200s", response.Status, content)
	default:
		return fmt.Errorf("%w: %s: %.300s", errFinal, response.Status, content)
	}
}
