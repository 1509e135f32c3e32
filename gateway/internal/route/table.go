// Package route is the one table of the gateway's routes: method, pattern, the service behind it and who may call it.
// It matches paths to routes and does nothing else: no I/O, no HTTP answers.
package route

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"causeway.internal/gateway/internal/apikey"
)

// Upstream names the service that answers a route; it is also the audience of the identity that is sent there.
type Upstream string

// The upstreams.
const (
	Payments   Upstream = "payments"
	Wallets    Upstream = "wallets"
	Reports    Upstream = "reports"
	Dispatcher Upstream = "callback-dispatcher"
	Self       Upstream = "gateway"

	Console          Upstream = "console"           // of merchants
	ConsoleOperators Upstream = "console-operators" // the same program, with a database and keys of its own
)

// Access says who may call a route.
type Access int

// The kinds of access. The zero value is none of them, so that a missing one is found at start.
const (
	_        Access = iota
	Open            // anybody; a credential is ignored, unless the route Knows
	Keyed           // a key with the route's permission, or any key when it names none
	Operated        // an operator's token
)

// Route is one line of the table.
type Route struct {
	Method     string
	Pattern    string // /v1/payments/{reference}; {name} takes one whole segment, {name...} all that follow
	Upstream   Upstream
	Access     Access
	Permission apikey.Permission // with Keyed or Knows; "" is any key
	TestOnly   bool              // sandbox: live keys get 404
	AnyHeaders bool              // headers pass to the service, for signatures that only it understands
	Static     bool              // answered from memory at no cost: takes no slot of the calls in flight
	Knows      bool              // with Open: a good key names its merchant; a bad one is ignored
	Guess      bool              // takes a secret from the path: callers that name wrong ones are slowed down
	Long       bool              // streams for minutes: a report of any length
	Names      bool              // asks a bank for a person's name: paced by address
	Proposes   bool              // takes a payer's proposal, which is screened: paced like Names
	Live       bool              // streams events to a browser: slots of its own
	Browser    bool              // pages of a console: cookies and the headers of forms pass, and its answers are not JSON
	Away       string            // host at which there is no such route, in small letters: of the other console
	Creates    bool              // makes something new of a merchant: suspended merchants are refused
	Page       bool              // for people: a caller that accepts a page gets refusals as a page, not as JSON
	Query      []string          // the parameters of its query, of one value each; see Strict
	Needs      []string          // the service refuses a request without any of these parameters, in words that are fixed
	Makes      bool              // makes a payment, in the newest shard of a merchant
	Merges     *List             // lists objects of all shards of a merchant
	Chooses    bool              // the parameter shard names a shard, and must where a merchant has several
	Whole      bool              // changes what all shards of a merchant would have to know: refused where there are several
	Carries    bool              // makes a signing secret, which all shards of a merchant get
	Member     string            // member of the body, or parameter of a GET, that names the object that the path does not name

	named int // place of the segment that names an object, from 1; 0 is none
}

// List is how the pages of a list are one list over several shards: by id, the newest first.
type List struct {
	Member string // of the answer, that has the objects
	Mark   string // before the id in a cursor
	Cut    string // what of the id a cursor leaves out
}

// Cursor is that of a page whose last object has the id, as the service makes it.
func (l *List) Cursor(id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(l.Mark + strings.TrimPrefix(id, l.Cut)))
}

// ShardParameter names a shard in the query of a route that Chooses.
const ShardParameter = "shard"

// choosing lets the caller name a shard.
func (r Route) choosing() Route {
	r.Chooses, r.Query = true, append(r.Query, ShardParameter)
	return r
}

// Sharded are the services that each shard has for itself. Reports is one for all.
var Sharded = []Upstream{Payments, Wallets, Dispatcher}

func (r Route) making() Route {
	r.Makes = true
	return r
}

func (r Route) merging(l List) Route {
	r.Merges = &l
	return r
}

func (r Route) whole() Route {
	r.Whole = true
	return r
}

func (r Route) carrying() Route {
	r.Carries = true
	return r
}

// Name is the name of a route in logs, spans and metrics; never a path, which may hold a reference.
func (r *Route) Name() string { return r.Method + " " + r.Pattern }

// Object is the text by which an escaped path names an object, "" where the route has none.
func (r *Route) Object(escapedPath string) string {
	if r.named == 0 {
		return ""
	}
	rest := escapedPath
	for range r.named { // the first slash ends the empty text before it
		_, rest, _ = strings.Cut(rest, "/")
	}
	segment, _, _ := strings.Cut(rest, "/")
	if plain, err := url.PathUnescape(segment); err == nil {
		return plain
	}
	return ""
}

// Public reports whether pages of any origin may read the answers. Those of a console are for its own pages.
func (r *Route) Public() bool { return r.Access == Open && !r.Browser }

// Strict reports whether the route refuses query parameters that it does not have. Pages ignore them, and so does the
// route of banks' notices, which a bank may send with parameters of its own.
func (r *Route) Strict() bool { return strings.HasPrefix(r.Pattern, "/v1/") && !r.AnyHeaders }

// needing names parameters of which the service needs one.
func (r Route) needing(names ...string) Route {
	r.Needs = names
	return r
}

// reads names the query parameters of a route.
func (r Route) reads(names ...string) Route {
	r.Query = names
	return r
}

// knowing makes a public route resolve a key that is sent along.
func (r Route) knowing() Route {
	r.Knows = true
	return r
}

func open(method, pattern string, to Upstream) Route {
	return Route{Method: method, Pattern: pattern, Upstream: to, Access: Open}
}

func guessable(method, pattern string, to Upstream) Route {
	r := open(method, pattern, to)
	r.Guess = true
	return r
}

func page(method, pattern string) Route {
	r := guessable(method, pattern, Self)
	r.Page = true
	return r
}

// naming paces a route that asks a bank for a name.
func (r Route) naming() Route {
	r.Names = true
	return r
}

// proposing paces a public route that takes a payer's proposal.
func (r Route) proposing() Route {
	r.Proposes = true
	return r
}

// creating refuses merchants who may not make anything new.
func (r Route) creating() Route {
	r.Creates = true
	return r
}

func keyed(method, pattern string, to Upstream, p apikey.Permission) Route {
	return Route{Method: method, Pattern: pattern, Upstream: to, Access: Keyed, Permission: p}
}

func long(method, pattern string, to Upstream, p apikey.Permission) Route {
	r := keyed(method, pattern, to, p)
	r.Long = true
	return r
}

func sandbox(method, pattern string, to Upstream, p apikey.Permission) Route {
	r := keyed(method, pattern, to, p)
	r.TestOnly = true
	return r
}

func operated(method, pattern string) Route { return operatedBy(method, pattern, Self) }

func operatedBy(method, pattern string, to Upstream) Route {
	return Route{Method: method, Pattern: pattern, Upstream: to, Access: Operated}
}

func operatedLong(method, pattern string, to Upstream) Route {
	r := operatedBy(method, pattern, to)
	r.Long = true
	return r
}

// Consoles lists the routes of a console: its pages, and the events that they listen to. They are not in the table,
// because a system may have no console. They are not served at the host away, "" for none.
func Consoles(prefix string, to Upstream, away string) (routes []Route) {
	at := func(method, pattern string) Route {
		return Route{Method: method, Pattern: prefix + pattern, Upstream: to, Access: Open, Browser: true, Page: true, Away: away}
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		routes = append(routes, at(method, ""), at(method, "/{path...}"))
	}
	live := at(http.MethodGet, "/live")
	live.Live, live.Page = true, false
	return append(routes, live)
}

// The paths of the two consoles.
const (
	MerchantsPath = "/console"
	OperatorsPath = "/operators"
)

// Table lists every route, in the order of gateway/openapi.yaml. Operators name a shard on every route of a service
// that each shard has.
func Table() []Route {
	all := table()
	for i, r := range all {
		if r.Access == Operated && slices.Contains(Sharded, r.Upstream) {
			all[i] = r.choosing()
		}
	}
	return all
}

func table() []Route {
	return []Route{
		keyed(http.MethodPost, "/v1/payments", Payments, apikey.PaymentCreate).creating().making(),
		keyed(http.MethodGet, "/v1/payments/{reference}", Payments, apikey.PaymentRead),
		keyed(http.MethodGet, "/v1/payments", Payments, apikey.PaymentRead).
			reads("status", "type", "from", "to", "merchantReference", "payerChatId", "txHash", "address", "limit", "cursor").
			merging(List{Member: "payments", Mark: "p", Cut: "pay_"}),
		long(http.MethodGet, "/v1/payments/export", Payments, apikey.PaymentRead).
			reads("status", "type", "from", "to", "merchantReference", "payerChatId", "txHash", "address").choosing(),
		keyed(http.MethodGet, "/v1/payments/{reference}/timeline", Payments, apikey.PaymentRead),
		long(http.MethodGet, "/v1/settlements", Payments, apikey.PaymentRead).reads("from", "to", "format").choosing(),
		keyed(http.MethodPost, "/v1/payment-links", Payments, apikey.PaymentCreate).creating(),
		keyed(http.MethodGet, "/v1/payment-links", Payments, apikey.PaymentRead).reads("limit", "cursor"),
		keyed(http.MethodGet, "/v1/payment-links/{id}", Payments, apikey.PaymentRead),
		keyed(http.MethodPatch, "/v1/payment-links/{id}", Payments, apikey.PaymentCreate),
		guessable(http.MethodGet, "/v1/links/{id}", Payments),
		guessable(http.MethodPost, "/v1/links/{id}/payments", Payments).proposing(),
		keyed(http.MethodGet, "/v1/statistics", Payments, apikey.PaymentRead).reads("from", "to", "fiatCurrency", "network", "type", "by").choosing(),
		keyed(http.MethodPost, "/v1/payments/{reference}/cancel", Payments, apikey.PaymentCreate),
		keyed(http.MethodPost, "/v1/payments/{reference}/settle", Payments, apikey.PaymentCreate),
		keyed(http.MethodPost, "/v1/payments/{reference}/settlement-token", Payments, apikey.PaymentCreate),
		keyed(http.MethodPost, "/v1/payments/{reference}/refund-address", Payments, apikey.PaymentCreate),
		keyed(http.MethodPost, "/v1/payments/{reference}/refund-address/confirm", Payments, apikey.RefundCreate),
		keyed(http.MethodPost, "/v1/payments/{reference}/refunds", Payments, apikey.RefundCreate),
		keyed(http.MethodGet, "/v1/payments/{reference}/refunds", Payments, apikey.PaymentRead),
		guessable(http.MethodPost, "/v1/payments/requests/{reference}/fulfill", Payments),
		guessable(http.MethodPost, "/v1/payments/gifts/{reference}/claim/confirm", Payments),
		{
			Method: http.MethodPost, Pattern: "/v1/payments/verify-receiver", Upstream: Payments, Access: Open, Knows: true,
			Permission: apikey.PaymentCreate, Names: true, Guess: true, Member: "reference",
		},
		open(http.MethodGet, "/v1/banks", Payments).knowing().reads("mode", "currency", "name"),
		open(http.MethodGet, "/v1/rates", Payments).knowing().reads("mode", "fiat", "crypto"),
		open(http.MethodGet, "/v1/networks", Payments).knowing().reads("mode"),
		guessable(http.MethodGet, "/v1/checkout/{reference}", Payments),
		{Method: http.MethodPost, Pattern: "/v1/rails/{name}/webhook", Upstream: Payments, Access: Open, AnyHeaders: true},
		guessable(http.MethodPost, "/v1/checkout/{reference}/simulate", Payments),
		guessable(http.MethodPost, "/v1/checkout/{reference}/transaction", Payments),
		guessable(http.MethodPost, "/v1/checkout/{reference}/refund-address", Payments).proposing(),

		keyed(http.MethodPost, "/v1/wallets", Wallets, apikey.WalletCreate).creating(),
		keyed(http.MethodGet, "/v1/wallets", Wallets, apikey.WalletRead).reads("status", "limit", "offset", "cursor"),
		keyed(http.MethodGet, "/v1/wallets/{id}", Wallets, apikey.WalletRead),
		keyed(http.MethodGet, "/v1/wallets/{id}/deposits", Wallets, apikey.WalletRead).reads("limit", "cursor"),
		keyed(http.MethodPost, "/v1/wallets/address-book", Payments, apikey.WalletDraw).creating(),
		keyed(http.MethodGet, "/v1/wallets/address-book", Payments, apikey.WalletRead).reads("limit", "cursor"),
		keyed(http.MethodDelete, "/v1/wallets/address-book/{id}", Payments, apikey.WalletDraw),
		keyed(http.MethodGet, "/v1/wallets/withdrawals/fees", Payments, apikey.WalletRead),
		keyed(http.MethodPost, "/v1/wallets/withdrawals", Payments, apikey.WalletDraw).creating(),
		keyed(http.MethodGet, "/v1/wallets/withdrawals", Payments, apikey.WalletRead).reads("limit", "cursor"),
		keyed(http.MethodGet, "/v1/wallets/withdrawals/{id}", Payments, apikey.WalletRead),
		keyed(http.MethodPost, "/v1/wallets/withdrawals/{id}/cancel", Payments, apikey.WalletDraw),
		keyed(http.MethodGet, "/v1/balances", Self, apikey.WalletRead),
		keyed(http.MethodGet, "/v1/settlement-settings", Payments, apikey.PaymentRead),
		keyed(http.MethodPatch, "/v1/settlement-settings", Payments, apikey.SettlementManage).whole(),
		keyed(http.MethodPost, "/v1/settlement-accounts", Payments, apikey.SettlementManage).naming().creating(),
		keyed(http.MethodGet, "/v1/settlement-accounts", Payments, apikey.PaymentRead),
		keyed(http.MethodGet, "/v1/settlement-accounts/{id}", Payments, apikey.PaymentRead),
		keyed(http.MethodPost, "/v1/settlement-accounts/{id}/confirm", Payments, apikey.WithdrawalCreate).creating(),
		keyed(http.MethodDelete, "/v1/settlement-accounts/{id}", Payments, apikey.SettlementManage),
		keyed(http.MethodPost, "/v1/withdrawals", Payments, apikey.WithdrawalCreate).creating(),
		keyed(http.MethodGet, "/v1/withdrawals", Payments, apikey.PaymentRead).reads("limit", "cursor"),
		keyed(http.MethodGet, "/v1/withdrawals/{id}", Payments, apikey.PaymentRead),
		sandbox(http.MethodPost, "/v1/sandbox/wallets/{id}/deposits", Wallets, apikey.WalletCreate),

		sandbox(http.MethodPost, "/v1/sandbox/payments/{reference}/deposits", Payments, apikey.PaymentCreate),
		sandbox(http.MethodPost, "/v1/sandbox/payments/{reference}/expire", Payments, apikey.PaymentCreate),
		sandbox(http.MethodPost, "/v1/sandbox/outages", Payments, apikey.PaymentCreate).choosing(),
		sandbox(http.MethodPost, "/v1/sandbox/payments/{reference}/simulate-deposit", Payments, apikey.PaymentCreate),
		sandbox(http.MethodPost, "/v1/sandbox/payouts/{id}/outcome", Payments, apikey.PaymentCreate),

		keyed(http.MethodPost, "/v1/reports", Reports, apikey.ReportCreate),
		keyed(http.MethodGet, "/v1/reports", Reports, apikey.ReportManage).reads("status", "complaintType", "limit", "cursor"),
		open(http.MethodGet, "/v1/reports/lookup", Reports).knowing().
			reads("phoneNumber", "walletAddress", "status", "complaintType", "limit", "offset", "cursor").
			needing("phoneNumber", "walletAddress"),
		guessable(http.MethodGet, "/v1/reports/{reportId}", Reports).knowing(),
		keyed(http.MethodPatch, "/v1/reports/{reportId}", Reports, apikey.ReportManage),
		operatedBy(http.MethodGet, "/v1/admin/reports/subjects", Reports).reads("walletAddress", "mode"),
		operatedBy(http.MethodGet, "/v1/admin/reports/confirmations", Reports).reads("state", "mode", "merchants", "limit", "cursor"),
		operatedBy(http.MethodPost, "/v1/admin/reports/confirmations", Reports),
		operatedBy(http.MethodGet, "/v1/admin/reports/floods", Reports).reads("mode", "limit", "cursor"),

		keyed(http.MethodGet, "/v1/webhooks/secret", Dispatcher, apikey.WebhookManage),
		keyed(http.MethodPost, "/v1/webhooks/secret/rotate", Dispatcher, apikey.WebhookManage).carrying(),

		keyed(http.MethodGet, "/v1/webhooks/endpoints", Dispatcher, apikey.WebhookManage).reads("limit", "cursor"),
		keyed(http.MethodPost, "/v1/webhooks/endpoints", Dispatcher, apikey.WebhookManage).whole(),
		keyed(http.MethodGet, "/v1/webhooks/endpoints/{id}", Dispatcher, apikey.WebhookManage),
		keyed(http.MethodPatch, "/v1/webhooks/endpoints/{id}", Dispatcher, apikey.WebhookManage),
		keyed(http.MethodDelete, "/v1/webhooks/endpoints/{id}", Dispatcher, apikey.WebhookManage),
		keyed(http.MethodPost, "/v1/webhooks/endpoints/{id}/test", Dispatcher, apikey.WebhookManage),
		keyed(http.MethodGet, "/v1/webhooks/endpoints/{id}/secret", Dispatcher, apikey.WebhookManage),
		keyed(http.MethodPost, "/v1/webhooks/endpoints/{id}/secret/rotate", Dispatcher, apikey.WebhookManage),
		keyed(http.MethodPost, "/v1/webhooks/endpoints/{id}/rotate", Dispatcher, apikey.WebhookManage),
		keyed(http.MethodGet, "/v1/webhooks/deliveries", Dispatcher, apikey.WebhookManage).
			reads("limit", "cursor", "endpointId", "eventId", "objectId", "type", "status").merging(List{Member: "deliveries"}),
		keyed(http.MethodGet, "/v1/webhooks/deliveries/{id}", Dispatcher, apikey.WebhookManage),
		keyed(http.MethodPost, "/v1/webhooks/deliveries/{id}/retry", Dispatcher, apikey.WebhookManage),
		keyed(http.MethodPost, "/v1/webhooks/replays", Dispatcher, apikey.WebhookManage).choosing(),
		keyed(http.MethodGet, "/v1/webhooks/replays/{id}", Dispatcher, apikey.WebhookManage),
		keyed(http.MethodPost, "/v1/webhooks/replays/{id}/pause", Dispatcher, apikey.WebhookManage),
		keyed(http.MethodPost, "/v1/webhooks/replays/{id}/resume", Dispatcher, apikey.WebhookManage),
		keyed(http.MethodGet, "/v1/events", Dispatcher, apikey.WebhookManage).reads("limit", "cursor", "type", "from").choosing(),

		keyed(http.MethodGet, "/v1/me", Self, ""),
		keyed(http.MethodGet, "/v1/merchant", Self, ""),
		keyed(http.MethodPost, "/v1/merchant", Self, apikey.MerchantCreate),
		keyed(http.MethodPatch, "/v1/merchant", Self, apikey.MerchantManage),
		keyed(http.MethodPost, "/v1/keys", Self, apikey.KeyManage),
		keyed(http.MethodGet, "/v1/keys", Self, apikey.KeyManage).reads("limit", "cursor"),
		keyed(http.MethodGet, "/v1/keys/{id}", Self, apikey.KeyManage),
		keyed(http.MethodPatch, "/v1/keys/{id}", Self, apikey.KeyManage),
		keyed(http.MethodDelete, "/v1/keys/{id}", Self, apikey.KeyManage),
		keyed(http.MethodPost, "/v1/keys/{id}/rotate", Self, apikey.KeyManage),

		operated(http.MethodPost, "/v1/admin/merchants"),
		operated(http.MethodGet, "/v1/admin/merchants").reads("status", "search", "limit", "cursor"),
		operated(http.MethodGet, "/v1/admin/merchants/{merchantId}"),
		operated(http.MethodPatch, "/v1/admin/merchants/{merchantId}"),
		operated(http.MethodPost, "/v1/admin/merchants/{merchantId}/approve"),
		operated(http.MethodPost, "/v1/admin/merchants/{merchantId}/suspend"),
		operated(http.MethodPost, "/v1/admin/merchants/{merchantId}/resume"),
		operated(http.MethodPost, "/v1/admin/keys"),
		operated(http.MethodGet, "/v1/admin/keys").reads("merchantId", "mode", "limit", "cursor"),
		operated(http.MethodGet, "/v1/admin/keys/{id}"),
		operated(http.MethodPatch, "/v1/admin/keys/{id}"),
		operated(http.MethodDelete, "/v1/admin/keys/{id}"),
		operated(http.MethodPost, "/v1/admin/keys/{id}/rotate"),
		operated(http.MethodGet, "/v1/admin/operators/passkeys"),
		operated(http.MethodPost, "/v1/admin/operators/passkeys"),
		operated(http.MethodDelete, "/v1/admin/operators/passkeys/{id}"),
		operated(http.MethodGet, "/v1/admin/operators"),
		operated(http.MethodPost, "/v1/admin/operators"),
		operated(http.MethodDelete, "/v1/admin/operators/{id}"),
		operated(http.MethodPost, "/v1/admin/operators/{id}/rotate"),
		operated(http.MethodGet, "/v1/admin/audit").reads("actor", "act", "object", "from", "to", "limit", "cursor"),
		{
			Method: http.MethodGet, Pattern: "/v1/admin/payments", Upstream: Payments, Access: Operated, Member: "reference", Query: []string{
				"status", "type", "from", "to", "txHash", "address", "reference", "merchantId", "mode", "exception", "merchantReference", "payout", "accountEnds",
				"limit", "cursor",
			},
		},
		operatedBy(http.MethodGet, "/v1/admin/payments/{reference}", Payments),
		operatedBy(http.MethodPost, "/v1/admin/payments/{reference}/resolve", Payments),
		operatedBy(http.MethodPost, "/v1/admin/payments/{reference}/refund-address/confirm", Payments),
		operatedBy(http.MethodGet, "/v1/admin/holds", Payments).reads("limit", "cursor"),
		operatedBy(http.MethodGet, "/v1/admin/pauses", Payments).reads("limit", "cursor"),
		operatedBy(http.MethodPost, "/v1/admin/pauses", Payments),
		operatedBy(http.MethodDelete, "/v1/admin/pauses/{id}", Payments),
		operatedBy(http.MethodGet, "/v1/admin/payouts", Payments).reads("limit", "cursor"),
		operatedBy(http.MethodPost, "/v1/admin/payouts/{id}/ask", Payments),
		operatedBy(http.MethodPost, "/v1/admin/payouts/{id}/conclude", Payments),
		operatedBy(http.MethodPost, "/v1/admin/payments/{reference}/refunds", Payments),
		operatedBy(http.MethodGet, "/v1/admin/refunds", Payments).reads("limit", "cursor"),
		operatedBy(http.MethodPost, "/v1/admin/refunds/{id}/approve", Payments),
		operatedBy(http.MethodPost, "/v1/admin/refunds/{id}/refuse", Payments),
		operatedBy(http.MethodPost, "/v1/admin/refunds/{id}/cancel", Payments),
		operatedBy(http.MethodGet, "/v1/admin/wallets/withdrawals", Payments).reads("limit", "cursor"),
		operatedBy(http.MethodPost, "/v1/admin/wallets/withdrawals/{id}/approve", Payments),
		operatedBy(http.MethodPost, "/v1/admin/wallets/withdrawals/{id}/refuse", Payments),
		operatedBy(http.MethodPost, "/v1/admin/wallets/withdrawals/{id}/cancel", Payments),
		operatedBy(http.MethodGet, "/v1/admin/withdrawals", Payments).reads("status", "limit", "cursor"),
		operatedBy(http.MethodPost, "/v1/admin/withdrawals/{id}/approve", Payments),
		operatedBy(http.MethodPost, "/v1/admin/withdrawals/{id}/refuse", Payments),
		operatedBy(http.MethodGet, "/v1/admin/deposits/unattributed", Payments).reads("limit", "cursor"),
		operatedBy(http.MethodPost, "/v1/admin/deposits/adopt", Payments),
		operatedBy(http.MethodGet, "/v1/admin/differences", Payments).reads("status", "limit", "cursor"),
		operatedBy(http.MethodGet, "/v1/admin/fee-schedules", Payments).reads("fiatCurrency", "mode", "merchantId", "limit", "cursor"),
		operatedBy(http.MethodPost, "/v1/admin/fee-schedules", Payments),
		operatedBy(http.MethodGet, "/v1/admin/fee-schedules/{id}", Payments),
		operatedBy(http.MethodGet, "/v1/admin/unclaimed", Payments).reads("status", "limit", "cursor"),
		{Method: http.MethodPost, Pattern: "/v1/admin/unclaimed", Upstream: Payments, Access: Operated, Member: "paymentId"},
		operatedBy(http.MethodPost, "/v1/admin/unclaimed/{id}/return", Payments),
		operatedBy(http.MethodGet, "/v1/admin/owed", Payments).reads("mode", "to", "asset", "olderThanDays", "format", "limit", "cursor"),
		operatedBy(http.MethodGet, "/v1/admin/treasury", Payments).reads("mode", "day", "format"),
		operatedLong(http.MethodGet, "/v1/admin/journals", Payments).reads("month", "mode"),
		operatedBy(http.MethodGet, "/v1/admin/closes", Payments).reads("limit", "cursor"),
		operatedBy(http.MethodGet, "/v1/admin/rails", Payments),
		operatedBy(http.MethodGet, "/v1/admin/address-stock", Payments),
		operatedBy(http.MethodGet, "/v1/admin/screenings", Payments).reads("mode", "stage", "limit", "cursor"),
		operatedBy(http.MethodGet, "/v1/admin/networks", Wallets),
		operatedBy(http.MethodPost, "/v1/admin/networks/{network}/rescan", Wallets),
		operatedBy(http.MethodGet, "/v1/admin/rescans", Wallets).reads("limit", "cursor"),
		operatedBy(http.MethodGet, "/v1/admin/sweeps", Wallets).reads("network", "state", "limit", "cursor"),
		operatedBy(http.MethodPost, "/v1/admin/sweeps/{id}/release", Wallets),
		operatedBy(http.MethodGet, "/v1/admin/stations", Wallets),
		operatedBy(http.MethodGet, "/v1/admin/address-pools", Wallets),
		operated(http.MethodGet, "/v1/admin/health/gateway"),
		operatedBy(http.MethodGet, "/v1/admin/health/payments", Payments),
		operatedBy(http.MethodGet, "/v1/admin/health/wallets", Wallets),
		operatedBy(http.MethodGet, "/v1/admin/health/reports", Reports),
		operatedBy(http.MethodGet, "/v1/admin/health/callback-dispatcher", Dispatcher),
		operated(http.MethodGet, "/v1/admin/health/console"), // a system may have no console, so the gateway asks it
		operated(http.MethodGet, "/v1/admin/health/console-operators"),
		operatedBy(http.MethodGet, "/v1/admin/deliveries", Dispatcher).
			reads("merchantId", "mode", "status", "endpointId", "eventId", "objectId", "type", "limit", "cursor"),
		operatedBy(http.MethodPost, "/v1/admin/deliveries/{id}/retry", Dispatcher),
		operatedBy(http.MethodGet, "/v1/admin/dead-messages", Dispatcher).reads("limit", "cursor"),
		operatedBy(http.MethodPost, "/v1/admin/dead-messages/{id}/replay", Dispatcher),

		page(http.MethodGet, "/pay/{reference}").reads("pair", "named", "lang"),
		page(http.MethodPost, "/pay/{reference}/fulfill").reads("lang"),
		page(http.MethodPost, "/pay/{reference}/simulate").reads("lang"),
		page(http.MethodPost, "/pay/{reference}/transaction").reads("lang"),
		page(http.MethodPost, "/pay/{reference}/refund-address").reads("lang").proposing(),
		page(http.MethodGet, "/link/{id}").reads("pair", "lang"),
		page(http.MethodPost, "/link/{id}").reads("lang").proposing(),
		page(http.MethodGet, "/claim/{reference}").reads("bank", "lang"),
		{Method: http.MethodPost, Pattern: "/claim/{reference}", Upstream: Self, Access: Open, Guess: true, Names: true, Page: true, Query: []string{"lang"}},
		page(http.MethodPost, "/claim/{reference}/confirm").reads("lang"),
		{Method: http.MethodGet, Pattern: "/assets/{name}", Upstream: Self, Access: Open, Static: true, Query: []string{"v"}},
		open(http.MethodGet, "/logos/{name}", Self),
		{Method: http.MethodGet, Pattern: "/", Upstream: Self, Access: Open, Static: true, Page: true, Query: []string{"lang"}},
		{Method: http.MethodGet, Pattern: "/docs", Upstream: Self, Access: Open, Static: true},
		{Method: http.MethodGet, Pattern: "/guide", Upstream: Self, Access: Open, Static: true},
		{Method: http.MethodGet, Pattern: "/openapi.yaml", Upstream: Self, Access: Open, Static: true},
	}
}
