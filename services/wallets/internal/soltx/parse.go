package soltx

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
)

var errForm = errors.New("is not a canonical sweep")

// Parse decodes signed bytes and verifies every signature. Anything but a canonical transaction of this kind is an
// error: what was read is written again, and must give the same bytes.
func Parse(raw []byte) (t Transaction, err error) {
	defer func() {
		if err != nil {
			t, err = Transaction{}, fmt.Errorf("not a transaction of this product: %w", err)
		}
	}()
	if len(raw) == 0 || len(raw) > RawMost {
		return t, errForm
	}
	count := int(raw[0])
	if count < 2 || len(raw) < 1+count*ed25519.SignatureSize {
		return t, errForm
	}
	signatures, message := raw[1:1+count*ed25519.SignatureSize], raw[1+count*ed25519.SignatureSize:]
	m, err := readMessage(message)
	if err != nil {
		return t, err
	}
	if t, err = m.transaction(); err != nil {
		return t, err
	}
	again, err := t.Message()
	if err != nil {
		return t, err
	}
	if !bytes.Equal(again, message) || len(t.Signers()) != count {
		return t, errForm
	}
	for i, signer := range t.Signers() {
		if !ed25519.Verify(signer[:], message, signatures[i*ed25519.SignatureSize:(i+1)*ed25519.SignatureSize]) {
			return t, fmt.Errorf("the signature of %s does not verify", signer)
		}
	}
	return t, nil
}

// message is a message taken apart, without its rights, which the comparison of the bytes checks.
type message struct {
	accounts []Account
	nonce    Account
	calls    []call
}

// call is one instruction.
type call struct {
	program Account
	uses    []Account
	data    []byte
}

// is reports whether a call is of a program, with so many accounts and so much data after a prefix.
func (c call) is(program Account, uses int, prefix []byte, more int) bool {
	return c.program == program && len(c.uses) == uses && len(c.data) == len(prefix)+more && bytes.HasPrefix(c.data, prefix)
}

// transaction reads the terms.
func (m message) transaction() (t Transaction, err error) {
	advance, limit, price := binary.LittleEndian.AppendUint32(nil, systemAdvance), []byte{budgetLimit}, []byte{budgetPrice}
	if len(m.calls) <= heads || !m.calls[0].is(systemProgram, 3, advance, 0) || !m.calls[1].is(budgetProgram, 0, limit, 4) ||
		!m.calls[2].is(budgetProgram, 0, price, 8) {
		return t, errForm
	}
	t.NonceAt, t.Station, t.Nonce = m.calls[0].uses[0], m.calls[0].uses[2], m.nonce
	t.UnitLimit, t.UnitPrice = binary.LittleEndian.Uint32(m.calls[1].data[1:]), binary.LittleEndian.Uint64(m.calls[2].data[1:])
	move := binary.LittleEndian.AppendUint32(nil, systemTransfer)
	for _, c := range m.calls[heads:] {
		switch {
		case c.is(systemProgram, 2, move, 8):
			t.To = c.uses[1]
			t.Moves = append(t.Moves, Move{Owner: c.uses[0], Amount: binary.LittleEndian.Uint64(c.data[4:])})
		case c.is(tokenProgram, 4, []byte{tokenTransfer}, 9):
			t.Mint, t.To, t.Decimals = c.uses[1], c.uses[2], c.data[9]
			t.Moves = append(t.Moves, Move{Owner: c.uses[3], Amount: binary.LittleEndian.Uint64(c.data[1:])})
		case c.is(tokenProgram, 3, []byte{tokenClose}, 0) && len(t.Moves) > 0:
			t.Moves[len(t.Moves)-1].Close = true
		default:
			return t, errForm
		}
	}
	return t, nil
}

// readMessage takes a legacy message apart.
func readMessage(b []byte) (m message, err error) {
	r := reader{b}
	r.take(3) // the rights
	for range r.byte() {
		m.accounts = append(m.accounts, r.account())
	}
	m.nonce = r.account()
	for range r.byte() {
		c := call{program: m.at(r.byte())}
		for range r.byte() {
			c.uses = append(c.uses, m.at(r.byte()))
		}
		c.data = r.take(int(r.byte()))
		m.calls = append(m.calls, c)
	}
	if r.b == nil || len(r.b) != 0 {
		return m, errForm
	}
	return m, nil
}

// at is the account of a place; a place that does not exist gives one that no sweep has.
func (m message) at(place byte) Account {
	if int(place) < len(m.accounts) {
		return m.accounts[place]
	}
	return recentHashes
}

// reader takes bytes from the front; after a lack of bytes it has none and gives zeros.
type reader struct{ b []byte }

func (r *reader) take(n int) []byte {
	if r.b == nil || len(r.b) < n {
		r.b = nil
		return make([]byte, n)
	}
	head := r.b[:n:n]
	r.b = r.b[n:]
	return head
}

func (r *reader) byte() byte { return r.take(1)[0] }

func (r *reader) account() Account { return Account(r.take(len(Account{}))) }
