package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/address"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/httpapi"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/wallet"
)

var (
	key = []byte("wallets identity key, 32 bytes!!")
	now = time.Date(2026, 4, 1, 13, 30, 0, 5e6, time.UTC)
)

// shelf is app.Wallets in memory.
type shelf struct {
	drafts    []wallet.Wallet
	query     app.ListQuery
	simulated []wallet.Simulated
	answers   map[string]idempotency.Answer
	list      []wallet.Wallet
	err       error
}

func (s *shelf) CreateWallet(_ context.Context, d wallet.Wallet, src derivation.Source, k idempotency.Key, answer func(wallet.Wallet) (idempotency.Answer, error)) (idempotency.Answer, error) {
	if s.err != nil {
		return idempotency.Answer{}, s.err
	}
	made, err := src.Derive(0, 1)
	if err != nil {
		return idempotency.Answer{}, err
	}
	d.Address = made[0].Address
	s.drafts = append(s.drafts, d)
	a, err := answer(d)
	if k.Sent() {
		s.answers[k.Scope+k.Key] = a
	}
	return a, err
}

func (s *shelf) FindWallet(_ context.Context, o tenant.Owner, id string) (wallet.Wallet, error) {
	for _, w := range s.list {
		if w.ID == id && w.KeyID == o.KeyID && w.MerchantID == o.MerchantID && w.Mode == o.Mode {
			return w, nil
		}
	}
	return wallet.Wallet{}, app.ErrWalletNotFound
}

func (s *shelf) ListWallets(_ context.Context, _ tenant.Owner, q app.ListQuery) ([]wallet.Wallet, error) {
	s.query = q
	return s.list, s.err
}

func (s *shelf) ListDeposits(context.Context, wallet.Wallet, app.DepositQuery) ([]wallet.Deposit, map[string]int64, error) {
	d := wallet.Deposit{Network: "ethereum", State: wallet.Seen, FirstSeenAt: now}
	d.TxHash, d.Asset, d.Amount, d.BlockHeight = "0xaa", "USDT", big.NewInt(1_500_000), 10
	other := d
	other.Network, other.Asset, other.State = "base", "ETH", wallet.Reverted
	return []wallet.Deposit{d, other}, map[string]int64{"ethereum": 12, "base": 12}, s.err
}

func (s *shelf) SimulateOwned(_ context.Context, d wallet.Simulated, _ idempotency.Key, _ idempotency.Answer) error {
	s.simulated = append(s.simulated, d)
	return s.err
}

func (s *shelf) Balances(context.Context, tenant.Owner) ([]wallet.Balance, error) {
	return []wallet.Balance{{Network: "bsc", Asset: "USDT", Available: big.NewInt(5), Pending: new(big.Int)}}, s.err
}

func (s *shelf) Replay(_ context.Context, k idempotency.Key) (idempotency.Answer, bool, error) {
	a, ok := s.answers[k.Scope+k.Key]
	a.Replayed = true
	return a, ok, nil
}

func (s *shelf) Settled(_ context.Context, k idempotency.Key) (idempotency.Answer, error) {
	return idempotency.Answer{Status: 201, Body: []byte(`{"won":"` + k.Key + `"}`), Replayed: true}, nil
}

func (s *shelf) Full(context.Context) error { return nil }

const walletID = "wal_00000000000000000000000001"

type server struct {
	*shelf
	http.Handler
}

func newServer() server {
	s := &shelf{answers: map[string]idempotency.Answer{}}
	s.list = []wallet.Wallet{{
		ID: walletID, Mode: tenant.Test, MerchantID: "acme", KeyID: 7, Network: "ethereum", NetworkName: "erc20", Crypto: "USDT", Status: wallet.StatusConfirmed,
		Address: "0x9858EfFD232B4033E47d90003D41EC34EcaEda94", Amount: big.NewInt(12_500_000), Deposits: 1, Newest: 10, Head: 12, CreatedAt: now,
		ExpiresAt: now.Add(time.Hour), Metadata: []byte(`{"a":1}`),
	}}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	cases := app.New(nil, nil, app.Settings{
		Nets: map[tenant.Mode]address.Net{tenant.Test: address.Testnet}, Depths: wallet.DefaultDepths(), Taken: func(string) {}, Log: log,
	})
	source := derivation.Source(derivation.NewSandbox())
	api := app.NewAPI(cases, app.APISettings{
		Wallets: s, Backlog: s, Sources: keys.Sources{tenant.Test: {money.Solana: source, money.EVM: source}, tenant.Live: {money.EVM: source}},
		Scanned: func(m tenant.Mode, n string) bool { return m == tenant.Test || n == "base" }, Now: func() time.Time { return now },
	})
	verifier := httpkit.Verifier{Audience: "wallets", Keys: [][]byte{key}, Now: time.Now}
	return server{s, httpapi.New(httpkit.NewServer(log, prometheus.NewRegistry(), verifier), api)}
}

type sent struct {
	id     httpkit.Identity
	once   string
	status int
	body   string
	header http.Header
}

func (s server) send(t *testing.T, method, path, body string, change ...func(*sent)) sent {
	t.Helper()
	call := sent{id: httpkit.Identity{
		Subject: httpkit.Merchant, MerchantID: "acme", KeyID: 7, Mode: tenant.Test, RequestID: "req_1", Method: method, Path: path, Audience: "wallets",
		IssuedAt: time.Now().UnixMilli(),
	}}
	for _, f := range change {
		f(&call)
	}
	header, err := call.id.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set(httpkit.IdentityHeader, header)
	if call.once != "" {
		r.Header.Set("Idempotency-Key", call.once)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	call.status, call.body, call.header = w.Code, w.Body.String(), w.Header()
	return call
}

func live(c *sent)       { c.id.Mode = tenant.Live }
func foreignKey(c *sent) { c.id.KeyID = 8 }
func nobody(c *sent)     { c.id.Subject = httpkit.Public }
func withKey(c *sent)    { c.once = "k" }
func otherKey(c *sent)   { c.once, c.id.KeyID = "k", 8 }
func otherMode(c *sent)  { c.once, c.id.Mode = "k", tenant.Live }

func TestCreate(t *testing.T) {
	s := newServer()
	got := s.send(t, "POST", "/v1/wallets", `{"network":"ERC20","crypto":"usdt","expiresInMinutes":1.5,"metadata":{"z":1,"a":"<&>"}}`)
	const want = `"network":"erc20","crypto":"USDT","status":"watching","createdAt":"2026-04-01T13:30:00.005Z","expiresAt":"2026-04-01T13:31:30.005Z",` +
		`"metadata":{"z":1,"a":"<&>"}}}`
	if got.status != 201 || !strings.HasPrefix(got.body, `{"success":true,"wallet":{"id":"wal_`) || !strings.HasSuffix(got.body, want) {
		t.Errorf("create a wallet: got %d %s, want 201 with …%s", got.status, got.body, want)
	}
	d := s.drafts[0]
	if d.MerchantID != "acme" || d.KeyID != 7 || d.Network != "ethereum" || d.Mode != tenant.Test || d.Sequence != 1 {
		t.Errorf("create a wallet: got the draft %+v, want one of acme's key 7 on ethereum", d)
	}
	got = s.send(t, "POST", "/v1/wallets", `{"network":"polygon","crypto":"matic","expiresInMinutes":null,"metadata":null}`)
	if got.status != 201 || !strings.Contains(got.body, `"network":"polygon","crypto":"POL"`) || !strings.Contains(got.body, `"expiresAt":"2026-05-01T13:30:00.005Z","metadata":{}`) {
		t.Errorf("create a wallet on polygon: got %d %s, want 201 for a month", got.status, got.body)
	}
}

func TestCreate_refusals(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		change []func(*sent)
		status int
		holds  string
	}{
		"nothing":          {`{}`, nil, 400, `"fields":[{"field":"network","message":"is required"},{"field":"crypto","message":"is required"}]`},
		"unknown pair":     {`{"network":"base","crypto":"USDT"}`, nil, 400, `"code":"unsupported_pair","message":"crypto: \"USDT\" on base is not supported. Supported: bitcoin: BTC;`},
		"long name":        {`{"network":"` + strings.Repeat("x", 60) + `","crypto":"USDT"}`, nil, 400, strings.Repeat("x", 32) + `…`},
		"with other":       {`{"network":"x","crypto":"USDT","expiresInMinutes":43201}`, nil, 400, `"code":"validation_failed"`},
		"live":             {`{"network":"base","crypto":"USDC"}`, []func(*sent){live}, 201, `"status":"watching"`},
		"live not scanned": {`{"network":"ethereum","crypto":"USDC"}`, []func(*sent){live}, 503, `"code":"live_disabled"`},
		"live without key": {`{"network":"tron","crypto":"USDT"}`, []func(*sent){live}, 503, `"code":"live_disabled"`},
		"test without key": {`{"network":"tron","crypto":"USDT"}`, nil, 503, `"code":"network_unavailable"`},
		"no key":           {`{"network":"base","crypto":"USDC"}`, []func(*sent){nobody}, 401, `"code":"key_required"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := newServer().send(t, "POST", "/v1/wallets", c.body, c.change...)
			if got.status != c.status || !strings.Contains(got.body, c.holds) || (c.status == 503) != (got.header.Get("Retry-After") != "") {
				t.Errorf("%d %s, want %d with %s", got.status, got.body, c.status, c.holds)
			}
		})
	}
}

func TestCreate_once(t *testing.T) {
	s := newServer()
	const body = `{"network":"base","crypto":"USDC"}`
	first, again := s.send(t, "POST", "/v1/wallets", body, withKey), s.send(t, "POST", "/v1/wallets", body, withKey)
	if again.body != first.body || again.status != 201 || again.header.Get("Idempotent-Replayed") != "true" || first.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("create a wallet again: got %+v, want the first answer", again)
	}
	for name, other := range map[string]func(*sent){"another key": otherKey, "the other mode": otherMode} {
		if got := s.send(t, "POST", "/v1/wallets", body, other); got.body == first.body || got.status != 201 {
			t.Errorf("create a wallet again with %s: got %d %s, want another wallet", name, got.status, got.body)
		}
	}
	s.err = idempotency.ErrTaken
	if got := s.send(t, "POST", "/v1/wallets", body, func(c *sent) { c.once = "race" }); got.body != `{"won":"race"}` || got.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("create a wallet in a race: got %+v, want the answer that won", got)
	}
}

func TestRead(t *testing.T) {
	item := `{"id":"` + walletID + `","address":"0x9858EfFD232B4033E47d90003D41EC34EcaEda94","network":"erc20","crypto":"USDT","status":"confirmed",` +
		`"amount":"12.5","confirmations":3,"createdAt":"2026-04-01T13:30:00.005Z"`
	for path, want := range map[string]string{
		"/v1/wallets":                 `{"success":true,"wallets":[` + item + `}],"pagination":{"limit":50,"offset":0,"returned":1}}`,
		"/v1/wallets?limit=1&cursor=": `{"success":true,"wallets":[` + item + `}],"pagination":{"limit":1,"offset":0,"returned":1,"nextCursor":null,"hasMore":false}}`,
		"/v1/wallets/" + walletID:     `{"success":true,"wallet":` + item + `,"expiresAt":"2026-04-01T14:30:00.005Z","metadata":{"a":1}}}`,
		"/v1/wallets/" + walletID + "/deposits": `{"success":true,"deposits":[{"txHash":"0xaa","network":"erc20","crypto":"USDT","amount":"1.5","status":"seen",` +
			`"confirmations":3,"counted":true,"blockHeight":10,"firstSeenAt":"2026-04-01T13:30:00.005Z"},{"txHash":"0xaa","network":"base","crypto":"ETH",` +
			`"amount":"0.0000000000015","status":"reverted","confirmations":0,"counted":false,"blockHeight":10,"firstSeenAt":"2026-04-01T13:30:00.005Z"}],` +
			`"pagination":{"limit":50,"nextCursor":null,"hasMore":false}}`,
		"/v1/balances": `{"success":true,"balances":[{"crypto":"USDT","network":"bsc","available":"0.000000000000000005","pending":"0"}]}`,
	} {
		s := newServer()
		if got := s.send(t, "GET", path, ""); got.status != 200 || got.body != want {
			t.Errorf("%s: %d\n%s\nwant\n%s", path, got.status, got.body, want)
		}
		if got := s.send(t, "GET", path, "", nobody); got.status != 401 {
			t.Errorf("%s: nobody was answered %d", path, got.status)
		}
		if strings.Contains(path, walletID) {
			if got := s.send(t, "GET", path, "", foreignKey); got.status != 404 {
				t.Errorf("%s: a foreign key was answered %d", path, got.status)
			}
		}
		if s.err = errors.New("database away"); !strings.Contains(path, walletID) {
			if got := s.send(t, "GET", path, ""); got.status != 500 || strings.Contains(got.body, "database") {
				t.Errorf("get %s without the database: got %d %s, want 500 and no word of it", path, got.status, got.body)
			}
		}
	}
	for _, id := range []string{"wal_1", "x", walletID + "0", "%00", "wal_0000000000000000000000000A"} {
		if got := newServer().send(t, "GET", "/v1/wallets/"+id, ""); got.status != 404 || !strings.Contains(got.body, "wallet_not_found") {
			t.Errorf("get the wallet %s: got %d %s, want 404 wallet_not_found", id, got.status, got.body)
		}
	}
}

func TestList_query(t *testing.T) {
	cursor := app.Position{At: now, Name: walletID}.Cursor()
	for query, want := range map[string]app.ListQuery{
		"":                                 {Limit: 50},
		"?status=all&limit=&offset=":       {Limit: 50},
		"?status=swept&limit=100&offset=7": {Status: wallet.StatusSwept, Limit: 100, Offset: 7},
		"?cursor=" + cursor:                {Limit: 50, Cursor: true, After: app.Position{At: now, Name: walletID}},
	} {
		s := newServer()
		if got := s.send(t, "GET", "/v1/wallets"+query, ""); got.status != 200 || fmt.Sprint(s.query) != fmt.Sprint(want) {
			t.Errorf("%s: %d, asked %+v, want %+v", query, got.status, s.query, want)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=101", "?limit=ten", "?offset=-1", "?status=gone", "?cursor=x", "?cursor=AAAA", "?offset=1&cursor=" + cursor} {
		if got := newServer().send(t, "GET", "/v1/wallets"+query, ""); got.status != 400 {
			t.Errorf("list wallets by %s: got %d %s, want 400", query, got.status, got.body)
		}
	}
}

func TestSandbox(t *testing.T) {
	path := "/v1/sandbox/wallets/" + walletID + "/deposits"
	for body, want := range map[string]string{
		`{"amount":12.50}`:                  "12500000/12",
		`{"amount":"0.000001"}`:             "1/12",
		`{"amount":1e3,"confirmations":3}`:  "1000000000/3",
		`{"amount":1,"confirmations":0}`:    "1000000/1",
		`{"amount":1,"confirmations":null}`: "1000000/12",
	} {
		s := newServer()
		got := s.send(t, "POST", path, body)
		var a struct {
			Deposit struct{ TxHash, Amount, Crypto string }
		}
		if err := json.Unmarshal([]byte(got.body), &a); err != nil || got.status != 200 || len(s.simulated) != 1 {
			t.Fatalf("simulate a deposit by %s: got %d %s, %v, want 200", body, got.status, got.body, err)
		}
		d := s.simulated[0]
		if fmt.Sprintf("%s/%d", d.Amount, d.Confirmations) != want || d.Network != "ethereum" || d.Asset != "USDT" || a.Deposit.TxHash != d.TxHash || a.Deposit.Crypto != "USDT" {
			t.Errorf("simulate a deposit by %s: got %+v, %s, want %s", body, d, got.body, want)
		}
	}
	for _, body := range []string{`{}`, `{"amount":0}`, `{"amount":-1}`, `{"amount":"x"}`, `{"amount":0.0000001}`, `{"amount":1e16}`, `{"amount":[]}`, `{"amount":1,"confirmations":1.5}`, `{"amount":1,"confirmations":1001}`, `{"amount":1,"crypto":"ETH"}`} {
		if got := newServer().send(t, "POST", path, body); got.status != 400 {
			t.Errorf("simulate a deposit by %s: got %d %s, want 400", body, got.status, got.body)
		}
	}
	for name, other := range map[string]func(*sent){"a foreign key": foreignKey, "live": live} {
		if got := newServer().send(t, "POST", path, `{"amount":1}`, other); got.status != 404 {
			t.Errorf("simulate a deposit with %s: got %d %s, want 404", name, got.status, got.body)
		}
	}
}

func TestEventBody(t *testing.T) {
	w := newServer().list[0]
	w.Sequence = 3
	got, err := app.EventBody("evt_1", "wallet.confirmed", now, w)
	const want = `{"id":"evt_1","type":"wallet.confirmed","createdAt":"2026-04-01T13:30:00.005Z","mode":"test","data":{"wallet":{"id":"` + walletID +
		`","address":"0x9858EfFD232B4033E47d90003D41EC34EcaEda94","network":"erc20","crypto":"USDT","status":"confirmed","amount":"12.5","confirmations":3,` +
		`"createdAt":"2026-04-01T13:30:00.005Z","expiresAt":"2026-04-01T14:30:00.005Z","metadata":{"a":1},"sequence":3}}}`
	if err != nil || string(got) != want {
		t.Errorf("write the event: %v, got\n%s\nwant\n%s", err, got, want)
	}
}
