package check

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestRestoreCluster: the cluster of docs/runbooks/restore.md takes in production's backups. It needs production's
// image, tablespaces, room and store, and archives nothing into that store. The one in production's place archives
// under another name.
func TestRestoreCluster(t *testing.T) {
	t.Parallel()
	set, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	page := map[string]manifest{}
	change := object{}
	for _, raw := range objects(t, "restore.md") {
		m := manifest{raw: raw}
		if err := yaml.Unmarshal(raw, &m); err != nil {
			t.Fatalf("read an object of the page: %v\n%s", err, raw)
		}
		if m.Kind == "" {
			if err := yaml.Unmarshal(raw, &change); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := set.Check(raw); err != nil {
			t.Errorf("check %s of the page against its schema: %v", m, err)
		}
		page[m.Kind] = m
	}
	prod := map[string]manifest{}
	for _, m := range build(t, "prod") {
		prod[m.Kind] = m
	}
	for _, field := range []struct{ kind, path string }{
		{"Cluster", "spec.imageName"},
		{"Cluster", "spec.storage"},
		{"Cluster", "spec.tablespaces"},
		{"Cluster", "spec.postgresql.parameters.max_connections"},
		{"ObjectStore", "spec.configuration"},
	} {
		want, _, _ := strings.Cut(fmt.Sprint(prod[field.kind].field(t, field.path)), "@sha256:")
		if got := fmt.Sprint(page[field.kind].field(t, field.path)); got != want {
			t.Errorf("%s of the page's %s is %s, production's %s", field.path, field.kind, got, want)
		}
	}
	for kind, path := range map[string]string{"Cluster": "spec.plugins", "ObjectStore": "spec.retentionPolicy"} {
		if got := page[kind].field(t, path); got != nil {
			t.Errorf("%s of the page's %s is %v: it would change production's backups", path, kind, got)
		}
	}
	archive := prod["Cluster"].field(t, "spec.plugins").([]any)[0].(object)["parameters"].(object)
	server, ok := archive["serverName"]
	if !ok {
		server = prod["Cluster"].Name
	}
	parameters := object{"barmanObjectName": archive["barmanObjectName"], "serverName": server}
	sources := []any{object{"name": "postgres", "plugin": object{"name": barman, "parameters": parameters}}}
	whole := replaced(t, prod["Cluster"], change)
	if err := set.Check(whole.raw); err != nil {
		t.Errorf("check production's Cluster with the page's change against its schema: %v", err)
	}
	for name, m := range map[string]manifest{"beside production": page["Cluster"], "in its place": whole} {
		source, got := m.field(t, "spec.bootstrap.recovery.source"), m.field(t, "spec.externalClusters")
		if source != "postgres" || fmt.Sprint(got) != fmt.Sprint(sources) {
			t.Errorf("the Cluster %s recovers from %v of %v, want %v", name, source, got, sources)
		}
	}
	plugin := whole.field(t, "spec.plugins").([]any)[0].(object)
	into := plugin["parameters"].(object)
	if plugin["name"] != barman || plugin["isWALArchiver"] != true || into["serverName"] == nil || into["serverName"] == server ||
		into["barmanObjectName"] != archive["barmanObjectName"] {
		t.Errorf("the Cluster in production's place archives by %v, want another name than %v", plugin, server)
	}
}

// replaced is an object whose fields under spec are those of a change, where it has them.
func replaced(t *testing.T, m manifest, change object) manifest {
	t.Helper()
	all := object{}
	if err := yaml.Unmarshal(m.raw, &all); err != nil {
		t.Fatal(err)
	}
	spec, ok := change["spec"].(object)
	if !ok {
		t.Fatalf("the page has no change of production's Cluster: %v", change)
	}
	maps.Copy(all["spec"].(object), spec)
	raw, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return manifest{TypeMeta: m.TypeMeta, ObjectMeta: m.ObjectMeta, raw: raw}
}

// objects are those of the YAML blocks of a runbook.
func objects(t *testing.T, name string) (all [][]byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "runbooks", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range yamls.FindAllStringSubmatch(string(text), -1) {
		indent, lines := block[1], strings.Split(block[2], "\n")
		for i := range lines {
			lines[i] = strings.TrimPrefix(lines[i], indent)
		}
		for one := range strings.SplitSeq(strings.Join(lines, "\n"), "\n---\n") {
			all = append(all, []byte(one))
		}
	}
	return all
}

var yamls = regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$")

// TestRestorePages: each runbook of a restore, the drill and the page that stops a service name the page that says how
// a database is restored, and that page alone has a cluster for it.
func TestRestorePages(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "docs", "runbooks", "*-restore.md"))
	if err != nil || len(files) != 5 {
		t.Fatalf("%d runbooks of restores: %v", len(files), err)
	}
	for _, name := range []string{"restore-drill.md", "stopping.md"} {
		files = append(files, filepath.Join(root, "docs", "runbooks", name))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "(restore.md") || strings.Contains(string(text), "kind: Cluster") {
			t.Errorf("%s does not leave the restore to restore.md", filepath.Base(file))
		}
	}
}
