//go:build integration

package browser

import (
	"net/http"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/wire"
)

// TestConsoleHits: a hit leads from the list to each decision about its money. Nothing is decided without a reason and
// a passkey, the money that an operator accepts is paid, and nothing is left to decide then.
func TestConsoleHits(t *testing.T) {
	t.Parallel()
	const hits = "/operators/screenings?mode=test&stage=deposit"
	b := openConsole(t, desktop)
	name := "hit.n" + once()
	b.operate(name, "operator")
	ref := b.create(nil)
	b.api.Call(t, http.MethodPost, "/v1/sandbox/payments/"+ref+"/deposits", api.Object{"outcome": "screening_hold"}).Want(t, http.StatusOK)
	api.Eventually(t, within, "the money to be held, and deep enough to be accepted", func() bool {
		takes, _ := b.api.Call(t, http.MethodGet, "/v1/checkout/"+ref, nil).Want(t, http.StatusOK).At("payment.takesRefundAddress")
		return takes == true && b.read(ref).Text(t, "payment.status") == "needs_review"
	})
	seen := b.api.With(b.stack.AdminToken).Call(t, http.MethodGet, "/v1/admin/payments/"+ref, nil).Want(t, http.StatusOK)
	payment := "/operators/payments/" + seen.Text(t, "payment.id")
	for _, list := range []string{hits, "/operators/holds"} {
		b.visit(list)
		for _, act := range []string{"accept", "retry-payout", "mark-refunded", "refund"} {
			b.see(`a[href="` + payment + "/" + act + `"]`)
		}
		b.accessible(list)
		b.shoot("decisions")
		b.fits(list)
		b.resize(desktop.width)
	}

	b.visit(hits)
	b.submit(`a[href="` + payment + `/accept"]`)
	b.expect("422")
	js[bool](b, `document.querySelector("main form").noValidate = true`)
	b.submit("main form .button")
	b.shows("Fill this in")
	b.order("looked at by " + name)
	if got := b.read(ref).Text(t, "payment.status"); got != "needs_review" {
		t.Fatalf("read the payment before the passkey: got %s, want needs_review", got)
	}
	b.submit("[data-passkey]")
	b.shows("Done")
	api.Eventually(t, within, "the payment to settle", func() bool { return b.read(ref).Text(t, "payment.status") == "settled" })
	b.visit(hits)
	if js[bool](b, `document.querySelector('a[href^="`+payment+`/"]') !== null`) {
		t.Error("a hit of a payment that is settled still has decisions")
	}
}

// TestConsoleDeadQueues: a message that no service can handle is on the pages of operators, with its queue, since when,
// and the command that shows it, until an operator has typed what became of it.
func TestConsoleDeadQueues(t *testing.T) {
	t.Parallel()
	const queue, shownBy = wire.Payments + "." + string(wire.HoldingsReadV1) + ".dead", "payments dead list"
	b := openConsole(t, desktop)
	b.follow(consoleLink(t, "console-operators", "create-operator", "--name", "dead.n"+once()))
	conn, err := amqp.Dial(b.stack.Brokers[wire.Wallets])
	if err != nil {
		t.Fatalf("connect to the broker: %v", err)
	}
	defer conn.Close()
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	id := "msg_unsigned" + once()
	err = channel.PublishWithContext(t.Context(), wire.Wallets, string(wire.HoldingsReadV1), true, false, amqp.Publishing{
		MessageId: id, Type: string(wire.HoldingsReadV1), AppId: wire.Wallets, DeliveryMode: amqp.Persistent, Body: []byte("{}"),
	})
	if err != nil {
		t.Fatalf("publish a message: %v", err)
	}
	listed := func() bool {
		b.visit("/operators/dead")
		return strings.Contains(b.text(), queue)
	}
	api.Eventually(t, within, "the dead queue to be listed", listed)
	b.shows("Dead messages at the broker", shownBy, "docs/runbooks/dead-messages.md")
	since := js[string](b, `[...document.querySelectorAll("tr")].find((row) => row.innerText.includes("`+queue+`")).querySelector("time").dateTime`)
	if !strings.HasPrefix(since, "20") {
		t.Errorf("read since when the queue is not empty: got %q, want a time", since)
	}
	b.accessible("dead queues")
	b.shoot("dead-queues")
	b.fits("dead queues")
	b.resize(desktop.width)
	b.visit("/operators/attention")
	b.shows("Dead messages at the broker", queue)
	command(t, "payments", "dead", "discard", "--reason", "made by a test", id)
	api.Eventually(t, within, "the dead queue to be empty", func() bool { return !listed() })
}
