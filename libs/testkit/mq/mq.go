// Package mq gives an integration test a RabbitMQ virtual host of its own and a grip on its queues and connections. It
// needs a running broker, named by CAUSEWAY_TEST_AMQP_URL and CAUSEWAY_TEST_AMQP_API (its management plugin). Only tests
// import it.
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
)

// callTimeout bounds one call of the management API.
const callTimeout = 20 * time.Second

// New creates a virtual host and returns its AMQP URL. Both end with the test.
func New(t testing.TB) string {
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
	return base.String()
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

// Depth returns how many messages of a queue are ready for delivery; those in a consumer's hands do not count.
func Depth(t testing.TB, channel *amqp.Channel, queue string) int {
	t.Helper()
	state, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
	if err != nil {
		t.Fatalf("looking at %s: %v", queue, err)
	}
	return state.Messages
}

// KillConnections makes the broker close every connection of the virtual host, as an operator or a failing node would,
// and returns how many there were.
func KillConnections(t testing.TB, amqpURL string) int {
	t.Helper()
	parsed, err := url.Parse(amqpURL)
	if err != nil {
		t.Fatalf("parsing the URL: %v", err)
	}
	var connections []struct {
		Name string `json:"name"`
	}
	answer := call(t, http.MethodGet, "/api/vhosts/"+strings.TrimPrefix(parsed.Path, "/")+"/connections", nil)
	if err := json.Unmarshal(answer, &connections); err != nil {
		t.Fatalf("listing connections: %v", err)
	}
	for _, c := range connections {
		call(t, http.MethodDelete, "/api/connections/"+url.PathEscape(c.Name), nil)
	}
	return len(connections)
}

// call talks to the management API. A 404 is fine: what is to be gone is gone.
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
