package address

import (
	"errors"
	"math/big"
	"slices"

	"causeway.internal/libs/money"
)

var (
	errProgram = errors.New("belongs to a program: no key signs for it, so money there may be out of reach")
	errWitness = errors.New("is of a kind that bitcoin does not know yet: anybody could take money there")
)

// CheckOwner is Check for an address that money leaves for. On bitcoin it must be P2PKH, P2SH, P2WPKH, P2WSH or P2TR:
// the network does not protect outputs of later witness versions. On solana a key must sign for it: token accounts and
// the addresses of programs are off the curve, or zero.
func CheckOwner(family money.Family, net Net, text string) error {
	err := Check(family, net, text)
	switch {
	case err != nil:
		return err
	case family == money.Bitcoin:
		return checkVersion(text)
	case family != money.Solana:
		return nil
	}
	key, err := parseSolana(text)
	if err == nil && (!slices.ContainsFunc(key, func(b byte) bool { return b != 0 }) || !OnCurve(key)) {
		err = errProgram
	}
	return err
}

var (
	fieldPrime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	curveD, _  = new(big.Int).SetString("52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3", 16)
)

// OnCurve reports whether 32 bytes are a point of edwards25519: x² = (y²-1) / (dy²+1) must have a root.
func OnCurve(key []byte) bool {
	turned := slices.Clone(key)
	slices.Reverse(turned)
	turned[0] &= 0x7f // the sign of x
	y := new(big.Int).SetBytes(turned)
	square := new(big.Int).Mod(y.Mul(y, y), fieldPrime)
	above := new(big.Int).Sub(square, big.NewInt(1))
	below := new(big.Int).Mul(square, curveD)
	below.Add(below, big.NewInt(1))
	ratio := above.Mul(above, below) // has a root exactly when the quotient has one
	return big.Jacobi(ratio.Mod(ratio, fieldPrime), fieldPrime) >= 0
}
