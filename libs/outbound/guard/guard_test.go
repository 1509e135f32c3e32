package guard

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"causeway.internal/libs/tenant"
)

// forbidden reads the spellings of testdata/forbidden.txt.
func forbidden(t testing.TB) []string {
	t.Helper()
	raw, err := os.ReadFile("testdata/forbidden.txt")
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for line := range strings.Lines(string(raw)) {
		if host := strings.TrimSpace(line); !strings.HasPrefix(host, "#") {
			hosts = append(hosts, host)
		}
	}
	if len(hosts) < 80 {
		t.Fatalf("only %d spellings", len(hosts))
	}
	return hosts
}

func TestForbiddenSpellings(t *testing.T) {
	parsed := 0
	for _, host := range forbidden(t) {
		for _, raw := range []string{"https://" + host + "/hook", "https://" + host + ":8443/hook"} {
			if err := CheckURL(tenant.Live, raw, Policy{}); !refused(err) {
				t.Errorf("live accepted %s: %v", raw, err)
			}
			if err := CheckURL(tenant.Test, raw, Policy{}); err != nil {
				t.Errorf("test refused %s for its address: %v", raw, err)
			}
		}
		addr, err := netip.ParseAddr(strings.Replace(strings.Trim(host, "[]"), "%25", "%", 1))
		if err != nil {
			continue
		}
		parsed++
		network := "tcp4"
		if addr.Is6() {
			network = "tcp6"
		}
		err = Control(Policy{})(t.Context(), network, netip.AddrPortFrom(addr, 443).String(), nil)
		var blocked *Blocked
		if !errors.As(err, &blocked) || blocked.Why == "" {
			t.Errorf("a socket to %s was let through: %v", addr, err)
		}
	}
	if parsed < 60 {
		t.Fatalf("only %d of them reached the socket rule", parsed)
	}
}

func refused(err error) bool {
	var r Refused
	return errors.As(err, &r) && r != ""
}

func TestControl_publicAddressesPass(t *testing.T) {
	for _, address := range []string{
		"1.1.1.1:443", "8.8.8.8:80", "9.255.255.255:443", "11.0.0.0:443", "100.63.255.255:443", "100.128.0.0:443",
		"126.255.255.255:443", "128.0.0.1:443", "169.253.255.255:443", "169.255.0.0:443", "172.15.255.255:443",
		"172.32.0.0:443", "192.0.1.1:443", "192.167.255.255:443", "192.169.0.0:443", "198.17.255.255:443", "198.20.0.0:443",
		"223.255.255.255:443", "168.63.129.15:443",
	} {
		if err := Control(Policy{})(t.Context(), "tcp4", address, nil); err != nil {
			t.Errorf("dial the public address %s: %v", address, err)
		}
	}
	for _, address := range []string{
		"[2606:4700::1]:443", "[2a00:1450::1]:443", "[2001:200::1]:443", "[2001:4860:4860::8888]:443", "[2003::1]:443",
		"[3ffe::1]:443", "[::ffff:8.8.8.8]:443",
	} {
		if err := Control(Policy{})(t.Context(), "tcp6", address, nil); err != nil {
			t.Errorf("dial the public address %s: %v", address, err)
		}
	}
}

func TestControl_refusesOtherNetworksAndNonsense(t *testing.T) {
	for _, c := range [][2]string{
		{"udp4", "8.8.8.8:53"},
		{"unix", "/run/x.sock"},
		{"tcp", "8.8.8.8:443"},
		{"tcp4", "8.8.8.8:0"},
		{"tcp4", "example.com:443"},
		{"tcp4", ""},
		{"tcp6", "[fe80::1%lo]:443"},
	} {
		var blocked *Blocked
		if err := Control(Policy{Allow: prefixes("0.0.0.0/0", "::/0")})(t.Context(), c[0], c[1], nil); !errors.As(err, &blocked) {
			t.Errorf("dial %s %s: got %v, want it blocked", c[0], c[1], err)
		}
	}
}

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(list))
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func TestPolicy_allowAndDeny(t *testing.T) {
	loopback := Policy{Allow: prefixes("127.0.0.0/8", "::1/128")}
	for _, s := range []string{"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"} {
		if err := loopback.Check(netip.MustParseAddr(s)); err != nil {
			t.Errorf("check the allowed address %s: %v", s, err)
		}
	}
	for _, s := range []string{"10.0.0.1", "169.254.169.254", "::2", "fd00::1"} {
		if err := loopback.Check(netip.MustParseAddr(s)); err == nil {
			t.Errorf("%s passed the loopback list", s)
		}
	}
	site := Policy{Allow: prefixes("8.8.8.8/32"), Deny: prefixes("8.8.0.0/16", "2606:4700::/32")}
	for s, ok := range map[string]bool{"8.8.8.8": true, "8.8.4.4": false, "1.1.1.1": true, "2606:4700::1": false} {
		if err := site.Check(netip.MustParseAddr(s)); (err == nil) != ok {
			t.Errorf("check %s: got %v", s, err)
		}
	}
	if err := (Policy{}).Check(netip.Addr{}); err == nil {
		t.Error("the zero address passed")
	}
}

func TestCheckURL_live(t *testing.T) {
	lab := Policy{Allow: prefixes("127.0.0.0/8", "10.1.0.0/16")}
	long := "https://example.com/" + strings.Repeat("a", MaxURL-20)
	for _, c := range []struct {
		raw  string
		p    Policy
		want string // "" = accepted
	}{
		{"https://example.com/hook", Policy{}, ""},
		{"https://example.com:8443/hook?a=b#c", Policy{}, ""},
		{"HTTPS://EXAMPLE.COM/", Policy{}, ""},
		{"https://example.com.", Policy{}, ""},
		{"https://bücher.example/x", Policy{}, ""},
		{"https://xn--bcher-kva.example/x", Policy{}, ""},
		{"https://r3---sn-abc.example.com/", Policy{}, ""},
		{"https://my_app.example.com/", Policy{}, ""},
		{"https://1.example.com/", Policy{}, ""},
		{"https://0x7f.example/", Policy{}, ""},
		{"https://127.0.0.1.nip.io/", Policy{}, ""}, // a name; the socket decides
		{long, Policy{}, ""},
		{long + "a", Policy{}, "2048"},
		{"http://example.com/", Policy{}, "https"},
		{"ftp://example.com/", Policy{}, "http or https"},
		{"javascript:alert(1)", Policy{}, "complete"},
		{"https:example.com", Policy{}, "complete"},
		{"//example.com/", Policy{}, "http or https"},
		{"example.com", Policy{}, "complete"},
		{"", Policy{}, "complete"},
		{"https://", Policy{}, "complete"},
		{"https:///path", Policy{}, "complete"},
		{"https://user@example.com/", Policy{}, "user name"},
		{"https://user:pw@example.com/", Policy{}, "user name"},
		{"https://example.com\\@127.0.0.1/", Policy{}, "complete"},
		{"https://example.com:0/", Policy{}, "port"},
		{"https://example.com:65536/", Policy{}, "port"},
		{"https://example.com:99999999999999999999/", Policy{}, "port"},
		{"https://example.com:http/", Policy{}, "complete"},
		{"https://exa mple.com/", Policy{}, "spaces"},
		{"https://example.com/\r\nX: y", Policy{}, "spaces"},
		{"https://example.com/\x00", Policy{}, "spaces"},
		{"https://%31%32%37.0.0.1/", Policy{}, "complete"},
		{"https://.example.com/", Policy{}, "valid host"},
		{"https://a..b/", Policy{}, "valid host"},
		{"https://exam!ple.com/", Policy{}, "valid host"},
		{"https://" + strings.Repeat("a", 64) + ".com/", Policy{}, "valid host"},
		{"https://" + strings.Repeat("a.", 130) + "com/", Policy{}, "valid host"},
		{"http://127.0.0.1:9000/hook", lab, ""},
		{"https://127.0.0.1:9000/hook", lab, ""},
		{"http://localhost:9000/hook", lab, ""},
		{"http://10.1.2.3/", lab, ""},
		{"http://10.2.2.3/", lab, "https"},
		{"https://10.2.2.3/", lab, "IP address"},
		{"http://[::ffff:127.0.0.1]/", lab, ""},
		{"https://2130706433/", lab, "IP address"},
		{"https://0x7f.1/", lab, "IP address"},
		{"http://u:p@127.0.0.1/", lab, "user name"},
		{"http://example.com/", lab, "https"},
		{"http://localhost/", Policy{}, "https"},
	} {
		err := CheckURL(tenant.Live, c.raw, c.p)
		if c.want == "" && err != nil {
			t.Errorf("check the URL %q: %v", c.raw, err)
		}
		if c.want != "" && (!refused(err) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: got %v, want something about %s", c.raw, err, c.want)
		}
	}
}

func TestCheckURL_testModeTakesAnyHTTPURL(t *testing.T) {
	for _, raw := range []string{
		"http://localhost:3000/hook", "http://127.0.0.1:1/", "http://10.0.0.1/", "https://169.254.169.254/latest", "http://my_host:8080/",
		"http://user:pw@example.com/", "http://[::1]:65535/", "http://[fe80::1%25eth0]:80/", "http://host.docker.internal:9/", "http://exam!ple/",
	} {
		if err := CheckURL(tenant.Test, raw, Policy{}); err != nil {
			t.Errorf("check the URL %s of test mode: %v", raw, err)
		}
	}
	for _, raw := range []string{"", "ftp://x/", "x", "http://", "http://x:70000/", "http://x y/", "mailto:a@b.c", "http://" + strings.Repeat("a", MaxURL)} {
		if err := CheckURL(tenant.Test, raw, Policy{}); !refused(err) {
			t.Errorf("check the URL %q of test mode: got %v, want a refusal", raw, err)
		}
	}
}

func TestNormalize(t *testing.T) {
	for raw, want := range map[string]string{
		"HTTPS://Example.COM.:443/A?b=C#frag": "https://example.com/A?b=C",
		"http://EXAMPLE.com:80":               "http://example.com",
		"http://example.com:0080/":            "http://example.com/",
		"https://bücher.example":              "https://xn--bcher-kva.example",
		"https://Bücher。example/":             "https://xn--bcher-kva.example/",
		"http://[::1]:80/":                    "http://[::1]/",
		"http://[::1]:8080/":                  "http://[::1]:8080/",
		"https://example.com:8443/a%2Fb":      "https://example.com:8443/a%2Fb",
	} {
		u, err := Normalize(tenant.Test, raw, Policy{})
		if err != nil || u.String() != want {
			t.Errorf("%s: got %v, %v; want %s", raw, u, err, want)
		}
	}
}

// FuzzNormalize holds two promises: what live mode lets through under an empty policy is an https URL whose host no
// reader takes for an address, and normalising is stable.
func FuzzNormalize(f *testing.F) {
	for _, host := range forbidden(f) {
		f.Add("https://" + host + "/")
	}
	f.Add("https://bücher.example:8443/a?b#c")
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := Normalize(tenant.Live, raw, Policy{})
		if err != nil {
			if !refused(err) {
				t.Fatalf("%q: an error that is no refusal: %v", raw, err)
			}
			return
		}
		if u.Scheme != "https" || u.User != nil {
			t.Fatalf("%q became %v", raw, u)
		}
		if _, err := netip.ParseAddr(u.Hostname()); err == nil || net.ParseIP(u.Hostname()) != nil {
			t.Fatalf("%q became the literal %v", raw, u)
		}
		again, err := Normalize(tenant.Live, u.String(), Policy{})
		if err == nil && again.String() != u.String() {
			t.Fatalf("%q: %v then %v", raw, u, again)
		}
	})
}
