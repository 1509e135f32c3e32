//go:build integration

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/deploy/e2e/internal/contract"
	"causeway.internal/deploy/e2e/internal/draw"
	"causeway.internal/libs/testkit/stack"
)

// TestDocument walks through the whole document: valid and hostile requests of every operation, drawn from its schemas
// with the names that earlier answers brought, and the requests that its links name. Each answer is one that the
// document describes, nothing is an internal error, and what the document forbids is refused. DOCUMENT_SEED repeats a
// walk.
func TestDocument(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("DOCUMENT_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	path, err := contract.Find("gateway/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := stack.Shared(t)
	if documentWhole {
		s = stack.New(t, stack.Options{})
	}
	c := client(t, s)
	w := &documentWalk{T: t, all: draw.Operations(doc), source: draw.New(seed, time.Now()), statuses: map[string]map[int]int{}, refusal: map[string]string{}, reported: map[string]int{}}
	w.merchant, w.operator, w.public = key(t, s, c, "test", unique("document"), "*"), c.With(s.AdminToken), c.With("")
	me := w.merchant.Call(t, http.MethodGet, "/v1/me", nil).Want(t, http.StatusOK)
	w.own = []string{me.Text(t, "merchant.id"), textAt(me, "key.id"), "1"} // the first operator is the one who walks
	start := time.Now()
	for round := range documentRounds {
		operations := slices.Clone(w.all)
		w.source.Shuffle(len(operations), func(i, j int) { operations[i], operations[j] = operations[j], operations[i] })
		if round == 0 { // what makes objects comes first
			slices.SortStableFunc(operations, func(a, b draw.Operation) int { return linksOf(b) - linksOf(a) })
		}
		for _, o := range operations {
			if strings.HasPrefix(o.Path, "/v1/admin") && !documentWhole {
				continue
			}
			w.visit(o, round > 0 && w.source.IntN(2) == 1, nil)
			for tries := 0; round == 0 && linksOf(o) > 0 && !w.succeeded(o) && w.statuses[o.OperationID][http.StatusNotFound] == 0 && tries < mostTries; tries++ {
				w.visit(o, false, nil)
			}
		}
		w.endPauses()
	}
	w.report(seed, time.Since(start))
}

// mostTries is how often an operation is repeated that makes what the others are about. Without a payment few of them
// succeed, and one drawn request in three makes one. One that needs what nothing has made yet answers 404 each time.
const mostTries = 25

func linksOf(o draw.Operation) (links int) {
	for _, response := range o.Responses.Map() {
		links += len(response.Value.Links)
	}
	return links
}

// documentWalk is a walk through the document.
type documentWalk struct {
	*testing.T

	all                        []draw.Operation
	source                     *draw.Source
	merchant, operator, public *api.Client
	own                        []string // names of the walk's own merchant, key and operator, which it leaves as they are
	statuses                   map[string]map[int]int
	refusal                    map[string]string // the last one of a valid request
	reported                   map[string]int    // defects of a kind, so that one of them is not printed a hundred times
	calls, followed, breaches  int
}

// visit makes one request of an operation. fixed are values of parameters that a link brings; a request along a link
// follows no further one.
func (w *documentWalk) visit(o draw.Operation, hostile bool, fixed map[string]string) {
	r := w.source.Valid(o, fixed)
	if hostile {
		r = w.source.Hostile(o, fixed)
	}
	for _, value := range r.Values {
		if o.Method != http.MethodGet && slices.Contains(w.own, value) {
			return // without its key or its merchant the rest of the walk would see refusals alone
		}
	}
	var breach error
	options := []api.Option{api.Once}
	for name := range r.Header {
		options = append(options, api.Header(name, r.Header.Get(name)))
	}
	if !strings.HasPrefix(o.Path, "/v1/") && w.source.IntN(4) > 0 {
		options = append(options, api.Header("Accept", "text/html,*/*"))
	}
	caller, another := w.caller(o, hostile)
	if hostile {
		options = append(options, func(r *http.Request) { *r = *r.WithContext(contract.WithBreach(r.Context(), &breach)) })
	}
	a, err := caller.Try(w.Context(), o.Method, r.Path, r.Body, options...)
	w.calls++
	if err != nil {
		w.defect(o, "a broken contract", "%v: %v", r, err)
		return
	}
	if w.statuses[o.OperationID] == nil {
		w.statuses[o.OperationID] = map[int]int{}
	}
	w.statuses[o.OperationID][a.Status]++
	if !hostile && a.Status >= 400 {
		w.refusal[o.OperationID] = strings.TrimSpace(textAt(a, "error.code") + " " + strings.Join(a.FieldErrors(), " "))
	}
	switch {
	case a.Status == http.StatusInternalServerError || a.Status >= 500 && a.Header.Get("Retry-After") == "":
		w.defect(o, "a failure", "%v: got %d %s", r, a.Status, a.Body)
	case breach != nil && a.Status < 300:
		w.defect(o, "an accepted breach", "%v: got %d %.200s, but the document forbids the request: %.400v", r, a.Status, a.Body, breach)
	case another && a.Status < 300:
		w.defect(o, "another caller served", "%v as another caller: got %d %s", r, a.Status, a.Body)
	}
	if breach != nil {
		w.breaches++
	}
	if a.Status >= 300 || !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
		return
	}
	decoder := json.NewDecoder(strings.NewReader(string(a.Body)))
	decoder.UseNumber()
	var answer any
	if err := decoder.Decode(&answer); err != nil {
		w.defect(o, "no JSON", "%v: %v", r, err)
		return
	}
	w.source.Learn(answer)
	if fixed == nil {
		w.follow(o, a)
	}
}

// caller is who the document names for an operation, or now and then somebody whom it does not.
func (w *documentWalk) caller(o draw.Operation, hostile bool) (c *api.Client, another bool) {
	admin := strings.HasPrefix(o.Path, "/v1/admin")
	open := o.Security != nil && (len(*o.Security) == 0 ||
		slices.ContainsFunc(*o.Security, func(way openapi3.SecurityRequirement) bool { return len(way) == 0 }))
	if hostile && !open && w.source.IntN(6) == 0 {
		strangers := []*api.Client{w.public, w.public.With("sk_test_0000000000000000000000000000002OMZgq"), w.operator}
		if admin {
			strangers[2] = w.merchant
		}
		return strangers[w.source.IntN(len(strangers))], true
	}
	switch {
	case admin:
		return w.operator, false
	case open && (len(*o.Security) == 0 || w.source.IntN(2) == 0):
		return w.public, false
	}
	return w.merchant, false
}

// mostLinks is how many links of one answer are followed.
const mostLinks = 4

// follow visits operations that the answer links to.
func (w *documentWalk) follow(o draw.Operation, a *api.Answer) {
	described := o.Responses.Value(strconv.Itoa(a.Status))
	if described == nil {
		return // the contract has said so
	}
	links := described.Value.Links
	names := slices.Sorted(maps.Keys(links))
	w.source.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] }) // some end what others read
	for _, name := range names[:min(len(names), mostLinks)] {
		link := links[name].Value
		fixed := map[string]string{}
		for parameter, expression := range link.Parameters {
			at := strings.ReplaceAll(strings.TrimPrefix(fmt.Sprint(expression), "$response.body#/"), "/", ".")
			if a.Null(at) {
				return // nothing was made
			}
			if fixed[parameter] = textAt(a, at); fixed[parameter] == "" {
				w.defect(o, "a dead link", "link %s of %s: the answer has no %s: %s", name, o.OperationID, at, a.Body)
			}
		}
		at := slices.IndexFunc(w.all, func(next draw.Operation) bool { return next.OperationID == link.OperationID })
		if at < 0 {
			w.defect(o, "a dead link", "link %s of %s: no operation %s", name, o.OperationID, link.OperationID)
			continue
		}
		w.followed++
		w.visit(w.all[at], w.source.IntN(4) == 0, fixed)
	}
}

// textAt is a field of an answer as text, empty when there is none.
func textAt(a *api.Answer, path string) string {
	value, ok := a.At(path)
	if !ok || value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// endPauses lets the stack go on that a drawn order of an operator has paused.
func (w *documentWalk) endPauses() {
	if !documentWhole {
		return
	}
	list := w.operator.Call(w, http.MethodGet, "/v1/admin/pauses", nil).Want(w, http.StatusOK)
	for i := range list.Len(w, "pauses") {
		id := textAt(list, fmt.Sprintf("pauses.%d.id", i))
		w.operator.Call(w, http.MethodDelete, "/v1/admin/pauses/"+id, api.Object{"reason": "the walk goes on"})
	}
}

func (w *documentWalk) succeeded(o draw.Operation) bool {
	for status := range w.statuses[o.OperationID] {
		if status < 400 {
			return true
		}
	}
	return false
}

const printedOfKind = 3

func (w *documentWalk) defect(o draw.Operation, kind, format string, values ...any) {
	w.reported[o.OperationID+": "+kind]++
	if w.reported[o.OperationID+": "+kind] <= printedOfKind {
		w.Errorf("found %s: %s", kind, fmt.Sprintf(format, values...))
	}
}

// report says what the walk saw. A walk in which few operations succeed has not reached the product.
func (w *documentWalk) report(seed uint64, took time.Duration) {
	total, succeeded := map[int]int{}, 0
	var never []string
	for _, o := range w.all {
		statuses := w.statuses[o.OperationID]
		for status, n := range statuses {
			total[status] += n
		}
		switch {
		case w.succeeded(o):
			succeeded++
		case statuses != nil:
			never = append(never, fmt.Sprintf("%s %v (%s)", o.OperationID, statuses, w.refusal[o.OperationID]))
		}
		w.Logf("%s: %v", o.OperationID, statuses)
	}
	w.Logf("seed %d: %d requests of %d of %d operations in %v, %d along links, %d that break the document; answers by status %v; %d operations succeeded, these never: %s",
		seed, w.calls, len(w.statuses), len(w.all), took.Round(time.Second), w.followed, w.breaches, total, succeeded, strings.Join(never, ", "))
	for kind, n := range w.reported {
		w.Logf("%s: %d times", kind, n)
	}
	if w.followed == 0 || succeeded*2 < len(w.statuses) {
		w.Errorf("the walk (seed %d) follows %d links, and %d of %d operations succeed: it does not reach the product", seed, w.followed, succeeded, len(w.statuses))
	}
}
