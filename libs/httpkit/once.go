package httpkit

import (
	"sync"
	"time"
)

// once remembers the nonces of identities for at least as long as their identities live. It belongs to one process:
// another replica accepts a copy once more. It remembers only identities that the gateway signed, so its size follows
// the real traffic.
type once struct {
	mu         sync.Mutex
	turned     time.Time // when young was started
	young, old map[string]struct{}
}

// onceTurn is the time after which the older half is dropped: an identity from identityLife ahead lives twice that
// long.
const onceTurn = 2 * identityLife

// first reports whether a nonce is seen for the first time.
func (o *once) first(nonce string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.Sub(o.turned) >= onceTurn {
		o.old, o.young, o.turned = o.young, make(map[string]struct{}, len(o.young)), now
	}
	if _, used := o.young[nonce]; used {
		return false
	}
	if _, used := o.old[nonce]; used {
		return false
	}
	o.young[nonce] = struct{}{}
	return true
}
