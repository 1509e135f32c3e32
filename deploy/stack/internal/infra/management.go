package infra

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// management speaks RabbitMQ's HTTP API.
type management struct{ api string }

// makeHost makes a virtual host in which the instance is alone.
func (m management) makeHost(ctx context.Context, name string) error {
	if err := m.put(ctx, "/api/vhosts/"+url.PathEscape(name), nil); err != nil {
		return err
	}
	address, err := url.Parse(m.api)
	if err != nil {
		return fmt.Errorf("read the management API's address: %w", err)
	}
	// Whoever makes a virtual host has no rights in it, and tests look at queues as the superuser.
	return m.grant(ctx, name, address.User.Username(), ".*")
}

// makeUser makes a user who may touch only what its service and its peers own: names that begin with theirs.
func (m management) makeUser(ctx context.Context, host, user, password string, peers []string) error {
	if err := m.put(ctx, "/api/users/"+url.PathEscape(user), map[string]string{"password": password, "tags": ""}); err != nil {
		return err
	}
	return m.grant(ctx, host, user, scope(peers))
}

// scope matches the exchanges and queues of the services, the shared alternate exchange and its queue, and the default
// exchange, through which a dead message is put back.
func scope(peers []string) string {
	owned := make([]string, 0, len(peers))
	for _, peer := range peers {
		owned = append(owned, regexp.QuoteMeta(peer))
	}
	return `^(unrouted|amq\.default|(` + strings.Join(owned, "|") + `)(\..*)?)$`
}

func (m management) grant(ctx context.Context, host, user, names string) error {
	path := "/api/permissions/" + url.PathEscape(host) + "/" + url.PathEscape(user)
	return m.put(ctx, path, map[string]string{"configure": names, "write": names, "read": names})
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
