package merchant

import (
	"encoding/json"
	"net/url"
	"strings"

	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/web"
)

type delivery struct {
	ID, EventID, EndpointID, URL, Type, ObjectID, Status string
	Sequence                                             int64
	AttemptCount                                         int
	NextAttemptAt, CreatedAt, FinishedAt                 string
	Attempts                                             []attempt
}

// MayRetry reports whether the delivery can be sent again.
func (d delivery) MayRetry() bool { return d.Status != "pending" && d.Status != "held" }

// Last is the newest attempt; nil before the first.
func (d delivery) Last() *attempt {
	if len(d.Attempts) == 0 {
		return nil
	}
	return &d.Attempts[len(d.Attempts)-1]
}

type attempt struct {
	Number          int
	Trigger, At     string
	Class           string
	Status          json.Number
	LatencyMs       struct{ DNS, Connect, TLS, Wait, Total json.Number }
	Excerpt         string
	ExcerptEncoding string
}

// Milliseconds is the duration of the attempt, rounded down to a whole number.
func (a attempt) Milliseconds() string {
	whole, _, _ := strings.Cut(a.LatencyMs.Total.String(), ".")
	return whole
}

type deliveryList struct {
	Deliveries []delivery
	Pagination pagination
}

type deliveriesPage struct {
	Deliveries []delivery
	Pager      *web.Pager
	Statuses   []string
	Endpoints  []endpoint
}

func listDeliveries(v *web.Visit) error {
	p := deliveriesPage{Pager: v.NewPager(), Statuses: []string{"pending", "retrying", "held", "delivered", "exhausted"}}
	var list deliveryList
	if err := v.API.Get(v.Context(), "/v1/webhooks/deliveries", query(v, p.Pager, "status", "endpointId", "objectId", "eventId", "type"), &list); err != nil {
		return err
	}
	p.Deliveries = list.Deliveries
	v.More(p.Pager, list.Pagination.NextCursor)
	return v.Render("deliveries", "deliveries.title", p)
}

func readDelivery(v *web.Visit) (delivery, error) {
	var answer struct{ Delivery delivery }
	err := v.API.Get(v.Context(), api.Path("v1", "webhooks", "deliveries", v.Param("id")), nil, &answer)
	return answer.Delivery, err
}

func showDelivery(v *web.Visit) error {
	d, err := readDelivery(v)
	if err != nil {
		return err
	}
	return v.Render("delivery", "delivery.title", struct{ D delivery }{d})
}

func versionDelivery(v *web.Visit) (string, error) {
	d, err := readDelivery(v)
	return version(d), err
}

// retryDelivery sends a delivery again, and leads back to the page of the button.
func retryDelivery(v *web.Visit) error {
	f := v.Form(nil)
	if err := v.API.Post(v.Context(), api.Path("v1", "webhooks", "deliveries", v.Param("id"), "retry"), f.Key, nil, nil); err != nil {
		return err
	}
	v.Notice("delivery.again")
	if reference := f.Get("payment"); reference != "" {
		return v.Redirect("/payments/" + url.PathEscape(reference))
	}
	return v.Redirect("/deliveries/" + url.PathEscape(v.Param("id")))
}
