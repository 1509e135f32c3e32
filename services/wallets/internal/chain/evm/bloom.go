package evm

import "causeway.internal/libs/address"

// bloomBits are the three bits that a value sets in a block's log filter (Ethereum yellow paper, §4.3.1).
func bloomBits(value []byte) (bits [3]uint) {
	sum := address.Keccak256(value)
	for i := range bits {
		bits[i] = (uint(sum[2*i])<<8 | uint(sum[2*i+1])) & 2047
	}
	return bits
}

func (b *bloom) has(bits [3]uint) bool {
	for _, bit := range bits {
		if b[len(b)-1-int(bit/8)]>>(bit%8)&1 == 0 {
			return false
		}
	}
	return true
}

var transferBits = bloomBits(transferTopic[:])

// promises reports whether a listed token may have logged a Transfer in the block, by its filter.
func (d *Driver) promises(b *block) bool {
	if !b.bloom.has(transferBits) {
		return false
	}
	for _, t := range d.tokens {
		if b.bloom.has(t.bits) {
			return true
		}
	}
	return false
}
