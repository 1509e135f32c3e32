package shard_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"causeway.internal/libs/shard"
)

var (
	pattern = regexp.MustCompile(`^` + shard.Pattern + `$`)
	suffix  = regexp.MustCompile(`^` + shard.SuffixPattern + `$`)
)

// There are 29 × 30 codes. Each is the same as a setting, and in the patterns of references and of ids.
func TestCodes(t *testing.T) {
	count := 0
	for a := range 128 {
		for b := range 128 {
			text := string([]byte{byte(a), byte(b)})
			code, err := shard.Parse(text)
			if valid := shard.Code(text).Valid(); valid != (err == nil) || valid != pattern.MatchString(text) {
				t.Fatalf("read %q: valid %v, error %v, matches the pattern %v; want all the same", text, valid, err, pattern.MatchString(text))
			}
			if err != nil {
				continue
			}
			count++
			var set shard.Code
			if err := set.UnmarshalText([]byte(text)); err != nil || set != code || code.Home() != code {
				t.Fatalf("read %q: as a setting %q (%v), at home in %q; want the same", code, set, err, code.Home())
			}
			if end := code.Suffix(); end != strings.ToLower(text) || !suffix.MatchString(end) || (suffix.MatchString(text) && end != text) {
				t.Fatalf("end an id with %q: got %q, want the small letters in the pattern", code, end)
			}
			if strings.ContainsAny(text, "01ILOU") || a == 'G' {
				t.Errorf("%q is a code", text)
			}
		}
	}
	if count != 29*30 {
		t.Errorf("count the codes: got %d, want 870", count)
	}
}

func TestFirst(t *testing.T) {
	var set shard.Code
	switch {
	case !shard.First.Valid():
		t.Error("the first shard has no valid code")
	case shard.Code("").Valid() || shard.Code("").Home() != shard.First:
		t.Error("a name without a code is not at home in the first shard")
	case set.UnmarshalText([]byte("none")) != nil || set != "":
		t.Error("the setting none is not the empty code")
	case set.UnmarshalText(nil) == nil:
		t.Error("an empty setting is taken, though it would hide a mistake")
	}
}

// Nothing but a code is read as one.
func TestParse_refuses(t *testing.T) {
	for _, text := range []string{"", "A", "AAA", "GA", "aa", "A0", "1A", "AI", "LA", "OA", "AU", "A ", "ÄA", "A\x00", "--"} {
		if c, err := shard.Parse(text); err == nil {
			t.Errorf("Parse(%q) = %q, want an error", text, c)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		if c, err := shard.Parse(text); err == nil && (string(c) != text || !pattern.MatchString(text)) {
			t.Fatalf("Parse(%q) = %q, want an error", text, c)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"AA", "aa", "GA", "K2", "\u212aA", ""} { // the sign of kelvin is a K in capitals
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := shard.Parse(text); err == nil && !pattern.MatchString(string(c)) {
			t.Errorf("Parse(%q) = %q, want an error", text, c)
		}
	})
}
