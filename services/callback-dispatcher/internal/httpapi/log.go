package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/libs/wire"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

// pagination is that of docs/api-contract.md#pagination.
type pagination struct {
	Limit      int     `json:"limit"`
	NextCursor *string `json:"nextCursor"`
	HasMore    bool    `json:"hasMore"`
}

func (p *pagination) more(place string) { p.at(place); p.HasMore = true }

func (p *pagination) at(place string) {
	c := base64.RawURLEncoding.EncodeToString([]byte(place))
	p.NextCursor = &c
}

const cursorMax = 200

func readCursor(in *httpkit.Input) string {
	text := in.Query("cursor")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(text) > cursorMax || !utf8.Valid(raw) || strings.ContainsRune(string(raw), 0) {
		in.Problems.Add("cursor", "is not a cursor of this list")
		return ""
	}
	return string(raw)
}

func readTime(in *httpkit.Input, name, text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Year() < 2000 || at.Year() > 2200 {
		in.Problems.Add(name, "must be an ISO 8601 time such as 2026-04-01T13:30:00.000Z")
		return time.Time{}
	}
	return at
}

func plain(in *httpkit.Input, name string) string {
	text := in.Query(name)
	if len(text) > 100 || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		in.Problems.Add(name, "must have at most 100 characters")
		return ""
	}
	return text
}

func readType(in *httpkit.Input) string {
	text := plain(in, "type")
	if text != "" && !wire.IsEventType(text) {
		in.Problems.Add("type", "%q is not an event type", text)
		return ""
	}
	return text
}

type deliveryPage struct {
	page
	filter app.DeliveryFilter
}

// Read implements httpkit.Reader.
func (p *deliveryPage) Read(in *httpkit.Input) {
	p.page.Read(in)
	p.filter = app.DeliveryFilter{
		Before: p.after, EndpointID: plain(in, "endpointId"), EventID: plain(in, "eventId"), ObjectID: plain(in, "objectId"), Type: readType(in),
		Status: in.QueryOneOf("status", "pending", "retrying", "held", "delivered", "exhausted", "all"),
	}
	if p.filter.Status == "all" {
		p.filter.Status = ""
	}
}

type deliveryView struct {
	ID          string        `json:"id"`
	EventID     string        `json:"eventId"`
	EndpointID  *string       `json:"endpointId"`
	URL         string        `json:"url"`
	Type        string        `json:"type"`
	ObjectID    string        `json:"objectId"`
	Sequence    int64         `json:"sequence"`
	Status      string        `json:"status"`
	Attempts    int           `json:"attemptCount"`
	NextAt      *string       `json:"nextAttemptAt"`
	CreatedAt   string        `json:"createdAt"`
	FinishedAt  *string       `json:"finishedAt"`
	AttemptList []attemptView `json:"attempts"`
}

type attemptView struct {
	Number   int         `json:"number"`
	Trigger  string      `json:"trigger"`
	At       string      `json:"at"`
	Class    string      `json:"class"`
	Status   *int        `json:"status"`
	Latency  latencyView `json:"latencyMs"`
	Excerpt  string      `json:"excerpt"`
	Encoding string      `json:"excerptEncoding"`
}

// latencyView is in milliseconds, to the microsecond.
type latencyView struct {
	DNS     json.Number `json:"dns"`
	Connect json.Number `json:"connect"`
	TLS     json.Number `json:"tls"`
	Wait    json.Number `json:"wait"`
	Total   json.Number `json:"total"`
}

func millis(d time.Duration) json.Number {
	us := d.Microseconds()
	text := strconv.FormatInt(us/1000, 10)
	if us%1000 != 0 {
		text += "." + strings.TrimRight(strconv.FormatInt(1000+us%1000, 10)[1:], "0")
	}
	return json.Number(text)
}

// orNull is the text of a time that may be absent.
func orNull(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return timestamp.OrNull(*t)
}

// viewDelivery shows an excerpt that does not open as an empty one.
func (a *api) viewDelivery(v app.DeliveryView) deliveryView {
	out := deliveryView{
		ID: v.ID, EventID: v.EventID, URL: v.URL, Type: v.Type, ObjectID: v.ObjectID, Sequence: v.Sequence, Status: v.Status, Attempts: v.Made,
		NextAt: orNull(v.NextAt), CreatedAt: timestamp.Text(v.CreatedAt), FinishedAt: orNull(v.DoneAt), AttemptList: make([]attemptView, len(v.Attempts)),
	}
	if v.EndpointID != "" {
		out.EndpointID = &v.EndpointID
	}
	for i, t := range v.Attempts {
		excerpt, err := a.Bodies.Open(t.Excerpt, app.ExcerptPlace(v.ID))
		if err != nil {
			excerpt = nil
		}
		one := attemptView{
			Number: t.Number, Trigger: t.Trigger, At: timestamp.Text(t.At), Class: t.Class, Excerpt: string(excerpt), Encoding: "utf8",
			Latency: latencyView{DNS: millis(t.DNS), Connect: millis(t.Connect), TLS: millis(t.TLS), Wait: millis(t.Wait), Total: millis(t.Total)},
		}
		if t.Status != 0 {
			one.Status = &t.Status
		}
		if !utf8.Valid(excerpt) || strings.ContainsRune(one.Excerpt, 0) {
			one.Excerpt, one.Encoding = base64.StdEncoding.EncodeToString(excerpt), "base64"
		}
		out.AttemptList[i] = one
	}
	return out
}

type deliveryAnswer struct {
	Delivery deliveryView `json:"delivery"`
}

type deliveriesAnswer struct {
	Deliveries []deliveryView `json:"deliveries"`
	Pagination pagination     `json:"pagination"`
}

func (a *api) listDeliveries(ctx context.Context, p deliveryPage) (out deliveriesAnswer, err error) {
	list, err := a.Log.Deliveries(ctx, owner(ctx), p.filter, p.limit+1)
	if err != nil {
		return out, err
	}
	out.Pagination.Limit = p.limit
	if len(list) > p.limit {
		list = list[:p.limit]
		out.Pagination.more(list[p.limit-1].ID)
	}
	out.Deliveries = make([]deliveryView, len(list))
	for i, v := range list {
		out.Deliveries[i] = a.viewDelivery(v)
	}
	return out, nil
}

func (a *api) getDelivery(ctx context.Context, in one) (deliveryAnswer, error) {
	return a.delivery(ctx, owner(ctx), in.id)
}

func (a *api) delivery(ctx context.Context, o tenant.Owner, id string) (deliveryAnswer, error) {
	list, err := a.Log.Deliveries(ctx, o, app.DeliveryFilter{ID: id}, 1)
	if err == nil && len(list) == 0 {
		err = app.ErrDeliveryUnknown
	}
	if err != nil {
		return deliveryAnswer{}, err
	}
	return deliveryAnswer{a.viewDelivery(list[0])}, nil
}

type retryAnswer struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

func (a *api) retryDelivery(ctx context.Context, in one) (idempotency.Answer, error) {
	return a.Log.Retry(ctx, owner(ctx), in.id, httpkit.From(ctx).Key(), func(string) ([]byte, error) {
		return httpkit.Success(struct {
			Delivery retryAnswer `json:"delivery"`
		}{retryAnswer{in.id, "retrying"}})
	})
}

type eventPage struct {
	limit  int
	filter app.EventFilter
}

// Read implements httpkit.Reader.
func (p *eventPage) Read(in *httpkit.Input) {
	p.limit = in.QueryInt("limit", pageDefault, 1, pageMost)
	p.filter.Type = readType(in)
	p.filter.From = readTime(in, "from", in.Query("from"))
	if place := readCursor(in); place != "" {
		tx, after, ok := strings.Cut(place, ".")
		n, err := strconv.ParseUint(tx, 10, 63)
		if !ok || err != nil {
			in.Problems.Add("cursor", "is not a cursor of this list")
		}
		p.filter.AfterTx, p.filter.AfterID = n, after
	}
}

type eventsAnswer struct {
	Events     []json.RawMessage `json:"events"`
	Pagination pagination        `json:"pagination"`
}

// listEvents answers the webhook bodies as they were stored. There is always a cursor once there was an event, so
// that a reader that has caught up comes back to where it stopped. An event that does not open is left out: it must
// not hide those behind it.
func (a *api) listEvents(ctx context.Context, p eventPage) (out eventsAnswer, err error) {
	o := owner(ctx)
	list, err := a.Log.Events(ctx, o, p.filter, p.limit+1)
	if err != nil {
		return out, err
	}
	out.Pagination.Limit = p.limit
	if out.Pagination.HasMore = len(list) > p.limit; out.Pagination.HasMore {
		list = list[:p.limit]
	}
	if p.filter.AfterTx != 0 {
		out.Pagination.at(strconv.FormatUint(p.filter.AfterTx, 10) + "." + p.filter.AfterID)
	}
	out.Events = make([]json.RawMessage, 0, len(list))
	for _, v := range list {
		out.Pagination.at(strconv.FormatUint(v.Tx, 10) + "." + v.ID)
		body, err := a.Bodies.Open(v.Body, wire.BodyPlace(v.ID))
		if err != nil {
			a.Unopened(ctx, o.MerchantID, v.ID, err)
			continue
		}
		out.Events = append(out.Events, body)
	}
	return out, nil
}

type replayInput struct {
	replay app.Replay
	toSet  bool
	dryRun bool
}

// Read implements httpkit.Reader.
func (p *replayInput) Read(in *httpkit.Input) {
	b := in.Body()
	r := &p.replay
	r.EndpointID = b.Text("endpointId", cursorMax)
	r.From = readTime(in, "from", b.RequiredText("from", cursorMax))
	r.To = readTime(in, "to", b.Text("to", cursorMax))
	p.toSet = !r.To.IsZero()
	if p.toSet && !r.From.IsZero() && !r.To.After(r.From) {
		b.Problem("to", "must be later than from")
	}
	switch status := b.Text("status", cursorMax); status {
	case "", "exhausted":
		r.States = []string{"exhausted"}
	case "delivered":
		r.States = []string{"delivered"}
	case "all":
		r.States = []string{"exhausted", "delivered"}
	default:
		b.Problem("status", "must be one of exhausted, delivered, all")
	}
	r.Types = readTypes(b)
	if r.Types == nil {
		r.Types = []string{}
	}
	p.dryRun, _ = b.Bool("dryRun")
}

type replayView struct {
	ID         *string  `json:"id"`
	EndpointID *string  `json:"endpointId"`
	From       string   `json:"from"`
	To         string   `json:"to"`
	Statuses   []string `json:"statuses"`
	Types      []string `json:"types"`
	State      string   `json:"state"`
	Total      int64    `json:"total"`
	Sent       int64    `json:"sent"`
	CreatedAt  *string  `json:"createdAt"`
}

type replayAnswer struct {
	Replay replayView `json:"replay"`
}

func viewReplay(r app.Replay) replayAnswer {
	v := replayView{
		From: timestamp.Text(r.From), To: timestamp.Text(r.To), Statuses: r.States, Types: r.Types, State: r.State, Total: r.Total, Sent: r.Sent,
		CreatedAt: timestamp.OrNull(r.CreatedAt),
	}
	if r.ID != "" {
		v.ID = &r.ID
	}
	if r.EndpointID != "" {
		v.EndpointID = &r.EndpointID
	}
	return replayAnswer{v}
}

func (a *api) createReplay(ctx context.Context, in replayInput) (idempotency.Answer, error) {
	o := owner(ctx)
	r := in.replay
	now := a.Now().UTC().Truncate(time.Millisecond)
	r.MerchantID, r.Mode, r.State = o.MerchantID, o.Mode, "dry_run"
	if !in.toSet || r.To.After(now) {
		r.To = now
	}
	if r.EndpointID != "" {
		e, err := a.Endpoints.Get(ctx, o, r.EndpointID)
		if err != nil {
			return idempotency.Answer{}, err
		}
		if !e.Enabled && !in.dryRun {
			return idempotency.Answer{}, app.ErrEndpointDisabled
		}
	}
	if !r.From.Before(r.To) {
		return idempotency.Answer{}, fault.New(fault.Invalid, "validation_failed", "from: must be earlier than now and than to")
	}
	total, err := a.Replays.CountReplay(ctx, r)
	if err != nil {
		return idempotency.Answer{}, err
	}
	r.Total = total
	if in.dryRun {
		body, err := httpkit.Success(viewReplay(r))
		return idempotency.Answer{Status: http.StatusOK, Body: body}, err
	}
	r.ID, r.State, r.CreatedAt = id.Placed(app.ReplayPrefix, a.Shard, now), app.ReplayRunning, now
	body, err := httpkit.Success(viewReplay(r))
	if err != nil {
		return idempotency.Answer{}, err
	}
	return a.Replays.AddReplay(ctx, r, app.ReplaysMax, httpkit.From(ctx).Key(), body)
}

func (a *api) getReplay(ctx context.Context, in one) (replayAnswer, error) {
	r, err := a.Replays.ReplayOf(ctx, owner(ctx), in.id)
	return viewReplay(r), err
}

func (a *api) pauseReplay(ctx context.Context, in one) (replayAnswer, error) {
	return a.turnReplay(ctx, in.id, app.ReplayPaused)
}

func (a *api) resumeReplay(ctx context.Context, in one) (replayAnswer, error) {
	return a.turnReplay(ctx, in.id, app.ReplayRunning)
}

func (a *api) turnReplay(ctx context.Context, id, state string) (replayAnswer, error) {
	r, err := a.Replays.TurnReplay(ctx, owner(ctx), id, state)
	return viewReplay(r), err
}
