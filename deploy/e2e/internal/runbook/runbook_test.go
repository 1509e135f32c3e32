package runbook

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../../.."

func pages(t *testing.T) []Page {
	t.Helper()
	all, err := Read(filepath.Join(root, "docs/runbooks"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// clusterMost bounds the blocks that no test runs.
const clusterMost = 16

// TestPages: every command of a runbook is in a block that is run, or that says why only a cluster can.
func TestPages(t *testing.T) {
	run, cluster := 0, 0
	for _, p := range pages(t) {
		for _, fault := range p.Faults {
			t.Errorf("a runbook breaks the rules: %s", fault)
		}
		for _, asked := range p.Asked {
			if err := checkKubectl(withoutNamespace(asked), objects(t)); err != "" {
				t.Errorf("%s.md: %s: %s", p.Name, asked, err)
			}
		}
		for _, b := range p.Blocks {
			if b.Runs() {
				run++
				continue
			}
			cluster++
			t.Logf("%s.md:%d needs a cluster: %s", p.Name, b.Line, b.Reason)
			for _, line := range b.Commands() {
				if err := checkCluster(line, objects(t)); err != "" {
					t.Errorf("%s.md:%d: %s: %s", p.Name, b.Line, line, err)
				}
			}
		}
	}
	t.Logf("%d blocks run, %d need a cluster", run, cluster)
	if cluster > clusterMost {
		t.Errorf("%d blocks need a cluster, more than %d: let a test run them", cluster, clusterMost)
	}
}

func TestParse_refuses(t *testing.T) {
	for text, want := range map[string]string{
		"```sh\npayments pauses\n```\n":                              "neither",
		"```\npayments pauses\n```\n":                                "neither",
		"```sh cluster: \nkubectl get pods\n```\n":                   "neither",
		"Type\n\n    payments pauses\n":                              "indented",
		"1. Type\n\n       payments pauses\n":                        "indented",
		"Look at `SELECT count(*)\nFROM payouts WHERE x`.\n":         "no SQL",
		"A shell is `kubectl exec -it\n  deploy/x -- sh`.\n":         "no container has a shell",
		"let it go on: `UPDATE scan_progress SET settled = -1`.\n\n": "no SQL",
		"```sh run\npayments pauses\n":                               "does not end",
		"~~~sh\npayments pauses\n":                                   "alone on its line",
		"> ```sh\n> payments pauses\n":                               "alone on its line",
		"1. ```sh run\n   payments pauses\n":                         "alone on its line",
		"Type\n\n\tpayments pauses\n":                                "indented",
		"1. Type\n\n \tpayments pauses\n":                            "indented",
		">     payments pauses\n":                                    "indented",
		"```text\npayments pauses\n```\n":                            "without commands",
		"```yaml\n$ kubectl get pods\n```\n":                         "without commands",
		"  ```json\n  api GET /v1/admin/payouts\n  ```\n":            "without commands",
	} {
		if p := parse("page", text); len(p.Faults) != 1 || !strings.Contains(p.Faults[0], want) {
			t.Errorf("parse %q: got the faults %q, want one that names %s", text, p.Faults, want)
		}
	}
}

func TestParse(t *testing.T) {
	p := parse("page", "See `payments pause\n  quotes --network N`, `$x` and `payments`.\n\n1. Type\n\n   ```sh run\n   a \\\n     b\n   # no\n   c\n   ```\n\n"+
		"   and so on.\n\n```sh cluster: it stops pods\nkubectl get pods\n```\n\n```yaml\na: 1\n```\n")
	if len(p.Faults) > 0 || len(p.Blocks) != 2 || !p.Blocks[0].Runs() || p.Blocks[1].Reason != "it stops pods" {
		t.Fatalf("parse a page: got %+v, want two blocks, of which the first runs and the second says why it does not", p)
	}
	if got := strings.Join(p.Blocks[0].Commands(), "|"); got != "a    b|c" {
		t.Errorf(`join the commands of a block: got %q, want "a    b|c"`, got)
	}
	if !slices.Equal(p.Typed, []string{"payments pause quotes --network N"}) {
		t.Errorf("collect commands that the text names: got %q, want payments pause quotes --network N", p.Typed)
	}
}

// flags that runbooks use with kubectl, by verb.
var flags = map[string][]string{
	"annotate": {"--overwrite", "--all"}, "delete": {"-l"}, "get": {"-l", "-o", "-w"}, "patch": {"--type", "-p"}, "port-forward": {},
	"rollout": {"--timeout"}, "scale": {"--replicas", "-l"}, "set": {"-l"}, "wait": {"--for", "--timeout", "-l"}, "describe": {}, "logs": {"--tail", "-l", "-f"},
	"cnpg":  {"--method", "--plugin-name"},
	"apply": {"-f", "-k", "-l", "--server-side"}, "create": {"-f"}, "exec": {"-i", "--"},
}

var object = regexp.MustCompile(`\b(deployment|deploy|scaledobject|hpa|job|externalsecret|cluster|configmap|secret)/([a-z][a-z0-9-]*)`)

// checkCluster says what is wrong with a command for a cluster: an unknown verb or flag, or an object that no manifest
// has.
func checkCluster(line string, known map[string]bool) string {
	line = strings.ReplaceAll(line, "$SERVICE", "payments") // as a reader would set it
	words := strings.Fields(line)
	if roles, ok := strings.CutPrefix(line, "k8s/rollout secrets"); ok {
		for _, role := range strings.Fields(roles) {
			if !known["deployment/"+role] {
				return "no manifest has deployment/" + role
			}
		}
	}
	if words[0] != "kubectl" || beside.MatchString(line) {
		return ""
	}
	if len(words) < 4 || words[1] != "-n" || words[2] != "causeway" && words[2] != "restore" {
		return "it does not name the namespace first: kubectl -n causeway …"
	}
	return checkKubectl(withoutNamespace(line), known)
}

// beside are the commands that do not name the namespace first: those of a namespace, and of CloudNativePG's plugin.
var beside = regexp.MustCompile(`^kubectl (create|delete) namespace restore$|^kubectl cnpg backup -n causeway `)

var namespace = regexp.MustCompile(` -n [a-z-]+`)

func withoutNamespace(line string) string { return namespace.ReplaceAllString(line, "") }

func checkKubectl(line string, known map[string]bool) string {
	words := strings.Fields(line)
	allowed, ok := flags[words[1]]
	if !ok {
		return "no verb that this test knows: " + words[1]
	}
	for _, word := range words[2:] {
		name, _, _ := strings.Cut(word, "=")
		if strings.HasPrefix(name, "-") && name != "-" && !slices.Contains(allowed, name) {
			return "no flag that this test knows: " + name
		}
	}
	for _, found := range object.FindAllStringSubmatch(line, -1) {
		kind := map[string]string{"deploy": "deployment", "hpa": "horizontalpodautoscaler"}[found[1]]
		if kind == "" {
			kind = found[1]
		}
		if !known[kind+"/"+found[2]] {
			return "no manifest has " + found[0]
		}
	}
	return ""
}

func TestCheckCluster(t *testing.T) {
	known := map[string]bool{"deployment/payments-work": true}
	for line, want := range map[string]string{
		"kubectl -n causeway scale deploy/payments-work --replicas=0": "",
		"kubectl -n causeway scale deploy/payments --replicas=0":      "no manifest has deploy/payments",
		"kubectl -n causeway scale deploy/payments-work --replica=0":  "no flag that this test knows: --replica",
		"k8s/rollout secrets payments-work":                           "",
		"k8s/rollout secrets payments-work payments":                  "no manifest has deployment/payments",
		"kubectl -n causeway halt deploy/payments-work":               "no verb that this test knows: halt",
		"kubectl scale deploy/payments-work --replicas=0":             "it does not name the namespace first: kubectl -n causeway …",
	} {
		if got := checkCluster(line, known); got != want {
			t.Errorf("check the command %s: got %q, want %q", line, got, want)
		}
	}
}

// objects are those of the manifests, as kind/name in small letters.
func objects(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	kind, name := regexp.MustCompile(`(?m)^kind: (\w+)`), regexp.MustCompile(`(?m)^  name: (\S+)|^metadata: \{name: ([a-z0-9-]+)`)
	err := filepath.WalkDir(filepath.Join(root, "k8s"), func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		for part := range strings.SplitSeq(string(text), "\n---\n") {
			k, n := kind.FindStringSubmatch(part), name.FindStringSubmatch(part)
			if k != nil && n != nil {
				known[strings.ToLower(k[1])+"/"+n[1]+n[2]] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return known
}
