//go:build integration

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/command"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/store"
)

// rotateMasterUnder runs the verb as a person with these master keys would.
func (r *rig) rotateMasterUnder(ctx context.Context, keys string) (report struct {
	Master                      string
	Sealed, AnswersUnderOldKeys int
	AnswersErasedAt             *time.Time
}, err error,
) {
	r.t.Helper()
	env := map[string]string{"DATABASE_URL": r.env["DATABASE_URL"], "MASTER_KEYS": keys}
	var out bytes.Buffer
	if err := program.Run(ctx, command.Input{Args: []string{"rotate-master"}, Environ: env, Out: &out}); err != nil {
		return report, err
	}
	return report, json.Unmarshal(out.Bytes(), &report)
}

// The master key is replaced while a dispatcher signs: deliveries go on with the secrets that merchants have, in more
// than one batch, and once nothing is left the old key is of no use. A value that does not open stops the rotation
// and is named.
func TestRotateMaster(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	old := r.env["MASTER_KEYS"]
	var key [32]byte
	_, _ = rand.Read(key[:])
	fresh := "k2:" + base64.StdEncoding.EncodeToString(key[:])
	r.env["MASTER_KEYS"] = old + "," + fresh
	api := r.api()
	m1 := httpkit.Identity{Subject: httpkit.Merchant, MerchantID: "m1", Mode: tenant.Test}
	shown := api.call(http.MethodGet, "/v1/webhooks/secret", "", m1).body["secret"]
	r.receiver.Secrets("", shown.(string)) //nolint:errcheck // a panic fails the test
	const others = 1100                    // three batches
	for i := range others {
		if _, err := r.secrets.Get(t.Context(), app.SecretOwner{MerchantID: fmt.Sprintf("other-%d", i), Mode: "test"}); err != nil {
			t.Fatal(err)
		}
	}
	if a := api.call(http.MethodPost, "/v1/webhooks/secret/rotate", "key-1", m1); a.status != 200 {
		t.Fatalf("got %+v", a)
	}
	r.run("work")
	delivered := 0
	deliver := func() {
		t.Helper()
		delivered++
		r.publish(event(fmt.Sprintf("CW-%d", delivered), 1, r.receiver.URL("/hook")))
		r.receiver.AwaitAccepted(t, 30*time.Second, "/hook", delivered)
	}
	deliver()

	if _, err := r.rotateMasterUnder(t.Context(), fresh); err == nil || !strings.Contains(err.Error(), "m1") {
		t.Errorf("without the old key: %v", err)
	}
	got, err := r.rotateMasterUnder(t.Context(), fresh+","+old)
	if err != nil || got.Master != "k2" || got.Sealed != others+2 || got.AnswersUnderOldKeys != 1 || time.Until(*got.AnswersErasedAt) > 15*time.Minute {
		t.Fatalf("rotate the master key to k2: got %+v, %v, want %d sealed", got, err, others+2)
	}
	deliver() // by the process whose first key is the old one
	if got, err := r.rotateMasterUnder(t.Context(), fresh+","+old); err != nil || got.Sealed != 0 {
		t.Errorf("again: %+v, %v", got, err)
	}
	if n := r.count("secret WHERE substring(sealed from 3 for get_byte(sealed, 1)) <> 'k2'"); n != 0 {
		t.Errorf("%d secrets are left under the old key", n)
	}
	ring, err := keyring.Parse(fresh)
	if err != nil {
		t.Fatal(err)
	}
	alone := app.NewSecrets(store.New(r.db, "alone", 2), ring, time.Now)
	secrets, err := alone.Get(t.Context(), app.SecretOwner{MerchantID: "m1", Mode: "test"})
	if err != nil || len(secrets) != 2 || secrets[1].Text != shown {
		t.Errorf("%d secrets open under the new key alone: %v", len(secrets), err)
	}
	if _, err := r.db.Exec(t.Context(), `UPDATE secret SET merchant_id = 'moved' WHERE merchant_id = 'other-7'`); err != nil {
		t.Fatal(err)
	}
	if _, err := r.rotateMasterUnder(t.Context(), old+","+fresh); err == nil || !strings.Contains(err.Error(), "moved") {
		t.Errorf("a secret that was moved: %v", err)
	}
	r.clean(nil)
}
