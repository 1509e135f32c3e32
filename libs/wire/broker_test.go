package wire_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"causeway.internal/libs/wire"
)

func TestRights_ownNamesOnly(t *testing.T) {
	d := wire.Declare(wire.Topology())
	var names []string
	for _, e := range d.Exchanges {
		names = append(names, e.Name)
	}
	for _, q := range d.Queues {
		names = append(names, q.Name)
	}
	for _, user := range wire.Users() {
		r := wire.RightsOf(user)
		for _, name := range append(names, "amq.default", "amq.topic", "amq.gen-1", "x"+user, user+"x", user+".returns.x") {
			own := name == user || strings.HasPrefix(name, user+".")
			if regexp.MustCompile(r.Configure).MatchString(name) {
				t.Errorf("%s may configure %s", user, name)
			}
			if may := regexp.MustCompile(r.Write).MatchString(name); may != (name == user || name == wire.Returns(user)) {
				t.Errorf("%s may write to %s: %v", user, name, may)
			}
			if may := regexp.MustCompile(r.Read).MatchString(name); may && !own || !may && slices.Contains(names, name) && own && name != user {
				t.Errorf("%s may read %s: %v", user, name, may)
			}
		}
	}
}

// A queue that two lines share is declared once, and every consumed queue can be reached through its owner's returns.
func TestDeclare_isWhole(t *testing.T) {
	d := wire.Declare(wire.Topology())
	seen := map[string]bool{}
	for _, e := range d.Exchanges {
		if seen["exchange "+e.Name] {
			t.Errorf("exchange %s twice", e.Name)
		}
		seen["exchange "+e.Name] = true
	}
	for _, q := range d.Queues {
		if seen["queue "+q.Name] {
			t.Errorf("queue %s twice", q.Name)
		}
		seen["queue "+q.Name] = true
	}
	for _, b := range d.Bindings {
		if !seen["exchange "+b.Exchange] || !seen["queue "+b.Queue] {
			t.Errorf("binding %+v of what is not declared", b)
		}
		seen[b.Exchange+" "+b.Queue+" "+b.Key] = true
	}
	for _, r := range wire.Topology() {
		for _, want := range []string{
			r.Exchange + " " + r.Queue + " " + string(r.Name),
			wire.Returns(r.Consumer) + " " + r.Queue + " " + r.Queue,
			wire.Returns(r.Consumer) + " " + wire.DeadQueue(r.Queue) + " " + wire.DeadQueue(r.Queue),
		} {
			if !seen[want] {
				t.Errorf("no binding %s", want)
			}
		}
	}
}

// The definitions that docker-compose.yml and the dev overlay load at the broker's start. Users are kept as they are in
// the file; everything else comes from the table.
func TestDefinitions_areCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "deploy", "rabbitmq", "definitions.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const host = "causeway"
	type permission struct {
		User  string `json:"user"`
		Vhost string `json:"vhost"`
		wire.Rights
	}
	var file struct {
		Vhosts      []map[string]any `json:"vhosts"`
		Users       []map[string]any `json:"users"`
		Permissions []permission     `json:"permissions"`
		Exchanges   []map[string]any `json:"exchanges"`
		Queues      []map[string]any `json:"queues"`
		Bindings    []map[string]any `json:"bindings"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	file.Permissions = []permission{{User: "operator", Vhost: host, Rights: wire.Rights{Configure: ".*", Write: ".*", Read: ".*"}}}
	for _, user := range wire.Users() {
		file.Permissions = append(file.Permissions, permission{User: user, Vhost: host, Rights: wire.RightsOf(user)})
		if !slices.ContainsFunc(file.Users, func(u map[string]any) bool { return u["name"] == user }) {
			t.Errorf("%s has no user", user)
		}
	}
	d := wire.Declare(wire.Topology())
	file.Exchanges, file.Queues, file.Bindings = placed(t, host, d.Exchanges), placed(t, host, d.Queues), placed(t, host, d.Bindings)
	got, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, path, append(got, '\n'))
}

// placed renders definitions with the virtual host that they belong to.
func placed[T any](t *testing.T, host string, all []T) []map[string]any {
	t.Helper()
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	for _, one := range out {
		one["vhost"] = host
	}
	return out
}

// The same for the topology operator of the prod overlay.
func TestManifests_areCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Generated from libs/wire by `go test ./libs/wire -update`; do not edit. Exchanges, queues and bindings, and what each\n" +
		"# service's user may do with them: write to its own exchanges and read its own queues.\n")
	resource := func(kind, name string, spec ...string) {
		fmt.Fprintf(&b, "---\napiVersion: rabbitmq.com/v1beta1\nkind: %s\nmetadata:\n  name: %s\nspec:\n", kind, strings.ReplaceAll(name, "_", "-"))
		for _, line := range append(spec, "vhost: causeway", "rabbitmqClusterReference: {name: rabbitmq}") {
			b.WriteString("  " + line + "\n")
		}
	}
	for _, user := range wire.Users() {
		r := wire.RightsOf(user)
		resource("Permission", user, "userReference: {name: "+user+"}", "permissions:", "  configure: '"+r.Configure+"'", "  write: '"+r.Write+"'", "  read: '"+r.Read+"'")
	}
	d := wire.Declare(wire.Topology())
	for _, e := range d.Exchanges {
		resource("Exchange", e.Name, append([]string{"name: " + e.Name, "type: " + e.Type, "durable: true"}, arguments(t, e.Arguments)...)...)
	}
	for _, q := range d.Queues {
		if q.Arguments["x-queue-type"] != "quorum" {
			t.Errorf("%s is no quorum queue", q.Name)
		}
		delete(q.Arguments, "x-queue-type") // the operator makes this argument of the type
		resource("Queue", q.Name, append([]string{"name: " + q.Name, "type: quorum", "durable: true", "deletionPolicy: retain"}, arguments(t, q.Arguments)...)...)
	}
	for _, bind := range d.Bindings {
		resource("Binding", strings.TrimSuffix(bind.Exchange+".to."+bind.Key, ".to."),
			"source: "+bind.Exchange, "destination: "+bind.Queue, "destinationType: queue", fmt.Sprintf("routingKey: %q", bind.Key))
	}
	golden(t, filepath.Join("..", "..", "k8s", "overlays", "prod", "topology.yaml"), []byte(b.String()))
}

func arguments(t *testing.T, all map[string]any) []string {
	t.Helper()
	if len(all) == 0 {
		return nil
	}
	raw, err := json.Marshal(all) // JSON is YAML, and its keys are sorted
	if err != nil {
		t.Fatal(err)
	}
	return []string{"arguments: " + string(raw)}
}
