package order_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/order"
)

var (
	public     = key.Public().(ed25519.PublicKey)
	approvedAt = time.Date(2026, 11, 23, 14, 30, 5, 123_456_789, time.UTC)
)

func TestApproved_verify(t *testing.T) {
	a := good.Approve(key, approvedAt)
	if err := a.Verify(public); err != nil || !a.Timed() {
		t.Errorf("verify an approval with a time: got %v, want none", err)
	}
	old := order.Approved{Order: good, Signature: good.Sign(key), ApprovedAt: approvedAt}
	if err := old.Verify(public); err != nil || old.Timed() {
		t.Errorf("verify an approval of the release before: got %v, timed %v, want an order without a time", err, old.Timed())
	}
	for name, o := range changes() {
		changed := a
		changed.Order = o
		if changed.Verify(public) == nil {
			t.Errorf("verify an approval with another %s: got no error, want one", name)
		}
	}
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte("o"), ed25519.SeedSize))
	for name, f := range map[string]func(a *order.Approved){
		"another time":          func(a *order.Approved) { a.ApprovedAt = a.ApprovedAt.Add(time.Microsecond) },
		"no time":               func(a *order.Approved) { a.ApprovedAt = time.Time{} },
		"another key":           func(a *order.Approved) { *a = good.Approve(other, approvedAt) },
		"no key":                func(a *order.Approved) { *a = good.Approve(nil, approvedAt) },
		"the untimed signature": func(a *order.Approved) { a.TimedSignature = a.Signature },
		"the timed signature in place of the untimed one": func(a *order.Approved) {
			a.Signature, a.TimedSignature = a.TimedSignature, ""
		},
	} {
		b := a
		f(&b)
		if b.Verify(public) == nil {
			t.Errorf("verify an approval with %s: got no error, want one", name)
		}
	}
	none := order.Approved{Order: good}
	none.TimedSignature = good.Approve(key, time.Time{}).TimedSignature
	if none.Verify(public) == nil {
		t.Error("verify an approval that signs the year 1: got no error, want one")
	}
}

// Every member survives JSON, in any time zone, and a reader of the release before finds the members that it knows.
func TestApproved_json(t *testing.T) {
	a := good.Approve(key, approvedAt.In(time.FixedZone("WAT", 3600)))
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var read order.Approved
	if err := json.Unmarshal(text, &read); err != nil || read != a || read.Verify(public) != nil {
		t.Errorf("read an approval: got %+v, %v, want %+v", read, err, a)
	}
	var before struct {
		order.Order
		Signature string `json:"signature"`
	}
	if err := json.Unmarshal(text, &before); err != nil || before.Verify(public, before.Signature) != nil {
		t.Errorf("read an approval as the release before does: got %+v, %v, want its order and signature", before, err)
	}
	old := order.Approved{Order: good, Signature: "s"}
	if text, err = json.Marshal(old); err != nil || strings.Contains(string(text), "approvedAt") || strings.Contains(string(text), "timed") {
		t.Errorf("write an approval without a time: got %s, %v, want no members for it", text, err)
	}
}

// A changed message would make the signatures of earlier releases invalid. The database keeps microseconds.
func TestApproved_message(t *testing.T) {
	content := good.Message()[4+len("causeway order v1\n"):]
	const domain, at = "\x00\x00\x00\x12causeway order v2\n", "\x00\x00\x00\x1b2026-11-23T14:30:05.123456Z"
	want := append(append([]byte(domain), content...), at...)
	a := good.Approve(key, approvedAt)
	raw, err := base64.StdEncoding.DecodeString(a.TimedSignature)
	if err != nil || !ed25519.Verify(public, want, raw) {
		t.Errorf("verify the signature of %q: got %v, want that it is that of the approval", want, err)
	}
	if stored := good.Approve(key, approvedAt.Truncate(time.Microsecond)); stored != a {
		t.Errorf("approve at the time that the database keeps: got %+v, want %+v", stored, a)
	}
}
