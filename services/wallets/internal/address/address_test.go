package address

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"pgregory.net/rapid"

	"causeway.internal/libs/money"
	"causeway.internal/libs/testkit/cpu"
)

// private is BIP-32's private derivation. It lives in the tests only, to reach the published vectors from their seeds.
type private struct {
	key   secp256k1.ModNScalar
	chain [32]byte
	pub   Extended
}

func privateMaster(seed []byte) private {
	mac := hmac.New(sha512.New, []byte("Bitcoin seed"))
	mac.Write(seed)
	return privateOf(mac.Sum(nil), Extended{})
}

func privateOf(sum []byte, meta Extended) private {
	var p private
	p.key.SetByteSlice(sum[:32])
	copy(p.chain[:], sum[32:])
	p.pub = meta
	p.pub.chain = p.chain
	secp256k1.ScalarBaseMultNonConst(&p.key, &p.pub.point)
	p.pub.point.ToAffine()
	compress(&p.pub.point, &p.pub.serial)
	return p
}

func (p private) child(index uint32) private {
	var data []byte
	if index >= hardened {
		key := p.key.Bytes()
		data = append([]byte{0}, key[:]...)
	} else {
		data = p.pub.serial[:]
	}
	mac := hmac.New(sha512.New, p.chain[:])
	mac.Write(binary.BigEndian.AppendUint32(append([]byte(nil), data...), index))
	sum := mac.Sum(nil)
	var key secp256k1.ModNScalar
	key.SetByteSlice(sum[:32])
	key.Add(&p.key)
	b := key.Bytes()
	meta := Extended{depth: p.pub.depth + 1, child: index}
	id := hash160(p.pub.serial[:])
	copy(meta.parent[:], id[:])
	return privateOf(append(b[:], sum[32:]...), meta)
}

func (p private) path(steps ...uint32) private {
	for _, s := range steps {
		p = p.child(s)
	}
	return p
}

const h = hardened

func mnemonicSeed(t testing.TB, words string) []byte {
	t.Helper()
	seed, err := pbkdf2.Key(sha512.New, words, []byte("mnemonic"), 2048, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

const (
	abandon = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"
	junk    = "test test test test test test test test test test test junk"
)

func fromHex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestExtended_bip32 checks the public chains of BIP-32's test vectors 1 and 2: every xpub parses, prints the same, and
// derives the next one where the step is public. Vector 3 guards the leading zeros that old libraries dropped.
func TestExtended_bip32(t *testing.T) {
	steps := []struct {
		name, parent string
		child        uint32
		want         string
	}{
		{"1: m/0' to 1", "xpub68Gmy5EdvgibQVfPdqkBBCHxA5htiqg55crXYuXoQRKfDBFA1WEjWgP6LHhwBZeNK1VTsfTFUHCdrfp1bgwQ9xv5ski8PX9rL2dZXvgGDnw", 1, "xpub6ASuArnXKPbfEwhqN6e3mwBcDTgzisQN1wXN9BJcM47sSikHjJf3UFHKkNAWbWMiGj7Wf5uMash7SyYq527Hqck2AxYysAA7xmALppuCkwQ"},
		{"1: m/0'/1/2' to 2", "xpub6D4BDPcP2GT577Vvch3R8wDkScZWzQzMMUm3PWbmWvVJrZwQY4VUNgqFJPMM3No2dFDFGTsxxpG5uJh7n7epu4trkrX7x7DogT5Uv6fcLW5", 2, "xpub6FHa3pjLCk84BayeJxFW2SP4XRrFd1JYnxeLeU8EqN3vDfZmbqBqaGJAyiLjTAwm6ZLRQUMv1ZACTj37sR62cfN7fe5JnJ7dh8zL4fiyLHV"},
		{"1: to 1000000000", "xpub6FHa3pjLCk84BayeJxFW2SP4XRrFd1JYnxeLeU8EqN3vDfZmbqBqaGJAyiLjTAwm6ZLRQUMv1ZACTj37sR62cfN7fe5JnJ7dh8zL4fiyLHV", 1000000000, "xpub6H1LXWLaKsWFhvm6RVpEL9P4KfRZSW7abD2ttkWP3SSQvnyA8FSVqNTEcYFgJS2UaFcxupHiYkro49S8yGasTvXEYBVPamhGW6cFJodrTHy"},
		{"2: m to 0", "xpub661MyMwAqRbcFW31YEwpkMuc5THy2PSt5bDMsktWQcFF8syAmRUapSCGu8ED9W6oDMSgv6Zz8idoc4a6mr8BDzTJY47LJhkJ8UB7WEGuduB", 0, "xpub69H7F5d8KSRgmmdJg2KhpAK8SR3DjMwAdkxj3ZuxV27CprR9LgpeyGmXUbC6wb7ERfvrnKZjXoUmmDznezpbZb7ap6r1D3tgFxHmwMkQTPH"},
	}
	for _, c := range steps {
		t.Run(c.name, func(t *testing.T) {
			parent, err := ParseExtended(c.parent)
			if err != nil {
				t.Fatal(err)
			}
			if parent.String() != c.parent {
				t.Errorf("prints as %s", parent)
			}
			child, err := parent.Child(c.child)
			if err != nil {
				t.Fatal(err)
			}
			if child.String() != c.want {
				t.Errorf("child is %s, want %s", child, c.want)
			}
		})
	}
	t.Run("1 from its seed", func(t *testing.T) {
		m := privateMaster(fromHex(t, "000102030405060708090a0b0c0d0e0f"))
		if got := m.path(h, 1, h+2).pub.String(); got != steps[1].parent {
			t.Errorf("m/0'/1/2' is %s", got)
		}
	})
	t.Run("3: leading zeros", func(t *testing.T) {
		m := privateMaster(fromHex(t, "4b381541583be4423346c643850da4b320e46a87ae3d2a4e6da11eba819cd4acba45d239319ac14f863b8d5ab5a0d0c64d2e8a1e7d1457df2e5a3c51c73235be"))
		if got, want := m.pub.String(), "xpub661MyMwAqRbcEZVB4dScxMAdx6d4nFc9nvyvH3v4gJL378CSRZiYmhRoP7mBy6gSPSCYk6SzXPTf3ND1cZAceL7SfJ1Z3GC8vBgp2epUt13"; got != want {
			t.Errorf("m is %s, want %s", got, want)
		}
		if got, want := m.path(h).pub.String(), "xpub68NZiKmJWnxxS6aaHmn81bvJeTESw724CRDs6HbuccFQN9Ku14VQrADWgqbhhTHBaohPX4CjNLf9fq9MYo6oDaPPLPxSb7gwQN3ih19Zm4Y"; got != want {
			t.Errorf("m/0' is %s, want %s", got, want)
		}
	})
}

// account opens the account key of a mnemonic as the service is given it: as text.
func account(t testing.TB, family money.Family, net Net, words string, purpose, coin uint32) *Account {
	t.Helper()
	text := privateMaster(mnemonicSeed(t, words)).path(h+purpose, h+coin, h).pub.String()
	key, err := ParseExtended(text)
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewAccount(family, net, key)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAccount_vectors(t *testing.T) {
	zpub, err := ParseExtended("zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs")
	if err != nil {
		t.Fatal(err)
	}
	bip84, err := NewAccount(money.Bitcoin, Mainnet, zpub)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		source *Account
		want   []string
	}{
		{"BIP-84 from its account zpub", bip84, []string{"bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g"}},
		{"BIP-84 from its seed", account(t, money.Bitcoin, Mainnet, abandon, 84, 0), []string{"bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu"}},
		{"ethereum, abandon … about", account(t, money.EVM, Mainnet, abandon, 44, 60), []string{"0x9858EfFD232B4033E47d90003D41EC34EcaEda94"}},
		{"ethereum, hardhat's junk", account(t, money.EVM, Mainnet, junk, 44, 60), []string{"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"}},
		{"tron, abandon … about", account(t, money.Tron, Mainnet, abandon, 44, 195), []string{"TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.source.Derive(0, len(c.want))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				if got[i].Address != want {
					t.Errorf("address %d is %s, want %s", i, got[i].Address, want)
				}
			}
		})
	}
	if zpub.Depth() != 3 || !zpub.Same(privateMaster(mnemonicSeed(t, abandon)).path(h+84, h, h).pub) {
		t.Error("the zpub and the key of its mnemonic are not the same")
	}
}

func TestAccount_refusesOtherKeys(t *testing.T) {
	m := privateMaster(mnemonicSeed(t, junk))
	for name, key := range map[string]Extended{"master": m.pub, "branch": m.path(h+44, h+60, h, 0).pub, "plain third level": m.path(h+44, h+60, 0).pub} {
		if _, err := NewAccount(money.EVM, Mainnet, key); err == nil {
			t.Errorf("%s key was accepted", name)
		}
	}
	if _, err := NewAccount(money.Solana, Mainnet, m.path(h+44, h+501, h).pub); err == nil {
		t.Error("solana was accepted")
	}
}

func TestParseExtended_refuses(t *testing.T) {
	good := "xpub68Gmy5EdvgibQVfPdqkBBCHxA5htiqg55crXYuXoQRKfDBFA1WEjWgP6LHhwBZeNK1VTsfTFUHCdrfp1bgwQ9xv5ski8PX9rL2dZXvgGDnw"
	for name, text := range map[string]string{
		"empty": "", "typo": good[:20] + "x" + good[21:], "cut": good[:80], "address": "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH", "not base58": "xpub0OIl",
	} {
		if _, err := ParseExtended(text); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	_, err := ParseExtended("xprv9uHRZZhk6KAJC1avXpDAp4MDc3sQKNxDiPvvkX8Br5ngLNv1TxvUxt4cV1rGL5hj6KCesnDYUhd7oWgT11eZG7XnxHrnYeSvkzY7d2bhkJ7")
	if !errors.Is(err, ErrPrivate) {
		t.Errorf("a private key gives %v", err)
	}
}

// TestAccount_batchEqualsSingle guards the shared inversion: any window of a batch equals the same addresses one by one.
func TestAccount_batchEqualsSingle(t *testing.T) {
	a := account(t, money.EVM, Mainnet, junk, 44, 60)
	rapid.Check(t, func(r *rapid.T) {
		from := rapid.Uint32Range(0, MaxIndex-64).Draw(r, "from")
		n := rapid.IntRange(1, 40).Draw(r, "n")
		many, err := a.Derive(from, n)
		if err != nil {
			r.Fatal(err)
		}
		i := rapid.IntRange(0, n-1).Draw(r, "i")
		one, err := a.Derive(from+uint32(i), 1)
		if err != nil {
			r.Fatal(err)
		}
		child, err := a.branch.Child(from + uint32(i))
		if err != nil {
			r.Fatal(err)
		}
		if many[i].Address != one[0].Address || many[i].Index != from+uint32(i) || encodeEVM(a.key(&child.point)) != one[0].Address {
			r.Fatalf("index %d: %s in the batch, %s alone", from+uint32(i), many[i].Address, one[0].Address)
		}
	})
	if _, err := a.Derive(MaxIndex-1, 2); err == nil {
		t.Error("a hardened index was derived")
	}
}

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
		"regtest":                      {money.Bitcoin, Regtest, mustSegwit("bcrt", make([]byte, 20)), true},
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
				t.Errorf("%q: %v", c.text, err)
			}
		})
	}
}

func mustSegwit(hrp string, program []byte) string {
	s, err := encodeSegwit(hrp, 0, program)
	if err != nil {
		panic(err)
	}
	return s
}

// TestEncode_roundTrip says that what we store is what we read back, and that a changed character never passes where
// the family has a checksum.
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
		if again, err := Canonical(family, net, text); err != nil || again != text {
			r.Fatalf("%s is canonically %s: %v", text, again, err)
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
		_, _ = ParseExtended(text)
	})
}

func BenchmarkDerive(b *testing.B) {
	for _, c := range []struct {
		family        money.Family
		purpose, coin uint32
	}{{money.EVM, 44, 60}, {money.Bitcoin, 84, 0}, {money.Tron, 44, 195}} {
		b.Run(string(c.family), func(b *testing.B) {
			a := account(b, c.family, Mainnet, abandon, c.purpose, c.coin)
			began := cpu.Spent()
			for done := 0; done < b.N; done += batch {
				if _, err := a.Derive(uint32(done), min(batch, b.N-done)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "addresses/s")
			cpu.Report(b, began)
		})
	}
}

// TestParse_listedTokens checks the checksum of every token contract that we count.
func TestParse_listedTokens(t *testing.T) {
	for _, n := range money.Networks() {
		for symbol, contract := range n.Contracts() {
			if canonical, err := Canonical(n.Family, Mainnet, contract); err != nil || canonical != contract {
				t.Errorf("%s on %s: %s is canonically %s: %v", symbol, n.Name, contract, canonical, err)
			}
		}
	}
}
