package check

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"causeway.internal/deploy/check/supply"
)

// TestLicences: everything of others in a shipped program is in docs/licences.md, under a licence that is allowed.
// `make licences` writes the page.
func TestLicences(t *testing.T) {
	parts, err := supply.Parts(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if err := p.Problem(); err != nil {
			t.Error(err)
		}
	}
	page, path := supply.Page(parts), filepath.Join(root, "docs", "licences.md")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if old, err := os.ReadFile(path); err != nil || !bytes.Equal(old, page) {
		t.Errorf("docs/licences.md is not current: run make licences and look at the difference (%v)", err)
	}
}

// Licences are recognised by their own sentences, and software under an unknown one may not be shipped.
func TestLicences_recognised(t *testing.T) {
	mit := "Permission is hereby granted, free of charge, to any person\nobtaining a copy of this software"
	bsd := "Redistribution and use in source and binary forms, with or without\n\tmodification, are permitted provided that"
	for text, want := range map[string]string{
		mit:                         "MIT",
		"The MIT License\n\n" + mit: "MIT",
		bsd:                         "BSD-2-Clause",
		bsd + " ... may be used to endorse or promote products derived from this software": "BSD-3-Clause",
		bsd + "\n" + mit: "MIT BSD-2-Clause",
		"Apache License\n  Version 2.0, January 2004 ... 3. Grant of Patent License.":                                          "Apache-2.0",
		"Permission to use, copy, modify, and distribute this software for any\npurpose with or without fee is hereby granted": "ISC",
		"Mozilla Public License, version 2.0 ... 1.4. \"Covered Software\"":                                                    "MPL-2.0",
		"GNU GENERAL PUBLIC LICENSE Version 3 ... You may convey verbatim copies":                                              "GPL family",
		"covered software of the Mozilla Public License, version 2.0; not the GNU General Public License, Version 2.0":         "MPL-2.0",
		"GNU AFFERO GENERAL PUBLIC LICENSE Version 3":                                                                          "GPL family",
		"All rights reserved.": "",
	} {
		if got := strings.Join(supply.Licences(text), " "); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for licence, allowed := range map[string]bool{"MIT": true, "GPL family": false, "": false} {
		p := supply.Part{Path: "example.org/x"}
		if licence != "" {
			p.Licences = []string{"Apache-2.0", licence}
		}
		if err := p.Problem(); (err == nil) != allowed {
			t.Errorf("is the licence %q allowed: got %v", licence, err)
		}
	}
}

// billed: the bill of materials of a program names everything that it is made of, with versions, sums and licences, all
// of it in docs/licences.md, and follows from the program alone.
func billed(t *testing.T, program string, parts []supply.Part) {
	t.Helper()
	raw, err := supply.Bill(program, "v1.2.3", parts)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := supply.Bill(program, "v1.2.3", parts); err != nil || !bytes.Equal(again, raw) {
		t.Errorf("the bill is another one each time: %v", err)
	}
	var bill struct {
		Format   string `json:"bomFormat"`
		Serial   string `json:"serialNumber"`
		Metadata struct {
			Component struct {
				Version string
				Hashes  []struct{ Content string }
			}
		}
		Components []struct {
			Name, Version, Purl string
			Licenses            []any
		}
		Dependencies []struct{ DependsOn []string }
	}
	if err := json.Unmarshal(raw, &bill); err != nil {
		t.Fatal(err)
	}
	if bill.Format != "CycloneDX" || !regexp.MustCompile("^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$").MatchString(bill.Serial) ||
		bill.Metadata.Component.Version != "v1.2.3" || len(bill.Metadata.Component.Hashes[0].Content) != 64 || len(bill.Components) < 5 {
		t.Errorf("the bill of materials lacks its form, number, version, sum or parts: %.1000s", raw)
	}
	for _, c := range bill.Components {
		listed := slices.ContainsFunc(parts, func(p supply.Part) bool { return p.Path == c.Name && p.Version == c.Version })
		if !listed || len(c.Licenses) == 0 || !strings.HasSuffix(c.Purl, c.Name+"@"+c.Version) || !slices.Contains(bill.Dependencies[0].DependsOn, c.Purl) {
			t.Errorf("%+v is not in docs/licences.md, or half of it is missing", c)
		}
	}
}
