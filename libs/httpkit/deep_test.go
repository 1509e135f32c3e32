package httpkit

import (
	"bytes"
	"testing"

	"causeway.internal/libs/fault"
)

// A body that nests without end is refused at its 33rd bracket: nothing of it is parsed, however large it is.
func TestParseBody_deepIsCheap(t *testing.T) {
	for name, one := range map[string]string{"arrays": `[`, "objects": `{"a":`, "after a value": `{"a":"[[[","b":[`} {
		body := bytes.Repeat([]byte(one), BodyMax/len(one))
		allocations := testing.AllocsPerRun(100, func() {
			var problems fault.Problems
			if _, err := parseBody(body, &problems); err == nil || fault.As(err).Code != "invalid_json" {
				t.Errorf("parse a deep body of %s: got %v, want invalid_json", name, err)
			}
		})
		if allocations > 2 {
			t.Errorf("%s: %.0f allocations", name, allocations)
		}
	}
}
