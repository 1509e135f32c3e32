package infra

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"causeway.internal/libs/wire"
)

// management speaks RabbitMQ's HTTP API.
type management struct{ api string }

// makeHost makes a virtual host in which the instance is alone, with the topology in it.
func (m management) makeHost(ctx context.Context, name string) error {
	if err := m.put(ctx, "/api/vhosts/"+url.PathEscape(name), nil); err != nil {
		return err
	}
	address, err := url.Parse(m.api)
	if err != nil {
		return fmt.Errorf("read the management API's address: %w", err)
	}
	// The creator of a virtual host has no rights in it, and tests inspect queues as the superuser.
	if err := m.grant(ctx, name, address.User.Username(), wire.Rights{Configure: ".*", Write: ".*", Read: ".*"}); err != nil {
		return err
	}
	return m.declare(ctx, name, wire.Declare(wire.Topology()))
}

// declarations is how often declare asks for what RabbitMQ left out.
const declarations = 3

// declare makes a topology in a virtual host. RabbitMQ answers an import with success also where it could not make a
// queue, for example because an election on a busy machine took too long, and where a queue of the name has other
// arguments. So declare reads the topology back and asks again for the rest.
func (m management) declare(ctx context.Context, host string, topology wire.Declarations) error {
	path := "/api/definitions/" + url.PathEscape(host)
	var lost []string
	for range declarations {
		if err := m.do(ctx, http.MethodPost, path, topology, http.StatusNoContent); err != nil {
			return err
		}
		var got wire.Declarations
		if err := m.get(ctx, path, &got); err != nil {
			return err
		}
		made := lines(got)
		lost = slices.DeleteFunc(lines(topology), func(line string) bool { return slices.Contains(made, line) })
		if len(lost) == 0 {
			return nil
		}
	}
	return fmt.Errorf("RabbitMQ took the topology, but host %s lacks %s", host, strings.Join(lost, ", "))
}

// lines are the parts of a topology as comparable text.
func lines(d wire.Declarations) []string {
	var all []string
	add := func(kind string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err) // strings, bools and maps of them
		}
		all = append(all, kind+" "+string(text))
	}
	for _, e := range d.Exchanges {
		add("exchange", e)
	}
	for _, q := range d.Queues {
		add("queue", q)
	}
	for _, b := range d.Bindings {
		add("binding", b)
	}
	return all
}

// makeUser makes a user with the rights of a service.
func (m management) makeUser(ctx context.Context, host, user, password string, rights wire.Rights) error {
	if err := m.put(ctx, "/api/users/"+url.PathEscape(user), map[string]string{"password": password, "tags": ""}); err != nil {
		return err
	}
	return m.grant(ctx, host, user, rights)
}

func (m management) grant(ctx context.Context, host, user string, rights wire.Rights) error {
	return m.put(ctx, "/api/permissions/"+url.PathEscape(host)+"/"+url.PathEscape(user), rights)
}

func (m management) put(ctx context.Context, path string, body any) error {
	return m.do(ctx, http.MethodPut, path, body, http.StatusCreated, http.StatusNoContent)
}

func (m management) remove(ctx context.Context, path string) error {
	return m.do(ctx, http.MethodDelete, path, nil, http.StatusNoContent, http.StatusNotFound)
}

func (m management) get(ctx context.Context, path string, into any) error {
	return m.exchange(ctx, http.MethodGet, path, nil, into, http.StatusOK)
}

func (m management) do(ctx context.Context, method, path string, body any, want ...int) error {
	return m.exchange(ctx, method, path, body, nil, want...)
}

func (m management) exchange(ctx context.Context, method, path string, body, into any, want ...int) error {
	content := []byte("{}")
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return fmt.Errorf("render a request to RabbitMQ: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(m.api, "/")+path, bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("ask RabbitMQ: %w", unwrapURL(err))
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask RabbitMQ: %w", unwrapURL(err))
	}
	defer response.Body.Close()
	if !slices.Contains(want, response.StatusCode) {
		return fmt.Errorf("RabbitMQ answers %s to %s %s", response.Status, method, path)
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("read RabbitMQ's answer to %s %s: %w", method, path, err)
	}
	return nil
}
