// Package timestamp writes times in the one form of answers, events and log lines (docs/api-contract.md#times).
package timestamp

import "time"

// Text is ISO 8601 in UTC with milliseconds: 2026-04-01T13:30:00.000Z.
func Text(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// OrNull is Text, or nil for a zero time, which JSON shows as null.
func OrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := Text(t)
	return &text
}
