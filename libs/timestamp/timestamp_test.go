package timestamp_test

import (
	"testing"
	"time"

	"causeway.internal/libs/timestamp"
)

func TestText(t *testing.T) {
	at := time.Date(2026, 4, 1, 15, 30, 0, 1_999_999, time.FixedZone("CAT", 2*60*60))
	const want = "2026-04-01T13:30:00.001Z"
	if got := timestamp.Text(at); got != want {
		t.Errorf("Text(%v) = %s, want %s", at, got, want)
	}
	if got := timestamp.OrNull(at); got == nil || *got != want {
		t.Errorf("OrNull(%v) = %v, want %s", at, got, want)
	}
	if got := timestamp.OrNull(time.Time{}); got != nil {
		t.Errorf("OrNull(zero) = %s, want nil", *got)
	}
}
