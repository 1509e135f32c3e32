package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"

	"causeway.internal/gateway/internal/merchant"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/language"
	"causeway.internal/libs/money"
)

const reference = "CW-7KQ2M9XHTB4N"

var noon = time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)

// service plays payments: it answers by method and path, and records requests.
type service struct {
	answers map[string]proxy.Reply
	asked   []string
	keys    []string
}

func (s *service) AskOnce(ctx context.Context, path, key string, body []byte) (proxy.Reply, error) {
	s.keys = append(s.keys, key)
	return s.Ask(ctx, http.MethodPost, path, body)
}

func (s *service) Ask(_ context.Context, method, path string, body []byte) (proxy.Reply, error) {
	s.asked = append(s.asked, method+" "+path+" "+string(body))
	path, _, _ = strings.Cut(path, "?")
	reply, ok := s.answers[method+" "+path]
	if !ok {
		return proxy.Reply{}, fault.New(fault.Unavailable, "upstream_unavailable", "Down.")
	}
	return reply, nil
}

// brands plays the merchants: acme alone has a brand.
type brands struct{}

func (brands) Brand(_ context.Context, merchantID string) merchant.Brand {
	if merchantID != "acme" {
		return merchant.Brand{}
	}
	return merchant.Brand{Name: "Acme <b>Stores</b>", Support: "help@acme.example", Logo: "/logos/1f.png"}
}

func (brands) Logo(_ context.Context, name string) ([]byte, error) {
	switch name {
	case "1f.png":
		return []byte("\x89PNG"), nil
	case "down.png":
		return nil, context.DeadlineExceeded
	}
	return nil, nil
}

// A page names the merchant who is paid, with its logo and where to ask; its texts cannot break out of the page.
func TestPages_brand(t *testing.T) {
	of := func(merchantID string) *httptest.ResponseRecorder {
		reply := checkoutOf(nil)
		reply.MerchantID = merchantID
		_, h := pages(t, map[string]proxy.Reply{checkout: reply})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/pay/"+reference, nil))
		return w
	}
	with, without := of("acme"), of("other")
	for _, want := range []string{"<bdi>Acme &lt;b&gt;Stores&lt;/b&gt;</bdi>", `<img src="/logos/1f.png" alt=""`, "Acme &lt;b&gt;Stores&lt;/b&gt;: help@acme.example"} {
		if !strings.Contains(with.Body.String(), want) {
			t.Errorf("the page of acme: got no %q", want)
		}
	}
	if strings.Contains(without.Body.String(), "payee") || strings.Contains(without.Body.String(), "Questions?") {
		t.Error("the page of a merchant without a brand shows one")
	}
	if with.Header().Get("ETag") == without.Header().Get("ETag") {
		t.Error("pages of two brands have one tag, so an open page would not show a change")
	}
	_, h := pages(t, nil)
	for path, want := range map[string]int{"/logos/1f.png": 200, "/logos/none.png": 404, "/logos/down.png": 503} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want || want == 200 && w.Header().Get("Content-Type") != "image/png" {
			t.Errorf("%s: got %d %v, want %d", path, w.Code, w.Header(), want)
		}
	}
}

func checkoutOf(changes map[string]any) proxy.Reply {
	p := map[string]any{
		"reference": reference, "type": "transfer", "status": "pending", "exception": nil, "mode": "live", "fiatAmount": 25000.5,
		"fiatCurrency":   "NGN",
		"depositAddress": "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH", "cryptoAmount": 15.9375, "crypto": "USDT", "network": "trc20",
		"remainingAmount": 15.9375, "receivedAmount": 0, "payoutAmount": 25000.5, "confirmations": 0, "requiredConfirmations": 19,
		"txHash":    "",
		"expiresAt": noon.Add(30 * time.Minute).Format(time.RFC3339), "settledAt": nil,
	}
	for name, value := range changes {
		p[name] = value
	}
	raw, err := json.Marshal(map[string]any{"success": true, "payment": p})
	if err != nil {
		panic(err)
	}
	return proxy.Reply{Status: 200, Body: raw}
}

func refusedAs(status int, code string) proxy.Reply {
	return proxy.Reply{
		Status: status, RetryAfter: "7",
		Body: []byte(`{"success":false,"message":"No.","error":{"code":"` + code + `","message":"No.","requestId":"req_1"}}`),
	}
}

func pages(t *testing.T, answers map[string]proxy.Reply) (*service, http.Handler) {
	t.Helper()
	s := &service{answers: answers}
	p, err := New(s, brands{}, language.List{languages[0]}, slog.New(slog.DiscardHandler), func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	p.Routes(mux)
	return s, mux
}

func get(h http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func post(h http.Handler, path string, values url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const checkout = "GET /v1/checkout/" + reference

// Every state that a payment can be in has words, whatever its type and exception.
func TestStages_haveWords(t *testing.T) {
	statuses := []string{
		"created", "pending", "confirming", "confirmed", "settling", "settled", "expired", "cancelled", "needs_review", "refunded",
		"of tomorrow",
	}
	exceptions := []string{
		"", "underpaid", "overpaid", "paid_late", "wrong_asset", "reorged", "screening_hold", "unfunded", "unclaimed",
		"payout_failed", "payout_returned", "over_limit", "unverified",
	}
	for _, status := range statuses {
		for _, exception := range exceptions {
			for _, kind := range []string{"transfer", "gift", "request", "merchant", "bank_confirmation"} {
				for _, received := range []string{"0", "1"} {
					for _, ends := range []time.Time{noon, noon.Add(time.Hour)} {
						p := payment{
							Type: kind, Status: status, Exception: exception, ReceivedAmount: json.Number(received), RemainingAmount: "1",
							Address: "x", ExpiresAt: ends,
						}
						s := stageOf(p, noon)
						keys := []string{"stage." + s.Name + ".title", "stage." + s.Name + ".text"}
						for _, m := range steps(p, s) {
							keys = append(keys, m.Key)
						}
						for _, m := range claimSteps(p) {
							keys = append(keys, m.Key)
						}
						for _, key := range append(keys, noteOf(p), next(p, s)) {
							if key != "" && languages[0].Text(key) == key {
								t.Errorf("%s %s %s: no text %s", status, exception, kind, key)
							}
						}
						if s.Open && status != "pending" && exception != "unfunded" {
							t.Errorf("%s %s %s: asks for money", status, exception, kind)
						}
					}
				}
			}
		}
	}
}

// All words are in the files of texts: templates hold none, and every key of a file is used and every used key exists.
func TestTexts_whole(t *testing.T) {
	used := map[string]bool{}
	var source strings.Builder
	for _, pattern := range []string{"*.go", "templates/*.html"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") || slices.Contains([]string{"templates/docs.html", "templates/guide.html", "templates/guide_text.html"}, name) { // for programmers, in English alone
				continue
			}
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(raw)
			if strings.HasSuffix(name, ".html") {
				plain := regexp.MustCompile(`(?s)\{\{.*?\}\}|<[^>]*>|/[a-z./]+`).ReplaceAllString(string(raw), " ")
				if word := regexp.MustCompile(`\p{L}{2,}`).FindString(strings.ReplaceAll(plain, "UTC", "")); word != "" {
					t.Errorf("%s holds the word %q", name, word)
				}
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?:\bt|text\(|\(t) ?"([a-z0-9._-]+)"`).FindAllStringSubmatch(source.String(), -1) {
		used[m[1]] = true
		if _, ok := languages[0].Texts()[m[1]]; !ok && !strings.HasSuffix(m[1], ".") { // a name that ends with a dot is completed elsewhere
			t.Errorf("no text %s", m[1])
		}
	}
	for key := range languages[0].Texts() {
		last := key[strings.LastIndexByte(key, '.')+1:]
		made := key == "language" || key == "direction" || strings.HasPrefix(key, "stage.") || strings.HasPrefix(key, "month.") || strings.HasPrefix(key, "play.") ||
			strings.HasPrefix(key, "note.") || strings.HasPrefix(key, "refund.status.") ||
			(strings.HasPrefix(key, "error.") && (last == "title" || last == "text"))
		if !used[key] && !made && !strings.Contains(source.String(), `"`+key+`"`) {
			t.Errorf("nobody uses the text %s", key)
		}
	}
}

// An independent decoder reads the QR code.
func TestQR_isRead(t *testing.T) {
	for _, content := range []string{
		"TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH", "0x0eaA634AA05A862F0b0bb5bc2f719875A2D73c72",
		"bitcoin:bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu?amount=0.00017",
		"ethereum:0x0eaA634AA05A862F0b0bb5bc2f719875A2D73c72@8453?value=4981000000000000",
	} {
		svg, err := qrCode(content, `a "label" & more`)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(svg), `aria-label="a &#34;label&#34; &amp; more"`) {
			t.Errorf("draw a code: got %s, want an escaped label", svg)
		}
		bitmap, err := gozxing.NewBinaryBitmapFromImage(draw(t, string(svg)))
		if err != nil {
			t.Fatal(err)
		}
		read, err := qrcode.NewQRCodeReader().Decode(bitmap, nil)
		if err != nil || read.GetText() != content {
			t.Errorf("%s is read as %v, %v", content, read, err)
		}
	}
	if _, err := qrCode(strings.Repeat("x", 4000), ""); err == nil {
		t.Error("a text that fits no code is drawn")
	}
}

// draw paints the runs of an SVG as a browser would, four pixels a module.
func draw(t *testing.T, svg string) image.Image {
	t.Helper()
	const scale = 4
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	side := number(regexp.MustCompile(`viewBox="0 0 (\d+) `).FindStringSubmatch(svg)[1])
	img := image.NewGray(image.Rect(0, 0, side*scale, side*scale))
	for i := range img.Pix {
		img.Pix[i] = 255
	}
	for _, m := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1`).FindAllStringSubmatch(svg, -1) {
		for x := number(m[1]) * scale; x < (number(m[1])+number(m[3]))*scale; x++ {
			for y := number(m[2]) * scale; y < (number(m[2])+1)*scale; y++ {
				img.Set(x, y, color.Black)
			}
		}
	}
	return img
}

func TestPay_shows(t *testing.T) {
	s, h := pages(t, map[string]proxy.Reply{checkout: checkoutOf(nil)})
	w := get(h, "/pay/"+reference)
	page := w.Body.String()
	for _, want := range []string{
		"Pay NGN 25,000.50", ">15.9375<", "USDT", "TRON (TRC20)", "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH",
		"12:30 UTC", `data-left="1800"`, `data-poll="3000"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if w.Code != 200 || w.Header().Get("Content-Security-Policy") != policy || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("show a payment: got %d %v, want 200, the policy and no-store", w.Code, w.Header())
	}
	for _, never := range []string{"<style", "style=", "onclick", "javascript:", "http://", "https://", "play", "NaN", "&lt;nil"} {
		if strings.Contains(page, never) {
			t.Errorf("the page holds %q", never)
		}
	}
	if again := get(h, "/pay/"+reference, "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified ||
		again.Body.Len() > 0 {
		t.Errorf("the same page again: %d", again.Code)
	}
	s.answers[checkout] = checkoutOf(map[string]any{"status": "confirming", "txHash": "<script>", "confirmations": 3})
	changed := get(h, "/pay/"+reference, "If-None-Match", w.Header().Get("ETag"))
	if changed.Code != 200 || !strings.Contains(changed.Body.String(), "3 of 19") || strings.Contains(changed.Body.String(), "<script>") {
		t.Errorf("show a payment that changed: got %d %s, want 200, 3 of 19 and an escaped hash", changed.Code, changed.Body)
	}
}

func TestPay_closingWindow(t *testing.T) {
	_, h := pages(t, map[string]proxy.Reply{checkout: checkoutOf(map[string]any{"expiresAt": noon.Format(time.RFC3339)})})
	if page := get(h, "/pay/"+reference).Body.String(); strings.Contains(page, "TUEZ") ||
		!strings.Contains(page, "Please send nothing now") {
		t.Error("an expired payment still asks for money")
	}
}

func TestPay_wallet(t *testing.T) {
	for uri, opens := range map[string]bool{
		"ethereum:0xabc@8453?value=1": true, "bitcoin:bc1q?amount=1": true, "javascript:alert(1)": false, "": false,
	} {
		_, h := pages(t, map[string]proxy.Reply{checkout: checkoutOf(map[string]any{"paymentUri": uri})})
		page := get(h, "/pay/"+reference).Body.String()
		if strings.Contains(page, "Open wallet app") != opens || strings.Contains(page, "ZgotmplZ") ||
			strings.Contains(page, "javascript:") {
			t.Errorf("%q: the link is shown: %v", uri, !opens)
		}
	}
}

// Every crypto that a page shows has a mark.
func TestCoins_haveMarks(t *testing.T) {
	marks, err := template.ParseFS(templates, "templates/coins.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range money.Networks() {
		for _, a := range n.Assets {
			var mark strings.Builder
			if err := marks.ExecuteTemplate(&mark, "coin", a.Symbol); err != nil || !strings.HasPrefix(mark.String(), `<svg class="coin" `) {
				t.Errorf("the mark of %s is %q, %v; want a picture", a.Symbol, mark.String(), err)
			}
		}
	}
}

func TestPay_choose(t *testing.T) {
	options := []map[string]any{
		{"crypto": "BTC", "network": "bitcoin", "cryptoAmount": 0.00017, "rate": 1},
		{"crypto": "USDT", "network": "ethereum", "cryptoAmount": 15.9375, "rate": 1},
		{"crypto": "USDT", "network": "tron", "cryptoAmount": 15.9375, "rate": 1},
	}
	fulfil := "POST /v1/payments/requests/" + reference + "/fulfill"
	s, h := pages(t, map[string]proxy.Reply{
		checkout: checkoutOf(map[string]any{
			"type": "request", "status": "created", "depositAddress": nil, "options": options,
			"preferred": map[string]any{"crypto": "BTC", "network": "btc"},
		}),
		fulfil: {Status: 200, Body: []byte(`{}`)},
	})
	page := get(h, "/pay/"+reference).Body.String()
	if strings.Index(page, "USDT/tron") > strings.Index(page, "USDT/ethereum") ||
		strings.Index(page, "USDT/tron") > strings.Index(page, "BTC/bitcoin") {
		t.Error("what people pay with most does not stand first")
	}
	if !strings.Contains(page, `value="BTC/bitcoin" id="pair-BTC/bitcoin" required checked`) || strings.Count(page, " checked") != 1 {
		t.Error("the payee's wish is not checked")
	}
	w := post(h, "/pay/"+reference+"/fulfill", url.Values{"pair": {"USDT/tron"}})
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/pay/"+reference {
		t.Errorf("choose a pair: got %d %v, want 303 to the page", w.Code, w.Header())
	}
	if want := fulfil + ` {"crypto":"USDT","network":"tron","payer":{"chatId":"checkout-page"}}`; !slices.Contains(s.asked, want) {
		t.Errorf("asked %q", s.asked)
	}
	for reply, want := range map[string]proxy.Reply{
		"Choose a coin":     {Status: 400},
		"not possible":      refusedAs(400, "unsupported_pair"),
		"no price or addre": refusedAs(503, "rate_unavailable"),
	} {
		values := url.Values{"pair": {"USDT/tron"}}
		if reply == "Choose a coin" {
			values = nil
		}
		s.answers[fulfil] = want
		if w := post(h, "/pay/"+reference+"/fulfill", values); w.Code != want.Status || !strings.Contains(w.Body.String(), reply) {
			t.Errorf("choose a pair: got %d %s, want %d and %q", w.Code, w.Body, want.Status, reply)
		}
	}
	s.answers[fulfil] = refusedAs(409, "request_expired")
	if w := post(h, "/pay/"+reference+"/fulfill", url.Values{"pair": {"USDT/tron"}}); w.Code != http.StatusSeeOther {
		t.Errorf("a conflict is answered %d", w.Code)
	}
}

func TestPay_playsInTestModeOnly(t *testing.T) {
	simulate := "POST /v1/checkout/" + reference + "/simulate"
	s, h := pages(t, map[string]proxy.Reply{checkout: checkoutOf(map[string]any{"mode": "test"}), simulate: {
		Status: 200,
		Body:   []byte(`{}`),
	}})
	page := get(h, "/pay/"+reference).Body.String()
	for _, scenario := range []string{"full", "partial", "over", "late"} {
		if !strings.Contains(page, `name="scenario" value="`+scenario+`"`) {
			t.Errorf("no button %s", scenario)
		}
	}
	if w := post(h, "/pay/"+reference+"/simulate", url.Values{"scenario": {"over"}}); w.Code != http.StatusSeeOther ||
		!slices.Contains(s.asked, simulate+` {"scenario":"over"}`) {
		t.Errorf("simulate: got %d and calls %q, want 303 and the scenario over", w.Code, s.asked)
	}
	s.answers[simulate] = refusedAs(409, "not_payable")
	if w := post(h, "/pay/"+reference+"/simulate", nil); w.Code != http.StatusConflict ||
		!strings.Contains(w.Body.String(), "does not take that now") {
		t.Errorf("simulate what is not payable: got %d, want 409 and the reason", w.Code)
	}
	s.answers[simulate] = refusedAs(404, "route_not_found")
	if w := post(h, "/pay/"+reference+"/simulate", nil); w.Code != http.StatusNotFound {
		t.Errorf("simulate in live mode: got %d, want 404", w.Code)
	}
}

// Where the scanner does not see a contract's coin, the page says so and takes the transaction's hash.
func TestPay_transaction(t *testing.T) {
	name := "POST /v1/checkout/" + reference + "/transaction"
	s, h := pages(t, map[string]proxy.Reply{
		checkout: checkoutOf(map[string]any{"crypto": "ETH", "network": "base", "takesTransactionHash": true}), name: {Status: 200, Body: []byte(`{}`)},
	})
	page := get(h, "/pay/"+reference).Body.String()
	for _, want := range []string{"may not see such ETH by itself", `action="/pay/` + reference + `/transaction"`, `name="tx"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	w := post(h, "/pay/"+reference+"/transaction", url.Values{"tx": {" 0xab "}})
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/pay/"+reference+"?named" || !slices.Contains(s.asked, name+` {"txHash":"0xab"}`) {
		t.Errorf("name a transaction: got %d to %s and calls %q, want 303 to ?named and the hash", w.Code, w.Header().Get("Location"), s.asked)
	}
	if page := get(h, w.Header().Get("Location")).Body.String(); !strings.Contains(page, "Thank you. We look at it") {
		t.Error("the payer is not thanked")
	}
	for status, c := range map[int]struct{ code, says string }{
		400: {"invalid_request", "This is not a transaction hash"}, 409: {"too_many_transactions", "as many transactions as this payment takes"},
		429: {"rate_limited", ""}, 404: {"payment_not_found", "leads nowhere"},
	} {
		s.answers[name] = refusedAs(status, c.code)
		if w := post(h, "/pay/"+reference+"/transaction", nil); w.Code != status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("name a transaction: got %d %s, want %d and %q", w.Code, w.Body, status, c.says)
		}
	}
	s.answers[checkout] = checkoutOf(nil)
	if strings.Contains(get(h, "/pay/"+reference).Body.String(), `name="tx"`) {
		t.Error("a payment that is seen by itself asks for a transaction")
	}
}

func gift(changes map[string]any) proxy.Reply {
	all := map[string]any{"type": "gift", "claimed": false, "status": "confirmed"}
	for name, value := range changes {
		all[name] = value
	}
	return checkoutOf(all)
}

var banks = proxy.Reply{
	Status: 200,
	Body:   []byte(`{"success":true,"banks":[{"code":"044","name":"Access Bank","currency":"NGN"},{"code":"057","name":"Zenith Bank","currency":"NGN"}]}`),
}

func TestClaim_flow(t *testing.T) {
	const verify, confirm = "POST /v1/payments/verify-receiver", "POST /v1/payments/gifts/" + reference + "/claim/confirm"
	s, h := pages(t, map[string]proxy.Reply{
		checkout: gift(nil), "GET /v1/banks": banks, confirm: {Status: 200, Body: []byte(`{}`)},
		verify: {
			Status: 200,
			Body:   []byte(`{"receiver":{"accountName":"AMA <BALOGUN>","accountNumber":"0123456789","bankCode":"057","bankName":"Zenith Bank"}}`),
		},
	})
	if w := get(h, "/claim/"+reference+"?bank=zen"); w.Code != 200 ||
		!slices.Contains(s.asked, "GET /v1/banks?currency=NGN&mode=live&name=zen ") || !strings.Contains(w.Body.String(), `value="057"`) {
		t.Errorf("look for a bank: got %d and calls %q, want 200 and bank 057", w.Code, s.asked)
	}
	form := url.Values{"bank": {"057"}, "account": {" 0123456789 "}}
	w := post(h, "/claim/"+reference, form)
	if page := w.Body.String(); w.Code != 200 || !strings.Contains(page, "AMA &lt;BALOGUN&gt;") ||
		!strings.Contains(page, "Yes, pay NGN 25,000.50 to this account") {
		t.Errorf("check an account: got %d %s, want 200 and the escaped name", w.Code, page)
	}
	if !slices.Contains(s.asked, verify+` {"accountNumber":"0123456789","bankCode":"057","reference":"`+reference+`"}`) {
		t.Errorf("asked %q", s.asked)
	}
	if w := post(h, "/claim/"+reference+"/confirm", form); w.Code != http.StatusSeeOther ||
		!slices.Contains(s.asked, confirm+` {"receiver":{"accountNumber":"0123456789","bankCode":"057"}}`) {
		t.Errorf("claim: got %d and calls %q, want 303 and the receiver", w.Code, s.asked)
	}
	s.answers[verify] = proxy.Reply{
		Status: 200,
		Body:   []byte(`{"receiver":{"accountName":"","accountNumber":"0123456789","bankName":"Zenith Bank"}}`),
	}
	if page := post(h, "/claim/"+reference, form).Body.String(); !strings.Contains(page, "shows us no names") {
		t.Error("an account without a name is shown as one with")
	}
	s.answers[verify] = refusedAs(503, "name_service_unavailable")
	if w := post(h, "/claim/"+reference, form); w.Code != 503 || !strings.Contains(w.Body.String(), "Nothing has happened yet") ||
		!strings.Contains(w.Body.String(), `value="0123456789"`) {
		t.Errorf("check an account without a name service: got %d %s, want 503 and the typed number", w.Code, w.Body)
	}
	s.answers[verify] = proxy.Reply{
		Status: 400,
		Body:   []byte(`{"message":"x","error":{"code":"validation_failed","fields":[{"field":"accountNumber","message":"no such account at this bank"}]}}`),
	}
	if w := post(h, "/claim/"+reference, form); w.Code != 400 || !strings.Contains(w.Body.String(), "does not know this account number") {
		t.Errorf("check an unknown account: got %d %s, want 400 and the reason", w.Code, w.Body)
	}
	if w := post(h, "/claim/"+reference, nil); w.Code != 400 || !strings.Contains(w.Body.String(), "Choose your bank.") ||
		!strings.Contains(w.Body.String(), "Type your account number.") {
		t.Errorf("check an empty form: got %d %s, want 400 and both reasons", w.Code, w.Body)
	}
}

func TestClaim_states(t *testing.T) {
	for want, changes := range map[string]map[string]any{
		"Your money is on its way":      {"status": "settling", "claimed": true},
		"Your account is noted":         {"status": "settling", "claimed": true, "exception": "unfunded"},
		"The money is in your account":  {"status": "settled", "claimed": true},
		"A person is looking at":        {"status": "needs_review", "claimed": true, "exception": "payout_failed"},
		"This gift cannot be claimed":   {"status": "expired"},
		"payment has not arrived yet":   {"status": "pending"},
		"This link leads nowhere":       {"type": "transfer"},
		"the bank account that should ": {"status": "confirmed"},
	} {
		_, h := pages(t, map[string]proxy.Reply{checkout: gift(changes), "GET /v1/banks": banks})
		if page := get(h, "/claim/"+reference).Body.String(); !strings.Contains(page, want) {
			t.Errorf("%v: the page lacks %q", changes, want)
		}
	}
}

// A caller that accepts a page gets errors as pages; any other gets the one error shape.
func TestErrors_speakBoth(t *testing.T) {
	s, h := pages(t, map[string]proxy.Reply{checkout: refusedAs(404, "payment_not_found")})
	for _, path := range []string{"/pay/" + reference, "/claim/" + reference, "/pay/nonsense", "/pay/.."} {
		if w := get(h, path); path != "/pay/.." && (w.Code != 404 || !strings.Contains(w.Body.String(), "leads nowhere")) {
			t.Errorf("show %s: got %d, want 404 that leads nowhere", path, w.Code)
		}
	}
	if w := get(h, "/pay/"+reference, "Accept", "*/*"); w.Code != 404 ||
		!strings.Contains(w.Body.String(), `"code":"payment_not_found"`) {
		t.Errorf("show an unknown payment to a program: got %d %s, want 404 payment_not_found", w.Code, w.Body)
	}
	s.answers[checkout] = refusedAs(503, "service_unavailable")
	if w := get(h, "/pay/"+reference); w.Code != 503 || w.Header().Get("Retry-After") != "7" ||
		!strings.Contains(w.Body.String(), `content="7"`) {
		t.Errorf("show a payment of a busy service: got %d %v, want 503 after 7 seconds", w.Code, w.Header())
	}
	delete(s.answers, checkout)
	if w := get(h, "/pay/"+reference, "Accept", "application/json"); w.Code != 503 ||
		!strings.Contains(w.Body.String(), "upstream_unavailable") {
		t.Errorf("show a payment of a lost service: got %d %s, want 503 upstream_unavailable", w.Code, w.Body)
	}
	s.answers[checkout] = proxy.Reply{Status: 500, Body: []byte("<html>")}
	if w := get(h, "/pay/"+reference, "Accept", "*/*"); w.Code != 503 || strings.Contains(w.Body.String(), "<html>") {
		t.Errorf("show a payment of a broken service: got %d %s, want 503 without its text", w.Code, w.Body)
	}
	for _, asked := range s.asked {
		if strings.Contains(asked, "nonsense") {
			t.Error("payments is asked for what cannot be a reference")
		}
	}
}

// A person gets a refusal of the proxy as a page.
func TestRefuse(t *testing.T) {
	p, err := New(broken{}, brands{}, language.List{languages[0]}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/pay/"+reference, nil)
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	p.Refuse(w, r, fault.New(fault.RateLimited, "rate_limited", "Slow down.").After(2500*time.Millisecond))
	if w.Code != 429 || w.Header().Get("Retry-After") != "3" || !strings.Contains(w.Body.String(), "Just a moment") {
		t.Errorf("refuse a call: got %d %v %s, want 429 after 3 seconds, as a page", w.Code, w.Header(), w.Body)
	}
}

func TestAssets(t *testing.T) {
	_, h := pages(t, nil)
	docs := get(h, "/docs")
	if docs.Code != 200 || docs.Header().Get("Content-Security-Policy") != docsPolicy || strings.Contains(docs.Body.String(), "http") {
		t.Errorf("show /docs: got %d %v, want 200, its policy and no other host", docs.Code, docs.Header())
	}
	named := regexp.MustCompile(`"(/assets/[^"]+)"`).FindAllStringSubmatch(docs.Body.String(), -1)
	if len(named) < 4 {
		t.Errorf("show /docs: it names the assets %v, want at least 4", named)
	}
	for _, m := range named {
		if w := get(h, m[1]); w.Code != 200 || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") ||
			w.Header().Get("Content-Type") == "" {
			t.Errorf("get %s: got %d %v, want 200, immutable, with a type", m[1], w.Code, w.Header())
		}
		path, _, _ := strings.Cut(m[1], "?")
		if w := get(h, path+"?v=old"); w.Code != 200 || w.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("get %s of an old version: got %d %v, want 200 and no-cache", path, w.Code, w.Header())
		}
	}
	for _, path := range []string{"/assets/page.go", "/assets/en.json", "/assets/pay.html"} {
		if w := get(h, path); w.Code != 404 {
			t.Errorf("get %s: got %d, want 404", path, w.Code)
		}
	}
}

func TestMoney(t *testing.T) {
	for in, want := range map[string]string{
		"0": "NGN 0", "999": "NGN 999", "1000": "NGN 1,000", "1234567.5": "NGN 1,234,567.50",
		"25000.25": "NGN 25,000.25",
	} {
		if got := languages[0].Money("NGN", json.Number(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

var errLost = errors.New("lost")

// broken fails in a way that is no fault.
type broken struct{}

func (broken) AskOnce(context.Context, string, string, []byte) (proxy.Reply, error) {
	return proxy.Reply{}, errLost
}

func (broken) Ask(context.Context, string, string, []byte) (proxy.Reply, error) {
	return proxy.Reply{}, fmt.Errorf("ask: %w", errLost)
}

func TestErrors_unexpected(t *testing.T) {
	p, err := New(broken{}, brands{}, language.List{languages[0]}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	p.Routes(mux)
	if w := get(mux, "/pay/"+reference, "Accept", "*/*"); w.Code < 500 || strings.Contains(w.Body.String(), "lost") {
		t.Errorf("show a payment after a lost connection: got %d %s, want 5xx without the cause", w.Code, w.Body)
	}
}
