package receiver

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	webhook "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	secret = "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	other  = "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{8}, 32))
)

func body(id, object string, sequence int) string {
	return fmt.Sprintf(`{"id":%q,"type":"payment.pending","createdAt":"2026-04-01T13:30:00.000Z","mode":"test","data":{"payment":{"reference":%q,"sequence":%d}}}`,
		id, object, sequence)
}

func post(t *testing.T, url, id, payload, key string) (*http.Response, error) {
	t.Helper()
	now := time.Now()
	wh, err := webhook.NewWebhook(key)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := wh.Sign(id, now, []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(payload))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Webhook-Id", id)
	req.Header.Set("Webhook-Timestamp", fmt.Sprint(now.Unix()))
	req.Header.Set("Webhook-Signature", signature)
	client := &http.Client{Timeout: 300 * time.Millisecond, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	return resp, err
}

func TestReceiver_verifiesLikeTheOfficialLibrary(t *testing.T) {
	r := Start(t)
	r.Secrets("", secret)
	r.Secrets("/both", other, secret)
	r.Secrets("/wrong", other)
	for _, path := range []string{"/plain", "/both", "/wrong"} {
		if _, err := post(t, r.URL(path), "evt_1", body("evt_1", "CW-1", 1), secret); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := post(t, r.URL("/plain"), "evt_2", body("evt_3", "CW-1", 2), secret); err != nil {
		t.Fatal(err)
	}
	got := r.Deliveries()
	if len(got) != 4 || !got[0].OK() || !got[1].OK() || got[2].Problem == nil || got[3].Problem == nil {
		t.Fatalf("got %+v", got)
	}
	if d := got[0]; d.Object != "payment/CW-1" || d.Sequence != 1 || d.Type != "payment.pending" || d.Attempt != 1 || d.Mode != "test" {
		t.Fatalf("got %+v", d)
	}
}

func TestVerify_refuses(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	wh, _ := webhook.NewWebhook(secret)
	signature, _ := wh.Sign("evt_1", now, []byte("x"))
	good := func() http.Header {
		return http.Header{"Webhook-Id": {"evt_1"}, "Webhook-Timestamp": {fmt.Sprint(now.Unix())}, "Webhook-Signature": {"v1,AAAA v2,x " + signature}}
	}
	if err := Verify([]string{secret}, good(), []byte("x"), now); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(h http.Header){
		"id": func(h http.Header) { h.Set("Webhook-Id", "evt_2") }, "no id": func(h http.Header) { h.Del("Webhook-Id") },
		"stamp": func(h http.Header) { h.Set("Webhook-Timestamp", fmt.Sprint(now.Unix()+1)) },
		"old":   func(h http.Header) { h.Set("Webhook-Timestamp", fmt.Sprint(now.Unix()-301)) },
		"text":  func(h http.Header) { h.Set("Webhook-Timestamp", "now") },
		"none":  func(h http.Header) { h.Del("Webhook-Signature") },
		"v2":    func(h http.Header) { h.Set("Webhook-Signature", strings.Replace(signature, "v1", "v2", 1)) },
	} {
		h := good()
		change(h)
		if Verify([]string{secret}, h, []byte("x"), now) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if Verify([]string{secret}, good(), []byte("y"), now) == nil || Verify([]string{other}, good(), []byte("x"), now) == nil {
		t.Error("another body or secret accepted")
	}
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault  Fault
		status int // 0 = the client gets an error
	}{
		"status": {Status(418), 418}, "busy": {Busy(429, 7), 429}, "redirect": {RedirectTo("http://x.test/"), 307},
		"hang": {Hang(time.Hour), 0}, "slow": {Slow(time.Millisecond), 200}, "reset": {Reset(), 0}, "drip": {Drip(time.Millisecond), 200},
		"endless": {Endless(), 200}, "head": {HugeHead(11 << 20), 0}, "garbage": {Garbage(), 0}, "first": {FailFirst(1, Status(500)), 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Start(t)
			r.Fault("/x", c.fault)
			resp, err := post(t, r.URL("/x"), "evt_1", body("evt_1", "CW-1", 1), secret)
			if (err != nil) != (c.status == 0) || err == nil && resp.StatusCode != c.status {
				t.Fatalf("got %v, %v", resp, err)
			}
			if name == "busy" && resp.Header.Get("Retry-After") != "7" {
				t.Error("no Retry-After")
			}
			r.Fault("/x", nil)
			if resp, err = post(t, r.URL("/x"), "evt_1", body("evt_1", "CW-1", 1), secret); err != nil || resp.StatusCode != 200 {
				t.Fatalf("after the fault: %v, %v", resp, err)
			}
			r.AwaitAccepted(t, time.Second, "/x", 1)
			if d := r.Deliveries()[1]; d.Attempt != 2 {
				t.Fatalf("attempt %d", d.Attempt)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	d := func(path, id, object string, sequence int64, status int) Delivery {
		return Delivery{Path: path, ID: id, Object: object, Sequence: sequence, Status: status}
	}
	clean := Judge([]Delivery{
		d("/a", "1", "p", 1, 500), d("/a", "2", "p", 2, 200), d("/a", "1", "p", 1, 200), d("/b", "1", "p", 1, 200), d("/b", "1", "p", 1, 200),
	}, map[string][]string{"/a": {"1", "2"}, "/b": {"1"}})
	if !clean.Clean() || len(clean.Reordered) != 0 || len(clean.Repeated) != 1 || clean.Accepted != 3 || clean.Arrivals != 5 {
		t.Fatalf("judge right deliveries: got %v %+v, want 3 accepted of 5, one of them again", clean, clean)
	}
	bad := Judge([]Delivery{
		d("/a", "2", "p", 2, 200), d("/a", "1", "p", 1, 200), d("/a", "9", "p", 2, 200), d("/a", "4", "p", 4, 200),
		{Path: "/a", ID: "x", Problem: http.ErrNotSupported},
	}, map[string][]string{"/a": {"7"}})
	if len(bad.Lost) != 2 || len(bad.Doubled) != 1 || len(bad.Reordered) != 1 || len(bad.Invalid) != 1 || bad.Clean() {
		t.Fatalf("judge wrong deliveries: got %v %+v, want 2 lost and one each doubled, reordered and invalid", bad, bad)
	}
}

// The error of a check is in the delivery, signed or not.
func TestReceiver_check(t *testing.T) {
	r := Start(t)
	bad := errors.New("not as described")
	r.Check(func(raw []byte) error {
		if strings.Contains(string(raw), "CW-2") {
			return bad
		}
		return nil
	})
	r.Secrets("/signed", secret)
	for _, path := range []string{"/plain", "/signed"} {
		for i, object := range []string{"CW-1", "CW-2"} {
			id := fmt.Sprintf("evt_%d", i)
			if _, err := post(t, r.URL(path), id, body(id, object, 1), secret); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, d := range r.Deliveries() {
		if (d.Object == "payment/CW-2") != errors.Is(d.Problem, bad) {
			t.Errorf("check the delivery to %s of %s: got %v", d.Path, d.Object, d.Problem)
		}
	}
}
