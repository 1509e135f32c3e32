package scanner

import (
	"errors"
	"math/big"
	"testing"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/wallet"
)

// One host never confirms a deposit, two do. A host that has the height without the deposit contradicts it.
func TestHearing(t *testing.T) {
	key := []byte("a deposit address...")
	honest := newNode()
	paid := honest.mine(pay("tx", key))
	other := honest.clone()
	other.cut(1)
	other.made += 1000
	other.mine()
	poorer := honest.clone()
	poorer.cut(1)
	poorer.made--
	less := pay("tx", key)
	less.Amount = new(big.Int).Sub(less.Amount, big.NewInt(1))
	poorer.mine(less)
	short := honest.clone()
	short.cut(1)
	broken := honest.clone()
	broken.setFail(func(string, int64) error { return errNode })
	transfer := paid.transfers[0]
	d := Testified{Key: key, Deposit: wallet.Deposit{State: wallet.Confirmed, Sighting: wallet.Sighting{
		ID: wallet.ID{TxHash: "tx", Ordinal: transfer.Ordinal}, Asset: transfer.Asset, Contract: transfer.Contract, Amount: transfer.Amount,
		BlockHeight: paid.Height, BlockHash: paid.Hash,
	}}}
	for name, c := range map[string]struct {
		hosts []chain.Driver
		want  wallet.Witness
	}{
		"two have it":                   {[]chain.Driver{honest, honest}, wallet.WitnessConfirmed},
		"one of one has it":             {[]chain.Driver{honest}, wallet.WitnessAlone},
		"the other has another block":   {[]chain.Driver{honest, other}, wallet.WitnessContradicted},
		"the other has another amount":  {[]chain.Driver{honest, poorer}, wallet.WitnessContradicted},
		"the other has no such height":  {[]chain.Driver{honest, short}, wallet.WitnessPending},
		"the other does not answer":     {[]chain.Driver{broken, honest}, wallet.WitnessPending},
		"two of three have it":          {[]chain.Driver{honest, other, honest}, wallet.WitnessConfirmed},
		"one of three does not answer":  {[]chain.Driver{honest, broken, honest}, wallet.WitnessConfirmed},
		"one of three has it":           {[]chain.Driver{honest, other, other}, wallet.WitnessContradicted},
		"nobody answers, nobody denies": {[]chain.Driver{broken, broken}, wallet.WitnessPending},
	} {
		t.Run(name, func(t *testing.T) {
			h := Hearing{Chain: rewound}
			for _, each := range c.hosts {
				h.Hosts = append(h.Hosts, Host{"a host", each})
			}
			got, err := h.hear(t.Context(), d)
			if got != c.want || (err == nil) != (got == wallet.WitnessConfirmed || got == wallet.WitnessAlone) || errors.Is(err, ErrFenced) {
				t.Errorf("hear the hosts: got %s, %v, want %s", got, err, c.want)
			}
		})
	}
}

// A deposit that contracts sent may have another number than hosts give it now. Of equal ones in a transaction, a host
// must show as many as there are deposits.
func TestHearing_countedInAnotherWay(t *testing.T) {
	key := []byte("a deposit address...")
	traced := pay("tx", key)
	traced.Ordinal = chain.FirstInternal
	twice := traced
	twice.Ordinal++
	one, two, plain := newNode(), newNode(), newNode()
	at := one.mine(traced)
	two.mine(traced, twice)
	plain.mine(pay("tx", key))
	for name, c := range map[string]struct {
		host            *node
		ordinal, before int
		want            wallet.Witness
	}{
		"under its number":                       {one, chain.FirstInternal, 0, wallet.WitnessConfirmed},
		"under another number":                   {one, chain.FirstTraced + 3, 0, wallet.WitnessConfirmed},
		"the second of two, and there is one":    {one, chain.FirstInternal, 1, wallet.WitnessContradicted},
		"the second of two":                      {two, chain.FirstTraced + 3, 1, wallet.WitnessConfirmed},
		"the transaction's own value is another": {plain, chain.FirstTraced + 3, 0, wallet.WitnessContradicted},
		"a log is another":                       {one, 3, 0, wallet.WitnessContradicted},
	} {
		d := Testified{Key: key, EqualBefore: c.before, Deposit: wallet.Deposit{State: wallet.Confirmed, Sighting: wallet.Sighting{
			ID: wallet.ID{TxHash: "tx", Ordinal: c.ordinal}, Asset: traced.Asset, Amount: traced.Amount,
			BlockHeight: at.Height, BlockHash: at.Hash,
		}}}
		h := Hearing{Chain: rewound, Hosts: []Host{{"one", c.host}, {"two", c.host}}}
		if got, err := h.hear(t.Context(), d); got != c.want || (err == nil) != (got == wallet.WitnessConfirmed) {
			t.Errorf("hear hosts about a contract's payment, %s: got %s, %v, want %s", name, got, err, c.want)
		}
	}
}

// While one of two hosts does not answer, the other one is not read repeatedly for the same deposit.
func TestHearing_silentHost(t *testing.T) {
	key := []byte("a deposit address...")
	honest := newNode()
	paid := honest.mine(pay("tx", key))
	broken := honest.clone()
	broken.setFail(func(string, int64) error { return errNode })
	reads := 0
	honest.setFail(func(string, int64) error { reads++; return nil })
	transfer := paid.transfers[0]
	d := Testified{Key: key, Deposit: wallet.Deposit{State: wallet.Confirmed, Sighting: wallet.Sighting{
		ID: wallet.ID{TxHash: "tx", Ordinal: transfer.Ordinal}, Asset: transfer.Asset, Contract: transfer.Contract, Amount: transfer.Amount,
		BlockHeight: paid.Height, BlockHash: paid.Hash,
	}}}
	h := Hearing{Chain: rewound, Hosts: []Host{{"honest", honest}, {"broken", broken}}}
	for range 10 {
		if got, err := h.hear(t.Context(), d); got != wallet.WitnessPending || err == nil {
			t.Errorf("hear a silent host: got %s, %v, want pending", got, err)
		}
	}
	if reads > 2 { // one block takes two
		t.Errorf("the host that answers was read %d times", reads)
	}
	broken.setFail(nil)
	if got, err := h.hear(t.Context(), d); got != wallet.WitnessConfirmed || err != nil {
		t.Errorf("hear the mended host: got %s, %v, want confirmed", got, err)
	}
}
