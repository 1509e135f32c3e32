package soltx

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// Refund is a transaction that pays one owner from the refund station, before it is signed. A token goes to the owner's
// associated token account, which the transaction opens at the station's cost if it is missing.
type Refund struct {
	Station   Account // pays the money, the fee and the rent; owns the nonce account
	NonceAt   Account
	Nonce     Account // its present value, which the transaction uses up
	UnitLimit uint32
	UnitPrice uint64  // millionths of a lamport per unit
	Mint      Account // of the token; zero for SOL
	Decimals  uint8   // of the token
	To        Account // the owner
	Amount    uint64
}

const (
	// TokenRent is the balance that the network asks of a token account.
	TokenRent = 2_039_280
	// holderOpen creates a token account, and does nothing where the same one exists.
	holderOpen = 1
)

// Native reports whether the refund is of SOL.
func (r Refund) Native() bool { return r.Mint == Account{} }

// Fee is the cost in lamports, without rent.
func (r Refund) Fee() *big.Int { return feeOf(r.UnitLimit, r.UnitPrice, 1) }

// Cost is the most that the station pays beside the amount.
func (r Refund) Cost() *big.Int {
	cost := r.Fee()
	if !r.Native() {
		cost.Add(cost, big.NewInt(TokenRent))
	}
	return cost
}

// purses are the token accounts of the station and of the owner.
func (r Refund) purses() (from, to Account, err error) {
	from, err = TokenAccount(r.Station, r.Mint)
	to, toErr := TokenAccount(r.To, r.Mint)
	return from, to, errors.Join(err, toErr)
}

// instructions are the calls in their order; the first advances the nonce.
func (r Refund) instructions() ([]instruction, error) {
	list := heading(r.Station, r.NonceAt, r.UnitLimit, r.UnitPrice)
	if r.Native() {
		data := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, systemTransfer), r.Amount)
		return append(list, instruction{systemProgram, []use{{r.Station, true, true}, {r.To, false, true}}, data}), nil
	}
	from, to, err := r.purses()
	if err != nil {
		return nil, err
	}
	list = append(list, instruction{holderProgram, []use{
		{r.Station, true, true}, {to, false, true}, {r.To, false, false}, {r.Mint, false, false}, {systemProgram, false, false}, {tokenProgram, false, false},
	}, []byte{holderOpen}})
	data := append(binary.LittleEndian.AppendUint64([]byte{tokenTransfer}, r.Amount), r.Decimals)
	return append(list, instruction{
		tokenProgram, []use{{from, false, true}, {r.Mint, false, false}, {to, false, true}, {r.Station, true, true}}, data,
	}), nil
}

// check refuses terms that no refund has.
func (r Refund) check() error {
	if r.Amount == 0 || r.UnitLimit == 0 || r.Nonce == (Account{}) {
		return errors.New("it has no amount, no limit of compute units, or no nonce")
	}
	if r.Native() && r.Decimals != 0 {
		return errors.New("a refund of SOL names the decimals of a token")
	}
	all := append([]Account{r.Station, r.NonceAt, r.To}, programs[:]...)
	if !r.Native() {
		from, to, err := r.purses()
		if err != nil {
			return err
		}
		all = append(all, r.Mint, from, to)
	}
	return distinct(all)
}

// Message is what is signed. The same terms always give the same bytes.
func (r Refund) Message() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	list, err := r.instructions()
	if err != nil {
		return nil, err
	}
	return encode(named([]use{{r.Station, true, true}}, list), r.Nonce, list), nil
}

// Moves reports whether a call, counted as in the message, moves money or opens the account that it goes to.
func (r Refund) Moves(call int) bool { return call >= heads }

// Signed joins the message and the station's signature.
func (r Refund) Signed(signature []byte) ([]byte, error) {
	message, err := r.Message()
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte{1}, signature, message), nil
}

// Equal reports whether two refunds are the same in every field.
func (r Refund) Equal(o Refund) bool {
	a, err := r.Message()
	b, other := o.Message()
	return err == nil && other == nil && bytes.Equal(a, b)
}

// ParseRefund is Parse for refunds.
func ParseRefund(raw []byte) (r Refund, err error) {
	const head = 1 + ed25519.SignatureSize
	if len(raw) < head || len(raw) > RawMost || raw[0] != 1 {
		return r, errRefund
	}
	m, err := readMessage(raw[head:])
	if err != nil {
		return r, errRefund
	}
	if r, err = m.refund(); err != nil {
		return Refund{}, err
	}
	again, err := r.Message()
	if err != nil || !bytes.Equal(again, raw[head:]) {
		return Refund{}, errRefund
	}
	if !ed25519.Verify(r.Station[:], again, raw[1:head]) {
		return Refund{}, fmt.Errorf("the signature of %s does not verify", r.Station)
	}
	return r, nil
}

var errRefund = errors.New("not a transaction of this product: is not a canonical refund")

// refund reads the terms.
func (m message) refund() (r Refund, err error) {
	advance := binary.LittleEndian.AppendUint32(nil, systemAdvance)
	if len(m.calls) <= heads || !m.calls[0].is(systemProgram, 3, advance, 0) || !m.calls[1].is(budgetProgram, 0, []byte{budgetLimit}, 4) ||
		!m.calls[2].is(budgetProgram, 0, []byte{budgetPrice}, 8) {
		return r, errRefund
	}
	r.NonceAt, r.Station, r.Nonce = m.calls[0].uses[0], m.calls[0].uses[2], m.nonce
	r.UnitLimit, r.UnitPrice = binary.LittleEndian.Uint32(m.calls[1].data[1:]), binary.LittleEndian.Uint64(m.calls[2].data[1:])
	rest, pay := m.calls[heads:], m.calls[len(m.calls)-1]
	switch {
	case len(rest) == 1 && pay.is(systemProgram, 2, binary.LittleEndian.AppendUint32(nil, systemTransfer), 8):
		r.To, r.Amount = pay.uses[1], binary.LittleEndian.Uint64(pay.data[4:])
	case len(rest) == 2 && rest[0].is(holderProgram, 6, []byte{holderOpen}, 0) && pay.is(tokenProgram, 4, []byte{tokenTransfer}, 9):
		r.To = rest[0].uses[2]
		r.Mint, r.Amount, r.Decimals = pay.uses[1], binary.LittleEndian.Uint64(pay.data[1:]), pay.data[9]
	default:
		return r, errRefund
	}
	return r, nil
}
