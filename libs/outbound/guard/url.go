package guard

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"causeway.internal/libs/tenant"
)

// MaxURL bounds a callback URL, in characters.
const MaxURL = 2048

// Refused is a URL that may not be registered. Its text is a phrase that may be shown to the caller.
type Refused string

// Error returns the phrase, such as "must be an https URL".
func (r Refused) Error() string { return string(r) }

// CheckURL says whether a callback URL may be registered in this mode under that mode's policy; the error is a Refused
// and its text goes behind the field's name. Test mode accepts every http or https URL and port and never refuses one
// for its address. Live mode asks for https, no userinfo and no IP literal in any spelling; a literal inside the
// policy's allow-list (and localhost, where loopback is allowed) is accepted there, with http too.
func CheckURL(mode tenant.Mode, raw string, p Policy) error {
	_, err := Normalize(mode, raw, p)
	return err
}

// Normalize checks like CheckURL and returns the URL as it is dialled: scheme and host in lower case, the host in
// ASCII (IDNA 2008 look-up rules) without a trailing dot, no fragment, no default port.
func Normalize(mode tenant.Mode, raw string, p Policy) (*url.URL, error) {
	if utf8.RuneCountInString(raw) > MaxURL {
		return nil, Refused("must be at most 2048 characters long")
	}
	if strings.ContainsFunc(raw, func(c rune) bool { return c <= ' ' || c == 0x7f || c == utf8.RuneError }) {
		return nil, Refused("must not hold spaces or control characters")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.Hostname() == "" {
		return nil, Refused("must be a complete http or https URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, Refused("must be an http or https URL")
	}
	port, err := portOf(u)
	if err != nil {
		return nil, err
	}
	host, err := hostOf(u.Hostname(), mode)
	if err != nil {
		return nil, err
	}
	if mode != tenant.Test {
		if err := checkLive(u, host, p); err != nil {
			return nil, err
		}
	}
	u.Fragment, u.RawFragment, u.Host = "", "", join(host, port)
	if len(u.String()) > MaxURL*3 { // percent-encoding and IDNA may lengthen it, never without bound
		return nil, Refused("must be at most 2048 characters long")
	}
	return u, nil
}

func checkLive(u *url.URL, host string, p Policy) error {
	if u.User != nil {
		return Refused("must not hold a user name or password")
	}
	if lifted(host, p) {
		return nil
	}
	if u.Scheme != "https" {
		return Refused("must be an https URL")
	}
	if literal(host) {
		return Refused("must name a host, not an IP address")
	}
	return nil
}

// lifted reports whether the allow-list makes a literal acceptable. Only the canonical spelling counts: the other
// spellings of an address stay refused.
func lifted(host string, p Policy) bool {
	if host == "localhost" {
		return contains(p.Allow, netip.AddrFrom4([4]byte{127, 0, 0, 1})) || contains(p.Allow, netip.IPv6Loopback())
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Zone() == "" && contains(p.Allow, addr.Unmap())
}

// literal reports whether anything, from netip to the loosest inet_aton, would read the host as an address. The last
// rule is the "ends in a number" check of the WHATWG URL standard: no top-level domain is numeric.
func literal(host string) bool {
	if strings.ContainsAny(host, ":%") {
		return true
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" || strings.Trim(last, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(last, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

// hostOf returns the host in lower-case ASCII without a trailing dot. Test mode keeps a name that IDNA refuses, such
// as one with an underscore, as it was sent.
func hostOf(name string, mode tenant.Mode) (string, error) {
	if strings.Contains(name, ":") { // url.Parse lets a colon through inside brackets only
		return strings.ToLower(name), nil
	}
	ascii := strings.ToLower(name)
	if strings.ContainsFunc(name, func(c rune) bool { return c > 0x7f }) { // ASCII names with "--" inside are in use; IDNA refuses them
		mapped, err := idna.Lookup.ToASCII(name)
		switch {
		case err == nil && mapped != "":
			ascii = mapped
		case mode != tenant.Test:
			return "", Refused("must name a valid host")
		}
	}
	// Only ASCII dots are left by now; idna mapped the wide and ideographic ones.
	ascii = strings.TrimSuffix(ascii, ".")
	if mode != tenant.Test && !validName(ascii) {
		return "", Refused("must name a valid host")
	}
	if ascii == "" {
		return "", Refused("must be a complete http or https URL")
	}
	return ascii, nil
}

func validName(ascii string) bool {
	if ascii == "" || len(ascii) > 253 {
		return false
	}
	for label := range strings.SplitSeq(ascii, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

func portOf(u *url.URL) (string, error) {
	port := u.Port()
	if port == "" {
		return "", nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", Refused("must have a port between 1 and 65535")
	}
	if (u.Scheme == "https" && n == 443) || (u.Scheme == "http" && n == 80) {
		return "", nil
	}
	return strconv.FormatUint(n, 10), nil
}

func join(host, port string) string {
	if port != "" {
		return net.JoinHostPort(host, port)
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}
