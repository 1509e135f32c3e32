package main

import (
	"strings"
	"testing"
)

// An error of a verb is logged, and an event names people.
func TestLost_logsNoLine(t *testing.T) {
	for _, line := range []string{`{"body":{"phone":"+2348031234567"}}`, `+2348031234567`, `{"ObjectID":"+2348031234567`} {
		if _, err := newestOf(line); err == nil || strings.Contains(err.Error(), "+2348") {
			t.Errorf("read the line %s: got %v, want an error without the line", line, err)
		}
	}
}
