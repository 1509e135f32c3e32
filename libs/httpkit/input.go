package httpkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
)

// nestingMax bounds how deep a body may nest (docs/api-contract.md#validation).
const nestingMax = 32

// Input is a caller's input: path values, query and body. Its readers do not stop at the first fault: each adds a
// problem, so that the caller sees every broken rule in one answer.
type Input struct {
	request  *http.Request
	query    url.Values
	raw      []byte
	body     *Body
	Problems fault.Problems
}

// Path returns the value of a {name} in the route's pattern. Bytes that PostgreSQL cannot compare with a text become
// U+FFFD, which no object has in its name.
func (in *Input) Path(name string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(in.request.PathValue(name), "\uFFFD"), "\x00", "\uFFFD")
}

// Query returns a query parameter, "" when it is absent.
func (in *Input) Query(name string) string {
	if in.query == nil {
		in.query = in.request.URL.Query()
	}
	return in.query.Get(name)
}

// QueryGiven reports whether a query parameter is present, even without a value.
func (in *Input) QueryGiven(name string) bool {
	in.Query(name) // parses
	return in.query.Has(name)
}

// QueryInt reads a whole number between low and high, or the fallback when it is absent or empty.
func (in *Input) QueryInt(name string, fallback, low, high int) int {
	text := in.Query(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		in.Problems.Add(name, "must be a whole number from %d to %d", low, high)
		return fallback
	}
	return n
}

// QueryOneOf reads a query parameter that must be one of the options when it is given.
func (in *Input) QueryOneOf(name string, options ...string) string {
	text := in.Query(name)
	if text != "" && !slices.Contains(options, text) {
		in.Problems.Add(name, "must be one of %s", strings.Join(options, ", "))
		return ""
	}
	return text
}

// QuerySomeOf reads the options that a query parameter lists, separated by commas, each once.
func (in *Input) QuerySomeOf(name string, options ...string) []string {
	text := in.Query(name)
	if text == "" {
		return nil
	}
	var some []string
	for one := range strings.SplitSeq(text, ",") {
		if !slices.Contains(options, one) {
			in.Problems.Add(name, "must be one or several, separated by commas, of %s", strings.Join(options, ", "))
			return nil
		}
		if !slices.Contains(some, one) {
			some = append(some, one)
		}
	}
	return some
}

// QueryText reads a query parameter of at most limit characters, which PostgreSQL can compare with a text.
func (in *Input) QueryText(name string, limit int) string {
	text := in.Query(name)
	if utf8.RuneCountInString(text) > limit || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		in.Problems.Add(name, "must be a text of at most %d characters without NUL characters", limit)
		return ""
	}
	return text
}

// Deferred moves the problems of decoding out of the input, so that the use case adds its own and the caller gets all
// of them at once.
func (in *Input) Deferred() fault.Problems {
	found := in.Problems
	in.Problems = fault.Problems{}
	return found
}

// Raw returns the body as it came, for a signature over its bytes.
func (in *Input) Raw() []byte { return in.raw }

// Header returns the request's headers. The gateway forwards a caller's headers on routes that need them, and otherwise
// only its own.
func (in *Input) Header() http.Header { return in.request.Header }

// Body returns the request's JSON object; an absent body reads as an empty object.
func (in *Input) Body() *Body { return in.body }

// Body is a JSON object whose members are read one by one. Unknown members are ignored; null means not supplied.
type Body struct {
	members  map[string]json.RawMessage
	prefix   string
	problems *fault.Problems
}

var (
	errNotJSON   = fault.New(fault.Invalid, "invalid_json", "The body is not valid JSON.")
	errNotObject = fault.New(fault.Invalid, "invalid_json", "The body must be a JSON object.")
	errTooDeep   = fault.New(fault.Invalid, "invalid_json", "The body nests deeper than %d levels.", nestingMax)
)

// parseBody checks a whole body once (validity, depth, duplicate members) before any member is read.
func parseBody(raw []byte, problems *fault.Problems) (*Body, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return &Body{problems: problems}, nil
	}
	if !depthWithin(raw, nestingMax) {
		return nil, errTooDeep
	}
	if !json.Valid(raw) || !utf8.Valid(raw) {
		return nil, errNotJSON
	}
	if raw[0] != '{' {
		return nil, errNotObject
	}
	members, duplicate := split(raw)
	if duplicate != "" {
		twice := fault.New(fault.Invalid, "invalid_json", "The body has the member %q twice.", duplicate)
		twice.Fields = []fault.Field{{Field: duplicate, Message: "must not be sent twice"}}
		return nil, twice
	}
	return &Body{members: members, problems: problems}, nil
}

// depthWithin counts brackets outside strings. It runs before the parser, so that a hostile body costs one pass.
func depthWithin(raw []byte, limit int) bool {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}

// membersHint bounds the memory for an object's members before they are read; a hostile body has many commas.
const membersHint = 16

// split splits a valid JSON object into its members without decoding their values, and returns a duplicate if there is
// one.
func split(raw []byte) (members map[string]json.RawMessage, duplicate string) {
	members = make(map[string]json.RawMessage, min(bytes.Count(raw, []byte{','})+1, membersHint))
	i := 1
	for {
		if i = skipSpace(raw, i); raw[i] == '}' {
			return members, duplicate
		}
		if raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
		end := valueEnd(raw, i)
		name := text(raw[i:end])
		i = skipSpace(raw, skipSpace(raw, end)+1) // after the colon
		end = valueEnd(raw, i)
		if _, ok := members[name]; ok && duplicate == "" {
			duplicate = name
		}
		members[name] = raw[i:end]
		i = end
	}
}

// text reads a valid JSON string.
func text(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // valid: parseBody has checked the whole body
	return s
}

func skipSpace(raw []byte, i int) int {
	for raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r' {
		i++
	}
	return i
}

// valueEnd returns the index after the JSON value that starts at i.
func valueEnd(raw []byte, i int) int {
	depth, inString := 0, false
	for ; i < len(raw); i++ {
		c := raw[i]
		if inString {
			if c == '\\' {
				i++
			} else if c == '"' {
				if inString = false; depth == 0 {
					return i + 1
				}
			}
			continue
		}
		switch c {
		case '"':
			inString = true
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

func (b *Body) path(name string) string { return b.prefix + name }

func (b *Body) get(name string) (json.RawMessage, bool) {
	raw, ok := b.members[name]
	return raw, ok && string(raw) != "null"
}

// Has reports whether a member was sent with any value but null or the empty string.
func (b *Body) Has(name string) bool {
	raw, ok := b.get(name)
	return ok && string(raw) != `""`
}

// Problem notes a broken rule of a member of this object.
func (b *Body) Problem(name, format string, args ...any) {
	b.problems.Add(b.path(name), format, args...)
}

// Text reads an optional string of at most limit characters; "" means not supplied.
func (b *Body) Text(name string, limit int) string {
	raw, ok := b.get(name)
	if !ok {
		return ""
	}
	if raw[0] != '"' {
		b.Problem(name, "must be a string")
		return ""
	}
	s := text(raw)
	switch {
	case strings.ContainsRune(s, 0):
		b.Problem(name, "must not contain a NUL character")
	case utf8.RuneCountInString(s) > limit:
		b.Problem(name, "must have at most %d characters", limit)
	default:
		return s
	}
	return ""
}

// RequiredText reads a string that must be present and not empty.
func (b *Body) RequiredText(name string, limit int) string {
	s := b.Text(name, limit)
	if s == "" {
		b.Problem(name, "is required")
	}
	return s
}

// Number reads an optional JSON number exactly; ok is false when it was not supplied or is not a number.
func (b *Body) Number(name string) (d decimal.Decimal, ok bool) {
	raw, ok := b.get(name)
	if !ok {
		return decimal.Decimal{}, false
	}
	d, err := money.Parse(string(raw))
	if err != nil {
		b.Problem(name, "%s", err.Error())
		return decimal.Decimal{}, false
	}
	return d, true
}

// NumberOrText reads a JSON number or a string that holds one: only the sandbox amount takes both
// (docs/api-contract.md#numbers).
func (b *Body) NumberOrText(name string) (d decimal.Decimal, ok bool) {
	raw, present := b.get(name)
	if !present || string(raw) == `""` {
		return decimal.Decimal{}, false
	}
	if raw[0] == '"' {
		raw = json.RawMessage(text(raw))
	}
	d, err := money.Parse(string(raw))
	if err != nil {
		b.Problem(name, "%s", err.Error())
		return decimal.Decimal{}, false
	}
	return d, true
}

// Int reads an optional whole number between low and high.
func (b *Body) Int(name string, low, high int64) (n int64, ok bool) {
	d, ok := b.Number(name)
	if !ok {
		return 0, false
	}
	if !d.IsInteger() || d.LessThan(decimal.NewFromInt(low)) || d.GreaterThan(decimal.NewFromInt(high)) {
		b.Problem(name, "must be a whole number from %d to %d", low, high)
		return 0, false
	}
	return d.IntPart(), true
}

// Object reads an optional nested object; its problems carry the path ("receiver.bankCode"). It returns nil when the
// member is missing or is no object.
func (b *Body) Object(name string) *Body {
	raw, ok := b.get(name)
	if !ok {
		return nil
	}
	if raw[0] != '{' {
		b.Problem(name, "must be an object")
		return nil
	}
	return b.inner(name, raw)
}

func (b *Body) inner(name string, raw json.RawMessage) *Body {
	members, duplicate := split(raw)
	inner := &Body{members: members, prefix: b.path(name) + ".", problems: b.problems}
	if duplicate != "" {
		inner.Problem(duplicate, "must not be sent twice") // either value could be the account number that is paid
	}
	return inner
}

// Objects reads an optional array of objects, whose problems carry the path ("tiers[0].upTo"). It returns nil when the
// member is missing or is no such array.
func (b *Body) Objects(name string, countMax int) []*Body {
	raw, ok := b.get(name)
	if !ok {
		return nil
	}
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		b.Problem(name, "must be an array of objects")
		return nil
	}
	if len(items) > countMax {
		b.Problem(name, "must have at most %d items", countMax)
		return nil
	}
	out := make([]*Body, 0, len(items))
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", name, i)
		if item[0] != '{' {
			b.Problem(at, "must be an object")
			return nil
		}
		out = append(out, b.inner(at, item))
	}
	return out
}

// RawObject reads an optional object as its bytes, for data that is kept but not interpreted (metadata). It bounds the
// size and refuses NUL characters, which PostgreSQL cannot store in text.
func (b *Body) RawObject(name string, bytesMax int) json.RawMessage {
	raw, ok := b.get(name)
	if !ok {
		return nil
	}
	switch {
	case raw[0] != '{':
		b.Problem(name, "must be an object")
	case len(raw) > bytesMax:
		b.Problem(name, "must be at most %d bytes", bytesMax)
	case bytes.Contains(bytes.ReplaceAll(raw, []byte(`\\`), nil), []byte(`\u0000`)):
		b.Problem(name, "must not contain a NUL character")
	default:
		return bytes.Clone(raw)
	}
	return nil
}

// Texts reads an optional array of strings.
func (b *Body) Texts(name string, countMax, limit int) []string {
	raw, ok := b.get(name)
	if !ok {
		return nil
	}
	var items []string
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		b.Problem(name, "must be an array of strings")
		return nil
	}
	if len(items) > countMax {
		b.Problem(name, "must have at most %d items", countMax)
		return nil
	}
	for i, s := range items {
		if s == "" || utf8.RuneCountInString(s) > limit || strings.ContainsRune(s, 0) {
			b.Problem(fmt.Sprintf("%s[%d]", name, i), "must have 1 to %d characters", limit)
		}
	}
	return items
}
