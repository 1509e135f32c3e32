//go:build integration

package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/mq"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/testkit/port"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/fixture"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/migrations"
)

// whole is the program in processes of its own, between a real database and a real broker; the test plays payments.
type whole struct {
	t        *testing.T
	environ  map[string]string
	payments *bus.Link

	mu        sync.Mutex
	addresses map[money.Family][]string
	deposits  map[string]wire.DepositChanged // newest version by key
	scanned   map[string]wire.ScannedThrough
	twice     []string
}

func startWhole(t *testing.T) *whole {
	t.Helper()
	amqp := mq.New(t)
	w := &whole{
		t: t, addresses: map[money.Family][]string{}, deposits: map[string]wire.DepositChanged{}, scanned: map[string]wire.ScannedThrough{},
		environ: map[string]string{
			"DATABASE_URL": pg.URL(t, migrations.FS), "AMQP_URL": amqp, "LOG_LEVEL": "warn",
			"MASTER_KEYS":       "k1:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("m"), 32)),
			"IDENTITY_KEYS":     base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32)),
			"XPUB_TEST_BITCOIN": xpub84, "XPUB_TEST_EVM": xpubEVM,
			"XPUB_TEST_TRON": "xpub6D1AabNHCupeiLM65ZR9UStMhJ1vCpyV4XbZdyhMZBiJXALQtmn9p42VTQckoHVn8WNqS7dqnJokZHAHcHGoaQgmv8D45oNUKx6DZMNZBCd",
		},
	}
	link, err := bus.Dial(t.Context(), bus.Config{URL: config.Secret(amqp)}, wire.Payments, telemetrytest.ForTest(t))
	if err != nil {
		t.Fatal(err)
	}
	w.payments = link
	take(w, wire.AddressesAllocatedV1, func(m wire.AddressesAllocated) {
		for _, a := range m.Addresses {
			if !slices.Contains(w.addresses[m.Family], a.Address) { // a message may come twice
				w.addresses[m.Family] = append(w.addresses[m.Family], a.Address)
			}
		}
	})
	take(w, wire.DepositChangedV1, func(m wire.DepositChanged) {
		if before := w.deposits[m.Key]; m.Version > before.Version {
			w.deposits[m.Key] = m
		} else if m.Version == before.Version && fmt.Sprint(m) != fmt.Sprint(before) {
			w.twice = append(w.twice, m.Key)
		}
	})
	take(w, wire.ScannedThroughV1, func(m wire.ScannedThrough) { w.scanned[m.Network] = m })
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- link.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = link.Close() }) //nolint:errcheck // it ends because it is cancelled
	return w
}

// take reads a message in the role of payments.
func take[T any](w *whole, name wire.Name, f func(T)) {
	for _, r := range wire.Topology() {
		if r.Name == name {
			w.payments.Handle(r.Queue, 1, func(_ context.Context, m bus.Message) error {
				var p T
				if err := json.Unmarshal(m.Body, &p); err != nil {
					return err
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				f(p)
				return nil
			})
		}
	}
}

func (w *whole) publish(name wire.Name, payload any) {
	w.t.Helper()
	body, err := json.Marshal(payload)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.payments.Publisher().Publish(string(name), message.NewMessage(id.New(id.Message, time.Now()), body)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *whole) database() *pgx.Conn {
	w.t.Helper()
	db, err := pgx.Connect(w.t.Context(), w.environ["DATABASE_URL"])
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = db.Close(context.WithoutCancel(w.t.Context())) })
	return db
}

// replica starts one process with both roles and returns its stop function and the addresses of its two ports.
func (w *whole) replica() (stop func(), api, ops string) {
	w.t.Helper()
	environ := map[string]string{"HTTP_ADDR": port.Free(w.t), "OPS_ADDR": port.Free(w.t)}
	for k, v := range w.environ {
		environ[k] = v
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan error, 1)
	go func() { done <- program.Run(ctx, command.Input{Environ: environ}) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				w.t.Error(err)
			}
		})
	}
	w.t.Cleanup(stop)
	api, ops = "http://"+environ["HTTP_ADDR"], "http://"+environ["OPS_ADDR"]
	w.until("ready", func() bool {
		res, err := http.Get(ops + "/readyz")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	return stop, api, ops
}

func (w *whole) until(what string, holds func() bool) {
	w.t.Helper()
	fixture.Await(w.t, what, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return holds()
	})
}

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "5") // the tests wait for chains and clocks more than they compute
	os.Exit(m.Run())
}

func TestService(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	stopOne, api, ops := w.replica()

	began := time.Now()
	for _, family := range money.Families() {
		w.publish(wire.AllocateAddressesV1, wire.AllocateAddresses{RequestID: "stock " + string(family), Mode: tenant.Test, Family: family, Count: 1024})
	}
	w.until("stocked", func() bool {
		for _, family := range money.Families() {
			if len(w.addresses[family]) != 1024 {
				return false
			}
		}
		return true
	})
	t.Logf("4 x 1024 addresses in %s", time.Since(began))

	deposit := func(run string) {
		for i, n := range money.Networks() {
			w.publish(wire.SimulateDepositV1, wire.SimulateDeposit{
				RequestID: run + n.Name, Address: w.addresses[n.Family][i], Network: n.Name, Asset: n.Assets[0].Symbol, Amount: "1500000",
			})
		}
	}
	confirmed := func(count int) func() bool {
		return func() bool {
			n := 0
			for _, d := range w.deposits {
				if d.State == wire.Confirmed {
					n++
				}
			}
			return n == count
		}
	}
	deposit("one ")
	w.until("confirmed on every network", confirmed(8))
	w.until("scanned on every network", func() bool { return len(w.scanned) == 8 })

	answersUnknownRoutes(t, api)
	w.measures(ops)

	// A second replica joins, and the first stops in the middle.
	w.replica()
	deposit("two ")
	stopOne()
	w.until("confirmed after a handover", confirmed(16))
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.twice) > 0 || len(w.deposits) != 16 {
		t.Errorf("%d deposits, announced with two contents: %v", len(w.deposits), w.twice)
	}
	if _, err := http.Get(ops + "/healthz"); err == nil {
		t.Error("the stopped replica still answers")
	}
	if _, err := http.Get(api + "/"); err == nil {
		t.Error("the stopped replica still serves")
	}
}

// answersUnknownRoutes calls a route that does not exist.
func answersUnknownRoutes(t *testing.T, api string) {
	t.Helper()
	res, err := http.Get(api + "/v1/nothing")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	var shape struct {
		Success bool
		Error   struct{ Code, Message string }
	}
	if err := json.Unmarshal(body, &shape); err != nil || res.StatusCode != http.StatusNotFound || shape.Success || shape.Error.Code == "" {
		t.Errorf("call an unknown route: got %d %s, want 404 in the shape of errors", res.StatusCode, body)
	}
}

// measures waits for the metrics of a leader, which appear once it leads.
func (w *whole) measures(ops string) {
	w.t.Helper()
	for _, name := range []string{"wallets_chain_scanned_blocks", "wallets_watched_addresses", "outbox_rows"} {
		w.until("metric "+name, func() bool {
			metrics, err := http.Get(ops + "/metrics")
			if err != nil {
				return false
			}
			defer metrics.Body.Close()
			text, err := io.ReadAll(metrics.Body)
			return err == nil && strings.Contains(string(text), name)
		})
	}
}

const otherXpub = "xpub6D4BDPcP2GT577Vvch3R8wDkScZWzQzMMUm3PWbmWvVJrZwQY4VUNgqFJPMM3No2dFDFGTsxxpG5uJh7n7epu4trkrX7x7DogT5Uv6fcLW5"

// A setting that differs from that of the issued addresses closes its networks, and payments learns of it; every other
// network continues. The signer of the first key would not find money paid to addresses of another key.
func TestService_mismatchedSettings(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	stop, _, _ := w.replica()
	ask := func(name string, families ...money.Family) {
		for _, f := range families {
			w.publish(wire.AllocateAddressesV1, wire.AllocateAddresses{RequestID: name + string(f), Mode: tenant.Test, Family: f, Count: 3})
		}
	}
	states := func(want map[string]wire.ScanState) func() bool {
		return func() bool {
			for network, state := range want {
				if w.scanned[network].State != state {
					return false
				}
			}
			return true
		}
	}
	const open, closed = wire.ScanFollowing, wire.ScanMismatched
	ask("first", money.EVM, money.Tron)
	w.until("stocked", func() bool { return len(w.addresses[money.EVM]) == 3 && len(w.addresses[money.Tron]) == 3 })
	// A closed network that was never scanned is not announced, so each is scanned first.
	w.until("all open", states(map[string]wire.ScanState{
		"ethereum": open, "bsc": open, "polygon": open, "base": open, "arbitrum": open, "tron": open, "solana": open, "bitcoin": open,
	}))
	stop()

	right := w.environ["XPUB_TEST_EVM"]
	w.environ["XPUB_TEST_EVM"] = otherXpub
	stop, _, _ = w.replica()
	w.until("EVM closed, the others open", states(map[string]wire.ScanState{
		"ethereum": closed, "bsc": closed, "polygon": closed, "base": closed, "arbitrum": closed, "tron": open, "solana": open, "bitcoin": open,
	}))
	ask("second", money.EVM, money.Tron)
	w.until("tron stocked", func() bool { return len(w.addresses[money.Tron]) == 6 })
	stop()
	w.mu.Lock()
	if n := len(w.addresses[money.EVM]); n != 3 {
		t.Errorf("%d EVM addresses came of another key", n-3)
	}
	w.mu.Unlock()
	w.doesNotRecover(t)

	w.environ["XPUB_TEST_EVM"] = right
	w.replica()
	w.until("open again", states(map[string]wire.ScanState{"ethereum": open, "arbitrum": open, "tron": open}))
	w.until("what waited is granted", func() bool { return len(w.addresses[money.EVM]) == 6 })
}

// A release with other decimals than those of the stored amounts would misread old amounts by a power of ten: it closes
// the network, and every other network continues. The row plays the earlier release.
func TestService_changedDecimals(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	db := w.database()
	told := func(network string, want wire.ScanState) func() bool {
		return func() bool { return w.scanned[network].State == want }
	}
	decimals := func(network string, n int) {
		if _, err := db.Exec(t.Context(), `UPDATE counted_assets SET decimals = $2 WHERE mode = 'test' AND network = $1 AND asset = 'USDT'`, network, n); err != nil {
			t.Fatal(err)
		}
	}
	stop, _, _ := w.replica()
	w.until("scanned on every network", func() bool { return len(w.scanned) == 8 })
	stop()
	decimals("bsc", 6)
	for range 2 { // a start records nothing that would let the next one pass
		stop, _, _ = w.replica()
		w.until("bsc closed", told("bsc", wire.ScanMismatched))
		w.until("another of its family open", told("ethereum", wire.ScanFollowing))
		w.until("another family open", told("tron", wire.ScanFollowing))
		stop()
	}
	decimals("bsc", 18)
	w.replica()
	w.until("open again", told("bsc", wire.ScanFollowing))
}

// doesNotRecover: after a restore a setting that differs from that of the issued addresses stops the start. An index
// that is not moved past the issued ones would be used twice.
func (w *whole) doesNotRecover(t *testing.T) {
	t.Helper()
	environ := maps.Clone(w.environ)
	environ["HTTP_ADDR"], environ["OPS_ADDR"], environ["RECOVERY"] = port.Free(t), port.Free(t), "true"
	if err := program.Run(t.Context(), command.Input{Args: []string{"work"}, Environ: environ}); err == nil || !strings.Contains(err.Error(), "XPUB_TEST_EVM") {
		t.Errorf("recover with another key: got %v, want an error that names XPUB_TEST_EVM", err)
	}
}

// The database keeps its keys: the configuration may omit them, and an import cannot exchange one.
func TestService_keptKeys(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	stop, _, _ := w.replica()
	w.publish(wire.AllocateAddressesV1, wire.AllocateAddresses{RequestID: "r", Mode: tenant.Test, Family: money.EVM, Count: 3})
	w.until("stocked", func() bool { return len(w.addresses[money.EVM]) == 3 })
	stop()
	const other = otherXpub
	for _, name := range []string{"XPUB_TEST_BITCOIN", "XPUB_TEST_EVM", "XPUB_TEST_TRON"} {
		delete(w.environ, name)
	}
	var out bytes.Buffer
	if err := program.Run(t.Context(), command.Input{Args: []string{"import-key", "--mode", "test", "--family", "evm"}, Environ: w.environ, In: strings.NewReader(other), Out: &out}); err == nil {
		t.Error("an import exchanged the key")
	}
	if err := program.Run(t.Context(), command.Input{Args: []string{"import-key", "--mode", "live", "--family", "evm"}, Environ: w.environ, In: strings.NewReader(xpubEVM), Out: &out}); err == nil ||
		!strings.Contains(err.Error(), "one key") {
		t.Errorf("live was given the key of test: %v", err)
	}
	if err := program.Run(t.Context(), command.Input{Args: []string{"import-key", "--mode", "live", "--family", "evm"}, Environ: w.environ, In: strings.NewReader(other), Out: &out}); err != nil {
		t.Error(err)
	}
	w.replica()
	w.publish(wire.AllocateAddressesV1, wire.AllocateAddresses{RequestID: "again", Mode: tenant.Test, Family: money.EVM, Count: 3})
	w.until("stocked again", func() bool { return len(w.addresses[money.EVM]) == 6 })
	w.publish(wire.AllocateAddressesV1, wire.AllocateAddresses{RequestID: "live", Mode: tenant.Live, Family: money.EVM, Count: 1})
	w.until("live addresses of the imported key", func() bool { return len(w.addresses[money.EVM]) == 7 })
}

// The master key is replaced while wallets issues addresses; afterwards the new one alone opens the kept keys.
func TestService_rotateMaster(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	old, fresh := w.environ["MASTER_KEYS"], "fresh:"+base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{9}, 32))
	w.environ["MASTER_KEYS"] = old + "," + fresh
	stop, _, _ := w.replica()
	stocked := 0
	allocate := func() {
		t.Helper()
		stocked += 3
		w.publish(wire.AllocateAddressesV1, wire.AllocateAddresses{RequestID: fmt.Sprint("r", stocked), Mode: tenant.Test, Family: money.EVM, Count: 3})
		w.until("stocked", func() bool { return len(w.addresses[money.EVM]) == stocked })
	}
	allocate()
	rotate := func(keys string) (got struct {
		Master string
		Sealed int
	}, err error,
	) {
		t.Helper()
		environ := maps.Clone(w.environ)
		environ["MASTER_KEYS"] = keys
		var out bytes.Buffer
		if err := program.Run(t.Context(), command.Input{Args: []string{"rotate-master"}, Environ: environ, Out: &out}); err != nil {
			return got, err
		}
		return got, json.Unmarshal(out.Bytes(), &got)
	}
	if _, err := rotate(fresh); err == nil || !strings.Contains(err.Error(), "unknown master key") {
		t.Errorf("without the old key: %v", err)
	}
	if got, err := rotate(fresh + "," + old); err != nil || got.Master != "fresh" || got.Sealed == 0 {
		t.Errorf("rotate the master key: got %+v, %v, want something sealed under fresh", got, err)
	}
	if got, err := rotate(fresh + "," + old); err != nil || got.Sealed != 0 {
		t.Errorf("again: %+v, %v", got, err)
	}
	allocate()
	stop()
	for _, name := range []string{"XPUB_TEST_BITCOIN", "XPUB_TEST_EVM", "XPUB_TEST_TRON"} {
		delete(w.environ, name)
	}
	w.environ["MASTER_KEYS"] = fresh
	w.replica()
	allocate()
}

// Solana addresses of live mode come from the signer: requests wait for them, and a batch that was changed is refused.
func TestService_importAddresses(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	signer := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{5}, ed25519.SeedSize))
	w.environ["ADDRESS_BATCH_KEY"] = base64.StdEncoding.EncodeToString(signer.Public().(ed25519.PublicKey))
	_, _, ops := w.replica()
	w.publish(wire.AllocateAddressesV1, wire.AllocateAddresses{RequestID: "r", Mode: tenant.Live, Family: money.Solana, Count: 3})
	made, err := derivation.NewSandbox().Derive(100, 8) // stand-ins for the signer's
	if err != nil {
		t.Fatal(err)
	}
	batch := intent.Batch{Version: 1, Mode: "live", Family: money.Solana, From: 100, PublicKey: w.environ["ADDRESS_BATCH_KEY"]}
	for _, d := range made {
		batch.Addresses = append(batch.Addresses, d.Address)
	}
	message, err := batch.Message()
	if err != nil {
		t.Fatal(err)
	}
	batch.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(signer, message))
	text, err := json.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	other, err := derivation.NewSandbox().Derive(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(text), made[7].Address, other[0].Address, 1)
	if err := program.Run(t.Context(), command.Input{Args: []string{"import-addresses"}, Environ: w.environ, In: strings.NewReader(forged), Out: &out}); err == nil || !strings.Contains(err.Error(), "signature") {
		t.Errorf("import a forged batch: got %v, want an error that names the signature", err)
	}
	if err := program.Run(t.Context(), command.Input{Args: []string{"import-addresses"}, Environ: w.environ, In: bytes.NewReader(text), Out: &out}); err != nil || !strings.Contains(out.String(), `"imported": true`) {
		t.Fatalf("import a batch: got %s, %v, want it imported", out.String(), err)
	}
	w.until("granted", func() bool { return len(w.addresses[money.Solana]) == 3 })
	if got := w.addresses[money.Solana]; got[0] != made[0].Address || got[2] != made[2].Address {
		t.Errorf("grant imported addresses: got %v, want those of the batch in its order", got)
	}
	w.until("measured", func() bool {
		return strings.Contains(get(t, ops+"/metrics"), `wallets_address_pool{family="solana",mode="live"} 5`)
	})
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An operator can scan blocks again and look a transaction up beside the running service.
func TestService_operator(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	w.replica()
	w.publish(wire.AllocateAddressesV1, wire.AllocateAddresses{RequestID: "r", Mode: tenant.Test, Family: money.EVM, Count: 1})
	w.until("stocked", func() bool { return len(w.addresses[money.EVM]) == 1 })
	w.publish(wire.SimulateDepositV1, wire.SimulateDeposit{RequestID: "d", Address: w.addresses[money.EVM][0], Network: "base", Asset: "ETH", Amount: "7"})
	var seen wire.DepositChanged
	w.until("confirmed", func() bool {
		for _, d := range w.deposits {
			seen = d
		}
		return seen.State == wire.Confirmed
	})
	operator := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if err := program.Run(t.Context(), command.Input{Args: args, Environ: w.environ, Out: &out}); err != nil {
			t.Fatalf("run wallets %v: %v", args, err)
		}
		return out.String()
	}
	if got := operator("deposits", "--tx", strings.ToUpper(seen.TxHash[2:])); !strings.Contains(got, seen.Key) || !strings.Contains(got, `"units": "7"`) {
		t.Errorf("list deposits by transaction: got %s, want that of 7", got)
	}
	height := fmt.Sprint(seen.BlockHeight)
	if got := operator("rescan", "--network", "base", "--mode", "test", "--from", height, "--to", height); !strings.Contains(got, `"told": 1`) || !strings.Contains(got, `"found": 0`) {
		t.Errorf("scan one block again: got %s, want one announced and none found", got)
	}
	version := seen.Version
	w.until("announced again", func() bool { return w.deposits[seen.Key].Version > version })
	for _, args := range [][]string{
		{"rescan"},
		{"rescan", "--network", "base"},
		{"rescan", "--network", "base", "--from", "5", "--to", "4"},
		{"deposits"},
		{"deposits", "--tx", "x", "more"},
		{"rescan", "--network", "basement", "--from", "1", "--to", "2"},
		{"rescan", "--network", "base", "--from", "1", "--to", "2"},
	} {
		if err := program.Run(t.Context(), command.Input{Args: args, Environ: w.environ, Out: io.Discard}); err == nil {
			t.Errorf("%v was done", args)
		}
	}
}

// The API needs no broker: a process that only serves makes wallets and accepts sandbox deposits, and one that only
// works finds the deposits.
func TestService_split(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	identity := []byte(strings.Repeat("k", 32))
	serve := map[string]string{"HTTP_ADDR": port.Free(t), "OPS_ADDR": port.Free(t)}
	work := map[string]string{"OPS_ADDR": port.Free(t)}
	for name, value := range w.environ {
		if work[name] = value; name != "AMQP_URL" {
			serve[name] = value
		}
	}
	for role, environ := range map[string]map[string]string{"serve": serve, "work": work} {
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		done := make(chan error, 1)
		go func() { done <- program.Run(ctx, command.Input{Args: []string{role}, Environ: environ}) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		w.until(role+" ready", func() bool {
			res, err := http.Get("http://" + environ["OPS_ADDR"] + "/readyz")
			if err != nil {
				return false
			}
			defer res.Body.Close()
			return res.StatusCode == http.StatusOK
		})
	}
	call := func(method, path, body string) map[string]any {
		t.Helper()
		header, err := httpkit.Identity{
			Subject: httpkit.Merchant, MerchantID: "acme", KeyID: 7, Mode: tenant.Test, RequestID: "req_1", Method: method, Path: path,
			Audience: wire.Wallets, IssuedAt: time.Now().UnixMilli(),
		}.Sign(identity)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+serve["HTTP_ADDR"]+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(httpkit.IdentityHeader, header)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var answer map[string]any
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer["success"] != true {
			t.Fatalf("call %s %s: got %v, %v, want success", method, path, err, answer)
		}
		return answer
	}
	var ids []string
	for _, n := range money.Networks() {
		made := call("POST", "/v1/wallets", fmt.Sprintf(`{"network":%q,"crypto":%q}`, n.Name, n.Assets[0].Symbol))["wallet"].(map[string]any)
		ids = append(ids, made["id"].(string))
		call("POST", "/v1/sandbox/wallets/"+made["id"].(string)+"/deposits", `{"amount":"0.5"}`)
	}
	for _, id := range ids {
		w.until("confirmed", func() bool {
			now := call("GET", "/v1/wallets/"+id, "")["wallet"].(map[string]any)
			return now["status"] == "confirmed" && now["amount"] == "0.5"
		})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.deposits) > 0 {
		t.Errorf("message to payments about %v", w.deposits)
	}
}
