package operator

import (
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/web"
)

// board is a page of several tables, each of which the API answers in one piece. Its texts have the keys
// "board.NAME.title" and ".text".
type board struct {
	Name   string
	Tables []table
	Links  []string // names of lists that say more
}

// table is a part of a board. Its title has the key "table." and the name.
type table struct {
	Name    string
	API     string
	Also    []string // further paths of the API with such rows
	Query   url.Values
	Once    string           // a member whose value only the first row with it shows: later rows with the same value are left out
	Items   string           // member of the answer that holds the rows
	Each    string           // a member of each row that is a list: its items become the rows, with the row's other members
	Fits    func(r row) bool // whether a row is shown; nil is every row
	Columns []column
	Rows    []string // names of acts on a row
	Text    string   // key of a text; "" is none
}

// shownTable is a table as the template shows it.
type shownTable struct {
	Title   string
	Text    string
	Columns []string
	Lines   []line
	Acts    bool
	Shut    bool
}

type boardPage struct {
	Title, Text string
	Tables      []shownTable
	Links       []button
}

func (b board) show(v *web.Visit) error {
	page := boardPage{Title: "board." + b.Name + ".title", Text: "board." + b.Name + ".text"}
	var err error
	if page.Tables, err = shownTables(v, b.Tables); err != nil {
		return err
	}
	for _, name := range b.Links {
		page.Links = append(page.Links, button{"list." + name + ".title", "/" + name})
	}
	return v.Render("board", page.Title, page)
}

// version changes when something that the board shows does.
func (b board) version(v *web.Visit) (string, error) {
	tables, err := shownTables(v, b.Tables)
	if err != nil {
		return "", err
	}
	return versionOf(tables), nil
}

// shownTables reads tables.
func shownTables(v *web.Visit, tables []table) (out []shownTable, err error) {
	answers := map[string]answered{}
	byName := actsByName()
	for _, t := range tables {
		rows, err := t.read(v, answers)
		shown := shownTable{Title: "table." + t.Name, Text: t.Text, Shut: shut(err), Acts: len(t.Rows) > 0 && v.Allows(mayAct)}
		if err != nil && !shown.Shut {
			return nil, err
		}
		for _, c := range t.Columns {
			shown.Columns = append(shown.Columns, "col."+c.Name)
		}
		for _, r := range rows {
			shown.Lines = append(shown.Lines, lineOf(r, t.Columns, t.Rows, byName))
		}
		out = append(out, shown)
	}
	return out, nil
}

// lineOf is a row with the acts that apply to it.
func lineOf(r row, columns []column, names []string, byName map[string]act) (out line) {
	for _, c := range columns {
		out.Cells = append(out.Cells, c.of(r))
	}
	for _, name := range names {
		if a := byName[name]; a.fits(r) {
			if to, ok := r.filled(a.RowPath()); ok {
				out.Acts = append(out.Acts, button{"decide." + a.Name, to})
			}
		}
	}
	return out
}

// answered is an answer of the API, which several tables of a board may use.
type answered struct {
	body row
	err  error
}

// read reads the rows of all paths. If one fails, it returns the error and the rows of the others.
func (t table) read(v *web.Visit, answers map[string]answered) (rows []row, err error) {
	seen := map[string]bool{}
	for _, path := range append([]string{t.API}, t.Also...) {
		some, failed := t.readOne(v, path, answers)
		if failed != nil && (err == nil || !shut(failed)) {
			err = failed
		}
		for _, r := range some {
			if t.Fits != nil && !t.Fits(r) || t.Once != "" && seen[r.text(t.Once)] {
				continue
			}
			rows, seen[r.text(t.Once)] = append(rows, r), true
		}
	}
	return rows, err
}

func (t table) readOne(v *web.Visit, path string, answers map[string]answered) (rows []row, err error) {
	address := path + "?" + t.Query.Encode()
	got, known := answers[address]
	if !known {
		got.err = v.API.Get(v.Context(), path, t.Query, &got.body)
		answers[address] = got
	}
	if api.Is(got.err, "treasury_not_ready") {
		return nil, nil
	}
	if got.err != nil {
		return nil, got.err
	}
	items, _ := got.body.at(t.Items).([]any)
	for _, one := range items {
		object, ok := one.(map[string]any)
		if !ok {
			continue
		}
		if t.Each == "" {
			rows = append(rows, object)
			continue
		}
		inner, _ := row(object).at(t.Each).([]any)
		for _, part := range inner {
			if members, ok := part.(map[string]any); ok {
				whole := maps.Clone(object)
				maps.Copy(whole, members)
				rows = append(rows, whole)
			}
		}
	}
	return rows, nil
}

// workers are the services that consume messages of the broker.
var workers = []string{"payments", "wallets", "reports", "callback-dispatcher"}

// health are the paths of the processes of services.
func health(services ...string) (paths []string) {
	for _, name := range services {
		paths = append(paths, "/v1/admin/health/"+name)
	}
	return paths
}

// unrouted is the queue of messages that no queue is bound for, which is a dead queue itself.
const unrouted = "unrouted"

// deadQueues are the dead queues at the broker that are not empty. Their messages are no rows of any database, and a
// service that serves the API has no connection to the broker: an operator types the service's command.
func deadQueues() table {
	paths := health(workers...)
	return table{
		Name: "dead_queues", Text: "table.dead_queues.text", API: paths[0], Also: paths[1:], Items: "processes", Each: "queues", Once: "queue",
		Fits: func(r row) bool { return r.text("dead") != "0" },
		Columns: []column{
			{Name: "queue", As: code, Made: deadQueue},
			{Name: "messages", From: "dead"},
			{Name: "since", From: "deadSince", As: when},
			{Name: "command", As: code, Made: deadCommand},
		},
	}
}

func deadQueue(r row) string {
	if name := r.text("queue"); name != unrouted {
		return name + ".dead"
	}
	return unrouted
}

// deadCommand shows the messages. The administrator of the broker alone reads what has no route.
func deadCommand(r row) string {
	switch service := r.text("service"); {
	case r.text("queue") == unrouted:
		return ""
	case service == "callback-dispatcher":
		return service + " dead list --broker"
	default:
		return service + " dead list"
	}
}

// problems are the failing checks of a process.
func problems(r row) string {
	var out []string
	checks, _ := r["checks"].([]any)
	for _, one := range checks {
		if check, ok := one.(map[string]any); ok && check["problem"] != nil {
			out = append(out, row(check).text("name")+": "+row(check).text("problem"))
		}
	}
	return strings.Join(out, "; ")
}

// boards are all boards, in the order of the navigation.
func boards() []board {
	return []board{
		{Name: "rails", Tables: []table{{
			Name: "rails", API: "/v1/admin/rails", Items: "rails", Columns: []column{
				{Name: "mode", From: "mode", As: word},
				{Name: "rail", From: "rail"},
				{Name: "currency", From: "fiatCurrency"},
				{Name: "float", From: "float", As: amount, Of: "fiatCurrency"},
				{Name: "breaker", From: "breaker", As: word},
				{Name: "paused", From: "paused", As: word},
				{Name: "success", From: "recent.successRate", As: share},
				{Name: "ended", From: "recent.payouts"},
				{Name: "failed", From: "recent.failed"},
				{Name: "open", From: "open"},
				{Name: "oldest", From: "oldestOpenAt", As: when},
			},
		}}},
		{Name: "networks", Links: []string{"rescans"}, Tables: []table{
			{
				Name: "scans", API: "/v1/admin/networks", Items: "networks", Columns: []column{
					{Name: "network", From: "network"},
					{Name: "mode", From: "mode", As: word},
					{Name: "state", From: "state", As: word},
					{Name: "head", From: "head"},
					{Name: "scanned", From: "height"},
					{Name: "lag", From: "lag"},
					{Name: "final", From: "finalized"},
					{Name: "block", From: "blockTime", As: when},
					{Name: "moved", From: "movedAt", As: when},
					{Name: "rescan", From: "rescan.state", As: word},
				},
				Rows: []string{"network_rescan"},
			},
			{
				Name: "endpoints", API: "/v1/admin/networks", Items: "networks", Each: "endpoints", Columns: []column{
					{Name: "network", From: "network"},
					{Name: "host", From: "host", As: code},
					{Name: "healthy", From: "healthy", As: word},
					{Name: "outcome", From: "outcome", As: word},
					{Name: "head", From: "head"},
					{Name: "answered", From: "answeredAt", As: when},
					{Name: "fault", From: "failedAt", As: when},
				},
			},
		}},
		{Name: "health", Links: []string{"dead"}, Tables: []table{
			{
				Name: "processes", API: "/v1/admin/health/gateway", Also: health(slices.Concat(workers, []string{"console", "console-operators"})...), Items: "processes", Columns: []column{
					{Name: "service", From: "service"},
					{Name: "role", From: "role", As: word},
					{Name: "ready", From: "ready", As: word},
					{Name: "problem", Made: problems},
					{Name: "version", From: "version"},
					{Name: "started", From: "startedAt", As: when},
					{Name: "process", From: "name", As: code},
				},
			},
			{
				Name: "queues", API: "/v1/admin/health/gateway", Also: health(workers...), Items: "processes", Each: "queues", Once: "queue", Columns: []column{
					{Name: "queue", From: "queue", As: code},
					{Name: "messages", From: "messages"},
					{Name: "dead", From: "dead"},
					{Name: "dead_since", From: "deadSince", As: when},
				},
			},
		}},
		{Name: "stock", Tables: []table{
			{
				Name: "stock", API: "/v1/admin/address-stock", Items: "stock", Columns: []column{
					{Name: "mode", From: "mode", As: word},
					{Name: "family", From: "family"},
					{Name: "networks", From: "networks"},
					{Name: "free", From: "free"},
					{Name: "low", From: "low", As: word},
					{Name: "refill", From: "refillAt"},
					{Name: "target", From: "target"},
					{Name: "hour", From: "lastHour"},
					{Name: "minute", From: "busiestMinute"},
					{Name: "asked", From: "asked"},
					{Name: "overdue", From: "overdue", As: word},
				},
			},
			{
				Name: "pools", API: "/v1/admin/address-pools", Items: "pools", Columns: []column{
					{Name: "mode", From: "mode", As: word},
					{Name: "family", From: "family"},
					{Name: "issued", From: "issued"},
					{Name: "left", From: "left"},
					{Name: "mark", From: "low"},
				},
			},
		}},
		{Name: "stations", Links: []string{"sweeps"}, Tables: []table{
			{
				Name: "needs", API: "/v1/admin/stations", Items: "stations", Columns: []column{
					{Name: "network", From: "network"},
					{Name: "asset", From: "crypto"},
					{Name: "refunds", From: "refunds.open"},
					{Name: "needed", From: "refunds.amount", As: amount, Of: "crypto"},
					{Name: "blocked", From: "refunds.blocked"},
					{Name: "short", From: "short"},
					{Name: "oldest", From: "refunds.oldestAt", As: when},
					{Name: "sweeps", From: "sweeps.open"},
					{Name: "collecting", From: "sweeps.amount", As: amount, Of: "crypto"},
					{Name: "sweeps_blocked", From: "sweeps.blocked"},
					{Name: "sweep_oldest", From: "sweeps.oldestAt", As: when},
				},
			},
			{
				Name: "balances", API: "/v1/admin/treasury", Query: url.Values{"mode": {"live"}}, Items: "treasury.crypto", Columns: []column{
					{Name: "network", From: "network"},
					{Name: "asset", From: "asset"},
					{Name: "gas", From: "observed.gasStation", As: amount, Of: "asset"},
					{Name: "refund_station", From: "observed.refundStation", As: amount, Of: "asset"},
					{Name: "in_treasury", From: "observed.treasury", As: amount, Of: "asset"},
					{Name: "unread", From: "unread", As: word},
					{Name: "at", From: "asOf", As: when},
				},
			},
		}},
	}
}

// closeReport passes the report of a closed day on as a CSV.
func closeReport(v *web.Visit) error {
	day, mode := v.Param("day"), v.Param("mode")
	if _, err := time.Parse(time.DateOnly, day); err != nil || mode != "live" && mode != "test" {
		return web.ErrMissing
	}
	answer, err := v.API.Open(v.Context(), "/v1/admin/treasury", url.Values{"mode": {mode}, "day": {day}, "format": {"csv"}})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	h := v.W.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "treasury-" + mode + "-" + day + ".csv"}))
	v.W.WriteHeader(http.StatusOK)
	if _, err := io.Copy(v.W, answer.Body); err != nil {
		panic(http.ErrAbortHandler) // the reader must see that the file is not complete
	}
	return nil
}
