package identity

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the networks whose X-Forwarded-For is trusted.
type Proxies []netip.Prefix

// ParseProxies reads TRUSTED_PROXIES: comma separated networks or addresses. An empty text trusts no proxy.
func ParseProxies(text string) (Proxies, error) {
	var out Proxies
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		p, err := ParsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("trusted proxies: %w", err)
		}
		out = append(out, p)
	}
	return out, nil
}

// ParsePrefix reads a network in CIDR form, or one address, and clears the host bits.
func ParsePrefix(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, fmt.Errorf("%q is neither a network nor an address", text)
	}
	a = a.Unmap()
	return netip.PrefixFrom(a, a.BitLen()), nil
}

const hopsMax = 32

// Client returns the address of a request: that of the socket or, behind trusted proxies, the nearest hop of
// X-Forwarded-For that is not one of them. The hops further left were written by the caller and prove nothing.
func (p Proxies) Client(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	from := at.Addr().Unmap().WithZone("")
	if len(p) == 0 || !p.Trusts(from) {
		return from
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && i >= len(hops)-hopsMax; i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		from = hop.Unmap().WithZone("")
		if !p.Trusts(from) {
			break
		}
	}
	return from
}

// Trusts reports whether an address is that of a trusted proxy.
func (p Proxies) Trusts(a netip.Addr) bool {
	for _, n := range p {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// Network is the unit of limits per address: an IPv4 address, or the /64 of an IPv6 subscriber.
func Network(a netip.Addr) netip.Addr {
	if !a.Is6() || a.Is4In6() {
		return a.Unmap()
	}
	p, err := a.WithZone("").Prefix(64)
	if err != nil {
		return a
	}
	return p.Addr()
}
