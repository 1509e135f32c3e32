package main

import (
	"strings"
	"testing"
)

// An error of a verb is logged, and somebody may pipe in events, which name people.
func TestMissing_logsNoLine(t *testing.T) {
	for _, line := range []string{`{"body":{"phone":"+2348031234567"}}`, `+2348031234567`, `{"objectId":"+2348031234567`} {
		if _, err := owedOf(line); err == nil || strings.Contains(err.Error(), "+2348") {
			t.Errorf("read the line %s: got %v, want an error without the line", line, err)
		}
	}
}
