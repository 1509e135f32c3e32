package generate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// php writes src/Types.php and src/Operations.php. Answers are arrays; their shapes are types for PHPStan, Psalm and
// editors, because PHP has none for arrays.
func php(a api) map[string]string {
	return map[string]string{"src/Types.php": phpTypes(a), "src/Operations.php": phpOperations(a)}
}

const phpHead = "<?php\n\n// " + notice + "\n\ndeclare(strict_types=1);\n\nnamespace Causeway;\n"

func phpTypes(a api) string {
	var b strings.Builder
	b.WriteString(phpHead + "\n/**\n * The types of the API: import one with `@phpstan-import-type Payment from Types`.\n *\n")
	for _, s := range a.schemas {
		fmt.Fprintf(&b, " * @phpstan-type %s %s\n", s.name, phpKind(s.kind, s.sent))
	}
	fmt.Fprintf(&b, " * @phpstan-type WebhookEvent %s\n", strings.Join(a.events, "|"))
	var codes []string
	for _, code := range a.codes {
		codes = append(codes, phpText(code))
	}
	fmt.Fprintf(&b, " * @phpstan-type ErrorCode %s\n */\nfinal class Types\n{\n", strings.Join(codes, "|"))
	b.WriteString("    /** `object.field` of each whole number of an answer. Every other number is a Decimal. */\n    public const INTEGERS = [\n")
	for _, name := range a.integers {
		fmt.Fprintf(&b, "        %s => true,\n", phpText(name))
	}
	b.WriteString("    ];\n}\n")
	return b.String()
}

func phpOperations(a api) string {
	var b strings.Builder
	b.WriteString(phpHead + "\n/**\n * A method for each operation of the API.\n *\n")
	seen := map[string]bool{}
	for _, o := range a.operations {
		kinds := []kind{o.answer}
		if o.body != nil {
			kinds = append(kinds, *o.body)
		}
		if o.list != nil {
			kinds = append(kinds, o.list.item)
		}
		for _, f := range o.query {
			kinds = append(kinds, f.kind)
		}
		for _, k := range kinds {
			for _, one := range append(k.one, k) {
				if one.ref != "" && !seen[one.ref] {
					seen[one.ref] = true
					fmt.Fprintf(&b, " * @phpstan-import-type %s from Types\n", one.ref)
				}
			}
		}
	}
	b.WriteString(" */\nabstract class Operations\n{\n")
	b.WriteString("    /**\n     * @param array<string, string> $path\n     * @param array<string, mixed> $query\n     * @param array<string, mixed>|null $body\n     * @return array<string, mixed>\n     */\n")
	b.WriteString("    abstract protected function call(Operation $operation, array $path, array $query, ?array $body, ?RequestOptions $options): array;\n\n")
	b.WriteString("    /**\n     * @param array<string, string> $path\n     * @param array<string, mixed> $query\n     * @return \\Generator<int, mixed>\n     */\n")
	b.WriteString("    abstract protected function pages(Operation $operation, string $in, string $items, bool $offset, array $path, array $query, ?RequestOptions $options): \\Generator;\n")
	for _, o := range a.operations {
		b.WriteString(phpMethod(o))
	}
	b.WriteString("}\n")
	return b.String()
}

func phpMethod(o operation) string {
	var params, path, docs []string
	for _, name := range o.params {
		params, path = append(params, "string $"+name), append(path, phpText(name)+" => $"+name)
	}
	body, query := "null", "[]"
	if o.body != nil {
		mark := ""
		if !o.bodyNeeded {
			mark = " = []"
		}
		params, docs, body = append(params, "array $body"+mark), append(docs, "@param "+phpKind(*o.body, true)+" $body"), "$body"
	}
	if len(o.query) > 0 {
		mark := " = []"
		for _, f := range o.query {
			if f.needed {
				mark = ""
			}
		}
		params, docs, query = append(params, "array $query"+mark), append(docs, "@param "+phpKind(kind{fields: o.query}, true)+" $query"), "$query"
	}
	params = append(params, "?RequestOptions $options = null")
	operation := fmt.Sprintf("new Operation(%s, %s, %s, %t)", phpText(o.method), phpText(o.path), phpText(o.key), o.repeatable)
	text := strings.TrimSuffix(o.summary, ".") + ".\n\n" + o.doc + "\n\n" + o.method + " " + o.path + "\n\n"
	out := fmt.Sprintf("\n%s    public function %s(%s): array\n    {\n        return $this->call(%s, [%s], %s, %s, $options);\n    }\n",
		phpDoc(text, append(docs, "@return "+phpKind(o.answer, false))), o.id, strings.Join(params, ", "), operation, strings.Join(path, ", "), query, body)
	if o.list == nil {
		return out
	}
	return out + fmt.Sprintf("\n%s    public function %s(%s): \\Generator\n    {\n        return $this->pages(%s, %s, %s, %t, [%s], %s, $options);\n    }\n",
		phpDoc("All items of "+o.id+", page after page.", append(docs, "@return \\Generator<int, "+phpKind(o.list.item, false)+">")),
		o.iterator(), strings.Join(params, ", "), operation, phpText(o.list.in), phpText(o.list.items), o.list.empty, strings.Join(path, ", "), query)
}

// phpDoc is a comment with its tags.
func phpDoc(text string, tags []string) string {
	lines := strings.Split(strings.TrimSuffix(jsdoc("    ", text+"\n\n."), "\n"), "\n")
	lines = lines[:len(lines)-2] // the last paragraph keeps the comment on several lines, and the tags take its place
	for _, tag := range tags {
		lines = append(lines, "     * "+tag)
	}
	return strings.Join(lines, "\n") + "\n     */\n"
}

func phpKind(k kind, sent bool) string {
	var all []string
	switch {
	case k.ref != "":
		all = []string{k.ref}
	case k.fixed != "":
		all = []string{k.fixed}
	case len(k.values) > 0:
		for _, value := range k.values {
			all = append(all, phpText(value))
		}
	case len(k.one) > 0:
		for _, one := range k.one {
			all = append(all, phpKind(one, sent))
		}
	case len(k.all) > 0:
		var parts []string
		for _, one := range k.all {
			parts = append(parts, phpKind(one, sent))
		}
		all = []string{strings.Join(parts, "&")}
	case k.items != nil:
		all = []string{"list<" + phpKind(*k.items, sent) + ">"}
	case len(k.fields) > 0:
		var fields []string
		for _, f := range k.fields {
			mark := "?"
			if f.needed {
				mark = ""
			}
			fields = append(fields, phpField(f.name)+mark+": "+phpKind(f.kind, sent))
		}
		all = []string{"array{" + strings.Join(fields, ", ") + "}"}
	case k.open:
		all = []string{"array<string, mixed>"}
	default:
		for _, scalar := range k.scalars {
			all = append(all, phpScalar(scalar, sent))
		}
	}
	if k.null {
		all = append(all, "null")
	}
	return strings.Join(all, "|")
}

func phpScalar(name string, sent bool) string {
	switch {
	case name == "integer":
		return "int"
	case name == "boolean":
		return "bool"
	case name == "number" && sent:
		return "Decimal|int"
	case name == "number":
		return "Decimal"
	}
	return name
}

var plainName = regexp.MustCompile(`^[a-zA-Z_]+$`)

func phpField(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return phpText(name)
}

func phpText(text string) string {
	return "'" + strings.ReplaceAll(strings.Trim(strconv.Quote(text), `"`), "'", `\'`) + "'"
}
