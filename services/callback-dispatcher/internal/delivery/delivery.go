// Package delivery holds the rules of bringing one event to one target: when the next attempt is due, when it is over,
// how a request is signed and what a secret looks like (contract.md §7, Standard Webhooks 1.0). It is pure: no clock, no
// network, no database, no randomness but what it is given, save for the making of secrets.
package delivery

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Delivery is one event on its way to one target.
type Delivery struct {
	ID         string
	EventID    string
	MerchantID string
	Mode       string
	EndpointID string // "" for a payment's callbackUrl
	Target     string // the lane: endpoint id, or TargetOf the callbackUrl
	URL        string
	Type       string
	ObjectID   string
	Sequence   int64
	Attempts   int       // made so far
	DueAt      time.Time // when the attempt was due, by the database's clock
	AcceptedAt time.Time // when the event was taken in, by the database's clock
	Trace      string
	Body       []byte
}

// TargetOf names the lane of a callbackUrl. Two merchants, or the two modes of one, that post to the same URL have
// lanes of their own, so that neither is slowed by the other.
func TargetOf(merchantID, mode, url string) string {
	sum := sha256.Sum256([]byte(merchantID + "\x00" + mode + "\x00" + url))
	return "url_" + hex.EncodeToString(sum[:16])
}

// The classes of an attempt's end that the rules look at; others are only recorded.
const (
	classOK      = "ok"
	classGone    = "gone"
	classBlocked = "blocked_ssrf"
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

// Verdict is what follows from an outcome. Delay counts from the moment it is recorded.
type Verdict struct {
	State State
	Delay time.Duration
}

// Judge decides what follows from an outcome. made counts the attempts including this one. jitter returns a number in
// [0, n). A 410 to a callbackUrl ends that delivery; a refused address ends it too, since no retry changes either.
func (s Schedule) Judge(o Outcome, made int, jitter func(n int64) int64) Verdict {
	switch o.Class {
	case classOK:
		return Verdict{State: Delivered}
	case classGone, classBlocked:
		return Verdict{State: Exhausted}
	}
	delay, more := s.Next(made, o, jitter)
	if !more {
		return Verdict{State: Exhausted}
	}
	return Verdict{State: Due, Delay: delay}
}
