package check

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// TestOperatorEdges: the pods that operators make carry their operators' labels. CloudNativePG's Jobs reach the API
// server, the primary and the object store, and the ingress reaches the pods that answer ACME. They reach nothing else,
// and nobody else reaches them, but Prometheus their metrics.
func TestOperatorEdges(t *testing.T) {
	policies := of[networkingv1.NetworkPolicy](build(t, "prod"))
	// Labels as the operators write them: CloudNativePG's pkg/utils/labels_annotations.go, cert-manager's
	// pkg/issuer/acme/http/pod.go.
	job := func(role string) peer {
		return peer{name: role + " job", pod: labels.Set{"cnpg.io/cluster": "postgres", "cnpg.io/jobRole": role}}
	}
	instance := func(number string) peer {
		return peer{name: "postgres-" + number, pod: labels.Set{
			"cnpg.io/cluster": "postgres", "cnpg.io/podRole": "instance", "cnpg.io/instanceName": "postgres-" + number, "causeway/server": "postgres",
		}}
	}
	primary, replica := instance("1"), instance("2")
	solver := peer{name: "ACME solver", pod: labels.Set{"acme.cert-manager.io/http01-solver": "true", "acme.cert-manager.io/http-domain": "1"}}
	service := func(name, role string) peer {
		return peer{name: name + "-" + role, pod: labels.Set{
			"app.kubernetes.io/part-of": "causeway", "app.kubernetes.io/name": name, "app.kubernetes.io/component": role,
		}, ports: map[string]int32{"http": 8080, "ops": 9090}}
	}
	payments, rabbit := service("payments", "work"), peer{name: "rabbitmq", pod: labels.Set{"causeway/server": "rabbitmq"}}
	api, store, names := outside("10.96.0.1"), outside("8.8.8.8"), elsewhere("kube-system", labels.Set{"k8s-app": "kube-dns"})

	type edge struct {
		from, to peer
		port     int32
		want     bool
	}
	edges := []edge{
		{primary, replica, 5432, true},
		{replica, primary, 5432, true},
		{replica, primary, 8000, true},
		{primary, api, 443, true},
		{primary, api, 6443, true},
		{primary, store, 443, true},
		{payments, primary, 5432, true},
		{payments, primary, 8000, false},
		{elsewhere("cnpg-system", nil), primary, 8000, true},
		{elsewhere("cnpg-system", nil), primary, 5432, true},
		{elsewhere("monitoring", nil), primary, 9187, true},
		{elsewhere("default", nil), primary, 9187, false},
		{elsewhere("monitoring", nil), primary, 5432, false},
		{elsewhere("monitoring", nil), rabbit, 15691, true},
		{elsewhere("monitoring", nil), rabbit, 5671, false},
		{elsewhere("default", nil), rabbit, 15691, false},
		{elsewhere("default", nil), primary, 5432, false},
		{elsewhere("ingress-nginx", nil), solver, 8089, true},
		{elsewhere("default", nil), solver, 8089, false},
		{payments, solver, 8089, false},
		{solver, store, 443, false},
		{solver, primary, 5432, false},
		{solver, payments, 9090, false},
	}
	for _, role := range []string{"initdb", "import", "pgbasebackup", "full-recovery", "join", "snapshot-recovery", "major-upgrade"} {
		edges = append(edges,
			edge{job(role), api, 443, true}, edge{job(role), api, 6443, true}, edge{job(role), store, 443, true}, edge{job(role), names, 53, true},
			edge{job(role), primary, 5432, true}, edge{job(role), primary, 8000, true},
			edge{job(role), payments, 9090, false}, edge{job(role), rabbit, 5672, false}, edge{job(role), store, 25, false},
			edge{payments, job(role), 5432, false}, edge{elsewhere("default", nil), job(role), 5432, false},
		)
	}
	for _, e := range edges {
		if got := allowed(t, policies, e.from, e.to, e.port); got != e.want {
			t.Errorf("%s to %s port %d: allowed %t, not %t", e.from.name, e.to.name, e.port, got, e.want)
		}
	}
}
