package infra

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
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
	return m.do(ctx, http.MethodPost, "/api/definitions/"+url.PathEscape(name), wire.Declare(wire.Topology()), http.StatusNoContent)
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

func (m management) do(ctx context.Context, method, path string, body any, want ...int) error {
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
	for _, status := range want {
		if response.StatusCode == status {
			return nil
		}
	}
	return fmt.Errorf("RabbitMQ answers %s to %s %s", response.Status, method, path)
}
