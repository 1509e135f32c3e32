// Package guard decides which addresses the platform may call on a merchant's behalf
// (docs/api-contract.md#callback-urls). It judges twice: CheckURL when a URL is registered, for an early and clear
// answer, and Control when a socket is about to be connected, which alone is authoritative because it sees the address
// that the kernel will dial. It resolves no names, opens no sockets, reads no configuration and keeps no state.
package guard

import (
	"context"
	"fmt"
	"net/netip"
	"syscall"
)

// Policy is the operator's word for one mode. The zero Policy admits public unicast addresses only.
type Policy struct {
	// Allow admits addresses whatever they are: loopback for test mode on one machine, a lab network.
	Allow []netip.Prefix
	// Deny refuses addresses beside the built-in list: cluster networks, the machine's own addresses, a NAT64 prefix
	// of the site. Allow wins over Deny.
	Deny []netip.Prefix
}

// Blocked is the refusal to connect to an address. It is terminal: no retry changes it. The text is for the operator;
// merchants see only that the address is not allowed.
type Blocked struct {
	Address string
	Why     string
}

// Error names the address and the rule.
func (b *Blocked) Error() string { return "connecting to " + b.Address + " is not allowed: " + b.Why }

type rule struct {
	prefix netip.Prefix
	why    string
}

// The deny list of IPv4: everything that IANA's special-purpose registry does not call globally reachable, multicast
// and reserved space, deprecated 6to4 relays, and Azure's wire server, a metadata service on a public-looking address.
var denied4 = rules(
	"0.0.0.0/8", "this network",
	"10.0.0.0/8", "private",
	"100.64.0.0/10", "carrier-grade NAT",
	"127.0.0.0/8", "loopback",
	"168.63.129.16/32", "metadata service",
	"169.254.0.0/16", "link-local",
	"172.16.0.0/12", "private",
	"192.0.0.0/24", "protocol assignments",
	"192.0.2.0/24", "documentation",
	"192.88.99.0/24", "6to4 relay",
	"192.168.0.0/16", "private",
	"198.18.0.0/15", "benchmarking",
	"198.51.100.0/24", "documentation",
	"203.0.113.0/24", "documentation",
	"224.0.0.0/4", "multicast",
	"240.0.0.0/4", "reserved",
)

// IPv6 is the other way round: only global unicast 2000::/3 is let through, less these. So mapped, compatible, NAT64,
// unique-local, link-local, site-local, discard and multicast forms fall out without being listed.
var (
	global6 = netip.MustParsePrefix("2000::/3")
	denied6 = rules(
		"2001::/23", "protocol assignments and Teredo",
		"2001:db8::/32", "documentation",
		"2002::/16", "6to4",
		"3fff::/20", "documentation",
	)
)

func rules(pairs ...string) []rule {
	out := make([]rule, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, rule{netip.MustParsePrefix(pairs[i]), pairs[i+1]})
	}
	return out
}

// Check says whether an address may be dialled; the error is a *Blocked.
func (p Policy) Check(addr netip.Addr) error {
	shown := addr.String()
	if !addr.IsValid() {
		return &Blocked{Address: shown, Why: "not an address"}
	}
	if addr.Zone() != "" {
		return &Blocked{Address: shown, Why: "zoned address"}
	}
	addr = addr.Unmap()
	if contains(p.Allow, addr) {
		return nil
	}
	if contains(p.Deny, addr) {
		return &Blocked{Address: shown, Why: "denied by the operator"}
	}
	list := denied4
	if addr.Is6() {
		if !global6.Contains(addr) {
			return &Blocked{Address: shown, Why: "not global unicast"}
		}
		list = denied6
	}
	for _, r := range list {
		if r.prefix.Contains(addr) {
			return &Blocked{Address: shown, Why: r.why}
		}
	}
	return nil
}

func contains(list []netip.Prefix, addr netip.Addr) bool {
	for _, p := range list {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// Control is a net.Dialer's ControlContext. It runs on every socket after name resolution and before connect, so a
// name that resolves differently the second time, several A records and Happy Eyeballs are all covered.
func Control(p Policy) func(ctx context.Context, network, address string, c syscall.RawConn) error {
	return func(_ context.Context, network, address string, _ syscall.RawConn) error {
		if network != "tcp4" && network != "tcp6" {
			return &Blocked{Address: address, Why: fmt.Sprintf("network %s", network)}
		}
		target, err := netip.ParseAddrPort(address)
		if err != nil || target.Port() == 0 {
			return &Blocked{Address: address, Why: "not an address with a port"}
		}
		return p.Check(target.Addr())
	}
}
