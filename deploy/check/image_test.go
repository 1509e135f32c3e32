package check

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"causeway.internal/deploy/check/recipe"
	"causeway.internal/deploy/check/supply"
)

var (
	copied     = regexp.MustCompile(`(?m)^COPY (\S+)/go\.mod `)
	used       = regexp.MustCompile(`(?m)^\s+\./(\S+)$`)
	dockerfile = filepath.Join(root, "deploy", "docker", "Dockerfile")
)

// TestDockerfile: the modules that the image's build copies are those of the workspace, so that a new one cannot be
// forgotten.
func TestDockerfile(t *testing.T) {
	list := func(pattern *regexp.Regexp, path string) []string {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, m := range pattern.FindAllStringSubmatch(string(raw), -1) {
			found = append(found, m[1])
		}
		slices.Sort(found)
		return found
	}
	copies, modules := list(copied, dockerfile), list(used, filepath.Join(root, "go.work"))
	if !slices.Equal(copies, modules) || len(modules) < 5 {
		t.Errorf("the Dockerfile copies %v, go.work uses %v", copies, modules)
	}
}

// TestImages takes the Dockerfile's steps for every image that compose builds, in a directory with only the files that
// they copy. The result is one program on top of the base, which brings the certificates, the time zones and the user
// 65532: static, stripped, and without a path of the machine that built it. Its bill of materials is whole. The
// smallest is built twice, in two directories, and is the same (`make reproducible` does that for all, without a common
// cache).
func TestImages(t *testing.T) {
	caches, err := recipe.Caches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	source, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := supply.Parts(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	built := map[string]bool{}
	for _, service := range compose(t, "*").Services {
		if service.Build == nil || built[service.Image] {
			continue
		}
		built[service.Image] = true
		args := map[string]string{"VERSION": "v1.2.3-test", "REVISION": "0123456789abcdef"}
		for name, value := range service.Build.Args {
			args[name] = *value
		}
		t.Run(service.Image, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			scratch := t.TempDir()
			options := recipe.Options{Dockerfile: dockerfile, Files: root, Scratch: scratch, Args: args, Caches: caches, Log: &log}
			image, err := recipe.Build(t.Context(), options)
			if err != nil {
				t.Fatalf("build the image: %v\n%s", err, &log)
			}
			if !strings.HasPrefix(image.Base, "gcr.io/distroless/static-") || !strings.HasSuffix(image.Base, ":nonroot") || image.Entrypoint != `["/app"]` {
				t.Errorf("base %s, entrypoint %s", image.Base, image.Entrypoint)
			}
			if files := under(t, image.Root); !slices.Equal(files, []string{"app"}) {
				t.Errorf("the image adds %v", files)
			}
			program(t, filepath.Join(image.Root, "app"), args, scratch, source)
			said, err := exec.CommandContext(t.Context(), filepath.Join(image.Root, "app"), "version").Output()
			if err != nil || !strings.HasPrefix(string(said), "v1.2.3-test (0123456789abcdef, go1.") {
				t.Errorf("the program says of itself %q, %v", said, err)
			}
			billed(t, filepath.Join(image.Root, "app"), parts)
			if service.Image == "causeway/signer" {
				options.Scratch = filepath.Join(t.TempDir(), "elsewhere")
				again, err := recipe.Build(t.Context(), options)
				if err != nil {
					t.Fatalf("build the signer's image again elsewhere: %v\n%s", err, &log)
				}
				if digest(t, image) != digest(t, again) {
					t.Error("a second build is another program")
				}
			}
			context := under(t, filepath.Join(scratch, "stage0", "src"))
			for _, file := range context {
				mod := strings.HasSuffix(file, "/go.mod") || strings.HasSuffix(file, "/go.sum") || strings.HasPrefix(file, "go.work")
				if !mod && !strings.HasPrefix(file, "libs/") && !strings.HasPrefix(file, args["MODULE"]+"/") {
					t.Errorf("the build sees %s", file)
				}
			}
		})
	}
	if len(built) != len(services) { // the consoles are one program, and the signer is none of the services
		t.Errorf("compose builds %d images, want those of %v and the signer", len(built), services)
	}
}

func digest(t *testing.T, image recipe.Image) [sha256.Size]byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(image.Root, "app"))
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(raw)
}

// under lists the files of a directory.
func under(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// program looks at a binary: it may hold none of the given directories.
func program(t *testing.T, path string, args map[string]string, dirs ...string) {
	t.Helper()
	binary, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	for _, p := range binary.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the program needs a loader: %v", p.Type)
		}
	}
	if binary.Section(".symtab") != nil || binary.Section(".debug_info") != nil {
		t.Error("the program is not stripped")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o555 != 0o555 {
		t.Errorf("the program cannot be run by everybody: %v, %v", info.Mode(), err)
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := args["PACKAGE"]
	if want == "" {
		want = args["MODULE"]
	}
	if info.Path != "causeway.internal/"+want {
		t.Errorf("the program is %s", info.Path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if bytes.Contains(raw, []byte(dir)) {
			t.Errorf("the program holds the path %s", dir)
		}
	}
}
