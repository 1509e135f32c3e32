// Package version says what a program was built from. The linker stamps it (Makefile, deploy/docker/Dockerfile); a
// build without a stamp falls back on what the Go toolchain knows. It imports nothing of ours.
package version

import (
	"cmp"
	"runtime/debug"
)

// Stamped with -ldflags "-X causeway.internal/libs/version.number=… -X causeway.internal/libs/version.revision=…".
var number, revision string

// Build is what a program was built from.
type Build struct {
	Version  string // a tag, a tag with what came after it, or "(devel)"
	Revision string // commit, or "unknown"
	Go       string // of the toolchain
}

// String is one line for a person.
func (b Build) String() string { return b.Version + " (" + b.Revision + ", " + b.Go + ")" }

// Read tells what this program was built from.
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
