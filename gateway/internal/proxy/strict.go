package proxy

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
)

// unambiguous refuses a request that two readers could understand differently: one with a parameter of the route's
// query twice, with a parameter that the route does not have, or with an empty or repeated Idempotency-Key.
func unambiguous(r *http.Request, rt *route.Route) error {
	var p fault.Problems
	httpkit.CheckIdempotencyKey(r.Header, &p)
	if r.URL.RawQuery != "" && !needy(r, rt) {
		checkQuery(r.URL.RawQuery, rt, &p)
	}
	return p.Err()
}

// needy reports whether the service refuses a request anyway, because it has none of the parameters that it needs one
// of. Then the caller gets the service's words, which docs/api-contract.md#fixed-texts fixes.
func needy(r *http.Request, rt *route.Route) bool {
	if len(rt.Needs) == 0 {
		return false
	}
	query := r.URL.Query()
	return !slices.ContainsFunc(rt.Needs, func(name string) bool { return query.Get(name) != "" })
}

// Bounds of the answer to a hostile query.
const (
	unknownMax = 10 // parameters that the answer names
	nameMax    = 64 // bytes of a name in the answer
)

// checkQuery adds a problem for each parameter that the route would read differently than its sender means it. A filter
// that is ignored would list everything. Pages have people's links with parameters of others, and ignore them.
func checkQuery(query string, rt *route.Route, p *fault.Problems) {
	seen := make([]bool, len(rt.Query))
	unknown := 0
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		raw, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(raw)
		if err != nil {
			name = raw
		}
		if _, bad := url.QueryUnescape(value); rt.Strict() && (err != nil || bad != nil || strings.Contains(pair, ";")) { // net/http drops it
			p.Add(shortened(name), "must be percent-encoded, with ; as %%3B and %% as %%25")
			continue
		}
		switch at := slices.Index(rt.Query, name); {
		case at >= 0 && seen[at]:
			p.Add(name, "must not be sent twice")
		case at >= 0:
			seen[at] = true
		case rt.Strict() && unknown < unknownMax:
			unknown++
			p.Add(shortened(name), "is not a parameter of this route")
		}
	}
}

// shortened is a name of any length and bytes as an answer shows it.
func shortened(name string) string {
	if name == "" {
		return "="
	}
	if len(name) > nameMax {
		name = name[:nameMax] + "…"
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}
