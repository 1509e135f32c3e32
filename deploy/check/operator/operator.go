// Package operator reads which operators the overlays need (k8s/operators.yaml), and takes their custom resource
// definitions out of their Go modules. Modules come from the module proxy or its cache, so that no definition is copied
// into this tree.
package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Operator is an entry of k8s/operators.yaml. The first is Kubernetes and has no module of definitions.
type Operator struct {
	Name        string   `json:"name"`
	Groups      []string `json:"groups"`
	Kinds       []string `json:"kinds"` // all of the groups', if empty
	Least       string   `json:"least"`
	Proved      string   `json:"proved"`
	Because     string   `json:"because"`
	Module      string   `json:"module"`
	Definitions string   `json:"definitions"`
}

// Serves says that objects of a kind belong to the operator.
func (o Operator) Serves(apiVersion, kind string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	return slices.Contains(o.Groups, group) && (len(o.Kinds) == 0 || slices.Contains(o.Kinds, kind))
}

// Read lists the operators of a project.
func Read(root string) ([]Operator, error) {
	raw, err := os.ReadFile(filepath.Join(root, "k8s", "operators.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read the operators: %w", err)
	}
	var all []Operator
	if err := yaml.UnmarshalStrict(raw, &all); err != nil {
		return nil, fmt.Errorf("read the operators: %w", err)
	}
	return all, nil
}

// Definitions are the files that define the operators' kinds, at the versions that the project is proved with. Go
// fetches a module that its cache lacks, and compares it with the checksum database.
func Definitions(ctx context.Context, root string) ([]string, error) {
	all, err := Read(root)
	if err != nil {
		return nil, err
	}
	var files, modules, wanted []string
	for _, o := range all {
		if o.Module != "" {
			modules, wanted = append(modules, o.Module+"@v"+o.Proved), append(wanted, o.Definitions)
		}
	}
	dirs, err := download(ctx, os.TempDir(), modules...)
	if err != nil {
		return nil, err
	}
	for i, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(dir, wanted[i], "*.yaml"))
		found = slices.DeleteFunc(found, func(file string) bool { return filepath.Base(file) == "kustomization.yaml" })
		if err != nil || len(found) == 0 {
			return nil, errors.Join(fmt.Errorf("%s has no definitions in %s", modules[i], wanted[i]), err)
		}
		files = append(files, found...)
	}
	return files, nil
}

// Kubernetes is the directory of Kubernetes' own module, at the version that deploy/cluster builds.
func Kubernetes(ctx context.Context, root string) (string, error) {
	dirs, err := download(ctx, filepath.Join(root, "deploy", "cluster"), "k8s.io/kubernetes")
	if err != nil {
		return "", err
	}
	return dirs[0], nil
}

// download returns the directories of modules, in their order.
func download(ctx context.Context, from string, modules ...string) (dirs []string, err error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"mod", "download", "-json"}, modules...)...)
	cmd.Dir, cmd.Env = from, append(os.Environ(), "GOWORK=off")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, failed := cmd.Output()
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var told struct{ Dir, Error string }
		if err := decoder.Decode(&told); err != nil {
			return nil, fmt.Errorf("read the answer of go mod download: %w", err)
		}
		if told.Error != "" {
			return nil, fmt.Errorf("go mod download: %s", told.Error)
		}
		dirs = append(dirs, told.Dir)
	}
	if failed != nil || len(dirs) != len(modules) {
		found := fmt.Errorf("go mod download found %d of %d modules: %s", len(dirs), len(modules), complaint.Bytes())
		return nil, errors.Join(found, failed)
	}
	return dirs, nil
}
