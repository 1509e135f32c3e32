package soltx

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
)

// Account is an address as the chain knows it: a public key, or an address that a program owns.
type Account [32]byte

// String writes the address in base58.
func (a Account) String() string {
	text, err := address.Encode(money.Solana, address.Mainnet, a[:])
	if err != nil {
		panic("soltx: thirty-two bytes are no address: " + err.Error())
	}
	return text
}

// ParseAccount reads an address. A block hash and a durable nonce are written the same way.
func ParseAccount(text string) (a Account, err error) {
	key, err := address.Parse(money.Solana, address.Mainnet, text)
	if err != nil {
		return a, fmt.Errorf("the address %w", err)
	}
	copy(a[:], key)
	return a, nil
}

// ParseOwner reads the address of an owner that a key can sign for. Addresses off the curve belong to programs, and the
// address of zeros is the system program: money there may be out of reach.
func ParseOwner(text string) (a Account, err error) {
	if a, err = ParseAccount(text); err == nil && (a == systemProgram || !a.onCurve()) {
		err = fmt.Errorf("the address %s belongs to a program, and no key signs for it", text)
	}
	return a, err
}

func mustAccount(text string) Account {
	a, err := ParseAccount(text)
	if err != nil {
		panic("soltx: " + text + " is no address")
	}
	return a
}

// The programs that a sweep calls, and the account that the system program demands when it advances a nonce.
var (
	systemProgram    = Account{}
	tokenProgram     = mustAccount("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
	holderProgram    = mustAccount("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
	budgetProgram    = mustAccount("ComputeBudget111111111111111111111111111111")
	recentHashes     = mustAccount("SysvarRecentB1ockHashes11111111111111111111")
	programs         = [...]Account{systemProgram, tokenProgram, holderProgram, budgetProgram, recentHashes}
	errNoTokenHolder = errors.New("the owner has no token account for this mint")
)

// TokenAccount is the associated token account of an owner: the first address off the curve that its seeds give. So no
// key signs for it, and everybody computes the same one.
func TokenAccount(owner, mint Account) (Account, error) {
	for bump := 255; bump >= 0; bump-- {
		h := sha256.New()
		for _, seed := range [][]byte{owner[:], tokenProgram[:], mint[:], {byte(bump)}, holderProgram[:], []byte("ProgramDerivedAddress")} {
			_, _ = h.Write(seed) // a hash takes every byte
		}
		if a := Account(h.Sum(nil)); !a.onCurve() {
			return a, nil
		}
	}
	return Account{}, errNoTokenHolder
}

func (a Account) onCurve() bool { return address.OnCurve(a[:]) }

// The layouts of accounts (solana-program nonce::state::Versions, SPL Token state::Account).
const (
	nonceLength, nonceReady, nonceOwner, nonceValue         = 80, 4, 8, 40
	tokenLength, tokenOwner, tokenAmount, tokenStateAt      = 165, 32, 64, 108
	tokenReady, tokenFrozen                            byte = 1, 2
	// Bare is the smallest balance that an address without data may keep, unless it keeps nothing.
	Bare = 890_880
)

var (
	errNoNonce = errors.New("is not a nonce account of the station")
	errNoToken = errors.New("is not a token account of this owner and mint")
)

// ReadNonce reads the value of a nonce account that only the station may advance.
func ReadNonce(program string, data []byte, station Account) (value Account, err error) {
	if program != systemProgram.String() || len(data) != nonceLength || binary.LittleEndian.Uint32(data) != 1 ||
		binary.LittleEndian.Uint32(data[nonceReady:]) != 1 || Account(data[nonceOwner:nonceValue]) != station {
		return value, errNoNonce
	}
	return Account(data[nonceValue : nonceValue+len(value)]), nil
}

// Plain reports whether an account holds coins alone: the system program owns it, and it has no data.
func Plain(program string, data []byte) bool {
	return program == systemProgram.String() && len(data) == 0
}

// ReadToken reads the balance of a token account.
func ReadToken(program string, data []byte, owner, mint Account) (amount uint64, err error) {
	if program != tokenProgram.String() || len(data) != tokenLength || Account(data[:tokenOwner]) != mint ||
		Account(data[tokenOwner:tokenAmount]) != owner || (data[tokenStateAt] != tokenReady && data[tokenStateAt] != tokenFrozen) {
		return 0, errNoToken
	}
	return binary.LittleEndian.Uint64(data[tokenAmount:]), nil
}
