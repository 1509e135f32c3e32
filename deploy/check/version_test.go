package check

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"causeway.internal/deploy/check/operator"
)

// TestOperatorVersions: each object of an operator belongs to one that k8s/operators.yaml names, docs/deploy.md says
// the same, and deploy/cluster builds the Kubernetes that it names.
func TestOperatorVersions(t *testing.T) {
	all, err := operator.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "deploy.md"))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{"Kubernetes": true}
	for _, m := range build(t, "prod") {
		var owners []string
		for _, o := range all {
			if o.Serves(m.APIVersion, m.Kind) {
				owners = append(owners, o.Name)
				used[o.Name] = true
			}
		}
		if foreign[m.Kind] && len(owners) != 1 {
			t.Errorf("%s %s belongs to the operators %v of k8s/operators.yaml", m.APIVersion, m, owners)
		}
	}
	server, err := os.ReadFile(filepath.Join(root, "deploy", "cluster", "go.mod"))
	if err != nil || !strings.Contains(string(server), "k8s.io/kubernetes v"+all[0].Proved+" ") {
		t.Errorf("deploy/cluster does not build Kubernetes %s: %v", all[0].Proved, err)
	}
	for _, o := range all {
		if !used[o.Name] {
			t.Errorf("the overlay has nothing of %s", o.Name)
		}
		row := fmt.Sprintf("| %s | %s | %s | %s |\n", o.Name, o.Least, o.Proved, o.Because)
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/deploy.md has no row %s", row)
		}
	}
}

// TestPostgresFields: the overlay uses what CloudNativePG keeps. Backups and WAL go through the plugin, a commit is
// confirmed by two machines or waits, and a standby takes over only with every confirmed commit.
func TestPostgresFields(t *testing.T) {
	stores, all := map[string]manifest{}, build(t, "prod")
	for _, m := range all {
		if m.Kind == "ObjectStore" {
			stores[m.Name] = m
		}
	}
	checked := 0
	for _, m := range all {
		switch m.Kind {
		case "Cluster":
			checked++
			for _, gone := range []string{"spec.backup", "spec.minSyncReplicas", "spec.maxSyncReplicas", "spec.monitoring"} {
				if value := m.field(t, gone); value != nil {
					t.Errorf("%s has %s: %v", m, gone, value)
				}
			}
			synchronous := m.field(t, "spec.postgresql.synchronous")
			if want := (object{"method": "any", "number": 1.0, "dataDurability": "required", "failoverQuorum": true}); fmt.Sprint(synchronous) != fmt.Sprint(want) {
				t.Errorf("%s is synchronous by %v", m, synchronous)
			}
			plugins, _ := m.field(t, "spec.plugins").([]any)
			if len(plugins) != 1 || plugins[0].(object)["name"] != barman || plugins[0].(object)["isWALArchiver"] != true {
				t.Fatalf("%s archives by %v", m, plugins)
			}
			name := fmt.Sprint(plugins[0].(object)["parameters"].(object)["barmanObjectName"])
			store, ok := stores[name]
			if !ok || store.field(t, "spec.retentionPolicy") != "30d" || store.field(t, "spec.configuration.destinationPath") == nil {
				t.Errorf("%s archives into %q, which is no store that forgets after 30 days", m, name)
			}
		case "ScheduledBackup":
			checked++
			if m.field(t, "spec.method") != "plugin" || m.field(t, "spec.pluginConfiguration.name") != barman {
				t.Errorf("%s is made by %v", m, m.field(t, "spec.method"))
			}
		}
	}
	if checked != 2 {
		t.Errorf("%d objects were looked at, want a Cluster and a ScheduledBackup", checked)
	}
}

// TestBackupCommands: a backup by hand goes the way of the nightly one. Without a method CloudNativePG takes the Barman
// that it has itself, for which the cluster has no store.
func TestBackupCommands(t *testing.T) {
	var want string
	for _, m := range build(t, "prod") {
		if m.Kind == "ScheduledBackup" {
			want = fmt.Sprintf("kubectl cnpg backup -n %s %s --method %s --plugin-name %s", m.Namespace,
				m.field(t, "spec.cluster.name"), m.field(t, "spec.method"), m.field(t, "spec.pluginConfiguration.name"))
		}
	}
	found := 0
	for _, file := range texts(t) {
		if !strings.HasSuffix(file, ".md") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range backups.FindAllString(string(text), -1) {
			found++
			if got := strings.Join(strings.Fields(command), " "); got != want {
				t.Errorf("%s: %s, want %s", file, got, want)
			}
		}
	}
	if found == 0 {
		t.Error("no page says how to make a backup by hand")
	}
}

var backups = regexp.MustCompile(`kubectl cnpg backup[^` + "`" + `#|;]*`)

const barman = "barman-cloud.cloudnative-pg.io"
