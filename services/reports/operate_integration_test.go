//go:build integration

package main

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"causeway.internal/libs/command"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/reports/migrations"
)

// The operators' verbs, as they are typed.
func TestOperate(t *testing.T) {
	environ := map[string]string{"DATABASE_URL": pg.URL(t, migrations.FS), "MASTER_KEYS": "k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32))}
	for _, c := range []struct {
		line, says string
		fails      bool
	}{
		{"rotate-master", "0 reports sealed", false},
		{"rotate-master now", "usage", true},
		{"erase --phone +234-801-234-5678", "0 reports erased, 0 not over yet, 0 kept by law", false},
		{"erase --wallet 0xAA --mode test", "0 reports erased", false},
		{"erase --report RPT-abc234", "0 reports erased", false},
		{"erase --report ABC234", "want one of", true},
		{"erase --phone 12", "want one of", true},
		{"erase --phone 2348012345678 --wallet 0xAA", "want one of", true},
		{"erase --phone 2348012345678 --mode both", "want one of", true},
		{"erase", "want one of", true},
	} {
		var out bytes.Buffer
		err := program.Run(t.Context(), command.Input{Args: strings.Fields(c.line), Environ: environ, Out: &out})
		text := out.String()
		if err != nil {
			text += err.Error()
		}
		if (err != nil) != c.fails || !strings.Contains(text, c.says) {
			t.Errorf("reports %s: %s", c.line, text)
		}
	}
	delete(environ, "MASTER_KEYS")
	if err := program.Run(t.Context(), command.Input{Args: []string{"rotate-master"}, Environ: environ}); err == nil || !strings.Contains(err.Error(), "MASTER_KEYS") {
		t.Errorf("without a key: %v", err)
	}
}
