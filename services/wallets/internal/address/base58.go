package address

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/mr-tron/base58"
)

const (
	tronVersion    = 0x41
	p2pkhVersion   = 0x00
	p2shVersion    = 0x05
	p2pkhTestnet   = 0x6f
	p2shTestnet    = 0xc4
	checksumLength = 4
)

func encodeBase58(b []byte) string { return base58.Encode(b) }

func checksum(b []byte) []byte {
	first := sha256.Sum256(b)
	second := sha256.Sum256(first[:])
	return second[:checksumLength]
}

func encodeBase58Check(version byte, payload []byte) string {
	b := append([]byte{version}, payload...)
	return base58.Encode(append(b, checksum(b)...))
}

// decodeBase58Check returns version and payload together, without the checksum.
func decodeBase58Check(text string) ([]byte, error) {
	b, err := base58.Decode(text)
	if err != nil {
		return nil, errors.New("is not base58")
	}
	if len(b) <= checksumLength {
		return nil, errors.New("is too short for base58check")
	}
	body, sum := b[:len(b)-checksumLength], b[len(b)-checksumLength:]
	if !bytes.Equal(checksum(body), sum) {
		return nil, errors.New("fails its checksum: a character was changed")
	}
	return body, nil
}

func parseTron(text string) ([]byte, error) {
	body, err := decodeBase58Check(text)
	if err != nil {
		return nil, err
	}
	if len(body) != 21 || body[0] != tronVersion {
		return nil, errors.New("is not a tron address")
	}
	return body[1:], nil
}

// parseSolana checks the length alone: a solana address has no checksum, and a program address is off the curve.
func parseSolana(text string) ([]byte, error) {
	b, err := base58.Decode(text)
	if err != nil || len(b) != 32 {
		return nil, errors.New("is not a solana address: 32 bytes in base58")
	}
	return b, nil
}

// parseLegacyBitcoin reads P2PKH and P2SH addresses and returns their output script.
func parseLegacyBitcoin(net Net, text string) ([]byte, error) {
	body, err := decodeBase58Check(text)
	if err != nil {
		return nil, err
	}
	pkh, sh := byte(p2pkhVersion), byte(p2shVersion)
	if net != Mainnet {
		pkh, sh = p2pkhTestnet, p2shTestnet
	}
	switch {
	case len(body) == 21 && body[0] == pkh:
		return append(append([]byte{0x76, 0xa9, 20}, body[1:]...), 0x88, 0xac), nil
	case len(body) == 21 && body[0] == sh:
		return append(append([]byte{0xa9, 20}, body[1:]...), 0x87), nil
	}
	return nil, fmt.Errorf("is not a bitcoin %s address", net)
}
