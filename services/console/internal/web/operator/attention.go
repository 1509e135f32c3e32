package operator

import (
	"errors"
	"net/url"
	"regexp"

	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/web"
)

// queue is one kind of case that waits for a decision, with its oldest or newest ones on the first page.
type queue struct {
	Title string // key of a text
	Link  string
	Lines []line
	Heads []string
	More  bool
	Shut  bool // the API does not answer
}

// waits are the lists of cases that wait for an operator, in the order of urgency.
var waits = []string{"payments", "payouts", "refunds", "withdrawals", "draws", "holds", "deposits", "differences", "sweeps", "dead", "fraud", "pauses"}

// below are the tables that need somebody.
var below = []table{deadQueues()}

// shown is how many cases of a kind the first page shows.
const shown = 5

func attention(v *web.Visit) error {
	var page struct {
		Queues []queue
		Quiet  bool
		Act    bool
	}
	page.Quiet, page.Act = true, v.Allows(mayAct)
	all := listsByName()
	byName := actsByName()
	for _, name := range waits {
		l := all[name]
		l.Fixed = stuck[name]
		q := queue{Title: "list." + name + ".title", Link: "/" + name}
		rows, next, err := l.read(v, "")
		if shut(err) {
			q.Shut, page.Quiet = true, false
			page.Queues = append(page.Queues, q)
			continue
		}
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			continue
		}
		page.Quiet = false
		q.More = len(rows) > shown || next != ""
		for _, c := range l.Columns {
			q.Heads = append(q.Heads, "col."+c.Name)
		}
		for _, r := range rows[:min(shown, len(rows))] {
			q.Lines = append(q.Lines, lineOf(r, l.Columns, l.acts(r), byName))
		}
		page.Queues = append(page.Queues, q)
	}
	tables, err := shownTables(v, below)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if len(t.Lines) > 0 || t.Shut {
			page.Queues = append(page.Queues, queue{Title: t.Title, Link: "/dead", More: true, Heads: t.Columns, Lines: t.Lines, Shut: t.Shut && len(t.Lines) == 0})
			page.Quiet = false
		}
	}
	return v.Render("attention", "attention.title", page)
}

// attentionVersion changes when something new waits.
func attentionVersion(v *web.Visit) (string, error) {
	var seen []any
	all := listsByName()
	for _, name := range waits {
		l := all[name]
		l.Fixed = stuck[name]
		rows, _, err := l.read(v, "")
		if err != nil && !shut(err) {
			return "", err
		}
		seen = append(seen, rows)
	}
	tables, err := shownTables(v, below)
	if err != nil {
		return "", err
	}
	return versionOf(append(seen, tables)), nil
}

func listsByName() map[string]list {
	out := map[string]list{}
	for _, l := range lists() {
		out[l.Name] = l
	}
	return out
}

// search finds the objects that a text names: a payment by its reference or id, else payments by a hash, an address, a
// payout, the last four digits of an account, or a merchant.
func search(v *web.Visit) error {
	text := v.Query("q")
	if text == "" {
		return v.Render("search", "search.title", searchPage{})
	}
	if number := account.FindString(text); len(number) > ends { // the address of the page keeps no whole number
		return v.Redirect("/search?q=" + number[len(number)-ends:])
	}
	page := searchPage{Text: text}
	var one map[string]any
	err := v.API.Get(v.Context(), api.Path("v1", "admin", "payments", text), nil, &one)
	if err == nil {
		return v.Redirect("/payments/" + url.PathEscape(text))
	}
	if !missing(err) && !refusedText(err) {
		return err
	}
	payments := listsByName()["payments"]
	for _, query := range queriesFor(text) {
		var answer map[string]any
		query.Set("limit", "10")
		err := v.API.Get(v.Context(), payments.API, query, &answer)
		if refusedText(err) || missing(err) {
			continue
		}
		if err != nil {
			return err
		}
		items, _ := answer["payments"].([]any)
		for _, item := range items {
			if object, ok := item.(map[string]any); ok {
				found := line{}
				for _, c := range payments.Columns {
					found.Cells = append(found.Cells, c.of(object))
				}
				page.Lines = append(page.Lines, found)
			}
		}
		if len(page.Lines) > 0 && !account.MatchString(text) {
			break
		}
	}
	for _, c := range payments.Columns {
		page.Columns = append(page.Columns, "col."+c.Name)
	}
	if err := v.API.Get(v.Context(), api.Path("v1", "admin", "merchants", text), nil, &one); err == nil {
		page.Merchant = text
	} else if !missing(err) && !refusedText(err) {
		return err
	}
	return v.Render("search", "search.title", page)
}

// account is an account number, of which the search uses the last digits.
var account = regexp.MustCompile(`^[0-9]{4,20}$`)

const ends = 4

// queriesFor are the queries for payments that a text may name, in order. The last four digits of an account find
// payments of both modes.
func queriesFor(text string) []url.Values {
	if account.MatchString(text) {
		return []url.Values{{"accountEnds": {text}, "mode": {"live"}}, {"accountEnds": {text}, "mode": {"test"}}}
	}
	return []url.Values{{"txHash": {text}}, {"address": {text}}, {"payout": {text}}, {"merchantId": {text}}}
}

type searchPage struct {
	Text     string
	Columns  []string
	Lines    []line
	Merchant string // a merchant of this id
}

// refusedText reports whether the API refused a text for its form.
func refusedText(err error) bool {
	refused, ok := errors.AsType[*api.Error](err)
	return ok && (refused.Status == 400 || refused.Status == 422)
}

// treasury shows the places and the owners of the money of a mode.
func treasury(v *web.Visit) error {
	query := v.Filters("mode", "day")
	if query.Get("mode") == "" {
		query.Set("mode", "live")
	}
	var answer struct{ Treasury row }
	err := v.API.Get(v.Context(), "/v1/admin/treasury", query, &answer)
	if refused, ok := errors.AsType[*api.Error](err); ok && refused.Status == 409 {
		return v.Render("treasury", "treasury.title", treasuryPage{Problem: refused.Message, Filters: treasuryFilters})
	}
	if err != nil {
		return err
	}
	page := treasuryPage{Filters: treasuryFilters, MadeAt: answer.Treasury.text("madeAt")}
	for _, t := range treasuryTables {
		items, _ := answer.Treasury.at(t.From).([]any)
		shown := treasuryTable{Title: "treasury." + t.Name}
		for _, c := range t.Columns {
			shown.Columns = append(shown.Columns, "col."+c.Name)
		}
		for _, item := range items {
			if object, ok := item.(map[string]any); ok {
				one := line{}
				for _, c := range t.Columns {
					one.Cells = append(one.Cells, c.of(object))
				}
				shown.Lines = append(shown.Lines, one)
			}
		}
		page.Tables = append(page.Tables, shown)
	}
	return v.Render("treasury", "treasury.title", page)
}

type treasuryPage struct {
	Problem string
	MadeAt  string
	Filters []filter
	Tables  []treasuryTable
}

type treasuryTable struct {
	Title   string // key of a text
	Columns []string
	Lines   []line
}

var treasuryFilters = []filter{modes, {Name: "day"}}

// treasuryTables are the parts of the report.
var treasuryTables = []struct {
	Name, From string
	Columns    []column
}{
	{"crypto", "crypto", []column{
		{Name: "network", From: "network"},
		{Name: "asset", From: "asset"},
		{Name: "addresses", From: "ledger.depositAddresses"},
		{Name: "stations", From: "ledger.treasuryAndStations"},
		{Name: "on_the_way", From: "onTheWay"},
		{Name: "difference", From: "difference"},
		{Name: "unread", From: "unread", As: word},
		{Name: "at", From: "asOf", As: when},
	}},
	{"floats", "floats", []column{
		{Name: "rail", From: "rail"},
		{Name: "currency", From: "currency"},
		{Name: "ledger", From: "ledger"},
		{Name: "observed", From: "observed"},
		{Name: "on_the_way", From: "onTheWay"},
		{Name: "difference", From: "difference"},
		{Name: "at", From: "asOf", As: when},
	}},
	{"owed", "owed", []column{{Name: "to", From: "to", As: word}, {Name: "name", From: "name"}, {Name: "amount", From: "amount", As: amount, Of: "asset"}}},
	{"positions", "exchange.positions", []column{{Name: "amount", From: "amount", As: amount, Of: "asset"}, {Name: "usd", From: "usd"}}},
	{"own", "own", []column{{Name: "name", From: "name"}, {Name: "amount", From: "amount", As: amount, Of: "asset"}}},
}
