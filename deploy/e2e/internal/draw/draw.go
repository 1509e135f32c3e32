// Package draw draws requests from an OpenAPI document. A valid one has values that its schemas allow, taken from the
// document's examples, from what fits a field's name, and from earlier answers. A hostile one is a valid one that is
// spoilt in one place. The same seed draws the same requests.
package draw

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"
)

// Operation is one operation of a document.
type Operation struct {
	*openapi3.Operation

	Method, Path string
	item         *openapi3.PathItem
}

// Operations lists the operations of a document, in the order of their paths.
func Operations(doc *openapi3.T) []Operation {
	var all []Operation
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			all = append(all, Operation{o, method, path, item})
		}
	}
	slices.SortFunc(all, func(a, b Operation) int { return strings.Compare(a.Path+a.Method, b.Path+b.Method) })
	return all
}

// Request is one request.
type Request struct {
	Operation Operation
	Hostile   bool
	Path      string            // with the query
	Values    map[string]string // of the path's parameters
	Header    http.Header
	Body      any // nil, or the text of it
}

func (r Request) String() string {
	return fmt.Sprintf("%s (%s %s, hostile: %t, header %v, body %.500v)", r.Operation.OperationID, r.Operation.Method, r.Path, r.Hostile, r.Header, r.Body)
}

// Source draws. It is for one goroutine.
type Source struct {
	*rand.Rand

	now   time.Time
	found map[string][]string // values of answers, by the name of their field
}

// New returns a source that draws times around now.
func New(seed uint64, now time.Time) *Source {
	return &Source{Rand: rand.New(rand.NewPCG(seed, 1)), now: now.UTC(), found: map[string][]string{"asset.name": {"page.css", "mark.svg"}}}
}

// Valid draws a request that the document allows. fixed are values of parameters that a link brings.
func (s *Source) Valid(o Operation, fixed map[string]string) Request {
	return s.request(o, fixed, false)
}

// Hostile draws a request that most likely breaks the document.
func (s *Source) Hostile(o Operation, fixed map[string]string) Request {
	return s.request(o, fixed, true)
}

func (s *Source) request(o Operation, fixed map[string]string, hostile bool) Request {
	r := Request{Operation: o, Hostile: hostile, Path: o.Path, Values: map[string]string{}, Header: http.Header{}}
	query := url.Values{}
	for _, ref := range slices.Concat(o.item.Parameters, o.Parameters) {
		p := ref.Value
		values := []string{fixed[p.Name]}
		if values[0] == "" {
			values = s.parameter(o, p)
		}
		if hostile && s.IntN(4) == 0 {
			values = []string{s.text()}
		}
		switch p.In {
		case openapi3.ParameterInPath:
			r.Values[p.Name] = values[0]
			r.Path = strings.ReplaceAll(r.Path, "{"+p.Name+"}", url.PathEscape(values[0]))
		case openapi3.ParameterInQuery:
			if (p.Required && !(hostile && s.IntN(8) == 0) || s.IntN(3) == 0) && values[0] != "" { // as if absent, to the product
				query[p.Name] = values
			}
		case openapi3.ParameterInHeader:
			if p.Name == "X-Request-Id" {
				values[0] = "walk." + logged(values[0])
			}
			if s.IntN(4) == 0 && printable.MatchString(values[0]) {
				r.Header.Set(p.Name, values[0])
			}
		}
	}
	if hostile && s.IntN(8) == 0 {
		query.Set("surprise", "1")
	}
	if len(query) > 0 {
		r.Path += "?" + query.Encode()
	}
	if o.RequestBody != nil {
		s.body(&r, o.RequestBody.Value)
	}
	return r
}

// printable is what a header may hold.
var printable = regexp.MustCompile(`^[\x21-\x7e]{1,300}$`)

// body draws the body of a request.
func (s *Source) body(r *Request, drawn *openapi3.RequestBody) {
	for kind, media := range drawn.Content {
		if media.Schema == nil {
			continue
		}
		r.Header.Set("Content-Type", kind)
		value := s.example(media)
		if value == nil {
			value = s.Value("", media.Schema.Value)
		}
		fields, isObject := value.(map[string]any)
		if r.Hostile && isObject {
			s.spoil(fields, media.Schema.Value)
		}
		if kind == "application/x-www-form-urlencoded" {
			form := url.Values{}
			for name, field := range fields {
				form.Set(name, plainText(field))
			}
			if len(form) == 0 && !r.Hostile {
				form.Set("surprise", "") // a form without fields would be no body
			}
			r.Body = form.Encode()
			return
		}
		if r.Hostile && s.IntN(5) == 0 {
			r.Body = s.rubbish()
			return
		}
		raw, err := json.Marshal(value)
		if err != nil {
			panic(fmt.Sprintf("a value of %s that is no JSON: %v", r.Operation.OperationID, err))
		}
		r.Body = string(raw)
		return
	}
}

// example is now and then one that the document gives, as a copy; nil otherwise.
func (s *Source) example(media *openapi3.MediaType) any {
	if len(media.Examples) == 0 || s.IntN(2) == 0 {
		return nil
	}
	name := slices.Sorted(maps.Keys(media.Examples))[s.IntN(len(media.Examples))]
	raw, err := json.Marshal(media.Examples[name].Value.Value)
	if err != nil {
		return nil
	}
	var value any
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil
	}
	return value
}

// parameter draws the values of a parameter: more than one only for a list in the form name=a&name=b.
func (s *Source) parameter(o Operation, p *openapi3.Parameter) []string {
	schema := p.Schema.Value
	if p.In == openapi3.ParameterInPath && s.IntN(10) > 0 {
		if known := s.found[object(o.Path, p.Name)]; len(known) > 0 {
			return []string{known[s.IntN(len(known))]}
		}
	}
	if !schema.Type.Includes(openapi3.TypeArray) {
		text := plainText(s.Value(p.Name, schema))
		if p.In == openapi3.ParameterInPath && (text == "" || strings.Contains(text, "/")) {
			text = "unknown" // a segment
		}
		return []string{text}
	}
	parts := []string{plainText(s.Value(p.Name, schema.Items.Value))}
	for range s.IntN(2) {
		parts = append(parts, plainText(s.Value(p.Name, schema.Items.Value)))
	}
	if p.Explode == nil || *p.Explode {
		return parts
	}
	return []string{strings.Join(parts, ",")}
}

// object is the name under which Learn keeps values of a parameter of a path: of {id} after the word address-book it is
// addressBook.id.
func object(path, parameter string) string {
	switch {
	case parameter == "reference" && strings.Contains(path, "claim"):
		return "gift.reference"
	case parameter == "reference":
		return "payment.reference"
	}
	if parameter != "id" && parameter != "name" {
		return parameter
	}
	before, _, _ := strings.Cut(path, "/{"+parameter+"}")
	words := strings.Split(before[strings.LastIndex(before, "/")+1:], "-")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	name := singular(strings.Join(words, ""))
	if other := otherNames[name]; other != "" {
		name = other
	}
	return name + "." + parameter
}

// otherNames are objects whose field in answers has another name than their place in paths.
var otherNames = map[string]string{"addressBook": "address", "link": "paymentLink"}

// references are fields of requests that name an object of an answer.
var references = map[string]string{
	"reference": "payment.reference", "sessionReference": "payment.reference", "settlementAccountId": "settlementAccount.id", "accountId": "settlementAccount.id",
	"addressId": "address.id", "endpointId": "endpoint.id", "walletId": "wallet.id", "paymentId": "payment.id", "objectId": "payment.id",
}

func singular(word string) string {
	if stem, ok := strings.CutSuffix(word, "ies"); ok {
		return stem + "y"
	}
	if strings.HasSuffix(word, "ddress") {
		return word
	}
	if stem, ok := strings.CutSuffix(word, "sses"); ok {
		return stem + "ss"
	}
	return strings.TrimSuffix(word, "s")
}

// plainText is a value as a query or a form writes it.
func plainText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64, bool, json.Number, int64:
		return fmt.Sprint(v)
	}
	raw, _ := json.Marshal(value) //nolint:errcheck // what cannot be written is hostile enough as nothing
	return string(raw)
}

// Value draws a value of a schema for a field. An optional field of an object is there half of the time.
func (s *Source) Value(name string, schema *openapi3.Schema) any {
	return s.value(name, schema, 0)
}

const deepest = 6 // objects within objects

func (s *Source) value(name string, schema *openapi3.Schema, depth int) any {
	switch {
	case schema.Const != nil:
		return schema.Const
	case len(schema.Enum) > 0:
		return schema.Enum[s.IntN(len(schema.Enum))]
	case len(schema.OneOf) > 0:
		return s.value(name, schema.OneOf[s.IntN(len(schema.OneOf))].Value, depth+1)
	case schema.Type.IncludesNull() && s.IntN(6) == 0:
		return nil
	case schema.Type.Includes(openapi3.TypeObject):
		fields := map[string]any{}
		for _, field := range slices.Sorted(maps.Keys(schema.Properties)) {
			if slices.Contains(schema.Required, field) || depth < deepest && s.IntN(2) == 0 {
				fields[field] = s.value(field, schema.Properties[field].Value, depth+1)
			}
		}
		s.amend(fields, schema)
		return fields
	case schema.Type.Includes(openapi3.TypeArray):
		items := []any{}
		most := int(schema.MinItems) + 2
		if schema.MaxItems != nil {
			most = min(most, int(*schema.MaxItems))
		}
		for range int(schema.MinItems) + s.IntN(most-int(schema.MinItems)+1) {
			item := s.value(name, schema.Items.Value, depth+1)
			if !slices.ContainsFunc(items, func(other any) bool { return plainText(other) == plainText(item) }) {
				items = append(items, item)
			}
		}
		return items
	case schema.Type.Includes(openapi3.TypeBoolean):
		return s.IntN(2) == 1
	case schema.Type.Includes(openapi3.TypeInteger), schema.Type.Includes(openapi3.TypeNumber):
		return s.number(schema)
	}
	return s.string(name, schema)
}

// amend adds what the condition of a schema asks for.
func (s *Source) amend(fields map[string]any, schema *openapi3.Schema) {
	if schema.If == nil || schema.Then == nil || schema.If.Value.VisitJSON(asJSON(fields), openapi3.EnableJSONSchema2020()) != nil {
		return
	}
	for _, name := range schema.Then.Value.Required {
		if _, ok := fields[name]; !ok {
			fields[name] = s.value(name, schema.Properties[name].Value, 1)
		}
	}
}

func asJSON(value any) (plain any) {
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, &plain)
	}
	if err != nil {
		panic(fmt.Sprintf("a drawn value that is no JSON: %v", err))
	}
	return plain
}

// number draws near the bounds, or an amount that payments have.
func (s *Source) number(schema *openapi3.Schema) any {
	low, high := 0.0, 1e9
	if schema.Min != nil {
		low = *schema.Min
	}
	if schema.Max != nil {
		high = *schema.Max
	}
	var fitting []json.Number
	for _, text := range []string{"0", "1", "2", "10", "100", "5000", "25000", "0.01", "25000.5", "1234567.89"} {
		number := json.Number(text)
		f, err := number.Float64()
		whole := !strings.Contains(text, ".")
		if err == nil && f >= low && f <= high && (whole || !schema.Type.Includes(openapi3.TypeInteger)) && schema.VisitJSON(f, openapi3.EnableJSONSchema2020()) == nil {
			fitting = append(fitting, number)
		}
	}
	if len(fitting) == 0 {
		return json.Number(fmt.Sprint(int64(low)))
	}
	return fitting[s.IntN(len(fitting))]
}

const phone = "2348012345678"

// logged is a text that logs hold as it is. No log may hold a phone.
func logged(text string) string { return strings.ReplaceAll(text, phone, "phone") }

// words are texts for fields of any name.
var words = []string{"a", "Ada Obi", "ẹ̀kọ́", "order 17", phone, "https://shop.example/hook"}

// fitting are texts for fields of a name, so that many requests mean something.
var fitting = map[string][]string{
	"crypto": {"USDT", "BTC", "USDC"}, "network": {"tron", "bitcoin", "trc20"}, "bankCode": {"058", "044"}, "accountNumber": {"0123456789", "0000000003"},
	"chatId": {"42"}, "phone": {phone}, "phoneNumber": {phone}, "address": {"TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"},
	"walletAddress": {"TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"}, "callbackUrl": {"https://shop.example/hook"}, "url": {"https://shop.example/hook"},
	"returnUrl": {"https://shop.example/thanks"}, "locale": {"fr", "en"}, "merchantReference": {"o-1", "o-2", "o-3", "o-4", "o-5"}, "currency": {"NGN"},
	"pair": {"USDT/tron"}, "month": {"2026-10"}, "fiat": {"NGN"}, "email": {"ada@shop.example"}, "website": {"https://shop.example"}, "timeZone": {"Africa/Lagos"}, "note": {"a walk"},
}

// string draws a text: one that fits the field's name, that an answer has brought, or any.
func (s *Source) string(name string, schema *openapi3.Schema) any {
	var chosen string
	if other := references[name]; other != "" {
		name = other
	}
	switch fits, known := fitting[name], s.found[name]; {
	case schema.Format == "date-time" || strings.Contains(schema.Pattern, `T[0-9]{2}:`):
		return s.now.Add(time.Duration(s.IntN(48*3600)-24*3600) * time.Second).Format("2006-01-02T15:04:05.000Z")
	case schema.Pattern != "":
		return rapid.StringMatching(strings.TrimSuffix(strings.TrimPrefix(schema.Pattern, "^"), "$")).Example(int(s.Uint32()))
	case len(fits) > 0 && s.IntN(8) > 0:
		chosen = fits[s.IntN(len(fits))]
	case len(known) > 0 && s.IntN(4) > 0:
		chosen = known[s.IntN(len(known))]
	case (name == "from" || name == "to") && s.IntN(4) > 0:
		chosen = s.now.Add(time.Duration(s.IntN(48)-24) * time.Hour).Format(time.DateOnly)
	default:
		chosen = words[s.IntN(len(words))]
	}
	if name == "merchantId" {
		chosen = logged(chosen)
	}
	runes := []rune(chosen)
	if schema.MaxLength != nil && uint64(len(runes)) > *schema.MaxLength {
		runes = runes[:*schema.MaxLength]
	}
	for uint64(len(runes)) < schema.MinLength {
		runes = append(runes, 'a')
	}
	return string(runes)
}

// spoil changes one field of a body for the worse.
func (s *Source) spoil(fields map[string]any, schema *openapi3.Schema) {
	names := slices.Sorted(maps.Keys(schema.Properties))
	if len(names) == 0 || s.IntN(4) == 0 {
		fields["surprise"] = s.Hard()
		return
	}
	name := names[s.IntN(len(names))]
	if s.IntN(4) == 0 {
		delete(fields, name)
		return
	}
	fields[name] = s.Hard()
}

// Hard draws a value that few fields can take.
func (s *Source) Hard() any {
	hard := []any{
		nil, true, json.Number("-1"), json.Number("0"), "",
		[]any{},
		map[string]any{},
		[]any{nil, json.Number("1"), "x"},
		map[string]any{"a": map[string]any{"b": nil}},
		json.Number("1e400"), json.Number("0.0000000000000000000000000001"), json.Number("-0"),
		json.Number("99999999999999999999999999"), json.Number("1.5"),
	}
	if s.IntN(3) == 0 {
		return s.text()
	}
	return hard[s.IntN(len(hard))]
}

// rubbish is the text of a body that is no request.
func (s *Source) rubbish() string {
	return []string{
		"", "{", "null", "[]", `"text"`, "1e999", `{"a":1}{"b":2}`, `{"type":"gift","type":"transfer"}`, "\x00", `{"a":NaN}`, strings.Repeat("[", 200),
		strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), `{"fiatAmount":1e-400}`, "{\"a\":\"\xff\xfe\"}",
	}[s.IntN(14)]
}

// text is a text that has broken programs before.
func (s *Source) text() string {
	return []string{
		"' OR 1=1 --", "../../v1/admin/keys", "%00", "a\x00b", "\u202e", strings.Repeat("x", 600), "<script>alert(1)</script>", "${jndi:ldap://x}",
		"CW-AAAAAAAAAAAAAA", "\t\r\n", "-1", "null", "NaN", "9999999999999999999999", "pay_00000000000000000000000000", "é\u1ecd\U0001F4B8", ";ls",
		"https://10.0.0.1/", "\xff\xfe",
	}[s.IntN(19)]
}

const (
	keptOfName = 400
	giftPrefix = "CW-G" // of references
)

// Learn keeps the names of objects that an answer shows, for later requests.
func (s *Source) Learn(answer any) { s.learn("", "", answer) }

func (s *Source) learn(owner, name string, answer any) {
	switch v := answer.(type) {
	case map[string]any:
		for _, field := range slices.Sorted(maps.Keys(v)) {
			s.learn(singular(name), field, v[field])
		}
	case []any:
		for _, one := range v {
			s.learn(owner, name, one)
		}
	case string:
		s.keep(owner, name, v)
	case json.Number:
		if name == "id" {
			s.keep(owner, name, v.String())
		}
	}
}

func (s *Source) keep(owner, name, value string) {
	switch {
	case name == "id", name == "reference":
		name = owner + "." + name
	case name == "nextCursor":
		name = "cursor"
	case name != "cursor" && name != "txHash" && name != "address" && !strings.HasSuffix(name, "Id"):
		return
	}
	if name == "payment.reference" && strings.HasPrefix(value, giftPrefix) {
		s.keep("gift", "reference", value)
	}
	if kept := s.found[name]; value != "" && len(kept) < keptOfName && !slices.Contains(kept, value) {
		s.found[name] = append(kept, value)
	}
}
