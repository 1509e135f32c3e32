package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestRounding(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in             string
		digits         int
		up, down, half string
	}{
		{"15.62500", 4, "15.625", "15.625", "15.625"},
		{"15.93751", 4, "15.9376", "15.9375", "15.9375"},
		{"15.93755", 4, "15.9376", "15.9375", "15.9376"},
		{"0.001", 2, "0.01", "0", "0"},
		{"0.005", 2, "0.01", "0", "0.01"},
		{"7", 0, "7", "7", "7"},
	} {
		x := Rat(test.in)
		if Ceil(x, test.digits).Cmp(Rat(test.up)) != 0 || Floor(x, test.digits).Cmp(Rat(test.down)) != 0 || HalfUp(x, test.digits).Cmp(Rat(test.half)) != 0 {
			t.Errorf("round %s: got %s up, %s down and %s to the nearest; want %s, %s and %s", test.in, Ceil(x, test.digits), Floor(x, test.digits), HalfUp(x, test.digits), test.up, test.down, test.half)
		}
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	a := Parse(t, []byte(`{"payment":{"charge":{"fiat":500.00},"settledAt":null,"transfers":[{"txHash":"a"},{"txHash":"b"}]},"error":{"fields":[{"field":"x"}]}}`))
	if a.Number(t, "payment.charge.fiat").Cmp(Rat("500")) != 0 || !a.Null("payment.settledAt") || a.Null("payment.absent") {
		t.Error("numbers or nulls are read wrong")
	}
	if a.Text(t, "payment.transfers.1.txHash") != "b" || a.Len(t, "payment.transfers") != 2 {
		t.Error("lists are read wrong")
	}
	if f := a.FieldErrors(); len(f) != 1 || f[0] != "x" {
		t.Errorf("fields %v", f)
	}
}

// Call repeats what the API asks to repeat, with the same Idempotency-Key and at most three times, and nothing else.
func TestCall_repeats(t *testing.T) {
	t.Parallel()
	const slow, busy = `{"error":{"code":"upstream_timeout"}}`, `{"error":{"code":"service_unavailable"}}`
	for name, test := range map[string]struct {
		method  string
		status  int
		body    string
		after   string
		options []Option
		refused int // answers before the good one
		calls   int
		keys    int // different Idempotency-Keys
	}{
		"too slow once":             {"POST", 504, slow, "0", nil, 1, 2, 1},
		"away twice":                {"POST", 503, busy, "0", nil, 2, 3, 1},
		"away for good":             {"POST", 503, busy, "0", nil, 9, 4, 1},
		"a read":                    {"GET", 504, slow, "0", nil, 1, 2, 0},
		"a key of the test":         {"POST", 503, busy, "0", []Option{Header("Idempotency-Key", "mine")}, 1, 2, 1},
		"no key":                    {"POST", 503, busy, "0", []Option{Header("Idempotency-Key", "")}, 1, 2, 0},
		"the test wants the answer": {"POST", 503, busy, "0", []Option{Once}, 1, 1, 1},
		"no time is named":          {"POST", 503, busy, "", nil, 1, 1, 1},
		"still at work":             {"POST", 409, `{"error":{"code":"idempotency_in_progress"}}`, "0", nil, 1, 2, 1},
		"another conflict":          {"POST", 409, busy, "0", nil, 1, 1, 1},
		"another timeout":           {"POST", 504, busy, "0", nil, 1, 1, 1},
		"a fault":                   {"POST", 500, busy, "0", nil, 1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls, keys := 0, map[string]bool{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if key := r.Header.Get("Idempotency-Key"); key != "" {
					keys[key] = true
				}
				w.Header().Set("Content-Type", "application/json")
				if calls++; calls > test.refused {
					fmt.Fprint(w, `{"success":true}`)
					return
				}
				if test.after != "" {
					w.Header().Set("Retry-After", test.after)
				}
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			}))
			t.Cleanup(server.Close)
			c := &Client{Base: server.URL, HTTP: server.Client()}
			answer := c.Call(t, test.method, "/", nil, test.options...)
			want := http.StatusOK
			if test.calls <= test.refused {
				want = test.status
			}
			if answer.Status != want || calls != test.calls || len(keys) != test.keys {
				t.Errorf("call with %d bad answers: got %d after %d calls under %d keys, want %d after %d under %d",
					test.refused, answer.Status, calls, len(keys), want, test.calls, test.keys)
			}
		})
	}
}
