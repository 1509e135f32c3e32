package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"causeway.internal/libs/fault"
	"causeway.internal/services/console/internal/api"
)

// The hidden fields of every form.
const (
	scopeField = "scope" // the merchant and the mode that the form was made for
	keyField   = "once"  // the Idempotency-Key: a form that is sent twice acts once
)

// Form is the text that a person has typed, with the errors in it.
type Form struct {
	Values   url.Values
	Wrong    map[string]string // text by field
	Problem  string            // text about the whole
	Key      string            // Idempotency-Key
	Restored bool              // shown again after the sign-in
}

// Form returns the form of this page: the sent one; or the one that was typed before the person had to sign in or prove
// their identity; or else the defaults, which may be nil.
func (v *Visit) Form(defaults url.Values) *Form {
	f := &Form{Values: defaults}
	if v.R.Method == http.MethodPost {
		f.Values = v.R.PostForm
	} else if parked := v.console.sessions.Unpark(v.Context(), v.Path()); len(parked) > 0 {
		f.Values, f.Restored = parked, true
	}
	if f.Values == nil {
		f.Values = url.Values{}
	}
	if f.Key = f.Values.Get(keyField); f.Key == "" {
		f.Key = newKey()
	}
	return f
}

// Get is the value of a field without space around it.
func (f *Form) Get(name string) string { return strings.TrimSpace(f.Values.Get(name)) }

// All are the values of a field of several, such as checkboxes.
func (f *Form) All(name string) []string { return f.Values[name] }

// Has reports whether a field has a value, for checkboxes and radio buttons.
func (f *Form) Has(name, value string) bool {
	for _, one := range f.Values[name] {
		if one == value {
			return true
		}
	}
	return false
}

// Err marks a field as wrong.
func (f *Form) Err(name, text string) {
	if f.Wrong == nil {
		f.Wrong = map[string]string{}
	}
	if f.Wrong[name] == "" {
		f.Wrong[name] = text
	}
}

// OK reports whether nothing is wrong.
func (f *Form) OK() bool { return len(f.Wrong) == 0 && f.Problem == "" }

// Need marks the empty ones among some fields and reports whether there was none.
func (v *Visit) Need(f *Form, names ...string) bool {
	for _, name := range names {
		if f.Get(name) == "" {
			f.Err(name, v.T("form.needed"))
		}
	}
	return f.OK()
}

// Refused reports whether an error is a refusal of the typed form, and writes it into the form. members lists members
// of the request with their fields (member, field, member, field); messages about others appear above the form. The
// handler then shows the form again. Any other error is the page's.
func (v *Visit) Refused(f *Form, err error, members ...string) bool {
	var refusal *api.Error
	var own *fault.Error
	switch {
	case errors.As(err, &refusal) && refusal.Status >= 400 && refusal.Status < 500 && refusal.Status != http.StatusUnauthorized:
	case errors.As(err, &own) && own.Kind != fault.Internal:
		f.Problem = own.Message
		return true
	default:
		return false
	}
	var rest []string
	for _, one := range refusal.Fields {
		name := ""
		for i := 0; i+1 < len(members); i += 2 {
			if members[i] == one.Field {
				name = members[i+1]
			}
		}
		if name == "" {
			rest = append(rest, one.Field+": "+one.Message)
			continue
		}
		f.Err(name, one.Message)
	}
	if f.Problem = refusal.Message; len(rest) > 0 {
		f.Problem += " " + strings.Join(rest, "; ")
	}
	return true
}

// Refuse shows a form again, with its errors.
func (v *Visit) Refuse(page, title string, data any) error {
	return v.render(http.StatusUnprocessableEntity, page, title, data)
}

// Pager is the position in a list.
type Pager struct {
	Next  string // address of the next page, "" on the last
	First string // address of the first page, "" on it
	After string // cursor of this page
}

// NewPager reads the cursor of the address and makes the links of the list, with all its filters.
func (v *Visit) NewPager() *Pager {
	p := &Pager{After: v.Query("after")}
	if p.After != "" {
		p.First = v.here("")
	}
	return p
}

// More adds the cursor that the API gave for the next page; "" is the end.
func (v *Visit) More(p *Pager, cursor string) {
	if cursor != "" {
		p.Next = v.here(cursor)
	}
}

// here is this page at another cursor.
func (v *Visit) here(cursor string) string {
	query := v.R.URL.Query()
	query.Del("after")
	if cursor != "" {
		query.Set("after", cursor)
	}
	address := v.R.URL.Path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address
}

// Filters copies some parameters of the address that are not empty: a list's filters, for the query of the API.
func (v *Visit) Filters(names ...string) url.Values {
	query := url.Values{}
	for _, name := range names {
		if value := v.Query(name); value != "" {
			query.Set(name, value)
		}
	}
	return query
}
