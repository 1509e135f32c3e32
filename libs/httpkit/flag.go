package httpkit

import (
	"maps"
	"slices"
	"strings"
)

// Sent reports whether a member was sent with any value but null; the empty string and the empty array count.
func (b *Body) Sent(name string) bool {
	_, ok := b.get(name)
	return ok
}

// Bool reads an optional true or false; ok is false when it is missing or has another type.
func (b *Body) Bool(name string) (on, ok bool) {
	raw, ok := b.get(name)
	if !ok {
		return false, false
	}
	switch string(raw) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	b.Problem(name, "must be true or false")
	return false, false
}

// OneOf reads an optional string that is one of names; "" means not supplied. The empty string is refused if it was
// sent.
func (b *Body) OneOf(name string, names []string) string {
	raw, ok := b.get(name)
	if !ok {
		return ""
	}
	if raw[0] == '"' {
		if s := text(raw); slices.Contains(names, s) {
			return s
		}
	}
	b.Problem(name, "must be one of %s", strings.Join(names, ", "))
	return ""
}

// Only refuses members of this object that have none of these names.
func (b *Body) Only(names ...string) {
	for _, name := range slices.Sorted(maps.Keys(b.members)) {
		if !slices.Contains(names, name) {
			b.Problem(strings.ToValidUTF8(name, "�"), "is not a field of this request")
		}
	}
}
