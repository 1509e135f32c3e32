package web_test

import "causeway.internal/services/console/internal/people"

// areas are the tables of the two doors' own pages: that of merchants is here, that of operators in
// roles_operator_test.go.
var areas = map[people.Door]map[string]string{people.Merchants: merchants, people.Operators: operators}

var merchants = map[string]string{
	"GET /overview": everybody,

	"GET /keys": makers, "GET /keys/new": makers, "POST /keys/new": makers, "GET /keys/{id}": makers, "POST /keys/{id}": makers,
	"GET /keys/{id}/secret": makers, "GET /keys/{id}/rotate": makers, "POST /keys/{id}/rotate": makers,
	"GET /keys/{id}/revoke": makers, "POST /keys/{id}/revoke": makers,

	"GET /settlements": everybody, "GET /settlements/{month}": everybody, "GET /settlements/{month}/csv": everybody,

	"GET /settings": everybody, "GET /settings/branding": managers, "POST /settings/branding": managers,
}

// makers have API keys.
const makers = "owner developer"
