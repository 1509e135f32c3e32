package evmtx

import (
	"bytes"
	"math/big"
)

// transferSelector is the first four bytes of keccak256("transfer(address,uint256)").
var transferSelector = []byte{0xa9, 0x05, 0x9c, 0xbb}

// balanceSelector is that of balanceOf(address).
var balanceSelector = []byte{0x70, 0xa0, 0x82, 0x31}

// TransferCall is the call data of ERC-20's transfer.
func TransferCall(to Account, amount *big.Int) []byte {
	out := make([]byte, 4+32+32)
	copy(out, transferSelector)
	copy(out[4+12:], to[:])
	amount.FillBytes(out[4+32:])
	return out
}

// BalanceCall is the call data of ERC-20's balanceOf.
func BalanceCall(of Account) []byte {
	out := make([]byte, 4+32)
	copy(out, balanceSelector)
	copy(out[4+12:], of[:])
	return out
}

// ParseTransfer reads call data that is exactly a transfer.
func ParseTransfer(data []byte) (to Account, amount *big.Int, ok bool) {
	if len(data) != 4+32+32 || !bytes.Equal(data[:4], transferSelector) || !bytes.Equal(data[4:16], make([]byte, 12)) {
		return to, nil, false
	}
	copy(to[:], data[16:36])
	return to, new(big.Int).SetBytes(data[36:]), true
}
