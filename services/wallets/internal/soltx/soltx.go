// Package soltx writes and reads the one kind of solana transaction that the product sends: a legacy transaction with
// a durable nonce, whose fee the station pays, and which moves SOL or one token from deposit addresses to one account.
// The signer builds the bytes with it, and wallets parses them again before it stores and broadcasts them. It is pure
// and knows no private key.
package soltx

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/mr-tron/base58"
)

// Move takes an amount from one deposit address. Close also closes its token account, whose rent the station receives.
type Move struct {
	Owner  Account
	Amount uint64
	Close  bool
}

// Transaction is a transaction before it is signed.
type Transaction struct {
	Station   Account // pays the fee, owns the nonce account, receives the rent of closed accounts
	NonceAt   Account // the nonce account
	Nonce     Account // its present value, which the transaction uses up
	UnitLimit uint32  // of compute
	UnitPrice uint64  // millionths of a lamport per unit
	Mint      Account // of the token; zero for SOL
	Decimals  uint8   // of the token
	To        Account // receives the money: an address for SOL, a token account for a token
	Moves     []Move
}

const (
	// RawMost is the size of the largest transaction that nodes take.
	RawMost = 1232
	// FeePerSignature is the network's fee for each signature, in lamports.
	FeePerSignature = 5_000
	microPerUnit    = 1_000_000
	heads           = 3 // calls before the first move
)

// Native reports whether the transaction moves SOL.
func (t Transaction) Native() bool { return t.Mint == Account{} }

// Fee is the cost in lamports: for each signature, and for the compute units of the limit.
func (t Transaction) Fee() *big.Int {
	return feeOf(t.UnitLimit, t.UnitPrice, 1+len(t.Moves))
}

func feeOf(limit uint32, price uint64, signatures int) *big.Int {
	fee := new(big.Int).Mul(new(big.Int).SetUint64(price), big.NewInt(int64(limit)))
	fee.Add(fee, big.NewInt(microPerUnit-1)).Div(fee, big.NewInt(microPerUnit))
	return fee.Add(fee, big.NewInt(FeePerSignature*int64(signatures)))
}

// Amount is the sum that is moved.
func (t Transaction) Amount() *big.Int {
	sum := new(big.Int)
	for _, m := range t.Moves {
		sum.Add(sum, new(big.Int).SetUint64(m.Amount))
	}
	return sum
}

// Size is the length of the signed bytes of so many moves, all of which close their accounts.
func Size(native bool, moves int) int {
	if native {
		return 324 + moves*113
	}
	return 388 + moves*152
}

// Most is how many moves fit into one transaction.
func Most(native bool) int {
	n := 1
	for Size(native, n+1) <= RawMost {
		n++
	}
	return n
}

// use is an account that an instruction names.
type use struct {
	account          Account
	signs, writeable bool
}

type instruction struct {
	program Account
	uses    []use
	data    []byte
}

// The numbers of instructions in their programs.
const (
	systemTransfer = 2
	systemAdvance  = 4
	budgetLimit    = 2
	budgetPrice    = 3
	tokenTransfer  = 12
	tokenClose     = 9
)

// heading are the calls before the first move. The first advances the nonce: a node executes the transaction only while
// the nonce has this value, and changes the value even when a later call fails.
func heading(station, nonceAt Account, limit uint32, price uint64) []instruction {
	return []instruction{
		{systemProgram, []use{{nonceAt, false, true}, {recentHashes, false, false}, {station, true, true}}, binary.LittleEndian.AppendUint32(nil, systemAdvance)},
		{budgetProgram, nil, binary.LittleEndian.AppendUint32([]byte{budgetLimit}, limit)},
		{budgetProgram, nil, binary.LittleEndian.AppendUint64([]byte{budgetPrice}, price)},
	}
}

// instructions are the calls in their order.
func (t Transaction) instructions() ([]instruction, error) {
	list := heading(t.Station, t.NonceAt, t.UnitLimit, t.UnitPrice)
	for _, m := range t.Moves {
		if t.Native() {
			data := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, systemTransfer), m.Amount)
			list = append(list, instruction{systemProgram, []use{{m.Owner, true, true}, {t.To, false, true}}, data})
			continue
		}
		from, err := TokenAccount(m.Owner, t.Mint)
		if err != nil {
			return nil, err
		}
		data := append(binary.LittleEndian.AppendUint64([]byte{tokenTransfer}, m.Amount), t.Decimals)
		list = append(list, instruction{
			tokenProgram, []use{{from, false, true}, {t.Mint, false, false}, {t.To, false, true}, {m.Owner, true, false}}, data,
		})
		if m.Close {
			list = append(list, instruction{tokenProgram, []use{{from, false, true}, {t.Station, true, true}, {m.Owner, true, false}}, []byte{tokenClose}})
		}
	}
	return list, nil
}

// MoveOf is the move that a call, or an account, belongs to, both counted as in the message; -1 for those of all moves.
func (t Transaction) MoveOf(call, account int) int {
	if account > 0 && account <= len(t.Moves) {
		return account - 1
	}
	next := heads
	for i, m := range t.Moves {
		calls := 1
		if m.Close {
			calls = 2
		}
		if call >= next && call < next+calls {
			return i
		}
		next += calls
	}
	return -1
}

// check refuses terms that no sweep has.
func (t Transaction) check() error {
	if len(t.Moves) == 0 || len(t.Moves) > Most(t.Native()) {
		return fmt.Errorf("%d moves, want 1 to %d", len(t.Moves), Most(t.Native()))
	}
	if t.UnitLimit == 0 || t.Nonce == (Account{}) {
		return errors.New("it has no limit of compute units, or no nonce")
	}
	if t.Native() && t.Decimals != 0 {
		return errors.New("a move of SOL names the decimals of a token")
	}
	// Every account has one part: one address in two parts could pay itself, or change its rights.
	all := append([]Account{t.Station, t.NonceAt, t.To}, programs[:]...)
	if !t.Native() {
		all = append(all, t.Mint)
	}
	for _, m := range t.Moves {
		if m.Amount == 0 || m.Close && t.Native() {
			return errors.New("a move without an amount, or one that closes an address")
		}
		all = append(all, m.Owner)
		if t.Native() {
			continue
		}
		from, err := TokenAccount(m.Owner, t.Mint)
		if err != nil {
			return err
		}
		all = append(all, from)
	}
	return distinct(all)
}

// distinct refuses an account that is named in two parts.
func distinct(all []Account) error {
	slices.SortFunc(all, func(a, b Account) int { return bytes.Compare(a[:], b[:]) })
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		return errors.New("an account is named in two parts")
	}
	return nil
}

// Signers are the accounts that sign, in the order of their signatures: the station, then the deposit addresses.
func (t Transaction) Signers() []Account {
	all := make([]Account, 0, 1+len(t.Moves))
	all = append(all, t.Station)
	for _, m := range t.Moves {
		all = append(all, m.Owner)
	}
	return all
}

// Message is what is signed. Accounts follow each other by their rights, as the network demands, and then by their
// first use, so that the same terms always give the same bytes.
func (t Transaction) Message() ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	list, err := t.instructions()
	if err != nil {
		return nil, err
	}
	accounts := []use{{t.Station, true, true}}
	for _, m := range t.Moves {
		accounts = append(accounts, use{m.Owner, true, t.Native()})
	}
	return encode(named(accounts, list), t.Nonce, list), nil
}

// named adds the accounts that the calls name to the signers.
func named(accounts []use, list []instruction) []use {
	name := func(u use) {
		if !slices.ContainsFunc(accounts, func(a use) bool { return a.account == u.account }) {
			accounts = append(accounts, u)
		}
	}
	for _, writeable := range []bool{true, false} {
		for _, i := range list {
			for _, u := range append([]use{{account: i.program}}, i.uses...) {
				if !u.signs && u.writeable == writeable {
					name(u)
				}
			}
		}
	}
	return accounts
}

// short is a length as the format writes it: in one byte, since each is below 128.
func short(n int) byte { return byte(n) } //nolint:gosec // the largest transaction has 27 accounts

// encode writes a legacy message.
func encode(accounts []use, nonce Account, list []instruction) []byte {
	var signs, readSigns, reads byte
	for _, a := range accounts {
		switch {
		case a.signs && a.writeable:
			signs++
		case a.signs:
			signs, readSigns = signs+1, readSigns+1
		case !a.writeable:
			reads++
		}
	}
	place := map[Account]byte{}
	message := []byte{signs, readSigns, reads, short(len(accounts))}
	for i, a := range accounts {
		place[a.account] = byte(i)
		message = append(message, a.account[:]...)
	}
	message = append(append(message, nonce[:]...), short(len(list)))
	for _, i := range list {
		message = append(message, place[i.program], short(len(i.uses)))
		for _, u := range i.uses {
			message = append(message, place[u.account])
		}
		message = append(append(message, short(len(i.data))), i.data...)
	}
	return message
}

// Signed joins the message and its signatures, which are in the order of Signers.
func (t Transaction) Signed(signatures [][]byte) ([]byte, error) {
	message, err := t.Message()
	if err != nil {
		return nil, err
	}
	if len(signatures) != len(t.Signers()) {
		return nil, fmt.Errorf("%d signatures, want %d", len(signatures), len(t.Signers()))
	}
	raw := []byte{short(len(signatures))}
	for _, s := range signatures {
		raw = append(raw, s...)
	}
	return append(raw, message...), nil
}

// Hash names signed bytes on the chain: the station's signature. The bytes must have been parsed.
func Hash(raw []byte) string { return base58.Encode(raw[1 : 1+ed25519.SignatureSize]) }

// Equal reports whether two transactions are the same in every field.
func (t Transaction) Equal(o Transaction) bool {
	a, err := t.Message()
	b, other := o.Message()
	return err == nil && other == nil && bytes.Equal(a, b)
}
