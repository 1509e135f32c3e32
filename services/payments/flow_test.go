//go:build integration

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/mq"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/testkit/port"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/migrations"
)

var identityKey = bytes.Repeat([]byte("k"), 32)

// service is the whole program between a real database and a real broker. The test plays wallets and the dispatcher.
type service struct {
	t        *testing.T
	url, ops string
	database string
	wallets  *bus.Link
	mu       sync.Mutex
	events   []wire.StatusChanged
	changed  chan struct{}
	deposits chan wire.SimulateDeposit
}

func startService(t *testing.T) *service {
	t.Helper()
	return startOn(t, pg.URL(t, migrations.FS), nil)
}

// startOn starts the service on a database; more adds to its environment.
func startOn(t *testing.T, database string, more map[string]string) *service {
	t.Helper()
	s := &service{t: t, database: database, changed: make(chan struct{}, 1), deposits: make(chan wire.SimulateDeposit, 8)}
	amqp, api, ops := mq.New(t), port.Free(t), port.Free(t)
	s.url, s.ops = "http://"+api, "http://"+ops
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 4)
	play := func(name string, handle func(*bus.Link)) *bus.Link {
		link, err := bus.Dial(ctx, bus.Config{URL: config.Secret(amqp)}, name, telemetrytest.ForTest(t))
		if err != nil {
			t.Fatal(err)
		}
		handle(link)
		t.Cleanup(func() { _ = link.Close() })
		go func() { done <- link.Run(ctx) }()
		return link
	}
	s.wallets = play(wire.Wallets, s.playWallets)
	play(wire.Dispatcher, s.playDispatcher)
	environ := map[string]string{
		"DATABASE_URL": s.database, "AMQP_URL": amqp, "HTTP_ADDR": api, "OPS_ADDR": ops, "LOG_LEVEL": "warn", "PUBLIC_URL": "https://pay.example",
		"IDENTITY_KEYS": base64.StdEncoding.EncodeToString(identityKey), "CALLBACK_ALLOW_TEST": "127.0.0.0/8", "ADDRESS_STOCK": "512",
		"MASTER_KEYS": "k1:" + base64.StdEncoding.EncodeToString(identityKey),
	}
	maps.Copy(environ, more)
	go func() { done <- program.Run(ctx, command.Input{Environ: environ}) }()
	t.Cleanup(func() {
		cancel()
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
	s.until("ready", func() bool {
		res, err := http.Get(s.ops + "/readyz")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	s.until("stocked", func() bool { return s.count(`SELECT count(*) FROM address_stock`) >= 4*512 })
	go func() { done <- s.playScans(ctx) }()
	s.until("open on every network", func() bool {
		exported := s.metrics()
		return !slices.ContainsFunc(money.Networks(), func(n money.Network) bool {
			return !strings.Contains(exported, `payments_network_open{mode="test",network="`+n.Name+`"} 1`)
		})
	})
	return s
}

// playScans reports every second that the scan of each network follows its chain.
func (s *service) playScans(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		for _, mode := range tenant.Modes() {
			for _, n := range money.Networks() {
				now := time.Now()
				err := s.send(wire.ScannedThroughV1, wire.ScannedThrough{
					Mode: mode, Network: n.Name, Height: 1, BlockTime: now, State: wire.ScanFollowing, Head: 1, HeadTime: now, ToldAt: now,
				})
				if ctx.Err() != nil {
					return nil
				}
				if err != nil {
					return err
				}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// metrics returns the exported metrics of the service; "" while they cannot be read.
func (s *service) metrics() string {
	res, err := http.Get(s.ops + "/metrics")
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return string(text)
}

func queueOf(name wire.Name) string {
	for _, r := range wire.Topology() {
		if r.Name == name {
			return r.Queue
		}
	}
	panic(name)
}

// playWallets answers requests for addresses and keeps orders for simulated deposits.
func (s *service) playWallets(link *bus.Link) {
	link.Handle(queueOf(wire.AllocateAddressesV1), 1, func(_ context.Context, m bus.Message) error {
		var ask wire.AllocateAddresses
		if err := json.Unmarshal(m.Body, &ask); err != nil {
			return err
		}
		parts := (ask.Count + wire.AddressesMax - 1) / wire.AddressesMax
		for part := 1; part <= parts; part++ {
			answer := wire.AddressesAllocated{RequestID: ask.RequestID, Mode: ask.Mode, Family: ask.Family, Part: part, Parts: parts}
			for range min(wire.AddressesMax, ask.Count-(part-1)*wire.AddressesMax) {
				answer.Addresses = append(answer.Addresses, wire.Address{WalletID: id.New(id.Wallet, time.Now()), Address: id.New("A", time.Now())})
			}
			s.publish(wire.AddressesAllocatedV1, answer)
		}
		return nil
	})
	link.Handle(queueOf(wire.SimulateDepositV1), 1, func(_ context.Context, m bus.Message) error {
		var d wire.SimulateDeposit
		if err := json.Unmarshal(m.Body, &d); err != nil {
			return err
		}
		s.deposits <- d
		return nil
	})
}

func (s *service) playDispatcher(link *bus.Link) {
	link.Handle(wire.IntakeQueue, 1, func(_ context.Context, m bus.Message) error {
		var e wire.StatusChanged
		if err := json.Unmarshal(m.Body, &e); err != nil {
			return err
		}
		s.mu.Lock()
		s.events = append(s.events, e)
		s.mu.Unlock()
		select {
		case s.changed <- struct{}{}:
		default:
		}
		return nil
	})
}

// publish sends a message as wallets.
func (s *service) publish(name wire.Name, payload any) {
	s.t.Helper()
	if err := s.send(name, payload); err != nil {
		s.t.Error(err)
	}
}

func (s *service) send(name wire.Name, payload any) error {
	m, err := outbox.Encode(s.t.Context(), name, id.New(id.Message, time.Now()), payload)
	if err != nil {
		return err
	}
	return s.wallets.Publisher().Publish(string(name), asWatermill(m))
}

// until calls ok after each event or a short wait, and fails the test after 90 s.
func (s *service) until(what string, ok func() bool) {
	s.t.Helper()
	limit, poll := time.After(90*time.Second), time.NewTicker(20*time.Millisecond)
	defer poll.Stop()
	for !ok() {
		select {
		case <-poll.C:
		case <-s.changed:
		case <-limit:
			s.t.Fatalf("not within 90 s: %s", what)
		}
	}
}

func (s *service) count(query string) (n int) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.database)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(s.t.Context())
	if err := conn.QueryRow(s.t.Context(), query).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// call makes a request as the gateway would, for merchant m1 in the given mode.
func (s *service) call(mode tenant.Mode, method, path, body string, header ...string) (int, string, http.Header) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	i := httpkit.Identity{
		Subject: httpkit.Merchant, MerchantID: "m1", KeyID: 1, Mode: mode, RequestID: id.New(id.Request, time.Now()), Method: method, Path: path,
		Audience: wire.Payments, IssuedAt: time.Now().UnixMilli(),
	}
	signed, err := i.Sign(identityKey)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set(httpkit.IdentityHeader, signed)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(got), res.Header
}

const good = `{"type":"transfer","fiatAmount":50000,"fiatCurrency":"NGN","crypto":"USDT","network":"tron","chargeFrom":"fiat",` +
	`"payer":{"chatId":"chat"},"receiver":{"bankCode":"058","accountNumber":"0123456789"}}`

// A transfer is created, paid by a deposit that the test plays, and settled; each status publishes its event, in order.
func TestFlow_transfer(t *testing.T) {
	t.Parallel()
	s := startService(t)
	status, body, _ := s.call(tenant.Test, "POST", "/v1/payments", good, "Idempotency-Key", "one")
	if status != 201 {
		t.Fatalf("create: %d %s", status, body)
	}
	if again, replay, h := s.call(tenant.Test, "POST", "/v1/payments", good, "Idempotency-Key", "one"); again != 201 || replay != body || h.Get("Idempotent-Replayed") != "true" {
		t.Errorf("replay: %d %s", again, replay)
	}
	var made struct {
		Payment struct{ Reference, DepositAddress string }
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil {
		t.Fatal(err)
	}
	ref := made.Payment.Reference
	if status, body, _ := s.call(tenant.Test, "POST", "/v1/sandbox/payments/"+ref+"/deposits", ""); status != 200 {
		t.Fatalf("deposit: %d %s", status, body)
	}
	d := <-s.deposits
	if d.Address != made.Payment.DepositAddress || d.Amount != "31250000" || d.Confirmations != 19 {
		t.Errorf("ordered %+v", d)
	}
	for version, depth := range []int64{0, 1, 19} {
		state := wire.Seen
		if depth > 1 {
			state = wire.Confirmed
		}
		s.publish(wire.DepositChangedV1, wire.DepositChanged{
			Key: "tron:tx1:0", Version: int64(version + 1), Mode: tenant.Test, Family: "tron", Network: "tron", Address: d.Address, Asset: "USDT", TxHash: "tx1",
			State: state, BlockHeight: 10, BlockTime: time.Now(), Amount: d.Amount, Depth: depth, Head: 9 + depth, FirstSeenAt: time.Now(),
		})
	}
	want := []string{"payment.pending", "payment.confirming", "payment.confirmed", "payment.settling", "payment.settled"}
	s.until("five events", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.events) >= len(want)
	})
	var types []string
	for i, e := range s.events {
		types = append(types, e.Type)
		if e.Sequence != int64(i+1) || e.MerchantID != "m1" || e.Mode != tenant.Test || !strings.Contains(string(e.Body), `"sequence":`+fmt.Sprint(i+1)) {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	if !slices.Equal(types, want) {
		t.Errorf("events %v", types)
	}
	status, body, _ = s.call(tenant.Test, "GET", "/v1/payments/"+ref, "")
	if status != 200 || !strings.Contains(body, `"status":"settled"`) || !strings.Contains(body, `"payout":{"id":"pyo_`) {
		t.Errorf("show: %d %s", status, body)
	}
	if status, body, _ := s.call(tenant.Live, "GET", "/v1/payments/"+ref, ""); status != 404 {
		t.Errorf("a live key sees a test payment: %d %s", status, body)
	}
	if status, body, h := s.call(tenant.Live, "POST", "/v1/payments", good); status != 503 || !strings.Contains(body, "live_disabled") || h.Get("Retry-After") == "" {
		t.Errorf("live: %d %s", status, body)
	}
}

// Every rule of docs/api-contract.md#create that a transfer can break: 400, the field named, nothing written.
func TestFlow_badInput(t *testing.T) {
	t.Parallel()
	s := startService(t)
	with := func(changes ...string) string { // "field=value" replaces, "field" removes; a dot enters an object
		var body map[string]any
		if err := json.Unmarshal([]byte(good), &body); err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			field, value, set := strings.Cut(c, "=")
			at := body
			if object, inner, nested := strings.Cut(field, "."); nested {
				at, field = body[object].(map[string]any), inner
			}
			if !set {
				delete(at, field)
				continue
			}
			at[field] = json.RawMessage(value)
		}
		out, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for name, tc := range map[string]struct{ body, field string }{
		"no type":                {with("type"), "type"},
		"unknown type":           {with(`type="loan"`), "type"},
		"type a number":          {with(`type=5`), "type"},
		"no amount":              {with("fiatAmount"), "fiatAmount"},
		"both amounts":           {with("cryptoAmount=5"), "cryptoAmount"},
		"amount a string":        {with(`fiatAmount="50000"`), "fiatAmount"},
		"amount zero":            {with("fiatAmount=0"), "fiatAmount"},
		"amount negative":        {with("fiatAmount=-5"), "fiatAmount"},
		"amount too precise":     {with("fiatAmount=5.001"), "fiatAmount"},
		"amount huge":            {with("fiatAmount=1e16"), "fiatAmount"},
		"amount above the limit": {with("fiatAmount=50000000.01"), "fiatAmount"},
		"amount below the limit": {with("fiatAmount=0.99"), "fiatAmount"},
		"crypto too precise":     {with("fiatAmount", "cryptoAmount=5.123456789"), "cryptoAmount"},
		"crypto beyond token":    {with("fiatAmount", "cryptoAmount=5.1234567"), "cryptoAmount"},
		"crypto out of range":    {with("fiatAmount", "cryptoAmount=1000000"), "cryptoAmount"},
		"no currency":            {with("fiatCurrency"), "fiatCurrency"},
		"unknown currency":       {with(`fiatCurrency="USD"`), "fiatCurrency"},
		"no crypto":              {with("crypto"), "crypto"},
		"no network":             {with("network"), "network"},
		"unknown network":        {with(`network="dogechain"`), "network"},
		"unsupported pair":       {with(`crypto="BTC"`), "crypto"},
		"no chargeFrom":          {with("chargeFrom"), "chargeFrom"},
		"unknown chargeFrom":     {with(`chargeFrom="both"`), "chargeFrom"},
		"no payer":               {with("payer"), "payer"},
		"payer null":             {with("payer=null"), "payer"},
		"payer a string":         {with(`payer="bob"`), "payer"},
		"no chatId":              {with("payer.chatId"), "payer.chatId"},
		"chatId empty":           {with(`payer.chatId=""`), "payer.chatId"},
		"chatId a number":        {with(`payer.chatId=7`), "payer.chatId"},
		"no receiver":            {with("receiver"), "receiver"},
		"no bankCode":            {with("receiver.bankCode"), "receiver.bankCode"},
		"bad bankCode":           {with(`receiver.bankCode="0-58"`), "receiver.bankCode"},
		"no accountNumber":       {with("receiver.accountNumber"), "receiver.accountNumber"},
		"short accountNumber":    {with(`receiver.accountNumber="123"`), "receiver.accountNumber"},
		"unknown account":        {with(`receiver.accountNumber="0000000001"`), "receiver.accountNumber"},
		"bankRef of another":     {with(`bankRef="x"`), "bankRef"},
		"metadata an array":      {with(`metadata=[1]`), "metadata"},
		"metadata too large":     {with(`metadata={"a":"` + strings.Repeat("x", 9000) + `"}`), "metadata"},
		"callbackUrl no URL":     {with(`callbackUrl="shop"`), "callbackUrl"},
		"callbackUrl ftp":        {with(`callbackUrl="ftp://shop.example"`), "callbackUrl"},
		"callbackUrl a number":   {with(`callbackUrl=1`), "callbackUrl"},
	} {
		status, body, _ := s.call(tenant.Test, "POST", "/v1/payments", tc.body)
		var got struct {
			Success bool
			Error   struct {
				Fields []struct{ Field string }
			}
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || got.Success {
			t.Errorf("create with %s answers %s (%v), want a failure in JSON", name, body, err)
			continue
		}
		named := slices.ContainsFunc(got.Error.Fields, func(f struct{ Field string }) bool { return f.Field == tc.field })
		if status != 400 || !named {
			t.Errorf("%s: %d %s, want a 400 that names %s", name, status, body, tc.field)
		}
	}
	for name, body := range map[string]string{
		"no JSON": `{`, "array": `[]`, "trailing": good + "x", "twice": `{"type":"transfer","type":"gift"}`, "NaN": with("fiatAmount=1")[:1] + `"fiatAmount":NaN}`,
		"deep": `{"metadata":` + strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 41), "empty": "",
	} {
		if status, answer, _ := s.call(tenant.Test, "POST", "/v1/payments", body); status != 400 {
			t.Errorf("create with a body that is %s = %d %s, want 400", name, status, answer)
		}
	}
	status, body, _ := s.call(tenant.Test, "POST", "/v1/payments", with("chargeFrom", "fiatAmount=-1", "payer", `receiver.bankCode=5`, `callbackUrl="x"`))
	for _, field := range []string{`"chargeFrom"`, `"fiatAmount"`, `"payer"`, `"receiver.bankCode"`, `"callbackUrl"`} {
		if status != 400 || !strings.Contains(body, `"field":`+field) {
			t.Errorf("all at once lacks %s: %d %s", field, status, body)
		}
	}
	if n := s.count(`SELECT (SELECT count(*) FROM payments) + (SELECT count(*) FROM history) + (SELECT count(*) FROM idempotency)`); n != 0 {
		t.Errorf("%d rows were written", n)
	}
	for path, body := range map[string]string{
		"/v1/sandbox/payments/CW-AAAAAAAAAAAA/deposits": "{}", "/v1/sandbox/payments/nonsense/expire": "",
	} {
		if status, answer, _ := s.call(tenant.Test, "POST", path, body); status != 404 {
			t.Errorf("POST %s = %d %s, want 404", path, status, answer)
		}
	}
}

// A service that starts with recovery discards the addresses in its stock, gets new ones, and pays.
func TestFlow_recovery(t *testing.T) {
	t.Parallel()
	database := pg.URL(t, migrations.FS)
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), `INSERT INTO address_stock (mode, family, address, wallet_id)
		SELECT 'test', f, 'old-' || f || n, 'wal_old' FROM unnest(ARRAY['tron', 'evm', 'bitcoin', 'solana']) f, generate_series(1, 512) n`); err != nil {
		t.Fatal(err)
	}
	s := startOn(t, database, map[string]string{"RECOVERY": "true"})
	if n := s.count(`SELECT count(*) FROM address_stock WHERE address LIKE 'old-%'`); n != 0 {
		t.Errorf("%d old addresses are in stock", n)
	}
	status, body, _ := s.call(tenant.Test, "POST", "/v1/payments", good)
	if status != 201 || strings.Contains(body, "old-") {
		t.Fatalf("create: %d %s", status, body)
	}
	var made struct {
		Payment struct{ DepositAddress string }
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil {
		t.Fatal(err)
	}
	s.publish(wire.DepositChangedV1, wire.DepositChanged{
		Key: "tron:tx1:0", Version: 1, Mode: tenant.Test, Family: "tron", Network: "tron", Address: made.Payment.DepositAddress, Asset: "USDT", TxHash: "tx1",
		State: wire.Confirmed, BlockHeight: 10, BlockTime: time.Now(), Amount: "31250000", Depth: 19, Head: 28, FirstSeenAt: time.Now(),
	})
	s.until("settled", func() bool { return s.count(`SELECT count(*) FROM payments WHERE status = 'settled'`) == 1 })
}
