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
// query twice, or with an empty or repeated Idempotency-Key. Parameters that the route does not know pass.
func unambiguous(r *http.Request, rt *route.Route) error {
	var p fault.Problems
	httpkit.CheckIdempotencyKey(r.Header, &p)
	if len(rt.Query) > 0 && strings.Contains(r.URL.RawQuery, "&") {
		seen := make([]bool, len(rt.Query))
		for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
			name, _, _ := strings.Cut(pair, "=")
			if plain, err := url.QueryUnescape(name); err == nil {
				name = plain
			}
			at := slices.Index(rt.Query, name)
			if at < 0 {
				continue
			}
			if seen[at] {
				p.Add(name, "must not be sent twice")
			}
			seen[at] = true
		}
	}
	return p.Err()
}
