package generate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// python writes src/causeway/types.py and src/causeway/_operations.py.
func python(a api) map[string]string {
	return map[string]string{"src/causeway/types.py": pythonTypes(a), "src/causeway/_operations.py": pythonOperations(a)}
}

// pyTypes writes types in the order in which Python must read them: a class after those that it extends.
type pyTypes struct {
	b       strings.Builder
	schemas map[string]schema
	done    map[string]bool
}

func pythonTypes(a api) string {
	w := pyTypes{schemas: map[string]schema{}, done: map[string]bool{}}
	fmt.Fprintf(&w.b, "\"\"\"The types of the API.\n\n%s\n\"\"\"\n\nfrom decimal import Decimal\nfrom typing import Any, Dict, List, Literal, Optional, Sequence, TypedDict, Union\n", notice)
	for _, s := range a.schemas {
		w.schemas[s.name] = s
	}
	for _, s := range a.schemas {
		w.schema(s)
	}
	fmt.Fprintf(&w.b, "\n#: An event that a webhook brings; `type` says which.\nWebhookEvent = Union[%s]\n", strings.Join(a.events, ", "))
	w.b.WriteString("\n#: Codes of errors. A newer gateway may know more.\nErrorCode = Literal[\n")
	for _, code := range a.codes {
		fmt.Fprintf(&w.b, "    %s,\n", strconv.Quote(code))
	}
	w.b.WriteString("]\n")
	return w.b.String()
}

func (w *pyTypes) schema(s schema) {
	if w.done[s.name] {
		return
	}
	w.done[s.name] = true
	for _, part := range s.kind.all {
		if part.ref != "" {
			w.schema(w.schemas[part.ref])
		}
	}
	switch k := s.kind; {
	case k.null && len(k.fields) > 0:
		w.class(s.name+"Value", s.doc, nil, k.fields, s.sent)
		fmt.Fprintf(&w.b, "\n%s = Optional[%sValue]\n", s.name, s.name)
	case len(k.fields) > 0:
		w.class(s.name, s.doc, nil, k.fields, s.sent)
	case len(k.all) > 0:
		var bases []string
		var fields []field
		for _, part := range k.all {
			if part.ref != "" {
				bases = append(bases, part.ref)
			}
			fields = append(fields, part.fields...)
		}
		inherited := w.inherited(s.kind)
		fields = slices.DeleteFunc(fields, func(f field) bool { return inherited[f.name] }) // Python allows no narrower type
		w.class(s.name, s.doc, bases, fields, s.sent)
	default:
		text := w.text(k, s.name, s.sent)
		fmt.Fprintf(&w.b, "\n%s%s = %s\n", pyComment(s.doc), s.name, text)
	}
}

// inherited are the names of the fields of the schemas that a type extends.
func (w *pyTypes) inherited(k kind) map[string]bool {
	names := map[string]bool{}
	for _, part := range k.all {
		base := w.schemas[part.ref].kind
		for _, one := range append(slices.Clone(base.all), base) {
			for _, f := range one.fields {
				names[f.name] = true
			}
		}
		maps.Copy(names, w.inherited(base))
	}
	return names
}

// class writes a TypedDict. Python 3.10 knows required fields by inheritance alone, and a class has no field with the
// name of a keyword.
func (w *pyTypes) class(name, doc string, bases []string, fields []field, sent bool) {
	var needed, optional []string
	for _, f := range fields {
		text := w.text(f.kind, name+upper(f.name), sent)
		if f.needed {
			needed = append(needed, fmt.Sprintf("    %s: %s,\n", strconv.Quote(f.name), strconv.Quote(text)))
			continue
		}
		optional = append(optional, fmt.Sprintf("    %s: %s\n", f.name, strconv.Quote(text)))
	}
	if len(optional)+len(bases) == 0 {
		w.b.WriteString("\n" + pyComment(doc))
		fmt.Fprintf(&w.b, "%s = TypedDict(\"%s\", {\n%s})\n", name, name, strings.Join(needed, ""))
		return
	}
	if len(needed) > 0 {
		fmt.Fprintf(&w.b, "\n_%s = TypedDict(\"_%s\", {\n%s})\n", name, name, strings.Join(needed, ""))
		bases = append(bases, "_"+name)
	}
	if len(bases) == 0 {
		bases = []string{"TypedDict"}
	}
	fmt.Fprintf(&w.b, "\nclass %s(%s, total=False):\n", name, strings.Join(bases, ", "))
	lines := pyDoc("    ", doc)
	w.b.WriteString(strings.Join(lines, "") + strings.Join(optional, ""))
	if len(lines)+len(optional) == 0 {
		w.b.WriteString("    pass\n")
	}
}

// text is a type. Objects inside of others get classes of their own, with the name.
func (w *pyTypes) text(k kind, name string, sent bool) string {
	text := ""
	union := func(kinds []kind) string {
		var all []string
		for i, one := range kinds {
			all = append(all, w.text(one, name+strconv.Itoa(i+1), sent))
		}
		return "Union[" + strings.Join(all, ", ") + "]"
	}
	switch {
	case k.ref != "":
		text = k.ref
		if len(w.schemas[k.ref].kind.fields)+len(w.schemas[k.ref].kind.all) == 0 {
			w.schema(w.schemas[k.ref]) // an alias comes before its use
		}
	case k.fixed != "":
		text = "Literal[" + upper(k.fixed) + "]"
	case len(k.values) > 0:
		var all []string
		for _, value := range k.values {
			all = append(all, strconv.Quote(value))
		}
		text = "Literal[" + strings.Join(all, ", ") + "]"
	case len(k.one) > 0:
		text = union(k.one)
	case k.items != nil && sent:
		text = "Sequence[" + w.text(*k.items, name, sent) + "]"
	case k.items != nil:
		text = "List[" + w.text(*k.items, name, sent) + "]"
	case len(k.fields) > 0:
		w.class(name, "", nil, k.fields, sent)
		text = name
	case k.open:
		text = "Dict[str, Any]"
	case len(k.scalars) == 0:
		return "None"
	default:
		text = pyScalars(k.scalars, sent)
	}
	if k.null {
		text = "Optional[" + text + "]"
	}
	return text
}

func pyScalars(names []string, sent bool) string {
	var all []string
	for _, name := range names {
		switch {
		case name == "integer":
			all = append(all, "int")
		case name == "boolean":
			all = append(all, "bool")
		case name == "number" && sent:
			all = append(all, "Decimal", "int")
		case name == "number":
			all = append(all, "Decimal")
		default:
			all = append(all, "str")
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return "Union[" + strings.Join(all, ", ") + "]"
}

// pyComment is a comment before a name.
func pyComment(text string) string {
	var b strings.Builder
	for i, paragraph := range breaks.Split(strings.TrimSpace(text), -1) {
		if i > 0 {
			b.WriteString("#:\n")
		}
		for _, line := range wrapped(paragraph, 110) {
			b.WriteString("#: " + line + "\n")
		}
	}
	return b.String()
}

// pyDoc is a documentation string.
func pyDoc(indent, text string) []string {
	var lines []string
	for _, paragraph := range breaks.Split(strings.TrimSpace(text), -1) {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		if strings.HasPrefix(paragraph, "|") || strings.HasPrefix(paragraph, "* ") {
			lines = append(lines, strings.Split(paragraph, "\n")...)
			continue
		}
		lines = append(lines, wrapped(strings.ReplaceAll(paragraph, `\`, `\\`), 110-len(indent))...)
	}
	if len(lines) == 0 {
		return nil
	}
	out := []string{indent + `"""` + lines[0]}
	for _, line := range lines[1:] {
		out = append(out, strings.TrimRight("\n"+indent+line, " "))
	}
	if len(lines) > 1 {
		return append(out, "\n"+indent+"\"\"\"\n")
	}
	return append(out, "\"\"\"\n")
}

func pythonOperations(a api) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\"\"\"The operations of the API.\n\n%s\n\"\"\"\n\nfrom abc import ABC, abstractmethod\nfrom typing import Any, Iterator, Literal, Optional, Sequence, Union\n\nfrom . import types as t\nfrom ._request import Listing, Operation, Request\n", notice)
	b.WriteString("\n#: `object.field` of each whole number of an answer. Every other number is a Decimal.\nINTEGERS = frozenset((\n")
	for _, name := range a.integers {
		fmt.Fprintf(&b, "    %s,\n", strconv.Quote(name))
	}
	b.WriteString("))\n\n\nclass Operations(ABC):\n    \"\"\"A method for each operation of the API.\"\"\"\n\n")
	b.WriteString("    @abstractmethod\n    def _call(self, operation: Operation, request: Request) -> Any: ...\n\n")
	b.WriteString("    @abstractmethod\n    def _pages(self, operation: Operation, listing: Listing, request: Request) -> Iterator[Any]: ...\n")
	for _, o := range a.operations {
		b.WriteString(pyMethod(o))
	}
	return b.String()
}

func pyMethod(o operation) string {
	params, parts, query := []string{"self"}, []string{}, []string{}
	path := []string{}
	for _, name := range o.params {
		params, path = append(params, pyName(name)+": str"), append(path, fmt.Sprintf("%q: %s", name, pyName(name)))
	}
	if len(path) > 0 {
		parts = append(parts, "path={"+strings.Join(path, ", ")+"}")
	}
	if o.body != nil {
		mark := ""
		if !o.bodyNeeded {
			mark = " = {}"
		}
		params, parts = append(params, "body: t."+o.body.ref+mark), append(parts, "body=body")
	}
	params = append(params, "*")
	for _, f := range o.query {
		kind := pyOutside(f.kind)
		if f.needed {
			params = append(params, pyName(f.name)+": "+kind)
		} else {
			params = append(params, pyName(f.name)+": Optional["+kind+"] = None")
		}
		query = append(query, fmt.Sprintf("%q: %s", f.name, pyName(f.name)))
	}
	if len(query) > 0 {
		parts = append(parts, "query={"+strings.Join(query, ", ")+"}")
	}
	if o.method == "POST" && o.repeatable {
		params, parts = append(params, "idempotency_key: Optional[str] = None"), append(parts, "idempotency_key=idempotency_key")
	}
	params = append(params, "timeout: Optional[float] = None", "max_retries: Optional[int] = None")
	parts = append(parts, "timeout=timeout", "max_retries=max_retries")
	operation := fmt.Sprintf("Operation(%q, %q, %q, %s)", o.method, o.path, o.key, upper(strconv.FormatBool(o.repeatable)))
	request := "Request(" + strings.Join(parts, ", ") + ")"
	doc := strings.Join(pyDoc("        ", strings.TrimSuffix(o.summary, ".")+".\n\n"+o.doc+"\n\n"+o.method+" "+o.path), "")
	out := fmt.Sprintf("\n    def %s(%s) -> %s:\n%s        answer: %s = self._call(%s, %s)\n        return answer\n",
		pyName(o.id), strings.Join(params, ", "), pyOutside(o.answer), doc, pyOutside(o.answer), operation, request)
	if o.list == nil {
		return out
	}
	return out + fmt.Sprintf("\n    def %s(%s) -> Iterator[%s]:\n        \"\"\"All items of `%s`, page after page.\"\"\"\n        return self._pages(%s, Listing(%q, %q, %s), %s)\n",
		pyName(o.iterator()), strings.Join(params, ", "), pyOutside(o.list.item), pyName(o.id), operation, o.list.in, o.list.items, upper(strconv.FormatBool(o.list.empty)), request)
}

// pyOutside is a type of a parameter or an answer, where names of types have a prefix.
func pyOutside(k kind) string {
	w := pyTypes{schemas: map[string]schema{}, done: map[string]bool{}}
	switch {
	case k.ref != "":
		return "t." + k.ref
	case len(k.one) > 0:
		var all []string
		for _, one := range k.one {
			all = append(all, pyOutside(one))
		}
		return "Union[" + strings.Join(all, ", ") + "]"
	case k.items != nil:
		return "Sequence[" + pyOutside(*k.items) + "]"
	case len(k.fields) > 0:
		return "Any" // an object that only one list holds has a type inside of its answer's
	}
	return w.text(k, "", true)
}

var pyWords = []string{"from", "type", "id"}

// pyName is a name as Python writes it.
func pyName(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	if text := b.String(); !slices.Contains(pyWords, text) {
		return text
	}
	return b.String() + "_"
}
