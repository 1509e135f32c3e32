// Package mq gives an integration test a RabbitMQ virtual host of its own, with the topology that an administrator
// declares, the users of the services with their rights, and access to queues and connections. It needs a running
// broker, named by CAUSEWAY_TEST_AMQP_URL and CAUSEWAY_TEST_AMQP_API (its management plugin). Only tests import it.
package mq

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/libs/wire"
)

// callTimeout bounds one call of the management API.
const callTimeout = 2 * time.Minute // the machine may be busy

// New creates a virtual host with the given lines, or without any with the product's, and returns an administrator's
// AMQP URL. Both end with the test.
func New(t testing.TB, lines ...wire.Route) string {
	t.Helper()
	base, err := url.Parse(env(t, "CAUSEWAY_TEST_AMQP_URL"))
	if err != nil {
		t.Fatalf("CAUSEWAY_TEST_AMQP_URL: %v", err)
	}
	vhost := "test-" + strings.ToLower(rand.Text()[:12])
	call(t, http.MethodPut, "/api/vhosts/"+vhost, nil)
	t.Cleanup(func() { call(t, http.MethodDelete, "/api/vhosts/"+vhost, nil) })
	permissions := map[string]string{"configure": ".*", "write": ".*", "read": ".*"}
	call(t, http.MethodPut, "/api/permissions/"+vhost+"/"+base.User.Username(), permissions)
	base.Path = "/" + vhost
	if len(lines) == 0 {
		lines = wire.Topology()
	}
	Declare(t, base.String(), lines...)
	return base.String()
}

// Declare makes what the lines need, and restores missing parts, as an administrator.
func Declare(t testing.TB, amqpURL string, lines ...wire.Route) {
	t.Helper()
	conn, err := amqp.Dial(amqpURL)
	if err != nil {
		t.Fatalf("connecting to the broker: %v", err)
	}
	defer conn.Close() //nolint:errcheck // the declarations report their own failures
	channel, err := conn.Channel()
	if err != nil {
		t.Fatalf("opening a channel: %v", err)
	}
	declared := wire.Declare(lines)
	for _, e := range declared.Exchanges {
		if err := channel.ExchangeDeclare(e.Name, e.Type, e.Durable, e.AutoDelete, e.Internal, false, e.Arguments); err != nil {
			t.Fatalf("declaring exchange %s: %v", e.Name, err)
		}
	}
	for _, q := range declared.Queues {
		if _, err := channel.QueueDeclare(q.Name, q.Durable, q.AutoDelete, false, false, q.Arguments); err != nil {
			t.Fatalf("declaring queue %s: %v", q.Name, err)
		}
	}
	for _, b := range declared.Bindings {
		if err := channel.QueueBind(b.Queue, b.Key, b.Exchange, false, b.Arguments); err != nil {
			t.Fatalf("binding %s: %v", b.Queue, err)
		}
	}
}

// As makes a user of a service, with the rights that it has in production, and returns its AMQP URL. The user ends with
// the test.
func As(t testing.TB, amqpURL, service string) string {
	t.Helper()
	user, password := service+"-"+strings.ToLower(rand.Text()[:12]), rand.Text()
	call(t, http.MethodPut, "/api/users/"+user, map[string]string{"password": password, "tags": ""})
	t.Cleanup(func() { call(t, http.MethodDelete, "/api/users/"+user, nil) })
	call(t, http.MethodPut, "/api/permissions/"+vhostOf(t, amqpURL)+"/"+user, wire.RightsOf(service))
	own, err := url.Parse(amqpURL)
	if err != nil {
		t.Fatal(err)
	}
	own.User = url.UserPassword(user, password)
	return own.String()
}

func vhostOf(t testing.TB, amqpURL string) string {
	t.Helper()
	parsed, err := url.Parse(amqpURL)
	if err != nil {
		t.Fatalf("parsing the URL: %v", err)
	}
	return strings.TrimPrefix(parsed.Path, "/")
}

// Open connects to the virtual host for as long as the test runs and returns a channel, for the declarations and
// messages that a test makes by hand.
func Open(t testing.TB, amqpURL string) *amqp.Channel {
	t.Helper()
	conn, err := amqp.Dial(amqpURL)
	if err != nil {
		t.Fatalf("connecting to the broker: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // a test may have killed it
	channel, err := conn.Channel()
	if err != nil {
		t.Fatalf("opening a channel: %v", err)
	}
	return channel
}

// Depth returns how many messages of a queue are ready for delivery, without those that a consumer holds.
func Depth(t testing.TB, channel *amqp.Channel, queue string) int {
	t.Helper()
	state, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
	if err != nil {
		t.Fatalf("looking at %s: %v", queue, err)
	}
	return state.Messages
}

// Purge makes the broker forget the messages of a queue that no consumer holds.
func Purge(t testing.TB, amqpURL, queue string) {
	t.Helper()
	call(t, http.MethodDelete, "/api/queues/"+vhostOf(t, amqpURL)+"/"+url.PathEscape(queue)+"/contents", nil)
}

// KillConnections makes the broker close every connection of the virtual host, as an operator or a failing node would,
// and returns their number.
func KillConnections(t testing.TB, amqpURL string) int {
	t.Helper()
	var connections []struct {
		Name string `json:"name"`
	}
	answer := call(t, http.MethodGet, "/api/vhosts/"+vhostOf(t, amqpURL)+"/connections", nil)
	if err := json.Unmarshal(answer, &connections); err != nil {
		t.Fatalf("listing connections: %v", err)
	}
	for _, c := range connections {
		call(t, http.MethodDelete, "/api/connections/"+url.PathEscape(c.Name), nil)
	}
	return len(connections)
}

// call calls the management API. A 404 is no failure: an object to delete may be gone.
func call(t testing.TB, method, path string, body any) []byte {
	t.Helper()
	var payload bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&payload).Encode(body); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout) // also runs in cleanup, when t.Context has ended
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(env(t, "CAUSEWAY_TEST_AMQP_API"), "/")+path, &payload)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatalf("management API: %v", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		t.Fatalf("management API: %v", err)
	}
	if response.StatusCode >= 300 && response.StatusCode != http.StatusNotFound {
		t.Fatalf("management API: %s %s: %s", method, path, fmt.Sprintf("%d %s", response.StatusCode, answer))
	}
	return answer
}

func env(t testing.TB, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set; `make test` sets it", name)
	}
	return value
}
