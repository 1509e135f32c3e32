package check

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// object is any part of a manifest.
type object = map[string]any

// read calls f for every Secret that a part of a manifest names, with the key that is read, "" for all of it.
func read(part any, f func(name, key string)) {
	switch part := part.(type) {
	case []any:
		for _, one := range part {
			read(one, f)
		}
	case object:
		for field, value := range part {
			lower := strings.ToLower(field)
			switch named, _ := value.(object); {
			case lower == "secretname":
				f(fmt.Sprint(value), "")
			case lower == "secrettargetref": // KEDA
				for _, one := range value.([]any) {
					f(fmt.Sprint(one.(object)["name"]), fmt.Sprint(one.(object)["key"]))
				}
			case lower == "imagepullsecrets":
				for _, one := range value.([]any) {
					f(fmt.Sprint(one.(object)["name"]), "")
				}
			case lower == "s3credentials":
				for _, one := range named {
					if one, ok := one.(object); ok {
						f(fmt.Sprint(one["name"]), fmt.Sprint(one["key"]))
					}
				}
			case strings.Contains(lower, "secret") && lower != "secretstoreref" && named["name"] != nil:
				key, _ := named["key"].(string)
				f(fmt.Sprint(named["name"]), key)
			default:
				read(value, f)
			}
		}
	}
}

// made lists the Secrets that the manifests, and the operators that read them, make: by name, the keys, or nil where an
// operator decides about them.
func made(t *testing.T, all []manifest) map[string][]string {
	t.Helper()
	secrets := map[string][]string{}
	for _, m := range all {
		switch m.Kind {
		case "Secret":
			var keys []string
			for _, field := range []string{"data", "stringData"} {
				if data, ok := m.field(t, field).(object); ok {
					keys = slices.AppendSeq(keys, maps.Keys(data))
				}
			}
			secrets[m.Name] = keys
		case "ExternalSecret":
			var keys []string
			if data, ok := m.field(t, "spec.target.template.data").(object); ok {
				keys = slices.AppendSeq(keys, maps.Keys(data))
			} else {
				data, _ := m.field(t, "spec.data").([]any)
				for _, one := range data {
					keys = append(keys, fmt.Sprint(one.(object)["secretKey"]))
				}
			}
			secrets[fmt.Sprint(m.field(t, "spec.target.name"))] = keys
		case "Certificate":
			secrets[fmt.Sprint(m.field(t, "spec.secretName"))] = nil
		case "Ingress":
			if m.Annotations["cert-manager.io/cluster-issuer"] != "" {
				tls, _ := m.field(t, "spec.tls").([]any)
				for _, one := range tls {
					secrets[fmt.Sprint(one.(object)["secretName"])] = nil
				}
			}
		case "Cluster": // CloudNativePG
			for _, suffix := range []string{"-ca", "-server", "-replication", "-app"} {
				secrets[m.Name+suffix] = nil
			}
		case "RabbitmqCluster":
			secrets[m.Name+"-default-user"] = nil
		}
	}
	return secrets
}

var command = regexp.MustCompile(`(?m)^kubectl -n causeway create secret [a-z-]+ ([a-z0-9.-]+)( --from-[a-z]+=\S+)+$`)

// TestSecrets: every Secret that a pod or an operator reads is made by a manifest, or docs/deploy.md has the line that
// makes it.
func TestSecrets(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "deploy.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, line := range command.FindAllStringSubmatch(string(page), -1) {
		documented[line[1]] = line[0]
	}
	for _, overlay := range overlays {
		all := build(t, overlay)
		secrets := made(t, all)
		for _, m := range all {
			if m.Kind == "ExternalSecret" || m.Kind == "Secret" || m.Kind == "Certificate" {
				continue
			}
			var content any
			if err := yaml.Unmarshal(m.raw, &content); err != nil {
				t.Fatal(err)
			}
			read(content, func(name, key string) {
				keys, ok := secrets[name]
				switch line := documented[name]; {
				case !ok && line == "":
					t.Errorf("%s: %s reads the Secret %s, which nobody makes and docs/deploy.md does not", overlay, m, name)
				case ok && key != "" && keys != nil && !slices.Contains(keys, key), !ok && key != "" && !strings.Contains(line, "="+key+"="):
					t.Errorf("%s: %s reads %s of the Secret %s, which has %v", overlay, m, key, name, keys)
				}
			})
		}
	}
}

// TestServerSecrets: a password that an operator gives a role or a user is in a Secret of the form that the operator
// reads, under the name of that role or user.
func TestServerSecrets(t *testing.T) {
	users := map[string]string{} // Secret to user
	all := build(t, "prod")
	for _, m := range all {
		switch m.Kind {
		case "Cluster":
			roles, _ := m.field(t, "spec.managed.roles").([]any)
			for _, role := range roles {
				users[fmt.Sprint(role.(object)["passwordSecret"].(object)["name"])] = fmt.Sprint(role.(object)["name"])
			}
		case "User":
			users[fmt.Sprint(m.field(t, "spec.importCredentialsSecret.name"))] = m.Name
		}
	}
	for _, m := range all {
		user, ok := users[m.Name]
		if m.Kind != "ExternalSecret" || !ok {
			continue
		}
		if kind := m.field(t, "spec.target.template.type"); kind != "kubernetes.io/basic-auth" {
			t.Errorf("%s is a Secret of type %v", m, kind)
		}
		data, _ := m.field(t, "spec.target.template.data").(object)
		if data["username"] != user || data["password"] != "{{ .password }}" {
			t.Errorf("%s holds %v, not the password of %s", m, data, user)
		}
		delete(users, m.Name)
	}
	if len(users) > 0 {
		t.Errorf("no ExternalSecret is there for %v", users)
	}
}
