package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"causeway.internal/libs/wire"
)

// The promise to clients: the fields of each answer and each event, one file per answer and event in testdata/schemas,
// one line per field. It only grows. This test fails on a field that is gone, has another type, is newly optional or
// null, or has lost one of its values, and `make docs` refuses to record it; `make docs` records additions. A promise
// is broken by hand: remove its line in a change that says why.
//
// The document represents the program, because the end-to-end suite checks every answer and every event against it
// (deploy/e2e/internal/contract), and TestSchemas_closed checks that it allows no field that it does not name.
const promises = "testdata/schemas"

// property is one line: the promise about a field.
type property struct {
	Types    []string `json:"types"`            // sorted; "map" is an object of any fields
	Required bool     `json:"required"`         // present whenever the object around it is
	Values   []string `json:"values,omitempty"` // all possible values
	Form     string   `json:"form,omitempty"`   // pattern or format
	With     []string `json:"with,omitempty"`   // fields that are present whenever this one is
}

// shape is an answer or event: properties by path. The root is "$", an item of a list "[]", an alternative its schema's
// name.
type shape map[string]property

// describe flattens a schema.
func describe(ref *openapi3.SchemaRef) shape {
	out := shape{}
	out.add("$", []*openapi3.SchemaRef{ref}, true, nil)
	return out
}

// parts is a schema with everything that its allOf adds.
func parts(refs []*openapi3.SchemaRef) []*openapi3.Schema {
	var all []*openapi3.Schema
	for _, ref := range refs {
		all = append(append(all, ref.Value), parts(ref.Value.AllOf)...)
	}
	return all
}

func (s shape) add(path string, refs []*openapi3.SchemaRef, required bool, with []string) {
	line := property{Required: required, With: slices.Sorted(slices.Values(with))}
	fields, needed, brings := map[string][]*openapi3.SchemaRef{}, map[string]bool{}, map[string][]string{}
	for _, part := range parts(refs) {
		line.take(part)
		for name, ref := range part.Properties {
			fields[name] = append(fields[name], ref)
		}
		for _, name := range part.Required {
			needed[name] = true
		}
		maps.Copy(brings, part.DependentRequired)
		if part.Items != nil {
			s.add(path+"[]", []*openapi3.SchemaRef{part.Items}, true, nil)
		}
		for _, choice := range slices.Concat(part.OneOf, part.AnyOf) {
			s.add(path+"<"+choice.Ref[strings.LastIndex(choice.Ref, "/")+1:]+">", []*openapi3.SchemaRef{choice}, false, nil)
		}
	}
	s[path] = line
	for name, ref := range fields {
		s.add(path+"."+name, ref, needed[name], brings[name])
	}
}

// take narrows a line by one schema.
func (l *property) take(s *openapi3.Schema) {
	if types := slices.Clone(s.Type.Slice()); types != nil {
		if s.AdditionalProperties.Schema != nil || (s.AdditionalProperties.Has != nil && *s.AdditionalProperties.Has) {
			types[slices.Index(types, "object")] = "map"
		}
		if slices.Sort(types); l.Types == nil {
			l.Types = types
		}
		l.Types = slices.DeleteFunc(l.Types, func(one string) bool { return !slices.Contains(types, one) })
	}
	values := s.Enum
	if s.Const != nil {
		values = []any{s.Const}
	}
	for _, v := range values {
		if v == nil {
			v = "null"
		}
		l.Values = append(l.Values, fmt.Sprint(v))
	}
	slices.Sort(l.Values)
	l.Form += s.Pattern + s.Format
}

// broken lists what a client of the old shape would miss in the new one.
func broken(old, now shape) (problems []string) {
	for _, path := range slices.Sorted(maps.Keys(old)) {
		a := old[path]
		b, ok := now[path]
		if !ok {
			problems = append(problems, path+" is gone")
			continue
		}
		say := func(is bool, format string, args ...any) {
			if is {
				problems = append(problems, path+fmt.Sprintf(format, args...))
			}
		}
		more := missing(b.Types, a.Types)
		if slices.Contains(a.Types, "number") { // an integer is a number
			more = slices.DeleteFunc(more, func(s string) bool { return s == "integer" })
		}
		say(len(more) > 0, " may be %s and was %s", strings.Join(more, ", "), strings.Join(a.Types, ", "))
		say(len(b.Types) == 0 && len(a.Types) > 0, " may be anything and was %s", strings.Join(a.Types, ", "))
		say(a.Required && !b.Required, " is optional and was always there")
		say(len(a.Values) > 0 && len(b.Values) == 0, " may have any value")
		say(len(b.Values) > 0 && len(missing(a.Values, b.Values)) > 0, " is never %s any more", strings.Join(missing(a.Values, b.Values), ", "))
		say(a.Form != "" && a.Form != b.Form, " has the form %q and had %q", b.Form, a.Form)
		say(len(missing(a.With, b.With)) > 0, " may come without %s", strings.Join(missing(a.With, b.With), ", "))
	}
	return problems
}

// missing lists the items of all that are not in some.
func missing(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

// text renders a shape, one line per field in order of paths, so that a change shows as that line.
func (s shape) text(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%s ", path)
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(s[path]); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func parse(raw []byte) (shape, error) {
	s := shape{}
	for line := range strings.Lines(string(raw)) {
		path, rest, ok := strings.Cut(line, " ")
		var p property
		if err := json.Unmarshal([]byte(rest), &p); !ok || err != nil {
			return nil, fmt.Errorf("the line %q: %w", line, err)
		}
		s[path] = p
	}
	return s, nil
}

// published is everything that a client reads: the answer of each route by status, the one error, each event by type.
func published(doc *openapi3.T) map[string]*openapi3.SchemaRef {
	all := map[string]*openapi3.SchemaRef{"error": withCodes(doc.Components.Schemas["Error"].Value)}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				media := response.Value.Content.Get("application/json")
				if media != nil && media.Schema.Ref != "#/components/schemas/Error" {
					all[op.OperationID+"."+status] = media.Schema
				}
			}
		}
	}
	for _, hook := range doc.Webhooks {
		envelope := hook.Post.RequestBody.Value.Content.Get("application/json").Schema.Value
		for _, kind := range envelope.Properties["type"].Value.Enum {
			one := openapi3.Schema{Type: &openapi3.Types{"string"}, Const: kind}
			all["event."+fmt.Sprint(kind)] = replaced(envelope, "type", &openapi3.SchemaRef{Value: &one})
		}
	}
	return all
}

// withCodes is the schema of errors with the codes of its table as values: clients switch on them.
func withCodes(s *openapi3.Schema) *openapi3.SchemaRef {
	fault := s.Properties["error"].Value
	code := *fault.Properties["code"].Value
	for _, known := range codes(code.Description) {
		code.Enum = append(code.Enum, known)
	}
	return replaced(s, "error", replaced(fault, "code", &openapi3.SchemaRef{Value: &code}))
}

// replaced is a copy of an object with another property in the place of one.
func replaced(s *openapi3.Schema, name string, by *openapi3.SchemaRef) *openapi3.SchemaRef {
	one := *s
	one.Properties = maps.Clone(s.Properties)
	one.Properties[name] = by
	return &openapi3.SchemaRef{Value: &one}
}

// TestSchemas: testdata/schemas holds exactly the promises of the document, and no kept one is broken.
func TestSchemas(t *testing.T) {
	now := published(document(t))
	for name, ref := range now {
		file, text := filepath.Join(promises, name+".txt"), describe(ref).text(t)
		raw, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		old, err := parse(raw)
		if err != nil {
			t.Fatalf("read the golden schema %s: %v", file, err)
		}
		lost := broken(old, describe(ref))
		for _, problem := range lost {
			t.Errorf("%s: breaks clients: %s", name, problem)
		}
		if bytes.Equal(raw, text) || len(lost) > 0 {
			continue
		}
		if os.Getenv("UPDATE") == "" {
			t.Errorf("%s is not what the document says, and breaks nobody: record it with make docs", file)
			continue
		}
		if err := errors.Join(os.MkdirAll(promises, 0o755), os.WriteFile(file, text, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := filepath.Glob(filepath.Join(promises, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range kept {
		if name := strings.TrimSuffix(filepath.Base(file), ".txt"); now[name] == nil {
			t.Errorf("%s: breaks clients: the document describes it no more", name)
		}
	}
}

// Every event that is sent has a schema of its own.
func TestSchemas_events(t *testing.T) {
	all := published(document(t))
	for _, e := range wire.EventTypes() {
		if all["event."+e.Type] == nil {
			t.Errorf("no webhook of the document has the type %s", e.Type)
		}
		delete(all, "event."+e.Type)
	}
	for name := range all {
		if strings.HasPrefix(name, "event.") {
			t.Errorf("%s is sent by nobody", name)
		}
	}
}

// Every object of an answer or event lists its fields, or allows any: a field beside them fails the end-to-end suite.
func TestSchemas_closed(t *testing.T) {
	var walk func(path string, refs []*openapi3.SchemaRef)
	walk = func(path string, refs []*openapi3.SchemaRef) {
		says, object, fields := false, false, map[string][]*openapi3.SchemaRef{}
		for _, part := range parts(refs) {
			object = object || part.Type.Includes("object")
			says = says || part.AdditionalProperties.Has != nil || part.AdditionalProperties.Schema != nil || part.UnevaluatedProperties.Has != nil
			for name, ref := range part.Properties {
				fields[name] = append(fields[name], ref)
			}
			if part.Items != nil {
				walk(path+"[]", []*openapi3.SchemaRef{part.Items})
			}
			for _, choice := range slices.Concat(part.OneOf, part.AnyOf) {
				walk(path+"<>", []*openapi3.SchemaRef{choice})
			}
		}
		if object && !says {
			t.Errorf("%s: neither closed nor open to any field", path)
		}
		for name, ref := range fields {
			walk(path+"."+name, ref)
		}
	}
	for name, ref := range published(document(t)) {
		walk(name+" $", []*openapi3.SchemaRef{ref})
	}
}

// Mutations that break a client are found, others are not.
func TestSchemas_mutations(t *testing.T) {
	const whole = `
type: object
required: [id, amount, state, gone, at]
additionalProperties: false
dependentRequired: {note: [author]}
properties:
  id: {type: string}
  amount: {type: number}
  count: {type: integer}
  gone: {type: [string, "null"]}
  state: {type: string, enum: [open, closed]}
  at: {type: string, pattern: "^[0-9]+$"}
  list: {type: array, items: {type: object, required: [x], additionalProperties: false, properties: {x: {type: integer}}}}
  note: {type: string}
  author: {type: string}
  data: {type: object, additionalProperties: false}
`
	load := func(text string) shape {
		doc, err := openapi3.NewLoader().LoadFromData([]byte("openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths: {}\ncomponents:\n  schemas:\n    S:\n      " +
			strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      ") + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		return describe(doc.Components.Schemas["S"])
	}
	old := load(whole)
	if back, err := parse(old.text(t)); err != nil || len(broken(old, back))+len(broken(back, old)) > 0 {
		t.Fatalf("a shape does not survive its file: %v", err)
	}
	for name, tc := range map[string]struct{ from, to, problem string }{
		"the same":                {},
		"a field more":            {"  id:", "  more: {type: string}\n  id:", ""},
		"a value more":            {"[open, closed]", "[open, closed, late]", ""},
		"null no more":            {`[string, "null"]`, "string", ""},
		"always there now":        {"gone, at]", "gone, at, count]", ""},
		"a number becomes whole":  {"amount: {type: number}", "amount: {type: integer}", ""},
		"a form where none was":   {"id: {type: string}", "id: {type: string, pattern: x}", ""},
		"field gone":              {"  amount: {type: number}\n", "", "$.amount is gone"},
		"field renamed":           {"  id:", "  key:", "$.id is gone"},
		"field of an item gone":   {"properties: {x: {type: integer}}", "properties: {}", "$.list[].x is gone"},
		"retyped":                 {"amount: {type: number}", "amount: {type: string}", "$.amount may be string and was number"},
		"a whole number no more":  {"count: {type: integer}", "count: {type: number}", "$.count may be number and was integer"},
		"any type":                {"count: {type: integer}", "count: {}", "$.count may be anything and was integer"},
		"null":                    {"id: {type: string}", `id: {type: [string, "null"]}`, "$.id may be null and was string"},
		"optional":                {"[id, amount,", "[id,", "$.amount is optional and was always there"},
		"optional in an item":     {"required: [x], ", "", "$.list[].x is optional and was always there"},
		"value gone":              {"[open, closed]", "[open]", `$.state is never closed any more`},
		"any value":               {", enum: [open, closed]", "", "$.state may have any value"},
		"another form":            {"^[0-9]+$", "^[0-9.]+$", `$.at has the form "^[0-9.]+$" and had "^[0-9]+$"`},
		"alone":                   {"dependentRequired: {note: [author]}\n", "", "$.note may come without author"},
		"an object of any fields": {"data: {type: object, additionalProperties: false}", "data: {type: object, additionalProperties: true}", "$.data may be map and was object"},
	} {
		if tc.from != "" && !strings.Contains(whole, tc.from) {
			t.Fatalf("%s: nothing to change", name)
		}
		if got := strings.Join(broken(old, load(strings.Replace(whole, tc.from, tc.to, 1))), "; "); got != tc.problem {
			t.Errorf("%s: %q, want %q", name, got, tc.problem)
		}
	}
}
