package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/wire"
)

// whole is the document, checked. It is read by every test and changed by none.
var whole = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background())
})

func document(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := whole()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Every route is in the document and every operation of the document is a route.
func TestOpenAPI_routes(t *testing.T) {
	var described, served []string
	for path, item := range document(t).Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	for _, r := range route.Table() {
		served = append(served, r.Name())
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("the document describes\n%s\nthe table serves\n%s", strings.Join(described, "\n"), strings.Join(served, "\n"))
	}
}

// The document and the table agree on who may call a route.
func TestOpenAPI_access(t *testing.T) {
	doc := document(t)
	for _, r := range route.Table() {
		op := doc.Paths.Value(r.Pattern).GetOperation(r.Method)
		security := doc.Security
		if op.Security != nil {
			security = *op.Security
		}
		var schemes []string
		for _, s := range security {
			schemes = slices.AppendSeq(schemes, maps.Keys(s))
		}
		want := map[route.Access][]string{route.Open: nil, route.Keyed: {"bearerKey", "headerKey"}, route.Operated: {"operatorToken"}}[r.Access]
		if r.Permission != "" && !slices.Contains(apikey.Grantable(), string(r.Permission)) {
			want = []string{"consoleAssertion"}
		}
		if r.Knows { // the empty requirement says that a key may be left out
			want = []string{"bearerKey", "headerKey"}
		}
		if !slices.Equal(schemes, want) {
			t.Errorf("%s: security %v, want %v", r.Name(), schemes, want)
		}
		if r.Permission != "" && !strings.Contains(op.Description, "`"+string(r.Permission)+"`") {
			t.Errorf("%s: the description does not name the permission %s", r.Name(), r.Permission)
		}
		if _, ok := op.Responses.Map()["default"]; !ok {
			t.Errorf("%s: no default response", r.Name())
		}
	}
}

// The document and the table agree on the query parameters of a route. Each has one value; several are separated by
// commas.
func TestOpenAPI_query(t *testing.T) {
	doc := document(t)
	for _, r := range route.Table() {
		item := doc.Paths.Value(r.Pattern)
		var described []string
		for _, p := range slices.Concat(item.Parameters, item.GetOperation(r.Method).Parameters) {
			if p.Value.In != "query" {
				continue
			}
			described = append(described, p.Value.Name)
			if p.Value.Schema.Value.Type.Is("array") && (p.Value.Style != "form" || p.Value.Explode == nil || *p.Value.Explode) {
				t.Errorf("%s: the parameter %s has several values, want one with commas (style form, explode false)", r.Name(), p.Value.Name)
			}
		}
		served := slices.Clone(r.Query)
		slices.Sort(described)
		slices.Sort(served)
		if !slices.Equal(described, served) {
			t.Errorf("%s: the document describes %q, the table serves %q", r.Name(), described, served)
		}
	}
}

// Examples are what people paste; kin-openapi checks them only in part, so each is held against its schema here.
func TestOpenAPI_examples(t *testing.T) {
	checked := 0
	check := func(where string, content openapi3.Content) {
		for _, media := range content {
			for name, example := range media.Examples {
				checked++
				if err := visit(t, media.Schema.Value, example.Value.Value); err != nil {
					t.Errorf("%s, example %s: %v", where, name, err)
				}
			}
		}
	}
	doc := document(t)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody != nil {
				check(method+" "+path, op.RequestBody.Value.Content)
			}
			for status, response := range op.Responses.Map() {
				check(method+" "+path+" "+status, response.Value.Content)
			}
		}
	}
	for name, item := range doc.Webhooks {
		check(name, item.Post.RequestBody.Value.Content)
	}
	if checked < 10 {
		t.Errorf("only %d examples were found", checked)
	}
}

func visit(t *testing.T, schema *openapi3.Schema, value any) error {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		t.Fatal(err)
	}
	return schema.VisitJSON(plain, openapi3.EnableJSONSchema2020(), openapi3.MultiErrors())
}

// Everything that is sent or answered as JSON has an example, and every webhook too.
func TestOpenAPI_whole(t *testing.T) {
	doc := document(t)
	has := func(where string, content openapi3.Content) {
		if media := content.Get("application/json"); media != nil && len(media.Examples) == 0 {
			t.Errorf("%s: no example", where)
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			where := method + " " + path
			if op.Summary == "" || op.OperationID == "" || len(op.Tags) != 1 {
				t.Errorf("%s: no summary, operationId or tag", where)
			}
			if op.RequestBody != nil {
				has(where, op.RequestBody.Value.Content)
			}
			for status, response := range op.Responses.Map() {
				has(where+" "+status, response.Value.Content)
			}
		}
	}
	for name, item := range doc.Webhooks {
		has(name, item.Post.RequestBody.Value.Content)
	}
}

// The table of error codes names exactly the codes of the program.
func TestOpenAPI_codes(t *testing.T) {
	made := regexp.MustCompile(`fault\.New\(\s*fault\.(\w+),\s*"([a-z_]+)"|(?:UnsupportedPair|OutOfRange|AlertUnscreened)\s*= "([a-z_]+)"` +
		`|(?:conflict|invalid)\("([a-z_]+)"`)
	computed := regexp.MustCompile(`fault\.New\(\s*fault\.\w+,[^,]*\+[^,]*,`)
	var want []string
	for _, root := range []string{".", "../libs", "../services"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if entry != nil && entry.IsDir() && path == "../services/console" { // answers pages to people, and no API
				return fs.SkipDir
			}
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			if code := computed.Find(source); code != nil {
				t.Errorf("%s: %s is a code that no table can have", path, code)
			}
			for _, m := range made.FindAllSubmatch(source, -1) {
				if string(m[1]) != "Internal" { // all of these reach callers as internal
					want = append(want, string(m[2])+string(m[3])+string(m[4]))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want = append(want, fault.As(errors.New("anything")).Code)
	got := codes(document(t).Components.Schemas["Error"].Value.Properties["error"].Value.Properties["code"].Value.Description)
	slices.Sort(want)
	slices.Sort(got)
	enum := texts(document(t).Components.Schemas["Error"].Value.Properties["error"].Value.Properties["code"].Value.Enum)
	if !slices.Equal(enum, got) {
		t.Errorf("openapi.yaml, Error.code: the enum has %q, the table %q", enum, got)
	}
	if want = slices.Compact(want); !slices.Equal(got, want) {
		for _, code := range want {
			if !slices.Contains(got, code) {
				t.Errorf("openapi.yaml, Error.code: the code %q is not in the table", code)
			}
		}
		for _, code := range got {
			if !slices.Contains(want, code) {
				t.Errorf("openapi.yaml, Error.code: nothing answers %q", code)
			}
		}
	}
}

// codes reads the table of error codes.
func codes(table string) (all []string) {
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(table, -1) {
		all = append(all, row[1])
	}
	return all
}

// The schemas are strict: what a contract does not list is refused.
func TestOpenAPI_strict(t *testing.T) {
	doc := document(t)
	example := func(path, method, status, name string) map[string]any {
		media := doc.Paths.Value(path).GetOperation(method).Responses.Value(status).Value.Content.Get("application/json")
		raw, err := json.Marshal(media.Examples[name].Value.Value)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	created := doc.Components.Schemas["PaymentCreatedAnswer"].Value
	read := doc.Components.Schemas["PaymentAnswer"].Value
	for name, tc := range map[string]struct {
		schema *openapi3.Schema
		value  map[string]any
		change func(payment map[string]any)
	}{
		"created with an id":       {created, example("/v1/payments", "POST", "201", "transfer"), func(p map[string]any) { p["id"] = "pay_01jqs8m2v4t6x8z0b2d4f6h8j0" }},
		"created with more":        {created, example("/v1/payments", "POST", "201", "transfer"), func(p map[string]any) { p["payoutAmount"] = 1 }},
		"created without charge":   {created, example("/v1/payments", "POST", "201", "transfer"), func(p map[string]any) { delete(p, "charge") }},
		"request with an address":  {created, example("/v1/payments", "POST", "201", "request"), func(p map[string]any) { p["depositAddress"] = "x" }},
		"read with an id":          {read, example("/v1/payments/{reference}", "GET", "200", "settled"), func(p map[string]any) { p["id"] = "pay_01jqs8m2v4t6x8z0b2d4f6h8j0" }},
		"read without txHash":      {read, example("/v1/payments/{reference}", "GET", "200", "settled"), func(p map[string]any) { delete(p, "txHash") }},
		"read with a text amount":  {read, example("/v1/payments/{reference}", "GET", "200", "settled"), func(p map[string]any) { p["fiatAmount"] = "50000" }},
		"read with null exception": {read, example("/v1/payments/{reference}", "GET", "200", "settled"), nil},
		"read with an exception":   {read, example("/v1/payments/{reference}", "GET", "200", "settled"), func(p map[string]any) { p["exception"] = "odd" }},
		"read without the rate":    {read, example("/v1/payments/{reference}", "GET", "200", "settled"), func(p map[string]any) { delete(p, "rate") }},
		"read with seconds only":   {read, example("/v1/payments/{reference}", "GET", "200", "settled"), func(p map[string]any) { p["expiresAt"] = "2026-04-01T13:30:00Z" }},
	} {
		if tc.change != nil {
			payment, ok := tc.value["payment"].(map[string]any)
			if !ok {
				t.Fatal("the example has no payment")
			}
			tc.change(payment)
		}
		if err := visit(t, tc.schema, tc.value); (err != nil) != (tc.change != nil) {
			t.Errorf("validate %s: got %v", name, err)
		}
	}
}

// texts are the sorted texts of an enum.
func texts(values []any) (out []string) {
	for _, v := range values {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// decoded reads the document as plain JSON.
func decoded(t *testing.T, into any) {
	t.Helper()
	raw, err := json.Marshal(document(t))
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// schemasOf calls f for every schema of the document with its place and the nearest description.
func schemasOf(t *testing.T, f func(place string, s map[string]any, described bool)) {
	t.Helper()
	var root any
	decoded(t, &root)
	var walk func(place string, v any, described bool)
	walk = func(place string, v any, described bool) {
		switch v := v.(type) {
		case map[string]any:
			_, own := v["description"].(string)
			if v["type"] != nil || v["enum"] != nil {
				f(place, v, own || described)
			}
			for name, inner := range v {
				if name != "example" && name != "examples" {
					walk(place+"/"+name, inner, own && name == "schema")
				}
			}
		case []any:
			for i, inner := range v {
				walk(place+"/"+strconv.Itoa(i), inner, described)
			}
		}
	}
	walk("", root, false)
}

// Generators make a type of each amount and each list of values. Without a format they take an amount for a float32,
// which loses digits; without a description nobody knows what a value says.
func TestOpenAPI_generated(t *testing.T) {
	numbers, lists := 0, 0
	schemasOf(t, func(place string, s map[string]any, described bool) {
		types, _ := s["type"].([]any)
		if s["type"] == "number" || slices.Contains(types, any("number")) {
			numbers++
			exact := s["format"] == "decimal" && s["x-go-type"] == "json.Number"
			if !exact && s["format"] != "double" {
				t.Errorf("%s: the number has the format %v, want decimal with x-go-type json.Number, or double for a measure", place, s["format"])
			}
			if s["exclusiveMinimum"] != nil {
				t.Errorf("%s: ogen cannot read exclusiveMinimum; say the smallest value", place)
			}
		}
		if values, _ := s["enum"].([]any); len(values) > 1 {
			if lists++; !described {
				t.Errorf("%s: nothing describes the values %v", place, values)
			}
		}
	})
	if numbers < 80 || lists < 80 {
		t.Errorf("walk the document: found %d numbers and %d lists of values, want all", numbers, lists)
	}
	kinds := document(t).Components.Schemas["PaymentType"].Value
	for _, kind := range texts(kinds.Enum) {
		if !strings.Contains(kinds.Description, "`"+kind+"`") {
			t.Errorf("PaymentType: the description does not say what %s is", kind)
		}
	}
}

// A member of a request that may be left out may be null as well (docs/api-contract.md#validation).
func TestOpenAPI_null(t *testing.T) {
	var check func(place string, s *openapi3.Schema)
	members, seen := 0, map[*openapi3.Schema]bool{}
	check = func(place string, s *openapi3.Schema) {
		if seen[s] {
			return
		}
		seen[s] = true
		for name, member := range s.Properties {
			m := member.Value
			null := m.Type.IncludesNull() || slices.ContainsFunc(m.OneOf, func(one *openapi3.SchemaRef) bool { return one.Value.Type.IncludesNull() })
			if !slices.Contains(s.Required, name) && !null {
				t.Errorf("%s: the optional member %s may not be null", place, name)
			}
			members++
			check(place+"."+name, m)
		}
		if s.Items != nil {
			check(place, s.Items.Value)
		}
	}
	for path, item := range document(t).Paths.Map() {
		for method, o := range item.Operations() {
			if o.RequestBody == nil {
				continue
			}
			if media := o.RequestBody.Value.Content.Get("application/json"); media != nil {
				check(method+" "+path, media.Schema.Value)
			}
		}
	}
	if members < 150 {
		t.Errorf("walk the requests: found %d members, want all", members)
	}
}

// A name is the name of one thing: generators make a type of the same name of each component.
func TestOpenAPI_names(t *testing.T) {
	var doc struct {
		Components map[string]map[string]any
	}
	decoded(t, &doc)
	of := map[string]string{}
	for kind, all := range doc.Components {
		for name := range all {
			if other := of[strings.ToLower(name)]; other != "" {
				t.Errorf("components: %s is the name of one of the %s and of one of the %s", name, kind, other)
			}
			of[strings.ToLower(name)] = kind
		}
	}
	if len(of) < 200 {
		t.Errorf("read the components: found %d, want all", len(of))
	}
}

// Lists that the code also knows are the same in the document.
func TestOpenAPI_lists(t *testing.T) {
	doc := document(t)
	grants := apikey.Grantable()
	slices.Sort(grants)
	if got := texts(doc.Components.Schemas["Permission"].Value.Enum); !slices.Equal(got, grants) {
		t.Errorf("permissions %v, want %v", got, grants)
	}
	var events, all []string
	for _, e := range wire.EventTypes() {
		all = append(all, e.Type)
		if strings.HasPrefix(e.Type, "payment.") {
			events = append(events, e.Type)
		}
	}
	slices.Sort(events)
	slices.Sort(all)
	if got := texts(doc.Components.Schemas["EventTypeName"].Value.Enum); !slices.Equal(got, all) {
		t.Errorf("all events %v, want %v", got, all)
	}
	if got := texts(doc.Components.Schemas["PaymentEvent"].Value.Properties["type"].Value.Enum); !slices.Equal(got, events) {
		t.Errorf("events %v, want %v", got, events)
	}
}

// A report's schemas allow exactly its public fields, and its events are those of the list.
func TestOpenAPI_reports(t *testing.T) {
	doc := document(t)
	filed := doc.Components.Schemas["ReportAnswer"].Value
	media := doc.Paths.Value("/v1/reports").Post.Responses.Value("201").Value.Content.Get("application/json")
	for name, change := range map[string]func(map[string]any){
		"as it is":      nil,
		"without null":  func(r map[string]any) { delete(r, "sessionReference") },
		"with a notice": func(r map[string]any) { r["adminNotes"] = "internal" },
		"with more":     func(r map[string]any) { r["mode"] = "test" },
		"with a +":      func(r map[string]any) { r["phoneNumber"] = "+2348012345678" },
		"other id":      func(r map[string]any) { r["reportId"] = "RPT-000000" },
	} {
		raw, err := json.Marshal(media.Examples["phone"].Value.Value)
		if err != nil {
			t.Fatal(err)
		}
		var v struct {
			Success bool                      `json:"success"`
			Data    map[string]map[string]any `json:"data"`
		}
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(v.Data["report"])
		}
		if err := visit(t, filed, v); (err != nil) != (change != nil) {
			t.Errorf("validate the report %s: got %v", name, err)
		}
	}
	var want, got []string
	for _, e := range wire.EventTypes() {
		if strings.HasPrefix(e.Type, "report.") {
			want = append(want, e.Type)
		}
	}
	for _, v := range doc.Components.Schemas["ReportEvent"].Value.Properties["type"].Value.Enum {
		if s, ok := v.(string); ok {
			got = append(got, s)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}
