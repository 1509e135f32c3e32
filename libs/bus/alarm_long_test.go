//go:build integration && long && !race

// Starting a broker takes seconds, so this file runs in one of the two passes over the package only.
package bus

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"causeway.internal/libs/testkit/mq"
)

// ownBroker starts a RabbitMQ of this test's own with the launcher; ctl runs rabbitmqctl on it.
func ownBroker(t *testing.T) (amqpURL string, ctl func(words ...string)) {
	t.Helper()
	launcher, dir := os.Getenv("CAUSEWAY_STACK"), t.TempDir()
	if launcher == "" {
		t.Fatal("CAUSEWAY_STACK is not set; run the tests with `make test` or `bin/stack test`")
	}
	call := func(ctx context.Context, words ...string) []byte {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, launcher, words...).Output()
		if err != nil {
			t.Errorf("stack %s: %v\n%s", words[0], err, out)
		}
		return out
	}
	t.Cleanup(func() { call(context.WithoutCancel(t.Context()), "down", "--dir", dir) })
	var up struct {
		AMQPURL string `json:"amqpUrl"`
	}
	if err := json.Unmarshal(call(t.Context(), "up", "--infra", "--private", "--json", "--dir", dir), &up); err != nil {
		t.Fatalf("reading what the launcher printed: %v", err)
	}
	return up.AMQPURL, func(words ...string) {
		t.Helper()
		call(t.Context(), append([]string{"rabbitctl", "--dir", dir, "--"}, words...)...)
	}
}

// During a real memory alarm the broker reads nothing from publishers. Publishing ends at its deadline and works again
// after the alarm; consuming continues meanwhile, and confirmed messages are kept.
func TestPublish_memoryAlarm(t *testing.T) {
	t.Parallel()
	amqpURL, ctl := ownBroker(t)
	mq.Declare(t, amqpURL, lines()...)
	sender, receiver := link(t, amqpURL, orders), link(t, amqpURL, billing)
	got, goOn := make(chan string, 100), make(chan struct{})
	receiver.Handle(queue, 1, func(_ context.Context, m Message) error {
		<-goOn
		got <- m.ID
		return nil
	})
	run(t, receiver)
	publish(t, sender, "1", "2", "3")

	ctl("set_vm_memory_high_watermark", "absolute", "1000")
	close(goOn)
	for want := 1; want <= 3; want++ {
		if id := receive(t, got); id != strconv.Itoa(want) {
			t.Errorf("under the alarm: got %s, want %d", id, want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	err := sender.Publisher().Publish(string(placed), message.NewMessageWithContext(ctx, "4", []byte(`{}`)))
	if took := time.Since(began); err == nil || took < 500*time.Millisecond || took > 5*time.Second {
		t.Errorf("publishing under the alarm: %v after %s", err, took)
	}
	if err := receiver.Ready(t.Context()); err != nil {
		t.Errorf("a consumer is not ready under the alarm: %v", err)
	}

	ctl("set_vm_memory_high_watermark", "0.6")
	eventually(t, "publishing works again", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return sender.Publisher().Publish(string(placed), message.NewMessageWithContext(ctx, "5", []byte(`{}`))) == nil
	})
	for id := receive(t, got); id != "5"; id = receive(t, got) {
		if id != "4" { // it may have reached the broker all the same
			t.Errorf("got %s", id)
		}
	}
}
