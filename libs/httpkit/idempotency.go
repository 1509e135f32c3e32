package httpkit

import (
	"net/http"
	"strings"

	"causeway.internal/libs/fault"
)

// IdempotencyHeader makes it safe to send a POST again (docs/api-contract.md#idempotency).
const IdempotencyHeader = "Idempotency-Key"

const idempotencyKeyMax = 255

// CheckIdempotencyKey adds a problem unless the header is absent, or present once with 1 to 255 printable characters.
// An empty key is refused, not ignored: its sender relies on a retry that would act a second time.
func CheckIdempotencyKey(h http.Header, p *fault.Problems) {
	values := h[IdempotencyHeader]
	if len(values) == 0 {
		return
	}
	if len(values) > 1 || !IsIdempotencyKey(values[0]) {
		p.Add(IdempotencyHeader, "must be one header of 1 to %d printable characters", idempotencyKeyMax)
	}
}

// IsIdempotencyKey reports whether a text may be the header's value.
func IsIdempotencyKey(key string) bool {
	return strings.TrimSpace(key) != "" && len(key) <= idempotencyKeyMax && printable(key)
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
