//go:build integration

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/config"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/mq"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/testkit/port"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/fixture"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/messaging"
	"causeway.internal/services/wallets/internal/signer"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
	"causeway.internal/services/wallets/migrations"
)

const (
	treasury = "0x00000000000000000000000000000000000cafe5"
	// stationFunds are the wei that the gas station gets.
	stationFunds = "5000000000000000000"
	// words are BIP-39's own test vector, whose account key is xpubEVM.
	words = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"
)

// The pace of a test's chain, and of wallets on it. Many tests run at once, and a faster pace of one slows the others.
const (
	blockTime  = "150ms"
	poll       = "100ms"
	sweepEvery = "150ms"
)

// built are the two programs, which concurrent tests share.
var built struct {
	sync.Mutex
	dir   string
	users int
}

// binaries builds the programs unless another test has, and removes them after the last one.
func binaries(t *testing.T) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.users == 0 {
		var err error
		if built.dir, err = build(); err != nil {
			t.Fatal(err)
		}
	}
	built.users++
	t.Cleanup(func() {
		built.Lock()
		defer built.Unlock()
		if built.users--; built.users == 0 {
			_ = os.RemoveAll(built.dir)
		}
	})
	return built.dir
}

func build() (string, error) {
	dir, err := os.MkdirTemp("", "causeway-sweep")
	if err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+"/", ".", "./cmd/signer").CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("building: %w: %s", err, out), os.RemoveAll(dir))
	}
	return dir, nil
}

// custody is a real node, a real signer and a real wallets process, each of which can be killed, with proxies between
// them that can be closed.
type custody struct {
	*fixture.Node
	dir     string
	bin     string
	pool    *pgxpool.Pool
	book    *store.Store
	environ map[string]string // of wallets
	vault   []string          // environment of the signer
	client  *signer.Client    // bypasses the proxy
	doors   *doors
	source  derivation.Source // of live addresses

	wallets, signer *running
	made            int

	mu     sync.Mutex
	events map[string]map[int64]string              // event types that the dispatcher received, by wallet and sequence
	final  map[string]map[string]wire.OutgoingFinal // messages that payments received, by transaction and message id
}

// listen plays the dispatcher and payments.
func (c *custody) listen(t *testing.T) {
	t.Helper()
	c.events, c.final = map[string]map[int64]string{}, map[string]map[string]wire.OutgoingFinal{}
	c.read(t, wire.Dispatcher, wire.IntakeQueue, func(m bus.Message) error {
		var s wire.StatusChanged
		if err := json.Unmarshal(m.Body, &s); err != nil {
			return err
		}
		if c.events[s.ObjectID] == nil {
			c.events[s.ObjectID] = map[int64]string{}
		}
		c.events[s.ObjectID][s.Sequence] = s.Type
		return nil
	})
	c.read(t, wire.Payments, wire.Payments+"."+string(wire.OutgoingFinalV1), func(m bus.Message) error {
		var o wire.OutgoingFinal
		if err := json.Unmarshal(m.Body, &o); err != nil {
			return err
		}
		if c.final[o.TxHash] == nil {
			c.final[o.TxHash] = map[string]wire.OutgoingFinal{}
		}
		c.final[o.TxHash][m.ID] = o
		return nil
	})
}

// read plays another service that reads one queue.
func (c *custody) read(t *testing.T, service, queue string, f func(m bus.Message) error) {
	t.Helper()
	link, err := bus.Dial(t.Context(), bus.Config{URL: config.Secret(c.environ["AMQP_URL"])}, service, telemetrytest.ForTest(t))
	if err != nil {
		t.Fatal(err)
	}
	link.Handle(queue, 1, func(_ context.Context, m bus.Message) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		return f(m)
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- link.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = link.Close() }) //nolint:errcheck // it ends because it is cancelled
}

// eventsOf are the events of a wallet in their order.
func (c *custody) eventsOf(w wallet.Wallet) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for n := int64(1); c.events[w.ID][n] != ""; n++ {
		out = append(out, strings.TrimPrefix(c.events[w.ID][n], "wallet."))
	}
	return strings.Join(out, " ")
}

// doors are the proxies from wallets to the signer and to the node. A barrier stops the next exchange of its kind
// before it is passed on, or after its answer has arrived.
type doors struct {
	mu    sync.Mutex
	armed *barrier
}

// barrier is one stop.
type barrier struct {
	at      func(kind, id string) bool // sign or send, with the intent's kind
	answer  bool                       // stop after the other side has answered
	reached chan struct{}
	open    chan struct{}
}

func (d *doors) arm(at func(kind, what string) bool, answer bool) *barrier {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = &barrier{at: at, answer: answer, reached: make(chan struct{}), open: make(chan struct{})}
	return d.armed
}

// pass stops at the armed barrier, once, and reports whether the exchange ends here.
func (d *doors) pass(kind, what string, answer bool) (cut bool) {
	d.mu.Lock()
	g := d.armed
	if g == nil || g.answer != answer || !g.at(kind, what) {
		d.mu.Unlock()
		return false
	}
	d.armed = nil
	d.mu.Unlock()
	close(g.reached)
	<-g.open
	return true
}

// through is a proxy with barriers.
func (d *doors) through(next http.RoundTripper, target *url.URL, kind func(body []byte) (string, string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		k, what := kind(body)
		if d.pass(k, what, false) {
			panic(http.ErrAbortHandler)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		p := httputil.ReverseProxy{
			Transport: next, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
			ModifyResponse: func(*http.Response) error {
				if d.pass(k, what, true) {
					panic(http.ErrAbortHandler)
				}
				return nil
			},
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
				http.Error(w, err.Error(), http.StatusBadGateway)
			},
		}
		p.ServeHTTP(w, r)
	})
}

// custodyOf is the custody of a chain before its processes start.
func custodyOf(t *testing.T, chain string) *custody {
	t.Helper()
	bin, dir := binaries(t), t.TempDir()
	database := pg.URL(t, migrations.FS)
	pool, err := pgxpool.New(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	c := &custody{Node: fixture.SubjectOf(t, chain).Start(t), dir: dir, bin: bin, pool: pool, doors: &doors{}}
	c.book = store.New(pool, messaging.Out{Now: time.Now}, store.Settings{Nets: fixture.Nets(), Depths: wallet.DefaultDepths(), Now: time.Now})
	c.environ = map[string]string{
		"DATABASE_URL": database, "AMQP_URL": mq.New(t), "DATABASE_MAX_CONNS": "6", "LOG_LEVEL": "info", "HTTP_ADDR": port.Free(t), "OPS_ADDR": port.Free(t),
		"MASTER_KEYS":   "k1:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("m"), 32)),
		"IDENTITY_KEYS": base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32)),
		"SIGNER_SOCKET": filepath.Join(dir, "door"), "SWEEP_EVERY": sweepEvery,
		"SCANNED_EVERY_TEST": "1h", // nobody reads of the eight simulated networks
	}
	t.Cleanup(func() { c.signer.kill(t) })
	t.Cleanup(func() { c.wallets.kill(t) }) // one may fail, and the other is killed even so
	return c
}

func newCustody(t *testing.T, change func(policy string, environ map[string]string) string) *custody {
	t.Helper()
	c := custodyOf(t, "evm")
	c.derives(t, chainSettings{XpubLiveEVM: xpubEVM})
	maps.Copy(c.environ, map[string]string{
		"XPUB_LIVE_EVM": xpubEVM, "CONFIRMATIONS": "ethereum=2",
		"EVM_ETHEREUM_CHAIN_ID": fmt.Sprint(c.Chain), "EVM_ETHEREUM_START": "1", "EVM_ETHEREUM_POLL": poll, "EVM_ETHEREUM_ROLLBACK_GRACE": "200ms",
		"EVM_ETHEREUM_TOKENS":         "USDT:" + c.Tokens["USDT"] + ",USDC:" + c.Tokens["USDC"],
		"EVM_ETHEREUM_SWEEP_TREASURY": treasury, "EVM_ETHEREUM_SWEEP_STUCK": "1h", "EVM_ETHEREUM_SWEEP_LEAST": "USDT:20,ETH:0.5",
	})
	policy := fmt.Sprintf(`{"mode":"live","account":0,"gasAccount":1,"indexBelow":100000,"networks":{"ethereum":{"chainId":%d,"treasury":"%s",
"maxFeePerGas":"100000000000","maxGas":500000,"countPerHour":1000,"assets":{"ETH":{"perHour":"100000000000000000000"},
"USDT":{"contract":"%s","perHour":"1000000000000"}},"fund":{"most":"100000000000000000","perHour":"10000000000000000000"}}}}`, c.Chain, treasury, c.Tokens["USDT"])
	if change != nil {
		policy = change(policy, c.environ)
	}
	c.listen(t)
	c.seal(t, policy)
	c.openDoors(t, "EVM_ETHEREUM_RPC_URLS", func(body []byte) (string, string) {
		if !bytes.Contains(body, []byte("eth_sendRawTransaction")) {
			return "", ""
		}
		if bytes.Contains(body, []byte("a9059cbb")) || bytes.Contains(body, []byte("e3ee160e")) { // a token's transfer
			return "send", string(intent.Sweep)
		}
		return "send", string(intent.Fund)
	})
	c.Do("/finality", map[string]int{"depth": 3})
	c.startSigner(t)
	stations, err := c.client.Stations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Transfer(map[string]any{"to": stations.EVM, "amount": stationFunds, "token": false, "mine": 1})
	c.startWallets(t)
	return c
}

// seal makes the signer's files as an operator does.
func (c *custody) seal(t *testing.T, policy string) {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return filepath.Join(c.dir, name) }
	for name, text := range map[string]string{"policy.json": policy, "identity": identity.String()} {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(filepath.Join(c.bin, "signer"), "seal-seed", "--recipient", identity.Recipient().String(), "--out", path("seed.age"))
	cmd.Stdin = strings.NewReader(words)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("seal the seed: %v: %s", err, out)
	}
	c.vault = []string{
		"SIGNER_SEED=" + path("seed.age"), "SIGNER_IDENTITY_FILE=" + path("identity"), "SIGNER_POLICY=" + path("policy.json"),
		"SIGNER_SOCKET=" + path("signer"), "SIGNER_LOG=" + path("signer.log"), "SIGNER_KILL_SWITCH=" + path("stop"),
	}
	log := exec.Command(filepath.Join(c.bin, "signer"), "new-log")
	log.Env = c.vault
	if out, err := log.CombinedOutput(); err != nil {
		t.Fatalf("make the signer's log: %v: %s", err, out)
	}
	c.client = signer.New(path("signer"))
}

// openDoors puts the proxies before the signer's socket and the node, whose address is a setting of wallets. sent names
// the transaction in a call of the node.
func (c *custody) openDoors(t *testing.T, setting string, sent func(body []byte) (kind, what string)) {
	t.Helper()
	socket, err := net.Listen("unix", c.environ["SIGNER_SOCKET"])
	if err != nil {
		t.Fatal(err)
	}
	dial := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(c.dir, "signer"))
	}}
	serve := func(l net.Listener, h http.Handler) {
		server := &http.Server{Handler: h}
		go func() { _ = server.Serve(l) }()
		t.Cleanup(func() { _ = server.Close() })
	}
	serve(socket, c.doors.through(dial, &url.URL{Scheme: "http", Host: "signer"}, func(body []byte) (string, string) {
		var r intent.Request
		if json.Unmarshal(body, &r) != nil || r.Kind == "" {
			return "", ""
		}
		return "sign", string(r.Kind)
	}))
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(c.RPC)
	if err != nil {
		t.Fatal(err)
	}
	door := url.URL{Scheme: "http", User: target.User, Host: front.Addr().String()}
	c.environ[setting] = door.String()
	serve(front, c.doors.through(http.DefaultTransport, target, sent))
}

func (c *custody) startSigner(t *testing.T) {
	t.Helper()
	cmd := exec.Command(filepath.Join(c.bin, "signer"), "serve")
	cmd.Env, cmd.Stderr = c.vault, t.Output()
	c.signer = run(t, cmd)
	c.await(t, "the signer", func() bool { _, err := c.client.Stations(t.Context()); return err == nil })
}

func (c *custody) startWallets(t *testing.T) {
	t.Helper()
	cmd := exec.Command(filepath.Join(c.bin, "wallets"))
	for k, v := range c.environ {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	c.wallets = run(t, cmd)
}

// running is a process that only kill may end.
type running struct {
	*exec.Cmd
	over bool // killed, or known to have ended
	gone chan struct{}
	err  error // when gone
}

func run(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &running{Cmd: cmd, gone: make(chan struct{})}
	go func() {
		defer close(r.gone)
		r.err = cmd.Wait()
	}()
	return r
}

// runs ends the test when the process has ended by itself.
func (r *running) runs(t *testing.T) {
	t.Helper()
	if r == nil || r.over {
		return
	}
	select {
	case <-r.gone:
		r.over = true // reported once
		t.Fatalf("%s ended by itself: %v", r.Path, r.err)
	default:
	}
}

// kill sends SIGKILL, and waits until the process is gone.
func (r *running) kill(t *testing.T) {
	t.Helper()
	if r == nil || r.over {
		return
	}
	r.runs(t)
	r.over = true
	if err := r.Process.Kill(); err != nil {
		t.Fatalf("kill %s: %v", r.Path, err)
	}
	<-r.gone
}

// await waits until a condition holds; both processes must run for it.
func (c *custody) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	fixture.Await(t, what, func() bool {
		c.wallets.runs(t)
		c.signer.runs(t)
		return holds()
	})
}

// derives sets the source of addresses to a configured key.
func (c *custody) derives(t *testing.T, set chainSettings) {
	t.Helper()
	given, err := set.keys()
	if err != nil {
		t.Fatal(err)
	}
	sources, err := keys.Keeper{Nets: fixture.Nets()}.Sources(given)
	if err != nil {
		t.Fatal(err)
	}
	c.source = sources[tenant.Live][c.Subject.Money().Family]
}

// wallet makes a standalone wallet as the API does.
func (c *custody) wallet(t *testing.T, crypto string) wallet.Wallet {
	t.Helper()
	now, n := time.Now(), c.Subject.Money()
	made := wallet.Wallet{
		ID: id.New(id.Wallet, now), Mode: tenant.Live, MerchantID: "acme", KeyID: 7, Family: n.Family, Network: n.Name, NetworkName: n.Name,
		Crypto: crypto, Metadata: []byte("{}"), CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}.Born()
	_, err := c.book.CreateWallet(t.Context(), made, c.source, idempotency.Key{}, func(w wallet.Wallet) (idempotency.Answer, error) {
		made = w
		return idempotency.Answer{Status: 201}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// handed is an address that was issued to the payments service.
func (c *custody) handed(t *testing.T) (at string) {
	t.Helper()
	r := wallet.Request{ID: id.New(id.Message, time.Now()), Mode: tenant.Live, Family: c.Subject.Money().Family, Count: 1}
	if err := c.book.Allocate(t.Context(), "", r, c.source); err != nil {
		t.Fatal(err)
	}
	if err := c.pool.QueryRow(t.Context(), `SELECT address FROM addresses WHERE mode = 'live' ORDER BY seq DESC LIMIT 1`).Scan(&at); err != nil {
		t.Fatal(err)
	}
	return at
}

// books is the balance of an account of the ledger, of one wallet.
func (c *custody) books(t *testing.T, w wallet.Wallet, account, asset string) int64 {
	t.Helper()
	return c.count(t, `SELECT coalesce(sum(e.debit - e.credit), 0)::bigint FROM custody_entries e JOIN custody_journals j ON j.key = e.journal
		WHERE j.wallet_id = $1 AND e.account = $2 AND e.asset = $3`, w.ID, account, asset)
}

// booked checks that the ledger moved a wallet's whole amount from its merchant to the treasury. A deposit can be swept
// before the scan has asked a second host about it, and is booked after that.
func (c *custody) booked(t *testing.T, w wallet.Wallet, asset, amount string) {
	t.Helper()
	c.await(t, "the deposit of "+w.Address+" is booked", func() bool { return c.books(t, w, "merchant", asset) != 0 })
	got := fmt.Sprint(c.books(t, w, "treasury", asset), c.books(t, w, "custody", asset), c.books(t, w, "merchant", asset))
	if got != amount+" 0 -"+amount {
		t.Errorf("read the books of %s: treasury, custody and merchant have %s, want %s 0 -%s", w.Address, got, amount, amount)
	}
}

// forms are the forms of the transactions of a kind, oldest first, with their intents.
func (c *custody) forms(t *testing.T, kind intent.Kind) (raws [][]byte, requests []intent.Request) {
	t.Helper()
	rows, err := c.pool.Query(t.Context(), `SELECT a.raw, a.request FROM outgoing_attempts a JOIN outgoing_tx o ON o.id = a.outgoing
		WHERE o.kind = $1 ORDER BY a.number`, string(kind))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var raw []byte
		var text string
		var r intent.Request
		if err := rows.Scan(&raw, &text); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		raws, requests = append(raws, raw), append(requests, r)
	}
	return raws, requests
}

// changePolicy replaces a text of the signer's policy and starts the signer again.
func (c *custody) changePolicy(t *testing.T, from, to string) {
	t.Helper()
	at := filepath.Join(c.dir, "policy.json")
	policy, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	c.signer.kill(t)
	if err := os.WriteFile(at, bytes.ReplaceAll(policy, []byte(from), []byte(to)), 0o600); err != nil {
		t.Fatal(err)
	}
	c.startSigner(t)
}

// release releases the only sweep, as an operator does.
func (c *custody) release(t *testing.T) {
	t.Helper()
	var blocked string
	if err := c.pool.QueryRow(t.Context(), `SELECT id FROM sweeps`).Scan(&blocked); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(c.bin, "wallets"), "sweeps", "--release", blocked)
	cmd.Env = c.wallets.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("release the blocked sweep: %v: %s", err, out)
	}
}

// asked is the signer's answer to a request. The client gives up after ten seconds, and a busy machine may need more:
// the request is repeated, which its id allows.
func (c *custody) asked(t *testing.T, r intent.Request) (signed intent.Signed, err error) {
	t.Helper()
	c.await(t, "the signer answers "+r.ID, func() bool {
		signed, err = c.client.Sign(t.Context(), r)
		_, refused := errors.AsType[*intent.Refusal](err)
		return err == nil || refused
	})
	return signed, err
}

// refused wants the signer to refuse an intent because of its destination.
func (c *custody) refused(t *testing.T, r intent.Request) {
	t.Helper()
	_, err := c.asked(t, r)
	if no, ok := errors.AsType[*intent.Refusal](err); !ok || no.Code != intent.Destination {
		t.Errorf("sign a %s to a foreign address: got %v, want a refusal of the destination", r.Kind, err)
	}
}

// unswept waits until the only deposit is final and wallets has refused to sweep it, because its treasury is not the
// signer's, and wants no transaction.
func (c *custody) unswept(t *testing.T) {
	t.Helper()
	c.await(t, "the deposit is final", func() bool { return c.count(t, `SELECT count(*) FROM deposits WHERE finalized`) == 1 })
	c.await(t, "wallets refuses to sweep", func() bool {
		return strings.Contains(get(t, "http://"+c.environ["OPS_ADDR"]+"/metrics"), fmt.Sprintf("wallets_sweep_errors_total{network=%q}", c.Subject.Network))
	})
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx`); n != 0 {
		t.Errorf("%d transactions were planned, want none", n)
	}
}

// logHolds verifies the signer's log.
func (c *custody) logHolds(t *testing.T) {
	t.Helper()
	cmd := exec.Command(filepath.Join(c.bin, "signer"), "verify-log")
	cmd.Env = c.vault
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("lines are valid")) {
		t.Errorf("verify the signer's log: got %v, %s, want that its lines are valid", err, out)
	}
}

func (c *custody) count(t *testing.T, sql string, args ...any) (n int64) {
	t.Helper()
	if err := c.pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("query %s: %v", sql, err)
	}
	return n
}

// call calls the node.
func (c *custody) call(t *testing.T, method string, params ...any) json.RawMessage {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(c.RPC, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var out struct {
		Result json.RawMessage `json:"result"`
		Error  any             `json:"error"`
	}
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || out.Error != nil {
		t.Fatalf("call the node's %s: got %v, %v", method, err, out.Error)
	}
	return out.Result
}

// moved are the USDT transfers on the chain from one address to another.
func (c *custody) moved(t *testing.T, from, to string) []string {
	t.Helper()
	return c.movedOf(t, "USDT", from, to)
}

// movedOf are the transfers of a token.
func (c *custody) movedOf(t *testing.T, token, from, to string) (amounts []string) {
	t.Helper()
	topic := func(a string) string { return "0x" + strings.Repeat("0", 24) + strings.ToLower(a[2:]) }
	var logs []struct {
		Data string `json:"data"`
	}
	result := c.call(t, "eth_getLogs", map[string]any{
		"fromBlock": "0x0", "toBlock": "latest", "address": c.Tokens[token],
		"topics": []string{"0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef", topic(from), topic(to)},
	})
	if err := json.Unmarshal(result, &logs); err != nil {
		t.Fatal(err)
	}
	for _, l := range logs {
		n, ok := new(big.Int).SetString(l.Data[2:], 16)
		if !ok {
			t.Fatalf("read the amount %s, want a hexadecimal number", l.Data)
		}
		amounts = append(amounts, n.String())
	}
	return amounts
}

func (c *custody) coins(t *testing.T, of string) *big.Int {
	t.Helper()
	var text string
	if err := json.Unmarshal(c.call(t, "eth_getBalance", of, "latest"), &text); err != nil {
		t.Fatal(err)
	}
	n, ok := new(big.Int).SetString(text[2:], 16)
	if !ok {
		t.Fatalf("read the balance %s, want a hexadecimal number", text)
	}
	return n
}

const swept = `SELECT count(*) FROM wallet_history WHERE wallet_id = $1 AND status = 'swept'`

// holds checks the state after a sweep of a USDT wallet: the chain moved the money once, the wallet got one event,
// every row has ended, and the books agree with the chain.
func (c *custody) holds(t *testing.T, w wallet.Wallet, amount string) {
	t.Helper()
	c.await(t, "swept "+w.Address, func() bool { return c.eventsOf(w) == "watching deposit_detected confirmed swept" })
	if n := c.count(t, swept, w.ID); n != 1 {
		t.Errorf("swept %d times", n)
	}
	if got := c.moved(t, w.Address, treasury); len(got) != 1 || got[0] != amount {
		t.Errorf("the chain moved %v", got)
	}
	if n := c.count(t, `SELECT count(*) FROM sweeps WHERE wallet_id = $1`, w.ID); n != 1 {
		t.Errorf("%d sweeps", n)
	}
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx o JOIN sweeps s ON s.id = o.sweep WHERE s.wallet_id = $1 AND o.state = 'final'`, w.ID); n != 2 {
		t.Errorf("%d transactions are final, want a funding and a sweep", n)
	}
	if n := c.count(t, `SELECT count(*) FROM deposits WHERE wallet_id = $1`, w.ID); n != 1 {
		t.Errorf("%d deposits: what the gas station gives is none", n)
	}
	c.booked(t, w, "USDT", amount)
	if got, want := c.books(t, w, "gas_float", "ETH"), c.coins(t, w.Address).Int64(); got != want {
		t.Errorf("the books have %d wei of the station's on the address, the chain %d", got, want)
	}
}

// kills are the points of a transaction at which a process dies: before or after the answer of the signer and of the
// node, and at the writing of a state.
type kills struct {
	signing map[string][]bool // by the process that dies
	sending []bool
	writing []string
}

// TestSweep_kill9 kills wallets, or the signer, at every step of a sweep that needs a funding first, and starts it
// again. The money moves once.
func TestSweep_kill9(t *testing.T) {
	t.Parallel()
	c := newCustody(t, nil)
	c.Do("/block-time", map[string]string{"every": blockTime})
	c.installSteps(t)
	for _, kind := range []intent.Kind{intent.Fund, intent.Sweep} {
		kills := evmKills[kind]
		for _, side := range []string{"wallets", "signer"} {
			for _, answered := range kills.signing[side] {
				t.Run(fmt.Sprintf("%s, signing, answered %v, %s dies", kind, answered, side), func(t *testing.T) {
					c.dies(t, c.door("sign", kind, answered), side)
				})
			}
		}
		for _, answered := range kills.sending {
			t.Run(fmt.Sprintf("%s, sending, answered %v", kind, answered), func(t *testing.T) {
				c.dies(t, c.door("send", kind, answered), "wallets")
			})
		}
		for _, state := range kills.writing {
			t.Run(fmt.Sprintf("%s, writing %s", kind, state), func(t *testing.T) {
				c.dies(t, c.row(string(kind)+" "+state), "wallets")
			})
		}
	}
	t.Run("opening", func(t *testing.T) { c.dies(t, c.row("open"), "wallets") })
	c.mu.Lock()
	if len(c.final) != 0 {
		t.Errorf("message to payments about standalone wallets: %v", c.final)
	}
	c.mu.Unlock()
	t.Run("payments learns it", c.tellsPayments)
	c.logHolds(t)
}

// stop is a point at which processes can be held: wait returns once one is there, and gone lets it continue.
type stop struct{ wait, gone func(t *testing.T) }

// dies holds one side at a point while a wallet is swept, kills it there, and starts it again.
func (c *custody) dies(t *testing.T, at func(t *testing.T) stop, side string) {
	c.made++
	amount := fmt.Sprint(25_000_000 + c.made)
	w := c.wallet(t, "USDT")
	place := at(t)
	c.Transfer(map[string]any{"to": w.Address, "amount": amount, "token": "USDT"})
	c.killAt(t, place, side)
	c.holds(t, w, amount)
}

// killAt kills one side at a point and starts it again.
func (c *custody) killAt(t *testing.T, place stop, side string) {
	t.Helper()
	place.wait(t)
	if side == "signer" {
		c.signer.kill(t)
		place.gone(t)
		c.startSigner(t)
	} else {
		c.wallets.kill(t)
		place.gone(t)
		c.startWallets(t)
	}
}

// door is a point between two processes.
func (c *custody) door(what string, kind intent.Kind, answered bool) func(t *testing.T) stop {
	return func(*testing.T) stop {
		g := c.doors.arm(func(k, of string) bool { return k == what && of == string(kind) }, answered)
		return stop{
			wait: func(t *testing.T) {
				select {
				case <-g.reached:
				case <-time.After(90 * time.Second):
					t.Fatal("nobody came to the door")
				}
			},
			gone: func(*testing.T) { close(g.open) },
		}
	}
}

// installSteps makes the rows of a sweep points at which a transaction can be held, as chaos does
// (docs/decisions/0007): each writer of such a row takes a shared lock of its name, which a test holds exclusively.
func (c *custody) installSteps(t *testing.T) {
	t.Helper()
	for _, sql := range []string{
		`CREATE FUNCTION step() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			PERFORM pg_advisory_xact_lock_shared(hashtextextended('step ' || CASE WHEN TG_TABLE_NAME = 'sweeps' THEN new.state ELSE to_jsonb(new)->>'kind' || ' ' || new.state END, 0));
			RETURN new; END $$`,
		`CREATE TRIGGER step BEFORE INSERT OR UPDATE ON outgoing_tx FOR EACH ROW EXECUTE FUNCTION step()`,
		`CREATE TRIGGER step BEFORE INSERT ON sweeps FOR EACH ROW EXECUTE FUNCTION step()`,
	} {
		if _, err := c.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// row is a point inside the transaction that writes a row.
func (c *custody) row(name string) func(t *testing.T) stop {
	return func(t *testing.T) stop {
		conn, err := c.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), `SELECT pg_advisory_lock(hashtextextended('step ' || $1, 0))`, name); err != nil {
			t.Fatal(err)
		}
		return stop{
			wait: func(t *testing.T) {
				c.await(t, "somebody writes "+name, func() bool {
					return c.count(t, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND mode = 'ShareLock'
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) > 0
				})
			},
			gone: func(t *testing.T) {
				if _, err := conn.Exec(t.Context(), `SELECT pg_advisory_unlock_all()`); err != nil {
					t.Fatal(err)
				}
				conn.Release()
			},
		}
	}
}

// statusPending is the number of transactions in the node's pool.
func (c *custody) statusPending() (int, error) {
	res, err := http.Get(c.URL + "/status")
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var out struct {
		Pending []string `json:"pending"`
	}
	err = json.NewDecoder(res.Body).Decode(&out)
	return len(out.Pending), err
}

// tellsPayments sweeps tokens of an address of payments, and kills wallets while it writes the end of either
// transaction. Payments receives each of them once, with the chain's amounts.
func (c *custody) tellsPayments(t *testing.T) {
	at := c.handed(t)
	fund := c.row("fund final")(t)
	c.Transfer(map[string]any{"to": at, "amount": "25000099", "token": "USDT"})
	fund.wait(t)
	swept := c.row("sweep final")(t)
	c.wallets.kill(t)
	fund.gone(t)
	c.startWallets(t)
	swept.wait(t)
	c.wallets.kill(t)
	swept.gone(t)
	c.startWallets(t)
	told := func() (all []map[string]wire.OutgoingFinal) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, m := range c.final {
			all = append(all, maps.Clone(m))
		}
		return all
	}
	c.await(t, "payments gets the messages of two transactions", func() bool {
		return len(told()) == 2 && c.count(t, `SELECT count(*) FROM outbox WHERE name = 'wallets.outgoing_final.v1'`) == 0
	})
	for _, ids := range told() {
		if len(ids) != 1 {
			t.Errorf("announced as %d messages: %v", len(ids), ids)
		}
		for id, o := range ids {
			var want wire.OutgoingFinal
			var outgoing string
			if err := c.pool.QueryRow(t.Context(), `SELECT o.id, o.kind, CASE o.kind WHEN 'sweep' THEN o.amount ELSE 0 END::text, o.fee::text
				FROM outgoing_tx o WHERE o.tx_hash = $1 AND o.state = 'final'`, o.TxHash).Scan(&outgoing, &want.Kind, &want.Amount, &want.Fee); err != nil {
				t.Fatal(err)
			}
			want.Mode, want.Network, want.TxHash, want.Asset = tenant.Live, "ethereum", o.TxHash, "USDT"
			if o != want || id != "live:"+outgoing {
				t.Errorf("%s: %+v, want %+v", id, o, want)
			}
			if o.Kind == wire.OutgoingSweep && o.Amount != "25000099" {
				t.Errorf("tell payments of a sweep: got %+v, want 25000099", o)
			}
		}
	}
	if got := c.moved(t, at, treasury); len(got) != 1 || got[0] != "25000099" {
		t.Errorf("the chain moved %v", got)
	}
}

// payments sweeps an address of the payments service: no wallet gets an event, and its money has an account of its own.
func (c *custody) payments(t *testing.T) {
	t.Helper()
	at := c.handed(t)
	c.Transfer(map[string]any{"to": at, "amount": "600000000000000000", "token": false})
	c.await(t, "an address of payments is swept", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE address = $1 AND state = 'swept'`, at) == 1
	})
	var gone string
	if err := c.pool.QueryRow(t.Context(), `SELECT sum(credit)::text FROM custody_entries WHERE account = 'payments'`).Scan(&gone); err != nil {
		t.Fatal(err)
	}
	if left := c.coins(t, at).String(); add(t, gone, left) != "600000000000000000" {
		t.Errorf("the books say that %s left, %s is still there", gone, left)
	}
	c.await(t, "payments gets the message", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, ids := range c.final {
			for _, o := range ids {
				return len(c.final) == 1 && o.Asset == "ETH" && add(t, o.Amount, o.Fee) == gone
			}
		}
		return false
	})
}

func add(t *testing.T, a, b string) string {
	t.Helper()
	m, ok := new(big.Int).SetString(a, 10)
	n, fine := new(big.Int).SetString(b, 10)
	if !ok || !fine {
		t.Fatalf("add %s and %s: want two numbers", a, b)
	}
	return m.Add(m, n).String()
}

// A block that holds the funding leaves the chain, and later one that holds the sweep: both are sent again and mined
// once.
func TestSweep_reorganised(t *testing.T) {
	t.Parallel()
	c := newCustody(t, func(policy string, environ map[string]string) string {
		environ["EVM_ETHEREUM_SWEEP_STUCK"] = "2s"
		return policy
	})
	c.Do("/finality", map[string]int{"depth": 12})
	w := c.wallet(t, "USDT")
	c.Transfer(map[string]any{"to": w.Address, "amount": "25000002", "token": "USDT", "mine": 15})
	mined := `SELECT count(*) FROM outgoing_tx o JOIN sweeps s ON s.id = o.sweep WHERE s.wallet_id = $1 AND o.kind = $2 AND o.state = $3`
	for _, kind := range []string{"fund", "sweep"} {
		c.await(t, kind+" is sent", func() bool { return c.count(t, mined, w.ID, kind, "broadcast") == 1 })
		mine := func(when string) { // a node may refuse a transaction just after a block and take it the next time
			c.await(t, kind+" is in the pool"+when, func() bool {
				n, err := c.statusPending()
				return err == nil && n > 0
			})
			c.Mine(1)
		}
		mine("")
		c.await(t, kind+" is mined", func() bool { return c.count(t, mined, w.ID, kind, "mined") == 1 })
		c.Do("/reorg", map[string]any{"depth": 1, "blocks": 2})
		c.Do("/drop", map[string]any{})
		c.await(t, kind+" is in no block", func() bool { return c.count(t, mined, w.ID, kind, "mined") == 0 })
		mine(" again")
		c.await(t, kind+" is mined again", func() bool { return c.count(t, mined, w.ID, kind, "mined") == 1 })
	}
	c.Do("/block-time", map[string]string{"every": blockTime})
	c.holds(t, w, "25000002")
}

// The signer signs transfers to its own treasury only, whatever wallets requests.
func TestSweep_wrongDestination(t *testing.T) {
	t.Parallel()
	const thief = "0x00000000000000000000000000000000deadbeef"
	c := newCustody(t, func(policy string, environ map[string]string) string {
		environ["EVM_ETHEREUM_SWEEP_TREASURY"] = strings.ToLower(thief)
		return policy
	})
	w := c.wallet(t, "USDT")
	c.Transfer(map[string]any{"to": w.Address, "amount": "25000003", "token": "USDT", "mine": 20})
	r := intent.Request{
		ID: "theft", Kind: intent.Sweep, Network: "ethereum", Asset: "USDT", Amount: "25000003", To: strings.ToLower(thief),
		EVM: &intent.EVM{ChainID: uint64(c.Chain), Contract: c.Tokens["USDT"], Gas: 100_000, MaxFee: "2000000000", Tip: "1"},
	}
	c.refused(t, r)
	log, err := os.ReadFile(filepath.Join(c.dir, "signer.log"))
	if err != nil || !bytes.Contains(log, []byte(`"event":"refused"`)) || bytes.Contains(log, []byte(`"event":"signed"`)) {
		t.Errorf("read the signer's log: got %s, %v, want a refusal and no signature", log, err)
	}
	c.unswept(t) // wallets does not even send a request
}

// A final refusal of the signer blocks the sweep until an operator releases it; the kill switch only delays it.
func TestSweep_refused(t *testing.T) {
	t.Parallel()
	c := newCustody(t, func(policy string, environ map[string]string) string {
		return strings.Replace(policy, `"maxGas":500000`, `"maxGas":30000`, 1) // a token's transfer needs more
	})
	c.Do("/block-time", map[string]string{"every": blockTime})
	w := c.wallet(t, "USDT")
	c.Transfer(map[string]any{"to": w.Address, "amount": "25000004", "token": "USDT"})
	c.await(t, "blocked", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE state = 'blocked' AND reason LIKE '%(fee)%'`) == 1
	})
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx WHERE kind = 'sweep'`); n != 0 {
		t.Errorf("%d transactions hold a number that nothing was signed for", n)
	}
	c.changePolicy(t, `"maxGas":30000`, `"maxGas":500000`)
	c.release(t)
	c.await(t, "swept", func() bool { return c.count(t, swept, w.ID) == 1 })
	if got := c.moved(t, w.Address, treasury); len(got) != 1 || got[0] != "25000004" {
		t.Errorf("the chain moved %v", got)
	}
}
