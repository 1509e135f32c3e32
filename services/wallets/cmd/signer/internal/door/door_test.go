package door

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"causeway.internal/services/wallets/cmd/signer/internal/journal"
	"causeway.internal/services/wallets/cmd/signer/internal/policy"
	"causeway.internal/services/wallets/cmd/signer/internal/vault"
	"causeway.internal/services/wallets/internal/intent"
)

const (
	treasury = "0x00000000000000000000000000000000000000aa"
	rules    = `{"mode":"live","account":0,"gasAccount":1,"indexBelow":1000,"networks":{"ethereum":{"chainId":1,"treasury":"` + treasury + `",
"maxFeePerGas":"100","maxGas":100000,"countPerHour":3,"assets":{"ETH":{"perHour":"1000"}},"fund":{"most":"50","perHour":"80"}},
"bitcoin":{"treasury":"` + cold + `","countPerHour":3,"assets":{"BTC":{"perHour":"100000000"}},"bitcoin":{"maxFeeRate":100,"maxFee":1000000}}}}`
	words = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"
)

// began is the time at which the log of a fixture begins.
var began = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// fixture is a signer over files that outlive it, with a clock of its own.
type fixture struct {
	*Handler
	dir string
	at  time.Time
}

func open(t *testing.T, d *fixture) *fixture {
	t.Helper()
	return openWith(t, d, rules)
}

// openWith is open with a policy.
func openWith(t *testing.T, d *fixture, rules string) *fixture {
	t.Helper()
	if d == nil {
		d = &fixture{dir: t.TempDir(), at: began}
		if err := journal.Create(filepath.Join(d.dir, "log"), d.at); err != nil {
			t.Fatal(err)
		}
	} else if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := vault.Seal(words, identity.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	v, err := vault.Open(bytes.NewReader(sealed), identity)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	if d.Handler, err = NewHandler(p, v, filepath.Join(d.dir, "log"), filepath.Join(d.dir, "stop"), log, func() time.Time { return d.at }); err != nil {
		t.Fatal(err)
	}
	return d
}

func request(id string, nonce uint64) intent.Request {
	return intent.Request{
		ID: id, Kind: intent.Sweep, Network: "ethereum", Index: 7, Asset: "ETH", Amount: "400", To: treasury,
		EVM: &intent.EVM{ChainID: 1, Nonce: nonce, Gas: 21_000, MaxFee: "10", Tip: "1"},
	}
}

func code(err error) string {
	var r *intent.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return fmt.Sprint(err)
}

// A request that does not fit in a line of the log is refused and logged with its id alone.
func TestHandler_longRefusal(t *testing.T) {
	d := open(t, nil)
	r := request("long", 0)
	r.To = strings.Repeat("0", 70_000)
	if _, err := d.Sign(r); code(err) != intent.Malformed {
		t.Errorf("sign a request of 70 kB: got %v, want the refusal %s", code(err), intent.Malformed)
	}
	log, err := os.ReadFile(filepath.Join(d.dir, "log"))
	if err != nil || !strings.Contains(string(log), `"refused","request":{"id":"long",`) {
		t.Errorf("read the log: got %.300s, %v, want a line about the request", log, err)
	}
	if _, err := d.Sign(request("a", 0)); err != nil {
		t.Errorf("sign after that: %v", err)
	}
	d = open(t, d)
	defer d.Close()
}

// The signer repeats an answer after a restart, byte for byte, and counts it once. It refuses another request under the
// same id.
func TestHandler_replay(t *testing.T) {
	d := open(t, nil)
	first, err := d.Sign(request("a", 0))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if again, err := d.Sign(request("a", 0)); err != nil || again != first {
			t.Errorf("sign the same intent again: got %+v, %v, want the first answer", again, err)
		}
		if _, err := d.Sign(request("a", 1)); code(err) != intent.Reused {
			t.Error(err)
		}
		d = open(t, d)
	}
	if _, err := d.Sign(request("b", 1)); err != nil { // 800 of 1000
		t.Error(err)
	}
	if _, err := d.Sign(request("c", 2)); code(err) != intent.Value {
		t.Error(err)
	}
	d.at = d.at.Add(policy.Window)
	d = open(t, d)
	defer d.Close()
	if _, err := d.Sign(request("c", 2)); err != nil {
		t.Errorf("an hour later: %v", err)
	}
}

func TestHandler_killSwitch(t *testing.T) {
	d := open(t, nil)
	defer d.Close()
	if _, err := d.Sign(request("a", 0)); err != nil {
		t.Fatal(err)
	}
	stop := filepath.Join(d.dir, "stop")
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		if _, err := d.Sign(request(id, 0)); code(err) != intent.Stopped {
			t.Error(err)
		}
	}
	if err := os.Remove(stop); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Sign(request("a", 0)); err != nil {
		t.Error(err)
	}
}

// Parallel requests with one id are signed once.
func TestHandler_parallel(t *testing.T) {
	d := open(t, nil)
	defer d.Close()
	var wg sync.WaitGroup
	answers := make([]intent.Signed, 16)
	for i := range answers {
		wg.Go(func() {
			var err error
			if answers[i], err = d.Sign(request("a", 0)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, a := range answers {
		if a != answers[0] {
			t.Errorf("%+v and %+v", a, answers[0])
		}
	}
	text, err := os.ReadFile(filepath.Join(d.dir, "log"))
	if err != nil || bytes.Count(text, []byte(`"event":"signed"`)) != 1 {
		t.Errorf("read the log after parallel requests: got %s, %v, want one signature", text, err)
	}
}

func serve(t *testing.T, d *fixture, peers []uint32) (*http.Client, string) {
	t.Helper()
	path := filepath.Join(d.dir, "socket")
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	l, err := Listen(path, peers, log)
	if err != nil {
		t.Fatal(err)
	}
	server := Serve(l, d.Handler, log)
	t.Cleanup(func() { _ = server.Close() })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	return client, path
}

func post(t *testing.T, client *http.Client, path, body string) (int, string) {
	t.Helper()
	res, err := client.Post("http://signer"+path, "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func TestSocket(t *testing.T) {
	d := open(t, nil)
	defer d.Close()
	client, path := serve(t, d, nil)
	body, err := json.Marshal(request("a", 0))
	if err != nil {
		t.Fatal(err)
	}
	if status, text := post(t, client, "/v1/sign", string(body)); status != http.StatusOK {
		t.Errorf("sign over the socket: got %d %s, want 200", status, text)
	}
	for _, bad := range []string{"", "{", string(body) + "{}", `{"id":"a","digest":"00"}`, "[]", "null"} {
		if status, text := post(t, client, "/v1/sign", bad); status != http.StatusForbidden {
			t.Errorf("sign the bad request %s: got %d %s, want 403", bad, status, text)
		}
	}
	if status, text := post(t, client, "/v1/addresses", `{"family":"evm","indices":[0]}`); status != http.StatusOK ||
		text != `{"addresses":["0x9858EfFD232B4033E47d90003D41EC34EcaEda94"]}`+"\n" {
		t.Errorf("ask for the first address: got %d %s, want 200 and 0x9858EfFD232B4033E47d90003D41EC34EcaEda94", status, text)
	}
	if status, _ := post(t, client, "/v1/digest", "{}"); status != http.StatusNotFound {
		t.Error("there is a door for digests")
	}
	if _, err := Listen(path, nil, slog.Default()); err == nil {
		t.Error("a second signer took the socket")
	}
}

// A peer whose user id is not listed is refused before a byte is read.
func TestSocket_unauthorized(t *testing.T) {
	d := open(t, nil)
	defer d.Close()
	client, _ := serve(t, d, []uint32{uint32(os.Getuid()) + 1})
	if status, text := post(t, client, "/v1/addresses", `{"family":"evm","indices":[0]}`); status != 0 {
		t.Errorf("ask as an unauthorized user: got %d %s, want no answer", status, text)
	}
}

// Health distinguishes a signer that accepts connections from one that hangs and from none, whether or not the caller
// may sign.
func TestHealth(t *testing.T) {
	for _, peers := range [][]uint32{nil, {uint32(os.Getuid()) + 1}} {
		d := open(t, nil)
		t.Cleanup(func() { _ = d.Close() })
		_, path := serve(t, d, peers)
		if err := Health(t.Context(), path); err != nil {
			t.Errorf("peers %v: %v", peers, err)
		}
	}
	hung := filepath.Join(t.TempDir(), "s")
	if err := Health(t.Context(), hung); err == nil {
		t.Error("there is no signer")
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", hung)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := Health(ctx, hung); err == nil {
		t.Error("nobody takes the connection")
	}
}
