package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// given lists the variables that each Secret and ConfigMap of an overlay gives.
func given(t *testing.T, all []manifest) map[string][]string {
	t.Helper()
	sources := map[string][]string{}
	for _, c := range of[corev1.ConfigMap](all) {
		sources["ConfigMap/"+c.Name] = slices.Collect(maps.Keys(c.Data))
	}
	for _, s := range of[corev1.Secret](all) {
		sources["Secret/"+s.Name] = slices.Collect(maps.Keys(s.Data))
	}
	for _, m := range all {
		if m.Kind != "ExternalSecret" {
			continue
		}
		if m.field(t, "spec.target.name") != m.Name {
			t.Errorf("%s makes a Secret of another name", m)
		}
		entries, _ := m.field(t, "spec.data").([]any)
		for _, entry := range entries {
			key, _ := entry.(map[string]any)["secretKey"].(string)
			sources["Secret/"+m.Name] = append(sources["Secret/"+m.Name], key)
		}
	}
	return sources
}

// variables are what the pods of a workload see.
func variables(t *testing.T, w workload, sources map[string][]string) []string {
	t.Helper()
	var all []string
	for _, from := range w.pod.Spec.Containers[0].EnvFrom {
		name := ""
		if from.ConfigMapRef != nil {
			name = "ConfigMap/" + from.ConfigMapRef.Name
		} else if from.SecretRef != nil {
			name = "Secret/" + from.SecretRef.Name
		}
		if sources[name] == nil {
			t.Errorf("%s reads %s, which is not there", w, name)
		}
		all = append(all, sources[name]...)
	}
	return all
}

// roleless are required by one role of a service only.
var roleless = map[string][]string{
	"serve":   {"AMQP_URL", "DATABASE_OWNER_URL"},
	"work":    {"IDENTITY_KEYS", "DATABASE_OWNER_URL"},
	"sweep":   {"IDENTITY_KEYS", "DATABASE_OWNER_URL"},
	"archive": {"IDENTITY_KEYS", "DATABASE_OWNER_URL"},
	"migrate": nil,
}

// TestSettings: every variable that is set exists, every required one is set for the roles that need it, and no role is
// given a secret that is not its business.
func TestSettings(t *testing.T) {
	tables := documented(t)
	for _, overlay := range overlays {
		all := build(t, overlay)
		sources := given(t, all)
		for _, w := range workloads(all) {
			if !w.ours() {
				continue
			}
			service, role := w.pod.Labels["app.kubernetes.io/name"], w.pod.Labels["app.kubernetes.io/component"]
			set := variables(t, w, sources)
			for _, name := range set {
				if _, ok := tables[service][name]; !ok {
					t.Errorf("%s %s: %s is not a setting of %s", overlay, w, name, service)
				}
			}
			for name, s := range tables[service] {
				needed := s.required && !slices.Contains(roleless[role], name)
				if role == "migrate" {
					needed = name == "DATABASE_OWNER_URL"
				}
				if needed && !slices.Contains(set, name) {
					t.Errorf("%s %s: %s is required and not set", overlay, w, name)
				}
			}
			for _, secret := range append(slices.Clone(roleless[role]), foreignTo(role)...) {
				if slices.Contains(set, secret) {
					t.Errorf("%s %s: %s is not its business", overlay, w, secret)
				}
			}
		}
		if overlay == "prod" {
			for source, names := range sources {
				for _, name := range []string{"ALLOW_SIMULATED_LIVE", "BITCOIN_NETWORK_LIVE"} {
					if slices.Contains(names, name) {
						t.Errorf("look for %s in %s: it is set, want no test network to serve live mode", name, source)
					}
				}
			}
		}
	}
}

// TestOrderKeys: the keys that approve refunds are those of the process alone in which payments decides. Production
// names no network on which refunds leave, because an operator fills the refund station first.
func TestOrderKeys(t *testing.T) {
	for _, overlay := range overlays {
		all := build(t, overlay)
		sources, holders := given(t, all), 0
		for _, w := range workloads(all) {
			if !w.ours() {
				continue
			}
			service, role := w.pod.Labels["app.kubernetes.io/name"], w.pod.Labels["app.kubernetes.io/component"]
			set := variables(t, w, sources)
			for _, key := range []string{"ORDER_AUTOMATIC_KEY", "ORDER_OPERATOR_KEY"} {
				decides := service == "payments" && role == "serve"
				if slices.Contains(set, key) != decides {
					t.Errorf("look for %s in %s %s: got %t, want %t", key, overlay, w, !decides, decides)
				}
				if decides {
					holders++
				}
			}
		}
		if holders != 2 {
			t.Errorf("count the keys of orders in %s: got %d, want 2", overlay, holders)
		}
		if overlay != "prod" {
			continue
		}
		for _, c := range of[corev1.ConfigMap](all) {
			if networks, named := c.Data["REFUND_NETWORKS"]; named && networks != "" {
				t.Errorf("read REFUND_NETWORKS of %s: got %q, want none before its station is filled", c.Name, networks)
			}
		}
	}
}

// Of a process beside its pool: leadership, notifications, the relay.
const (
	direct = 4
	spared = 50 // for operators, migrations, the cluster's own
)

// TestConnections: with every autoscaler at its most, the pools of all replicas together stay below what PostgreSQL
// grants.
func TestConnections(t *testing.T) {
	all := build(t, "prod")
	most := map[string]int{}
	for _, h := range of[autoscalingv2.HorizontalPodAutoscaler](all) {
		most[h.Spec.ScaleTargetRef.Name] = int(h.Spec.MaxReplicas)
	}
	granted := 0
	for _, m := range all {
		switch m.Kind {
		case "ScaledObject":
			replicas, _ := m.field(t, "spec.maxReplicaCount").(float64)
			most[fmt.Sprint(m.field(t, "spec.scaleTargetRef.name"))] = int(replicas)
		case "Cluster":
			granted, _ = strconv.Atoi(fmt.Sprint(m.field(t, "spec.postgresql.parameters.max_connections")))
		}
	}
	pools, wanted := map[string]int{}, 0
	for _, c := range of[corev1.ConfigMap](all) {
		pools["ConfigMap/"+c.Name], _ = strconv.Atoi(c.Data["DATABASE_MAX_CONNS"])
	}
	for _, d := range of[appsv1.Deployment](all) {
		if d.Spec.Template.Labels["app.kubernetes.io/part-of"] != "causeway" {
			continue
		}
		replicas, pool := most[d.Name], 16
		if replicas == 0 {
			replicas = int(*d.Spec.Replicas)
		}
		for _, from := range d.Spec.Template.Spec.Containers[0].EnvFrom {
			if from.ConfigMapRef != nil && pools["ConfigMap/"+from.ConfigMapRef.Name] > 0 {
				pool = pools["ConfigMap/"+from.ConfigMapRef.Name]
			}
		}
		wanted += replicas * (pool + direct)
	}
	if wanted == 0 || wanted+spared > granted {
		t.Errorf("all replicas together may hold %d connections, %d are granted", wanted, granted)
	}
	t.Logf("%d of %d", wanted, granted)
}

func foreignTo(role string) []string {
	if role == "migrate" {
		return []string{"DATABASE_URL", "MASTER_KEYS", "AMQP_URL", "IDENTITY_KEYS"}
	}
	return nil
}

// TestProd_holdsNoSecret: production's manifests name secrets and hold none.
func TestProd_holdsNoSecret(t *testing.T) {
	all := build(t, "prod")
	if secrets := of[corev1.Secret](all); len(secrets) > 0 {
		t.Errorf("%d secrets are in the manifests, the first is %s", len(secrets), secrets[0].Name)
	}
	for _, c := range of[corev1.ConfigMap](all) {
		for name, value := range c.Data {
			if name == "CONSOLE_KEYS" { // public ones
				continue
			}
			if strings.Contains(name, "KEY") || strings.Contains(name, "TOKEN") || strings.Contains(value, "://") && strings.Contains(value, "@") {
				t.Errorf("ConfigMap %s: %s looks like a secret", c.Name, name)
			}
		}
	}
}

// TestProd_twoOperators: production names an amount for each currency, lets nobody act alone on live keys, and holds no
// operator's token that never expires.
func TestProd_twoOperators(t *testing.T) {
	all := build(t, "prod")
	above := map[string]string{}
	for _, c := range of[corev1.ConfigMap](all) {
		for pair := range strings.SplitSeq(c.Data["SECOND_OPERATOR_ABOVE"], ",") {
			if currency, amount, ok := strings.Cut(pair, "="); ok {
				above[currency] = amount
			}
		}
		if on, set := c.Data["SECOND_OPERATOR"]; set && on != "true" {
			t.Errorf("%s: SECOND_OPERATOR=%s", c.Name, on)
		}
	}
	for _, currency := range []string{"NGN", "GHS", "KES", "ZAR"} {
		if amount, err := strconv.ParseFloat(above[currency], 64); err != nil || amount <= 0 {
			t.Errorf("above which amount of %s are two operators needed? %q", currency, above[currency])
		}
	}
	for source, names := range given(t, all) {
		if slices.Contains(names, "OPERATOR_TOKENS") {
			t.Errorf("%s gives tokens that never expire", source)
		}
	}
}
