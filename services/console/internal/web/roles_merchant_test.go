package web_test

import "causeway.internal/services/console/internal/people"

// areas are the tables of the two doors' own pages: that of merchants is here, that of operators in
// roles_operator_test.go.
var areas = map[people.Door]map[string]string{people.Merchants: merchants, people.Operators: operators}

var merchants = map[string]string{
	"GET /overview": everybody,

	"GET /payments":                        everybody,
	"GET /payments/export":                 everybody,
	"GET /payments/new":                    creators,
	"POST /payments/new":                   creators,
	"GET /payments/{reference}":            everybody,
	"GET /payments/{reference}/cancel":     creators,
	"POST /payments/{reference}/cancel":    creators,
	"GET /payments/{reference}/refund":     refunders,
	"POST /payments/{reference}/refund":    refunders,
	"GET /links":                           everybody,
	"GET /links/new":                       creators,
	"POST /links/new":                      creators,
	"GET /links/{id}":                      everybody,
	"POST /links/{id}/status":              creators,
	"GET /balances":                        holders,
	"GET /settlement-settings":             treasurers,
	"POST /settlement-settings":            treasurers,
	"GET /withdrawals":                     everybody,
	"GET /withdrawals/new":                 treasurers,
	"POST /withdrawals/new":                treasurers,
	"GET /withdrawals/{id}":                everybody,
	"GET /accounts":                        everybody,
	"GET /accounts/new":                    treasurers,
	"POST /accounts/new":                   treasurers,
	"GET /accounts/{id}/confirm":           treasurers,
	"POST /accounts/{id}/confirm":          treasurers,
	"POST /accounts/{id}/delete":           treasurers,
	"GET /wallets":                         holders,
	"GET /wallets/new":                     makers,
	"POST /wallets/new":                    makers,
	"GET /wallets/{id}":                    holders,
	"GET /crypto-withdrawals":              holders,
	"GET /crypto-withdrawals/new":          treasurers,
	"POST /crypto-withdrawals/new":         treasurers,
	"GET /crypto-withdrawals/{id}":         holders,
	"POST /crypto-withdrawals/{id}/cancel": treasurers,
	"GET /addresses":                       holders,
	"GET /addresses/new":                   treasurers,
	"POST /addresses/new":                  treasurers,
	"POST /addresses/{id}/remove":          treasurers,
	"GET /reports":                         caseworkers,
	"GET /reports/new":                     reporters,
	"POST /reports/new":                    reporters,
	"GET /reports/{id}":                    caseworkers,
	"POST /reports/{id}":                   caseworkers,
	"GET /webhooks":                        makers,
	"GET /webhooks/new":                    makers,
	"POST /webhooks/new":                   makers,
	"GET /webhooks/{id}":                   makers,
	"GET /webhooks/{id}/edit":              makers,
	"POST /webhooks/{id}/edit":             makers,
	"GET /webhooks/{id}/secret":            makers,
	"POST /webhooks/{id}/secret":           makers,
	"POST /webhooks/{id}/test":             makers,
	"POST /webhooks/{id}/delete":           makers,
	"GET /deliveries":                      makers,
	"GET /deliveries/{id}":                 makers,
	"POST /deliveries/{id}/retry":          makers,
	"GET /replays/new":                     makers,
	"POST /replays/new":                    makers,
	"GET /replays/{id}":                    makers,
	"POST /replays/{id}/turn":              makers,

	"GET /keys": makers, "GET /keys/new": makers, "POST /keys/new": makers, "GET /keys/{id}": makers, "POST /keys/{id}": makers,
	"GET /keys/{id}/secret": makers, "GET /keys/{id}/rotate": makers, "POST /keys/{id}/rotate": makers,
	"GET /keys/{id}/revoke": makers, "POST /keys/{id}/revoke": makers,

	"GET /settlements": everybody, "GET /settlements/{month}": everybody, "GET /settlements/{month}/csv": everybody,

	"GET /settings": everybody, "GET /settings/branding": managers, "POST /settings/branding": managers,
}

// makers may have API keys.
const makers = "owner developer"

const (
	creators    = "owner developer support"
	refunders   = "owner finance support"
	holders     = "owner developer finance read_only" // who see wallets
	treasurers  = "owner finance"
	caseworkers = "owner support"
	reporters   = "owner finance support"
)
