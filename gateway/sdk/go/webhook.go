package causeway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Event is what a webhook brings. Type says of what kind it is, and so which of its methods reads its data.
type Event struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"` // such as payment.settled
	CreatedAt string          `json:"createdAt"`
	Mode      Mode            `json:"mode"`
	Data      json.RawMessage `json:"data"`
}

func dataOf[T any](e *Event) (*T, error) {
	var data T
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return nil, fmt.Errorf("causeway: read the data of %s: %w", e.Type, err)
	}
	return &data, nil
}

// Tolerance is how far the time of a webhook may be off.
const Tolerance = 5 * time.Minute

// VerifyWebhook verifies a webhook (Standard Webhooks 1.0) and returns its event. It returns a *WebhookError for one
// that is not genuine. body is the raw body, byte for byte as it came. secrets are the whsec_… of the endpoint or of
// the merchant, or several while one is being replaced.
func VerifyWebhook(body []byte, header http.Header, secrets ...string) (*Event, error) {
	return verifyWebhook(body, header, time.Now(), secrets)
}

func verifyWebhook(body []byte, header http.Header, now time.Time, secrets []string) (*Event, error) {
	if len(secrets) == 0 {
		return nil, errors.New("causeway: VerifyWebhook needs a secret")
	}
	keys := make([][]byte, len(secrets))
	for i, secret := range secrets {
		text, named := strings.CutPrefix(secret, "whsec_")
		key, err := base64.StdEncoding.DecodeString(text)
		if !named || err != nil || len(key) == 0 {
			return nil, errors.New("causeway: a webhook secret is whsec_ and base64")
		}
		keys[i] = key
	}
	id, timestamp, signatures := header.Get("webhook-id"), header.Get("webhook-timestamp"), header.Get("webhook-signature")
	sent, err := strconv.ParseInt(timestamp, 10, 64)
	if id == "" || err != nil || len(timestamp) > 12 || strings.TrimLeft(timestamp, "0123456789") != "" || signatures == "" {
		return nil, &WebhookError{"unsigned", "it lacks webhook-id, webhook-timestamp or webhook-signature"}
	}
	genuine := false
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body) // writing to a hash never fails
		want := mac.Sum(nil)
		for signature := range strings.SplitSeq(signatures, " ") {
			text, known := strings.CutPrefix(signature, "v1,") // signatures of other versions are passed over
			given, err := base64.StdEncoding.DecodeString(text)
			genuine = known && err == nil && hmac.Equal(given, want) || genuine
		}
	}
	if !genuine {
		return nil, &WebhookError{"forged", "no signature fits the body and a secret"}
	}
	if off := now.Unix() - sent; off > int64(Tolerance/time.Second) || off < -int64(Tolerance/time.Second) {
		return nil, &WebhookError{"stale", fmt.Sprintf("its time is more than %v off", Tolerance)}
	}
	var e Event
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, fmt.Errorf("causeway: read the event: %w", err)
	}
	return &e, nil
}
