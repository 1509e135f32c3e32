package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// consumers are the services whose messages a broker may lose. Each producer sends again what they have not answered.
var consumers = []string{"payments", "wallets", "callback-dispatcher"}

// lossy kills the workers of a service, and has the broker lose what waits for them then, though it had confirmed it.
func lossy(ctx context.Context, f *field) error {
	service := consumers[f.random.IntN(len(consumers))]
	names := f.workers(service)
	for _, name := range names {
		if err := f.stack.Kill(context.WithoutCancel(ctx), name); err != nil {
			return err
		}
	}
	f.pause(ctx, time.Second, 3*time.Second)
	if err := f.forget(context.WithoutCancel(ctx), service); err != nil {
		return err
	}
	f.count("loss of what waits for " + service)
	f.say("%-7s %-28s", "lose", service)
	return f.start(ctx, names...)
}

// forget empties the queues of a service, but for those of dead messages.
func (f *field) forget(ctx context.Context, service string) error {
	queues := strings.TrimRight(f.stack.AMQPAPI, "/") + "/api/queues/" + url.PathEscape(f.stack.Vhost)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, queues, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("list the queues of %s: no answer", service) // the error would show the address
	}
	defer response.Body.Close()
	var all []struct {
		Name string `json:"name"`
	}
	if err := json.NewDecoder(response.Body).Decode(&all); err != nil {
		return fmt.Errorf("list the queues of %s: %s: %w", service, response.Status, err)
	}
	for _, q := range all {
		if !strings.HasPrefix(q.Name, service+".") || strings.HasSuffix(q.Name, ".dead") {
			continue
		}
		if err := manage(ctx, http.MethodDelete, queues+"/"+q.Name+"/contents", nil); err != nil {
			return fmt.Errorf("empty the queue %s: %w", q.Name, err)
		}
	}
	return nil
}
