package check

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// upgrade is the overlay that runs beside pods of the release before.
const upgrade = "prod-upgrade"

// era is the label of a pod whose release knows every switch that the overlays turn on.
const era = "causeway/era"

// switched finds the settings of docs/config.md that an earlier release cannot bear.
var switched = regexp.MustCompile("^\\| `([A-Z_]+)` .*(turn it on once|while .* of an earlier release runs)")

// enforced are the settings that must be off while pods of an earlier release run, by service.
func enforced(t *testing.T) map[string][]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "docs", "config.md"))
	if err != nil {
		t.Fatal(err)
	}
	found, service := map[string][]string{}, ""
	for line := range bytes.Lines(raw) {
		if name, ok := strings.CutPrefix(string(line), "<!-- begin "); ok {
			service = strings.TrimSuffix(strings.TrimSpace(name), " -->")
		}
		if m := switched.FindStringSubmatch(string(line)); m != nil {
			found[service] = append(found[service], m[1])
		}
	}
	return found
}

// TestUpgrade_switches: beside pods of an earlier release nothing that they do is refused, and nothing is written that
// they cannot read. The value in a container wins over those of its ConfigMaps and Secrets.
func TestUpgrade_switches(t *testing.T) {
	off := enforced(t)
	off["console-operators"] = off["console"] // one program
	for service, least := range map[string]int{"callback-dispatcher": 2, "payments": 3, "reports": 3, "wallets": 2} {
		if len(off[service]) < least {
			t.Errorf("docs/config.md names %v of %s", off[service], service)
		}
	}
	checked := 0
	for _, d := range of[appsv1.Deployment](build(t, upgrade)) {
		service := d.Labels["app.kubernetes.io/name"]
		if d.Labels["app.kubernetes.io/part-of"] != "causeway" {
			continue
		}
		checked++
		want := map[string]string{}
		for _, name := range off[service] {
			want[name] = "false"
		}
		if slices.Contains([]string{"payments", "reports", "wallets"}, service) {
			want["EVENT_KEYS"] = ""
		}
		if slices.Contains([]string{"callback-dispatcher", "payments", "wallets"}, service) {
			want["SHARD"] = "none"
		}
		if service == "reports" {
			want["GIFTS_MARKED_SINCE"] = "9999-12-31T00:00:00Z" // gifts that are made meanwhile are not marked
		}
		got := map[string]string{}
		for _, v := range d.Spec.Template.Spec.Containers[0].Env {
			got[v.Name] = v.Value
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s has %v, want %v", d.Name, got, want)
		}
	}
	if checked < 9 {
		t.Errorf("only %d Deployments were looked at", checked)
	}
}

// TestUpgrade_servers: beside pods of an earlier release the servers answer in plain text too, and broker users may
// declare.
func TestUpgrade_servers(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(root, "libs", "wire", "broker.go"))
	if err != nil {
		t.Fatal(err)
	}
	permissions := 0
	for _, m := range build(t, upgrade) {
		switch {
		case m.Kind == "Permission":
			permissions++
			for _, right := range []string{"configure", "write", "read"} {
				if got := fmt.Sprint(m.field(t, "spec.permissions."+right)); !strings.Contains(string(source), "all := `"+got+"`") {
					t.Errorf("%s: %s is %s, which is not that of EarlierRights", m, right, got)
				}
			}
		case m.Kind == "RabbitmqCluster":
			if m.field(t, "spec.tls.disableNonTLSListeners") != false || m.field(t, "spec.rabbitmq.envConfig") != nil {
				t.Errorf("%s refuses plain text", m)
			}
			if m.field(t, "spec.tls.secretName") != "rabbitmq-tls" {
				t.Errorf("%s does not answer in TLS", m)
			}
		case m.Kind == "Cluster":
			if rules := m.field(t, "spec.postgresql.pg_hba"); rules != nil {
				t.Errorf("%s has %v", m, rules)
			}
		case m.Kind == "NetworkPolicy" && (m.Name == "to-rabbitmq" || m.Name == "rabbitmq"):
			if text := string(m.raw); !strings.Contains(text, "port: 5671") || !strings.Contains(text, "port: 5672") {
				t.Errorf("%s does not let both ports through", m)
			}
		}
	}
	if permissions != len(workers) {
		t.Errorf("%d broker users, want %d", permissions, len(workers))
	}
}

// TestUpgrade_onlySwitches: the settings and keys are those of production, so that what the last step turns on is known
// to run.
func TestUpgrade_onlySwitches(t *testing.T) {
	data := func(overlay string) (all []string) {
		for _, c := range of[corev1.ConfigMap](build(t, overlay)) {
			all = append(all, c.Name, fmt.Sprint(c.Data))
		}
		for _, m := range build(t, overlay) {
			if m.Kind == "ExternalSecret" || m.Kind == "Job" {
				all = append(all, string(m.raw))
			}
		}
		return all
	}
	if !slices.Equal(data("prod"), data(upgrade)) {
		t.Error("settings, Secrets or migrations differ")
	}
}

// TestUpgrade_eras: every pod says of which era it is, the same in every overlay.
func TestUpgrade_eras(t *testing.T) {
	eras := map[string]bool{}
	for _, overlay := range append(slices.Clone(overlays), upgrade) {
		for _, d := range of[appsv1.Deployment](build(t, overlay)) {
			if d.Labels["app.kubernetes.io/part-of"] == "causeway" {
				eras[d.Spec.Template.Labels[era]] = true
			}
		}
	}
	if len(eras) != 1 || eras[""] {
		t.Errorf("pods are of the eras %v", eras)
	}
}
