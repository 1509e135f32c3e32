package check

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestTLS: in production every process demands TLS of its database and, if it uses the broker, of the broker, with the
// authority of a Secret; the servers have certificates of that authority with the names by which they are called, and
// no plain port.
func TestTLS(t *testing.T) {
	all := build(t, "prod")
	settings := map[string]map[string]string{}
	for _, c := range of[corev1.ConfigMap](all) {
		settings["ConfigMap/"+c.Name] = c.Data
	}
	sources := given(t, all)
	checked := 0
	for _, w := range workloads(all) {
		if w.pod.Labels["app.kubernetes.io/part-of"] != "causeway" {
			continue
		}
		checked++
		set := map[string]string{}
		for _, from := range w.pod.Spec.Containers[0].EnvFrom {
			if from.ConfigMapRef != nil {
				for name, value := range settings["ConfigMap/"+from.ConfigMapRef.Name] {
					set[name] = value
				}
			}
		}
		prefixes := []string{"DATABASE"}
		if slices.Contains(variables(t, w, sources), "AMQP_URL") {
			prefixes = append(prefixes, "AMQP")
		}
		for _, prefix := range prefixes {
			if set[prefix+"_TLS_REQUIRED"] != "true" {
				t.Errorf("%s: %s_TLS_REQUIRED is not true", w, prefix)
			}
			if file := set[prefix+"_CA_FILE"]; !trusts(w, file) {
				t.Errorf("%s: no Secret's ca.crt is mounted at %s_CA_FILE=%s", w, prefix, file)
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d workloads were looked at", checked)
	}
	noPlainPort(t, all)
	certified(t, all)
}

// trusts says that a file of a pod is the certificate of the servers' authority, without its key.
func trusts(w workload, file string) bool {
	for _, m := range w.pod.Spec.Containers[0].VolumeMounts {
		if m.MountPath != filepath.Dir(file) {
			continue
		}
		for _, v := range w.pod.Spec.Volumes {
			if v.Name == m.Name && v.Secret != nil && v.Secret.SecretName == "servers-ca" {
				return len(v.Secret.Items) == 1 && v.Secret.Items[0].Key == "ca.crt" && v.Secret.Items[0].Path == filepath.Base(file)
			}
		}
	}
	return false
}

// plainURL is an address of a server in plain text, plainPort a plain port of RabbitMQ.
var (
	plainURL  = regexp.MustCompile(`amqp://|sslmode=(disable|allow|prefer|require|verify-ca)`)
	plainPort = regexp.MustCompile(`(?i)port: (5672|15672|15692)\b`)
)

// noPlainPort fails for what still listens, calls or is let through in plain text.
func noPlainPort(t *testing.T, all []manifest) {
	t.Helper()
	for _, m := range all {
		if found := plainURL.Find(m.raw); found != nil {
			t.Errorf("%s names a server in plain text: %s", m, found)
		}
		if found := plainPort.Find(m.raw); found != nil {
			t.Errorf("%s names a plain port: %s", m, found)
		}
		switch m.Kind {
		case "RabbitmqCluster":
			if m.field(t, "spec.tls.disableNonTLSListeners") != true || m.field(t, "spec.tls.secretName") != "rabbitmq-tls" {
				t.Errorf("%s has plain listeners", m)
			}
			env := fmt.Sprint(m.field(t, "spec.rabbitmq.envConfig"))
			if strings.Count(env, "-proto_dist inet_tls") != 2 {
				t.Errorf("%s: the brokers speak to each other in plain text", m)
			}
		case "Cluster":
			rules, _ := m.field(t, "spec.postgresql.pg_hba").([]any)
			if len(rules) == 0 || rules[0] != "hostnossl all all all reject" {
				t.Errorf("%s takes connections in plain text: %v", m, rules)
			}
		case "TriggerAuthentication":
			raw, err := json.Marshal([]any{m.field(t, "spec.secretTargetRef"), m.field(t, "spec.configMapTargetRef")})
			if err != nil || !strings.Contains(string(raw), `"parameter":"ca"`) || !strings.Contains(string(raw), `"parameter":"tls"`) {
				t.Errorf("%s asks the broker in plain text: %s, %v", m, raw, err)
			}
		}
	}
	config, err := os.ReadFile(filepath.Join(root, "k8s", "overlays", "prod", "inter-node-tls.config"))
	if err != nil || strings.Count(string(config), "{verify, verify_peer}") != 2 || !strings.Contains(string(config), "{fail_if_no_peer_cert, true}") {
		t.Errorf("brokers do not verify each other: %v", err)
	}
}

// certified fails unless the servers' certificates come from the one authority, with the names that URLs use.
func certified(t *testing.T, all []manifest) {
	t.Helper()
	names := map[string][]any{}
	for _, m := range all {
		if m.Kind == "Certificate" && m.field(t, "spec.issuerRef.name") == "servers" {
			names[fmt.Sprint(m.field(t, "spec.secretName"))], _ = m.field(t, "spec.dnsNames").([]any)
		}
	}
	for secret, name := range map[string]string{"postgres-tls": "postgres-rw.causeway.svc", "rabbitmq-tls": "rabbitmq.causeway.svc"} {
		if !slices.Contains(names[secret], any(name)) {
			t.Errorf("no certificate in %s is for %s", secret, name)
		}
	}
	for _, m := range all {
		if m.Kind == "Cluster" && (m.field(t, "spec.certificates.serverTLSSecret") != "postgres-tls" || m.field(t, "spec.certificates.serverCASecret") != "postgres-tls") {
			t.Errorf("%s has another certificate", m)
		}
	}
}
