package address

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"causeway.internal/libs/money"
)

func TestParse(t *testing.T) {
	type c struct {
		family money.Family
		net    Net
		text   string
		ok     bool
	}
	cases := map[string]c{
		"EIP-55 1":                     {money.EVM, Mainnet, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", true},
		"EIP-55 2":                     {money.EVM, Mainnet, "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", true},
		"EIP-55 3":                     {money.EVM, Mainnet, "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", true},
		"EIP-55 4":                     {money.EVM, Mainnet, "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb", true},
		"EIP-55 all upper":             {money.EVM, Mainnet, "0x52908400098527886E0F7030069857D2E4169EE7", true},
		"EIP-55 all lower":             {money.EVM, Mainnet, "0xde709f2102306220921060314715629080e2fb77", true},
		"EIP-55 one case changed":      {money.EVM, Mainnet, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD", false},
		"EVM too short":                {money.EVM, Mainnet, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeA", false},
		"EVM without 0x":               {money.EVM, Mainnet, "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", false},
		"EVM not hex":                  {money.EVM, Mainnet, "0xzzAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", false},
		"tron USDT":                    {money.Tron, Mainnet, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", true},
		"tron one letter changed":      {money.Tron, Mainnet, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u", false},
		"tron hex form":                {money.Tron, Mainnet, "41a614f803b6fd780986a42c78ec9c7f77e6ded13c", false},
		"tron given bitcoin":           {money.Tron, Mainnet, "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", false},
		"solana USDC mint":             {money.Solana, Mainnet, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", true},
		"solana short":                 {money.Solana, Mainnet, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt", false},
		"solana with 0":                {money.Solana, Mainnet, "0PjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", false},
		"P2PKH":                        {money.Bitcoin, Mainnet, "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", true},
		"P2SH":                         {money.Bitcoin, Mainnet, "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", true},
		"P2PKH on testnet":             {money.Bitcoin, Testnet, "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", false},
		"BIP-173 P2WPKH upper case":    {money.Bitcoin, Mainnet, "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4", true},
		"BIP-173 P2WSH testnet":        {money.Bitcoin, Testnet, "tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7", true},
		"BIP-173 other network":        {money.Bitcoin, Mainnet, "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", false},
		"BIP-350 taproot":              {money.Bitcoin, Mainnet, "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0", true},
		"BIP-350 version 1, long":      {money.Bitcoin, Mainnet, "bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y", true},
		"BIP-350 taproot with bech32":  {money.Bitcoin, Mainnet, "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd", false},
		"BIP-350 v0 with bech32m":      {money.Bitcoin, Mainnet, "BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL", false},
		"BIP-350 bad character":        {money.Bitcoin, Mainnet, "bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4", false},
		"BIP-350 mixed case":           {money.Bitcoin, Testnet, "tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq47Zagq", false},
		"BIP-350 program of one byte":  {money.Bitcoin, Mainnet, "bc1pw5dgrnzv", false},
		"BIP-350 zero padding over 4":  {money.Bitcoin, Mainnet, "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf", false},
		"BIP-173 v0 of 16 bytes":       {money.Bitcoin, Mainnet, "BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P", false},
		"regtest":                      {money.Bitcoin, Regtest, mustSegwit(Regtest, make([]byte, 20)), true},
		"empty":                        {money.Bitcoin, Mainnet, "", false},
		"long":                         {money.EVM, Mainnet, strings.Repeat("a", 200), false},
		"another script's digits":      {money.EVM, Mainnet, "0x٥aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", false},
		"leading blank":                {money.Tron, Mainnet, " TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", false},
		"bech32 without data":          {money.Bitcoin, Mainnet, "bc1", false},
		"bech32 of another human part": {money.Bitcoin, Mainnet, "ltc1qjmxnz78nmc8nq77wuxh25n2es7rzm5c2rkk4wh", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(c.family, c.net, c.text); (err == nil) != c.ok {
				t.Errorf("parse %q: got %v", c.text, err)
			}
		})
	}
}

func mustSegwit(net Net, program []byte) string {
	s, err := encodeSegwit(net, 0, program)
	if err != nil {
		panic(err)
	}
	return s
}

// TestEncode_roundTrip says that what we store is what we read back, and that a changed character never passes where
// the family has a checksum.
// Nobody owns the address of zeros, although it has the right form.
func TestCheck_zero(t *testing.T) {
	for family, text := range map[money.Family]string{
		money.EVM: "0x0000000000000000000000000000000000000000", money.Tron: "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb",
	} {
		if err := Check(family, Mainnet, text); !errors.Is(err, errZero) {
			t.Errorf("check %s: got %v, want %v", text, err, errZero)
		}
	}
}

func TestEncode_roundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		family := rapid.SampledFrom(money.Families()).Draw(r, "family")
		net := rapid.SampledFrom([]Net{Mainnet, Testnet, Regtest}).Draw(r, "net")
		n := 20
		if family == money.Solana {
			n = 32
		}
		key := rapid.SliceOfN(rapid.Byte(), n, n).Draw(r, "key")
		text, err := Encode(family, net, key)
		if err != nil {
			r.Fatal(err)
		}
		back, err := Parse(family, net, text)
		if err != nil || string(back) != string(key) {
			r.Fatalf("%s reads back as %x: %v", text, back, err)
		}
		if again := Canonical(family, text); again != text {
			r.Fatalf("%s is canonically %s", text, again)
		}
		if family == money.Tron || family == money.Bitcoin {
			i := rapid.IntRange(4, len(text)-1).Draw(r, "at")
			with := rapid.SampledFrom([]byte("qpzry9x8gf2tvdw")).Draw(r, "with")
			if changed := text[:i] + string(with) + text[i+1:]; changed != text {
				if _, err := Parse(family, net, changed); err == nil {
					r.Fatalf("%s passes, changed from %s", changed, text)
				}
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu")
	f.Add("TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH")
	f.Add("0x9858EfFD232B4033E47d90003D41EC34EcaEda94")
	f.Fuzz(func(t *testing.T, text string) {
		for _, family := range money.Families() {
			for _, net := range []Net{Mainnet, Testnet} {
				if _, err := Parse(family, net, text); err == nil && len(text) > 128 {
					t.Error("a long text passed")
				}
			}
		}
	})
}

// TestParse_listedTokens checks the checksum of every token contract that we count.
func TestParse_listedTokens(t *testing.T) {
	for _, n := range money.Networks() {
		for symbol, contract := range n.Contracts() {
			_, err := Parse(n.Family, Mainnet, contract)
			if canonical := Canonical(n.Family, contract); err != nil || canonical != contract {
				t.Errorf("%s on %s: %s is canonically %s: %v", symbol, n.Name, contract, canonical, err)
			}
		}
	}
}
