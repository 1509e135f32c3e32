package report

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths of cleaned texts, in Unicode code points (docs/api-contract.md#reports).
const (
	PhoneMin     = 6
	PhoneMax     = 20
	AddressMax   = 128
	SessionMax   = 64
	NameMax      = 255
	TextMax      = 5000
	ConfirmerMax = 255
	NotesMax     = 5000
)

// Phone cleans a phone number: it drops spaces, -, ., brackets and a leading +. The rest must be 6 to 20 digits, else
// ok is false.
func Phone(raw string) (digits string, ok bool) {
	var b strings.Builder
	plus := false
	for _, c := range raw {
		switch {
		case c >= '0' && c <= '9':
			if b.Len() == PhoneMax {
				return "", false
			}
			b.WriteRune(c)
		case c == '+' && !plus && b.Len() == 0:
			plus = true
		case unicode.IsSpace(c), strings.ContainsRune("-.()[]{}", c):
		default:
			return "", false
		}
	}
	return b.String(), b.Len() >= PhoneMin
}

// Trim cleans the other identifying texts: addresses and session references.
func Trim(raw string) string { return strings.TrimSpace(raw) }

// AddressKey is the form in which addresses are compared: 0x… without case, others exactly.
func AddressKey(address string) string {
	if len(address) >= 2 && address[0] == '0' && (address[1] == 'x' || address[1] == 'X') {
		return strings.ToLower(address)
	}
	return address
}

// Storable reports whether a row can hold a text; any other text matches nothing.
func Storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

var reference = regexp.MustCompile(`^RPT-[A-Za-z0-9]{6}$`)

// Reference parses a report id from a path. The six characters are compared without case.
func Reference(raw string) (string, bool) {
	if !reference.MatchString(raw) {
		return "", false
	}
	return strings.ToUpper(raw), true
}
