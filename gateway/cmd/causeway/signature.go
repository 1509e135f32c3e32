package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// tolerance is how far the time of a webhook may be off (Standard Webhooks 1.0).
const tolerance = 5 * time.Minute

// secret signs webhooks.
type secret []byte

// readSecret reads a whsec_ secret.
func readSecret(text string) (secret, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	if err != nil || len(key) == 0 || !strings.HasPrefix(text, "whsec_") {
		return nil, errors.New("webhook secret: want whsec_ and base64")
	}
	return key, nil
}

func (s secret) mac(id, at string, body []byte) []byte {
	mac := hmac.New(sha256.New, s)
	_, _ = fmt.Fprintf(mac, "%s.%s.", id, at) // writing to a hash never fails
	_, _ = mac.Write(body)
	return mac.Sum(nil)
}

// sign sets the three headers of Standard Webhooks 1.0.
func (s secret) sign(h http.Header, id string, now time.Time, body []byte) {
	at := strconv.FormatInt(now.Unix(), 10)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", at)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(s.mac(id, at, body)))
}

// The reasons why a webhook does not verify.
var (
	errUnsigned = errors.New("it lacks webhook-id, webhook-timestamp or webhook-signature")
	errStale    = errors.New("its time is more than five minutes off")
	errForged   = errors.New("no signature fits the body and the secret")
)

// verify checks the three headers against the body.
func (s secret) verify(h http.Header, now time.Time, body []byte) error {
	id, at, signatures := h.Get("webhook-id"), h.Get("webhook-timestamp"), h.Get("webhook-signature")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if id == "" || signatures == "" || err != nil {
		return errUnsigned
	}
	if off := now.Sub(time.Unix(seconds, 0)); off > tolerance || off < -tolerance {
		return errStale
	}
	want := s.mac(id, at, body)
	for signature := range strings.FieldsSeq(signatures) {
		version, text, _ := strings.Cut(signature, ",")
		sum, err := base64.StdEncoding.DecodeString(text)
		if version == "v1" && err == nil && hmac.Equal(sum, want) {
			return nil
		}
	}
	return errForged
}
