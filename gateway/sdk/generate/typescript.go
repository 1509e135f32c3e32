package generate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const notice = "Generated from gateway/openapi.yaml by make docs. Do not edit."

// typescript writes src/types.ts and src/operations.ts.
func typescript(a api) map[string]string {
	return map[string]string{"src/types.ts": typescriptTypes(a), "src/operations.ts": typescriptOperations(a)}
}

func typescriptTypes(a api) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s\n\nimport type { Decimal, DecimalInput } from './decimal.js';\n", notice)
	for _, s := range a.schemas {
		b.WriteString("\n" + jsdoc("", s.doc))
		if len(s.kind.fields) > 0 && !s.kind.null {
			fmt.Fprintf(&b, "export interface %s %s\n", s.name, tsObject(s.kind.fields, s.sent, ""))
			continue
		}
		fmt.Fprintf(&b, "export type %s = %s;\n", s.name, ts(s.kind, s.sent, ""))
	}
	fmt.Fprintf(&b, "\n/** An event that a webhook brings; `type` says which. */\nexport type WebhookEvent = %s;\n", strings.Join(a.events, " | "))
	b.WriteString("\n/** Codes of errors. A newer gateway may know more. */\nexport type ErrorCode =\n")
	for _, code := range a.codes {
		fmt.Fprintf(&b, "  | %s\n", tsText(code))
	}
	b.WriteString("  | (string & {});\n")
	for _, o := range a.operations {
		if len(o.query) > 0 {
			fmt.Fprintf(&b, "\n/** Parameters of {@link Operations.%s}. */\nexport interface %sQuery %s\n", o.id, upper(o.id), tsObject(o.query, true, ""))
		}
	}
	return strings.ReplaceAll(b.String(), "{@link Operations.", "{@link Causeway.")
}

func typescriptOperations(a api) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s\n\nimport type * as t from './types.js';\nimport type { Listing, Operation, Request, RequestOptions } from './request.js';\n", notice)
	b.WriteString("\n/** `object.field` of each whole number of an answer. Every other number is a Decimal. */\nexport const integers: ReadonlySet<string> = new Set([\n")
	for _, name := range a.integers {
		fmt.Fprintf(&b, "  %s,\n", tsText(name))
	}
	b.WriteString("]);\n\n/** A method for each operation of the API. */\nexport abstract class Operations {\n")
	b.WriteString("  protected abstract call<T>(operation: Operation, request: Request): Promise<T>;\n")
	b.WriteString("  protected abstract pages<T>(operation: Operation, listing: Listing, request: Request): AsyncGenerator<T, void, undefined>;\n")
	for _, o := range a.operations {
		b.WriteString(tsMethod(o))
	}
	b.WriteString("}\n")
	return b.String()
}

func tsMethod(o operation) string {
	var params, parts []string
	if len(o.params) > 0 {
		parts = append(parts, "path: { "+strings.Join(o.params, ", ")+" }")
	}
	for _, name := range o.params {
		params = append(params, name+": string")
	}
	if o.body != nil {
		kind, mark := tsIn(*o.body, true), ""
		if !o.bodyNeeded {
			mark = " = {}"
		}
		params, parts = append(params, "body: "+kind+mark), append(parts, "body")
	}
	if len(o.query) > 0 {
		mark := " = {}"
		if slices.ContainsFunc(o.query, func(f field) bool { return f.needed }) {
			mark = ""
		}
		params, parts = append(params, "query: t."+upper(o.id)+"Query"+mark), append(parts, "query")
	}
	params, parts = append(params, "options: RequestOptions = {}"), append(parts, "options")
	call := fmt.Sprintf("{ method: '%s', path: '%s', key: '%s', repeatable: %t }", o.method, o.path, o.key, o.repeatable)
	request := "{ " + strings.Join(parts, ", ") + " }"
	doc := jsdoc("  ", strings.TrimSuffix(o.summary, ".")+".\n\n"+o.doc+"\n\n"+o.method+" "+o.path)
	out := fmt.Sprintf("\n%s  %s(%s): Promise<%s> {\n    return this.call(%s, %s);\n  }\n", doc, o.id, strings.Join(params, ", "), tsIn(o.answer, false), call, request)
	if o.list == nil {
		return out
	}
	listing := fmt.Sprintf("{ in: '%s', items: '%s', offset: %t }", o.list.in, o.list.items, o.list.empty)
	return out + fmt.Sprintf("\n  /** All items of {@link %s}, page after page. */\n  %s(%s): AsyncGenerator<%s, void, undefined> {\n    return this.pages(%s, %s, %s);\n  }\n",
		o.id, o.iterator(), strings.Join(params, ", "), tsIn(o.list.item, false), call, listing, request)
}

// tsIn is a type as the file of operations writes it, where names of types have a prefix.
func tsIn(k kind, sent bool) string {
	if k.ref != "" {
		return "t." + k.ref
	}
	if len(k.one) > 0 {
		var all []string
		for _, one := range k.one {
			all = append(all, tsIn(one, sent))
		}
		return strings.Join(all, " | ")
	}
	return ts(k, sent, "  ")
}

func ts(k kind, sent bool, indent string) string {
	var all []string
	switch {
	case k.ref != "":
		all = []string{k.ref}
	case k.fixed != "":
		all = []string{k.fixed}
	case len(k.values) > 0:
		for _, value := range k.values {
			all = append(all, tsText(value))
		}
	case len(k.one) > 0:
		for _, one := range k.one {
			all = append(all, ts(one, sent, indent))
		}
	case len(k.all) > 0:
		var parts []string
		for _, one := range k.all {
			parts = append(parts, ts(one, sent, indent))
		}
		all = []string{strings.Join(parts, " & ")}
	case k.items != nil:
		item := ts(*k.items, sent, indent)
		if strings.Contains(item, " | ") && !strings.HasPrefix(item, "{") {
			item = "(" + item + ")"
		}
		if sent {
			item = "readonly " + item
		}
		all = []string{item + "[]"}
	case len(k.fields) > 0:
		all = []string{tsObject(k.fields, sent, indent)}
	case k.open:
		all = []string{"Record<string, unknown>"}
	default:
		for _, scalar := range k.scalars {
			all = append(all, tsScalar(scalar, sent))
		}
	}
	if k.null {
		all = append(all, "null")
	}
	return strings.Join(all, " | ")
}

func tsScalar(name string, sent bool) string {
	switch {
	case name == "integer":
		return "number"
	case name == "number" && sent:
		return "DecimalInput"
	case name == "number":
		return "Decimal"
	}
	return name
}

func tsObject(fields []field, sent bool, indent string) string {
	var b strings.Builder
	b.WriteString("{\n")
	for _, f := range fields {
		mark := "?"
		if f.needed {
			mark = ""
		}
		kind := ts(f.kind, sent, indent+"  ")
		if !f.needed && sent {
			kind += " | undefined"
		}
		fmt.Fprintf(&b, "%s%s  %s%s: %s;\n", jsdoc(indent+"  ", f.doc), indent, f.name, mark, kind)
	}
	return b.String() + indent + "}"
}

func tsText(text string) string {
	return "'" + strings.ReplaceAll(strings.Trim(strconv.Quote(text), `"`), "'", `\'`) + "'"
}

var breaks = regexp.MustCompile(`\n\s*\n`)

// jsdoc is a comment of its paragraphs.
func jsdoc(indent, text string) string {
	var lines []string
	for _, paragraph := range breaks.Split(strings.TrimSpace(text), -1) {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		if strings.HasPrefix(paragraph, "|") || strings.HasPrefix(paragraph, "* ") { // a table or a list keeps its lines
			lines = append(lines, strings.Split(paragraph, "\n")...)
			continue
		}
		lines = append(lines, wrapped(paragraph, 110-len(indent))...)
	}
	if len(lines) == 0 {
		return ""
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "*/", "* /")
	}
	if len(lines) == 1 {
		return indent + "/** " + lines[0] + " */\n"
	}
	var b strings.Builder
	b.WriteString(indent + "/**\n")
	for _, line := range lines {
		b.WriteString(strings.TrimRight(indent+" * "+line, " ") + "\n")
	}
	return b.String() + indent + " */\n"
}
