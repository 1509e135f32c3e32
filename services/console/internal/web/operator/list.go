package operator

import (
	"encoding/json"
	"errors"
	"hash/fnv"
	"math/big"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/web"
)

// The ways to show a value of the API.
const (
	plain  = ""
	code   = "code"
	when   = "time"
	amount = "money" // of the currency in the member Of
	word   = "word"  // a value with a text of its own under Words
	share  = "share" // of one, in percent
)

// column is a member of a row, and the way to show it. Its label is the text of "col." and the name.
type column struct {
	Name string // of the label
	From string // the member; members of members follow a dot
	As   string
	Of   string // with amount: the member that names the currency
	To   string // address of the row's case, with {member}; "" for no link
	Says string // a value that is the same in each row, in place of a member's
	Made func(r row) string
}

// list is a list of the API as a page. Its texts have the keys "list.NAME.title", ".text" and ".none".
type list struct {
	Name    string // of the page
	API     string // path of the API
	Items   string // member of the answer that holds the rows
	Columns []column
	Filters []filter
	Rows    []string // names of acts on a row
	Heads   []string // names of acts that need no row
	Fixed   url.Values
	Menu    bool
	Live    bool
	Whole   bool             // the API answers with all rows
	Object  string           // member that names the object of the rows' acts, where it is not id
	Open    func(r row) bool // whether a row has acts at all; nil is every row
	Tables  []table          // below the list
}

// filter is a parameter of the list. Its label is the text of "filter." and the name.
type filter struct {
	Name    string
	Options []string
}

// row is a decoded row of the API.
type row map[string]any

// at is a member of a row, or of a member of it.
func (r row) at(member string) any {
	var value any = map[string]any(r)
	for name := range strings.SplitSeq(member, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[name]
	}
	return value
}

// text is a member as text, "" for none.
func (r row) text(member string) string { return textOf(r.at(member)) }

func textOf(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case []any:
		parts := make([]string, 0, len(v))
		for _, one := range v {
			parts = append(parts, textOf(one))
		}
		return strings.Join(parts, ", ")
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(raw)
}

// filled fills the {members} of an address with those of the row, escaped; ok is false if one is missing.
func (r row) filled(address string) (out string, ok bool) {
	ok = true
	path, query, asks := strings.Cut(address, "?")
	fill := func(text string, escape func(string) string, separator string) string {
		parts := strings.Split(text, separator)
		for i, part := range parts {
			name, value, named := strings.Cut(part, "=")
			if !named {
				name, value = "", part
			}
			if member, braced := strings.CutPrefix(value, "{"); braced {
				filled := r.text(strings.TrimSuffix(member, "}"))
				ok = ok && filled != ""
				parts[i] = escape(filled)
				if named {
					parts[i] = name + "=" + parts[i]
				}
			}
		}
		return strings.Join(parts, separator)
	}
	out = fill(path, url.PathEscape, "/")
	if asks {
		out += "?" + fill(query, url.QueryEscape, "&")
	}
	return out, ok
}

// cell is a value as a template shows it.
type cell struct {
	Label    string // key of a text
	As       string
	Text     string
	Currency string
	Link     string
}

// line is a row as a template shows it.
type line struct {
	Cells []cell
	Acts  []button
}

// button leads to the page of an act.
type button struct {
	Name string // key of a text
	Link string
}

func (c column) of(r row) cell {
	out := cell{Label: "col." + c.Name, As: c.As, Text: r.text(c.From)}
	switch {
	case c.Says != "":
		out.Text = c.Says
	case c.Made != nil:
		out.Text = c.Made(r)
	}
	if c.As == share {
		if of, ok := new(big.Rat).SetString(out.Text); ok {
			out.Text = of.Mul(of, big.NewRat(100, 1)).FloatString(1) + " %"
		}
	}
	if c.As == amount {
		if out.Currency = r.text(c.Of); out.Text == "" {
			out.As = plain
		}
	}
	if c.To != "" {
		if to, ok := r.filled(c.To); ok {
			out.Link = to
		}
	}
	return out
}

// listPage is the content of a list's page.
type listPage struct {
	Title, Text, None string // keys of texts
	Columns           []string
	Lines             []line
	Filters           []filter
	Heads             []button
	Pager             *web.Pager
	Act               bool // the operator may act
	Acts              bool // and a row may have acts
	Shut              bool // the service of the list does not answer, or has no such list yet
	Tables            []shownTable
}

func (l list) query(v *web.Visit, after string) url.Values {
	names := make([]string, 0, len(l.Filters))
	for _, f := range l.Filters {
		names = append(names, f.Name)
	}
	query := v.Filters(names...)
	for name, values := range l.Fixed {
		if query.Get(name) == "" {
			query[name] = values
		}
	}
	if !l.Whole {
		query.Set("limit", "25")
	}
	if after != "" {
		query.Set("cursor", after)
	}
	return query
}

func (l list) read(v *web.Visit, after string) (rows []row, next string, err error) {
	var answer map[string]any
	if err := v.API.Get(v.Context(), l.API, l.query(v, after), &answer); err != nil {
		return nil, "", err
	}
	items, _ := row(answer).at(l.Items).([]any)
	for _, one := range items {
		if object, ok := one.(map[string]any); ok {
			if l.Object != "" {
				object["id"] = object[l.Object]
			}
			rows = append(rows, object)
		}
	}
	return rows, row(answer).text("pagination.nextCursor"), nil
}

// acts names the acts that a row may have.
func (l list) acts(r row) []string {
	if l.Open != nil && !l.Open(r) {
		return nil
	}
	return l.Rows
}

func (l list) show(v *web.Visit) error {
	page := listPage{
		Title: "list." + l.Name + ".title", Text: "list." + l.Name + ".text", None: "list." + l.Name + ".none", Filters: l.Filters, Pager: v.NewPager(),
		Act: v.Allows(mayAct),
	}
	rows, next, err := l.read(v, page.Pager.After)
	if page.Shut = shut(err); err != nil && !page.Shut {
		return err
	}
	page.Acts = page.Act && len(l.Rows) > 0
	v.More(page.Pager, next)
	for _, c := range l.Columns {
		page.Columns = append(page.Columns, "col."+c.Name)
	}
	byName := actsByName()
	for _, r := range rows {
		page.Lines = append(page.Lines, lineOf(r, l.Columns, l.acts(r), byName))
	}
	for _, name := range l.Heads {
		page.Heads = append(page.Heads, button{"decide." + name, byName[name].Path})
	}
	if page.Tables, err = shownTables(v, l.Tables); err != nil {
		return err
	}
	return v.Render("list", page.Title, page)
}

// version changes when the first page of the list does, or a table below it.
func (l list) version(v *web.Visit) (string, error) {
	rows, _, err := l.read(v, "")
	if err != nil && !shut(err) {
		return "", err
	}
	tables, err := shownTables(v, l.Tables)
	if err != nil {
		return "", err
	}
	return versionOf([]any{rows, tables}), nil
}

func versionOf(of any) string {
	raw, err := json.Marshal(of)
	if err != nil {
		return ""
	}
	sum := fnv.New64a()
	_, _ = sum.Write(raw) // never fails
	return strconv.FormatUint(sum.Sum64(), 36)
}

// shut reports whether a service does not answer, or is of a release without the route.
func shut(err error) bool {
	refused, ok := errors.AsType[*api.Error](err)
	return ok && (refused.Status >= http.StatusInternalServerError || refused.Code == "route_not_found")
}

// missing reports whether the API has no such thing.
func missing(err error) bool {
	refused, ok := errors.AsType[*api.Error](err)
	return ok && refused.Status == http.StatusNotFound
}
