package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/reports/internal/app"
	"causeway.internal/services/reports/internal/httpapi"
	"causeway.internal/services/reports/internal/limit"
	"causeway.internal/services/reports/internal/report"
)

// strict is a fake of the database: it holds nothing, and fails where PostgreSQL would refuse a value, so that a
// decoder that passes one answers 500.
type strict struct {
	last  *report.Report
	found *report.Report // what every id finds; nil is nothing
}

var errUnstorable = errors.New("PostgreSQL cannot store this")

func storable(v any) error {
	r := reflect.ValueOf(v)
	for i := range r.NumField() {
		if f := r.Field(i); f.Kind() == reflect.String && !report.Storable(f.String()) {
			return fmt.Errorf("%s %q: %w", r.Type().Field(i).Name, f.String(), errUnstorable)
		}
	}
	return nil
}

func (s *strict) Open(context.Context, tenant.Owner, string, []app.Source, idempotency.Key) (app.Opening, error) {
	return app.Opening{ID: 1, Now: time.Unix(1, 0), Filed: make([]int64, 2)}, nil
}

func (s *strict) Insert(_ context.Context, n app.Newborn) error {
	if s.last != nil {
		*s.last = n.Report
	}
	return storable(n.Report)
}

func (s *strict) Refuse(context.Context, tenant.Owner, app.Source, time.Time, time.Time) error {
	return nil
}

func (s *strict) Replay(context.Context, idempotency.Key) (idempotency.Answer, bool, error) {
	return idempotency.Answer{}, false, nil
}

func (s *strict) Settled(context.Context, idempotency.Key) (idempotency.Answer, error) {
	return idempotency.Answer{}, nil
}
func (s *strict) Full(context.Context) error { return nil }
func (s *strict) Lookup(_ context.Context, _ []tenant.Mode, l report.Lookup) (app.Page, error) {
	if l.Offset < 0 || l.Limit < 1 || l.Limit > 200 || l.After != nil && (l.After.ID < 0 || l.After.At.Year() > 9999) {
		return app.Page{}, errUnstorable
	}
	return app.Page{}, storable(l)
}

func (s *strict) Own(_ context.Context, _ tenant.Owner, q report.Own) ([]report.Report, error) {
	if len(q.Statuses) == 0 || len(q.Kinds) == 0 || q.Limit < 2 || q.Limit > 101 {
		return nil, errUnstorable
	}
	return nil, nil
}

func (s *strict) Find(context.Context, []tenant.Mode, string) (report.Report, error) {
	if s.found != nil {
		return *s.found, nil
	}
	return report.Report{}, app.ErrNotFound
}

func (s *strict) Change(_ context.Context, o tenant.Owner, _, reference string, decide func(report.Report, time.Time) (app.Decision, error)) error {
	d, err := decide(report.Report{Reference: reference, MerchantID: o.MerchantID, Mode: o.Mode, Status: report.Pending}, time.Unix(2, 0))
	if err != nil {
		return err
	}
	return storable(d.Report)
}

func (s *strict) Accused(_ context.Context, _ []tenant.Mode, address string) ([]app.Accused, error) {
	return nil, storable(struct{ A string }{address})
}

func (s *strict) Suspects(_ context.Context, q app.Suspects) ([]app.Accused, error) {
	if q.After != nil {
		return nil, storable(struct{ A, M string }{q.After.Address, string(q.After.Mode)})
	}
	return nil, nil
}

func (s *strict) Judge(
	_ context.Context, j app.Judgement, _ idempotency.Key, rule func(app.Accused, *approval.Request) (app.Ruling, error),
	answer func(app.Accused, *approval.Request) (idempotency.Answer, error),
) (idempotency.Answer, error) {
	if err := storable(struct{ A, R string }{j.Address, j.Reason}); err != nil {
		return idempotency.Answer{}, err
	}
	k := app.Accused{Mode: j.Mode, Address: j.Address, Confirmed: j.Confirmed}
	r, err := rule(k, nil)
	if err != nil {
		return idempotency.Answer{}, err
	}
	return answer(k, r.Waits)
}

func (s *strict) Floods(_ context.Context, _ []tenant.Mode, _ int, after *app.FloodsAfter) ([]app.SourceView, error) {
	if after != nil {
		return nil, errors.Join(storable(after.Source), storable(struct{ M string }{string(after.Mode)}))
	}
	return nil, nil
}

var identityKey = bytes.Repeat([]byte("k"), 32)

type service struct {
	*httpkit.Server
	deps *app.Deps
}

func newService(s *strict) service {
	server := httpkit.NewServer(slog.New(slog.DiscardHandler), prometheus.NewRegistry(),
		httpkit.Verifier{Audience: wire.Reports, Keys: [][]byte{identityKey}, Now: time.Now})
	a := app.New(app.Deps{
		Filing: s, Reading: s, Changing: s, Oversight: s, Backlog: s, PublicModes: tenant.Modes(), NewReference: id.ReportReference,
		Lookups: limit.New(0, 0, 0, time.Now), Guesses: limit.New(0, 0, 0, time.Now), Refused: func(string) {}, Log: slog.New(slog.DiscardHandler),
	})
	httpapi.Routes(server, a, nil)
	return service{server, &a.Deps}
}

type caller func(*httpkit.Identity)

func merchant(i *httpkit.Identity) {
	i.Subject, i.MerchantID, i.KeyID, i.Mode = httpkit.Merchant, "acme", 7, tenant.Test
}
func operator(i *httpkit.Identity) { i.Subject, i.Operator = httpkit.Operator, "ann" }
func public(i *httpkit.Identity)   { i.Subject = httpkit.Public }

func from(ip string) caller {
	return func(i *httpkit.Identity) { i.Subject, i.ClientIP = httpkit.Public, ip }
}

func (s service) call(t testing.TB, who caller, method, target, body string) (int, http.Header, map[string]any) {
	t.Helper()
	r := httptest.NewRequest(method, "http://reports/", strings.NewReader(body))
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return 0, nil, nil // no client can send it
	}
	r.URL.Path, r.URL.RawPath, r.URL.RawQuery = u.Path, u.RawPath, u.RawQuery
	i := httpkit.Identity{RequestID: "req_1", Method: method, Path: r.URL.RequestURI(), Audience: wire.Reports, IssuedAt: time.Now().UnixMilli()}
	who(&i)
	header, err := i.Sign(identityKey)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(httpkit.IdentityHeader, header)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil && w.Code != http.StatusMovedPermanently && w.Code != http.StatusTemporaryRedirect {
		t.Fatalf("call %s %s: got %d %q, want JSON", method, target, w.Code, w.Body)
	}
	return w.Code, w.Header(), answer
}

func fields(answer map[string]any) string {
	e, _ := answer["error"].(map[string]any)
	all, _ := e["fields"].([]any)
	var names []string
	for _, f := range all {
		if m, ok := f.(map[string]any); ok {
			names = append(names, fmt.Sprint(m["field"]))
		}
	}
	return strings.Join(names, " ")
}

// Only the merchant that the gateway names is shown a gift's reference; an operator is nobody's merchant.
func TestShow_toWhom(t *testing.T) {
	const gift = "CW-G7KQ2M9XHTB4N"
	s := newService(&strict{found: &report.Report{MerchantID: "acme", Mode: tenant.Test, Session: gift, Reference: "RPT-ABCDEF"}})
	for name, tc := range map[string]struct {
		who  caller
		want any
	}{
		"its merchant": {merchant, gift}, "the public": {public, nil}, "an operator": {operator, nil},
		"another merchant": {func(i *httpkit.Identity) { merchant(i); i.MerchantID = "other" }, nil},
		"the other mode":   {func(i *httpkit.Identity) { merchant(i); i.Mode = tenant.Live }, nil},
	} {
		status, _, answer := s.call(t, tc.who, http.MethodGet, "/v1/reports/RPT-ABCDEF", "")
		data, _ := answer["data"].(map[string]any)
		shown, _ := data["report"].(map[string]any)
		if got, there := shown["sessionReference"]; status != http.StatusOK || !there || got != tc.want {
			t.Errorf("%s: %d %v, want %v", name, status, got, tc.want)
		}
	}
}

// Bodies and queries that break a rule, with status, message and fields. The fixed texts are those of
// docs/api-contract.md#fixed-texts.
func TestRefusals(t *testing.T) {
	s := newService(&strict{})
	const neither, asked = "At least one of phoneNumber or walletAddress must be provided", "At least one of phoneNumber or walletAddress is required"
	for name, tc := range map[string]struct {
		who                  caller
		method, target, body string
		status               int
		message, fields      string
	}{
		"neither":               {merchant, "POST", "/v1/reports", `{"complaintType":"fraud","name":"A"}`, 400, neither, "phoneNumber walletAddress"},
		"null and empty":        {merchant, "POST", "/v1/reports", `{"complaintType":"fraud","name":"A","phoneNumber":null,"walletAddress":""}`, 400, neither, "phoneNumber walletAddress"},
		"empty body":            {merchant, "POST", "/v1/reports", ``, 400, neither, "complaintType name phoneNumber walletAddress"},
		"phone is a number":     {merchant, "POST", "/v1/reports", `{"complaintType":"fraud","name":"A","phoneNumber":2348012345}`, 400, "phoneNumber: must be a string", "phoneNumber"},
		"all types wrong":       {merchant, "POST", "/v1/reports", `{"complaintType":1,"name":[],"phoneNumber":{},"walletAddress":true,"sessionReference":0,"fraudsterWalletAddress":1.5,"description":[""]}`, 400, "complaintType: must be a string", "complaintType name phoneNumber walletAddress sessionReference fraudsterWalletAddress description"},
		"NUL":                   {merchant, "POST", "/v1/reports", `{"complaintType":"fraud","name":"A\u0000","phoneNumber":"123456"}`, 400, "name: must not contain a NUL character", "name"},
		"not JSON":              {merchant, "POST", "/v1/reports", `{"name":`, 400, "The body is not valid JSON.", ""},
		"not an object":         {merchant, "POST", "/v1/reports", `[]`, 400, "The body must be a JSON object.", ""},
		"filed by nobody":       {public, "POST", "/v1/reports", `{}`, 401, "This route needs an API key.", ""},
		"look-up of nothing":    {public, "GET", "/v1/reports/lookup", ``, 400, asked, "phoneNumber walletAddress"},
		"look-up of empty":      {public, "GET", "/v1/reports/lookup?phoneNumber=&walletAddress=&limit=0&status=open", ``, 400, asked, "status limit phoneNumber walletAddress"},
		"own, limit 101":        {merchant, "GET", "/v1/reports?limit=101", ``, 400, "limit: must be a whole number from 1 to 100", "limit"},
		"own, another status":   {merchant, "GET", "/v1/reports?status=pending,open", ``, 400, "", "status"},
		"own, broken cursor":    {merchant, "GET", "/v1/reports?cursor=x", ``, 400, "", "cursor"},
		"limit 0":               {public, "GET", "/v1/reports/lookup?phoneNumber=123456&limit=0", ``, 400, "limit: must be a whole number from 1 to 200", "limit"},
		"limit 201":             {public, "GET", "/v1/reports/lookup?phoneNumber=123456&limit=201", ``, 400, "limit: must be a whole number from 1 to 200", "limit"},
		"limit 1.5":             {public, "GET", "/v1/reports/lookup?phoneNumber=123456&limit=1.5", ``, 400, "", "limit"},
		"negative offset":       {public, "GET", "/v1/reports/lookup?phoneNumber=123456&offset=-1", ``, 400, "", "offset"},
		"other status":          {public, "GET", "/v1/reports/lookup?phoneNumber=123456&status=open", ``, 400, "", "status"},
		"other type":            {public, "GET", "/v1/reports/lookup?phoneNumber=123456&complaintType=all", ``, 400, "", "complaintType"},
		"broken cursor":         {public, "GET", "/v1/reports/lookup?phoneNumber=123456&cursor=x", ``, 400, "", "cursor"},
		"cursor and offset":     {public, "GET", "/v1/reports/lookup?phoneNumber=123456&cursor=&offset=1", ``, 400, "", "offset"},
		"bad id":                {public, "GET", "/v1/reports/RPT-12345", ``, 400, "Invalid report ID format", ""},
		"lower-case prefix":     {public, "GET", "/v1/reports/rpt-123456", ``, 400, "Invalid report ID format", ""},
		"id with a slash":       {public, "GET", "/v1/reports/RPT-12%2F456", ``, 400, "Invalid report ID format", ""},
		"id with a newline":     {public, "GET", "/v1/reports/RPT-123456%0A", ``, 400, "Invalid report ID format", ""},
		"unknown id":            {public, "GET", "/v1/reports/RPT-000000", ``, 404, "Report not found", ""},
		"change a bad id":       {merchant, "PATCH", "/v1/reports/x", `{}`, 400, "Invalid report ID format", ""},
		"change to nothing":     {merchant, "PATCH", "/v1/reports/RPT-ABCDEF", `{}`, 400, "status: is required", "status"},
		"change to other":       {merchant, "PATCH", "/v1/reports/RPT-ABCDEF", `{"status":"done","confirmer":5,"adminNotes":"` + strings.Repeat("x", 5001) + `"}`, 400, "status: must be one of pending, processing, resolved, dismissed", "status confirmer adminNotes"},
		"change not allowed":    {merchant, "PATCH", "/v1/reports/RPT-ABCDEF", `{"status":"resolved"}`, 409, "A report that is pending cannot become resolved.", ""},
		"confirm nothing":       {operator, "POST", "/v1/admin/reports/confirmations", `{}`, 400, "", "mode action walletAddress reason"},
		"confirm other":         {operator, "POST", "/v1/admin/reports/confirmations", `{"mode":"both","walletAddress":"x","action":"block","reason":"y"}`, 400, "", "mode action"},
		"confirmed by nobody":   {public, "POST", "/v1/admin/reports/confirmations", `{"mode":"test","walletAddress":"x","action":"confirm","reason":"y"}`, 401, "", ""},
		"confirmed by merchant": {merchant, "POST", "/v1/admin/reports/confirmations", `{"mode":"test","walletAddress":"x","action":"confirm","reason":"y"}`, 401, "", ""},
		"list by merchant":      {merchant, "GET", "/v1/admin/reports/confirmations", ``, 401, "", ""},
		"list in other state":   {operator, "GET", "/v1/admin/reports/confirmations?state=all&merchants=0&cursor=x", ``, 400, "", "state merchants cursor"},
		"changed by nobody":     {public, "PATCH", "/v1/reports/RPT-ABCDEF", `{"status":"processing"}`, 401, "", ""},
		"subject of none":       {operator, "GET", "/v1/admin/reports/subjects", ``, 400, "walletAddress: is required", "walletAddress"},
		"subject with NUL":      {operator, "GET", "/v1/admin/reports/subjects?walletAddress=a%00", ``, 400, "", "walletAddress"},
		"subject, other mode":   {operator, "GET", "/v1/admin/reports/subjects?walletAddress=a&mode=both", ``, 400, "", "mode"},
		"subjects for a key":    {merchant, "GET", "/v1/admin/reports/subjects?walletAddress=a", ``, 401, "", ""},
		"floods for the public": {public, "GET", "/v1/admin/reports/floods", ``, 401, "", ""},
		"floods, broken cursor": {operator, "GET", "/v1/admin/reports/floods?cursor=MQ", ``, 400, "", "cursor"},
	} {
		status, _, answer := s.call(t, tc.who, tc.method, tc.target, tc.body)
		if status != tc.status || (tc.message != "" && answer["message"] != tc.message) || fields(answer) != tc.fields || answer["success"] != false {
			t.Errorf("%s: %d %v, fields %q; want %d %q, fields %q", name, status, answer["message"], fields(answer), tc.status, tc.message, tc.fields)
		}
	}
}

// Odd requests that are allowed.
func TestAccepted(t *testing.T) {
	var last report.Report
	s := newService(&strict{last: &last})
	for name, tc := range map[string]struct {
		who                  caller
		method, target, body string
		status               int
	}{
		"unknown fields":       {merchant, "POST", "/v1/reports", `{"complaintType":"fraud","name":"A","phoneNumber":"123456","status":"resolved","apiKeyId":1,"merchantId":"x","confirmer":"me"}`, 201},
		"nulls":                {merchant, "POST", "/v1/reports", `{"complaintType":"fraud","name":"A","phoneNumber":"123456","walletAddress":null,"description":null,"sessionReference":""}`, 201},
		"own":                  {merchant, "GET", "/v1/reports", ``, 200},
		"own, filtered":        {merchant, "GET", "/v1/reports?status=pending,dismissed&complaintType=fraud&limit=1", ``, 200},
		"own, all":             {merchant, "GET", "/v1/reports?status=all&cursor=&limit=", ``, 200},
		"plus in a query":      {public, "GET", "/v1/reports/lookup?phoneNumber=+234801234", ``, 200},
		"no phone at all":      {public, "GET", "/v1/reports/lookup?phoneNumber=%25", ``, 200},
		"NUL":                  {public, "GET", "/v1/reports/lookup?walletAddress=a%00b", ``, 200},
		"not UTF-8":            {public, "GET", "/v1/reports/lookup?walletAddress=%ff%fe&phoneNumber=%ff", ``, 200},
		"deep":                 {public, "GET", "/v1/reports/lookup?phoneNumber=123456&offset=9223372036854775807", ``, 200},
		"all":                  {public, "GET", "/v1/reports/lookup?phoneNumber=123456&status=all&limit=&offset=", ``, 200},
		"a merchant looks up":  {merchant, "GET", "/v1/reports/lookup?phoneNumber=123456", ``, 200},
		"operator's look-up":   {operator, "GET", "/v1/admin/reports/subjects?walletAddress=%200xAB%20&mode=live", ``, 200},
		"floods":               {operator, "GET", "/v1/admin/reports/floods?limit=100", ``, 200},
		"change, lower case":   {merchant, "PATCH", "/v1/reports/RPT-abcdef", `{"status":"processing","confirmer":null,"adminNotes":""}`, 200},
		"operators do not own": {merchant, "POST", "/v1/reports?x=1", `{"complaintType":"fraud","name":"A","walletAddress":"` + strings.Repeat("é", 128) + `"}`, 201},
	} {
		if status, _, answer := s.call(t, tc.who, tc.method, tc.target, tc.body); status != tc.status {
			t.Errorf("%s: %d %v, want %d", name, status, answer, tc.status)
		}
	}
	if last.MerchantID != "acme" || last.KeyID != 7 || last.Mode != tenant.Test || last.Status != report.Pending || last.Confirmer != "" {
		t.Errorf("accept a change of status: got %+v, want a pending report of acme's key 7 in test mode", last)
	}
}

// Only what is not found counts, by address, and an IPv6 subscriber is one caller; loopback is spared where that is
// asked for.
func TestGuesses(t *testing.T) {
	for _, spare := range []bool{false, true} {
		s := newService(&strict{})
		now := time.Unix(1_700_000_000, 0)
		s.deps.Guesses = limit.New(30, time.Minute, 30, func() time.Time { return now })
		s.deps.SkipLoopback = spare
		guess := func(ip, reference string) int {
			status, header, _ := s.call(t, from(ip), "GET", "/v1/reports/"+reference, "")
			if (status == http.StatusTooManyRequests) != (header.Get("Retry-After") != "") {
				t.Errorf("%d with Retry-After %q", status, header.Get("Retry-After"))
			}
			return status
		}
		for range 100 {
			guess("203.0.113.7", "malformed")
		}
		var got []int
		for i := range 31 {
			got = append(got, guess("203.0.113.7", fmt.Sprintf("RPT-%06d", i)))
			guess(fmt.Sprintf("2001:db8::%x", i), "RPT-000000")
			guess("127.0.0.1", "RPT-000000")
		}
		if slices.Index(got, http.StatusTooManyRequests) != 30 {
			t.Errorf("answers %v, want 30 misses and then 429", got)
		}
		if a, b := guess("203.0.113.8", "RPT-000000"), guess("::ffff:203.0.113.7", "RPT-000000"); a != 404 || b != 429 {
			t.Errorf("a neighbour %d, the same in another spelling %d", a, b)
		}
		if a, b := guess("2001:db8::ffff", "RPT-000000"), guess("2001:db8:0:1::1", "RPT-000000"); a != 429 || b != 404 {
			t.Errorf("the same /64 %d, another %d", a, b)
		}
		if got := guess("127.0.0.1", "RPT-000000"); (got == 404) != spare {
			t.Errorf("loopback %d, spared %v", got, spare)
		}
		now = now.Add(2 * time.Second)
		if a, b := guess("203.0.113.7", "RPT-000000"), guess("203.0.113.7", "RPT-000000"); a != 404 || b != 429 {
			t.Errorf("after one token came back: %d, then %d", a, b)
		}
	}
}

// 5 a second, 50 at once, of one phone or wallet in whatever spelling; a look-up by both pays for both.
func TestLookups_perSubject(t *testing.T) {
	s := newService(&strict{})
	now := time.Unix(1_700_000_000, 0)
	s.deps.Lookups = limit.New(5, time.Second, 50, func() time.Time { return now })
	refused := 0
	s.deps.Refused = func(string) { refused++ }
	look := func(query string) int {
		status, _, _ := s.call(t, public, "GET", "/v1/reports/lookup?"+query, "")
		return status
	}
	spellings := []string{"phoneNumber=2348012345", "phoneNumber=%2B234%20801%202345", "phoneNumber=(234)801-2345&limit=1&status=pending"}
	for i := range 50 {
		if got := look(spellings[i%3]); got != 200 {
			t.Fatalf("number %d: %d", i+1, got)
		}
	}
	for _, query := range append(spellings, "phoneNumber=2348012345&walletAddress=T1") {
		if got := look(query); got != 429 {
			t.Errorf("%s: %d, want 429", query, got)
		}
	}
	for _, query := range []string{"phoneNumber=2348012346", "walletAddress=T1", "phoneNumber=nonsense", "walletAddress=2348012345"} {
		if got := look(query); got != 200 {
			t.Errorf("%s: %d, want 200", query, got)
		}
	}
	for range 49 {
		look("walletAddress=0xAB")
	}
	if a, b := look("walletAddress=0xab"), look("walletAddress=0XAB"); a != 200 || b != 429 {
		t.Errorf("the 50th %d, the 51st %d", a, b)
	}
	now = now.Add(200 * time.Millisecond)
	if a, b := look(spellings[0]), look(spellings[1]); a != 200 || b != 429 {
		t.Errorf("after one came back: %d, then %d", a, b)
	}
	if refused != 6 {
		t.Errorf("%d counted as refused, want 6", refused)
	}
}

func check(t *testing.T, status int, what string) {
	t.Helper()
	if status >= http.StatusInternalServerError {
		t.Fatalf("%s: got the status %d", what, status)
	}
}

// No body makes a 500, and whatever is accepted can be stored.
func FuzzFileAndChange(f *testing.F) {
	for _, seed := range []string{
		`{"complaintType":"fraud","name":"A","phoneNumber":"+234 801 2345","walletAddress":"0xAB","description":"🙂"}`,
		`{"complaintType":"fraud","name":"\ud800","walletAddress":"\udfff\u0000"}`, `{"status":"processing","adminNotes":"\ufffe"}`,
		`{"status":{"a":[null,1e999]}}`, `[`, `{"name":"a","n\u0061me":"b"}`, "\xff", `{"phoneNumber":"(((((","complaintType":"","name":" "}`,
	} {
		f.Add(seed)
	}
	s := newService(&strict{})
	f.Fuzz(func(t *testing.T, body string) {
		for _, method := range []string{"POST /v1/reports", "PATCH /v1/reports/RPT-ABCDEF"} {
			verb, path, _ := strings.Cut(method, " ")
			status, _, _ := s.call(t, merchant, verb, path, body)
			check(t, status, method)
		}
	})
}

// No path and no query makes a 500.
func FuzzQueries(f *testing.F) {
	for _, seed := range []string{
		"phoneNumber=+234&walletAddress=%00&status=all&limit=200&offset=99999999999999999999&cursor=", "walletAddress=%ff&cursor=MS4x", "RPT-ABCDEF",
		"mode=live&limit=1e3&cursor=MCBsaXZlIGZyYXVkc3RlciAxIHg", "%zz=%", "a;b=c", "phoneNumber=1&phoneNumber=2", "%2e%2e", "RPT-%E2%84%AA00000",
	} {
		f.Add(seed)
	}
	s := newService(&strict{})
	f.Fuzz(func(t *testing.T, text string) {
		for _, target := range []string{
			"/v1/reports/lookup?" + text, "/v1/reports/lookup?phoneNumber=123456&cursor=" + text, "/v1/admin/reports/subjects?walletAddress=" + text,
			"/v1/admin/reports/floods?" + text, "/v1/admin/reports/floods?cursor=" + text, "/v1/reports/" + text,
		} {
			who := caller(public)
			if strings.HasPrefix(target, "/v1/admin") {
				who = operator
			}
			status, _, _ := s.call(t, who, "GET", target, "")
			check(t, status, target)
		}
	})
}
