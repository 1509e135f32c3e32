package derivation

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"pgregory.net/rapid"

	"causeway.internal/libs/address"
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
	id := address.Hash160(p.pub.serial[:])
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
func account(t testing.TB, family money.Family, net address.Net, words string, purpose, coin uint32) *Account {
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
	bip84, err := NewAccount(money.Bitcoin, address.Mainnet, zpub)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		source *Account
		want   []string
	}{
		{"BIP-84 from its account zpub", bip84, []string{"bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g"}},
		{"BIP-84 from its seed", account(t, money.Bitcoin, address.Mainnet, abandon, 84, 0), []string{"bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu"}},
		{"ethereum, abandon … about", account(t, money.EVM, address.Mainnet, abandon, 44, 60), []string{"0x9858EfFD232B4033E47d90003D41EC34EcaEda94"}},
		{"ethereum, hardhat's junk", account(t, money.EVM, address.Mainnet, junk, 44, 60), []string{"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"}},
		{"tron, abandon … about", account(t, money.Tron, address.Mainnet, abandon, 44, 195), []string{"TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH"}},
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
		if _, err := NewAccount(money.EVM, address.Mainnet, key); err == nil {
			t.Errorf("%s key was accepted", name)
		}
	}
	if _, err := NewAccount(money.Solana, address.Mainnet, m.path(h+44, h+501, h).pub); err == nil {
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

// TestAccount_batchEqualsSingle guards the shared inversion: any window of a batch equals the same addresses one by
// one.
func TestAccount_batchEqualsSingle(t *testing.T) {
	a := account(t, money.EVM, address.Mainnet, junk, 44, 60)
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
		text, err := address.Encode(money.EVM, address.Mainnet, a.key(&child.point))
		if err != nil {
			r.Fatal(err)
		}
		if many[i].Address != one[0].Address || many[i].Index != from+uint32(i) || text != one[0].Address {
			r.Fatalf("index %d: %s in the batch, %s alone", from+uint32(i), many[i].Address, one[0].Address)
		}
	})
	if _, err := a.Derive(MaxIndex-1, 2); err == nil {
		t.Error("a hardened index was derived")
	}
}

func FuzzParseExtended(f *testing.F) {
	f.Add("bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu")
	f.Add("TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = ParseExtended(text) })
}

func BenchmarkDerive(b *testing.B) {
	for _, c := range []struct {
		family        money.Family
		purpose, coin uint32
	}{{money.EVM, 44, 60}, {money.Bitcoin, 84, 0}, {money.Tron, 44, 195}} {
		b.Run(string(c.family), func(b *testing.B) {
			a := account(b, c.family, address.Mainnet, abandon, c.purpose, c.coin)
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
