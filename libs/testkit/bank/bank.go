// Package bank is an HTTP server with the documented answers of Paystack and Flutterwave v3 and one set of books for
// each: transfers by reference, recipients, balances, lists of banks, and webhooks with their signatures. A test sets
// the outcome of the next order, and reads how often each reference was paid. It shares no code with its callers.
package bank

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// The rails, which are also the first segment of their paths here.
const (
	Paystack    = "paystack"
	Flutterwave = "flutterwave"
)

// The accepted credentials.
const (
	PaystackKey     = "sk_test_of_the_fake_paystack"
	FlutterwaveKey  = "FLWSECK_TEST-of-the-fake"
	FlutterwaveHash = "hash-of-the-fake"
)

// Fault is the outcome of the next order at a rail, or of every request to it.
type Fault string

// The faults. Those that end in "made" make the transfer nevertheless.
const (
	Fine        Fault = ""
	Hang        Fault = "hang"         // never answers; nothing is made
	HangMade    Fault = "hang, made"   // never answers
	Broken      Fault = "500"          // nothing is made
	BrokenMade  Fault = "500, made"    //
	Page        Fault = "page"         // a proxy's page; nothing is made
	PageMade    Fault = "page, made"   //
	Cut         Fault = "cut, made"    // half an answer
	Throttled   Fault = "429"          //
	NoKey       Fault = "401"          //
	NoFunds     Fault = "no funds"     //
	Refused     Fault = "refused"      // a definite no
	Duplicate   Fault = "duplicate"    // the reference is used already, says the rail
	OtherAmount Fault = "other amount" // makes it, and answers with another amount
	NoRecipient Fault = "no recipient" // fails before the transfer: Paystack's recipient, Flutterwave's list of banks
)

// Faults lists every fault.
func Faults() []Fault {
	return []Fault{
		Hang, HangMade, Broken, BrokenMade, Page, PageMade, Cut, Throttled, NoKey, NoFunds, Refused, Duplicate, OtherAmount, NoRecipient,
	}
}

// Outcomes of a transfer, as rail-independent words.
const (
	Pending  = "pending"
	Success  = "success"
	Failed   = "failed"
	Reversed = "reversed"
	OTP      = "otp" // Paystack waits for a person
)

// Transfer is one line of a rail's books.
type Transfer struct {
	Reference string
	Amount    string // major units
	Currency  string
	Account   string
	Bank      string
	Name      string
	Outcome   string
	ID        int
}

// Server is both rails.
type Server struct {
	URL string

	mu         sync.Mutex
	books      map[string]map[string]*Transfer // rail, reference
	made       map[string]int                  // rail and reference: transfers made
	orders     map[string]int                  // rail and reference: orders that arrived
	faults     map[string]Fault
	down       map[string]bool
	decides    map[string]string // rail: outcome of new transfers
	balances   map[string]string // rail and currency
	recipients map[string]Transfer
	queries    int
	unfiltered bool
	lists      map[string][]Bank // rail and currency
	gone       chan struct{}
}

// Bank is a line of a rail's own list of banks.
type Bank struct{ Name, Code, Kind string }

// Start serves until the test ends. New transfers succeed at the first query after they were made.
func Start(t testing.TB) *Server {
	s := &Server{
		books: map[string]map[string]*Transfer{Paystack: {}, Flutterwave: {}}, made: map[string]int{}, orders: map[string]int{},
		faults: map[string]Fault{}, down: map[string]bool{}, decides: map[string]string{Paystack: Success, Flutterwave: Success},
		balances: map[string]string{}, recipients: map[string]Transfer{}, lists: ownLists(), gone: make(chan struct{}),
	}
	server := httptest.NewServer(s)
	s.URL = server.URL
	t.Cleanup(func() {
		close(s.gone)
		server.Close()
	})
	return s
}

// Base is the address of a rail.
func (s *Server) Base(rail string) string { return s.URL + "/" + rail }

// Next sets the outcome of the next order at a rail.
func (s *Server) Next(rail string, f Fault) { s.with(func() { s.faults[rail] = f }) }

// Down makes every request to a rail fail with a 503, or ends that.
func (s *Server) Down(rail string, down bool) { s.with(func() { s.down[rail] = down }) }

// Decide sets the outcome of future transfers.
func (s *Server) Decide(rail, outcome string) { s.with(func() { s.decides[rail] = outcome }) }

// Conclude sets the outcome of a transfer in the books.
func (s *Server) Conclude(rail, reference, outcome string) {
	s.with(func() {
		if t := s.books[rail][reference]; t != nil {
			t.Outcome = outcome
		}
	})
}

// Balance sets the float at a rail, in major units; it is large unless set.
func (s *Server) Balance(rail, currency, amount string) {
	s.with(func() { s.balances[rail+" "+currency] = amount })
}

// List sets a rail's own list of banks in a currency. Only Paystack shows kinds.
func (s *Server) List(rail, currency string, banks ...Bank) {
	s.with(func() { s.lists[rail+" "+currency] = banks })
}

func (s *Server) listed(rail, currency string) []Bank {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists[rail+" "+currency]
}

// Unfiltered makes Flutterwave ignore the filter of its list of transfers.
func (s *Server) Unfiltered() { s.with(func() { s.unfiltered = true }) }

func (s *Server) with(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Made is how many transfers were made for a reference at a rail.
func (s *Server) Made(rail, reference string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made[rail+" "+reference]
}

// Orders is how many orders with a reference arrived at a rail.
func (s *Server) Orders(rail, reference string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders[rail+" "+reference]
}

// Queries is the number of queries for any transfer.
func (s *Server) Queries() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queries
}

// Find is a line of a rail's books.
func (s *Server) Find(rail, reference string) (Transfer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.books[rail][reference]
	if t == nil {
		return Transfer{}, false
	}
	return *t, true
}

// All lists a rail's books.
func (s *Server) All(rail string) []Transfer {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Transfer
	for _, t := range s.books[rail] {
		out = append(out, *t)
	}
	return out
}

// Webhook is a rail's webhook, body and header, about a transfer in its books.
func (s *Server) Webhook(rail, reference string) (http.Header, []byte) {
	t, _ := s.Find(rail, reference)
	if rail == Paystack {
		body := fmt.Appendf(nil, `{"event":"transfer.%s","data":%s}`, t.Outcome, s.paystackTransfer(t))
		mac := hmac.New(sha512.New, []byte(PaystackKey))
		mac.Write(body)
		return http.Header{"Content-Type": {"application/json"}, "X-Paystack-Signature": {hex.EncodeToString(mac.Sum(nil))}}, body
	}
	body := fmt.Appendf(nil, `{"event":"transfer.completed","event.type":"Transfer","data":%s}`, s.flutterwaveTransfer(t))
	return http.Header{"Content-Type": {"application/json"}, "Verif-Hash": {FlutterwaveHash}}, body
}

// Hint posts that webhook to an address and returns the status.
func (s *Server) Hint(t testing.TB, url, rail, reference string) int {
	t.Helper()
	header, body := s.Webhook(rail, reference)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// ServeHTTP answers as the rail of the path's first segment.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rail, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	raw, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	s.mu.Lock()
	down := s.down[rail]
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case down:
		answer(w, http.StatusServiceUnavailable, `{"status":"error","message":"An error occurred. Please contact support","data":null}`)
	case rail == Paystack:
		s.paystack(w, r, "/"+path, raw)
	case rail == Flutterwave:
		s.flutterwave(w, r, "/"+path, raw)
	default:
		answer(w, http.StatusNotFound, `{"message":"no such rail"}`)
	}
}

func answer(w http.ResponseWriter, status int, body string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// take returns the fault of the next order and clears it. A failing recipient fails once, before the order.
func (s *Server) take(rail string, only func(Fault) bool) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.faults[rail]
	if !only(f) {
		return Fine
	}
	delete(s.faults, rail)
	return f
}

// makes reports whether the transfer is made despite the fault.
func (f Fault) makes() bool {
	return f == Fine || f == HangMade || f == BrokenMade || f == PageMade || f == Cut || f == OtherAmount
}

// order enters a transfer into the books: fresh is false when the reference is used already.
func (s *Server) order(rail string, t Transfer, f Fault) (_ Transfer, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders[rail+" "+t.Reference]++
	if have := s.books[rail][t.Reference]; have != nil {
		return *have, false
	}
	if !f.makes() {
		return t, true
	}
	t.Outcome, t.ID = s.decides[rail], 1000+len(s.books[rail])
	s.books[rail][t.Reference] = &t
	s.made[rail+" "+t.Reference]++
	return t, true
}

// spoil answers an order by its fault; done is false when no fault concerns the whole answer.
func (s *Server) spoil(w http.ResponseWriter, r *http.Request, f Fault, body string) (done bool) {
	switch f {
	case Hang, HangMade:
		select {
		case <-r.Context().Done():
		case <-s.gone:
		}
	case Broken, BrokenMade:
		answer(w, http.StatusInternalServerError, `{"status":"error","message":"An error occurred. Please contact support","data":null}`)
	case Page, PageMade:
		w.Header().Set("Content-Type", "text/html")
		answer(w, http.StatusBadGateway, "<html><title>502 Bad Gateway</title></html>")
	case Cut:
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		answer(w, http.StatusOK, body[:len(body)/2])
	case Throttled:
		answer(w, http.StatusTooManyRequests, `{"status":false,"message":"Too many requests"}`)
	default:
		return false
	}
	return true
}

func (s *Server) paystack(w http.ResponseWriter, r *http.Request, path string, raw []byte) {
	if r.Header.Get("Authorization") != "Bearer "+PaystackKey {
		answer(w, http.StatusUnauthorized, `{"status":false,"message":"Invalid key","meta":{"nextStep":"Ensure that you provide the correct authorization key"},"type":"validation_error","code":"invalid_Key"}`)
		return
	}
	query := r.URL.Query()
	switch reference, verify := strings.CutPrefix(path, "/transfer/verify/"); {
	case path == "/bank":
		answer(w, http.StatusOK, paystackBanks(query.Get("currency"), s.listed(Paystack, query.Get("currency")), query.Get("next")))
	case path == "/bank/resolve":
		if query.Get("account_number") == "0000000001" {
			answer(w, http.StatusUnprocessableEntity, `{"status":false,"message":"Could not resolve account name. Check parameters or try again.","type":"validation_error","code":"invalid_bank_code"}`)
			return
		}
		answer(w, http.StatusOK, fmt.Sprintf(`{"status":true,"message":"Account number resolved","data":{"account_number":%q,"account_name":"ADA OBI","bank_id":9}}`, query.Get("account_number")))
	case path == "/balance":
		answer(w, http.StatusOK, fmt.Sprintf(`{"status":true,"message":"Balances retrieved","data":[{"currency":"NGN","balance":%s},{"currency":"GHS","balance":%s},{"currency":"KES","balance":%s},{"currency":"ZAR","balance":%s}]}`,
			s.subunits("NGN"), s.subunits("GHS"), s.subunits("KES"), s.subunits("ZAR")))
	case path == "/transferrecipient" && r.Method == http.MethodPost:
		s.paystackRecipient(w, raw)
	case path == "/transfer" && r.Method == http.MethodPost:
		s.paystackOrder(w, r, raw)
	case verify:
		s.mu.Lock()
		s.queries++
		s.mu.Unlock()
		t, ok := s.Find(Paystack, reference)
		if !ok {
			answer(w, http.StatusNotFound, `{"status":false,"message":"Transfer not found","meta":{"nextStep":"Ensure that the value(s) you're passing are valid."},"type":"validation_error","code":"transfer_not_found"}`)
			return
		}
		answer(w, http.StatusOK, `{"status":true,"message":"Transfer retrieved","data":`+s.paystackTransfer(t)+`}`)
	default:
		answer(w, http.StatusNotFound, `{"status":false,"message":"Not found"}`)
	}
}

// ownLists are the lists of the two rails before a test sets others.
func ownLists() map[string][]Bank {
	return map[string][]Bank{
		"paystack NGN":    {{"Guaranty Trust Bank", "058", "nuban"}, {"OPay Digital Services Limited (OPay)", "999992", "nuban"}},
		"paystack GHS":    {{"Access Bank", "280100", "ghipss"}, {"MTN", "MTN", "mobile_money"}},
		"paystack KES":    {{"Equity Bank", "68", "kepss"}, {"M-PESA", "MPESA", "mobile_money"}},
		"paystack ZAR":    {{"First National Bank", "250655", "basa"}, {"Capitec Bank", "470010", "basa"}},
		"flutterwave NGN": {{Name: "GTBank Plc", Code: "058"}, {Name: "OPay", Code: "100004"}},
		"flutterwave GHS": {{Name: "Access Bank", Code: "GH280100"}, {Name: "MTN", Code: "MTN"}},
		"flutterwave KES": {{Name: "Equity Bank", Code: "68"}, {Name: "M-Pesa", Code: "MPS"}},
	}
}

// paystackBanks is the list in two pages, as its cursor does it.
func paystackBanks(currency string, list []Bank, next string) string {
	rows := make([]string, len(list))
	for i, b := range list {
		rows[i] = fmt.Sprintf(`{"id":%d,"name":%q,"slug":"x","code":%q,"longcode":"","gateway":null,"pay_with_bank":false,"active":true,"is_deleted":false,"country":"","currency":%q,"type":%q}`, i+1, b.Name, b.Code, currency, b.Kind)
	}
	half := (len(rows) + 1) / 2
	page := func(rows []string, meta string) string {
		return `{"status":true,"message":"Banks retrieved","data":[` + strings.Join(rows, ",") + `],"meta":` + meta + `}`
	}
	switch {
	case len(rows) < 2:
		return page(rows, `{"next":null}`)
	case next == "":
		return page(rows[:half], `{"next":"YmFuazox","previous":null,"perPage":100}`)
	}
	return page(rows[half:], `{"next":null,"previous":null,"perPage":100}`)
}

// flutterwaveBanks is the list in one page.
func flutterwaveBanks(list []Bank) string {
	rows := make([]string, len(list))
	for i, b := range list {
		rows[i] = fmt.Sprintf(`{"id":%d,"code":%q,"name":%q}`, i+7, b.Code, b.Name)
	}
	return `{"status":"success","message":"Banks fetched successfully","data":[` + strings.Join(rows, ",") + `]}`
}

func (s *Server) paystackRecipient(w http.ResponseWriter, raw []byte) {
	var in struct {
		Type, Name    string
		AccountNumber string `json:"account_number"`
		BankCode      string `json:"bank_code"`
		Currency      string `json:"currency"`
	}
	_ = json.Unmarshal(raw, &in)
	if s.take(Paystack, func(f Fault) bool { return f == NoRecipient }) == NoRecipient {
		answer(w, http.StatusInternalServerError, `{"status":false,"message":"An error occurred"}`)
		return
	}
	if in.Type == "" || in.Name == "" || in.AccountNumber == "" || in.BankCode == "" {
		answer(w, http.StatusBadRequest, `{"status":false,"message":"Account number is required","type":"validation_error","code":"missing_params"}`)
		return
	}
	code := "RCP_" + hex.EncodeToString([]byte(in.BankCode+in.AccountNumber))
	s.with(func() {
		s.recipients[code] = Transfer{Account: in.AccountNumber, Bank: in.Type + " " + in.BankCode, Name: in.Name, Currency: in.Currency}
	})
	answer(w, http.StatusCreated, fmt.Sprintf(`{"status":true,"message":"Transfer recipient created successfully","data":{"active":true,"currency":%q,"id":1,"name":%q,"recipient_code":%q,"type":%q,"details":{"account_number":%q,"account_name":null,"bank_code":%q,"bank_name":"x"}}}`,
		in.Currency, in.Name, code, in.Type, in.AccountNumber, in.BankCode))
}

func (s *Server) paystackOrder(w http.ResponseWriter, r *http.Request, raw []byte) {
	var in struct {
		Source, Recipient, Reference, Reason, Currency string
		Amount                                         json.Number
	}
	_ = json.Unmarshal(raw, &in)
	f := s.take(Paystack, func(f Fault) bool { return f != NoRecipient })
	t := s.recipientOf(in.Recipient)
	t.Reference, t.Currency, t.Amount = in.Reference, in.Currency, major(in.Amount.String())
	switch {
	case in.Source != "balance" || t.Account == "" || strings.ContainsAny(in.Amount.String(), ".eE") || len(in.Reference) < 16:
		f = Refused
	case f == NoFunds:
		answer(w, http.StatusBadRequest, `{"status":false,"message":"Your balance is not enough to fulfill this request","type":"api_error","code":"insufficient_balance"}`)
		s.order(Paystack, t, f)
		return
	case f == NoKey:
		answer(w, http.StatusUnauthorized, `{"status":false,"message":"Invalid key"}`)
		return
	}
	t, fresh := s.order(Paystack, t, f)
	switch {
	case !fresh || f == Duplicate:
		answer(w, http.StatusNotFound, fmt.Sprintf(`{"status":false,"message":"Duplicate reference(s) found: %s","meta":{"nextStep":"x"},"type":"api_error","code":"unknown"}`, in.Reference))
		return
	case f == Refused:
		answer(w, http.StatusBadRequest, `{"status":false,"message":"Recipient specified is invalid","meta":{"nextStep":"x"},"type":"validation_error","code":"invalid_transfer_recipient"}`)
		return
	case f == OtherAmount:
		t.Amount = "1"
	}
	shown := t
	if shown.Outcome != OTP {
		shown.Outcome = Pending // live transfers are queued first
	}
	body := `{"status":true,"message":"Transfer has been queued","data":` + s.paystackTransfer(shown) + `}`
	if !s.spoil(w, r, f, body) {
		answer(w, http.StatusOK, body)
	}
}

func (s *Server) recipientOf(code string) Transfer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recipients[code]
}

func (s *Server) paystackTransfer(t Transfer) string {
	fee := "null"
	if t.Outcome == Success {
		fee = "1000"
	}
	return fmt.Sprintf(`{"integration":100073,"domain":"test","amount":%s,"currency":%q,"source":"balance","reason":"x","recipient":{"id":1},"status":%q,"transfer_code":"TRF_%d","id":%d,"reference":%q,"failures":null,"transferred_at":null,"titan_code":null,"session":{"provider":"nip","id":"000"},"fee_charged":%s,"gateway_response":null,"createdAt":"2026-04-01T13:00:00.000Z"}`,
		minor(t.Amount), t.Currency, t.Outcome, t.ID, t.ID, t.Reference, fee)
}

// subunits is the float at Paystack.
func (s *Server) subunits(currency string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.balances[Paystack+" "+currency]; ok {
		return minor(b)
	}
	return "99999999999999"
}

// minor and major move the point by two digits, on text.
func minor(amount string) string {
	whole, fraction, _ := strings.Cut(amount, ".")
	text := strings.TrimLeft(whole+(fraction + "00")[:2], "0")
	if text == "" {
		return "0"
	}
	return text
}

func major(amount string) string {
	amount = strings.Repeat("0", max(0, 3-len(amount))) + amount
	return amount[:len(amount)-2] + "." + amount[len(amount)-2:]
}

func (s *Server) flutterwave(w http.ResponseWriter, r *http.Request, path string, raw []byte) {
	if r.Header.Get("Authorization") != "Bearer "+FlutterwaveKey {
		answer(w, http.StatusUnauthorized, `{"status":"error","message":"Invalid authorization key","data":null}`)
		return
	}
	switch {
	case path == "/transfers" && r.Method == http.MethodPost:
		s.flutterwaveOrder(w, r, raw)
	case path == "/transfers":
		s.flutterwaveList(w, r.URL.Query().Get("reference"))
	case path == "/accounts/resolve":
		var in struct {
			Number string `json:"account_number"`
		}
		_ = json.Unmarshal(raw, &in)
		if in.Number == "0000000001" {
			answer(w, http.StatusBadRequest, `{"status":"error","message":"Sorry, recipient account could not be validated. Please try again","data":null}`)
			return
		}
		answer(w, http.StatusOK, fmt.Sprintf(`{"status":"success","message":"Account details fetched","data":{"account_number":%q,"account_name":"ADA OBI"}}`, in.Number))
	case strings.HasSuffix(path, "/branches"):
		answer(w, http.StatusOK, `{"status":"success","message":"Bank branches fetched successfully","data":[{"id":1,"branch_code":"GH280103","branch_name":"ACCRA","swift_code":null,"bic":null,"bank_id":31}]}`)
	case strings.HasPrefix(path, "/banks/"):
		if s.take(Flutterwave, func(f Fault) bool { return f == NoRecipient }) == NoRecipient {
			answer(w, http.StatusInternalServerError, `{"status":"error","message":"An error occurred","data":null}`)
			return
		}
		currency := map[string]string{"/banks/NG": "NGN", "/banks/GH": "GHS", "/banks/KE": "KES"}[path]
		answer(w, http.StatusOK, flutterwaveBanks(s.listed(Flutterwave, currency)))
	case strings.HasPrefix(path, "/balances/"):
		currency := strings.TrimPrefix(path, "/balances/")
		s.mu.Lock()
		balance, ok := s.balances[Flutterwave+" "+currency]
		s.mu.Unlock()
		if !ok {
			balance = "999999999999"
		}
		answer(w, http.StatusOK, fmt.Sprintf(`{"status":"success","message":"Wallet balance fetched","data":{"currency":%q,"available_balance":%s,"ledger_balance":%s}}`, currency, balance, balance))
	default:
		answer(w, http.StatusNotFound, `{"status":"error","message":"Cannot `+r.Method+`","data":null}`)
	}
}

func (s *Server) flutterwaveOrder(w http.ResponseWriter, r *http.Request, raw []byte) {
	var in struct {
		Bank      string      `json:"account_bank"`
		Account   string      `json:"account_number"`
		Amount    json.Number `json:"amount"`
		Currency  string      `json:"currency"`
		Reference string      `json:"reference"`
		Name      string      `json:"beneficiary_name"`
		Branch    string      `json:"destination_branch_code"`
	}
	_ = json.Unmarshal(raw, &in)
	f := s.take(Flutterwave, func(f Fault) bool { return f != NoRecipient })
	no := func(status int, text string) {
		answer(w, status, fmt.Sprintf(`{"status":"error","message":%q,"data":null}`, text))
	}
	if in.Bank == "" || in.Account == "" || in.Name == "" || (strings.HasPrefix(in.Bank, "GH") && in.Branch == "") {
		f = Refused
	}
	t, fresh := s.order(Flutterwave, Transfer{
		Reference: in.Reference, Amount: in.Amount.String(), Currency: in.Currency, Account: in.Account, Bank: strings.TrimSpace(in.Bank + " " + in.Branch), Name: in.Name,
	}, f)
	switch {
	case f == NoFunds:
		no(http.StatusBadRequest, "Insufficient funds in customer wallet")
		return
	case f == NoKey:
		no(http.StatusUnauthorized, "Invalid authorization key")
		return
	case !fresh || f == Duplicate:
		no(http.StatusBadRequest, "Transfer with this reference already exists")
		return
	case f == Refused:
		no(http.StatusBadRequest, "Please provide a valid account number")
		return
	case f == OtherAmount:
		t.Amount = "1"
	}
	t.Outcome = Pending
	body := `{"status":"success","message":"Transfer Queued Successfully","data":` + s.flutterwaveTransfer(t) + `}`
	if !s.spoil(w, r, f, body) {
		answer(w, http.StatusOK, body)
	}
}

func (s *Server) flutterwaveList(w http.ResponseWriter, reference string) {
	var rows []string
	s.mu.Lock()
	s.queries++
	for _, t := range s.books[Flutterwave] {
		if s.unfiltered || t.Reference == reference {
			rows = append(rows, s.flutterwaveTransfer(*t))
		}
	}
	s.mu.Unlock()
	answer(w, http.StatusOK, `{"status":"success","message":"Transfers fetched","meta":{"page_info":{"total":`+fmt.Sprint(len(rows))+`,"current_page":1,"total_pages":1}},"data":[`+strings.Join(rows, ",")+`]}`)
}

func (s *Server) flutterwaveTransfer(t Transfer) string {
	status, ok := map[string]string{Pending: "PENDING", OTP: "NEW", Success: "SUCCESSFUL", Failed: "FAILED"}[t.Outcome]
	if !ok { // a word of the test's own
		status = t.Outcome
	}
	message := ""
	if t.Outcome == Failed {
		message = "DISBURSE FAILED: Invalid transfer parameter"
	}
	return fmt.Sprintf(`{"id":%d,"account_number":%q,"bank_code":%q,"full_name":%q,"created_at":"2026-04-01T13:00:00.000Z","currency":%q,"debit_currency":%q,"amount":%s,"fee":10.75,"status":%q,"reference":%q,"meta":null,"narration":"x","complete_message":%q,"requires_approval":0,"is_approved":1,"bank_name":"x"}`,
		t.ID, t.Account, t.Bank, t.Name, t.Currency, t.Currency, t.Amount, status, t.Reference, message)
}

// Reference makes a reference in the form of a payout's.
func Reference() string {
	raw := make([]byte, 6)
	_, _ = rand.Read(raw)
	return "cw-" + hex.EncodeToString(raw) + "-1"
}
