//go:build integration

package e2e

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
)

func item(list string, i int, field string) string { return list + "." + strconv.Itoa(i) + "." + field }

// TestPaymentList: newest first, page by page, filtered, and only one's own.
func TestPaymentList(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	merchant := unique("list")
	mine := key(t, s, c, "test", merchant, "*")
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
	one := mine.Call(t, http.MethodGet, "/v1/payments/"+made[0], nil).Want(t, http.StatusOK)
	deposit(t, mine, made[0], nil)
	awaitStatus(t, mine, made[0], "settled")
	paid := mine.Call(t, http.MethodGet, "/v1/payments/"+made[0], nil).Want(t, http.StatusOK)
	chat := transfer(nil)["payer"].(api.Object)["chatId"].(string)
	for name, c := range map[string]struct {
		query url.Values
		want  []string
	}{
		"several statuses":     {url.Values{"status": {"created,settled"}}, []string{made[0], made[1], made[3], made[5]}},
		"a payer":              {url.Values{"payerChatId": {chat}}, []string{made[0], made[2], made[4], made[6]}},
		"a payer and a status": {url.Values{"payerChatId": {chat}, "status": {"pending"}, "limit": {"2"}}, []string{made[2], made[4]}},
		"another payer":        {url.Values{"payerChatId": {"nobody"}}, nil},
		"an address":           {url.Values{"address": {one.Text(t, "payment.depositAddress")}}, made[:1]},
		"a transaction":        {url.Values{"txHash": {strings.ToUpper(paid.Text(t, "payment.txHash"))}}, made[:1]},
	} {
		if refs, _ := list(c.query); !slices.Equal(refs, c.want) {
			t.Errorf("list by %s: got %v, want %v", name, refs, c.want)
		}
	}
	operator := c.With(s.AdminToken)
	for query, want := range map[string]int{
		"reference=" + made[1]: 1, "txHash=" + paid.Text(t, "payment.txHash"): 1, "merchantId=" + merchant + "&status=all": 7,
		"merchantId=" + merchant: 0, "merchantId=" + merchant + "&status=all&mode=live": 0, "merchantId=" + merchant + "&exception=overpaid": 0,
		"merchantId=" + merchant + "&status=created,settled": 4,
	} {
		if a := operator.Call(t, http.MethodGet, "/v1/admin/payments?"+query, nil).Want(t, http.StatusOK); a.Len(t, "payments") != want {
			t.Errorf("list payments of every merchant by %s: got %d, want %d", query, a.Len(t, "payments"), want)
		}
	}
	if a := operator.Call(t, http.MethodGet, "/v1/admin/payments/"+made[0], nil).Want(t, http.StatusOK); a.Text(t, "payment.merchantId") != merchant || a.Text(t, "payment.reference") != made[0] {
		t.Errorf("read payment %s as an operator: got %s", made[0], a.Body)
	}
	operator.Call(t, http.MethodGet, "/v1/admin/payments/CW-AA2222222222", nil).Want(t, http.StatusNotFound)
	mine.Call(t, http.MethodGet, "/v1/admin/payments/"+made[0], nil).Want(t, http.StatusUnauthorized)
	for _, query := range []string{"reference=x", "mode=both", "exception=odd", "payerChatId=1", "merchantId=%00"} {
		operator.Call(t, http.MethodGet, "/v1/admin/payments?"+query, nil, bad).Want(t, http.StatusBadRequest)
	}
	for _, name := range []string{"payer", "metadata.o", "merchantId", "mode", "state"} { // once ignored, so that the list had everything
		a := mine.Call(t, http.MethodGet, "/v1/payments?"+name+"=x", nil, bad).Want(t, http.StatusBadRequest)
		if !slices.Equal(a.FieldErrors(), []string{name}) {
			t.Errorf("list payments by the unknown parameter %s: got %s, want a refusal that names it", name, a.Body)
		}
	}
	for _, query := range []string{"address=here", "txHash=none", "status=pending,paid", "status=pending,", "payerChatId=%00", "status=paid", "type=loan", "limit=0", "limit=101", "limit=x", "cursor=x", "from=yesterday"} {
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
