package version

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	if b := Read(); b.Version == "" || b.Revision == "" || !strings.HasPrefix(b.Go, "go1.") {
		t.Errorf("without a stamp: %+v", b)
	}
	number, revision = "v1.2.3", "0123456"
	defer func() { number, revision = "", "" }()
	if b := Read(); !strings.HasPrefix(b.String(), "v1.2.3 (0123456, go1.") {
		t.Errorf("with one: %s", b)
	}
}
