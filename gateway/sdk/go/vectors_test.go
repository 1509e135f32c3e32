package causeway

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// vectors are the recorded cases that every client passes.
type vectors struct {
	Keys []struct {
		Key, Kind string
		Mode      *string
	}
	RequestSignatures []struct {
		Name, Secret, Method, Path, Body, Signature string
		Timestamp                                   int64
	}
	Webhooks []struct {
		Name, Body string
		Headers    map[string]string
		Secrets    []string
		Now        int64
		Error      *string
	}
	BadWebhookSecrets []string
	Decimals          []struct{ Text, Want string }
	BadDecimals       []string
	Arithmetic        []struct {
		A, B, Sum, Difference, Product string
		Compare                        int
	}
	Retries []struct {
		Name    string
		Failure struct {
			Status     int
			Code       ErrorCode
			RetryAfter *int
		}
		Repeatable          bool
		Attempt, MaxRetries int
		Random              float64
		MaxWait             int64
		Wait                *int64
	}
}

func load(t *testing.T) (v vectors) {
	t.Helper()
	raw, err := os.ReadFile("../testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVectors_keys(t *testing.T) {
	for _, c := range load(t).Keys {
		mode, err := keyMode(c.Key, c.Kind)
		if (err == nil) != (c.Mode != nil) || err == nil && string(mode) != *c.Mode {
			t.Errorf("keyMode(%q, %s) = %q, %v", c.Key, c.Kind, mode, err)
		}
		if err != nil && len(c.Key) > 8 && strings.Contains(err.Error(), c.Key[8:]) {
			t.Errorf("the error shows the key: %v", err)
		}
	}
}

func TestVectors_signatures(t *testing.T) {
	for _, c := range load(t).RequestSignatures {
		if got := requestSignature(c.Secret, c.Timestamp, c.Method, c.Path, []byte(c.Body)); got != c.Signature {
			t.Errorf("%s: got %s, want %s", c.Name, got, c.Signature)
		}
	}
}

func TestVectors_webhooks(t *testing.T) {
	v := load(t)
	for _, c := range v.Webhooks {
		header := http.Header{}
		for name, value := range c.Headers {
			header.Set(name, value)
		}
		event, err := verifyWebhook([]byte(c.Body), header, time.Unix(c.Now, 0), c.Secrets)
		if c.Error == nil {
			if err != nil || event == nil {
				t.Errorf("verify %s: %v, want no error", c.Name, err)
			}
			continue
		}
		if w, ok := errors.AsType[*WebhookError](err); !ok || w.Reason != *c.Error {
			t.Errorf("%s: got %v, want a WebhookError for %s", c.Name, err, *c.Error)
		}
	}
	c := v.Webhooks[1]
	header := http.Header{}
	for name, value := range c.Headers {
		header.Set(name, value)
	}
	event, err := verifyWebhook([]byte(c.Body), header, time.Unix(c.Now, 0), c.Secrets)
	if err != nil {
		t.Fatal(err)
	}
	data, err := event.Payment()
	if err != nil || data.Payment.FiatAmount.String() != "1234567.89" || data.Payment.CryptoAmount.String() != "0.000000000000000001" {
		t.Errorf("read the amounts of an event: got %+v, %v", data, err)
	}
	for _, secret := range v.BadWebhookSecrets {
		_, err := VerifyWebhook([]byte(c.Body), header, secret)
		if _, forged := errors.AsType[*WebhookError](err); err == nil || forged {
			t.Errorf("verify with the secret %q: got %v, want an error of the program", secret, err)
		}
	}
	if _, err := VerifyWebhook([]byte(c.Body), header); err == nil {
		t.Error("verify without a secret: got no error")
	}
}

func TestVectors_decimals(t *testing.T) {
	v := load(t)
	for _, c := range v.Decimals {
		var d Decimal
		if err := json.Unmarshal([]byte(c.Text), &d); err != nil || d.String() != c.Want {
			t.Errorf("read %s: got %s, %v; want %s", c.Text, d, err, c.Want)
		}
		if raw, err := json.Marshal(d); err != nil || string(raw) != c.Want {
			t.Errorf("write %s: got %s, %v", c.Want, raw, err)
		}
	}
	for _, text := range v.BadDecimals {
		if d, err := ParseDecimal(text); err == nil {
			t.Errorf("ParseDecimal(%q) = %s, want an error", text, d)
		}
	}
	for _, c := range v.Arithmetic {
		a, b := MustDecimal(c.A), MustDecimal(c.B)
		if got := []string{a.Add(b).String(), a.Sub(b).String(), a.Mul(b).String()}; got[0] != c.Sum || got[1] != c.Difference || got[2] != c.Product || a.Cmp(b) != c.Compare {
			t.Errorf("%s and %s: got %v and %d", c.A, c.B, got, a.Cmp(b))
		}
		if a.String() != MustDecimal(c.A).String() || b.String() != MustDecimal(c.B).String() {
			t.Errorf("arithmetic has changed %s or %s", c.A, c.B)
		}
	}
}

func TestVectors_retries(t *testing.T) {
	for _, c := range load(t).Retries {
		f := failure{c.Failure.Status, c.Failure.Code, -1}
		if c.Failure.RetryAfter != nil {
			f.retryAfter = time.Duration(*c.Failure.RetryAfter) * time.Second
		}
		wait, again := retryWait(f, c.Repeatable, c.Attempt, c.MaxRetries, time.Duration(c.MaxWait)*time.Millisecond, c.Random)
		if again != (c.Wait != nil) || again && wait.Milliseconds() != *c.Wait {
			t.Errorf("%s: got %v, %t; want %v", c.Name, wait, again, c.Wait)
		}
	}
}
