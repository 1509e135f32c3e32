package solana

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
)

// block holds the needed fields of the block of a slot.
type block struct {
	hash, parent string
	parentSlot   int64
	time         int64
	gains        []gain
}

func (b *block) at(slot int64) chain.Header {
	return chain.Header{Height: slot, Hash: b.hash, Parent: b.parent, Time: time.Unix(b.time, 0).UTC()}
}

// gain is the increase of one owner's holding of one asset by a transaction.
type gain struct {
	tx      string
	index   int // of the account, or of the owner's first token account, in the transaction
	owner   []byte
	token   *chain.Token // nil for the coin
	amount  *big.Int
	senders []string
}

// sendersMost bounds how many payers of one transaction are named.
const sendersMost = 16

// hashLength are the lengths of a hash of 32 bytes in base58.
func isHash(text []byte) bool { return len(text) >= 32 && len(text) <= 44 }

// mostTime is the end of the year 9999: later times cannot be written as JSON.
const mostTime = 253_402_300_799

// decoder reads blocks, knowing the listed mints.
type decoder struct {
	mints map[string]*chain.Token
}

// block reads the answer of getBlock; nil means that the node has none for the slot.
func (d decoder) block(result []byte, full bool) (*block, error) {
	r := rpc.NewReader(result)
	if r.Null() {
		return nil, r.End()
	}
	b := &block{}
	seen := 0
	text := func(into *string) error {
		t, err := r.Text()
		if err == nil && !isHash(t) {
			err = fmt.Errorf("%.80q is not a hash", t)
		}
		seen++
		*into = string(t)
		return err
	}
	whole := !full
	err := r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "blockhash":
			return text(&b.hash)
		case "previousBlockhash":
			return text(&b.parent)
		case "parentSlot":
			seen++
			b.parentSlot, err = r.Int()
			return err
		case "blockTime":
			seen++
			b.time, err = r.Int()
			return err
		case "transactions":
			if !full {
				return r.Skip()
			}
			whole = true
			return r.Array(func() error { return d.transaction(r, b) })
		default:
			return r.Skip()
		}
	})
	if err == nil {
		err = r.End()
	}
	if err == nil && (seen != 4 || !whole) {
		err = rpc.ErrMissing
	}
	if err == nil && (b.time <= 0 || b.time > mostTime) {
		err = fmt.Errorf("block time %d", b.time)
	}
	if err != nil {
		return nil, fmt.Errorf("reading a block: %w", err)
	}
	return b, nil
}

// holding is one token account's balance before or after a transaction.
type holding struct {
	index  int64
	owner  string
	token  *chain.Token
	amount *big.Int
}

// movement is one transaction while it is read.
type movement struct {
	signature    []byte
	keys         [][]byte // of the message
	writable     [][]byte // loaded from tables
	readonly     [][]byte
	failed       bool
	pre, post    []int64
	held, holds  []holding
	meta, signed bool
}

func (d decoder) transaction(r *rpc.Reader, b *block) error {
	var m movement
	err := r.Object(func(name []byte) error {
		switch string(name) {
		case "meta":
			m.meta = true
			return d.meta(r, &m)
		case "transaction":
			return r.Object(func(name []byte) error {
				switch string(name) {
				case "signatures":
					return r.Array(func() error {
						text, err := r.Text()
						if !m.signed {
							m.signed, m.signature = true, text
						}
						return err
					})
				case "message":
					return r.Object(func(name []byte) error {
						if string(name) != "accountKeys" {
							return r.Skip()
						}
						return texts(r, &m.keys)
					})
				default:
					return r.Skip()
				}
			})
		default:
			return r.Skip()
		}
	})
	if err != nil {
		return err
	}
	if !m.meta || !m.signed || len(m.keys) == 0 || len(m.signature) < 64 || len(m.signature) > 90 {
		return rpc.ErrMissing
	}
	if m.failed {
		return nil
	}
	return m.gains(b)
}

func texts(r *rpc.Reader, into *[][]byte) error {
	return r.Array(func() error {
		text, err := r.Text()
		*into = append(*into, text)
		return err
	})
}

func (d decoder) meta(r *rpc.Reader, m *movement) error {
	seen := 0
	err := r.Object(func(name []byte) error {
		switch string(name) {
		case "err":
			seen++
			m.failed = !r.Null()
			if m.failed {
				return r.Skip()
			}
			return nil
		case "preBalances":
			seen++
			return numbers(r, &m.pre)
		case "postBalances":
			seen++
			return numbers(r, &m.post)
		case "preTokenBalances":
			return d.holdings(r, &m.held)
		case "postTokenBalances":
			return d.holdings(r, &m.holds)
		case "loadedAddresses":
			if r.Null() {
				return nil
			}
			return r.Object(func(name []byte) error {
				switch string(name) {
				case "writable":
					return texts(r, &m.writable)
				case "readonly":
					return texts(r, &m.readonly)
				default:
					return r.Skip()
				}
			})
		default:
			return r.Skip()
		}
	})
	if err == nil && seen != 3 {
		err = rpc.ErrMissing
	}
	return err
}

func numbers(r *rpc.Reader, into *[]int64) error {
	return r.Array(func() error {
		n, err := r.Int()
		*into = append(*into, n)
		return err
	})
}

// holdings reads the balances of listed tokens and skips others.
func (d decoder) holdings(r *rpc.Reader, into *[]holding) error {
	if r.Null() {
		return nil
	}
	return r.Array(func() error {
		h, owned := holding{index: -1}, false
		err := r.Object(func(name []byte) (err error) {
			var text []byte
			switch string(name) {
			case "accountIndex":
				h.index, err = r.Int()
			case "mint":
				text, err = r.Text()
				h.token = d.mints[string(text)]
			case "owner":
				text, err = r.Text()
				h.owner, owned = string(text), true
			case "uiTokenAmount":
				h.amount, err = readAmount(r)
			default:
				err = r.Skip()
			}
			return err
		})
		if err != nil || h.token == nil {
			return err
		}
		if h.index < 0 || h.amount == nil || !owned {
			return rpc.ErrMissing
		}
		*into = append(*into, h)
		return nil
	})
}

func readAmount(r *rpc.Reader) (amount *big.Int, err error) {
	err = r.Object(func(name []byte) error {
		if string(name) != "amount" {
			return r.Skip()
		}
		text, err := r.Text()
		if err != nil {
			return err
		}
		n, ok := new(big.Int).SetString(string(text), 10)
		if !ok || n.Sign() < 0 || n.BitLen() > 64 {
			return fmt.Errorf("%.80q is not an amount of 64 bits", text)
		}
		amount = n
		return nil
	})
	return amount, err
}

// gains compares the balances of every account before and after. That includes the effects of programs; logs are never
// read, since nodes truncate them.
func (m *movement) gains(b *block) error {
	keys := slices.Concat(m.keys, m.writable, m.readonly)
	if len(m.pre) != len(keys) || len(m.post) != len(keys) {
		return fmt.Errorf("%d accounts with %d balances before and %d after", len(keys), len(m.pre), len(m.post))
	}
	var payers []string
	for i := range keys {
		if m.post[i] < m.pre[i] && len(payers) < sendersMost {
			payers = append(payers, string(keys[i]))
		}
	}
	tx := string(m.signature)
	for i := range keys {
		if m.post[i] <= m.pre[i] {
			continue
		}
		owner, err := account(keys[i])
		if err != nil {
			return err
		}
		b.gains = append(b.gains, gain{tx: tx, index: i, owner: owner, amount: big.NewInt(m.post[i] - m.pre[i]), senders: payers})
	}
	return m.tokenGains(b, tx, len(keys))
}

// tokenGains adds up the token accounts of each owner and mint.
func (m *movement) tokenGains(b *block, tx string, accounts int) error {
	type pair struct {
		owner string
		token *chain.Token
	}
	sums, first := map[pair]*big.Int{}, map[pair]int{}
	var order []pair
	add := func(h holding, sign int64) error {
		if h.index >= int64(accounts) {
			return fmt.Errorf("a balance of account %d of %d", h.index, accounts)
		}
		p := pair{h.owner, h.token}
		if sums[p] == nil {
			sums[p], first[p] = new(big.Int), int(h.index)
			order = append(order, p)
		}
		sums[p].Add(sums[p], new(big.Int).Mul(h.amount, big.NewInt(sign)))
		first[p] = min(first[p], int(h.index))
		return nil
	}
	for _, h := range m.held {
		if err := add(h, -1); err != nil {
			return err
		}
	}
	for _, h := range m.holds {
		if err := add(h, 1); err != nil {
			return err
		}
	}
	for _, p := range order {
		if sums[p].Sign() <= 0 {
			continue
		}
		owner, err := account([]byte(p.owner))
		if err != nil {
			return err
		}
		var payers []string
		for _, other := range order {
			if other.token == p.token && sums[other].Sign() < 0 && len(payers) < sendersMost {
				payers = append(payers, other.owner)
			}
		}
		b.gains = append(b.gains, gain{tx: tx, index: first[p], owner: owner, token: p.token, amount: sums[p], senders: payers})
	}
	return nil
}

func account(text []byte) ([]byte, error) {
	key, err := address.Parse(money.Solana, address.Mainnet, string(text))
	if err != nil {
		return nil, fmt.Errorf("%.80q %w", text, err)
	}
	return key, nil
}

// decodeNumber reads an answer that is one number.
func decodeNumber(result []byte) (int64, error) {
	r := rpc.NewReader(result)
	n, err := r.Int()
	if err != nil {
		return 0, err
	}
	return n, r.End()
}

// decodeSlots reads the answer of getBlocks.
func decodeSlots(result []byte) (slots []int64, err error) {
	r := rpc.NewReader(result)
	if err := numbers(r, &slots); err != nil {
		return nil, err
	}
	if !slices.IsSorted(slots) {
		return nil, errors.New("slots are not in order")
	}
	return slots, r.End()
}

// The layout of a mint (SPL Token, state::Mint).
const (
	mintLength    = 82
	mintDecimals  = 44
	mintReady     = 45
	tokenProgram  = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA" //nolint:gosec // the address of a program
	token22       = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb" //nolint:gosec // the address of a program
	base64Encoded = "base64"
)

// decodeMint reads the decimals of a mint from the answer of getAccountInfo.
func decodeMint(result []byte) (int64, error) {
	r := rpc.NewReader(result)
	var data []byte
	owner := ""
	err := r.Object(func(name []byte) error {
		if string(name) != "value" {
			return r.Skip()
		}
		if r.Null() {
			return errors.New("there is no such account")
		}
		return r.Object(func(name []byte) error {
			switch string(name) {
			case "owner":
				text, err := r.Text()
				owner = string(text)
				return err
			case "data":
				var parts [][]byte
				if err := texts(r, &parts); err != nil {
					return err
				}
				if len(parts) != 2 || string(parts[1]) != base64Encoded {
					return errors.New("account data in another encoding than requested")
				}
				var err error
				data, err = base64.StdEncoding.DecodeString(string(parts[0]))
				return err
			default:
				return r.Skip()
			}
		})
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return 0, err
	}
	if (owner != tokenProgram && owner != token22) || len(data) < mintLength || data[mintReady] != 1 {
		return 0, errors.New("is not a mint")
	}
	return int64(data[mintDecimals]), nil
}
