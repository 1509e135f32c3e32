package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/libs/fault"
)

// Signature holds the time and the sum of a signed request (docs/api-contract.md#signed-requests).
type Signature struct {
	At   time.Time
	Sum  [sha256.Size]byte
	text string // the timestamp as it was signed
}

// window is how far a signed request's timestamp may be from now, in both directions.
const window = 5 * time.Minute

// The refusals of a signature.
var (
	errSignatureTime = fault.New(fault.Unauthenticated, "signature_expired",
		"X-Timestamp must be the time of the request in milliseconds since 1970, within five minutes.")
	errSignature = fault.New(fault.Unauthenticated, "signature_invalid", "The signature is not valid for this request.")
)

// readSignature reads X-Timestamp and X-Signature. The sum must be lower-case hex, so that one signature has one
// spelling.
func readSignature(h http.Header, now time.Time) (*Signature, error) {
	stamps, sums := h["X-Timestamp"], h["X-Signature"]
	if len(stamps) == 0 || len(sums) == 0 {
		return nil, apikey.ErrPublicOnly
	}
	if len(stamps) > 1 || len(sums) > 1 || !lowerHex(sums[0]) {
		return nil, errSignature
	}
	s := &Signature{text: stamps[0]}
	if _, err := hex.Decode(s.Sum[:], []byte(sums[0])); err != nil {
		return nil, errSignature
	}
	ms, err := strconv.ParseUint(s.text, 10, 53)
	if err != nil {
		return nil, errSignatureTime
	}
	s.At = time.UnixMilli(int64(ms))
	if off := now.Sub(s.At); off > window || off < -window {
		return nil, errSignatureTime
	}
	return s, nil
}

func lowerHex(s string) bool {
	if len(s) != hex.EncodedLen(sha256.Size) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// emptyObject is the text that the incumbent's clients hash when they send no body.
var emptyObject = []byte("{}")

// signs reports whether the signature is valid for this request under a signing key. The path may be signed with or
// without its query, and an empty body as an empty object. Every form is compared in constant time.
func (s *Signature) signs(key []byte, method string, u *url.URL, body []byte) bool {
	paths, bodies := []string{u.EscapedPath()}, [][]byte{body}
	if u.RawQuery != "" || u.ForceQuery {
		paths = append(paths, u.EscapedPath()+"?"+u.RawQuery)
	}
	if len(body) == 0 {
		bodies = append(bodies, emptyObject)
	}
	good := false
	for _, b := range bodies {
		sum := sha256.Sum256(b)
		for _, path := range paths {
			mac := hmac.New(sha256.New, key)
			mac.Write([]byte(s.text + "|" + method + "|" + path + "|" + hex.EncodeToString(sum[:])))
			good = hmac.Equal(mac.Sum(nil), s.Sum[:]) || good
		}
	}
	return good
}
