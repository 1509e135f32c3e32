package operator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"causeway.internal/libs/language"
	"causeway.internal/services/console/internal/web"
)

// kase is one object with all its members in the API, and its decisions. Its title has the key "case." and the name.
type kase struct {
	Name string
	Path string // of the page
	API  string
	Item string // member of the answer
	Acts []string
}

func cases() []kase {
	return []kase{
		{
			Name: "payment", Path: "/payments/{reference}", API: "/v1/admin/payments/{reference}", Item: "payment",
			Acts: []string{"accept", "retry_payout", "mark_refunded", "refund_address", "refund_ask"},
		},
		{Name: "key", Path: "/keys/{id}", API: "/v1/admin/keys/{id}", Item: "key", Acts: []string{"key_revoke"}},
		{
			Name: "merchant", Path: "/merchants/{merchantId}", API: "/v1/admin/merchants/{merchantId}", Item: "merchant",
			Acts: []string{"merchant_approve", "merchant_suspend", "merchant_resume", "merchant_terms"},
		},
	}
}

// part is a group of facts: the plain members of the object, or of a member that is an object, or of one item of a
// member that is a list.
type part struct {
	Name  string // the member, "" for the object itself
	Facts []cell
}

// casePage is the content of a case.
type casePage struct {
	Title string // key of a text
	Name  string
	Parts []part
	Acts  []button
	Act   bool
}

func (k kase) show(v *web.Visit) error {
	var answer map[string]any
	if err := v.API.Get(v.Context(), filledFrom(v, k.API), nil, &answer); err != nil {
		return err
	}
	object, ok := answer[k.Item].(map[string]any)
	if !ok {
		return fmt.Errorf("the API's answer has no %s", k.Item)
	}
	page := casePage{Title: "case." + k.Name, Act: v.Allows(mayAct), Parts: partsOf(v.Speech(), row(object))}
	page.Name = row(object).text("reference")
	for _, name := range []string{"name", "id", "merchantId"} {
		if page.Name == "" {
			page.Name = row(object).text(name)
		}
	}
	byName := actsByName()
	for _, name := range k.Acts {
		if a := byName[name]; a.fits(object) {
			page.Acts = append(page.Acts, button{"decide." + name, filledFrom(v, a.Path)})
		}
	}
	return v.Render("case", page.Title, page)
}

// partsOf sorts the members of an object: plain members first, then a group for each member that is an object or a list
// of objects.
func partsOf(l *language.Language, of row) []part {
	own := part{}
	var more []part
	for _, name := range slices.Sorted(maps.Keys(of)) {
		switch value := of[name].(type) {
		case nil:
		case map[string]any:
			if p := (part{Name: spoken(l, name), Facts: factsOf(l, value)}); len(p.Facts) > 0 {
				more = append(more, p)
			}
		case []any:
			objects := false
			for _, one := range value {
				if object, ok := one.(map[string]any); ok {
					objects = true
					more = append(more, part{Name: spoken(l, name), Facts: factsOf(l, object)})
				}
			}
			if !objects && len(value) > 0 {
				own.Facts = append(own.Facts, fact(l, name, value))
			}
		default:
			own.Facts = append(own.Facts, fact(l, name, value))
		}
	}
	return append([]part{own}, more...)
}

func factsOf(l *language.Language, of map[string]any) (facts []cell) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if of[name] != nil {
			facts = append(facts, fact(l, name, of[name]))
		}
	}
	return facts
}

// fact shows a member according to its name: times by their ending, and values that people copy as code.
func fact(l *language.Language, name string, value any) cell {
	out := cell{Label: spoken(l, name), Text: textOf(value)}
	switch {
	case strings.HasSuffix(name, "At") || name == "since" || name == "until" || name == "validFrom":
		out.As = when
	case name == "status" || name == "exception" || name == "mode" || name == "type":
		out.As = word
	case strings.HasSuffix(name, "Hash") || strings.HasSuffix(name, "ddress") || name == "id" || name == "reference" || strings.HasSuffix(name, "Key"):
		out.As = code
	}
	return out
}

// spoken is the text of a member of the API. A new member without one is its name in words: createdAt is created at.
func spoken(l *language.Language, name string) string {
	if key := "fact." + name; l.Has(key) {
		return l.Text(key)
	}
	var out strings.Builder
	for _, c := range name {
		if unicode.IsUpper(c) {
			out.WriteByte(' ')
		}
		out.WriteRune(unicode.ToLower(c))
	}
	return out.String()
}
