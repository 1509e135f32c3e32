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
		"the system program":        {money.Solana, "11111111111111111111111111111111", false},
		"an associated account":     {money.Solana, "FcaAcjcy9kw63CHtTgKFtdesZ1zBXpPpSVTPqBj8ZeTf", false},
		"another associated one":    {money.Solana, "9varM2zpcBDaoCZeTA2sVizCXw3GND6Mdor6mFBiFgAH", false},
		"the mint of USDC":          {money.Solana, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", true},
		"an address of tron":        {money.Tron, "TNPeeaaFB7K9cmo4uQpcU32zGK8G1NYqeL", true},
		"the zero address of EVM":   {money.EVM, "0x0000000000000000000000000000000000000000", false},
		"an address of an EVM user": {money.EVM, "0x9858EfFD232B4033E47d90003D41EC34EcaEda94", true},
	} {
		if err := CheckOwner(c.family, true, c.address); (err == nil) != c.good {
			t.Errorf("check %s: got %v, want it accepted: %v", name, err, c.good)
		}
	}
}
