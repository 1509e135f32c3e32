package check

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

// described lists the paths of the API's document.
func described(t *testing.T) (paths []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "gateway", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Paths map[string]any }
	if err := yaml.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	for path := range document.Paths {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// entrances are the ingresses that take a path, by the rules of pathType Prefix; the first page alone is exact.
func entrances(t *testing.T, all []manifest, path string) (names []string) {
	t.Helper()
	for _, in := range of[networkingv1.Ingress](all) {
		if in.Spec.DefaultBackend != nil {
			t.Errorf("%s takes every path", in.Name)
		}
		for _, rule := range in.Spec.Rules {
			for _, p := range rule.HTTP.Paths {
				if p.Path == "/" && *p.PathType == networkingv1.PathTypeExact {
					if path == "/" {
						names = append(names, in.Name)
					}
					continue
				}
				if *p.PathType != networkingv1.PathTypePrefix {
					t.Errorf("%s: %s is no prefix", in.Name, p.Path)
				}
				if p.Path == "/" || path == p.Path || strings.HasPrefix(path, p.Path+"/") {
					names = append(names, in.Name)
				}
			}
		}
	}
	return names
}

// TestIngress: production takes every path of the API from outside but those of operators, and these only with the
// component, which names the networks that it serves.
func TestIngress(t *testing.T) {
	prod, err := filepath.Abs(filepath.Join(root, "k8s"))
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	relative, err := filepath.Rel(directory, prod)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("resources: [%s/overlays/prod]\ncomponents: [%s/components/admin-ingress]\n", relative, relative)
	if err := os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	public, asked, operated := build(t, "prod"), render(t, directory), 0
	for _, path := range described(t) {
		want := []string{"gateway"}
		if strings.HasPrefix(path, "/v1/admin/") {
			operated++
			if found := entrances(t, public, path); len(found) > 0 {
				t.Errorf("%s is public, by %v", path, found)
			}
			want = []string{"gateway-admin"}
		}
		if found := entrances(t, asked, path); !slices.Equal(found, want) {
			t.Errorf("with the component %s enters by %v, want %v", path, found, want)
		}
	}
	for path, want := range map[string][2][]string{
		"/console/sign-in":   {{"gateway"}, {"gateway"}},
		"/operators/sign-in": {nil, {"gateway-admin"}},
	} {
		if found := entrances(t, public, path); !slices.Equal(found, want[0]) {
			t.Errorf("%s enters by %v, want %v", path, found, want[0])
		}
		if found := entrances(t, asked, path); !slices.Equal(found, want[1]) {
			t.Errorf("with the component %s enters by %v, want %v", path, found, want[1])
		}
	}
	if operated < 10 {
		t.Errorf("the document has %d paths of operators", operated)
	}
	for _, path := range []string{"/v1", "/v1/admin", "/v1/payments/../admin", "/metrics", "/healthz"} {
		if found := entrances(t, public, filepath.Clean(path)); len(found) > 0 {
			t.Errorf("%s is public, by %v", path, found)
		}
	}
	for _, in := range of[networkingv1.Ingress](asked) {
		networks := in.Annotations["nginx.ingress.kubernetes.io/whitelist-source-range"]
		if in.Name == "gateway-admin" && (networks == "" || strings.Contains(networks, "0.0.0.0/0")) {
			t.Errorf("%s serves %q", in.Name, networks)
		}
	}
}
