package causeway

import "time"

// failure is how an attempt ended: no status means that no answer came.
type failure struct {
	status     int
	code       ErrorCode
	retryAfter time.Duration // negative without one
}

// The first wait. It doubles with each repetition, up to the longest wait that the client chooses itself.
const (
	firstWait   = 500 * time.Millisecond
	longestWait = 8 * time.Second
)

// retryWait is how long to wait before the request is sent again; again is false where it must not be.
//
// A repeatable request (a GET, or a POST with an Idempotency-Key) is sent again when no answer came, and when the
// answer says that later may be better. Any other request is sent again only where the limits refused it, before it had
// any effect. The wait is never shorter than Retry-After, and random (from 0 to below 1), so that many clients do not
// return at once.
func retryWait(f failure, repeatable bool, attempt, maxRetries int, maxWait time.Duration, random float64) (wait time.Duration, again bool) {
	if attempt >= maxRetries || !mayRepeat(f, repeatable) {
		return 0, false
	}
	half := longestWait / 2
	if attempt < 5 {
		half = min(longestWait, firstWait<<attempt) / 2
	}
	wait = half
	if f.retryAfter >= 0 {
		wait = f.retryAfter
	}
	wait += time.Duration(random * float64(half)).Truncate(time.Millisecond)
	return wait, wait <= maxWait
}

func mayRepeat(f failure, repeatable bool) bool {
	switch {
	case f.status == 429:
		return true
	case !repeatable:
		return false
	case f.status == 0, f.status == 502, f.status == 503, f.status == 504:
		return true
	}
	return f.status == 409 && f.code == "idempotency_in_progress"
}
