package walk

import (
	"net/http"
	"testing"
	"time"
)

// The published example of Standard Webhooks 1.0.
func TestVerify_publishedExample(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	const body = `{"test": 2432232314}`
	now := time.Unix(1614265330, 0)
	header := func(signature string) http.Header {
		h := http.Header{}
		h.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
		h.Set("webhook-timestamp", "1614265330")
		h.Set("webhook-signature", signature)
		return h
	}
	const right = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if err := verify(secret, header(right), []byte(body), now); err != nil {
		t.Errorf("the published signature: %v", err)
	}
	if err := verify(secret, header("v1,AAAA v1a,BBBB "+right), []byte(body), now.Add(4*time.Minute)); err != nil {
		t.Errorf("one of several signatures: %v", err)
	}
	for name, err := range map[string]error{
		"another body":      verify(secret, header(right), []byte(body+" "), now),
		"another secret":    verify("whsec_AAAA", header(right), []byte(body), now),
		"no signature":      verify(secret, header(""), []byte(body), now),
		"an old timestamp":  verify(secret, header(right), []byte(body), now.Add(6*time.Minute)),
		"a new timestamp":   verify(secret, header(right), []byte(body), now.Add(-6*time.Minute)),
		"an unread secret":  verify("whsec_?", header(right), []byte(body), now),
		"no header at all":  verify(secret, http.Header{}, []byte(body), now),
		"another scheme":    verify(secret, header("v2"+right[2:]), []byte(body), now),
		"a truncated value": verify(secret, header(right[:20]), []byte(body), now),
	} {
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
