package attempt

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/keyring"
	"causeway.internal/libs/outbound"
	"causeway.internal/libs/wire"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"7": 7 * time.Second, "-3": 0, "soon": 0, "99999999999": 7 * 24 * time.Hour, "1.5": 0,
		"Wed, 01 Apr 2026 12:01:00 GMT": time.Minute, "Wed, 01 Apr 2026 11:00:00 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

// The token takes the place of the first mask alone; what a merchant wrote further on stays as it is.
func TestBody_holdsTheSettlementToken(t *testing.T) {
	ring, err := keyring.Parse("t1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	stored := `{"id":"evt_1","data":{"payment":{"settlementToken":"***","metadata":{"settlementToken":"***"}}}}`
	d := delivery.Delivery{EventID: "evt_1", Body: []byte(stored), Token: ring.Seal([]byte("stk_1"), wire.TokenPlace("evt_1"))}
	s := New(nil, ring, keyring.Optional{}, nil, nil, time.Now)
	got, err := s.body(d)
	if want := `{"id":"evt_1","data":{"payment":{"settlementToken":"stk_1","metadata":{"settlementToken":"***"}}}}`; err != nil || string(got) != want {
		t.Errorf("put the settlement token in: got %s, %v, want %s", got, err, want)
	}
	if string(d.Body) != stored {
		t.Error("the stored body was changed")
	}
	d.EventID = "evt_2"
	if _, err := s.body(d); !errors.Is(err, app.ErrUnopened) {
		t.Error("a token of another event opened")
	}
	if _, err := New(nil, nil, keyring.Optional{}, nil, nil, time.Now).body(d); !errors.Is(err, app.ErrUnopened) {
		t.Error("a token opened without keys")
	}
}

// Any answer of an endpoint must fit into text columns.
func TestOutcome_isAlwaysText(t *testing.T) {
	s := New(nil, nil, keyring.Optional{}, nil, nil, time.Now)
	o := s.outcome(delivery.Delivery{}, outbound.Result{
		Class: outbound.Reset, Err: &outbound.StatusError{Status: 500},
		Header: http.Header{"Server": {"a\x00\xff" + strings.Repeat("é", 2000)}},
	}, time.Now(), 1)
	for _, text := range []string{o.Headers, o.Detail} {
		if strings.ContainsRune(text, 0) || strings.ToValidUTF8(text, "") != text || len(text) > 4096 {
			t.Errorf("write the outcome: got %q, want valid text of at most 4096 bytes", text)
		}
	}
}

// An endpoint may answer with what it was sent, so the first bytes of its answer are kept as the event is.
func TestOutcome_sealsTheExcerpt(t *testing.T) {
	keys, err := keyring.ParseOptional("p1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	echo := []byte("ADA OBI\x00")
	for _, c := range []struct {
		keys  keyring.Optional
		plain bool
	}{{keys, false}, {keyring.Optional{}, true}} {
		s := New(nil, nil, c.keys, nil, nil, time.Now)
		kept := s.outcome(delivery.Delivery{ID: "dlv_1"}, outbound.Result{Excerpt: echo}, time.Now(), 1).Excerpt
		if bytes.Equal(kept, echo) != c.plain {
			t.Errorf("kept %q", kept)
		}
		if got, err := c.keys.Open(kept, app.ExcerptPlace("dlv_1")); err != nil || !bytes.Equal(got, echo) {
			t.Errorf("opens as %q, %v", got, err)
		}
		if kept := s.outcome(delivery.Delivery{}, outbound.Result{}, time.Now(), 1).Excerpt; len(kept) != 0 {
			t.Errorf("of an empty answer %q is kept", kept)
		}
	}
}

func TestText_isJSON(t *testing.T) {
	h := http.Header{"Server": {"a"}, "Date": {"b"}, "Content-Type": {`text/html; charset="é<&>\"`}, "X-Other": {"c"}}
	if got, want := text(h), `{"content-type":"text/html; charset=\"é\u003c\u0026\u003e\\\"","date":"b","server":"a"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for c := range 256 {
		var got map[string]string
		value := "a" + string([]byte{byte(c)})
		if err := json.Unmarshal([]byte(text(http.Header{"Location": {value}, "Retry-After": {""}})), &got); err != nil || len(got) != 1 || got["location"] != clean(value, 9) {
			t.Errorf("%q became %q, %v", value, got, err)
		}
	}
	if got := text(http.Header{"X-Other": {"c"}}); got != "{}" {
		t.Errorf("got %s", got)
	}
}

// A sealed body is opened to be sent, and its settlement token put in; one that does not open is not sent.
func TestBody_sealed(t *testing.T) {
	keys, err := keyring.ParseOptional("p1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	s := New(nil, keys, keys, nil, nil, time.Now)
	plain := []byte(`{"id":"evt_1",` + wire.TokenMask + `}`)
	d := delivery.Delivery{EventID: "evt_1", Body: keys.Seal(plain, wire.BodyPlace("evt_1"))}
	if body, err := s.body(d); err != nil || string(body) != string(plain) {
		t.Errorf("open a sealed body: got %s, %v, want %s", body, err, plain)
	}
	d.Token = keys.Seal([]byte("stl_x"), wire.TokenPlace("evt_1"))
	if body, err := s.body(d); err != nil || string(body) != `{"id":"evt_1","settlementToken":"stl_x"}` {
		t.Errorf("open a sealed body with its token: got %s, %v", body, err)
	}
	d.EventID = "evt_2"
	if body, err := s.body(d); !errors.Is(err, app.ErrUnopened) {
		t.Errorf("another event's body is sent: %s, %v", body, err)
	}
}
