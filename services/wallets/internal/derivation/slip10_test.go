package derivation

import (
	"encoding/hex"
	"testing"
)

// TestSLIP10_vector1 is SLIP-0010's test vector 1 for ed25519.
func TestSLIP10_vector1(t *testing.T) {
	seed, _ := hex.DecodeString("000102030405060708090a0b0c0d0e0f")
	n := edMaster(seed)
	for _, c := range []struct{ name, got, want string }{
		{"m chain", hex.EncodeToString(n.chain[:]), "90046a93de5380a72b5e45010748567d5ea02bbf6522f979e05c0d8d8ca9fffb"},
		{"m private", hex.EncodeToString(n.key[:]), "2b4be7f19ee27bbf30c667b642d5f4aa69fd169872f8fc3059c08ebae2eb19e7"},
		{"m public", hex.EncodeToString(n.public()), "a4b2856bfec510abab89753fac1ac0e1112364e7d250545963f135f2a33188ed"},
		{"m/0' chain", hex.EncodeToString(func() []byte { c := n.child(0).chain; return c[:] }()), "8b59aa11380b624e81507a27fedda59fea6d0b779a778918a2fd3590e16e9c69"},
		{"m/0' public", hex.EncodeToString(n.child(0).public()), "8c8a13df77a28f3445213a0f432fde644acaa215fc72dcdf300d5efaa85d350c"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %s, want %s", c.name, c.got, c.want)
		}
	}
}

// TestSandbox_vector is the first solana address of "abandon … about", as every solana wallet shows it.
func TestSandbox_vector(t *testing.T) {
	got, err := NewSandbox().Derive(0, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Address != "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk" {
		t.Errorf("the first address is %s", got[0].Address)
	}
	again, err := NewSandbox().Derive(2, 1)
	if err != nil || again[0].Address != got[2].Address || again[0].Index != 2 {
		t.Errorf("index 2 is %+v alone and %+v in the batch (%v)", again, got[2], err)
	}
	if _, err := NewSandbox().Derive(1<<31-1, 2); err == nil {
		t.Error("an index over the limit was derived")
	}
}
