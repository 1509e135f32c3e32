// Package config reads a service's settings from its environment into one struct and reports all that are missing or
// wrong at once. It also renders the table of docs/config.md. It reads nothing else: the caller passes the process
// environment as a map, so that tests need no global state.
package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Secret is a value that must not be printed. Every way of printing it that fmt, slog and encoding know shows "***".
type Secret string

// Reveal returns the value itself, for the one place that uses it.
func (s Secret) Reveal() string { return string(s) }

// String masks the value; an unset secret shows as empty, which an operator needs to see.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// GoString masks the value under %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// MarshalText masks the value in JSON and in slog.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// secretFileMax bounds a file named by <NAME>_FILE, in bytes.
const secretFileMax = 64 << 10

// Environ returns the environment of the process as a map.
func Environ() map[string]string { return env.ToMap(os.Environ()) }

// Read fills a T from the environment. Fields carry the tags of caarlos0/env (env:"NAME,required", envDefault:"…") and
// a doc tag that says what they are for; nested structs are read too, under envPrefix if they have it. A Secret may
// come from a file instead: <NAME>_FILE names it. The error names every variable that is missing or wrong and no value.
func Read[T any](environ map[string]string) (T, error) {
	var zero T
	vars, err := fields[T]()
	if err != nil {
		return zero, err
	}
	filled, err := secretsFromFiles(environ, vars)
	if err != nil {
		return zero, err
	}
	settings, err := env.ParseAsWithOptions[T](env.Options{Environment: filled})
	if err != nil {
		return zero, explain(err, vars)
	}
	return settings, nil
}

// secretsFromFiles returns the environment with <NAME>_FILE of every secret resolved.
func secretsFromFiles(environ map[string]string, vars []variable) (map[string]string, error) {
	filled := make(map[string]string, len(environ))
	for name, value := range environ {
		filled[name] = value
	}
	var problems []error
	for _, v := range vars {
		path := environ[v.name+"_FILE"]
		if !v.secret || path == "" {
			continue
		}
		if environ[v.name] != "" {
			problems = append(problems, fmt.Errorf("%s and %s_FILE are both set", v.name, v.name))
			continue
		}
		value, err := readSecret(path)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s_FILE: %w", v.name, err))
			continue
		}
		filled[v.name] = value
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("reading the configuration: %w", errors.Join(problems...))
	}
	return filled, nil
}

func readSecret(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > secretFileMax {
		return "", fmt.Errorf("%s holds more than %d bytes", path, secretFileMax)
	}
	text, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// explain turns the library's errors, which name Go fields, into ones that name variables.
func explain(err error, vars []variable) error {
	var all env.AggregateError
	if !errors.As(err, &all) {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	lines := make([]error, 0, len(all.Errors))
	for _, one := range all.Errors {
		lines = append(lines, explainOne(one, vars))
	}
	return fmt.Errorf("reading the configuration: %w", errors.Join(lines...))
}

func explainOne(err error, vars []variable) error {
	if missing, ok := errors.AsType[env.VarIsNotSetError](err); ok {
		return fmt.Errorf("%s is required: %s", missing.Key, docOf(vars, missing.Key))
	}
	if empty, ok := errors.AsType[env.EmptyVarError](err); ok {
		return fmt.Errorf("%s must not be empty: %s", empty.Key, docOf(vars, empty.Key))
	}
	if wrong, ok := errors.AsType[env.ParseError](err); ok {
		for _, v := range vars {
			if v.field == wrong.Name && v.goType == wrong.Type {
				return fmt.Errorf("%s is not a valid %s: %s", v.name, wrong.Type, v.doc)
			}
		}
	}
	return err
}

func docOf(vars []variable, name string) string {
	for _, v := range vars {
		if v.name == name {
			return v.doc
		}
	}
	return "no such variable"
}

// variable is one environment variable that a settings struct reads.
type variable struct {
	name     string
	field    string
	goType   reflect.Type
	fallback string
	doc      string
	required bool
	secret   bool
}

// fields lists the variables of T in the order of its fields.
func fields[T any]() ([]variable, error) {
	return walk(reflect.TypeFor[T](), "")
}

func walk(t reflect.Type, prefix string) ([]variable, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("config: %s is not a struct", t)
	}
	var vars []variable
	for i := range t.NumField() {
		field := t.Field(i)
		tag, tagged := field.Tag.Lookup("env")
		if !tagged {
			if field.Type.Kind() == reflect.Struct && field.IsExported() {
				inner, err := walk(field.Type, prefix+field.Tag.Get("envPrefix"))
				if err != nil {
					return nil, err
				}
				vars = append(vars, inner...)
			}
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		v := variable{
			name: prefix + name, field: field.Name, goType: field.Type,
			fallback: field.Tag.Get("envDefault"), doc: field.Tag.Get("doc"),
			required: strings.Contains(options, "required") || strings.Contains(options, "notEmpty"),
			secret:   isSecret(field.Type),
		}
		if v.doc == "" {
			return nil, fmt.Errorf("config: field %s.%s has no doc tag", t, field.Name)
		}
		vars = append(vars, v)
	}
	return vars, nil
}

func isSecret(t reflect.Type) bool {
	secret := reflect.TypeFor[Secret]()
	return t == secret || (t.Kind() == reflect.Slice && t.Elem() == secret)
}

// Describe renders the variables of a service as a section of docs/config.md. It shows the defaults of secrets too: a
// secret with a default is not secret, and the page should reveal that.
func Describe[T any](service string) string {
	vars, err := fields[T]()
	if err != nil {
		return err.Error() + "\n"
	}
	var page strings.Builder
	fmt.Fprintf(&page, "## %s\n\n| Variable | Default | Required | What |\n|---|---|---|---|\n", service)
	for _, v := range vars {
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", v.name, code(v.fallback), yes(v.required), what(v))
	}
	return page.String()
}

func what(v variable) string {
	text := strings.ReplaceAll(v.doc, "|", "\\|")
	if v.secret {
		text += " (secret; `" + v.name + "_FILE` may name a file instead)"
	}
	return text
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}
