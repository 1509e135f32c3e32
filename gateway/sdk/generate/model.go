// Package generate reads gateway/openapi.yaml and writes the types and methods of the clients in gateway/sdk.
// `make docs` writes them again, and a test fails while they are older than the document.
package generate

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// api is the part of the document that clients of merchants need.
type api struct {
	schemas    []schema
	operations []operation
	events     []string // schemas of webhooks
	codes      []string // of errors
	integers   []string // "object.field" of each whole number of an answer or event; every other number is a decimal
}

// schema is a type with a name.
type schema struct {
	name, doc string
	kind      kind
	sent      bool // only requests hold it
}

// operation is a method of a client.
type operation struct {
	id, method, path, summary, doc string

	key        string // needed, optional or none
	repeatable bool   // repeating it is safe
	params     []string
	query      []field
	body       *kind
	bodyNeeded bool
	answer     kind
	list       *list
}

// list says how the pages of an operation follow each other.
type list struct {
	in    string // the field of the answer that holds the page, "" for the answer itself
	items string // the field of the page that holds the items
	item  kind
	empty bool // an empty cursor begins the list; it is also read by offset
}

// kind is a type: exactly one of the fields says which, beside null.
type kind struct {
	ref     string   // the name of a schema
	values  []string // texts, one of which it is
	fixed   string   // "true" or "false"
	fields  []field
	items   *kind
	all     []kind // each of them at once
	one     []kind // one of them
	scalars []string
	open    bool // an object of any fields
	null    bool
}

// field is a property of an object or a query parameter.
type field struct {
	name, doc string
	kind      kind
	needed    bool
}

// Tags of operations that clients of merchants have, and operations with such a tag that they do not have: those of
// payout providers, and of people who read the document.
var (
	tags   = []string{"payments", "wallets", "balances", "reports", "sandbox", "webhooks", "meta"}
	others = []string{"takeRailHint", "getOpenAPI", "exportPayments"}
)

const schemaPath = "#/components/schemas/"

// read takes the merchants' part out of the document.
func read(doc *openapi3.T) (api, error) {
	r := reader{doc: doc, sent: map[string]bool{}, received: map[string]bool{}, whole: map[string]bool{}, parts: map[string]bool{}}
	var a api
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		item := doc.Paths.Map()[path]
		for _, method := range slices.Sorted(maps.Keys(item.Operations())) {
			op := item.Operations()[method]
			if !slices.Contains(tags, op.Tags[0]) || slices.Contains(others, op.OperationID) {
				continue
			}
			a.operations = append(a.operations, r.operation(method, path, item, op))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Webhooks)) {
		ref := doc.Webhooks[name].Post.RequestBody.Value.Content.Get("application/json").Schema
		r.reach(ref, r.received)
		r.numbers("", ref)
		a.events = append(a.events, strings.TrimPrefix(ref.Ref, schemaPath))
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		if ref := doc.Components.Schemas[name]; (r.sent[name] || r.received[name]) && !scalar(ref.Value) {
			a.schemas = append(a.schemas, schema{name: name, doc: ref.Value.Description, kind: r.kind(&openapi3.SchemaRef{Value: ref.Value}), sent: !r.received[name]})
		}
	}
	code := doc.Components.Schemas["Error"].Value.Properties["error"].Value.Properties["code"].Value
	if a.codes = codes(code); len(a.codes) == 0 {
		return api{}, fmt.Errorf("read the document: the schema Error names no code")
	}
	for name := range r.whole {
		if r.parts[name] {
			return api{}, fmt.Errorf("read the document: %s is a whole number in one answer and has a fraction in another", name)
		}
		a.integers = append(a.integers, name)
	}
	slices.Sort(a.integers)
	return a, nil
}

// reader collects what the operations reach.
type reader struct {
	doc            *openapi3.T
	sent, received map[string]bool // schemas in requests, and in answers and events
	whole, parts   map[string]bool // numbers without and with a fraction, as "object.field"
}

func (r *reader) operation(method, path string, item *openapi3.PathItem, op *openapi3.Operation) operation {
	o := operation{id: op.OperationID, method: method, path: path, summary: op.Summary, doc: op.Description, key: key(op), repeatable: method == http.MethodGet}
	for _, p := range slices.Concat(item.Parameters, op.Parameters) {
		switch p := p.Value; {
		case p.In == openapi3.ParameterInPath:
			o.params = append(o.params, p.Name)
		case p.Name == "Idempotency-Key":
			o.repeatable = true
		case p.In == openapi3.ParameterInQuery && p.Name != "format": // clients read JSON
			one := r.kind(p.Schema)
			if one.items != nil { // one value, or several, which clients separate by commas
				one = kind{one: []kind{*one.items, one}}
			}
			o.query = append(o.query, field{name: p.Name, doc: p.Description, kind: one, needed: p.Required})
		}
	}
	if op.RequestBody != nil {
		ref := op.RequestBody.Value.Content.Get("application/json").Schema
		r.reach(ref, r.sent)
		body := r.kind(ref)
		o.body, o.bodyNeeded = &body, op.RequestBody.Value.Required
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses.Map())) {
		if media := op.Responses.Value(status).Value.Content.Get("application/json"); status[0] == '2' && media != nil {
			r.reach(media.Schema, r.received)
			r.numbers("", media.Schema)
			o.answer = r.kind(media.Schema)
			o.list = r.list(op, media.Schema.Value)
		}
	}
	return o
}

// key says whether an operation reads an API key.
func key(op *openapi3.Operation) string {
	if op.Security == nil {
		return "needed" // as the document says for all
	}
	without := len(*op.Security) == 0
	with := false
	for _, one := range *op.Security {
		without, with = without || len(one) == 0, with || len(one) > 0
	}
	switch {
	case with && without:
		return "optional"
	case with:
		return "needed"
	}
	return "none"
}

// list finds the pages of an answer: a list beside its pagination.
func (r *reader) list(op *openapi3.Operation, answer *openapi3.Schema) *list {
	cursor := op.Parameters.GetByInAndName(openapi3.ParameterInQuery, "cursor")
	if cursor == nil {
		return nil
	}
	l := list{empty: cursor.AllowEmptyValue}
	if data := answer.Properties["data"]; data != nil {
		l.in, answer = "data", data.Value
	}
	for name, property := range answer.Properties {
		if property.Value.Type.Is(openapi3.TypeArray) {
			l.items, l.item = name, r.kind(property.Value.Items)
		}
	}
	return &l
}

// reach notes every schema that is reached from one.
func (r *reader) reach(ref *openapi3.SchemaRef, into map[string]bool) {
	if name, named := strings.CutPrefix(ref.Ref, schemaPath); named {
		if into[name] {
			return
		}
		into[name] = true
	}
	for _, next := range below(ref.Value) {
		r.reach(next, into)
	}
}

// below lists the schemas inside one.
func below(s *openapi3.Schema) []*openapi3.SchemaRef {
	all := slices.Concat(s.AllOf, s.OneOf, s.AnyOf)
	for _, property := range s.Properties {
		all = append(all, property)
	}
	if s.Items != nil {
		all = append(all, s.Items)
	}
	if s.AdditionalProperties.Schema != nil {
		all = append(all, s.AdditionalProperties.Schema)
	}
	return all
}

// numbers notes which fields hold whole numbers. An item of a list counts as its list.
func (r *reader) numbers(object string, ref *openapi3.SchemaRef) {
	s := ref.Value
	for name, property := range s.Properties {
		switch at, types := object+"."+name, property.Value.Type; {
		case types.Includes(openapi3.TypeInteger):
			r.whole[at] = true
		case types.Includes(openapi3.TypeNumber):
			r.parts[at] = true
		}
		r.numbers(name, property)
	}
	for _, next := range slices.Concat(s.AllOf, s.OneOf, s.AnyOf) {
		r.numbers(object, next)
	}
	if s.Items != nil {
		r.numbers(object, s.Items)
	}
}

// scalar reports whether a schema is a plain number, text or truth value, whose name says nothing to a client.
func scalar(s *openapi3.Schema) bool {
	return len(s.Enum)+len(s.AllOf)+len(s.OneOf)+len(s.Properties) == 0 && !s.Type.Includes(openapi3.TypeObject) && !s.Type.Includes(openapi3.TypeArray)
}

func (r *reader) kind(ref *openapi3.SchemaRef) kind {
	s := ref.Value
	if name, named := strings.CutPrefix(ref.Ref, schemaPath); named && !scalar(s) {
		return kind{ref: name}
	}
	k := kind{null: s.Type.Includes(openapi3.TypeNull)}
	switch {
	case s.Const != nil && s.Type.Is(openapi3.TypeBoolean):
		k.fixed = fmt.Sprint(s.Const)
	case s.Const != nil:
		k.values = []string{fmt.Sprint(s.Const)}
	case len(s.Enum) > 0:
		for _, value := range s.Enum {
			if value != nil {
				k.values = append(k.values, fmt.Sprint(value))
			}
		}
	case len(s.OneOf) > 0:
		for _, one := range s.OneOf {
			if one.Value.Type.Is(openapi3.TypeNull) {
				k.null = true
				continue
			}
			k.one = append(k.one, r.kind(one))
		}
	case len(s.AllOf) > 0:
		for _, one := range s.AllOf {
			k.all = append(k.all, r.kind(one))
		}
		if fields := r.fields(s); len(fields) > 0 {
			k.all = append(k.all, kind{fields: fields})
		}
	case s.Type.Includes(openapi3.TypeArray):
		items := r.kind(s.Items)
		k.items = &items
	case len(s.Properties) > 0:
		k.fields = r.fields(s)
	case s.Type.Includes(openapi3.TypeObject):
		k.open = true
	default:
		k.scalars = slices.DeleteFunc(slices.Clone(s.Type.Slice()), func(t string) bool { return t == openapi3.TypeNull })
	}
	return k
}

func (r *reader) fields(s *openapi3.Schema) []field {
	var all []field
	for name, property := range s.Properties {
		f := field{name: name, doc: property.Value.Description, kind: r.kind(property), needed: slices.Contains(s.Required, name)}
		if f.kind.ref != "" {
			f.doc = "" // the type has it
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b field) int {
		if a.needed != b.needed {
			return map[bool]int{true: -1, false: 1}[a.needed]
		}
		return cmp.Compare(a.name, b.name)
	})
	return all
}

var codeRow = regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\|")

// codes lists the codes of errors, from the table in their description or from the values.
func codes(s *openapi3.Schema) []string {
	var all []string
	for _, value := range s.Enum {
		all = append(all, fmt.Sprint(value))
	}
	if len(all) == 0 {
		for _, row := range codeRow.FindAllStringSubmatch(s.Description, -1) {
			all = append(all, row[1])
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// wrapped breaks a text into lines.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// upper begins a name with a capital letter.
func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// iterator is the name of the method that walks through all pages of a list.
func (o operation) iterator() string {
	if rest, ok := strings.CutPrefix(o.id, "list"); ok {
		return "iterate" + rest
	}
	return "iterate" + upper(o.id)
}
