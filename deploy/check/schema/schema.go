// Package schema validates objects by the schemas of Kubernetes and of the operators' definitions, as an API server
// does: a value has the type, format and range of its field, required fields are there, and no field is unknown. It
// leaves rules in CEL to a real server (`make k8s/prove`), and the operators' webhooks to the operators.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"
)

// node is a schema, or a part of one, as its document has it.
type node = map[string]any

// kind has a schema, which refers to parts until it is first asked for.
type kind struct {
	schema node
	parts  map[string]node
	rules  *spec.Schema
}

// Set finds what is known of a kind: "apps/v1 Deployment".
type Set map[string]*kind

// metadata is the part of every document of Kubernetes that describes the metadata of an object.
const metadata = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// Load reads Kubernetes' documents from its module's directory and the operators' definitions from their files.
func Load(kubernetes string, definitions []string) (Set, error) {
	documents, err := filepath.Glob(filepath.Join(kubernetes, "api", "openapi-spec", "v3", "api*__v*_openapi.json"))
	if err != nil || len(documents) == 0 {
		return nil, errors.Join(fmt.Errorf("no schemas are in %s", kubernetes), err)
	}
	set := Set{}
	var parts map[string]node
	for _, file := range documents {
		if parts, err = set.builtin(file); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
	}
	for _, file := range definitions {
		if err := set.custom(file, parts); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
	}
	return set, nil
}

// builtin adds the kinds of one group and version, and returns all schemas of the document.
func (s Set) builtin(file string) (map[string]node, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var document struct {
		Components struct{ Schemas map[string]node }
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, err
	}
	parts := document.Components.Schemas
	for _, one := range parts {
		kinds, _ := one["x-kubernetes-group-version-kind"].([]any)
		if len(kinds) != 1 { // options and statuses belong to every group
			continue
		}
		of := kinds[0].(node)
		name := strings.TrimPrefix(fmt.Sprintf("%s/%s %s", of["group"], of["version"], of["kind"]), "/")
		s[name] = &kind{schema: one, parts: parts}
	}
	return parts, nil
}

// custom adds the versions of a definition. The server adds apiVersion, kind and metadata to each.
func (s Set) custom(file string, parts map[string]node) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var definition struct {
		Kind string
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct {
				Name   string
				Served bool
				Schema struct{ OpenAPIV3Schema node }
			}
		}
	}
	if err := yaml.Unmarshal(raw, &definition); err != nil {
		return err
	}
	if definition.Kind != "CustomResourceDefinition" {
		return nil
	}
	for _, version := range definition.Spec.Versions {
		whole := version.Schema.OpenAPIV3Schema
		fields, found := whole["properties"].(node)
		if !found {
			return fmt.Errorf("version %s has no schema", version.Name)
		}
		if version.Served {
			defaulted(whole)
			fields["apiVersion"], fields["kind"] = node{"type": "string"}, node{"type": "string"}
			fields["metadata"] = node{"$ref": metadata}
			s[definition.Spec.Group+"/"+version.Name+" "+definition.Spec.Names.Kind] = &kind{schema: whole, parts: parts}
		}
	}
	return nil
}

// defaulted ends the duty to name a field that has a default: the server fills it in before it validates.
func defaulted(at any) {
	switch at := at.(type) {
	case []any:
		for _, one := range at {
			defaulted(one)
		}
	case node:
		fields, _ := at["properties"].(node)
		if required, ok := at["required"].([]any); ok {
			at["required"] = slices.DeleteFunc(required, func(name any) bool {
				field, _ := fields[name.(string)].(node)
				return field["default"] != nil
			})
		}
		for _, one := range at {
			defaulted(one)
		}
	}
}

// Check returns what an API server would refuse in an object.
func (s Set) Check(raw []byte) error {
	text, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return err
	}
	var object node
	if err := utiljson.Unmarshal(text, &object); err != nil { // it keeps whole numbers whole
		return err
	}
	name := fmt.Sprintf("%v %v", object["apiVersion"], object["kind"])
	of, found := s[name]
	if !found {
		return fmt.Errorf("no schema is known for %s", name)
	}
	if err := of.prepare(); err != nil {
		return fmt.Errorf("read the schema of %s: %w", name, err)
	}
	invalid := validate.AgainstSchema(of.rules, object, strfmt.Default)
	return errors.Join(append(unknown(object, of.schema, ""), invalid)...)
}

// prepare makes the schema whole and gives it the form that the validator reads.
func (k *kind) prepare() error {
	if k.rules != nil {
		return nil
	}
	k.schema = inline(k.schema, k.parts, nil).(node)
	text, err := json.Marshal(k.schema)
	if err != nil {
		return err
	}
	k.rules = &spec.Schema{}
	return json.Unmarshal(text, k.rules)
}

// inline replaces references by the parts that they name. A part that holds itself may hold anything there.
func inline(at any, parts map[string]node, within []string) any {
	switch at := at.(type) {
	case []any:
		var all []any
		for _, one := range at {
			all = append(all, inline(one, parts, within))
		}
		return all
	case node:
		if reference, ok := at["$ref"].(string); ok {
			name := path.Base(reference)
			if slices.Contains(within, name) {
				return node{open: true}
			}
			return inline(parts[name], parts, append(slices.Clip(within), name))
		}
		all := node{}
		if described, ok := at["allOf"].([]any); ok && len(described) == 1 { // a reference with a description of its own
			all = inline(described[0], parts, within).(node)
		}
		for key, one := range at {
			if key != "allOf" || len(all) == 0 {
				all[key] = inline(one, parts, within)
			}
		}
		// The validator takes int-or-string for a type, and refuses line breaks in base64, which a server takes.
		if all["format"] == "int-or-string" || all["format"] == "byte" {
			delete(all, "format")
		}
		return all
	}
	return at
}

// open marks a part of a schema that takes unknown fields.
const open = "x-kubernetes-preserve-unknown-fields"

// unknown lists the fields of a value that its schema does not have.
func unknown(value any, schema node, at string) (all []error) {
	switch value := value.(type) {
	case []any:
		items, _ := schema["items"].(node)
		for i, one := range value {
			all = append(all, unknown(one, items, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case node:
		fields, _ := schema["properties"].(node)
		others, named := schema["additionalProperties"].(node)
		free := schema[open] == true || schema["additionalProperties"] == true
		for name, one := range value {
			field, known := fields[name].(node)
			switch {
			case known:
				all = append(all, unknown(one, field, at+"."+name)...)
			case named:
				all = append(all, unknown(one, others, at+"."+name)...)
			case !free:
				all = append(all, fmt.Errorf("unknown field %s.%s", at, name))
			}
		}
	}
	return all
}
