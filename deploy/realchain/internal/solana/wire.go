package solana

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"filippo.io/edwards25519"
	"github.com/btcsuite/btcd/address/v2/base58"
)

// key is a public key or any other address.
type key [32]byte

func (k key) String() string { return base58.Encode(k[:]) }

func keyOf(text string) (k key, ok bool) {
	b := base58.Decode(text)
	if len(b) != len(k) {
		return k, false
	}
	return key(b), true
}

func mustKey(text string) key {
	k, ok := keyOf(text)
	if !ok {
		panic(text + " is no address")
	}
	return k
}

var (
	systemProgram = key{}
	tokenProgram  = mustKey("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
	holderProgram = mustKey("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL") // makes associated token accounts
)

// holder is the associated token account of an owner: the first address off the curve that its seeds give.
func holder(owner, mint key) (key, error) {
	for bump := 255; bump >= 0; bump-- {
		seeds := slices.Concat(owner[:], tokenProgram[:], mint[:], []byte{byte(bump)}, holderProgram[:], []byte("ProgramDerivedAddress"))
		sum := sha256.Sum256(seeds)
		if _, err := new(edwards25519.Point).SetBytes(sum[:]); err != nil {
			return sum, nil
		}
	}
	return key{}, errors.New("no associated token account")
}

// use is an account that an instruction names.
type use struct {
	key      key
	signs    bool
	writable bool
}

type instruction struct {
	program key
	uses    []use
	data    []byte
}

// send moves lamports.
func send(from, to key, lamports uint64) instruction {
	data := binary.LittleEndian.AppendUint64([]byte{2, 0, 0, 0}, lamports)
	return instruction{systemProgram, []use{{from, true, true}, {to, false, true}}, data}
}

// open makes an associated token account unless it is there.
func open(payer, account, owner, mint key) instruction {
	return instruction{holderProgram, []use{
		{payer, true, true}, {account, false, true}, {owner, false, false}, {mint, false, false}, {systemProgram, false, false}, {tokenProgram, false, false},
	}, []byte{1}}
}

// move moves tokens from one token account to another (TransferChecked).
func move(from, mint, to, owner key, amount uint64, decimals byte) instruction {
	data := append(binary.LittleEndian.AppendUint64([]byte{12}, amount), decimals)
	return instruction{tokenProgram, []use{{from, false, true}, {mint, false, false}, {to, false, true}, {owner, true, false}}, data}
}

// transaction signs a legacy transaction of one signer and returns its signature and its bytes.
func transaction(payer ed25519.PrivateKey, blockhash key, list []instruction) (signature string, raw []byte) {
	self := key(payer.Public().(ed25519.PublicKey))
	accounts := []use{{self, true, true}}
	for _, i := range list {
		for _, u := range append(i.uses, use{i.program, false, false}) {
			at := slices.IndexFunc(accounts, func(a use) bool { return a.key == u.key })
			if at < 0 {
				accounts = append(accounts, u)
				continue
			}
			accounts[at].writable = accounts[at].writable || u.writable
		}
	}
	slices.SortStableFunc(accounts[1:], func(a, b use) int { // writable ones first
		switch {
		case a.writable == b.writable:
			return 0
		case a.writable:
			return -1
		}
		return 1
	})
	readonly := 0
	for _, a := range accounts {
		if !a.writable {
			readonly++
		}
	}
	message := append([]byte{1, 0, byte(readonly)}, short(len(accounts))...)
	for _, a := range accounts {
		message = append(message, a.key[:]...)
	}
	message = append(append(message, blockhash[:]...), short(len(list))...)
	at := func(k key) byte {
		return byte(slices.IndexFunc(accounts, func(a use) bool { return a.key == k })) //nolint:gosec // at most 255
	}
	for _, i := range list {
		message = append(append(message, at(i.program)), short(len(i.uses))...)
		for _, u := range i.uses {
			message = append(message, at(u.key))
		}
		message = append(append(message, short(len(i.data))...), i.data...)
	}
	signed := ed25519.Sign(payer, message)
	return base58.Encode(signed), append(append([]byte{1}, signed...), message...)
}

// short is Solana's length: seven bits a byte.
func short(n int) []byte {
	if n < 0x80 {
		return []byte{byte(n)}
	}
	return []byte{byte(n&0x7f | 0x80), byte(n >> 7)}
}
