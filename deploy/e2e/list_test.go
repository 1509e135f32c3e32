//go:build integration

package e2e

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
)

func item(list string, i int, field string) string { return list + "." + strconv.Itoa(i) + "." + field }

// TestPaymentList: newest first, page by page, filtered, and only one's own.
func TestPaymentList(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("list"), "*")
	var made []string
	for i := range 7 {
		body := transfer(nil)
		if i%2 == 1 {
			body = request(nil)
		}
		made = append(made, create(t, mine, body).Text(t, "payment.reference"))
	}
	slices.Reverse(made)
	list := func(query url.Values) (refs []string, next string) {
		t.Helper()
		a := mine.Call(t, http.MethodGet, "/v1/payments?"+query.Encode(), nil).Want(t, http.StatusOK)
		sameSet(t, "pagination", a.Keys(t, "pagination"), "limit", "nextCursor", "hasMore")
		for i := range a.Len(t, "payments") {
			refs = append(refs, a.Text(t, item("payments", i, "reference")))
		}
		if !a.Null("pagination.nextCursor") {
			next = a.Text(t, "pagination.nextCursor")
		}
		return refs, next
	}
	var got []string
	query := url.Values{"limit": {"3"}}
	for pages := 0; pages < 10; pages++ {
		refs, next := list(query)
		got = append(got, refs...)
		if next == "" {
			break
		}
		query.Set("cursor", next)
	}
	if !slices.Equal(got, made) {
		t.Errorf("listed %v, made %v", got, made)
	}
	tomorrow := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
	for want, query := range map[int]url.Values{
		4: {"type": {"transfer"}}, 3: {"status": {"created"}}, 7: {"status": {"all"}, "to": {tomorrow}}, 0: {"from": {tomorrow}},
	} {
		if refs, _ := list(query); len(refs) != want {
			t.Errorf("%v lists %d, want %d", query, len(refs), want)
		}
	}
	for _, query := range []string{"status=paid", "type=loan", "limit=0", "limit=101", "limit=x", "cursor=x", "from=yesterday"} {
		mine.Call(t, http.MethodGet, "/v1/payments?"+query, nil, bad).Want(t, http.StatusBadRequest)
	}
	other := key(t, s, c, "test", unique("list"), "payment:read")
	if a := other.Call(t, http.MethodGet, "/v1/payments", nil).Want(t, http.StatusOK); a.Len(t, "payments") != 0 {
		t.Error("another merchant sees them")
	}
	key(t, s, c, "test", unique("list"), "payment:create").Call(t, http.MethodGet, "/v1/payments", nil).Want(t, http.StatusForbidden)
}

// TestCatalog: what anybody may ask.
func TestCatalog(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	nobody := c.With("")
	read := func(path string) *api.Answer {
		t.Helper()
		return nobody.Call(t, http.MethodGet, path, nil).Want(t, http.StatusOK)
	}
	if all := read("/v1/banks"); all.Len(t, "banks") < 50 {
		t.Errorf("%d banks", all.Len(t, "banks"))
	}
	for path, want := range map[string]string{
		"/v1/banks?currency=NGN&name=guaranty": "Guaranty Trust Bank", "/v1/banks?currency=ngn&name=trust+GUARANTY": "Guaranty Trust Bank",
		"/v1/banks?currency=NGN&name=000013": "Guaranty Trust Bank", "/v1/banks?currency=KES&name=m-pesa": "M-PESA",
		"/v1/banks?currency=KES&name=co+operative": "Co-operative Bank of Kenya", "/v1/banks?currency=NGN&name=gtbank": "Guaranty Trust Bank",
		"/v1/banks?currency=NGN&name=zeniht": "Zenith Bank", "/v1/banks?currency=ZAR&name=fnb": "First National Bank",
	} {
		if a := read(path); a.Len(t, "banks") != 1 || a.Text(t, "banks.0.name") != want {
			t.Errorf("get %s: got %s, want the one bank %s", path, a.Body, want)
		}
	}
	nobody.Call(t, http.MethodGet, "/v1/banks?currency=USD", nil, bad).Want(t, http.StatusBadRequest)

	rates := read("/v1/rates?fiat=NGN&crypto=usdt")
	made := create(t, c, transfer(nil))
	if rates.Len(t, "rates") != 1 || rates.Number(t, "rates.0.rate").Cmp(made.Number(t, "payment.rate")) != 0 || rates.Number(t, "rates.0.sources").Sign() <= 0 {
		t.Errorf("rates %s for %s", rates.Body, made.Body)
	}
	if n := read("/v1/rates").Len(t, "rates"); n != 4*8 {
		t.Errorf("%d rates", n)
	}
	nobody.Call(t, http.MethodGet, "/v1/rates?crypto=DOGE", nil, bad).Want(t, http.StatusBadRequest)
	if n := read("/v1/networks").Len(t, "networks"); n != 8 {
		t.Errorf("%d networks", n)
	}

	verify := "/v1/payments/verify-receiver"
	a := c.Call(t, http.MethodPost, verify, api.Object{"bankCode": "058", "accountNumber": "0123456789"}).Want(t, http.StatusOK)
	if a.Text(t, "receiver.bankName") != "Guaranty Trust Bank" || a.Text(t, "receiver.accountName") == "" || a.Text(t, "receiver.fiatCurrency") != "NGN" {
		t.Errorf("verified: %s", a.Body)
	}
	for number, want := range map[string]string{"0000014579": "match", "0000014570": "mismatch"} { // advice: neither is refused
		if a := c.Call(t, http.MethodPost, verify, api.Object{"bankCode": "011", "accountNumber": number}).Want(t, http.StatusOK); a.Text(t, "receiver.checkDigit") != want {
			t.Errorf("verify account %s: got %s, want checkDigit %s", number, a.Body, want)
		}
	}
	missing := refuse(t, c, verify, api.Object{"bankCode": "058", "accountNumber": "0000000001"}, http.StatusBadRequest, "")
	if !slices.Equal(missing.FieldErrors(), []string{"accountNumber"}) {
		t.Errorf("no such account: %s", missing.Body)
	}
	refuse(t, c, verify, api.Object{}, http.StatusBadRequest, "")
	down := c.Call(t, http.MethodPost, verify, api.Object{"bankCode": "058", "accountNumber": "0000000002"}, api.Once).Want(t, http.StatusServiceUnavailable)
	if down.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// TestCheckout: what a payer needs, and nothing of merchant, payer or receiver.
func TestCheckout(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	nobody := c.With("")
	for _, body := range []api.Object{transfer(api.Object{"metadata": api.Object{"secret": 1}}), request(api.Object{"crypto": "USDT"}), gift(nil)} {
		ref := create(t, c, body).Text(t, "payment.reference")
		a := nobody.Call(t, http.MethodGet, "/v1/checkout/"+ref, nil).Want(t, http.StatusOK)
		for _, hidden := range []string{"metadata", "receiver", "payer", "payout", "merchantId", "id", "callbackUrl", "bankRef"} {
			if _, has := a.At("payment." + hidden); has {
				t.Errorf("checkout shows %s: %s", hidden, a.Body)
			}
		}
	}
	nobody.Call(t, http.MethodGet, "/v1/checkout/CW-AAAAAAAAAAAA", nil).Want(t, http.StatusNotFound)
}
