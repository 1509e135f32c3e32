//go:build integration

package delivery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestSign_officialJavaScriptLibraryAccepts has the library that most merchants verify with judge ten thousand
// webhooks, each signed under both secrets of a rotation.
func TestSign_officialJavaScriptLibraryAccepts(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/javascript")); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	const webhooks = 10_000
	var input bytes.Buffer
	encode := json.NewEncoder(&input)
	for n := range webhooks {
		secrets, keys := []string{NewSecret(), NewSecret()}, make([]*Key, 2)
		for i, secret := range secrets {
			key, err := KeyOf(secret)
			if err != nil {
				t.Fatal(err)
			}
			keys[i] = key
		}
		id, at := fmt.Sprintf("evt_%026d", n), time.Now()
		body, err := json.Marshal(map[string]string{"note": text(n % 200)}) // the library parses what it has verified
		if err != nil {
			t.Fatal(err)
		}
		err = encode.Encode(map[string]any{"secrets": secrets, "otherSecret": NewSecret(), "body": body, "headers": map[string]string{
			"webhook-id": id, "webhook-timestamp": fmt.Sprint(at.Unix()), "webhook-signature": Sign(keys, id, at, body),
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	verify := exec.CommandContext(t.Context(), "node", "verify.mjs")
	verify.Dir, verify.Stdin = dir, &input
	var stderr bytes.Buffer
	verify.Stderr = &stderr
	out, err := verify.Output()
	if err != nil || strings.TrimSpace(string(out)) != fmt.Sprint(webhooks) {
		t.Fatalf("verified %s of %d: %v\n%s", bytes.TrimSpace(out), webhooks, err, stderr.Bytes())
	}
}

// text has so many random characters of all planes.
func text(length int) string {
	var b strings.Builder
	for range length {
		if r := rune(rand.IntN(0x110000)); r < 0xd800 || r > 0xdfff {
			b.WriteRune(r)
		}
	}
	return b.String()
}
