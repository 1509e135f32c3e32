package web_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"causeway.internal/services/console/internal/people"
)

const (
	everybody = "everybody" // who is signed in
	anybody   = "anybody"   // nobody needs to be
	managers  = "owner"
	chiefs    = "operator"
)

// own has the users of the console's own routes, among merchants and among operators.
var own = map[string][2]string{
	"GET /sign-in": {anybody, anybody}, "POST /sign-in": {anybody, anybody},
	"GET /sign-in/code": {anybody, anybody}, "POST /sign-in/code": {anybody, anybody},
	"POST /sign-in/passkey/begin": {anybody, anybody}, "POST /sign-in/passkey/finish": {anybody, anybody},
	"GET /link/{secret}": {anybody, anybody}, "POST /link/{secret}": {anybody, anybody},
	"GET /register": {anybody, anybody}, "POST /register": {anybody, anybody},
	"GET /enrol": {anybody, anybody}, "POST /enrol": {anybody, anybody},
	"GET /enrol/code": {anybody, anybody}, "POST /enrol/code": {anybody, anybody},
	"POST /enrol/passkey/begin": {anybody, anybody}, "POST /enrol/passkey/finish": {anybody, anybody},
	"POST /sign-out": {everybody, everybody}, "POST /scope": {everybody, everybody},
	"GET /prove": {everybody, everybody}, "POST /prove": {everybody, everybody},
	"POST /prove/passkey/begin": {everybody, everybody}, "POST /prove/passkey/finish": {everybody, everybody},
	"GET /business": {everybody, everybody}, "POST /business": {everybody, everybody},
	"GET /account": {everybody, everybody}, "POST /account/sessions": {everybody, everybody},
	"GET /account/name": {everybody, everybody}, "POST /account/name": {everybody, everybody},
	"POST /account/passkeys/begin": {everybody, everybody}, "POST /account/passkeys/finish": {everybody, everybody},
	"GET /account/passkeys/{id}": {everybody, everybody}, "POST /account/passkeys/{id}": {everybody, everybody},
	"GET /account/password": {everybody, everybody}, "POST /account/password": {everybody, everybody},
	"GET /account/app": {everybody, everybody}, "POST /account/app": {everybody, everybody},
	"GET /account/codes": {everybody, everybody}, "GET /account/codes/new": {everybody, everybody}, "POST /account/codes/new": {everybody, everybody},
	"GET /team": {everybody, everybody}, "GET /team/acts": {everybody, everybody},
	"GET /team/invite": {managers, chiefs}, "POST /team/invite": {managers, chiefs}, "POST /team/invitations/{id}": {managers, chiefs},
	"GET /team/members/{id}": {managers, chiefs}, "POST /team/members/{id}": {managers, chiefs},
}

// The table has the routes that each role may use. A route without a line fails.
func TestRoles(t *testing.T) {
	for i, door := range []people.Door{people.Merchants, people.Operators} {
		want := map[string]string{}
		for route, who := range own {
			want[route] = who[i]
		}
		maps.Copy(want, areas[door])
		for _, p := range pagesOf(t, door) {
			got := anybody
			if !p.Public {
				var roles []string
				for _, role := range people.Roles(door) {
					if role.Allows(p.Permission) {
						roles = append(roles, string(role))
					}
				}
				if got = strings.Join(roles, " "); len(roles) == len(people.Roles(door)) {
					got = everybody
				}
			}
			if got != want[p.Name()] {
				t.Errorf("%s of the door %s is for %q, want %q", p.Name(), door, got, want[p.Name()])
			}
			delete(want, p.Name())
		}
		if left := slices.Sorted(maps.Keys(want)); len(left) > 0 {
			t.Errorf("the table of the door %s has lines of routes that do not exist: %v", door, left)
		}
	}
}
