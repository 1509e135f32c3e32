package check

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// root is the project's.
const root = "../.."

// services in the order of the alphabet, and which of them have workers.
var (
	services = []string{"callback-dispatcher", "console", "console-operators", "gateway", "payments", "reports", "wallets"}
	workers  = []string{"callback-dispatcher", "payments", "reports", "wallets"}
	overlays = []string{"dev", "prod"}
)

// foreign are the kinds whose types are not Kubernetes' own; TestSchemas holds them against their definitions.
var foreign = map[string]bool{
	"Cluster": true, "Database": true, "ScheduledBackup": true, "ObjectStore": true, // CloudNativePG
	"RabbitmqCluster": true, "Vhost": true, "User": true, "Permission": true, "Exchange": true, "Queue": true, "Binding": true, // RabbitMQ
	"ScaledObject": true, "TriggerAuthentication": true, // KEDA
	"Issuer": true, "Certificate": true, // cert-manager
	"ExternalSecret": true, "ServiceMonitor": true, "PodMonitor": true, "PrometheusRule": true,
}

// manifest is one built object.
type manifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	raw     []byte
	decoded any // nil for a foreign kind
}

func (m manifest) String() string { return m.Kind + "/" + m.Name }

// field reads a path of the raw object, such as spec.data.0.secretKey.
func (m manifest) field(t *testing.T, path string) any {
	t.Helper()
	var at any
	if err := yaml.Unmarshal(m.raw, &at); err != nil {
		t.Fatal(err)
	}
	for _, step := range strings.Split(path, ".") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[step]
	}
	return at
}

var (
	built    = map[string][]manifest{} // by overlay
	building sync.Mutex
)

// build renders an overlay as `kubectl kustomize` does, and decodes every object with no field unknown.
func build(t *testing.T, overlay string) []manifest {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	if _, ok := built[overlay]; !ok {
		built[overlay] = render(t, filepath.Join(root, "k8s", "overlays", overlay))
	}
	return built[overlay]
}

// render builds what one directory holds.
func render(t *testing.T, directory string) []manifest {
	t.Helper()
	result, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		t.Fatalf("kustomize %s: %v", directory, err)
	}
	var all []manifest
	for _, resource := range result.Resources() {
		var m manifest
		if m.raw, err = resource.AsYAML(); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(m.raw, &m); err != nil {
			t.Fatalf("%s: read the object: %v", resource, err)
		}
		if m.decoded, err = decode(m); err != nil {
			t.Errorf("%s: decode the object: %v", m, err)
		}
		all = append(all, m)
	}
	return all
}

func decode(m manifest) (any, error) {
	var into any
	switch m.APIVersion + " " + m.Kind {
	case "apps/v1 Deployment":
		into = &appsv1.Deployment{}
	case "apps/v1 StatefulSet":
		into = &appsv1.StatefulSet{}
	case "batch/v1 Job":
		into = &batchv1.Job{}
	case "v1 Service":
		into = &corev1.Service{}
	case "v1 ServiceAccount":
		into = &corev1.ServiceAccount{}
	case "v1 PersistentVolumeClaim":
		into = &corev1.PersistentVolumeClaim{}
	case "v1 ConfigMap":
		into = &corev1.ConfigMap{}
	case "v1 Secret":
		into = &corev1.Secret{}
	case "v1 Namespace":
		into = &corev1.Namespace{}
	case "policy/v1 PodDisruptionBudget":
		into = &policyv1.PodDisruptionBudget{}
	case "autoscaling/v2 HorizontalPodAutoscaler":
		into = &autoscalingv2.HorizontalPodAutoscaler{}
	case "networking.k8s.io/v1 NetworkPolicy":
		into = &networkingv1.NetworkPolicy{}
	case "networking.k8s.io/v1 Ingress":
		into = &networkingv1.Ingress{}
	default:
		if foreign[m.Kind] {
			return nil, nil
		}
		return nil, fmt.Errorf("no type is known for %s %s", m.APIVersion, m.Kind)
	}
	return into, yaml.UnmarshalStrict(m.raw, into)
}

// of lists the objects of one type.
func of[T any](all []manifest) []*T {
	var found []*T
	for _, m := range all {
		if one, ok := m.decoded.(*T); ok {
			found = append(found, one)
		}
	}
	return found
}

// workload is anything that makes pods.
type workload struct {
	kind, name string
	replicas   *int32
	pod        corev1.PodTemplateSpec
}

func (w workload) String() string { return w.kind + "/" + w.name }

// ours says that the pods run our images.
func (w workload) ours() bool {
	part := w.pod.Labels["app.kubernetes.io/part-of"]
	return part == "causeway" || part == "causeway-signer"
}

func workloads(all []manifest) []workload {
	var found []workload
	for _, d := range of[appsv1.Deployment](all) {
		found = append(found, workload{"Deployment", d.Name, d.Spec.Replicas, d.Spec.Template})
	}
	for _, s := range of[appsv1.StatefulSet](all) {
		found = append(found, workload{"StatefulSet", s.Name, s.Spec.Replicas, s.Spec.Template})
	}
	for _, j := range of[batchv1.Job](all) {
		found = append(found, workload{"Job", j.Name, nil, j.Spec.Template})
	}
	return found
}

// TestOverlays: both build, decode strictly, hold every role of every service, and name nothing twice.
func TestOverlays(t *testing.T) {
	for _, overlay := range overlays {
		all := build(t, overlay)
		seen := map[string]bool{}
		for _, m := range all {
			if seen[m.String()] {
				t.Errorf("%s: %s is there twice", overlay, m)
			}
			seen[m.String()] = true
		}
		for _, service := range services {
			roles := []string{"Deployment/" + service}
			if slices.Contains(workers, service) {
				roles = []string{"Deployment/" + service + "-serve", "Deployment/" + service + "-work"}
			}
			for _, want := range append(roles, "Service/"+service, "ServiceAccount/"+service) {
				if !seen[want] {
					t.Errorf("%s: no %s", overlay, want)
				}
			}
			if !slices.ContainsFunc(all, func(m manifest) bool { return m.Kind == "Job" && strings.HasPrefix(m.Name, service+"-migrate") }) {
				t.Errorf("%s: no migration of %s", overlay, service)
			}
		}
	}
}

// setting is a row of docs/config.md.
type setting struct{ required bool }

// documented reads docs/config.md: by service, by variable.
func documented(t *testing.T) map[string]map[string]setting {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "docs", "config.md"))
	if err != nil {
		t.Fatal(err)
	}
	tables, service := map[string]map[string]setting{}, ""
	for line := range bytes.Lines(raw) {
		text := strings.TrimSpace(string(line))
		if name, ok := strings.CutPrefix(text, "<!-- begin "); ok {
			service = strings.TrimSuffix(name, " -->")
			tables[service] = map[string]setting{}
		}
		cells := strings.Split(text, "|")
		if service == "" || len(cells) < 6 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		name := strings.Trim(strings.TrimSpace(cells[1]), "`")
		tables[service][name] = setting{required: strings.TrimSpace(cells[3]) == "yes"}
		if strings.Contains(text, name+"_FILE") {
			tables[service][name+"_FILE"] = setting{}
		}
	}
	tables["console-operators"] = tables["console"] // one program, run for each door
	for _, service := range services {
		if len(tables[service]) < 5 {
			t.Fatalf("docs/config.md has no table of %s that can be read", service)
		}
	}
	return tables
}
