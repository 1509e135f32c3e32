// Package translations holds the files of texts of pages to what every language owes.
package translations

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"causeway.internal/libs/language"
)

var parameters = regexp.MustCompile(`\{[a-z]+\}`)

// Whole fails unless every language has every text, with the same parameters, in the plural forms of its own grammar,
// and in its own words. same are, by language, the keys of texts that are the same word in English, or hold no word;
// one that ends with a dot names all keys that begin so.
func Whole(t *testing.T, all language.List, same map[string]string) {
	t.Helper()
	english := all[0].Texts()
	for _, l := range all {
		plurals := categories(l)
		for key, p := range l.Texts() {
			en, known := english[key]
			if !known {
				t.Errorf("%s has the text %s, which English does not have", l.Code, key)
			}
			wanted := parameters.FindAllString(en["other"], -1)
			if (slices.Contains(wanted, "{count}") && len(en) > 1) != (len(p) > 1) && len(plurals) > 1 {
				t.Errorf("%s of %s: %d plural forms, where English has %d", key, l.Code, len(p), len(en))
			}
			for form, s := range p {
				if len(p) > 1 && !slices.Contains(plurals, form) {
					t.Errorf("%s of %s has the plural form %s, which the language does not have", key, l.Code, form)
				}
				if flaw := flawOf(form, s, wanted); flaw != "" {
					t.Errorf("%s of %s %s", key, l.Code, flaw)
				}
			}
			if len(p) > 1 && len(p) != len(plurals) {
				t.Errorf("%s of %s has %d plural forms, want %v", key, l.Code, len(p), plurals)
			}
			if l != all[0] && p["other"] == en["other"] && !excepted(same[l.Code], key) {
				t.Errorf("%s of %s is English: %q", key, l.Code, p["other"])
			}
		}
		for key := range english {
			if !l.Has(key) {
				t.Errorf("%s lacks the text %s", l.Code, key)
			}
		}
	}
}

// categories are the plural categories that a language has for whole numbers.
func categories(l *language.Language) []string {
	out := []string{"other"}
	for n := range int64(1000) {
		if form := l.Category(n); !slices.Contains(out, form) {
			out = append(out, form)
		}
	}
	return out
}

// flawOf says what is wrong with one form of a text, "" where nothing is.
func flawOf(form, s string, wanted []string) string {
	got := parameters.FindAllString(s, -1)
	want := slices.Clone(wanted)
	if form == "one" || form == "two" { // a language may have a word for these
		want = slices.DeleteFunc(want, func(s string) bool { return s == "{count}" && !slices.Contains(got, s) })
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(slices.Compact(got), slices.Compact(want)) {
		return fmt.Sprintf("has the parameters %v, English %v", got, want)
	}
	if strings.TrimSpace(s) != s || s == "" {
		return fmt.Sprintf("is %q: empty, or with space around it", s)
	}
	return ""
}

func excepted(same, key string) bool {
	return slices.ContainsFunc(strings.Fields(same), func(one string) bool {
		return one == key || strings.HasSuffix(one, ".") && strings.HasPrefix(key, one)
	})
}

// Script fails if a language of another script holds Latin letters other than those of some names and of terms that
// stay as they are.
func Script(t *testing.T, all language.List, names ...string) {
	t.Helper()
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // no name is cut by a shorter one
	for _, l := range all {
		if l.Direction() != "rtl" {
			continue
		}
		for key, p := range l.Texts() {
			if key == "direction" || key == "language.code" {
				continue
			}
			for _, s := range p {
				plain := parameters.ReplaceAllString(s, "")
				for _, name := range names {
					plain = strings.ReplaceAll(plain, name, "")
				}
				if i := strings.IndexFunc(plain, func(r rune) bool { return unicode.Is(unicode.Latin, r) }); i >= 0 {
					t.Errorf("%s of %s holds Latin letters: %q", key, l.Code, s)
				}
			}
		}
	}
}
