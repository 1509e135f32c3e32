package address

import (
	"bytes"
	"encoding/hex"
	"testing"

	"pgregory.net/rapid"

	"causeway.internal/libs/money"
)

// The addresses of BIP-13, BIP-141, BIP-173 and BIP-350, and scripts that have no address.
func TestOfScript(t *testing.T) {
	for script, want := range map[string]string{
		"76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac":                   "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
		"a914748284390f9e263a4b766a75d0633c50426eb87587":                       "3CK4fEwbMP7heJarmU4eqA3sMbVJyEnU3V",
		"0014751e76e8199196d454941c45d1b3a323f1433bd6":                         "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
		"00201863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262": "bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3",
		"512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798": "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
		"6a0461626364": "", "": "", "51": "", "0013751e76e8199196d454941c45d1b3a323f1433b": "",
		"76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ad": "",
	} {
		raw, err := hex.DecodeString(script)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := OfScript(Mainnet, raw); got != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}

// Every address that OfScript writes is read back as the script that it was written of.
func TestOfScript_isReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		program := rapid.SliceOfN(rapid.Byte(), 2, 40).Draw(t, "program")
		key := append(bytes.Repeat([]byte{7}, 20), program...)[:20]
		script := rapid.SampledFrom([][]byte{
			append(append([]byte{0x76, 0xa9, 20}, key...), 0x88, 0xac), append(append([]byte{0xa9, 20}, key...), 0x87),
			append([]byte{0, 20}, key...), append([]byte{rapid.ByteRange(0x51, 0x60).Draw(t, "version"), byte(len(program))}, program...),
		}).Draw(t, "script")
		net := rapid.SampledFrom([]Net{Mainnet, Testnet, Regtest}).Draw(t, "net")
		text, ok := OfScript(net, script)
		if !ok {
			t.Fatalf("no address for %x", script)
		}
		got, err := Parse(money.Bitcoin, net, text)
		want := script
		if len(script) == 22 && script[0] == 0 { // Parse gives a deposit address as its program alone
			want = script[2:]
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %x, %v, want %x", text, got, err, want)
		}
	})
}
