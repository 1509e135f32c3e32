package check

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	corev1 "k8s.io/api/core/v1"
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

// TestCompose: the file loads, holds the services with their migrations first, and bounds everything.
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

// TestComposeReceiver: test-mode callbacks may reach one private address, that of this machine on a network where no
// server is.
func TestComposeReceiver(t *testing.T) {
	project := compose(t, "*")
	subnet := netip.MustParsePrefix(project.Networks["receivers"].Ipam.Config[0].Subnet)
	for name, service := range project.Services {
		allow := service.Environment["CALLBACK_ALLOW_TEST"]
		if _, on := service.Networks["receivers"]; on != (allow != nil) {
			t.Errorf("%s is on the network of receivers: %t", name, on)
		}
		if allow == nil {
			continue
		}
		one, err := netip.ParsePrefix(*allow)
		if err != nil || !one.IsSingleIP() || !subnet.Contains(one.Addr()) || project.Networks["receivers"].Ipam.Config[0].Gateway != one.Addr().String() {
			t.Errorf("%s may call %s, %v; want this machine's address in %s alone", name, *allow, err, subnet)
		}
		if hosts := service.ExtraHosts["host.docker.internal"]; !slices.Equal(hosts, []string{one.Addr().String()}) {
			t.Errorf("%s finds this machine at %v", name, hosts)
		}
	}
}

// TestProxies: in production the gateway trusts the ingress controller's addresses alone, which an operator fills in.
// The value that the overlay ships is no address, so a gateway does not start with it (TestRun_namesWhatIsWrong).
func TestProxies(t *testing.T) {
	for _, c := range of[corev1.ConfigMap](build(t, "prod")) {
		for part := range strings.SplitSeq(c.Data["TRUSTED_PROXIES"], ",") {
			if network, err := netip.ParsePrefix(part); err == nil && network.Bits() < 24 {
				t.Errorf("%s trusts the whole of %s", c.Name, network)
			}
			if address, err := netip.ParseAddr(part); err == nil {
				t.Errorf("%s trusts %s, which an example cannot know", c.Name, address)
			}
		}
		if text, set := c.Data["TRUSTED_PROXIES"]; set && text == "" {
			t.Errorf("%s trusts nobody: the limits per address would count the ingress controller", c.Name)
		}
	}
}

// credential is an account in a URL.
var credential = regexp.MustCompile(`(postgres|amqp)://([\w-]+):(\w+)@`)

// TestLocalPasswords: in compose and dev every role and every user has a password of its own, which is no name, and
// which the servers know it by.
func TestLocalPasswords(t *testing.T) {
	local := map[string]map[string]string{"compose": {}, "dev": {}} // variables by place and name
	for _, service := range compose(t, "*").Services {
		for name, value := range service.Environment {
			if value != nil {
				local["compose"][service.Name+" "+name] = *value
			}
		}
	}
	all := build(t, "dev")
	for _, s := range of[corev1.Secret](all) {
		for name, value := range s.Data {
			local["dev"][s.Name+" "+name] = string(value)
		}
	}
	for _, w := range workloads(all) {
		for _, e := range w.pod.Spec.Containers[0].Env {
			local["dev"][w.name+" "+e.Name] = e.Value
		}
	}
	hashes := passwordHashes(t)
	for place, variables := range local {
		owner := map[string]string{} // user by password
		users := 0
		take := func(user, password string) {
			t.Helper()
			if other, taken := owner[password]; taken && other != user {
				t.Errorf("%s: %s and %s have one password", place, user, other)
			}
			if len(password) < 20 || strings.Contains(password, "causeway") || strings.Contains(user, password) {
				t.Errorf("%s: the password of %s can be guessed", place, user)
			}
			owner[password] = user
		}
		take("postgres", variables["postgres POSTGRES_PASSWORD"])
		for _, value := range variables {
			for _, m := range credential.FindAllStringSubmatch(value, -1) {
				users++
				take(m[1]+" "+m[2], m[3])
				if m[1] == "postgres" && variables["postgres "+strings.ToUpper(m[2])+"_PASSWORD"] != m[3] {
					t.Errorf("%s: PostgreSQL knows %s by another password", place, m[2])
				}
				if m[1] == "amqp" && !hashes[m[2]](m[3]) {
					t.Errorf("%s: RabbitMQ knows %s by another password", place, m[2])
				}
			}
		}
		if want := 2*len(services) + len(workers); users < want {
			t.Errorf("%s: %d accounts were found, want %d", place, users, want)
		}
	}
	for user, is := range hashes {
		if is("causeway") || is(user) {
			t.Errorf("RabbitMQ's %s has a password that can be guessed", user)
		}
	}
}

// passwordHashes are the broker's users, each with what tells its password.
func passwordHashes(t *testing.T) map[string]func(string) bool {
	t.Helper()
	return hashesIn(t, filepath.Join(root, "deploy", "rabbitmq", "definitions.json"))
}

func hashesIn(t *testing.T, file string) map[string]func(string) bool {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Users []struct {
			Name string
			Hash []byte `json:"password_hash"` // four bytes of salt and the SHA-256 of salt and password
		}
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	found := map[string]func(string) bool{}
	for _, user := range d.Users {
		found[user.Name] = func(password string) bool {
			sum := sha256.Sum256(append(slices.Clone(user.Hash[:4]), password...))
			return bytes.Equal(sum[:], user.Hash[4:])
		}
	}
	return found
}

// definitions is deploy/rabbitmq/definitions.json.
type definitions struct {
	Users       []struct{ Name string }
	Permissions []struct{ User, Vhost, Configure, Write, Read string }
}

// TestBrokerUsers: the users of compose and dev have the rights of production's: each declares nothing, writes to its
// own exchanges alone and reads its own queues alone.
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
