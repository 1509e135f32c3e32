package check

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

func compose(t *testing.T, profiles ...string) *types.Project {
	t.Helper()
	// The directory of a signer's files is the operator's.
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")},
		cli.WithName("causeway"), cli.WithProfiles(profiles), cli.WithEnv([]string{"CUSTODY_DIR=" + t.TempDir()}))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatalf("docker-compose.yml: %v", err)
	}
	return project
}

// TestCompose: the file loads, holds the five services with their migrations first, and bounds everything.
func TestCompose(t *testing.T) {
	project, tables := compose(t, "*"), documented(t)
	for _, name := range services {
		service, ok := project.Services[name]
		if !ok {
			t.Errorf("no service %s", name)
			continue
		}
		if on := service.DependsOn[name+"-migrate"]; on.Condition != types.ServiceConditionCompletedSuccessfully {
			t.Errorf("%s does not wait for its migrations", name)
		}
		if service.HealthCheck == nil || !slices.Equal(service.HealthCheck.Test, []string{"CMD", "/app", "health"}) {
			t.Errorf("%s is not asked for its health", name)
		}
		for variable := range service.Environment {
			if _, ok := tables[name][variable]; !ok {
				t.Errorf("%s: %s is not a setting", name, variable)
			}
		}
		for variable, s := range tables[name] {
			if _, set := service.Environment[variable]; s.required && !set && variable != "DATABASE_OWNER_URL" {
				t.Errorf("%s: %s is required and not set", name, variable)
			}
		}
		if _, set := project.Services[name+"-migrate"].Environment["DATABASE_OWNER_URL"]; !set {
			t.Errorf("%s-migrate has no database", name)
		}
	}
	for name, service := range project.Services {
		if image, tag, _ := cutLast(service.Image, ":"); !strings.HasPrefix(image, "causeway/") && (tag == "" || tag == "latest") {
			t.Errorf("%s runs no fixed version: %s", name, service.Image)
		}
		if service.Deploy == nil || service.Deploy.Resources.Limits == nil || service.Deploy.Resources.Limits.MemoryBytes == 0 || service.Deploy.Resources.Limits.NanoCPUs == 0 {
			t.Errorf("%s is not bounded", name)
		}
		if strings.HasPrefix(service.Image, "causeway/") && (!service.ReadOnly || !strings.HasPrefix(service.User, "6553") || !slices.Equal(service.CapDrop, []string{"ALL"})) {
			t.Errorf("%s may write to its root or runs as root", name)
		}
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s is published beyond this machine", name)
			}
		}
		for _, volume := range service.Volumes {
			if volume.Type == types.VolumeTypeBind {
				if _, err := os.Stat(volume.Source); err != nil {
					t.Errorf("%s mounts what is not there: %v", name, err)
				}
			}
		}
	}
}

// definitions is deploy/rabbitmq/definitions.json.
type definitions struct {
	Users       []struct{ Name string }
	Permissions []struct{ User, Vhost, Configure, Write, Read string }
}

// TestBrokerUsers: the users of compose and dev have the rights of production's: each declares nothing, writes to its own
// exchanges alone and reads its own queues alone.
func TestBrokerUsers(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "deploy", "rabbitmq", "definitions.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d definitions
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	local := map[string]map[string]string{}
	for _, p := range d.Permissions {
		if p.Vhost != "causeway" {
			t.Errorf("%s has rights in %s", p.User, p.Vhost)
		}
		local[p.User] = map[string]string{"configure": p.Configure, "write": p.Write, "read": p.Read}
	}
	found := 0
	for _, m := range build(t, "prod") {
		if m.Kind != "Permission" {
			continue
		}
		found++
		for _, right := range []string{"configure", "write", "read"} {
			if got := m.field(t, "spec.permissions."+right); got != local[m.Name][right] {
				t.Errorf("%s may %s %v in production and %s elsewhere", m.Name, right, got, local[m.Name][right])
			}
		}
	}
	if found != len(workers) {
		t.Errorf("%d users have rights, want %d", found, len(workers))
	}
	for _, r := range topology(t) {
		for _, user := range workers {
			may := func(right, name string) bool { return regexp.MustCompile(local[user][right]).MatchString(name) }
			for name, want := range map[string][2]bool{ // may it write, may it read
				r.producer: {user == r.producer, false}, r.consumer + ".returns": {user == r.consumer, user == r.consumer},
				r.queue: {false, user == r.consumer}, r.queue + ".dead": {false, user == r.consumer},
				"unrouted": {false, false}, "amq.default": {false, false},
			} {
				if got := [2]bool{may("write", name), may("read", name)}; got != want || may("configure", name) {
					t.Errorf("%s and %s: %v, want %v", user, name, got, want)
				}
			}
		}
	}
}
