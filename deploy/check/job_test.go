package check

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// lockPatience is how long libs/postgres tries to get the locks of a migration.
const lockPatience = 10 * time.Minute

// TestJobs: a migration's deadline leaves time for all that it may wait for and an hour of work, it goes away when it
// has ended, and its name is one that its pods can have.
func TestJobs(t *testing.T) {
	for _, overlay := range overlays {
		all := build(t, overlay)
		var wait time.Duration
		for _, c := range of[corev1.ConfigMap](all) {
			if c.Name == "migrate" {
				var err error
				if wait, err = time.ParseDuration(c.Data["MIGRATE_WAIT"]); err != nil {
					t.Fatal(err)
				}
			}
		}
		if wait < 20*time.Minute {
			t.Errorf("%s: a migration waits %s, which is less than a first install takes", overlay, wait)
		}
		jobs := of[batchv1.Job](all)
		if len(jobs) != len(services) {
			t.Errorf("%s: %d migrations", overlay, len(jobs))
		}
		for _, j := range jobs {
			s := j.Spec
			if s.BackoffLimit == nil || s.ActiveDeadlineSeconds == nil || s.TTLSecondsAfterFinished == nil {
				t.Fatalf("%s %s has no bounds", overlay, j.Name)
			}
			retries := time.Duration(1<<*s.BackoffLimit-1) * 10 * time.Second // Kubernetes doubles ten seconds
			if retries < 5*time.Minute || retries > 15*time.Minute {
				t.Errorf("%s %s: one that is refused tries again for %s", overlay, j.Name, retries)
			}
			if deadline := time.Duration(*s.ActiveDeadlineSeconds) * time.Second; deadline < wait+lockPatience+retries+time.Hour {
				t.Errorf("%s %s has %s, and may wait %s for its database, %s for locks and %s between tries",
					overlay, j.Name, deadline, wait, lockPatience, retries)
			}
			if problems := validation.IsDNS1123Label(j.Name); len(problems) > 0 {
				t.Errorf("%s: the name of the Job %s is no label of DNS: %v", overlay, j.Name, problems)
			}
		}
	}
	for path, want := range map[string]string{
		"libs/postgres/migrate.go": "lockPatience = 10 * time.Minute", "k8s/rollout": "tries=1500 ", "k8s/pod/job.yaml": "activeDeadlineSeconds: 7200",
	} {
		if raw, err := os.ReadFile(filepath.Join(root, path)); err != nil || !bytes.Contains(raw, []byte(want)) {
			t.Errorf("%s has no %q, on which the others rely: %v", path, want, err)
		}
	}
}

// changed renders production from a copy of the manifests in which an edit was made.
func changed(t *testing.T, path string, edit func(text string) string) []manifest {
	t.Helper()
	dir := t.TempDir()
	for _, part := range []string{"k8s", "deploy/otel"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(root, part))); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, path)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	after := edit(string(before))
	if after == string(before) {
		t.Fatalf("nothing was changed in %s", path)
	}
	if err := os.WriteFile(file, []byte(after), 0o644); err != nil {
		t.Fatal(err)
	}
	return render(t, filepath.Join(dir, "k8s", "overlays", "prod"))
}

// TestJobs_nextTag: Kubernetes refuses to change a Job, so the migrations of the next tag are new ones, and new
// settings under the same tag leave them as they are. Both apply with plain kubectl.
func TestJobs_nextTag(t *testing.T) {
	now := map[string]manifest{}
	for _, m := range build(t, "prod") {
		if m.Kind == "Job" {
			now[m.Name] = m
		}
	}
	next := changed(t, "k8s/overlays/prod/release/kustomization.yaml", func(text string) string {
		return strings.NewReplacer("v0.1.0", "v0.2.0", "v0-1-0", "v0-2-0").Replace(text)
	})
	found := 0
	for _, m := range next {
		if m.Kind != "Job" {
			continue
		}
		found++
		if _, same := now[m.Name]; same || !strings.HasSuffix(m.Name, "-v0-2-0") {
			t.Errorf("%s is there before the next tag", m)
		}
	}
	if found != len(services) {
		t.Errorf("the next tag has %d migrations", found)
	}
	for _, m := range changed(t, "k8s/overlays/prod/kustomization.yaml", func(text string) string {
		text = regexp.MustCompile("PUBLIC_URL=.*").ReplaceAllString(text, "PUBLIC_URL=https://another.example")
		return strings.ReplaceAll(text, "DATABASE_CA_FILE=/run/servers/ca.crt", "DATABASE_CA_FILE=/run/servers/../servers/ca.crt")
	}) {
		if m.Kind == "Job" && !bytes.Equal(m.raw, now[m.Name].raw) {
			t.Errorf("other settings change %s", m)
		}
	}
}

// TestJobs_version: the migrations' names have the tag of the images in them, so that nobody raises one without the
// other.
func TestJobs_version(t *testing.T) {
	for _, j := range of[batchv1.Job](build(t, "prod")) {
		name, _, _ := strings.Cut(j.Spec.Template.Spec.Containers[0].Image, "@")
		_, tag, _ := cutLast(name, ":")
		if want := j.Labels["app.kubernetes.io/name"] + "-migrate-" + strings.ReplaceAll(tag, ".", "-"); j.Name != want {
			t.Errorf("%s runs %s: its name is not %s", j.Name, name, want)
		}
	}
}

// TestJobs_noArgo: nothing relies on an order that only Argo CD would keep.
func TestJobs_noArgo(t *testing.T) {
	for _, overlay := range append(slices.Clone(overlays), upgrade) {
		for _, m := range build(t, overlay) {
			if strings.Contains(fmt.Sprint(m.Annotations), "argocd") {
				t.Errorf("%s %s has annotations of Argo CD", overlay, m)
			}
		}
	}
}
