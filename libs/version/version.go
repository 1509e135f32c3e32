// Package version names the build of a program. The linker stamps it (Makefile, deploy/docker/Dockerfile); a build
// without a stamp uses the Go toolchain's information. It imports no other package of the project.
package version

import (
	"cmp"
	"runtime/debug"
)

// Stamped with -ldflags "-X causeway.internal/libs/version.number=… -X causeway.internal/libs/version.revision=…".
var number, revision string

// Build identifies the sources of a program.
type Build struct {
	Version  string // a tag, a tag with further commits, or "(devel)"
	Revision string // commit, or "unknown"
	Go       string // of the toolchain
}

// String is one line for a person.
func (b Build) String() string { return b.Version + " (" + b.Revision + ", " + b.Go + ")" }

// Read returns the build of this program.
func Read() Build {
	b := Build{Version: number, Revision: revision, Go: "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version, b.Go = cmp.Or(b.Version, info.Main.Version), info.GoVersion
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				b.Revision = cmp.Or(b.Revision, setting.Value)
			}
		}
	}
	b.Version, b.Revision = cmp.Or(b.Version, "(devel)"), cmp.Or(b.Revision, "unknown")
	return b
}
