// Package delivery holds the rules of bringing one event to one target: when the next attempt is due, when none
// follows, how a request is signed and what a secret looks like (docs/api-contract.md#webhooks, Standard Webhooks
// 1.0). It is pure: no clock, no network, no database, no randomness but what it is given, save for the making of
// secrets.
package delivery

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"causeway.internal/libs/tenant"
)

// Delivery is one event on its way to one target.
type Delivery struct {
	ID         string
	EventID    string
	MerchantID string
	Mode       tenant.Mode
	EndpointID string // "" for a payment's callbackUrl
	Target     string // the lane: endpoint id, or TargetOf the callbackUrl
	URL        string
	Type       string
	ObjectID   string
	Sequence   int64
	Attempts   int       // made so far
	Base       int       // of them, those before this run of the schedule: a delivery that was retried by hand starts over
	Trigger    string    // why the attempt is made: Auto, Manual or Replay
	DueAt      time.Time // when the attempt was due, by the database's clock
	AcceptedAt time.Time // when the event was taken in, by the database's clock
	Trace      string
	Body       []byte
	Token      []byte // sealed settlementToken, nil for nearly every event
}

// The triggers of an attempt.
const (
	Auto   = "auto"
	Manual = "manual"
	Replay = "replay"
)

// TargetOf names the lane of a callbackUrl. Two merchants, or the two modes of one, that post to the same URL have
// lanes of their own, so that neither is slowed by the other.
func TargetOf(o tenant.Owner, url string) string {
	sum := sha256.Sum256([]byte(o.MerchantID + "\x00" + string(o.Mode) + "\x00" + url))
	return "url_" + hex.EncodeToString(sum[:16])
}

// EarlierTargetOf names the lane of a URL at which an endpoint was before.
func EarlierTargetOf(endpointID, url string) string {
	sum := sha256.Sum256([]byte(endpointID + "\x00" + url))
	return "url_" + hex.EncodeToString(sum[:16])
}

// Earlier reports whether a delivery goes to a URL at which its endpoint was before.
func (d *Delivery) Earlier() bool { return d.EndpointID != "" && strings.HasPrefix(d.Target, "url_") }

// The classes of an attempt's end that the rules look at; others are only recorded.
const (
	classOK   = "ok"
	classGone = "gone"
	Blocked   = "blocked_ssrf" // the address is none that callbacks go to
)

// Outcome is what one attempt came to.
type Outcome struct {
	At         time.Time
	Class      string
	Status     int           // 0 without a response
	RetryAfter time.Duration // 0 when the endpoint named no time
	Remote     string
	Headers    string // JSON object of the response headers that are kept
	Excerpt    []byte
	Detail     string // for operators
	Generation int    // of the secret that signed first
	DNS        time.Duration
	Connect    time.Duration
	TLS        time.Duration
	Wait       time.Duration
	Total      time.Duration
}

// State is where a delivery goes after an attempt.
type State string

// The states after an attempt.
const (
	Delivered State = "delivered"
	Due       State = "due"
	Exhausted State = "exhausted"
)

// Verdict is what follows from an outcome. Delay counts from the moment it is recorded. Disable says that the endpoint
// asked for no more: it is disabled, and this delivery held with all others.
type Verdict struct {
	State   State
	Delay   time.Duration
	Disable bool
}

// Judge decides what follows from an outcome of an attempt at d. jitter returns a number in [0, n). A 410 from a
// registered endpoint disables it, and the delivery stays; a 410 from a callbackUrl or an earlier URL, which nobody can
// enable again, ends the delivery. A refused address ends it too, since no retry changes that.
func (s Schedule) Judge(d Delivery, o Outcome, jitter func(n int64) int64) Verdict {
	gone := o.Class == classGone && d.EndpointID != "" && !d.Earlier()
	switch {
	case o.Class == classOK:
		return Verdict{State: Delivered}
	case o.Class == Blocked, o.Class == classGone && !gone:
		return Verdict{State: Exhausted}
	}
	delay, more := s.Next(d.Attempts+1-d.Base, o, jitter)
	if !more && !gone {
		return Verdict{State: Exhausted}
	}
	return Verdict{State: Due, Delay: delay, Disable: gone}
}

// Symptom is what an outcome says about how busy an endpoint may be kept.
type Symptom int

// The symptoms.
const (
	Well    Symptom = iota
	Failing         // it answers, but no 2xx: tells nothing about its capacity
	Slow            // it took more than SlowAfter, or did not answer in time
	Pushing         // it asked for less: 429, 502, 503, 504
	Unknown         // no attempt was made
)

// SlowAfter is how long a healthy endpoint takes at most.
const SlowAfter = 3 * time.Second

// SymptomOf reads an outcome.
func SymptomOf(o Outcome) Symptom {
	switch {
	case o.Class == "timeout_connect", o.Class == "timeout_response", o.Total > SlowAfter:
		return Slow
	case o.Status == 429, o.Status == 502, o.Status == 503, o.Status == 504:
		return Pushing
	case o.Class == classOK:
		return Well
	}
	return Failing
}
