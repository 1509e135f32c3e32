package check

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// rule is a rule of deploy/prometheus/rules.
type rule struct {
	Alert       string            `json:"alert,omitempty"`
	Record      string            `json:"record,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func ruleFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "deploy", "prometheus", "rules", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	return files
}

// rules are the rules of every file.
func rules(t *testing.T) []rule {
	t.Helper()
	var all []rule
	for _, path := range ruleFiles(t) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Groups []struct {
				Name  string `json:"name"`
				Rules []rule `json:"rules"`
			} `json:"groups"`
		}
		if err := yaml.UnmarshalStrict(raw, &file); err != nil {
			t.Fatalf("%s: read the rules: %v", path, err)
		}
		for _, group := range file.Groups {
			all = append(all, group.Rules...)
		}
	}
	return all
}

// TestPromtool: Prometheus' own tool takes the configuration and the rules, and the rules fire when they should.
// promtool judges every rule that it has loaded at every minute of a case, which takes it minutes: unless the extent is
// long, a case is given the rules that it asks about and those that they read.
func TestPromtool(t *testing.T) {
	out, err := exec.Command("./program", "promtool", "prometheus").Output()
	if err != nil {
		t.Fatalf("promtool cannot be had: %v", err)
	}
	tool := strings.TrimSpace(string(out))
	dir := filepath.Join(root, "deploy", "prometheus")
	tests, err := filepath.Glob(filepath.Join(dir, "tests", "*.yml"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests of rules: %v", err)
	}
	promtool := func(t *testing.T, args ...string) {
		t.Helper()
		cmd := exec.Command(tool, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v, want success\n%s", strings.Join(args, " "), err, out)
		}
	}
	t.Run("prometheus.yml", func(t *testing.T) {
		t.Parallel()
		promtool(t, "check", "config", "prometheus.yml")
	})
	for _, test := range tests {
		t.Run(filepath.Base(test), func(t *testing.T) {
			t.Parallel()
			files := []string{filepath.Join("tests", filepath.Base(test))}
			if !everyRule {
				files = narrowed(t, test)
			}
			promtool(t, append([]string{"test", "rules"}, files...)...)
		})
	}
}

// TestAlertsTested: promtool sees every alert fire, and sees it silent. The watchdog is never silent.
func TestAlertsTested(t *testing.T) {
	tests, err := filepath.Glob(filepath.Join(root, "deploy", "prometheus", "tests", "*.yml"))
	if err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]bool{}, map[string]bool{"CausewayWatchdog": true}
	for _, path := range tests {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Tests []struct {
				Cases []struct {
					Alert string `json:"alertname"`
					Want  []any  `json:"exp_alerts"`
				} `json:"alert_rule_test"`
			} `json:"tests"`
		}
		if err := yaml.Unmarshal(raw, &file); err != nil {
			t.Fatalf("%s: read the tests of rules: %v", path, err)
		}
		for _, test := range file.Tests {
			for _, c := range test.Cases {
				if len(c.Want) == 0 {
					silent[c.Alert] = true
				} else {
					fires[c.Alert] = true
				}
			}
		}
	}
	for _, rule := range rules(t) {
		if rule.Alert != "" && (!fires[rule.Alert] || !silent[rule.Alert]) {
			t.Errorf("%s has no case in which it fires, or none in which it is silent", rule.Alert)
		}
	}
}

// TestCompose_rules: compose loads every file of rules but the one about servers that only a cluster has.
func TestCompose_rules(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "deploy", "prometheus", "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Files []string `json:"rule_files"`
	}
	if err := yaml.Unmarshal(raw, &config); err != nil {
		t.Fatal(err)
	}
	for _, path := range ruleFiles(t) {
		name := filepath.Join("rules", filepath.Base(path))
		if slices.Contains(config.Files, name) == (name == "rules/cluster.yml") {
			t.Errorf("prometheus.yml and %s: loaded %t", name, slices.Contains(config.Files, name))
		}
	}
}

// TestCompose_scraped: in both files of compose Prometheus scrapes every service under the name and the role that the
// rules use.
func TestCompose_scraped(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "deploy", "prometheus", "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Jobs []struct {
			Name    string `json:"job_name"`
			Targets []struct {
				Targets []string          `json:"targets"`
				Labels  map[string]string `json:"labels"`
			} `json:"static_configs"`
		} `json:"scrape_configs"`
	}
	if err := yaml.Unmarshal(raw, &config); err != nil {
		t.Fatalf("read prometheus.yml: %v", err)
	}
	scraped := map[string]string{}
	for _, job := range config.Jobs {
		for _, one := range job.Targets {
			for _, target := range one.Targets {
				scraped[target] = strings.TrimSpace(job.Name + " " + one.Labels["service"] + " " + one.Labels["role"])
			}
		}
	}
	dir, _ := installed(t)
	want := map[string]string{"rabbitmq:15692": "rabbitmq"}
	for _, project := range []*types.Project{compose(t), vps(t, dir)} {
		for name, service := range project.Services {
			if service.HealthCheck != nil && slices.Contains(service.HealthCheck.Test, "/app") {
				want[name+":9090"] = "causeway " + name + " all"
			}
		}
	}
	if !maps.Equal(scraped, want) {
		t.Errorf("prometheus.yml scrapes %v, want %v", scraped, want)
	}
}

// TestMissing: an alert fires for each service of which Prometheus sees no process, in each of its roles.
func TestMissing(t *testing.T) {
	exprs := map[string]string{}
	for _, rule := range rules(t) {
		exprs[rule.Alert] = rule.Expr
	}
	for _, d := range of[appsv1.Deployment](build(t, "prod")) {
		labels := d.Spec.Template.Labels
		if labels["causeway/ops"] != "true" || idle(d) {
			continue
		}
		service, role := labels["app.kubernetes.io/name"], labels["app.kubernetes.io/component"]
		alert := map[string]string{"serve": "ServersMissing", "work": "WorkersMissing", "sweep": "SweeperMissing"}[role]
		seen := regexp.MustCompile(`absent\(up\{job="causeway", service="` + service + `", role=~?"` + role + `[|"]`)
		if !seen.MatchString(exprs[alert]) {
			t.Errorf("no alert fires while %s has no process with the role %s, want %q to", service, role, alert)
		}
	}
}

// pageLive is the severity of what pages in live mode, and is a ticket in test mode.
const pageLive = `{{ if eq $labels.mode "live" }}page{{ else }}ticket{{ end }}`

// TestAlerts: every alert says how bad it is and where it is explained, and the explanation is there.
func TestAlerts(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range rules(t) {
		if rule.Record != "" {
			continue
		}
		if seen[rule.Alert] {
			t.Errorf("%s is there twice", rule.Alert)
		}
		seen[rule.Alert] = true
		severities := []string{"page", "ticket", pageLive}
		if rule.Alert == "CausewayWatchdog" {
			severities = []string{"none"}
		}
		if !slices.Contains(severities, rule.Labels["severity"]) || rule.Annotations["summary"] == "" {
			t.Errorf("%s does not say how bad it is or what it is", rule.Alert)
		}
		page, anchor, _ := strings.Cut(rule.Annotations["runbook"], "#")
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Errorf("%s: read its runbook: %v", rule.Alert, err)
			continue
		}
		if anchor != "" && !bytes.Contains(bytes.ToLower(text), []byte("\n## "+anchor+"\n")) {
			t.Errorf("%s: %s has no section %s", rule.Alert, page, anchor)
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

var job = regexp.MustCompile(`job="([a-z]+)"`)

// TestScrapes: what the rules name by its job is scraped under that name.
func TestScrapes(t *testing.T) {
	scraped := map[string]bool{}
	for _, m := range build(t, "prod") {
		list := map[string]string{"ServiceMonitor": "spec.endpoints", "PodMonitor": "spec.podMetricsEndpoints"}[m.Kind]
		if list == "" {
			continue
		}
		endpoints, _ := m.field(t, list).([]any)
		for _, endpoint := range endpoints {
			relabelings, _ := endpoint.(map[string]any)["relabelings"].([]any)
			for _, one := range relabelings {
				if one := one.(map[string]any); one["targetLabel"] == "job" {
					scraped[one["replacement"].(string)] = true
				}
			}
		}
	}
	for _, rule := range rules(t) {
		for _, m := range job.FindAllStringSubmatch(rule.Expr, -1) {
			if !scraped[m[1]] {
				t.Errorf("%s is about the job %q, which nothing in the prod overlay scrapes", rule.Alert, m[1])
			}
		}
	}
}

var (
	expression = regexp.MustCompile(`\bup\{|[a-z]+_[a-z_]+|objective:[a-z]+:[a-z_0-9]+`)

	// outer are the metrics of servers that only a cluster has, and the recording rules.
	outer = regexp.MustCompile(`\b(?:cnpg|barman|kubelet|kube|certmanager)_[a-z_]+|\bobjective:[a-z]+:[a-z_0-9]+`)
)

// named are the outer metrics that rules record or read; promtool tests those with the names that their operators
// document.
func named(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, rule := range rules(t) {
		all = append(all, rule.Record)
		all = append(all, outer.FindAllString(rule.Expr, -1)...)
	}
	return all
}

// TestDashboards: they load, have names of their own, and every panel asks something that there is. The metrics of the
// product are held against the live one by TestLiveRails in deploy/e2e, those of the broker by TestAlerts in
// deploy/chaos.
func TestDashboards(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "deploy", "grafana", "dashboards", "*.json"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d dashboards: %v", len(files), err)
	}
	seen, known := map[string]bool{}, named(t)
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
			t.Fatalf("%s: read the dashboard: %v", path, err)
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
				for _, metric := range outer.FindAllString(target.Expr, -1) {
					if !slices.Contains(known, metric) {
						t.Errorf("%s: %q asks for %s, which no rule records or reads", path, p.Title, metric)
					}
				}
			}
		}
	}
}
