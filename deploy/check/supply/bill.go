package supply

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
)

// bill is a CycloneDX 1.6 document, as far as it is used here.
type bill struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	Purl       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licences   []licence  `json:"licenses,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licence struct {
	Licence struct {
		ID string `json:"id"`
	} `json:"license"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// Bill is the bill of materials of a binary of a version, in CycloneDX 1.6: what its build information says, with the
// licences of parts. It follows from the binary alone, so that the same binary has the same bill.
func Bill(program, version string, parts []Part) ([]byte, error) {
	raw, err := os.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("reading a program: %w", err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("%s says not what it is made of: %w", program, err)
	}
	known := map[string]Part{}
	for _, p := range parts {
		known[p.Path] = p
	}
	sum := sha256.Sum256(raw)
	whole := component{
		Type: "application", Ref: info.Path, Name: path.Base(info.Path), Version: version,
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
	}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || strings.HasPrefix(s.Key, "vcs.") {
			whole.Properties = append(whole.Properties, property{"build:" + s.Key, s.Value})
		}
	}
	b := bill{
		Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{whole}, Dependencies: []dependency{{Ref: info.Path}},
		Serial: fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]),
	}
	add := func(c component) {
		for _, id := range known[c.Name].Licences {
			var l licence
			l.Licence.ID = id
			c.Licences = append(c.Licences, l)
		}
		c.Type, c.Ref = "library", c.Purl
		b.Components = append(b.Components, c)
		b.Dependencies[0].On = append(b.Dependencies[0].On, c.Ref)
	}
	toolchain := strings.TrimPrefix(info.GoVersion, "go")
	add(component{Name: "std", Version: toolchain, Purl: "pkg:golang/std@" + toolchain})
	for _, m := range info.Deps {
		if strings.HasPrefix(m.Path, "causeway.internal/") { // ours: a part of the program
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		add(component{
			Name: m.Path, Version: m.Version, Purl: "pkg:golang/" + m.Path + "@" + m.Version,
			Properties: []property{{"go:sum", m.Sum}},
		})
	}
	if strings.HasSuffix(info.Path, "/gateway") {
		add(component{Name: swagger, Version: known[swagger].Version, Purl: "pkg:npm/" + swagger + "@" + known[swagger].Version})
	}
	out, err := json.MarshalIndent(b, "", "  ")
	return append(out, '\n'), err
}
