package check

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// narrowed writes each case of a file of tests to a file of its own, beside files of the rules that the case asks about
// and of those that they read, in their groups and in their order. It lists the files of tests.
func narrowed(t *testing.T, test string) []string {
	t.Helper()
	dir := t.TempDir()
	file := load(t, test)
	loaded := map[string]object{}
	for _, name := range file["rule_files"].([]any) {
		loaded[filepath.Base(name.(string))] = load(t, filepath.Join(filepath.Dir(test), name.(string)))
	}
	var all []string
	for i, one := range file["tests"].([]any) {
		wanted := asked(one.(object))
		for widen(loaded, wanted) {
		}
		var rules []any
		for _, base := range slices.Sorted(maps.Keys(loaded)) {
			name := fmt.Sprintf("%d-%s", i, base)
			if groups := only(loaded[base], wanted); len(groups) > 0 {
				save(t, filepath.Join(dir, name), object{"groups": groups})
				rules = append(rules, name)
			}
		}
		if len(rules) == 0 {
			t.Fatalf("look for the rules of case %d of %s: got none, want those of %v", i, test, wanted)
		}
		narrow := object{"rule_files": rules, "evaluation_interval": file["evaluation_interval"], "tests": []any{one}}
		all = append(all, filepath.Join(dir, fmt.Sprintf("%d.yml", i)))
		save(t, all[i], narrow)
	}
	return all
}

// asked are the names in a case's questions.
func asked(one object) map[string]bool {
	wanted := map[string]bool{}
	for _, questions := range []string{"alert_rule_test", "promql_expr_test"} {
		cases, _ := one[questions].([]any)
		for _, c := range cases {
			for _, field := range []string{"alertname", "expr"} {
				add(wanted, c.(object)[field])
			}
		}
	}
	return wanted
}

var metric = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)

// add adds every word of a value, which may be the name of a rule.
func add(names map[string]bool, value any) {
	for _, name := range metric.FindAllString(fmt.Sprint(value), -1) {
		names[name] = true
	}
}

// widen adds the names that wanted rules read, and says whether there are more now.
func widen(files map[string]object, wanted map[string]bool) bool {
	before := len(wanted)
	for _, file := range files {
		for _, group := range only(file, wanted) {
			for _, rule := range group.(object)["rules"].([]any) {
				add(wanted, rule.(object)["expr"])
				add(wanted, rule.(object)["annotations"]) // a template can ask, too
			}
		}
	}
	return len(wanted) > before
}

// only are the groups of a file with the wanted rules.
func only(file object, wanted map[string]bool) []any {
	var groups []any
	for _, group := range file["groups"].([]any) {
		rules := slices.DeleteFunc(slices.Clone(group.(object)["rules"].([]any)), func(rule any) bool {
			alert, _ := rule.(object)["alert"].(string)
			record, _ := rule.(object)["record"].(string)
			return !wanted[alert] && !wanted[record]
		})
		if len(rules) == 0 {
			continue
		}
		narrow := maps.Clone(group.(object))
		narrow["rules"] = rules
		groups = append(groups, narrow)
	}
	return groups
}

func load(t *testing.T, path string) object {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file := object{}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatalf("%s: read it: %v", path, err)
	}
	return file
}

func save(t *testing.T, path string, file object) {
	t.Helper()
	raw, err := yaml.Marshal(file)
	if err == nil {
		err = os.WriteFile(path, raw, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
