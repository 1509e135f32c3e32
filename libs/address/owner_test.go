package address

import (
	"testing"

	"causeway.internal/libs/money"
)

func TestCheckOwner(t *testing.T) {
	for name, c := range map[string]struct {
		family  money.Family
		address string
		good    bool
	}{
		"P2PKH":                     {money.Bitcoin, "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", true},
		"P2SH":                      {money.Bitcoin, "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", true},
		"P2WPKH":                    {money.Bitcoin, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", true},
		"P2WSH":                     {money.Bitcoin, "bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3", true},
		"P2TR":                      {money.Bitcoin, "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0", true},
		"witness version 2":         {money.Bitcoin, "bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs", false},
		"witness version 1, short":  {money.Bitcoin, "bc1pfeessrawgf", false},
		"the system program":        {money.Solana, "11111111111111111111111111111111", false},
		"an associated account":     {money.Solana, "FcaAcjcy9kw63CHtTgKFtdesZ1zBXpPpSVTPqBj8ZeTf", false},
		"another associated one":    {money.Solana, "9varM2zpcBDaoCZeTA2sVizCXw3GND6Mdor6mFBiFgAH", false},
		"the mint of USDC":          {money.Solana, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", true},
		"an address of tron":        {money.Tron, "TNPeeaaFB7K9cmo4uQpcU32zGK8G1NYqeL", true},
		"the zero address of EVM":   {money.EVM, "0x0000000000000000000000000000000000000000", false},
		"an address of an EVM user": {money.EVM, "0x9858EfFD232B4033E47d90003D41EC34EcaEda94", true},
	} {
		if err := CheckOwner(c.family, Mainnet, c.address); (err == nil) != c.good {
			t.Errorf("check %s: got %v, want it accepted: %v", name, err, c.good)
		}
	}
}

// Bitcoin Core's own figures.
func TestDust(t *testing.T) {
	for to, want := range map[string]int64{
		"1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2":                             546,
		"3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy":                             540,
		"BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4":                     294,
		"bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3": 330,
		"bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0": 330,
	} {
		script, err := Script(to)
		if err != nil || Dust(script) != want {
			t.Errorf("read the dust of %s: got %d, %v, want %d", to, Dust(script), err, want)
		}
	}
}
