//go:build integration

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/deploy/e2e/internal/runbook"
	"causeway.internal/libs/testkit/stack"
)

// scene is the product in the state that a runbook begins with.
type scene struct {
	s        *stack.Stack
	merchant *api.Client
	operator *api.Client
}

// scenes set up what each runbook begins with, and give the variables that its reader sets.
var scenes = map[string]func(t *testing.T, v scene) map[string]string{
	"deep-reorg": func(*testing.T, scene) map[string]string {
		return map[string]string{"MODE": "test", "NETWORK": "ethereum"}
	},
	"payments-operations": func(t *testing.T, v scene) map[string]string {
		sender := fundedGift(t, v.s, v.merchant).sender
		for range 3 {
			convict(t, key(t, v.s, v.merchant, "test", unique("accuser"), "*"), sender)
		}
		return map[string]string{"MODE": "test", "ADDRESS": sender}
	},
}

// pageMost bounds the commands of one page.
const pageMost = 2 * time.Minute

// TestRunbooks types every command of every runbook as it stands there, in a shell that has the words of commands.md.
// Programs named kubectl and docker find the pod or the container among the stack's processes. One scene follows the other:
// pauses and restarts are felt by all of them.
func TestRunbooks(t *testing.T) {
	t.Parallel()
	pages, err := runbook.Read("../../docs/runbooks")
	if err != nil {
		t.Fatal(err)
	}
	s := stack.New(t, stack.Options{})
	v := scene{s: s, merchant: client(t, s), operator: client(t, s).With(s.AdminToken)}
	words := words(t, pages)
	path := runners(t)
	for _, page := range pages {
		t.Run(page.Name, func(t *testing.T) {
			for _, typed := range page.Typed {
				mentioned(t, typed)
			}
			var script strings.Builder
			for _, block := range page.Blocks {
				if block.Runs() {
					fmt.Fprintf(&script, "\n# %s.md:%d\n%s\n", page.Name, block.Line, strings.Join(block.Lines, "\n"))
				}
			}
			if script.Len() == 0 {
				return
			}
			set := map[string]string{
				"PATH": path + ":/usr/local/bin:/usr/bin:/bin", "HOME": t.TempDir(), "BASE_URL": s.BaseURL, "TOKEN": s.AdminToken,
				"CAUSEWAY_STACK": os.Getenv("CAUSEWAY_STACK"), "CAUSEWAY_STACK_DIR": s.Dir(),
			}
			if begin := scenes[page.Name]; begin != nil {
				maps.Copy(set, begin(t, v))
			}
			ctx, cancel := context.WithTimeout(t.Context(), pageMost)
			defer cancel()
			file := filepath.Join(set["HOME"], "typed")
			if err := os.WriteFile(file, []byte(words+"\ncd; set -v\n"+script.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			shell := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", file)
			for name, value := range set {
				shell.Env = append(shell.Env, name+"="+value)
			}
			out, err := shell.CombinedOutput()
			if t.Logf("%s", out); err != nil {
				t.Errorf("%s.md: %v", page.Name, err)
			}
		})
	}
}

// words are the shell functions that commands.md makes for a cluster, and the one for an operator's requests.
func words(t *testing.T, pages []runbook.Page) string {
	t.Helper()
	i := slices.IndexFunc(pages, func(p runbook.Page) bool { return p.Name == "commands" })
	if i < 0 {
		t.Fatal("no page commands.md")
	}
	var all []string
	for _, b := range pages[i].Blocks {
		if text := strings.Join(b.Lines, "\n"); b.Runs() && (strings.Contains(text, "in_pod() {") || strings.Contains(text, "api() {")) {
			all = append(all, text)
		}
	}
	if len(all) != 2 {
		t.Fatalf("commands.md makes its words in %d blocks", len(all))
	}
	return strings.Join(all, "\n")
}

// runners makes a directory with programs named kubectl and docker, which run a command of a service with the settings that
// its process in the stack has. They know what the runbooks type, and refuse the rest.
func runners(t *testing.T) (directory string) {
	t.Helper()
	directory = t.TempDir()
	for name, text := range map[string]string{
		"kubectl": `[ "${*:1:4}" = "-n causeway exec -i" ] && [ "${*:6:2}" = "-- /app" ] || { echo "kubectl: $*" >&2; exit 64; }
pod=${5#deploy/}
grep -qsx "  name: $pod" "$MANIFESTS"/*/*.yaml || { echo "no Deployment $pod" >&2; exit 64; }
service=${pod%-work}; shift 7
`,
		"docker": `[ "${*:1:3}" = "compose exec -T" ] && [ "$5" = /app ] || { echo "docker: $*" >&2; exit 64; }
grep -qsx "  $4:" "$COMPOSE" || { echo "no service $4" >&2; exit 64; }
service=$4; shift 5
`,
	} {
		root, err := filepath.Abs("../..")
		if err != nil {
			t.Fatal(err)
		}
		text = "#!/bin/bash\nMANIFESTS=" + root + "/k8s/base COMPOSE=" + root + "/docker-compose.yml\n" + text +
			`exec "$CAUSEWAY_STACK" do "$service" --dir "$CAUSEWAY_STACK_DIR" -- "$@"` + "\n"
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

var (
	verb = regexp.MustCompile(`^[a-z][a-z-]*$`)
	flag = regexp.MustCompile(`--?([a-z][a-z-]*)`)
)

// mentioned says whether a command that the text of a page names exists with these flags.
func mentioned(t *testing.T, typed string) {
	t.Helper()
	service, rest, _ := strings.Cut(typed, " ")
	programs := []string{service}
	if !verb.MatchString(service) {
		programs = []string{"payments", "wallets", "callback-dispatcher"} // "<service> dead list"
	}
	var wordsOf []string
	for _, word := range strings.Fields(rest) {
		if !verb.MatchString(word) {
			break
		}
		wordsOf = append(wordsOf, word)
	}
	for _, program := range programs {
		cmd := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(os.Getenv("CAUSEWAY_STACK")), program), append(wordsOf, "-h")...)
		cmd.Env = []string{}
		out, err := cmd.CombinedOutput()
		several := "\n       " + strings.Join(append([]string{program}, wordsOf...), " ") + " " // of a group of verbs, in the usage
		if err != nil && !strings.Contains(string(out), several) {
			t.Errorf("%q: %s has no such command: %s", typed, program, out)
		}
		for _, found := range flag.FindAllStringSubmatch(rest, -1) {
			if strings.HasPrefix(found[0], "--") && !strings.Contains(string(out), "\n  -"+found[1]) {
				t.Errorf("%q: %s knows no %s:\n%s", typed, program, found[0], out)
			}
		}
	}
}
