package address_test

import (
	"slices"
	"strings"
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
)

// A word is refused as no address; only an address with a changed character is refused for its checksum.
func TestCheck_words(t *testing.T) {
	for _, family := range []money.Family{money.EVM, money.Tron, money.Solana, money.Bitcoin} {
		for _, word := range []string{"hello", "myAddress", "bc1hello", "Treasury", "abcdefghijkmnopqrstuvwxyzabcdefgh", "TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT"} {
			if err := address.Check(family, address.Mainnet, word); err == nil || err.Error() != "is no address of its network" {
				t.Errorf(`check the %s address %s: got %v, want "is no address of its network"`, family, word, err)
			}
		}
	}
	for family, changed := range map[money.Family]string{
		money.EVM: "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", money.Tron: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6T",
		money.Bitcoin: "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN3",
	} {
		if err := address.Check(family, address.Mainnet, changed); err == nil || err.Error() != "fails its checksum: a character was changed" {
			t.Errorf("check the changed %s address %s: got %v, want a wrong checksum", family, changed, err)
		}
	}
}

// Vectors of EIP-55, BIP-173, BIP-350 and of well-known addresses.
func TestCheck(t *testing.T) {
	good := map[money.Family][]string{
		money.EVM: {
			"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
			"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "0x52908400098527886E0F7030069857D2E4169EE7",
		},
		money.Tron:   {"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"},
		money.Solana: {"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "11111111111111111111111111111111"},
		money.Bitcoin: {
			"1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
			"BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
			"bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3",
		},
	}
	for family, addresses := range good {
		for _, a := range addresses {
			if err := address.Check(family, address.Mainnet, a); err != nil {
				t.Errorf("check the %s address %s: %v", family, a, err)
			}
			for other := range good {
				if other != family && address.Check(other, address.Mainnet, a) == nil {
					t.Errorf("%s passes as an address of %s", a, other)
				}
			}
		}
	}
	for family, addresses := range map[money.Family][]string{
		money.EVM: {
			"", "0x", "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x" + strings.Repeat("0", 40),
			"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaedff", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beazz",
		},
		money.Tron:   {"", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6T", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", strings.Repeat("1", 200)},
		money.Solana: {"", "0OIl", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"},
		money.Bitcoin: {
			"", "bc1", "bc1q", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", "bc1qW508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
			"tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd",
			"mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "bc1" + strings.Repeat("q", 100),
		},
	} {
		for _, a := range addresses {
			if address.Check(family, address.Mainnet, a) == nil {
				t.Errorf("%s takes %q", family, a)
			}
		}
	}
	if err := address.Check(money.Bitcoin, address.Any, "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"); err != nil {
		t.Errorf("test network: %v", err)
	}
}

// Each net takes its own addresses of bitcoin alone; legacy addresses of testnet and regtest look alike. A net that is
// none takes nothing.
func TestCheck_nets(t *testing.T) {
	for name, test := range map[string]struct {
		address string
		nets    []address.Net
	}{
		"segwit of mainnet": {"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", []address.Net{address.Any, address.Mainnet}},
		"segwit of testnet": {"tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", []address.Net{address.Any, address.Testnet}},
		"segwit of regtest": {"bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080", []address.Net{address.Any, address.Regtest}},
		"legacy of mainnet": {"1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", []address.Net{address.Any, address.Mainnet}},
		"legacy of others":  {"mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn", []address.Net{address.Any, address.Testnet, address.Regtest}},
	} {
		for _, net := range []address.Net{address.Any, address.Mainnet, address.Testnet, address.Regtest, ""} {
			taken := slices.Contains(test.nets, net)
			for check, f := range map[string]func(money.Family, address.Net, string) error{"check": address.Check, "check the owner of": address.CheckOwner} {
				if err := f(money.Bitcoin, net, test.address); (err == nil) != taken {
					t.Errorf("%s an address, %s, on the net %q: got %v, want it accepted: %t", check, name, net, err, taken)
				}
			}
		}
	}
	for net, want := range map[address.Net]string{address.Mainnet: "belongs to a test network", address.Testnet: "belongs to another network"} {
		if err := address.Check(money.Bitcoin, net, "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"); err == nil || err.Error() != want {
			t.Errorf("check an address of regtest on %s: got %v, want %q", net, err, want)
		}
	}
}

func TestNet_UnmarshalText(t *testing.T) {
	for text, want := range map[string]address.Net{"mainnet": address.Mainnet, "testnet": address.Testnet, "regtest": address.Regtest, "signet": "", "any": "", "Mainnet": "", "": ""} {
		var got address.Net
		if err := got.UnmarshalText([]byte(text)); got != want || (err == nil) != (want != "") {
			t.Errorf("read the net %q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "bc11", "1", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, family := range money.Families() {
			if address.Check(family, address.Mainnet, text) == nil && address.Check(family, address.Any, text) != nil {
				t.Errorf("%s takes %q in live mode only", family, text)
			}
		}
	})
}

// Every spelling that is taken has the one spelling of wallets' addresses.
func TestCanonical(t *testing.T) {
	for _, c := range []struct {
		family money.Family
		want   string
		others []string
	}{
		{money.EVM, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", []string{"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED"}},
		{money.Bitcoin, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", []string{"BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4"}},
		{money.Bitcoin, "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", nil},
		{money.Tron, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", nil},
		{money.Solana, "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB", nil},
	} {
		for _, text := range append(c.others, c.want) {
			if err := address.Check(c.family, address.Mainnet, text); err != nil {
				t.Errorf("check %s: %v", text, err)
			}
			if got := address.Canonical(c.family, text); got != c.want {
				t.Errorf("%s: %s, want %s", text, got, c.want)
			}
		}
	}
}
