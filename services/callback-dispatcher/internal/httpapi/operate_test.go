package httpapi

import "testing"

// Operators see where a delivery goes, and no secret of the merchant.
func TestWithoutSecrets(t *testing.T) {
	for address, want := range map[string]string{
		"https://acme.example/hooks":                      "https://acme.example/hooks",
		"https://acme.example:8443/a%2Fb/?token=hunter2":  "https://acme.example:8443/a%2Fb/",
		"https://acme.example/?":                          "https://acme.example/",
		"http://shop:hunter2@127.0.0.1:9/h?key=hunter2#x": "http://127.0.0.1:9/h#x",
		"http://hunter2@127.0.0.1:9":                      "http://127.0.0.1:9",
		"http://acme.example/%zz?hunter2":                 "",
	} {
		if got := withoutSecrets(address); got != want {
			t.Errorf("address %q: operators see %q, want %q", address, got, want)
		}
	}
}
