package httpkit

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"causeway.internal/libs/fault"
)

// A path that PostgreSQL would refuse names no object, and breaks no query.
func TestInput_Path(t *testing.T) {
	for given, want := range map[string]string{"fee_1": "fee_1", "a\x00b": "a\uFFFDb", "\xff\xfe": "\uFFFD", "ẹ̀kọ́": "ẹ̀kọ́"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.SetPathValue("id", given)
		in := Input{request: r}
		if got := in.Path("id"); got != want {
			t.Errorf("read the path %q: got %q, want %q", given, got, want)
		}
	}
}

func TestBody_members(t *testing.T) {
	raw := ` { "a" : 1 ,"b":"x\"}," , "c":{"d":[1,{"e":null}]},"f":null,"g\u0041":true,"h":""} `
	var problems fault.Problems
	body, err := parseBody([]byte(raw), &problems)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := body.Number("a"); !ok || n.String() != "1" {
		t.Errorf("read the number a: got %v, %v, want 1", n, ok)
	}
	if got := body.Text("b", 10); got != `x"},` {
		t.Errorf(`read the text b: got %q, want x"},`, got)
	}
	if c := body.Object("c"); c == nil || !c.Has("d") {
		t.Error("c.d is missing")
	}
	for name, want := range map[string]bool{"a": true, "f": false, "gA": true, "h": false, "z": false} {
		if got := body.Has(name); got != want {
			t.Errorf("Has(%q) = %v, want %v", name, got, want)
		}
	}
	if err := problems.Err(); err != nil {
		t.Error(err)
	}
}

func TestBody_OneOf(t *testing.T) {
	var problems fault.Problems
	body, err := parseBody([]byte(`{"a":"on","empty":"","other":"of","prefix":"o","number":5,"null":null}`), &problems)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "on", "empty": "", "other": "", "prefix": "", "number": "", "null": "", "none": ""} {
		if got := body.OneOf(name, []string{"on", "off"}); got != want {
			t.Errorf("OneOf(%q) = %q, want %q", name, got, want)
		}
	}
	f, ok := errors.AsType[*fault.Error](problems.Err())
	if !ok {
		t.Fatal("no fault")
	}
	var fields []string
	for _, p := range f.Fields {
		fields = append(fields, p.Field+" "+p.Message)
	}
	slices.Sort(fields)
	if want := []string{"empty must be one of on, off", "number must be one of on, off", "other must be one of on, off", "prefix must be one of on, off"}; !slices.Equal(fields, want) {
		t.Errorf("fields %q, want %q", fields, want)
	}
}

func TestBody_problemsNameTheirPath(t *testing.T) {
	var problems fault.Problems
	body, err := parseBody([]byte(`{"n":"1","s":5,"o":[],"r":{"k":7,"nul":"\u0000","two":1,"two":2},"big":1e99,"i":1.5}`), &problems)
	if err != nil {
		t.Fatal(err)
	}
	body.Number("n")
	body.Text("s", 5)
	body.Object("o")
	r := body.Object("r")
	r.Text("k", 5)
	r.Text("nul", 5)
	r.RequiredText("gone", 5)
	body.Number("big")
	body.Int("i", 1, 9)
	f, ok := errors.AsType[*fault.Error](problems.Err())
	if !ok {
		t.Fatal("no fault")
	}
	var fields []string
	for _, p := range f.Fields {
		fields = append(fields, p.Field)
	}
	if want := []string{"n", "s", "o", "r.two", "r.k", "r.nul", "r.gone", "big", "i"}; !reflect.DeepEqual(fields, want) {
		t.Errorf("fields %v, want %v", fields, want)
	}
}

func TestBody_Objects(t *testing.T) {
	for raw, want := range map[string]struct {
		fields string // with a problem
		found  int    // -1 is no list
	}{
		`{}`:                        {"", -1},
		`{"o":null}`:                {"", -1},
		`{"o":[]}`:                  {"", 0},
		`{"o":[ {"a":1} , {} ]}`:    {"", 2},
		`{"o":[{"a":1},{"a":"x"}]}`: {"o[1].a", 2},
		`{"o":[{"a":1,"a":2}]}`:     {"o[0].a", 1},
		`{"o":{}}`:                  {"o", -1},
		`{"o":"x"}`:                 {"o", -1},
		`{"o":[{},null]}`:           {"o[1]", -1},
		`{"o":[[]]}`:                {"o[0]", -1},
		`{"o":[{},{},{},{}]}`:       {"o", -1},
	} {
		var problems fault.Problems
		body, err := parseBody([]byte(raw), &problems)
		if err != nil {
			t.Fatalf("parse %s: %v", raw, err)
		}
		items, found := body.Objects("o", 3), -1
		if items != nil {
			found = len(items)
		}
		for _, item := range items {
			item.Number("a")
		}
		var fields []string
		if f, ok := errors.AsType[*fault.Error](problems.Err()); ok {
			for _, p := range f.Fields {
				fields = append(fields, p.Field)
			}
		}
		if got := strings.Join(fields, " "); found != want.found || got != want.fields {
			t.Errorf("read the objects of %s: got %d and problems of %q, want %d and %q", raw, found, got, want.found, want.fields)
		}
	}
}

func TestParseBody_refuses(t *testing.T) {
	for name, raw := range map[string]string{
		"array":     `[1]`,
		"number":    `1`,
		"trailing":  `{} {}`,
		"truncated": `{"a":`,
		"NaN":       `{"a":NaN}`,
		"duplicate": `{"a":1,"a":2}`,
		"escaped":   `{"a":1,"\u0061":2}`,
		"deep":      `{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`,
		"utf8":      "{\"a\":\"\xff\"}",
	} {
		if _, err := parseBody([]byte(raw), &fault.Problems{}); fault.As(err).Kind != fault.Invalid {
			t.Errorf("%s: %v, want a 400", name, err)
		}
	}
}

// FuzzParseBody holds our splitter to encoding/json: whatever it accepts has the same members with equal values.
func FuzzParseBody(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, ` {"a" : [1,{"b":"}"}] , "c":"\\" } `, `{"a":"\"","b":-0.1e5}`, `[`, `{"a":1,"a":1}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		body, err := parseBody([]byte(raw), &fault.Problems{})
		if err != nil || strings.TrimSpace(raw) == "" {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(raw), &want); err != nil {
			t.Fatalf("accepted %q, which encoding/json refuses: %v", raw, err)
		}
		if len(want) != len(body.members) {
			t.Fatalf("%q: %d members, want %d", raw, len(body.members), len(want))
		}
		for name, value := range want {
			var a, b any
			if json.Unmarshal(value, &a) != nil || json.Unmarshal(body.members[name], &b) != nil || !reflect.DeepEqual(a, b) {
				t.Fatalf("%q: member %q is %s, want %s", raw, name, body.members[name], value)
			}
		}
	})
}
