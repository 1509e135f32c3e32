package check

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// ruleFile is a file of deploy/prometheus/rules.
type ruleFile struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []struct {
			Alert       string            `json:"alert"`
			Expr        string            `json:"expr"`
			For         string            `json:"for,omitempty"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"rules"`
	} `json:"groups"`
}

func ruleFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "deploy", "prometheus", "rules", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	return files
}

// TestPromtool: Prometheus' own tool takes the configuration and the rules, and the rules fire when they should.
func TestPromtool(t *testing.T) {
	out, err := exec.Command("./program", "promtool", "prometheus").Output()
	if err != nil {
		t.Fatalf("promtool cannot be had: %v", err)
	}
	tool := strings.TrimSpace(string(out))
	dir := filepath.Join(root, "deploy", "prometheus")
	for _, args := range [][]string{{"check", "config", "prometheus.yml"}, {"test", "rules", "tests/rules.yml"}} {
		cmd := exec.Command(tool, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestAlerts: every alert says how bad it is and where it is explained, and the explanation is there.
func TestAlerts(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range ruleFiles(t) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file ruleFile
		if err := yaml.UnmarshalStrict(raw, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, group := range file.Groups {
			for _, rule := range group.Rules {
				if seen[rule.Alert] {
					t.Errorf("%s is there twice", rule.Alert)
				}
				seen[rule.Alert] = true
				if s := rule.Labels["severity"]; s != "page" && s != "ticket" || rule.Annotations["summary"] == "" {
					t.Errorf("%s does not say how bad it is or what it is", rule.Alert)
				}
				page, anchor, _ := strings.Cut(rule.Annotations["runbook"], "#")
				text, err := os.ReadFile(filepath.Join(root, page))
				if err != nil {
					t.Errorf("%s: %v", rule.Alert, err)
					continue
				}
				if anchor != "" && !bytes.Contains(bytes.ToLower(text), []byte("\n## "+anchor+"\n")) {
					t.Errorf("%s: %s has no section %s", rule.Alert, page, anchor)
				}
			}
		}
	}
}

// TestPrometheusRule: Kubernetes gets the same rules. UPDATE=1 writes them again.
func TestPrometheusRule(t *testing.T) {
	type object = map[string]any
	var groups []any
	for _, path := range ruleFiles(t) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Groups []any `json:"groups"`
		}
		if err := yaml.Unmarshal(raw, &file); err != nil {
			t.Fatal(err)
		}
		groups = append(groups, file.Groups...)
	}
	want, err := yaml.Marshal(object{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
		"metadata": object{"name": "causeway"}, "spec": object{"groups": groups},
	})
	if err != nil {
		t.Fatal(err)
	}
	want = append([]byte("# Made from deploy/prometheus/rules by `UPDATE=1 GOWORK=off go test -C deploy/check -run PrometheusRule .`\n"), want...)
	path := filepath.Join(root, "k8s", "overlays", "prod", "rules.yaml")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs from deploy/prometheus/rules: %v", path, err)
	}
}

var expression = regexp.MustCompile(`[a-z]+_[a-z_]+`)

// TestDashboards: they load, have names of their own, and every panel asks something.
func TestDashboards(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "deploy", "grafana", "dashboards", "*.json"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d dashboards: %v", len(files), err)
	}
	seen := map[string]bool{}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			UID, Title string
			Panels     []struct {
				ID      int
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if d.UID == "" || d.Title == "" || seen[d.UID] {
			t.Errorf("%s has no name of its own", path)
		}
		seen[d.UID] = true
		ids := map[int]bool{}
		for _, p := range d.Panels {
			if p.Title == "" || len(p.Targets) == 0 || ids[p.ID] {
				t.Errorf("%s: panel %d %q", path, p.ID, p.Title)
			}
			ids[p.ID] = true
			for _, target := range p.Targets {
				if !expression.MatchString(target.Expr) {
					t.Errorf("%s: %q asks %q", path, p.Title, target.Expr)
				}
			}
		}
	}
}
