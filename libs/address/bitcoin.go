package address

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/btcsuite/btcd/address/v2/bech32"
)

// The versions of legacy addresses: pay to public key hash (P2PKH) and pay to script hash (P2SH).
const (
	keyVersion        = 0x00
	scriptVersion     = 0x05
	keyVersionTest    = 0x6f
	scriptVersionTest = 0xc4
)

// prefixes are the human-readable parts of segwit addresses.
var prefixes = map[Net]string{Mainnet: "bc", Testnet: "tb", Regtest: "bcrt"}

// segwitNet is the net of a text that looks like a segwit address.
func segwitNet(text string) (Net, bool) {
	prefix, _, found := strings.Cut(strings.ToLower(text), "1")
	for net, p := range prefixes {
		if found && p == prefix {
			return net, true
		}
	}
	return "", false
}

func parseBitcoin(text string) (key []byte, nets []Net, err error) {
	script, nets, err := parseScript(text)
	if len(script) == 2+hashLength && script[0] == 0 { // P2WPKH
		return script[2:], nets, err
	}
	return script, nets, err
}

// Script is the output script of a bitcoin address of any net.
func Script(text string) ([]byte, error) {
	script, _, err := parseScript(text)
	return script, err
}

func parseScript(text string) (script []byte, nets []Net, err error) {
	if net, ok := segwitNet(text); ok {
		script, err = parseSegwit(prefixes[net], text)
		return script, []Net{net}, err
	}
	version, hash, err := parseHash(text, keyVersion, scriptVersion, keyVersionTest, scriptVersionTest)
	if err != nil {
		return nil, nil, err
	}
	nets = []Net{Mainnet}
	if version == keyVersionTest || version == scriptVersionTest {
		nets = []Net{Testnet, Regtest}
	}
	if version == keyVersion || version == keyVersionTest {
		return slices.Concat(keyScript[0], hash, keyScript[1]), nets, nil
	}
	return slices.Concat(hashScript[0], hash, hashScript[1]), nets, nil
}

// The scripts of legacy addresses, before and after the hash.
var (
	keyScript  = [2][]byte{{0x76, 0xa9, hashLength}, {0x88, 0xac}} // OP_DUP OP_HASH160 <hash> OP_EQUALVERIFY OP_CHECKSIG
	hashScript = [2][]byte{{0xa9, hashLength}, {0x87}}             // OP_HASH160 <hash> OP_EQUAL
)

const (
	versionOne  = 0x51 // OP_1, the opcode of witness version 1; version 0 is OP_0
	mostVersion = 16
	mostProgram = 40
	taproot     = 32 // bytes of a program of version 1 that has rules (BIP-341)
)

// parseSegwit reads a segwit address (BIP-173 for witness version 0, BIP-350 for the others) and returns its script.
func parseSegwit(prefix, text string) ([]byte, error) {
	found, data, encoding, err := bech32.DecodeGeneric(text)
	var sum bech32.ErrInvalidChecksum
	switch {
	case errors.As(err, &sum):
		return nil, ErrChecksum
	case err != nil || found != prefix || len(data) == 0 || data[0] > mostVersion:
		return nil, ErrShape
	case (data[0] == 0) != (encoding == bech32.Version0):
		return nil, ErrChecksum
	}
	version := data[0]
	program, err := bech32.ConvertBits(data[1:], 5, 8, false)
	if err != nil || len(program) < 2 || len(program) > mostProgram || (version == 0 && len(program) != 20 && len(program) != 32) {
		return nil, ErrShape
	}
	if version > 0 {
		version += versionOne - 1
	}
	return append([]byte{version, byte(len(program))}, program...), nil //nolint:gosec // a program has at most 40 bytes
}

// checkVersion refuses an address of a witness version without rules, where the network lets anybody take the money.
func checkVersion(text string) error {
	script, err := Script(text)
	if err == nil && isWitness(script) && script[0] != 0 && (script[0] != versionOne || len(script) != 2+taproot) {
		err = errWitness
	}
	return err
}

// isWitness reports whether the script of an address is a witness program.
func isWitness(script []byte) bool {
	return script[0] == 0 || script[0] >= versionOne && script[0] < versionOne+mostVersion
}

// The bytes that spending an output costs, as nodes count them for dust.
const (
	spendLegacy  = 36 + 4 + 1 + 107
	spendWitness = 36 + 4 + 1 + 107/4
	dustRate     = 3 // satoshi for each byte of an output and of its spending
)

// Dust is the least satoshi of an output with the script of an address that nodes pass on.
func Dust(script []byte) int64 {
	spend := spendLegacy
	if isWitness(script) {
		spend = spendWitness
	}
	return int64(dustRate * (8 + 1 + len(script) + spend))
}

func encodeSegwit(net Net, version byte, program []byte) (string, error) {
	prefix, ok := prefixes[net]
	if !ok {
		return "", fmt.Errorf("unknown bitcoin network %q", net)
	}
	groups, err := bech32.ConvertBits(program, 8, 5, true)
	if err != nil {
		return "", fmt.Errorf("encode a witness program: %w", err)
	}
	data := append([]byte{version}, groups...)
	if version == 0 {
		return bech32.Encode(prefix, data)
	}
	return bech32.EncodeM(prefix, data)
}

func canonicalBitcoin(text string) string {
	if _, ok := segwitNet(text); ok {
		return strings.ToLower(text)
	}
	return text
}

// OfScript writes the address of a bitcoin output script; ok is false for a script that has none, as a bare multisig.
func OfScript(net Net, script []byte) (text string, ok bool) {
	key, hash := byte(keyVersion), byte(scriptVersion)
	if net != Mainnet {
		key, hash = keyVersionTest, scriptVersionTest
	}
	n := len(script)
	switch {
	case n == 25 && bytes.HasPrefix(script, keyScript[0]) && bytes.HasSuffix(script, keyScript[1]):
		return EncodeCheck(append([]byte{key}, script[3:23]...)), true
	case n == 23 && bytes.HasPrefix(script, hashScript[0]) && bytes.HasSuffix(script, hashScript[1]):
		return EncodeCheck(append([]byte{hash}, script[2:22]...)), true
	case n < 4 || n > 2+mostProgram || int(script[1]) != n-2:
		return "", false
	case script[0] == 0 && (n == 22 || n == 34):
		text, err := encodeSegwit(net, 0, script[2:])
		return text, err == nil
	case isWitness(script) && script[0] != 0:
		text, err := encodeSegwit(net, script[0]-versionOne+1, script[2:])
		return text, err == nil
	}
	return "", false
}
