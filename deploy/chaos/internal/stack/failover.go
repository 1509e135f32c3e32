package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// askTimeout bounds one question to a server.
const askTimeout = 5 * time.Second

// Redundant says whether PostgreSQL has a standby, and RabbitMQ several nodes.
func (s *Stack) Redundant() (postgres, rabbit bool) {
	return len(s.Servers("postgres")) > 1, len(s.Servers("rabbitmq")) > 1
}

// Servers lists the processes of a server: postgres and postgres-2.
func (s *Stack) Servers(name string) []string {
	return slices.DeleteFunc(slices.Clone(s.Processes), func(process string) bool {
		return process != name && !strings.HasPrefix(process, name+"-")
	})
}

// Primary finds which server of PostgreSQL takes writes, and the other one.
func (s *Stack) Primary(ctx context.Context) (primary, standby string, err error) {
	for _, name := range s.Servers("postgres") {
		server, err := s.find(name)
		if err != nil {
			return "", "", err
		}
		var recovers bool
		if err := ask(ctx, server.Ready, `SELECT pg_is_in_recovery()`, &recovers); err != nil {
			return "", "", fmt.Errorf("asking %s: %w", name, err)
		}
		if recovers {
			standby = name
		} else {
			primary = name
		}
	}
	if primary == "" || standby == "" {
		return "", "", errors.New("PostgreSQL is not a primary and a standby")
	}
	return primary, standby, nil
}

// InSync says whether every commit waits for a standby that streams.
func (s *Stack) InSync(ctx context.Context) (follows bool, err error) {
	err = ask(ctx, s.postgres, `SELECT EXISTS (SELECT FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync')`, &follows)
	return follows, err
}

func ask(ctx context.Context, server, question string, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return conn.QueryRow(ctx, question).Scan(answer)
}

// Promote makes the standby the primary, and Rewind the old primary a standby that Start starts.
func (s *Stack) Promote(ctx context.Context, name string) error { return s.call(ctx, "promote", name) }

// Rewind takes back what an old primary has and the new one has not.
func (s *Stack) Rewind(ctx context.Context, name string) error { return s.call(ctx, "rewind", name) }

// Queue is a quorum queue: the processes of the nodes that have it, by what they do.
type Queue struct {
	Name            string
	Leader          string
	Members, Online []string
}

// Queues reads the queues from a node of RabbitMQ.
func (s *Stack) Queues(ctx context.Context, node string) ([]Queue, error) {
	var told []struct {
		Name    string   `json:"name"`
		Leader  string   `json:"leader"`
		Members []string `json:"members"`
		Online  []string `json:"online"`
	}
	if err := s.askNode(ctx, node, "/api/queues/"+url.PathEscape(s.Vhost), &told); err != nil {
		return nil, err
	}
	byName, err := s.nodes()
	if err != nil {
		return nil, err
	}
	named := func(nodes []string) (processes []string) {
		for _, node := range nodes {
			processes = append(processes, byName[node])
		}
		return processes
	}
	var queues []Queue
	for _, q := range told {
		queues = append(queues, Queue{Name: q.Name, Leader: byName[q.Leader], Members: named(q.Members), Online: named(q.Online)})
	}
	return queues, nil
}

// Whole says what a cluster of RabbitMQ lacks, as one of its nodes sees it; "" if nothing: every node runs, none is
// parted from another, and every queue is on all of them.
func (s *Stack) Whole(ctx context.Context, node string) string {
	var told []struct {
		Name       string   `json:"name"`
		Running    bool     `json:"running"`
		Partitions []string `json:"partitions"`
	}
	if err := s.askNode(ctx, node, "/api/nodes", &told); err != nil {
		return err.Error()
	}
	all := len(s.Servers("rabbitmq"))
	if len(told) != all {
		return fmt.Sprintf("%d of %d nodes", len(told), all)
	}
	for _, n := range told {
		if !n.Running || len(n.Partitions) > 0 {
			return fmt.Sprintf("%s: running %t, parted from %v", n.Name, n.Running, n.Partitions)
		}
	}
	queues, err := s.Queues(ctx, node)
	if err != nil {
		return err.Error()
	}
	for _, q := range queues {
		if q.Leader == "" || len(q.Online) != all {
			return fmt.Sprintf("%s is led by %q, online on %v", q.Name, q.Leader, q.Online)
		}
	}
	return ""
}

// Part cuts a node of RabbitMQ off from the others, whose cookies it forgets, or lets them meet again. Clients reach it
// all the while.
func (s *Stack) Part(ctx context.Context, node string, parted bool) error {
	names, err := s.nodes()
	if err != nil {
		return err
	}
	var others []string
	for name, process := range names {
		if process != node {
			others = append(others, "'"+name+"'")
		}
	}
	cookie := "erlang:get_cookie()"
	if parted {
		cookie = "parted"
	}
	do := fmt.Sprintf("[begin erlang:set_cookie(N, %s), erlang:disconnect_node(N) end || N <- [%s]].", cookie, strings.Join(others, ","))
	return s.callWith(ctx, []string{"rabbitctl", node}, "eval", do)
}

// nodes are the processes of RabbitMQ by the names of their nodes.
func (s *Stack) nodes() (map[string]string, error) {
	processes := map[string]string{}
	for _, process := range s.Servers("rabbitmq") {
		name, err := s.Setting(process, "RABBITMQ_NODENAME")
		if err != nil {
			return nil, err
		}
		processes[name] = process
	}
	return processes, nil
}

// askNode reads from the management API of one node.
func (s *Stack) askNode(ctx context.Context, node, path string, answer any) error {
	server, err := s.find(node)
	if err != nil {
		return err
	}
	base, _, found := strings.Cut(server.Ready, "/api/")
	if !found {
		return fmt.Errorf("%s has no management API", node)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, http.NoBody)
	if err != nil {
		return fmt.Errorf("asking %s: its address is not a URL", node) // the error would show the password
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking %s: no answer", node)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", node, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		return fmt.Errorf("reading the answer of %s: %w", node, err)
	}
	return nil
}
