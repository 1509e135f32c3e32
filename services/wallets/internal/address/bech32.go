package address

import (
	"errors"
	"fmt"
	"strings"
)

// Segregated witness addresses: BIP-173 (bech32, witness version 0) and BIP-350 (bech32m, versions 1 to 16).

const bech32Alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

const (
	bech32Sum  = 1
	bech32mSum = 0x2bc830a3
	maxSegwit  = 90
)

// hrp is the human-readable part of the net's segwit addresses.
func (n Net) hrp() string {
	switch n {
	case Testnet:
		return "tb"
	case Regtest:
		return "bcrt"
	default:
		return "bc"
	}
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

func expandHRP(hrp string) []byte {
	out := make([]byte, 0, 2*len(hrp)+1+maxSegwit)
	for i := range len(hrp) {
		out = append(out, hrp[i]>>5)
	}
	out = append(out, 0)
	for i := range len(hrp) {
		out = append(out, hrp[i]&31)
	}
	return out
}

// regroup turns groups of from bits into groups of to bits. Without pad, leftover bits must be zero and fewer than from.
func regroup(in []byte, from, to uint, pad bool) ([]byte, bool) {
	var acc uint32
	var bits uint
	out := make([]byte, 0, len(in)*int(from)/int(to)+1)
	for _, b := range in {
		acc = acc<<from | uint32(b)
		for bits += from; bits >= to; {
			bits -= to
			out = append(out, byte(acc>>bits)&(1<<to-1)) //nolint:gosec // the mask keeps five or eight bits
		}
		acc &= 1<<bits - 1
	}
	if pad {
		if bits > 0 {
			out = append(out, byte(acc<<(to-bits))&(1<<to-1)) //nolint:gosec // the mask keeps five or eight bits
		}
		return out, true
	}
	return out, bits < from && acc == 0
}

func sumFor(version byte) uint32 {
	if version == 0 {
		return bech32Sum
	}
	return bech32mSum
}

func encodeSegwit(hrp string, version byte, program []byte) (string, error) {
	groups, _ := regroup(program, 8, 5, true)
	data := append([]byte{version}, groups...)
	values := append(append(expandHRP(hrp), data...), 0, 0, 0, 0, 0, 0)
	sum := polymod(values) ^ sumFor(version)
	var b strings.Builder
	b.WriteString(hrp)
	b.WriteByte('1')
	for _, d := range data {
		b.WriteByte(bech32Alphabet[d])
	}
	for i := range 6 {
		b.WriteByte(bech32Alphabet[sum>>(5*(5-i))&31])
	}
	if b.Len() > maxSegwit {
		return "", errors.New("witness program is too long")
	}
	return b.String(), nil
}

// decodeSegwit returns the witness version and program of an address with the given human-readable part.
func decodeSegwit(hrp, text string) (version byte, program []byte, err error) {
	lower := strings.ToLower(text)
	if len(text) > maxSegwit || (text != lower && text != strings.ToUpper(text)) {
		return 0, nil, errors.New("is not bech32: mixed case or too long")
	}
	at := strings.LastIndexByte(lower, '1')
	if at < 1 || len(lower)-at-1 < 7 {
		return 0, nil, errors.New("is not bech32")
	}
	if lower[:at] != hrp {
		return 0, nil, fmt.Errorf("belongs to another network: it starts with %q, want %q", lower[:at], hrp)
	}
	data := make([]byte, 0, len(lower)-at-1)
	for i := at + 1; i < len(lower); i++ {
		v := strings.IndexByte(bech32Alphabet, lower[i])
		if v < 0 {
			return 0, nil, errors.New("is not bech32: bad character")
		}
		data = append(data, byte(v)) //nolint:gosec // a place in the alphabet of 32
	}
	version = data[0]
	if version > 16 || polymod(append(expandHRP(hrp), data...)) != sumFor(version) {
		return 0, nil, errors.New("fails its checksum: a character was changed")
	}
	program, ok := regroup(data[1:len(data)-6], 5, 8, false)
	if !ok || len(program) < 2 || len(program) > 40 || (version == 0 && len(program) != 20 && len(program) != 32) {
		return 0, nil, errors.New("has a witness program of the wrong length")
	}
	return version, program, nil
}

func parseBitcoin(net Net, text string) ([]byte, error) {
	if at := strings.LastIndexByte(text, '1'); at > 0 && isHRP(strings.ToLower(text[:at])) {
		version, program, err := decodeSegwit(net.hrp(), text)
		switch {
		case err != nil:
			return nil, err
		case version == 0 && len(program) == 20:
			return program, nil
		case version == 0:
			//nolint:gosec // a program has at most 40 bytes
			return append([]byte{0, byte(len(program))}, program...), nil
		default:
			//nolint:gosec // a program has at most 40 bytes
			return append([]byte{0x50 + version, byte(len(program))}, program...), nil
		}
	}
	return parseLegacyBitcoin(net, text)
}

func isHRP(s string) bool { return s == "bc" || s == "tb" || s == "bcrt" }
