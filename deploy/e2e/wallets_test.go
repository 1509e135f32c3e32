//go:build integration

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
)

// walletPairs are the networks of docs/api-contract.md#networks by an alias and one of their assets, with how its
// addresses look.
var walletPairs = []struct{ network, crypto, prefix string }{
	{"btc", "BTC", "tb1q"},
	{"erc20", "USDT", "0x"},
	{"bep20", "USDC", "0x"},
	{"matic", "POL", "0x"},
	{"base", "ETH", "0x"},
	{"arb", "USDC", "0x"},
	{"trc20", "USDT", "T"},
	{"sol", "SOL", ""},
}

func makeWallet(t testing.TB, c *api.Client, body any, options ...api.Option) *api.Answer {
	t.Helper()
	return c.Call(t, http.MethodPost, "/v1/wallets", body, options...).Want(t, http.StatusCreated)
}

func wallet(t testing.TB, c *api.Client, id string) *api.Answer {
	t.Helper()
	return c.Call(t, http.MethodGet, "/v1/wallets/"+id, nil).Want(t, http.StatusOK)
}

func payWallet(t testing.TB, c *api.Client, id string, body any) *api.Answer {
	t.Helper()
	return c.Call(t, http.MethodPost, "/v1/sandbox/wallets/"+id+"/deposits", body).Want(t, http.StatusOK)
}

func awaitWallet(t testing.TB, c *api.Client, id, status, amount string) *api.Answer {
	t.Helper()
	var last *api.Answer
	defer func() {
		if t.Failed() && last != nil {
			t.Logf("the wallet was last seen as %s", last.Body)
		}
	}()
	api.Eventually(t, settle, id+" to be "+status+" with "+amount, func() bool {
		last = wallet(t, c, id)
		return slices.Contains(strings.Split(status, " or "), last.Text(t, "wallet.status")) && last.Text(t, "wallet.amount") == amount
	})
	return last
}

func textTime(t testing.TB, a *api.Answer, path string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05.000Z", a.Text(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestWallet_walk: docs/api-contract.md#wallets on every network: created, paid, confirmed, paid again.
func TestWallet_walk(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	for _, pair := range walletPairs {
		t.Run(pair.network+" "+pair.crypto, func(t *testing.T) {
			t.Parallel()
			mine := key(t, s, c, "test", unique("wallet"), "wallet:create", "wallet:read")
			made := makeWallet(t, mine, api.Object{"network": strings.ToUpper(pair.network), "crypto": strings.ToLower(pair.crypto)})
			sameSet(t, "the answer", made.Keys(t, ""), "success", "wallet")
			sameSet(t, "the created wallet", made.Keys(t, "wallet"), "id", "address", "network", "crypto", "status", "createdAt", "expiresAt", "metadata")
			id := made.Text(t, "wallet.id")
			if !strings.HasPrefix(made.Text(t, "wallet.address"), pair.prefix) || made.Text(t, "wallet.network") != pair.network ||
				made.Text(t, "wallet.crypto") != pair.crypto || made.Text(t, "wallet.status") != "watching" || len(made.Keys(t, "wallet.metadata")) != 0 {
				t.Errorf("created as %s", made.Body)
			}
			if window := textTime(t, made, "wallet.expiresAt").Sub(textTime(t, made, "wallet.createdAt")); window != 43200*time.Minute {
				t.Errorf("a window of %v, want 30 days", window)
			}
			first := mine.Call(t, http.MethodGet, "/v1/wallets", nil).Want(t, http.StatusOK)
			sameSet(t, "a listed wallet", first.Keys(t, "wallets.0"), "id", "address", "network", "crypto", "status", "amount", "confirmations", "createdAt")
			sameSet(t, "pagination", first.Keys(t, "pagination"), "limit", "offset", "returned")
			if first.Text(t, "wallets.0.amount") != "0" || first.Number(t, "wallets.0.confirmations").Sign() != 0 {
				t.Errorf("listed as %s", first.Body)
			}

			payWallet(t, mine, id, api.Object{"amount": num("12.50"), "confirmations": 1})
			// Blocks of other tests may confirm it before anybody looks; that it was detected first is what its events say.
			awaitWallet(t, mine, id, "deposit_detected or confirmed", "12.5")
			payWallet(t, mine, id, api.Object{"amount": "0.5"})
			got := awaitWallet(t, mine, id, "confirmed", "13")
			if got.Number(t, "wallet.confirmations").Sign() <= 0 {
				t.Errorf("no confirmations: %s", got.Body)
			}
			payWallet(t, mine, id, api.Object{"amount": "0.00000100"})
			awaitWallet(t, mine, id, "confirmed", "13.000001")
			list := mine.Call(t, http.MethodGet, "/v1/wallets/"+id+"/deposits?limit=2", nil).Want(t, http.StatusOK)
			if list.Len(t, "deposits") != 2 || list.Text(t, "deposits.0.amount") != "0.000001" || list.Text(t, "deposits.1.amount") != "0.5" {
				t.Errorf("deposits %s", list.Body)
			}
			rest := mine.Call(t, http.MethodGet, "/v1/wallets/"+id+"/deposits?limit=2&cursor="+list.Text(t, "pagination.nextCursor"), nil).Want(t, http.StatusOK)
			if rest.Len(t, "deposits") != 1 || rest.Text(t, "deposits.0.amount") != "12.5" || rest.Text(t, "deposits.0.status") != "confirmed" || !rest.Null("pagination.nextCursor") {
				t.Errorf("deposits %s", rest.Body)
			}
			held := mine.Call(t, http.MethodGet, "/v1/balances", nil).Want(t, http.StatusOK)
			if held.Len(t, "balances") != 1 || held.Text(t, "balances.0.available") != "13.000001" || held.Text(t, "balances.0.pending") != "0" ||
				held.Text(t, "balances.0.crypto") != pair.crypto {
				t.Errorf("balances %s", held.Body)
			}
		})
	}
}

// TestWallet_list: filter, limit, offset, order, returned and the cursor.
func TestWallet_list(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("list"), "wallet:*")
	var ids []string
	for i := range 7 {
		ids = append([]string{makeWallet(t, mine, api.Object{"network": "ethereum", "crypto": "ETH", "metadata": api.Object{"n": i}}).Text(t, "wallet.id")}, ids...)
	}
	payWallet(t, mine, ids[3], api.Object{"amount": "1"})
	awaitWallet(t, mine, ids[3], "confirmed", "1")
	page := func(query string) (*api.Answer, []string) {
		t.Helper()
		a := mine.Call(t, http.MethodGet, "/v1/wallets"+query, nil).Want(t, http.StatusOK)
		var got []string
		for i := range a.Len(t, "wallets") {
			got = append(got, a.Text(t, fmt.Sprintf("wallets.%d.id", i)))
		}
		if a.Number(t, "pagination.returned").Cmp(api.Rat(fmt.Sprint(len(got)))) != 0 {
			t.Errorf("%s: returned is not the number of wallets: %s", query, a.Body)
		}
		return a, got
	}
	for query, want := range map[string][]string{
		"": ids, "?status=all": ids, "?limit=100": ids, "?limit=2": ids[:2], "?limit=2&offset=5": ids[5:], "?offset=7": nil, "?offset=1000000000000": nil,
		"?status=confirmed": ids[3:4], "?status=watching&limit=4&offset=1": {ids[1], ids[2], ids[4], ids[5]}, "?status=swept": nil,
		"?status=expired": nil, "?status=deposit_detected": nil,
	} {
		if _, got := page(query); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}
	a, _ := page("")
	if a.Number(t, "pagination.limit").Cmp(api.Rat("50")) != 0 || a.Number(t, "pagination.offset").Sign() != 0 {
		t.Errorf("defaults: %s", a.Body)
	}
	var walked []string
	for cursor := ""; ; {
		a, got := page("?limit=3&cursor=" + cursor)
		walked = append(walked, got...)
		if more, _ := a.At("pagination.hasMore"); more != true {
			break
		}
		cursor = a.Text(t, "pagination.nextCursor")
	}
	if !slices.Equal(walked, ids) {
		t.Errorf("walked %v, want %v", walked, ids)
	}
	for query, field := range map[string]string{
		"?limit=0": "limit", "?limit=101": "limit", "?limit=x": "limit", "?limit=-1": "limit", "?limit=1.5": "limit", "?offset=-1": "offset", "?offset=x": "offset",
		"?status=lost": "status", "?status=WATCHING": "status", "?cursor=rubbish": "cursor", "?cursor=" + strings.Repeat("A", 300): "cursor", "?cursor=&offset=3": "offset",
	} {
		a := mine.Call(t, http.MethodGet, "/v1/wallets"+query, nil, bad).Want(t, http.StatusBadRequest)
		if !slices.Equal(a.FieldErrors(), []string{field}) {
			t.Errorf("list wallets%s: got %s, want an error of field %s", query, a.Body, field)
		}
	}
}

// TestWallet_scope: wallets belong to the key that made them; another key of the same merchant cannot see them.
func TestWallet_scope(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	merchant := unique("scope")
	mine := key(t, s, c, "test", merchant, "wallet:*")
	once := api.Header("Idempotency-Key", "the same")
	id := makeWallet(t, mine, api.Object{"network": "tron", "crypto": "USDT"}, once).Text(t, "wallet.id")
	for name, other := range map[string]*api.Client{
		"another key": key(t, s, c, "test", merchant, "*"), "another merchant": key(t, s, c, "test", unique("scope"), "*"),
		"live": key(t, s, c, "live", merchant, "*"),
	} {
		for _, path := range []string{"/v1/wallets/" + id, "/v1/wallets/" + id + "/deposits"} {
			if a := other.Call(t, http.MethodGet, path, nil); a.Status != http.StatusNotFound {
				t.Errorf("%s reads %s: %d %s", name, path, a.Status, a.Body)
			}
		}
		if a := other.Call(t, http.MethodPost, "/v1/sandbox/wallets/"+id+"/deposits", api.Object{"amount": 1}); a.Status != http.StatusNotFound {
			t.Errorf("%s pays: %d %s", name, a.Status, a.Body)
		}
		if a := other.Call(t, http.MethodGet, "/v1/wallets", nil).Want(t, http.StatusOK); a.Len(t, "wallets") != 0 {
			t.Errorf("%s lists %s", name, a.Body)
		}
	}
	if again := makeWallet(t, key(t, s, c, "test", merchant, "*"), api.Object{"network": "tron", "crypto": "USDT"}, once); again.Text(t, "wallet.id") == id {
		t.Error("another key was given the stored answer")
	}
	for _, none := range []string{"wal_00000000000000000000000000", "wal_", "x", "%00", strings.Repeat("x", 500)} {
		mine.Call(t, http.MethodGet, "/v1/wallets/"+none, nil, bad).Want(t, http.StatusNotFound)
	}
	reads, makes := key(t, s, c, "test", merchant, "wallet:read"), key(t, s, c, "test", merchant, "wallet:create")
	reads.Call(t, http.MethodPost, "/v1/wallets", api.Object{"network": "tron", "crypto": "USDT"}).Want(t, http.StatusForbidden)
	makes.Call(t, http.MethodGet, "/v1/wallets", nil).Want(t, http.StatusForbidden)
	makes.Call(t, http.MethodGet, "/v1/balances", nil).Want(t, http.StatusForbidden)
	c.With("").Call(t, http.MethodGet, "/v1/wallets", nil).Want(t, http.StatusUnauthorized)
}

// TestWallet_badBodies: every rule of docs/api-contract.md#wallets, all at once, with what is valid named.
func TestWallet_badBodies(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("bad"), "wallet:*")
	good := func(changes api.Object) api.Object {
		body := api.Object{"network": "ethereum", "crypto": "USDT"}
		for name, value := range changes {
			body[name] = value
		}
		return body
	}
	for name, tc := range map[string]struct {
		body   any
		fields []string
	}{
		"nothing":            {api.Object{}, []string{"network", "crypto"}},
		"empty":              {good(api.Object{"network": "", "crypto": ""}), []string{"network", "crypto"}},
		"wrong types":        {good(api.Object{"network": 1, "crypto": true, "metadata": "x", "expiresInMinutes": "60"}), []string{"network", "crypto", "metadata", "expiresInMinutes"}},
		"null":               {good(api.Object{"network": nil}), []string{"network"}},
		"mistyped network":   {good(api.Object{"network": "etherium"}), []string{"network"}},
		"mistyped crypto":    {good(api.Object{"crypto": "USTD"}), []string{"crypto"}},
		"not on the network": {good(api.Object{"network": "base"}), []string{"crypto"}},
		"minutes zero":       {good(api.Object{"expiresInMinutes": 0}), []string{"expiresInMinutes"}},
		"minutes below":      {good(api.Object{"expiresInMinutes": num("0.999")}), []string{"expiresInMinutes"}},
		"minutes above":      {good(api.Object{"expiresInMinutes": num("43200.001")}), []string{"expiresInMinutes"}},
		"minutes negative":   {good(api.Object{"expiresInMinutes": -5}), []string{"expiresInMinutes"}},
		"minutes absurd":     {good(api.Object{"expiresInMinutes": num("1e999999")}), []string{"expiresInMinutes"}},
		"metadata list":      {good(api.Object{"metadata": []int{1}}), []string{"metadata"}},
		"metadata large":     {good(api.Object{"metadata": api.Object{"x": strings.Repeat("x", 9000)}}), []string{"metadata"}},
		"metadata with NUL":  {`{"network":"ethereum","crypto":"USDT","metadata":{"x":"\u0000"}}`, []string{"metadata"}},
		"two things":         {good(api.Object{"network": "nowhere", "expiresInMinutes": 0}), []string{"expiresInMinutes", "network"}},
		"no JSON":            {`{"network":`, nil},
		"a list":             {`[]`, nil},
		"twice":              {`{"network":"ethereum","network":"tron","crypto":"USDT"}`, []string{"network"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := mine.Call(t, http.MethodPost, "/v1/wallets", tc.body, bad).Want(t, http.StatusBadRequest)
			got := a.FieldErrors()
			slices.Sort(got)
			slices.Sort(tc.fields)
			if !slices.Equal(got, tc.fields) {
				t.Errorf("names %v, want %v: %s", got, tc.fields, a.Body)
			}
		})
	}
	a := mine.Call(t, http.MethodPost, "/v1/wallets", good(api.Object{"network": "etherium"}), bad)
	if a.Text(t, "error.code") != "unsupported_pair" || !strings.Contains(a.Text(t, "message"), "arbitrum: ETH USDT USDC") {
		t.Errorf("an unsupported pair does not list what is: %s", a.Body)
	}
	id := makeWallet(t, mine, good(nil)).Text(t, "wallet.id")
	for _, body := range []api.Object{{}, {"amount": 0}, {"amount": -1}, {"amount": "x"}, {"amount": num("0.0000001")}, {"amount": true}, {"amount": num("1e16")}, {"amount": 1, "confirmations": -1}, {"amount": 1, "outcome": "lost"}, {"amount": 1, "outcome": ""}} {
		mine.Call(t, http.MethodPost, "/v1/sandbox/wallets/"+id+"/deposits", body, bad).Want(t, http.StatusBadRequest)
	}
}

// TestWallet_create: metadata comes back as it was sent, the window may have a fraction, and a key makes one wallet.
func TestWallet_create(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("create"), "wallet:*")
	body := `{"network":"Ethereum","crypto":"usdc","expiresInMinutes":1.5,"metadata":{"b":1.50,"a":{"deep":[null,"ü"]}},"unknown":1}`
	once := api.Header("Idempotency-Key", unique("key"))
	made := makeWallet(t, mine, body, once)
	if window := textTime(t, made, "wallet.expiresAt").Sub(textTime(t, made, "wallet.createdAt")); window != 90*time.Second {
		t.Errorf("a window of %v", window)
	}
	if !strings.Contains(string(made.Body), `"metadata":{"b":1.50,"a":{"deep":[null,"ü"]}}`) {
		t.Errorf("metadata came back as %s", made.Body)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			again, err := mine.Try(t.Context(), http.MethodPost, "/v1/wallets", body, once)
			if err != nil || again.Status != http.StatusCreated || string(again.Body) != string(made.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("create the same wallet with the same key: got %+v, %v, want the first answer, replayed", again, err)
			}
		})
	}
	wg.Wait()
	mine.Call(t, http.MethodPost, "/v1/wallets", `{"network":"ethereum","crypto":"usdc"}`, once).Want(t, http.StatusUnprocessableEntity)
	if got := mine.Call(t, http.MethodGet, "/v1/wallets", nil); got.Len(t, "wallets") != 1 {
		t.Errorf("one key made %s", got.Body)
	}
	for _, metadata := range []any{nil, api.Object{}} {
		made := makeWallet(t, mine, api.Object{"network": "sol", "crypto": "USDC", "metadata": metadata, "expiresInMinutes": nil})
		if len(made.Keys(t, "wallet.metadata")) != 0 {
			t.Errorf("create a wallet with metadata %v: got %s, want empty metadata", metadata, made.Body)
		}
	}
	// Live mode has no chain to watch here.
	live := key(t, s, c, "live", unique("create"), "wallet:*")
	refused := live.Call(t, http.MethodPost, "/v1/wallets", api.Object{"network": "ethereum", "crypto": "USDT"}, api.Once).Want(t, http.StatusServiceUnavailable)
	if refused.Header.Get("Retry-After") == "" || refused.Text(t, "error.code") != "live_disabled" {
		t.Errorf("create a live wallet: got %s, want live_disabled and Retry-After", refused.Body)
	}
	live.Call(t, http.MethodPost, "/v1/wallets", api.Object{"network": "nowhere", "crypto": "USDT"}, bad).Want(t, http.StatusBadRequest)
}

// TestWallet_parallel: sixty-four wallets at once have sixty-four addresses, and money sent the moment an address is
// known is found.
func TestWallet_parallel(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("parallel"), "wallet:*")
	var mu sync.Mutex
	var wg sync.WaitGroup
	addresses, ids := map[string]bool{}, []string{}
	for range 64 {
		wg.Go(func() {
			a, err := mine.Try(t.Context(), http.MethodPost, "/v1/wallets", api.Object{"network": "bsc", "crypto": "BNB"})
			if err != nil || a.Status != http.StatusCreated {
				t.Errorf("create a wallet beside 63 others: got %+v, %v, want 201", a, err)
				return
			}
			id := a.Text(t, "wallet.id")
			if paid, err := mine.Try(t.Context(), http.MethodPost, "/v1/sandbox/wallets/"+id+"/deposits", api.Object{"amount": "0.000000000000000001"}); err != nil || paid.Status != 200 {
				t.Errorf("pay wallet %s: got %+v, %v, want 200", id, paid, err)
			}
			mu.Lock()
			defer mu.Unlock()
			ids = append(ids, id)
			addresses[a.Text(t, "wallet.address")] = true
		})
	}
	wg.Wait()
	if len(addresses) != 64 {
		t.Errorf("%d addresses", len(addresses))
	}
	api.Eventually(t, settle, "every wallet to be confirmed", func() bool {
		return mine.Call(t, http.MethodGet, "/v1/wallets?status=confirmed&limit=100", nil).Len(t, "wallets") == len(ids)
	})
	if held := mine.Call(t, http.MethodGet, "/v1/balances", nil); held.Text(t, "balances.0.available") != "0.000000000000000064" {
		t.Errorf("get the balances: got %s, want 64 smallest units", held.Body)
	}
}
