// Package address checks the addresses that refunds go to, per network family: shape and checksum. It derives nothing and
// asks nobody; whether anybody holds the key is not for it to say.
package address

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/big"
	"slices"
	"strings"

	"golang.org/x/crypto/sha3"

	"causeway.internal/libs/money"
)

// What is wrong with an address, in words for the caller.
var (
	errShape    = errors.New("is no address of the payment's network")
	errChecksum = errors.New("fails its checksum: a character was changed")
	errNet      = errors.New("belongs to a test network")
)

// Check reports why an address cannot be paid on a network of the family. mainnet refuses addresses of test networks.
func Check(family money.Family, mainnet bool, text string) error {
	switch family {
	case money.EVM:
		return checkEVM(text)
	case money.Tron:
		_, err := base58Check(text, 0x41)
		return err
	case money.Solana:
		if b, ok := base58(text, base58Max); !ok || len(b) != 32 {
			return errShape
		}
		return nil
	case money.Bitcoin:
		return checkBitcoin(text, mainnet)
	}
	return errShape
}

// Canonical is the one spelling of a checked address, which is that of wallets' addresses: the checksum of EIP-55 on EVM
// networks, and small letters for bech32. Base58 has one spelling alone.
func Canonical(family money.Family, text string) string {
	switch {
	case family == money.EVM:
		return "0x" + checksummed(strings.ToLower(strings.TrimPrefix(text, "0x")))
	case family == money.Bitcoin && isBech32(text):
		return strings.ToLower(text)
	}
	return text
}

// checkEVM takes 0x and 40 hex digits; mixed case must be the checksum of EIP-55.
func checkEVM(text string) error {
	digits, ok := strings.CutPrefix(text, "0x")
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != 20 {
		return errShape
	}
	if bytes.Equal(raw, make([]byte, len(raw))) {
		return errors.New("is the zero address")
	}
	lower := strings.ToLower(digits)
	if digits != lower && digits != strings.ToUpper(digits) && digits != checksummed(lower) {
		return errChecksum
	}
	return nil
}

// checksummed writes lower-case hex digits of an address with the checksum of EIP-55.
func checksummed(lower string) string {
	h := sha3.NewLegacyKeccak256()
	_, _ = h.Write([]byte(lower)) // a hash never fails to write
	sum := hex.EncodeToString(h.Sum(nil))
	out := []byte(lower)
	for i := range out {
		if out[i] > '9' && sum[i] >= '8' {
			out[i] -= 'a' - 'A'
		}
	}
	return string(out)
}

const base58Alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// The most characters that are decoded: the longest address has 44, a signature of solana 88.
const (
	base58Max    = 64
	signatureMax = 88
)

func base58(text string, most int) ([]byte, bool) {
	if text == "" || len(text) > most {
		return nil, false
	}
	n, base := new(big.Int), big.NewInt(int64(len(base58Alphabet)))
	for i := range len(text) {
		v := strings.IndexByte(base58Alphabet, text[i])
		if v < 0 {
			return nil, false
		}
		n.Add(n.Mul(n, base), big.NewInt(int64(v)))
	}
	zeros := len(text) - len(strings.TrimLeft(text, "1"))
	return append(make([]byte, zeros), n.Bytes()...), true
}

// base58Check returns the version, one of versions, of an address that is a hash of 20 bytes. Only what looks like an
// address is told that its checksum fails.
func base58Check(text string, versions ...byte) (version byte, err error) {
	const bodyLength, sumLength = 1 + 20, 4
	b, ok := base58(text, base58Max)
	if !ok || len(b) != bodyLength+sumLength || !slices.Contains(versions, b[0]) {
		return 0, errShape
	}
	first := sha256.Sum256(b[:bodyLength])
	if second := sha256.Sum256(first[:]); !bytes.Equal(second[:sumLength], b[bodyLength:]) {
		return 0, errChecksum
	}
	return b[0], nil
}

func checkBitcoin(text string, mainnet bool) error {
	if isBech32(text) {
		hrp, _, _ := strings.Cut(strings.ToLower(text), "1")
		if hrp != "bc" && mainnet {
			return errNet
		}
		return checkSegwit(hrp, text)
	}
	const testKey, testScript = 0x6f, 0xc4
	version, err := base58Check(text, 0x00, 0x05, testKey, testScript) // the first two are mainnet's P2PKH and P2SH
	if err == nil && mainnet && (version == testKey || version == testScript) {
		err = errNet
	}
	return err
}

func isBech32(text string) bool {
	hrp, _, ok := strings.Cut(strings.ToLower(text), "1")
	return ok && (hrp == "bc" || hrp == "tb" || hrp == "bcrt")
}

// checkSegwit is BIP-173 for witness version 0 and BIP-350 for the others.
func checkSegwit(hrp, text string) error {
	const (
		alphabet   = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
		bech32     = 1
		bech32m    = 0x2bc830a3
		longest    = 90
		checkChars = 6
	)
	lower := strings.ToLower(text)
	if len(text) > longest || (text != lower && text != strings.ToUpper(text)) {
		return errShape
	}
	values := make([]byte, 0, longest+8)
	for i := range len(hrp) {
		values = append(values, hrp[i]>>5)
	}
	values = append(values, 0)
	for i := range len(hrp) {
		values = append(values, hrp[i]&31)
	}
	data := make([]byte, 0, longest)
	for _, c := range []byte(lower[len(hrp)+1:]) {
		v := strings.IndexByte(alphabet, c)
		if v < 0 {
			return errShape
		}
		data = append(data, byte(v)) //nolint:gosec // a place in the alphabet of 32
	}
	if len(data) < checkChars+2 || data[0] > 16 {
		return errShape
	}
	want := uint32(bech32m)
	if data[0] == 0 {
		want = bech32
	}
	if polymod(append(values, data...)) != want {
		return errChecksum
	}
	bits := 5 * (len(data) - 1 - checkChars)
	program := bits / 8
	padding := data[len(data)-checkChars-1] & (1<<(bits%8) - 1)
	if bits%8 > 4 || padding != 0 || program < 2 || program > 40 || (data[0] == 0 && program != 20 && program != 32) {
		return errShape
	}
	return nil
}

func polymod(values []byte) uint32 {
	generator := [5]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3}
	chk := uint32(1)
	for _, v := range values {
		top := chk >> 25
		chk = (chk&0x1ffffff)<<5 ^ uint32(v)
		for i, g := range generator {
			if top>>i&1 == 1 {
				chk ^= g
			}
		}
	}
	return chk
}
