// Command prove applies the overlays to a real API server and counts what came of their objects: prove ROOT ETCD
// APISERVER, which `make k8s/prove` calls. The server knows the operators' kinds by their definitions and enforces Pod
// Security `restricted`. Each overlay is applied twice, and again with the next version. It fails on a refusal, on a
// warning, and when the second time changes anything.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"causeway.internal/deploy/check/operator"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) != 3 {
		return errors.New("usage: prove ROOT ETCD APISERVER")
	}
	root := args[0]
	dir, err := os.MkdirTemp("", "prove")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	next := filepath.Join(dir, "next")
	if err := copyNext(root, next); err != nil {
		return err
	}
	server, err := start(ctx, args[1], args[2], dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	answer, said, err := server.kubectl(ctx, "get", "--raw=/version")
	if err != nil {
		return fmt.Errorf("ask for the version: %w\n%s", err, said)
	}
	var told struct{ GitVersion string }
	if err := json.Unmarshal([]byte(answer), &told); err != nil {
		return fmt.Errorf("read the version: %w", err)
	}
	fmt.Printf("kube-apiserver %s\n", told.GitVersion)
	if err := define(ctx, server, root); err != nil {
		return err
	}
	return apply(ctx, server, root, next)
}

// define installs the operators' definitions.
func define(ctx context.Context, server *api, root string) error {
	files, err := operator.Definitions(ctx, root)
	if err != nil {
		return err
	}
	args := []string{"apply", "--server-side", "-o=name"}
	for _, file := range files {
		args = append(args, "--filename="+file)
	}
	out, said, err := server.kubectl(ctx, args...)
	if err != nil {
		return fmt.Errorf("install the definitions: %w\n%s", err, said)
	}
	_, said, err = server.kubectl(ctx, "wait", "--for=condition=Established", "crd", "--all", "--timeout=5m")
	if err != nil {
		return fmt.Errorf("wait for the definitions: %w\n%s", err, said)
	}
	all, err := operator.Read(root)
	if err != nil {
		return err
	}
	for _, o := range all {
		if o.Module != "" {
			fmt.Printf("%s %s\n", o.Name, o.Proved)
		}
	}
	fmt.Printf("%d definitions\n\n", strings.Count(out, "\n"))
	return nil
}

// step is one time that an overlay is applied.
type step struct {
	root, overlay, name string
	again               bool // nothing may change
}

// apply takes every step, and lists what came of it.
func apply(ctx context.Context, server *api, root, next string) error {
	steps := []step{
		{root, "dev", "first", false},
		{root, "dev", "again", true},
		{next, "dev", "other setting", false},
		{next, "dev", "again", true},
		{root, "prod", "first", false},
		{root, "prod", "again", true},
		{root, "prod-upgrade", "same version", false},
		{root, "prod-upgrade", "again", true},
		{next, "prod-upgrade", "next version", false},
		{next, "prod", "next version", false},
		{next, "prod", "again", true},
	}
	known := map[string]string{} // contents by object
	var faults []error
	const row = "%-14s %-13s %8v %8v %11v %10v %8v %9v %6v\n"
	fmt.Printf(row, "overlay", "applied", "objects", "created", "configured", "unchanged", "refused", "warnings", "pods")
	for _, s := range steps {
		got, err := server.take(ctx, s, known)
		if err != nil {
			return fmt.Errorf("apply %s, %s: %w", s.overlay, s.name, err)
		}
		fmt.Printf(row, s.overlay, s.name,
			got.objects, got.created, got.configured, got.unchanged, got.refused(), got.warnings, got.pods)
		changed := got.created + got.configured
		if got.refused() > 0 || got.warnings > 0 || s.again == (changed > 0) {
			fmt.Println(got.said)
			faults = append(faults, fmt.Errorf("%s, %s: %d changed, %d refused, %d warnings",
				s.overlay, s.name, changed, got.refused(), got.warnings))
		}
	}
	if err := server.refuses(ctx); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// result is what came of a step.
type result struct {
	objects, accepted, created, configured, unchanged, warnings int
	pods                                                        int // of workloads, which were admitted
	wanted                                                      int // pods that should have been admitted
	said                                                        string
}

func (r result) refused() int { return r.objects - r.accepted + r.wanted - r.pods }

// object is what is read of an object.
type object struct {
	APIVersion, Kind string
	Metadata         struct{ Namespace, Name string }
	Spec             struct {
		Template struct {
			Metadata map[string]any
			Spec     map[string]any
		}
		VolumeClaimTemplates []struct{ Metadata struct{ Name string } }
	}
}

func (o object) key() string {
	return o.APIVersion + " " + o.Kind + " " + o.Metadata.Namespace + "/" + o.Metadata.Name
}

// version is that of an object in the store. The server raises it at times without a change.
var version = regexp.MustCompile(`"resourceVersion": "[0-9]+",?`)

// take applies an overlay and compares the objects with those before.
func (a *api) take(ctx context.Context, s step, known map[string]string) (result, error) {
	built, said, err := a.kubectl(ctx, "kustomize", filepath.Join(s.root, "k8s", "overlays", s.overlay))
	if err != nil {
		return result{}, fmt.Errorf("build: %w\n%s", err, said)
	}
	file := filepath.Join(a.dir, "built.yaml")
	if err := os.WriteFile(file, []byte(built), 0o600); err != nil {
		return result{}, err
	}
	got := result{objects: strings.Count("\n"+built, "\napiVersion: ")}
	// An error means that objects were refused, which are counted below.
	accepted, said, _ := a.kubectl(ctx, "apply", "--server-side", "-o=name", "--filename="+file)
	got.accepted = strings.Count(accepted, "\n")
	got.add(said)
	listed, said, err := a.kubectl(ctx, "get", "--ignore-not-found", "-o=json", "--filename="+file)
	if err != nil {
		return result{}, fmt.Errorf("list: %w\n%s", err, said)
	}
	var all struct{ Items []json.RawMessage }
	if err := json.Unmarshal([]byte(listed), &all); err != nil {
		return result{}, fmt.Errorf("read the list: %w", err)
	}
	var pods []byte
	for _, raw := range all.Items {
		var o object
		if err := json.Unmarshal(raw, &o); err != nil {
			return result{}, fmt.Errorf("read an object: %w", err)
		}
		before, there := known[o.key()]
		now := version.ReplaceAllString(string(raw), "")
		switch {
		case !there:
			got.created++
		case before != now:
			got.configured++
		default:
			got.unchanged++
		}
		if s.again && before != now {
			got.said += fmt.Sprintf("%s was\n%s\nand is\n%s\n", o.key(), before, now)
		}
		known[o.key()] = now
		if template := o.Spec.Template; template.Spec["containers"] != nil {
			got.wanted++
			if pods, err = appendPod(pods, o); err != nil {
				return result{}, err
			}
		}
	}
	// Pod Security only warns of workloads. It refuses pods, so the pods of every workload are tried.
	admitted, said, _ := a.create(ctx, pods)
	got.pods = strings.Count(admitted, "\n")
	got.add(said)
	return got, nil
}

func (r *result) add(said string) {
	r.said += said
	r.warnings += strings.Count("\n"+said, "\nWarning:")
}

// create has the server admit objects and keep none.
func (a *api) create(ctx context.Context, objects []byte) (out, said string, err error) {
	file := filepath.Join(a.dir, "pods.json")
	if err := os.WriteFile(file, objects, 0o600); err != nil {
		return "", "", err
	}
	return a.kubectl(ctx, "create", "--dry-run=server", "-o=name", "--filename="+file)
}

// appendPod adds a pod of a workload to a list of documents.
func appendPod(pods []byte, o object) ([]byte, error) {
	metadata := map[string]any{"name": strings.ToLower(o.Kind) + "-" + o.Metadata.Name, "namespace": o.Metadata.Namespace}
	for _, name := range []string{"labels", "annotations"} {
		metadata[name] = o.Spec.Template.Metadata[name]
	}
	spec := o.Spec.Template.Spec
	volumes, _ := spec["volumes"].([]any)
	for _, claim := range o.Spec.VolumeClaimTemplates {
		volumes = append(volumes, map[string]any{
			"name": claim.Metadata.Name, "persistentVolumeClaim": map[string]any{"claimName": claim.Metadata.Name},
		})
	}
	spec["volumes"] = volumes
	pod, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec,
	})
	if err != nil {
		return nil, fmt.Errorf("make a pod of %s: %w", o.key(), err)
	}
	return append(append(pods, pod...), '\n'), nil
}

// refuses proves that the server would have refused: a pod that runs as root, and an object with a field too many.
func (a *api) refuses(ctx context.Context) error {
	for fault, manifest := range map[string]string{
		"violates PodSecurity": `{"apiVersion": "v1", "kind": "Pod",
			"metadata": {"name": "root", "namespace": "causeway"},
			"spec": {"containers": [{"name": "app", "image": "x", "securityContext": {"runAsUser": 0}}]}}`,
		`unknown field "spec.primaries"`: `{"apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster",
			"metadata": {"name": "x", "namespace": "causeway"}, "spec": {"instances": 1, "primaries": 1}}`,
	} {
		_, said, err := a.create(ctx, []byte(manifest))
		if err == nil || !strings.Contains(said, fault) {
			return fmt.Errorf("the server does not say %q: %w\n%s", fault, err, said)
		}
		fmt.Printf("refused, as it must be: %s", said)
	}
	return nil
}
