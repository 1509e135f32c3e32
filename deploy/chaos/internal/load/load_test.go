package load

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The published example of Standard Webhooks 1.0.
func TestVerify(t *testing.T) {
	const secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"test": 2432232314}`
	now := time.Unix(1614265330, 0)
	header := http.Header{}
	header.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	header.Set("webhook-timestamp", "1614265330")
	header.Set("webhook-signature", "v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	if err := verify(secret, header, []byte(body), now); err != nil {
		t.Errorf("the published signature: %v", err)
	}
	for name, err := range map[string]error{
		"another body":   verify(secret, header, []byte(body+" "), now),
		"another secret": verify("whsec_AAAA", header, []byte(body), now),
		"too old":        verify(secret, header, []byte(body), now.Add(clockTolerance+time.Second)),
		"no header":      verify(secret, http.Header{}, []byte(body), now),
	} {
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestReceiver_refusesOnlyFirstAttempts(t *testing.T) {
	r, err := Listen("whsec_AAAA", 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.note(Delivery{EventID: "evt_1"}) || !r.note(Delivery{EventID: "evt_1"}) || r.note(Delivery{EventID: "evt_2"}) {
		t.Error("want: refused, accepted, refused")
	}
	if n := len(r.Deliveries()); n != 3 {
		t.Errorf("%d deliveries", n)
	}
}

// A merchant whose answers are lost repeats the same request under the same key and ends with one payment.
func TestLoad_repeatsUntilAnswered(t *testing.T) {
	var tries, deposits atomic.Int64
	var mu sync.Mutex
	keys := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		keys[r.Header.Get("Idempotency-Key")]++
		mu.Unlock()
		switch n := tries.Add(1); {
		case n == 1:
			w.WriteHeader(http.StatusBadGateway)
		case n == 2:
			panic(http.ErrAbortHandler) // the connection breaks before an answer
		case strings.HasSuffix(r.URL.Path, "/deposits"):
			deposits.Add(1)
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"success":true}`))
		default:
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(map[string]any{"payment": map[string]any{"reference": "CW-A", "depositAddress": "T1", "cryptoAmount": 31.25}})
		}
	}))
	defer server.Close()
	l := &Load{cfg: Config{Gateways: []string{server.URL}}, client: server.Client()}
	p := &Payment{Key: "run-0", Pair: Pair{"USDT", "tron"}, Fiat: 5000, Shape: Plain}
	l.pay(t.Context(), p)
	if p.Problem != "" || p.Reference != "CW-A" || p.CryptoAmount != "31.25" || !slices.Equal(p.Sent, []string{"31.25"}) || deposits.Load() != 1 {
		t.Errorf("payment %+v after %d deposits", p, deposits.Load())
	}
	if keys["create-run-0"] != 3 || keys["deposit-0-run-0"] != 1 || l.Retries() < 1 { // the transport itself repeats a keyed request whose connection broke
		t.Errorf("keys %v, %d retries", keys, l.Retries())
	}
}

func TestLoad_doesNotRepeatARefusal(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	defer server.Close()
	l := &Load{cfg: Config{Gateways: []string{server.URL}}, client: server.Client()}
	if err := l.persist(t.Context(), "/v1/payments", "k", nil, nil); !errors.Is(err, errFinal) || l.Retries() != 0 {
		t.Errorf("%v after %d retries", err, l.Retries())
	}
}

// The two parts of a payment add up to the due, to the last digit, and no part is finer than its asset.
func TestShare_addsUp(t *testing.T) {
	for _, due := range []string{"3.125", "0.00003334", "312.5001", "31.2503"} {
		for _, hundredths := range []int64{1, 50, 60, 99} {
			part := share(due, hundredths)
			rest := minus(due, part)
			if sum := new(big.Rat).Add(rat(part), rat(rest)); sum.Cmp(rat(due)) != 0 || rat(part).Sign() <= 0 {
				t.Errorf("%s of %s and %s", part, due, rest)
			}
			if _, places, _ := strings.Cut(part, "."); len(places) > digitsMost || len(places) > digits && due != "0.00003334" {
				t.Errorf("%s is too fine", part)
			}
		}
	}
}

// Every shape is drawn, and the plain one most often.
func TestDraw_everyShape(t *testing.T) {
	drawn, total := map[Shape]int{}, 0
	for _, s := range shapes {
		total += s.weight
	}
	for n := range total {
		drawn[draw(shapes, func(int) int { return n })]++
	}
	for _, s := range shapes {
		if drawn[s.shape] != s.weight {
			t.Errorf("%s is drawn %d times of %d", s.shape, drawn[s.shape], s.weight)
		}
	}
}
