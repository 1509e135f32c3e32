package check

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"

	"causeway.internal/deploy/check/schema"
)

// kubectl is a fake of the program of this name: it records each call, renders BUILT, shows EARLIER as the pods of an
// earlier release and ENDING as those that have not ended yet, has one Deployment behind each selector, shows the file
// seen as the one that operators saw, and keeps Jobs as files. The file saved has the tablespaces that a backup has,
// and the file backup the Backup that was made last. The call with the number STOP fails, as if the script had been
// stopped there.
const kubectl = `#!/bin/sh
echo "$*" >>"$DIR/calls"
if [ "$STOP" != 0 ] && [ "$(wc -l <"$DIR/calls")" = "$STOP" ]; then
	exit 1
fi
case "$*" in
*kustomize*) cat "$DIR/built" ;;
*"get pods"*causeway/era!=*) printf '%s' "$EARLIER" ;;
*"get pods"*) printf '%s' "$ENDING" ;;
*"get externalsecrets"* | *"get databases"*) cat "$DIR/seen" ;;
*"get clusters"*.items*) echo postgres ;;
*"get clusters"*annotations*) cat "$DIR/saved" 2>/dev/null || true ;;
*"get clusters"*spec.tablespaces*) echo "$TABLESPACES" ;;
*"get clusters"*tablespacesStatus*) cat "$DIR/created" ;;
*" create -f -") cat >"$DIR/backup" && : >"$DIR/phase" ;;
*"get backups"*.phase*) cat "$DIR/phase" ;;
*"get backups"*.error*) echo "the store refuses" ;;
*"annotate clusters"*) echo "${7#*=}" >"$DIR/saved" ;;
*matchLabels*) echo "app.kubernetes.io/name=$5," ;;
*"get deployment"*) echo deployment/any ;;
*"get statefulset"*) grep -q '^kind: StatefulSet$' "$DIR/built" ;;
*" get jobs "*)
	for job in "$DIR"/jobs/*; do
		[ ! -e "$job" ] || echo "$(basename "$job") $(cat "$job")"
	done
	;;
*" get job "*) cat "$DIR/jobs/$5" 2>/dev/null || true ;;
*" delete job "*)
	if [ -e "$DIR/jobs/$5" ] && [ ! -s "$DIR/jobs/$5" ]; then
		echo "BROKE OFF $5" >>"$DIR/calls"
	fi
	rm -f "$DIR/jobs/$5"
	;;
apply*component=migrate)
	for job in $JOBS; do
		[ -e "$DIR/jobs/$job" ] || : >"$DIR/jobs/$job"
	done
	;;
*" logs job/"*) echo "the database refuses" ;;
esac
`

// passing is a fake of sleep: while the script waits, operators see the last change. While it waits for tablespaces,
// they come; for a backup, it ends as BACKUP says; for Jobs, they end, and those with BAD in their names fail.
const passing = `#!/bin/sh
last=$(tail -n 1 "$DIR/calls")
echo "sleep $*" >>"$DIR/calls"
echo "any 13 13-5e1f True" >"$DIR/seen"
case $last in
*tablespacesStatus*) echo "$TABLESPACES" >"$DIR/created" ;;
*"get backups"*) echo "$BACKUP" >"$DIR/phase" ;;
esac
case $last in
*" get job "*) ;;
*) exit ;;
esac
for job in "$DIR"/jobs/*; do
	case $job in
	*$BAD*) printf 'FailureTarget Failed' >"$job" ;;
	*) printf 'SuccessCriteriaMet Complete' >"$job" ;;
	esac
done
`

// stage is such a cluster.
type stage struct {
	overlay, earlier, ending string
	args                     []string // of the script, where it is not called with the overlay
	bad                      string   // part of the names of the Jobs that fail
	loose                    bool     // images have no digest
	saved                    string   // tablespaces that a backup has
	created                  string   // tablespaces that exist before the script waits; all, where it is empty
	backup                   string   // what a backup comes to; completed, where it is empty
	seen                     string   // of each object: name, generation, the one that its operator saw, whether it is ready
	dir                      string
}

// prepare renders the overlay, with digests as a release pins them.
func (s *stage) prepare(t *testing.T) {
	t.Helper()
	s.dir = t.TempDir()
	var built bytes.Buffer
	for _, m := range build(t, s.overlay) {
		text := m.raw
		if !s.loose {
			text = image.ReplaceAll(text, []byte("${0}@sha256:"+strings.Repeat("0", 64)))
		}
		built.WriteString("---\n")
		built.Write(text)
	}
	if err := os.Mkdir(filepath.Join(s.dir, "jobs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if s.seen == "" {
		s.seen = "any 2 2-5e1f True"
	}
	if s.created == "" {
		s.created = tablespaces(t)
	}
	files := map[string]string{
		"kubectl": kubectl, "sleep": passing, "built": built.String(), "seen": s.seen + "\n", "created": s.created + "\n",
	}
	if s.saved != "" {
		files["saved"] = s.saved + "\n"
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

var image = regexp.MustCompile(`(?m)^ *(- )?image(Name)?: \S+`)

// rollout runs k8s/rollout on the cluster; the call with the number stop fails.
func (s *stage) rollout(t *testing.T, stop int) (calls []string, out string, err error) {
	t.Helper()
	if s.dir == "" {
		s.prepare(t)
	}
	var jobs []string
	for _, j := range of[batchv1.Job](build(t, s.overlay)) {
		jobs = append(jobs, j.Name)
	}
	bad := s.bad
	if bad == "" {
		bad = "none"
	}
	if err := os.RemoveAll(filepath.Join(s.dir, "calls")); err != nil {
		t.Fatal(err)
	}
	args := s.args
	if args == nil {
		args = []string{s.overlay}
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "k8s", "rollout"), args...)
	cmd.Env = append(os.Environ(), "PATH="+s.dir+":"+os.Getenv("PATH"), "DIR="+s.dir, "JOBS="+strings.Join(jobs, " "),
		"EARLIER="+s.earlier, "ENDING="+s.ending, "BAD="+bad, "STOP="+strconv.Itoa(stop), "TABLESPACES="+tablespaces(t),
		"BACKUP="+cmp.Or(s.backup, "completed"))
	raw, err := cmd.CombinedOutput()
	log, readErr := os.ReadFile(filepath.Join(s.dir, "calls"))
	if readErr != nil {
		t.Fatal(readErr)
	}
	return strings.Split(strings.TrimSpace(string(log)), "\n"), string(raw), err
}

// tablespaces are the names of those of the prod overlay.
func tablespaces(t *testing.T) string {
	t.Helper()
	var names []string
	for _, m := range build(t, "prod") {
		if m.Kind == "Cluster" {
			for _, one := range m.field(t, "spec.tablespaces").([]any) {
				names = append(names, fmt.Sprint(one.(object)["name"]))
			}
		}
	}
	return strings.Join(names, " ")
}

// ordered fails unless calls match the patterns, one after the other.
func ordered(t *testing.T, about string, calls []string, patterns ...string) {
	t.Helper()
	at := 0
	for _, want := range patterns {
		next := slices.IndexFunc(calls[at:], regexp.MustCompile(want).MatchString)
		if next < 0 {
			t.Fatalf("%s: no %q after %q in\n%s", about, want, calls[:at], strings.Join(calls, "\n"))
		}
		at += next + 1
	}
}

// steps of a whole rollout.
var steps = []string{
	"scale deployment payments-archive --replicas=0$", "^apply .*component notin", "^apply .*component=migrate", "^sleep", `get job wallets-migrate`,
	"^apply .*name=callback-dispatcher", "rollout status", "wait .*--for=delete.* pod/old",
	"^apply .*name=gateway", "rollout status", "wait .*--for=delete.* pod/old",
	`^apply .*name notin \(callback-dispatcher, gateway\)`, "rollout status", "wait .*--for=delete.* pod/old",
}

// TestRollout_order: the script replaces one group after the other and waits until the last old pod of each has ended.
// callback-dispatcher knows a new event before anybody sends it, and the gateway says who calls before payments asks
// for it.
func TestRollout_order(t *testing.T) {
	t.Parallel()
	for _, overlay := range append(slices.Clone(overlays), upgrade) {
		s := stage{overlay: overlay, ending: "pod/old "}
		if overlay == upgrade {
			s.earlier = "pod/payments-serve-old"
		}
		calls, out, err := s.rollout(t, 0)
		if err != nil {
			t.Fatalf("%s: roll out: %v\n%s", overlay, err, out)
		}
		ordered(t, overlay, calls, steps...)
	}
}

// TestRollout_waits: migrations begin when Secrets and certificates are there, and when PostgreSQL, its databases, the
// broker and its topology are ready. Where the overlay has none of an operator's objects, nobody waits for them.
func TestRollout_waits(t *testing.T) {
	t.Parallel()
	s := stage{overlay: "prod", ending: "pod/old "}
	calls, out, err := s.rollout(t, 0)
	if err != nil {
		t.Fatalf("roll out prod: %v\n%s", err, out)
	}
	ordered(t, "prod", calls, "^apply .*component notin", "get externalsecrets.*syncedResourceVersion.*Ready",
		"wait certificates.* --all --for=condition=Ready", "wait clusters.postgresql.* --all --for=condition=Ready",
		"^sleep 30", "wait clusters.postgresql.* --all --for=condition=Ready",
		"get databases.postgresql.*observedGeneration.*applied", "wait rabbitmqclusters.* --all --for=condition=AllReplicasReady",
		"wait users.rabbitmq.* --for=condition=Ready", "wait queues.rabbitmq.*", "wait bindings.rabbitmq.*", "^apply .*component=migrate")
	s = stage{overlay: "dev"}
	calls, out, err = s.rollout(t, 0)
	if err != nil {
		t.Fatalf("roll out dev: %v\n%s", err, out)
	}
	for _, call := range calls {
		if strings.Contains(call, " --all ") {
			t.Errorf("dev: kubectl %s", call)
		}
	}
}

// TestRollout_backup: until a backup has all tablespaces, no later moment can be restored. So where the tablespaces of
// the Cluster are not those of a backup, one is made before the migrations: of the kind that the schedule makes, and
// five minutes after the last tablespace, because a replica may show it so much later. The next rollout makes none.
func TestRollout_backup(t *testing.T) {
	t.Parallel()
	set, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	all := tablespaces(t)
	one, _, _ := strings.Cut(all, " ")
	for name, s := range map[string]*stage{
		"new": {}, "one more": {saved: strings.TrimPrefix(all, one+" ")}, "late": {created: one},
	} {
		s.overlay, s.ending = "prod", "pod/old "
		calls, out, err := s.rollout(t, 0)
		if err != nil {
			t.Fatalf("%s: roll out prod: %v\n%s", name, err, out)
		}
		want := []string{
			"^apply .*component notin", "get clusters.*tablespacesStatus", "^sleep 300$", " create -f -$", "get backups.*phase",
			"^sleep 5$", "get backups.*phase", "annotate clusters.* postgres .*=" + all + "$", "^apply .*component=migrate",
		}
		if name == "late" {
			want = slices.Insert(want, 2, "^sleep 5$", "get clusters.*tablespacesStatus")
		}
		ordered(t, name, calls, want...)
		scheduled(t, s.dir, set)
		again, out, err := s.rollout(t, 0)
		if err != nil {
			t.Fatalf("%s: roll out prod again: %v\n%s", name, err, out)
		}
		for _, call := range again {
			if strings.Contains(call, " create ") || call == "sleep 300" {
				t.Errorf("%s: the second rollout asked for: %s", name, call)
			}
		}
	}
	s := stage{overlay: "prod", ending: "pod/old "}
	calls, _, _ := s.rollout(t, 0)
	listing := slices.IndexFunc(calls, regexp.MustCompile(`get clusters.*\.items`).MatchString) + 1
	s = stage{overlay: "prod", ending: "pod/old "}
	if calls, _, err := s.rollout(t, listing); err == nil || len(calls) != listing {
		t.Errorf("roll out where Clusters cannot be listed: got %v after %q, want an error at once", err, calls[listing-1:])
	}
	s = stage{overlay: "prod", ending: "pod/old ", backup: "failed"}
	calls, out, err := s.rollout(t, 0)
	if err == nil || !strings.Contains(out, "the store refuses") {
		t.Errorf("roll out with a backup that fails: got %v, %s; want an error with its cause", err, out)
	}
	for _, call := range calls {
		if strings.Contains(call, "annotate clusters") || strings.Contains(call, "component=migrate") {
			t.Errorf("after a backup that failed it asked for: kubectl %s", call)
		}
	}
}

// scheduled fails unless the Backup that the script made is as the schedule makes them.
func scheduled(t *testing.T, dir string, set schema.Set) {
	t.Helper()
	var made manifest
	raw, err := os.ReadFile(filepath.Join(dir, "backup"))
	if err == nil {
		err = errors.Join(yaml.Unmarshal(raw, &made), set.Check(raw))
	}
	if err != nil || made.Kind != "Backup" {
		t.Fatalf("the Backup %s: %v", raw, err)
	}
	made.raw = raw
	for _, m := range build(t, "prod") {
		if m.Kind != "ScheduledBackup" {
			continue
		}
		for _, path := range []string{"spec.cluster", "spec.method", "spec.pluginConfiguration"} {
			if got, want := made.field(t, path), m.field(t, path); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s of the Backup is %v, want %v", path, got, want)
			}
		}
		if m.field(t, "spec.immediate") != nil {
			t.Errorf("%s begins at once, while tablespaces are created", m)
		}
	}
}

// TestRollout_stale: what an operator said before it saw the change does not count.
func TestRollout_stale(t *testing.T) {
	t.Parallel()
	for _, seen := range []string{
		"any 13 - ", "any 13 12-5e1f True", "any 13 3-5e1f True", "any 3 13-5e1f True", "any 13 13-5e1f False",
		"any 13 13-5e1f ", "other 1 1-5e1f True\nany 13 12-5e1f True",
	} {
		s := stage{overlay: "prod", ending: "pod/old ", seen: seen}
		calls, out, err := s.rollout(t, 0)
		if err != nil {
			t.Fatalf("roll out past the stale status %s: %v\n%s", seen, err, out)
		}
		ordered(t, seen, calls, "get externalsecrets", "^sleep 5$", "get externalsecrets", "^apply .*component=migrate")
	}
}

// TestRollout_secrets: Deployments restart when External Secrets has read every Secret again, and the script ends when
// the last old pod has ended. Without Deployments it has Secrets read and restarts nothing.
func TestRollout_secrets(t *testing.T) {
	t.Parallel()
	for _, roles := range [][]string{nil, {"gateway", "payments-serve"}} {
		s := stage{overlay: "prod", ending: "pod/old ", args: append([]string{"secrets"}, roles...)}
		calls, out, err := s.rollout(t, 0)
		if err != nil {
			t.Fatalf("roll out new secrets: %v\n%s", err, out)
		}
		want := []string{
			"get externalsecrets.*syncedResourceVersion", "annotate externalsecrets.* --all .*force-sync=", "get externalsecrets",
			"^sleep 5$", "get externalsecrets",
		}
		for _, role := range roles {
			want = append(want, "rollout restart deployment/"+role)
		}
		for _, role := range roles {
			want = append(want, "rollout status deployment/"+role, "get pods -l app.kubernetes.io/name="+role+" ", "wait --for=delete.* pod/old")
		}
		ordered(t, fmt.Sprint(roles), calls, want...)
		restarts := 0
		read := slices.Index(calls, "sleep 5") + 1
		for i, call := range calls {
			if strings.Contains(call, "rollout restart") {
				restarts++
				if i <= read {
					t.Errorf("%s came before Secrets were there", call)
				}
			}
			if strings.Contains(call, "apply") {
				t.Errorf("it asked for: kubectl %s", call)
			}
		}
		if restarts != len(roles) {
			t.Errorf("%d of %d Deployments restart", restarts, len(roles))
		}
	}
}

// TestRollout_failedJob: a migration that fails ends the script as soon as that is known, with the Job's last words,
// and no pod is replaced. Called again after the cure, the script makes that Job anew and goes on.
func TestRollout_failedJob(t *testing.T) {
	t.Parallel()
	s := stage{overlay: "prod", ending: "pod/old ", bad: "payments", saved: tablespaces(t)}
	calls, out, err := s.rollout(t, 0)
	if err == nil || !strings.Contains(out, "payments-migrate-") || !strings.Contains(out, "the database refuses") {
		t.Errorf("roll out with a Job that fails: got %v, %s; want an error that names the Job and its last words", err, out)
	}
	slept := 0
	for _, call := range calls {
		if call == "sleep 5" {
			slept++
		}
		if strings.Contains(call, "apply") && strings.Contains(call, "name=") {
			t.Errorf("it replaced pods: kubectl %s", call)
		}
	}
	if slept != 1 {
		t.Errorf("it waited %d times", slept)
	}
	s.bad = ""
	calls, out, err = s.rollout(t, 0)
	if err != nil {
		t.Fatalf("after the cure: %v\n%s", err, out)
	}
	ordered(t, "after the cure", calls, append([]string{"delete job payments-migrate-"}, steps[2:]...)...)
}

// TestRollout_earlierJobs: the script removes a failed migration of an earlier version, since this version's takes its
// place and JobFailed would page until its TTL. It keeps every other Job of that version.
func TestRollout_earlierJobs(t *testing.T) {
	t.Parallel()
	s := stage{overlay: "prod", ending: "pod/old "}
	s.prepare(t)
	for name, conditions := range map[string]string{
		"payments-migrate-v0": "FailureTarget Failed", "wallets-migrate-v0": "SuccessCriteriaMet Complete", "reports-migrate-v0": "",
	} {
		if err := os.WriteFile(filepath.Join(s.dir, "jobs", name), []byte(conditions), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	calls, out, err := s.rollout(t, 0)
	if err != nil {
		t.Fatalf("roll out after earlier Jobs: %v\n%s", err, out)
	}
	ordered(t, "prod", calls, "get jobs -l app.kubernetes.io/component=migrate ", "delete job payments-migrate-v0", "^apply .*component=migrate")
	for _, call := range calls {
		if strings.Contains(call, "delete job") && !strings.Contains(call, " payments-migrate-v0") {
			t.Errorf("it asked for: kubectl %s", call)
		}
	}
}

// TestRollout_repeats: stopped before any of its steps (in `make test` before every third call) and called again, the
// script does all that is left, in the same order, and breaks off no migration that runs.
func TestRollout_repeats(t *testing.T) {
	t.Parallel()
	whole := stage{overlay: "prod", ending: "pod/old "}
	calls, out, err := whole.rollout(t, 0)
	if err != nil {
		t.Fatalf("roll out prod: %v\n%s", err, out)
	}
	var failed atomic.Int32
	stopped := 0
	t.Run("stopped", func(t *testing.T) {
		for i, call := range calls {
			if i > 0 && (strings.Contains(call, " get job ") || strings.HasPrefix(call, "sleep")) && call != calls[i-1] &&
				strings.Contains(calls[i-1], " get job ") {
				continue // one such call is as good as another
			}
			if stopped++; stopped%stopEvery != 0 {
				continue
			}
			t.Run(strconv.Itoa(i+1), func(t *testing.T) {
				t.Parallel()
				s := stage{overlay: "prod", ending: "pod/old "}
				before, _, err := s.rollout(t, i+1)
				if err != nil {
					failed.Add(1)
				}
				again, out, err := s.rollout(t, 0)
				if err != nil {
					t.Fatalf("stopped at kubectl %s and called again: %v, want success\n%s", call, err, out)
				}
				// Migrations may have ended.
				want := slices.DeleteFunc(slices.Clone(steps), func(step string) bool { return step == "^sleep" })
				ordered(t, "stopped at kubectl "+call, again, want...)
				ordered(t, "both calls", append(before, again...), "get backups.*phase", "annotate clusters", "^apply .*component=migrate")
				broken := slices.IndexFunc(again, func(call string) bool { return strings.HasPrefix(call, "BROKE OFF") })
				if broken >= 0 {
					t.Errorf("stopped at kubectl %s: %s", call, again[broken])
				}
			})
		}
	})
	if got := failed.Load(); got < 20/stopEvery {
		t.Errorf("%d of %d calls stopped the script, want at least %d", got, len(calls), 20/stopEvery)
	}
}

// TestRollout_refuses: production's switches go on after the last pod that cannot bear them, and nothing is touched
// before.
func TestRollout_refuses(t *testing.T) {
	t.Parallel()
	s := stage{overlay: "prod", earlier: "pod/gateway-old"}
	calls, out, err := s.rollout(t, 0)
	if err == nil || !strings.Contains(out, "pod/gateway-old") || !strings.Contains(out, "k8s/rollout prod-upgrade") {
		t.Errorf("roll out over pods of an earlier schema: got %v, %s; want an error that names the pod and k8s/rollout prod-upgrade", err, out)
	}
	untouched(t, calls)
}

// TestRollout_unpinned: production runs no image that a registry could change.
func TestRollout_unpinned(t *testing.T) {
	t.Parallel()
	for _, overlay := range []string{"prod", upgrade} {
		s := stage{overlay: overlay, loose: true}
		calls, out, err := s.rollout(t, 0)
		for _, want := range []string{"registry.causeway.example/payments:", "otel/opentelemetry-collector:", "cloudnative-pg/postgresql:", "library/rabbitmq:"} {
			if err == nil || !strings.Contains(out, want) {
				t.Errorf("%s: %v: no %s in %s", overlay, err, want, out)
			}
		}
		untouched(t, calls)
	}
}

func untouched(t *testing.T, calls []string) {
	t.Helper()
	for _, call := range calls {
		if strings.Contains(call, "apply") || strings.Contains(call, "delete") {
			t.Errorf("it asked for: kubectl %s", fmt.Sprint(call))
		}
	}
}
