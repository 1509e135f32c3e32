// Package supply says what the shipped programs are made of: the modules that are compiled into them, with their
// licences (docs/licences.md), and a bill of materials per binary (CycloneDX). It reads the module cache and the
// binaries themselves and asks nobody.
package supply

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Shipped are the packages of what leaves this project: the images' programs, the launcher and the merchants' tool.
var Shipped = []string{
	"gateway", "gateway/cmd/causeway", "services/callback-dispatcher", "services/console", "services/payments", "services/reports", "services/wallets",
	"services/wallets/cmd/signer", "deploy/stack",
}

// Allowed are the licences that shipped code may have. All of them permit what we do with it, which is to use it
// unchanged and to name its authors; MPL-2.0 would ask for the source of a changed file.
var Allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// swagger is the one part that is no Go module: the script of npm that renders /docs. The module swgui carries it.
const (
	swagger = "swagger-ui-dist"
	swgui   = "github.com/swaggest/swgui"
)

// notices are those of swagger, which swgui leaves out.
//
//go:embed swagger-ui.txt
var notices []byte

var released = regexp.MustCompile(`PACKAGE_VERSION:"([0-9.]+)"`)

// Part is something of others that is shipped.
type Part struct {
	Path, Version string
	Licences      []string // SPDX names; empty when none was recognised
	Texts         [][]byte // licences and notices
	In            []string // names of programs
}

// Parts lists what is compiled into the shipped programs, in order of paths: modules, Go's own library, and Swagger UI.
func Parts(ctx context.Context, root string) ([]Part, error) {
	found := map[string]*Part{}
	dirs := map[string]string{}
	for _, shipped := range Shipped {
		modules, err := compiled(ctx, root, shipped)
		if err != nil {
			return nil, err
		}
		for _, m := range modules {
			if found[m.Path] == nil {
				found[m.Path], dirs[m.Path] = &Part{Path: m.Path, Version: m.Version}, m.Dir
			}
			found[m.Path].In = append(found[m.Path].In, filepath.Base(shipped))
		}
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION").Output()
	goroot := strings.Fields(string(out))
	if err != nil || len(goroot) != 2 {
		return nil, fmt.Errorf("asking go for its root: %q, %w", out, err)
	}
	found["std"], dirs["std"] = &Part{Path: "std", Version: strings.TrimPrefix(goroot[1], "go"), In: []string{"all"}}, goroot[0]
	version, err := swaggerVersion(dirs[swgui])
	if err != nil {
		return nil, fmt.Errorf("reading the version of Swagger UI in %s: %w", swgui, err)
	}
	found[swagger], dirs[swagger] = &Part{
		Path: swagger, Version: version, Licences: Licences(string(notices)), Texts: [][]byte{notices}, In: []string{"gateway"},
	}, dirs[swgui]
	var parts []Part
	for path, part := range found {
		if err := part.read(dirs[path]); err != nil {
			return nil, err
		}
		parts = append(parts, *part)
	}
	slices.SortFunc(parts, func(a, b Part) int { return strings.Compare(a.Path, b.Path) })
	return parts, nil
}

// swaggerVersion is the version that the script in the module's directory says of itself.
func swaggerVersion(dir string) (string, error) {
	packed, err := os.Open(filepath.Join(dir, "v5", "static", "swagger-ui-bundle.js.gz"))
	if err != nil {
		return "", err
	}
	defer packed.Close()
	script, err := gzip.NewReader(packed)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(script)
	if err != nil {
		return "", err
	}
	version := released.FindSubmatch(text)
	if version == nil {
		return "", fmt.Errorf("the script names no version as %s", released)
	}
	return string(version[1]), nil
}

type module struct {
	Path, Version, Dir string
	Main               bool
}

// compiled lists the modules of others that a package is built of.
func compiled(ctx context.Context, root, shipped string) ([]module, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Module", "./"+shipped)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOWORK=", "CGO_ENABLED=0", "GOOS=linux")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing what %s is built of: %w", shipped, err)
	}
	var all []module
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ Module *module }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("listing what %s is built of: %w", shipped, err)
		}
		if p.Module != nil && !p.Module.Main && !slices.Contains(all, *p.Module) {
			all = append(all, *p.Module)
		}
	}
}

var legal = regexp.MustCompile(`licen[cs]e|^copying|^notice`)

// read finds the licences in a module's directory.
func (p *Part) read(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("looking for the licence of %s: %w", p.Path, err)
	}
	for _, entry := range entries {
		name := strings.ToLower(entry.Name())
		if entry.IsDir() || strings.HasSuffix(name, ".go") || !legal.MatchString(name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return fmt.Errorf("reading the licence of %s: %w", p.Path, err)
		}
		p.Texts = append(p.Texts, text)
		p.Licences = append(p.Licences, Licences(string(text))...)
	}
	slices.Sort(p.Licences)
	p.Licences = slices.Compact(p.Licences)
	return nil
}

// copyleft is the title of a licence of the GPL family, which others only mention.
var copyleft = regexp.MustCompile(`gnu (affero |lesser |library )?general public license version [0-9]`)

// Licences recognises licences in a text by the sentences that make them, and returns their SPDX names.
func Licences(text string) (names []string) {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	has := func(all ...string) bool {
		return !slices.ContainsFunc(all, func(s string) bool { return !strings.Contains(text, s) })
	}
	if has("apache license version 2.0", "grant of patent license") {
		names = append(names, "Apache-2.0")
	}
	if has("mozilla public license", "version 2.0", "covered software") {
		names = append(names, "MPL-2.0")
	}
	if has("permission is hereby granted, free of charge, to any person obtaining a copy") || has("licensed under the mit license") {
		names = append(names, "MIT")
	}
	if has("permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted") ||
		has("permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted") {
		names = append(names, "ISC")
	}
	if has("redistribution and use in source and binary forms, with or without modification, are permitted") {
		if has("may be used to endorse or promote products derived from this software") {
			names = append(names, "BSD-3-Clause")
		} else {
			names = append(names, "BSD-2-Clause")
		}
	}
	if copyleft.MatchString(text) {
		names = append(names, "GPL family")
	}
	return names
}

// Problem says why a part may not be shipped.
func (p Part) Problem() error {
	if len(p.Licences) == 0 {
		return fmt.Errorf("%s has no licence that is known", p.Path)
	}
	for _, l := range p.Licences {
		if !slices.Contains(Allowed, l) {
			return fmt.Errorf("%s is under %s", p.Path, l)
		}
	}
	return nil
}

// Page renders docs/licences.md.
func Page(parts []Part) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Licences\n\nMade by `make licences` from what is compiled into the shipped programs; do not edit. Allowed are\n%s; a test refuses\n"+
		"anything else. `make sbom` leaves all licence texts in `bin/sbom/licences.txt`, to be given along with the programs.\n\n"+
		"| what | version | licence | in |\n|---|---|---|---|\n", strings.Join(Allowed, ", "))
	for _, p := range parts {
		in := strings.Join(p.In, ", ")
		if len(p.In) == len(Shipped) {
			in = "all"
		}
		version := p.Version
		if p.Path == "std" {
			version = "the toolchain's"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", p.Path, version, strings.Join(p.Licences, " and "), in)
	}
	return b.Bytes()
}

// Texts puts all licences and notices into one file.
func Texts(parts []Part) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		for _, text := range p.Texts {
			fmt.Fprintf(&b, "==== %s %s\n\n%s\n\n", p.Path, p.Version, bytes.TrimSpace(text))
		}
	}
	return b.Bytes()
}
