//go:build long

package check

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestVPS_restore runs the whole installation by its script, on real servers: it starts, sells, backs up, goes on, is
// set back to a moment, recovers and goes on; then its server is lost, and comes back from the backups and the secrets.
func TestVPS_restore(t *testing.T) {
	dir, _ := installed(t)
	h := machine(t, dir)
	fillIn(t, dir, map[string]string{"BACKUP_DIRECTORY": filepath.Join(dir, "backup")})
	// A smaller margin, so that the recovery is short.
	if err := os.WriteFile(filepath.Join(dir, "settings", "wallets.env"), []byte("RECOVERY_MARGIN=2000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := shop{t: t, dir: dir, h: h}
	if said := causeway(t, dir, "up"); !strings.Contains(said, "Everything runs: https://pay.example") {
		t.Fatalf("up says %s", said)
	}
	s.key = secretKey.FindString(causeway(t, dir, "key", "test", "acme"))
	if link := causeway(t, dir, "create-operator", "ada.obi"); !strings.Contains(link, "https://operators.example/operators/") {
		t.Errorf("create-operator prints %q", link)
	}
	if said := causeway(t, dir, "up"); strings.Contains(said, "made secrets") {
		t.Errorf("a second up says %s", said)
	}
	before := s.sell("before")
	causeway(t, dir, "backup")
	kept := s.sell("kept")
	moment := s.ask("SELECT date_trunc('seconds', now() + interval '1 second') AT TIME ZONE 'UTC'")
	s.until("SELECT now() AT TIME ZONE 'UTC' > '" + moment + "'::timestamp + interval '1 second'")
	counted := s.ask(payments)
	lost := s.sell("lost")
	simulated := s.ask("SELECT count(*) FROM sim_blocks", "wallets")

	said := causeway(t, dir, "restore", moment+"Z")
	if !strings.Contains(said, "runs in recovery") {
		t.Errorf("restore says %s", said)
	}
	if got := s.ask(payments); got != counted {
		t.Errorf("count the payments after the restore: got %s, want %s of %s", got, counted, moment)
	}
	if now := s.ask("SELECT "+simulated+" <= count(*) FROM sim_blocks", "wallets"); now != "t" {
		t.Errorf("the simulated chains were set back below %s blocks", simulated)
	}
	s.missing(lost)
	if out, err := causewayCommand(t, dir, "backup").CombinedOutput(); err == nil || !strings.Contains(string(out), "no backup during a recovery") {
		t.Errorf("a backup in recovery: %v\n%s", err, out)
	}
	if out, _ := causewayCommand(t, dir, "status").CombinedOutput(); !strings.Contains(string(out), "!! in recovery") {
		t.Errorf("status in recovery says %s", out)
	}
	s.recover()
	for _, reference := range []string{before, kept} {
		s.settled(reference)
	}
	after := s.sell("after")

	// The server is lost, and another one has the backups, .env and the secrets.
	causeway(t, dir, "backup")
	counted = s.ask(payments)
	for _, name := range append([]string{"postgres", "rabbitmq"}, services...) {
		if err := h.stop(name); err != nil {
			t.Fatalf("stop %s: %v", name, err)
		}
	}
	for _, part := range []string{"data", "node"} {
		if err := os.RemoveAll(h.at(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "run")); err != nil {
		t.Fatal(err)
	}
	causeway(t, dir, "restore")
	if got := s.ask(payments); got != counted {
		t.Errorf("count the payments on the new server: got %s, want %s", got, counted)
	}
	s.recover()
	s.settled(after)
	s.sell("elsewhere")
	out, _ := causewayCommand(t, dir, "status").CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "!!") && !strings.Contains(line, "Prometheus") && !strings.Contains(line, "alerts are not loaded") && !strings.Contains(line, "the disk of") {
			t.Errorf("status finds %s", line)
		}
	}
}

const payments = "SELECT count(*) FROM payments"

var secretKey = regexp.MustCompile(`\bsk_\w+`)

// shop sells by the API of the installation.
type shop struct {
	t   *testing.T
	dir string
	h   *host
	key string
}

func (s shop) call(method, path, body, idempotency string) (status int, payment map[string]any, raw string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://127.0.0.1:"+s.h.Ports["gateway"]+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if idempotency != "" {
		r.Header.Set("Idempotency-Key", idempotency)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatalf("send %s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	answer := struct{ Payment map[string]any }{}
	_ = json.Unmarshal(text, &answer) // a failure has no payment
	return response.StatusCode, answer.Payment, string(text)
}

// sell makes a payment, has it paid and waits until it is settled.
func (s shop) sell(name string) string {
	s.t.Helper()
	const body = `{"type": "transfer", "fiatAmount": 5000, "fiatCurrency": "NGN", "crypto": "USDT", "network": "tron", "chargeFrom": "fiat",
		"payer": {"chatId": "42"}, "receiver": {"bankCode": "058", "accountNumber": "0123456789"}}`
	reference := ""
	s.await("create the payment "+name, func() (bool, string) {
		status, payment, raw := s.call(http.MethodPost, "/v1/payments", body, "vps-"+name)
		if reference, _ = payment["reference"].(string); status != http.StatusServiceUnavailable && reference == "" {
			s.t.Fatalf("create the payment %s: %d %s", name, status, raw)
		}
		return reference != "", raw
	})
	if status, _, raw := s.call(http.MethodPost, "/v1/sandbox/payments/"+reference+"/deposits", "", ""); status/100 != 2 {
		s.t.Fatalf("pay %s: %d %s", name, status, raw)
	}
	s.settled(reference)
	return reference
}

func (s shop) settled(reference string) {
	s.t.Helper()
	s.await("read the payment as settled", func() (bool, string) {
		_, payment, raw := s.call(http.MethodGet, "/v1/payments/"+reference, "", "")
		return payment["status"] == "settled", raw
	})
}

func (s shop) missing(reference string) {
	s.t.Helper()
	if status, _, raw := s.call(http.MethodGet, "/v1/payments/"+reference, "", ""); status != http.StatusNotFound {
		s.t.Errorf("read a payment of the lost time: got %d %s, want 404", status, raw)
	}
}

func (s shop) ask(query string, database ...string) string {
	s.t.Helper()
	db := "payments"
	if len(database) > 0 {
		db = database[0]
	}
	return strings.TrimSpace(causeway(s.t, s.dir, "compose", "exec", "-T", "postgres", "psql", "-U", "postgres", "-XAtc", query, db))
}

func (s shop) until(query string) {
	s.t.Helper()
	s.await("wait for "+query, func() (bool, string) { got := s.ask(query); return got == "t", got })
}

// await asks until something holds; else the test ends with the last answer.
func (s shop) await(what string, holds func() (ok bool, answer string)) {
	s.t.Helper()
	answer := ""
	if !awaited(200*time.Millisecond, func() (ok bool) { ok, answer = holds(); return ok }) {
		s.t.Fatalf("%s: got %s", what, answer)
	}
}

// recover ends the recovery once wallets allows it.
func (s shop) recover() {
	s.t.Helper()
	s.await("end the recovery", func() (bool, string) {
		out, err := causewayCommand(s.t, s.dir, "recovered").CombinedOutput()
		if err != nil && !strings.Contains(string(out), "wallets has not ended its recovery") {
			s.t.Fatalf("end the recovery: %v\n%s", err, out)
		}
		return err == nil, string(out)
	})
}
