package check

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"causeway.internal/deploy/check/operator"
	"causeway.internal/deploy/check/schema"
)

// schemas are those of the API server that `make k8s/prove` builds, and of the operators' definitions that it installs.
var schemas = sync.OnceValues(func() (schema.Set, error) {
	kubernetes, err := operator.Kubernetes(context.Background(), root)
	if err != nil {
		return nil, err
	}
	definitions, err := operator.Definitions(context.Background(), root)
	if err != nil {
		return nil, err
	}
	return schema.Load(kubernetes, definitions)
})

// TestSchemas: every object of every overlay fits the schema of its kind and has no other field.
func TestSchemas(t *testing.T) {
	t.Parallel()
	set, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	for _, overlay := range append(slices.Clone(overlays), upgrade) {
		all := build(t, overlay)
		for _, m := range all {
			if err := set.Check(m.raw); err != nil {
				t.Errorf("%s: check %s against its schema: %v", overlay, m, err)
			}
		}
		if len(all) < 80 {
			t.Errorf("%s has %d objects only", overlay, len(all))
		}
	}
}

// TestSchemas_refusals: each fault in an object of the prod overlay is found.
func TestSchemas_refusals(t *testing.T) {
	t.Parallel()
	set, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	all := build(t, "prod")
	faults := []struct {
		object, path string
		value        any // nil removes the field
		want         string
	}{
		{"Deployment/payments-work", "spec.template.spec.restarts", "no", "unknown field .spec.template.spec.restarts"},
		{"Deployment/payments-work", "spec.replicas", "two", "spec.replicas"},
		{"Deployment/payments-work", "spec.selector", nil, "spec.selector"},
		{"Deployment/payments-work", "metadata.label", "x", "unknown field .metadata.label"},
		{"Deployment/payments-work", "apiVersion", "apps/v1beta1", "no schema is known for apps/v1beta1 Deployment"},
		{"NetworkPolicy/default-deny", "spec.podSelector", "all", "spec.podSelector"},
		{"Cluster/postgres", "spec.instances", "three", "spec.instances"},
		{"Cluster/postgres", "spec.instances", 0, "spec.instances"},
		{"Cluster/postgres", "spec.replicas", 3, "unknown field .spec.replicas"},
		{"Cluster/postgres", "metadata.labels", []any{"x"}, "metadata.labels"},
		{"Database/payments", "spec.owner", nil, "spec.owner"},
		{"RabbitmqCluster/rabbitmq", "spec.tls.enabled", true, "unknown field .spec.tls.enabled"},
		{"Queue/payments.wallets.deposit-changed.v1", "spec.durable", "yes", "spec.durable"},
		{"ScaledObject/payments-work", "spec.maxReplicaCount", "10", "spec.maxReplicaCount"},
		{"ExternalSecret/payments", "spec.refreshEvery", "1h", "unknown field .spec.refreshEvery"},
		{"Certificate/postgres", "spec.privateKey.algorithm", "DSA", "spec.privateKey.algorithm"},
		{"PrometheusRule/causeway", "spec.groups", "none", "spec.groups"},
	}
	for _, fault := range faults {
		i := slices.IndexFunc(all, func(m manifest) bool { return m.String() == fault.object })
		if i < 0 {
			t.Errorf("no %s is in the overlay", fault.object)
			continue
		}
		object := map[string]any{}
		if err := yaml.Unmarshal(all[i].raw, &object); err != nil {
			t.Fatal(err)
		}
		steps := strings.Split(fault.path, ".")
		at, last := object, steps[len(steps)-1]
		for _, step := range steps[:len(steps)-1] {
			inner, _ := at[step].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
				at[step] = inner
			}
			at = inner
		}
		if at[last] = fault.value; fault.value == nil {
			delete(at, last)
		}
		raw, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if err := set.Check(raw); err == nil || !strings.Contains(err.Error(), fault.want) {
			t.Errorf("%s with %s %v: %v, want %q", fault.object, fault.path, fault.value, err, fault.want)
		}
	}
}
