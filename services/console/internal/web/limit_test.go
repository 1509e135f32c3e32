package web

import "testing"

// The addresses of one subscriber count as one.
func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"203.0.113.7": "203.0.113.7", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::", "2001:db8:1:2::9%eth0": "2001:db8:1:2::", "::ffff:203.0.113.7": "::ffff:203.0.113.7", "": "",
	} {
		if got := network(address); got != want {
			t.Errorf("the network of %q: got %q, want %q", address, got, want)
		}
	}
}
