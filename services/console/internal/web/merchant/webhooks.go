package merchant

import (
	"net/url"
	"strings"
	"time"

	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/web"
)

type endpoint struct {
	ID, URL, Description                                           string
	Types                                                          []string
	Enabled                                                        bool
	DisabledAt, DisabledReason, FailingSince, CreatedAt, UpdatedAt string
}

// State is the state of the endpoint: disabled, failing or fine.
func (e endpoint) State() string {
	switch {
	case !e.Enabled:
		return "disabled"
	case e.FailingSince != "":
		return "failing"
	}
	return "fine"
}

type webhooksPage struct {
	Endpoints []endpoint
	Pager     *web.Pager
}

func listEndpoints(v *web.Visit) error {
	p := webhooksPage{Pager: v.NewPager()}
	var list struct {
		Endpoints  []endpoint
		Pagination pagination
	}
	if err := v.API.Get(v.Context(), "/v1/webhooks/endpoints", query(v, p.Pager), &list); err != nil {
		return err
	}
	p.Endpoints = list.Endpoints
	v.More(p.Pager, list.Pagination.NextCursor)
	return v.Render("webhooks", "webhooks.title", p)
}

func readEndpoint(v *web.Visit) (endpoint, error) {
	var answer struct{ Endpoint endpoint }
	err := v.API.Get(v.Context(), api.Path("v1", "webhooks", "endpoints", v.Param("id")), nil, &answer)
	return answer.Endpoint, err
}

type endpointPage struct {
	E          endpoint
	Deliveries []delivery
	Secret     string // shown once
}

func showEndpoint(v *web.Visit) error {
	e, err := readEndpoint(v)
	if err != nil {
		return err
	}
	p := endpointPage{E: e, Secret: v.Take("endpoint-secret")}
	var list deliveryList
	if err := v.API.Get(v.Context(), "/v1/webhooks/deliveries", url.Values{"endpointId": {e.ID}, "limit": {"10"}}, &list); err != nil {
		return err
	}
	p.Deliveries = list.Deliveries
	return v.Render("webhook", "webhooks.one", p)
}

func versionEndpoint(v *web.Visit) (string, error) {
	var list deliveryList
	err := v.API.Get(v.Context(), "/v1/webhooks/deliveries", url.Values{"endpointId": {v.Param("id")}, "limit": {"10"}}, &list)
	return version(list), err
}

// eventTypes are the types that an endpoint may choose.
func eventTypes() []string {
	return []string{
		"payment.created", "payment.pending", "payment.confirming", "payment.confirmed", "payment.settling", "payment.settled", "payment.expired",
		"payment.cancelled", "payment.needs_review", "payment.refunded", "payment.underpaid", "payment.overpaid", "payment.wrong_asset", "payment.reorged",
		"payment.refund_requested", "payment.refund_confirmed", "payment.refund_failed", "payment.refund_address_changed", "payment.refund_address_proposed",
		"wallet.watching", "wallet.deposit_detected", "wallet.confirmed", "wallet.swept", "wallet.expired", "wallet.address_added",
		"wallet.withdrawal_requested", "wallet.withdrawal_sent", "wallet.withdrawal_confirmed", "wallet.withdrawal_failed",
		"withdrawal.requested", "withdrawal.approved", "withdrawal.sending", "withdrawal.paid", "withdrawal.failed", "withdrawal.returned",
		"settlement_account.added", "settlement_account.confirmed", "settlement_account.deleted", "report.created", "report.updated",
		"webhook.endpoint_failing", "webhook.endpoint_disabled",
	}
}

type endpointForm struct {
	Form  *web.Form
	Types []string
	ID    string // of an endpoint that exists
}

func askEndpoint(v *web.Visit) error {
	return v.Render("webhook-edit", "webhooks.new", endpointForm{v.Form(nil), eventTypes(), ""})
}

func createEndpoint(v *web.Visit) error {
	f := v.Form(nil)
	again := func() error { return v.Refuse("webhook-edit", "webhooks.new", endpointForm{f, eventTypes(), ""}) }
	if !v.Need(f, "url") {
		return again()
	}
	var made struct{ Endpoint endpoint }
	body := map[string]any{"url": f.Get("url"), "description": f.Get("description"), "types": chosenTypes(f)}
	if err := v.API.Post(v.Context(), "/v1/webhooks/endpoints", f.Key, body, &made); err != nil {
		if !v.Refused(f, err, "url", "url", "description", "description", "types", "types") {
			return err
		}
		return again()
	}
	v.Notice("webhooks.made")
	return v.Redirect("/webhooks/" + url.PathEscape(made.Endpoint.ID))
}

// chosenTypes are the types of the form; none means all.
func chosenTypes(f *web.Form) []string {
	if f.All("types") == nil {
		return []string{}
	}
	return f.All("types")
}

func askEdit(v *web.Visit) error {
	e, err := readEndpoint(v)
	if err != nil {
		return err
	}
	filled := url.Values{"url": {e.URL}, "description": {e.Description}, "types": e.Types}
	if e.Enabled {
		filled.Set("enabled", "yes")
	}
	return v.Render("webhook-edit", "webhooks.edit", endpointForm{v.Form(filled), eventTypes(), e.ID})
}

func changeEndpoint(v *web.Visit) error {
	f := v.Form(nil)
	body := map[string]any{
		"url": f.Get("url"), "description": f.Get("description"), "types": chosenTypes(f), "enabled": f.Get("enabled") == "yes",
	}
	err := v.API.Do(v.Context(), api.Call{Method: "PATCH", Path: api.Path("v1", "webhooks", "endpoints", v.Param("id")), Body: body}, nil)
	if err != nil {
		if !v.Refused(f, err, "url", "url", "description", "description", "types", "types") {
			return err
		}
		return v.Refuse("webhook-edit", "webhooks.edit", endpointForm{f, eventTypes(), v.Param("id")})
	}
	v.Notice("webhooks.changed")
	return v.Redirect("/webhooks/" + url.PathEscape(v.Param("id")))
}

// testEndpoint sends a test event and shows the attempt.
func testEndpoint(v *web.Visit) error {
	var made struct{ Delivery delivery }
	if err := v.API.Post(v.Context(), api.Path("v1", "webhooks", "endpoints", v.Param("id"), "test"), v.Form(nil).Key, nil, &made); err != nil {
		return err
	}
	return v.Redirect("/deliveries/" + url.PathEscape(made.Delivery.ID))
}

func deleteEndpoint(v *web.Visit) error {
	if err := v.API.Do(v.Context(), api.Call{Method: "DELETE", Path: api.Path("v1", "webhooks", "endpoints", v.Param("id"))}, nil); err != nil {
		return err
	}
	v.Notice("webhooks.deleted")
	return v.Redirect("/webhooks")
}

type secretPage struct {
	Form *web.Form
	E    endpoint
}

func askSecret(v *web.Visit) error {
	e, err := readEndpoint(v)
	if err != nil {
		return err
	}
	return v.Render("webhook-secret", "webhooks.secret", secretPage{v.Form(nil), e})
}

// showSecret keeps the secret in the session for the next page, which shows it once, so that no address and no cache
// has it. The button rotate makes a new secret first.
func showSecret(v *web.Visit) error {
	f := v.Form(nil)
	var answer struct{ Secret string }
	var err error
	path := api.Path("v1", "webhooks", "endpoints", v.Param("id"), "secret")
	switch f.Get("do") {
	case "rotate":
		err = v.API.Post(v.Context(), path+"/rotate", f.Key, map[string]bool{"revokePrevious": f.Get("revoke") == "yes"}, &answer)
	default:
		err = v.API.Get(v.Context(), path, nil, &answer)
	}
	if err != nil {
		if !v.Refused(f, err) {
			return err
		}
		e, err := readEndpoint(v)
		if err != nil {
			return err
		}
		return v.Refuse("webhook-secret", "webhooks.secret", secretPage{f, e})
	}
	v.Keep("endpoint-secret", answer.Secret)
	return v.Redirect("/webhooks/" + url.PathEscape(v.Param("id")))
}

type replay struct {
	ID, EndpointID, From, To, State, CreatedAt string
	Statuses, Types                            []string
	Total, Sent                                int64
}

// Percent is the finished part of the replay.
func (r replay) Percent() int64 {
	if r.Total == 0 {
		return 100
	}
	return 100 * r.Sent / r.Total
}

type replayForm struct {
	Form      *web.Form
	Endpoints []endpoint
	Found     *replay // of a look without sending
}

func newReplay(v *web.Visit, f *web.Form, found *replay, render func(page, title string, data any) error) error {
	var list struct{ Endpoints []endpoint }
	if err := v.API.Get(v.Context(), "/v1/webhooks/endpoints", url.Values{"limit": {"100"}}, &list); err != nil {
		return err
	}
	return render("replay-new", "replays.new", replayForm{f, list.Endpoints, found})
}

func askReplay(v *web.Visit) error {
	f := v.Form(url.Values{
		"endpoint": {v.Query("endpoint")}, "status": {"exhausted"}, "from": {time.Now().UTC().AddDate(0, 0, -1).Format("2006-01-02T15:04")},
	})
	return newReplay(v, f, nil, v.Render)
}

// createReplay first counts the deliveries, and sends them once the person has seen the number.
func createReplay(v *web.Visit) error {
	f := v.Form(nil)
	from, ok := moment(v, f, "from")
	if !ok {
		if f.OK() {
			f.Err("from", v.T("form.needed"))
		}
		return newReplay(v, f, nil, v.Refuse)
	}
	body := map[string]any{"from": from, "status": f.Get("status")}
	if to, ok := moment(v, f, "to"); ok {
		body["to"] = to
	}
	if id := f.Get("endpoint"); id != "" {
		body["endpointId"] = id
	}
	sends := f.Get("do") == "send"
	body["dryRun"] = !sends
	if !f.OK() {
		return newReplay(v, f, nil, v.Refuse)
	}
	key := f.Key
	if !sends {
		key = "" // a look is no act
	}
	var made struct{ Replay replay }
	if err := v.API.Post(v.Context(), "/v1/webhooks/replays", key, body, &made); err != nil {
		if !v.Refused(f, err, "from", "from", "to", "to", "endpointId", "endpoint", "status", "status") {
			return err
		}
		return newReplay(v, f, nil, v.Refuse)
	}
	if !sends {
		return newReplay(v, f, &made.Replay, v.Render)
	}
	return v.Redirect("/replays/" + url.PathEscape(made.Replay.ID))
}

// moment reads a time of a field of type datetime-local, in UTC.
func moment(v *web.Visit, f *web.Form, name string) (string, bool) {
	text := f.Get(name)
	if text == "" {
		return "", false
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339, time.DateOnly, "2006-01-02 15:04"} {
		if at, err := time.Parse(layout, strings.ToUpper(text)); err == nil {
			return at.UTC().Format("2006-01-02T15:04:05.000Z"), true
		}
	}
	f.Err(name, v.T("form.moment"))
	return "", false
}

func readReplay(v *web.Visit) (replay, error) {
	var answer struct{ Replay replay }
	err := v.API.Get(v.Context(), api.Path("v1", "webhooks", "replays", v.Param("id")), nil, &answer)
	return answer.Replay, err
}

func showReplay(v *web.Visit) error {
	r, err := readReplay(v)
	if err != nil {
		return err
	}
	return v.Render("replay", "replays.one", struct{ R replay }{r})
}

func versionReplay(v *web.Visit) (string, error) {
	r, err := readReplay(v)
	return version(r), err
}

func turnReplay(v *web.Visit) error {
	turn := "pause"
	if v.Form(nil).Get("turn") == "resume" {
		turn = "resume"
	}
	if err := v.API.Post(v.Context(), api.Path("v1", "webhooks", "replays", v.Param("id"), turn), "", nil, nil); err != nil {
		return err
	}
	return v.Redirect("/replays/" + url.PathEscape(v.Param("id")))
}
