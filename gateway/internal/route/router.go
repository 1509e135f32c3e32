package route

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Router finds the route of a request. It compares whole segments of the escaped path as it was sent, so that an
// escaped slash or dot never changes the route. Literal segments win over {name}. It is immutable.
type Router struct {
	root   node
	routes []*Route
}

// Routes returns every route, in the order of the table.
func (r *Router) Routes() []*Route { return slices.Clone(r.routes) }

type node struct {
	literal map[string]*node
	any     *node
	here    *Place
	beneath *Place // of {name...}: everything below
}

// Place holds the routes of one pattern.
type Place struct {
	Allow  string // value of the Allow header
	routes []*Route
}

// Route returns the route of a method here, or nil. HEAD is served as GET.
func (p *Place) Route(method string) *Route {
	for _, r := range p.routes {
		if r.Method == method || (method == http.MethodHead && r.Method == http.MethodGet) {
			return r
		}
	}
	return nil
}

// NewRouter checks the table and makes its router.
func NewRouter(table []Route) (*Router, error) {
	r := &Router{}
	for i := range table {
		if err := r.add(&table[i]); err != nil {
			return nil, fmt.Errorf("route %s: %w", table[i].Name(), err)
		}
	}
	return r, nil
}

func (r *Router) add(rt *Route) error {
	switch {
	case rt.Access == 0:
		return fmt.Errorf("has no access")
	case rt.Access != Keyed && ((rt.Permission != "" && !rt.Knows) || rt.TestOnly):
		return fmt.Errorf("has a permission or a mode but takes no key")
	case rt.Access != Open && rt.Knows:
		return fmt.Errorf("knows keys but is not public")
	case rt.Upstream == "":
		return fmt.Errorf("has no upstream")
	case !strings.HasPrefix(rt.Pattern, "/"):
		return fmt.Errorf("does not start with a slash")
	}
	n := &r.root
	segments := rt.segments()
	for at, segment := range segments {
		switch segment {
		case "":
			return fmt.Errorf("has an empty segment")
		case "{reference}", "{id}":
			rt.named = at + 1
		}
		if strings.HasSuffix(segment, "...}") {
			if at+1 < len(segments) {
				return fmt.Errorf("has segments after all that follow")
			}
			return r.put(&n.beneath, rt)
		}
		n = n.child(segment)
	}
	return r.put(&n.here, rt)
}

// put adds a route to a place, which it makes if it is not there.
func (r *Router) put(at **Place, rt *Route) error {
	if *at == nil {
		*at = &Place{}
	}
	p := *at
	if slices.ContainsFunc(p.routes, func(o *Route) bool { return o.Method == rt.Method }) {
		return fmt.Errorf("is defined twice")
	}
	p.routes = append(p.routes, rt)
	p.Allow = allow(p.routes)
	r.routes = append(r.routes, rt)
	return nil
}

// segments are the parts of a pattern; the first page of all has none.
func (rt *Route) segments() []string {
	if rt.Pattern == "/" {
		return nil
	}
	return strings.Split(rt.Pattern[1:], "/")
}

func allow(routes []*Route) string {
	methods := []string{http.MethodOptions}
	for _, r := range routes {
		methods = append(methods, r.Method)
		if r.Method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

func (n *node) child(segment string) *node {
	if segment[0] == '{' {
		if n.any == nil {
			n.any = &node{}
		}
		return n.any
	}
	if n.literal == nil {
		n.literal = map[string]*node{}
	}
	if n.literal[segment] == nil {
		n.literal[segment] = &node{}
	}
	return n.literal[segment]
}

// Match returns the place of an escaped path, or nil when there is none. Empty segments and dot segments, escaped or
// not, match nothing: a service could read them as another path.
func (r *Router) Match(escapedPath string) *Place {
	if escapedPath == "" || escapedPath[0] != '/' {
		return nil
	}
	if escapedPath == "/" {
		return r.root.here
	}
	return r.root.match(escapedPath[1:])
}

func (n *node) match(rest string) *Place {
	if p := n.exact(rest); p != nil || n.beneath == nil {
		return p
	}
	for segment := range strings.SplitSeq(rest, "/") {
		if !fillable(segment) {
			return nil
		}
	}
	return n.beneath
}

// exact is match without the place of everything below.
func (n *node) exact(rest string) *Place {
	segment, after, more := strings.Cut(rest, "/")
	if !more {
		if child := n.literal[segment]; child != nil && child.here != nil {
			return child.here
		}
		if n.any != nil && fillable(segment) {
			return n.any.here
		}
		return nil
	}
	if child := n.literal[segment]; child != nil {
		if p := child.match(after); p != nil {
			return p
		}
	}
	if n.any != nil && fillable(segment) {
		return n.any.match(after)
	}
	return nil
}

const segmentMax = 512

// fillable reports whether a segment may stand for a {name}.
func fillable(segment string) bool {
	if segment == "" || len(segment) > segmentMax {
		return false
	}
	rest := segment
	for rest != "" { // dots only, each perhaps written %2e
		switch {
		case rest[0] == '.':
			rest = rest[1:]
		case len(rest) >= 3 && strings.EqualFold(rest[:3], "%2e"):
			rest = rest[3:]
		default:
			return true
		}
	}
	return false
}
