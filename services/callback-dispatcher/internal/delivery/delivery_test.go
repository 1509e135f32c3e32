package delivery

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/tenant"
	webhook "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"pgregory.net/rapid"
)

func middle(n int64) int64 { return n / 2 }
func low(int64) int64      { return 0 }
func high(n int64) int64   { return n - 1 }

func TestStandard_is13AttemptsIn72Hours(t *testing.T) {
	var sum time.Duration
	for _, wait := range Standard {
		sum += wait
	}
	if Standard.Attempts() != 13 || sum > 72*time.Hour || sum < 71*time.Hour {
		t.Fatalf("%d attempts in %v", Standard.Attempts(), sum)
	}
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		o      Outcome
		made   int
		jitter func(int64) int64
		want   Verdict
	}{
		"delivered":              {Outcome{Class: "ok", Status: 204}, 1, middle, Verdict{State: Delivered, Delay: 0}},
		"delivered at the last":  {Outcome{Class: "ok", Status: 200}, 13, middle, Verdict{State: Delivered, Delay: 0}},
		"first failure":          {Outcome{Class: "http_5xx", Status: 500}, 1, middle, Verdict{State: Due, Delay: 5 * time.Second}},
		"jitter down":            {Outcome{Class: "reset"}, 1, low, Verdict{State: Due, Delay: 4 * time.Second}},
		"jitter up":              {Outcome{Class: "reset"}, 1, high, Verdict{State: Due, Delay: 6 * time.Second}},
		"redirect is a failure":  {Outcome{Class: "redirect", Status: 302}, 2, middle, Verdict{State: Due, Delay: 30 * time.Second}},
		"twelfth failure":        {Outcome{Class: "timeout_response"}, 12, middle, Verdict{State: Due, Delay: 24 * time.Hour}},
		"thirteenth failure":     {Outcome{Class: "timeout_response"}, 13, middle, Verdict{State: Exhausted, Delay: 0}},
		"gone":                   {Outcome{Class: "gone", Status: 410}, 1, middle, Verdict{State: Exhausted, Delay: 0}},
		"blocked":                {Outcome{Class: "blocked_ssrf"}, 1, middle, Verdict{State: Exhausted, Delay: 0}},
		"retry-after":            {Outcome{Class: "throttled", Status: 429, RetryAfter: time.Minute}, 1, middle, Verdict{State: Due, Delay: time.Minute}},
		"retry-after of 503":     {Outcome{Class: "http_5xx", Status: 503, RetryAfter: time.Minute}, 1, middle, Verdict{State: Due, Delay: time.Minute}},
		"not of 500":             {Outcome{Class: "http_5xx", Status: 500, RetryAfter: time.Minute}, 1, middle, Verdict{State: Due, Delay: 5 * time.Second}},
		"retry-after too short":  {Outcome{Class: "throttled", Status: 429, RetryAfter: time.Second}, 1, middle, Verdict{State: Due, Delay: 5 * time.Second}},
		"retry-after too long":   {Outcome{Class: "throttled", Status: 429, RetryAfter: 9 * time.Hour}, 1, middle, Verdict{State: Due, Delay: 15*time.Minute + 10*time.Second}},
		"retry-after over a day": {Outcome{Class: "throttled", Status: 429, RetryAfter: 99 * time.Hour}, 11, middle, Verdict{State: Due, Delay: 24 * time.Hour}},
		"retry-after at the end": {Outcome{Class: "throttled", Status: 429, RetryAfter: time.Second}, 13, middle, Verdict{State: Exhausted, Delay: 0}},
	} {
		if got := Standard.Judge(Delivery{Attempts: c.made - 1}, c.o, c.jitter); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// A delivery is attempted at most 13 times, waits stay within 20 % of the schedule or what the
// endpoint asked for, and only a success, a 410 or a refused address ends it earlier.
func TestJudge_property(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := []string{"ok", "http_4xx", "http_5xx", "throttled", "gone", "redirect", "timeout_connect", "reset", "blocked_ssrf"}
		seed := rapid.Uint64().Draw(t, "seed")
		rng := rand.New(rand.NewPCG(seed, 1))
		for made := 1; ; made++ {
			if made > 13 {
				t.Fatal("a fourteenth attempt")
			}
			o := Outcome{Class: rapid.SampledFrom(classes).Draw(t, "class"), Status: rapid.SampledFrom([]int{0, 429, 500, 503}).Draw(t, "status")}
			o.RetryAfter = time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "retry-after"))
			v := Standard.Judge(Delivery{Attempts: made - 1}, o, rng.Int64N)
			if v.State != Due {
				early := slices.Contains([]string{"ok", "gone", "blocked_ssrf"}, o.Class)
				if !early && made < 13 {
					t.Fatalf("over after %d attempts with %s", made, o.Class)
				}
				return
			}
			base := Standard[made-1]
			if v.Delay < base*8/10 || v.Delay > max(base*12/10, min(2*base+15*time.Minute, 24*time.Hour)) {
				t.Fatalf("attempt %d waits %v for %v", made, v.Delay, base)
			}
		}
	})
}

func TestParseSchedule(t *testing.T) {
	if s, err := ParseSchedule(" "); err != nil || !slices.Equal(s, Standard) {
		t.Fatalf("parse an empty schedule: got %v, %v, want the standard one", s, err)
	}
	if s, err := ParseSchedule("50ms, 1s,2m"); err != nil || !slices.Equal(s, Schedule{50 * time.Millisecond, time.Second, 2 * time.Minute}) {
		t.Fatalf("parse a schedule of three waits: got %v, %v, want 50ms, 1s, 2m", s, err)
	}
	for _, bad := range []string{"x", "0s", "-1s", "25h", "5", "1s,,2s", strings.Repeat("1s,", 31) + "1s", strings.Repeat("24h,", 7) + "1h"} {
		if s, err := ParseSchedule(bad); err == nil {
			t.Errorf("%q became %v", bad, s)
		}
	}
}

// The worked example of the Standard Webhooks specification and its reference libraries.
func TestSign_vector(t *testing.T) {
	key, err := KeyOf("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := Sign([]*Key{key}, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

// The official library accepts what we sign, for every body, under either secret of a rotation.
func TestSign_officialLibraryAccepts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fresh, old := NewSecret(), NewSecret()
		var keys []*Key
		for _, s := range []string{fresh, old} {
			key, err := KeyOf(s)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
		}
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		id := "evt_" + rapid.StringMatching(`[0-9a-z]{26}`).Draw(t, "id")
		at := time.Now()
		header := http.Header{}
		header.Set("webhook-id", id)
		header.Set("webhook-timestamp", fmt.Sprint(at.Unix()))
		header.Set("webhook-signature", Sign(keys, id, at, body))
		for _, secret := range []string{fresh, old} {
			wh, err := webhook.NewWebhook(secret)
			if err != nil {
				t.Fatal(err)
			}
			if err := wh.Verify(body, header); err != nil {
				t.Fatalf("refused: %v", err)
			}
		}
		other, _ := webhook.NewWebhook(NewSecret())
		if other.Verify(body, header) == nil {
			t.Fatal("accepted under another secret")
		}
	})
}

func TestSecrets(t *testing.T) {
	s := NewSecret()
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, SecretPrefix))
	if err != nil || len(raw) != 32 || s == NewSecret() {
		t.Fatalf("secret %q: %v", s, err)
	}
	for _, bad := range []string{"", "whsec_", "abc", "whsec_!!!", "whsec_c2hvcnQ=", "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65))} {
		if _, err := KeyOf(bad); err == nil {
			t.Errorf("%q accepted", bad)
		}
	}
}

func TestValidID(t *testing.T) {
	for id, want := range map[string]bool{
		"evt_01h": true, "": false, "a.b": false, "a b": false, "a\nb": false, "é": false, strings.Repeat("x", 65): false,
	} {
		if ValidID(id) != want {
			t.Errorf("is %q a valid id: got %v", id, !want)
		}
	}
}

func TestTargetOf_separatesMerchantsAndModes(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range [][3]string{{"m", "test", "u"}, {"m", "live", "u"}, {"n", "test", "u"}, {"m", "test", "v"}} {
		target := TargetOf(tenant.Owner{MerchantID: c[0], Mode: tenant.Mode(c[1])}, c[2])
		if seen[target] || len(target) != 36 {
			t.Errorf("derive the target of %v: got %s, want 36 characters that no other has", c, target)
		}
		seen[target] = true
	}
}
