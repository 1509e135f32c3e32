package generate

import (
	"fmt"
	"go/format"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// golang writes types.go and operations.go.
func golang(a api) map[string]string {
	w := goTypes{schemas: map[string]schema{}, done: map[string]bool{}}
	for _, s := range a.schemas {
		w.schemas[s.name] = s
	}
	return map[string]string{"types.go": formatted(w.types(a)), "operations.go": formatted(w.operations(a))}
}

func formatted(text string) string {
	out, err := format.Source([]byte(text))
	if err != nil {
		panic(fmt.Sprintf("format what was written for Go: %v\n%s", err, text))
	}
	return string(out)
}

// goTypes writes types. An object inside of another gets a type of its own.
type goTypes struct {
	b       strings.Builder
	schemas map[string]schema
	done    map[string]bool
}

func (w *goTypes) types(a api) string {
	fmt.Fprintf(&w.b, "package causeway\n\nimport \"encoding/json\"\n\n// %s\n", notice)
	for _, s := range a.schemas {
		w.schema(s)
	}
	w.b.WriteString("\n// ErrorCode is the code of an error. A newer gateway may know more.\ntype ErrorCode string\n\n// The codes of errors.\nconst (\n")
	for _, code := range a.codes {
		fmt.Fprintf(&w.b, "Code%s ErrorCode = %q\n", goName(code), code)
	}
	w.b.WriteString(")\n")
	for _, name := range a.events {
		method := strings.TrimSuffix(name, "Event")
		fmt.Fprintf(&w.b, "\n// %[1]s is the data of a %[2]s.\nfunc (e *Event) %[1]s() (*%[2]sData, error) { return dataOf[%[2]sData](e) }\n", method, name)
	}
	return w.b.String()
}

func (w *goTypes) schema(s schema) {
	switch k := s.kind; {
	case len(k.values) > 0:
		fmt.Fprintf(&w.b, "\n%stype %s string\n\n// The values of %s.\nconst (\n", goDoc(s.name, s.doc), s.name, s.name)
		for _, value := range k.values {
			if value != "" {
				fmt.Fprintf(&w.b, "%s%s %s = %q\n", s.name, goName(value), s.name, value)
			}
		}
		w.b.WriteString(")\n")
	case w.object(k):
		w.structure(s.name, s.doc, w.flat(k), s.sent)
	default:
		fmt.Fprintf(&w.b, "\n%stype %s = %s\n", goDoc(s.name, s.doc), s.name, w.text(k, s.name, s.sent, true))
	}
}

// object reports a kind that becomes a struct.
func (w *goTypes) object(k kind) bool {
	switch {
	case len(k.fields)+len(k.all) > 0:
		return true
	case len(k.one) > 0:
		return !slices.ContainsFunc(k.one, func(one kind) bool { return !w.object(one) })
	case k.ref != "":
		return w.object(w.schemas[k.ref].kind)
	}
	return false
}

// flat are the fields of an object: its own, those of all that it extends, and those of the forms that it has. A field
// that one form lacks may be missing.
func (w *goTypes) flat(k kind) []field {
	if k.ref != "" {
		return w.flat(w.schemas[k.ref].kind)
	}
	all := slices.Clone(k.fields)
	add := func(f field) {
		if i := slices.IndexFunc(all, func(o field) bool { return o.name == f.name }); i >= 0 {
			all[i].needed = all[i].needed || f.needed
			return
		}
		all = append(all, f)
	}
	for _, part := range slices.Backward(k.all) { // the last part is the narrowest
		for _, f := range w.flat(part) {
			add(f)
		}
	}
	forms := map[string]int{}
	for _, one := range k.one {
		for _, f := range w.flat(one) {
			if f.needed {
				forms[f.name]++
			}
			f.needed = false
			add(f)
		}
	}
	for i := range all {
		all[i].needed = all[i].needed || len(k.one) > 0 && forms[all[i].name] == len(k.one)
	}
	slices.SortStableFunc(all, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return all
}

func (w *goTypes) structure(name, doc string, fields []field, sent bool) {
	if w.done[name] {
		return
	}
	w.done[name] = true
	var lines strings.Builder
	for _, f := range fields {
		for _, line := range wrapped(strings.ReplaceAll(f.doc, "\n", " "), 105) {
			lines.WriteString("// " + line + "\n")
		}
		tag := f.name
		if sent && !f.needed {
			tag += ",omitzero"
		}
		fmt.Fprintf(&lines, "%s %s `json:%q`\n", goName(f.name), w.text(f.kind, name+goName(f.name), sent, f.needed), tag)
	}
	fmt.Fprintf(&w.b, "\n%stype %s struct {\n%s}\n", goDoc(name, doc), name, lines.String())
}

// text is a type. A value that may be missing is a pointer, unless its zero value says so: a text is empty then, and so
// is an amount of a request, which the API takes as missing.
func (w *goTypes) text(k kind, name string, sent, needed bool) string {
	maybe := func(text string) string {
		if needed && !k.null {
			return text
		}
		return "*" + text
	}
	switch {
	case k.ref != "" && len(w.schemas[k.ref].kind.values) > 0:
		return k.ref
	case w.events(k):
		return maybe("Event")
	case k.ref != "" && w.object(k):
		if w.schemas[k.ref].kind.null {
			return "*" + k.ref
		}
		return maybe(k.ref)
	case k.ref != "":
		return k.ref
	case k.fixed != "":
		return "bool"
	case len(k.values) > 0:
		return "string"
	case w.object(k):
		w.structure(name, "", w.flat(k), sent)
		return maybe(name)
	case len(k.one) > 0 && sent:
		return "Decimal" // a number, or a text that holds one
	case len(k.one) > 0:
		return maybe("Decimal")
	case k.items != nil:
		return "[]" + w.text(*k.items, name, sent, true)
	case k.open && sent:
		return "map[string]any"
	case k.open:
		return "json.RawMessage"
	case slices.Contains(k.scalars, "number") && sent:
		return "Decimal"
	case slices.Contains(k.scalars, "number"):
		return maybe("Decimal")
	case slices.Contains(k.scalars, "integer"):
		return maybe("int64")
	case slices.Contains(k.scalars, "boolean"):
		return maybe("bool")
	}
	return "string"
}

// events reports one of several kinds of events.
func (w *goTypes) events(k kind) bool {
	return len(k.one) > 0 && !slices.ContainsFunc(k.one, func(one kind) bool { return !strings.HasSuffix(one.ref, "Event") })
}

func (w *goTypes) operations(a api) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package causeway\n\nimport (\n\"context\"\n\"iter\"\n\"net/url\"\n\"strconv\"\n\"strings\"\n)\n\n// %s\n", notice)
	for _, o := range a.operations {
		b.WriteString(w.query(o))
		b.WriteString(w.method(o))
	}
	return b.String()
}

// query is the type of the parameters of an operation, and the method that writes them.
func (w *goTypes) query(o operation) string {
	if len(o.query) == 0 {
		return ""
	}
	name := upper(o.id) + "Query"
	var fields, writes strings.Builder
	for _, f := range o.query {
		for _, line := range wrapped(strings.ReplaceAll(f.doc, "\n", " "), 105) {
			fields.WriteString("// " + line + "\n")
		}
		field := goName(f.name)
		kind, set, value := "string", `q.%s != ""`, "q.%s"
		switch {
		case len(f.kind.one) > 0: // one or several
			kind, set, value = "[]string", "len(q.%s) > 0", `strings.Join(q.%s, ",")`
		case slices.Contains(f.kind.scalars, "integer") && f.name == "offset": // 0 is an offset too
			kind, set, value = "*int", "q.%s != nil", "strconv.Itoa(*q.%s)"
		case slices.Contains(f.kind.scalars, "integer"):
			kind, set, value = "int", "q.%s != 0", "strconv.Itoa(q.%s)"
		case slices.Contains(f.kind.scalars, "boolean"):
			kind, set, value = "*bool", "q.%s != nil", "strconv.FormatBool(*q.%s)"
		}
		fmt.Fprintf(&fields, "%s %s\n", field, kind)
		fmt.Fprintf(&writes, "if "+set+" {\nv.Set(%q, "+value+")\n}\n", field, f.name, field)
	}
	return fmt.Sprintf("\n// %[1]s are the parameters of %[2]s.\n// Those that are zero are left out.\ntype %[1]s struct {\n%[3]s}\n\nfunc (q %[1]s) values() url.Values {\nv := url.Values{}\n%[4]sreturn v\n}\n",
		name, upper(o.id), fields.String(), writes.String())
}

func (w *goTypes) method(o operation) string {
	params, parts := []string{"ctx context.Context"}, []string{}
	var path []string
	for _, name := range o.params {
		params, path = append(params, goParam(name)+" string"), append(path, goParam(name))
	}
	if len(path) > 0 {
		parts = append(parts, "path: []string{"+strings.Join(path, ", ")+"}")
	}
	if o.body != nil {
		params, parts = append(params, "body "+o.body.ref), append(parts, "body: body")
	}
	if len(o.query) > 0 {
		params, parts = append(params, "query "+upper(o.id)+"Query"), append(parts, "query: query.values()")
	}
	params = append(params, "opts ...Option")
	request := "request{" + strings.Join(parts, ", ") + "}"
	operation := fmt.Sprintf("operation{%q, %q, %q, %s}", o.method, o.path, o.key, strconv.FormatBool(o.repeatable))
	doc := goDoc(upper(o.id), "calls "+o.method+" "+o.path+": "+strings.TrimSuffix(o.summary, ".")+".\n\n"+o.doc)
	answer := o.answer.ref
	if answer == "" {
		answer = upper(o.id) + "Answer"
	}
	out := fmt.Sprintf("\n%sfunc (c *Client) %s(%s) (*%s, error) {\nvar out %s\nif err := c.call(ctx, %s, %s, opts, &out); err != nil {\nreturn nil, err\n}\nreturn &out, nil\n}\n",
		doc, upper(o.id), strings.Join(params, ", "), answer, answer, operation, request)
	if o.list == nil {
		return out
	}
	item := o.list.item.ref
	switch {
	case w.events(o.list.item):
		item = "Event"
	case item == "":
		item = answer + goName(o.list.items)
	}
	return out + fmt.Sprintf("\n// %s walks through all items of %s, page after page.\n// It ends with the first error.\nfunc (c *Client) %s(%s) iter.Seq2[%s, error] {\nreturn pages[%s](ctx, c, %s, listing{%q, %q, %t}, %s, opts)\n}\n",
		upper(o.iterator()), upper(o.id), upper(o.iterator()), strings.Join(params, ", "), item, item, operation, o.list.in, o.list.items, o.list.empty, request)
}

// goDoc is the comment of a name.
func goDoc(name, text string) string {
	var b strings.Builder
	text = strings.TrimSpace(text)
	if text == "" {
		return "// " + name + " is a part of the API.\n"
	}
	if first, _, _ := strings.Cut(text, " "); first != "calls" {
		text = "is of the API: " + text
	}
	for i, paragraph := range breaks.Split(name+" "+text, -1) {
		if i > 0 {
			b.WriteString("//\n")
		}
		for _, line := range wrapped(paragraph, 110) {
			b.WriteString("// " + line + "\n")
		}
	}
	return b.String()
}

// initials are words that Go writes in capitals.
var initials = []string{"id", "url", "uri", "usd", "api", "ip", "qr"}

// goName is an exported name: transactionUsd is TransactionUSD.
func goName(name string) string {
	var b strings.Builder
	for _, word := range goWords(name) {
		if slices.Contains(initials, strings.ToLower(word)) {
			b.WriteString(strings.ToUpper(word))
			continue
		}
		b.WriteString(upper(word))
	}
	return b.String()
}

// goWords splits a name at its capital letters and marks.
func goWords(name string) (words []string) {
	word := ""
	flush := func() {
		if word != "" {
			words = append(words, word)
		}
		word = ""
	}
	for i, r := range name {
		switch {
		case r == '_' || r == '.' || r == '-' || r == ' ':
			flush()
			continue
		case unicode.IsUpper(r) && i > 0 && word != "" && !unicode.IsUpper(rune(word[len(word)-1])):
			flush()
		}
		word += string(r)
	}
	flush()
	return words
}

// goParam is the name of a parameter.
func goParam(name string) string {
	if slices.Contains(initials, name) {
		return name
	}
	words := goWords(name)
	text := goName(name)
	return strings.ToLower(words[0]) + text[len(words[0]):]
}
