package scanner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"causeway.internal/libs/tick"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/wallet"
)

// Testified is a deposit with the key of its address.
type Testified struct {
	wallet.Deposit
	Key         []byte
	EqualBefore int // deposits of as much that contracts sent in the same transaction, with smaller ordinals
}

// Testimony keeps the answers of endpoints of other hosts about deposits.
type Testimony interface {
	// Unwitnessed are confirmed deposits with one of the answers, pending ones first and otherwise in random order, so
	// that deposits which no host can answer for do not keep others from being asked about.
	Unwitnessed(ctx context.Context, c Chain, answers []wallet.Witness, limit int) ([]Testified, error)
	// Testify stores an answer about a deposit in its block and publishes it.
	Testify(ctx context.Context, c Chain, d wallet.Deposit, answer wallet.Witness) error
	// Unsure counts the confirmed deposits that a host contradicts, and those about which too few have answered.
	Unsure(ctx context.Context, c Chain) (contradicted, pending int, err error)
}

// Host is one provider of a chain, known by its host name, with a driver that asks only that host.
type Host struct {
	Name   string
	Driver chain.Driver
}

// Hearing asks every host of a live network about each confirmed deposit: two hosts must have it, so one endpoint
// cannot invent it.
type Hearing struct {
	Chain
	Hosts   []Host
	Store   Testimony
	Log     *slog.Logger
	Metrics *Metrics
}

// Bounds of a hearing.
const (
	hearEvery  = time.Second
	hearAgain  = 30 * time.Second // pause before a contradicted deposit is asked about again
	hearAtOnce = 100
	hostsAgree = 2
)

// Run asks until ctx ends.
func (h Hearing) Run(ctx context.Context) error {
	h.Metrics.hosts(h.Chain, len(h.Hosts))
	var again time.Time
	for pause(ctx, tick.Until(hearEvery), nil) {
		answers := []wallet.Witness{wallet.WitnessPending}
		if time.Since(again) > hearAgain {
			answers, again = append(answers, wallet.WitnessContradicted), time.Now()
			if len(h.Hosts) >= hostsAgree {
				answers = append(answers, wallet.WitnessAlone) // answers from the time of a single host
			}
		}
		if err := h.round(ctx, answers); err != nil && ctx.Err() == nil {
			h.Log.WarnContext(ctx, "deposits not witnessed, retrying", "chain", h.Chain.String(), "err", err)
		}
	}
	return nil
}

func (h Hearing) round(ctx context.Context, answers []wallet.Witness) error {
	list, err := h.Store.Unwitnessed(ctx, h.Chain, answers, hearAtOnce)
	if err != nil {
		return err
	}
	var problems []error
	for _, d := range list {
		answer, err := h.hear(ctx, d)
		if err != nil {
			problems = append(problems, err)
		}
		if answer == wallet.WitnessPending {
			continue
		}
		if answer == wallet.WitnessContradicted && d.Witness != answer {
			h.Log.ErrorContext(ctx, "RPC hosts contradict each other on deposit", "chain", h.Chain.String(), "deposit", d.Deposit.Key(), "err", err)
		}
		if err := h.Store.Testify(ctx, h.Chain, d.Deposit, answer); err != nil {
			return err
		}
	}
	contradicted, pending, err := h.Store.Unsure(ctx, h.Chain)
	if err == nil {
		h.Metrics.unsure(h.Chain, contradicted, pending)
	}
	return errors.Join(append(problems, err)...)
}

// hear asks the hosts about one deposit. It asks a host that did not answer first from then on, and the others only
// while two may still agree: the outage of one host must not cause repeated reads of the same blocks from the others.
func (h Hearing) hear(ctx context.Context, d Testified) (wallet.Witness, error) {
	if len(h.Hosts) < hostsAgree {
		return wallet.WitnessAlone, nil
	}
	has, lacks, silent := 0, 0, 0
	var problems []error
	for i, host := range h.Hosts {
		found, err := testifies(ctx, host.Driver, d)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("host %s: %w", host.Name, err))
			h.Hosts[silent], h.Hosts[i] = h.Hosts[i], h.Hosts[silent]
			silent++
		case found:
			has++
		default:
			lacks++
			problems = append(problems, fmt.Errorf("host %s does not have the transfer in block %d", host.Name, d.BlockHeight))
		}
		if has == hostsAgree {
			return wallet.WitnessConfirmed, nil
		}
		if lacks == 0 && len(h.Hosts)-silent < hostsAgree {
			break
		}
	}
	if lacks > 0 {
		return wallet.WitnessContradicted, errors.Join(problems...)
	}
	return wallet.WitnessPending, errors.Join(problems...)
}

// only is a set of one address.
type only []byte

func (o only) Has(key []byte) bool { return bytes.Equal(o, key) }

// testifies reports whether a host has a deposit's block with the same transfer in it.
func testifies(ctx context.Context, driver chain.Driver, d Testified) (bool, error) {
	if looker, ok := driver.(chain.Looker); ok && d.Ordinal >= chain.FirstHinted { // blocks do not show contract coin
		e, err := looker.Effect(ctx, d.TxHash, d.Key)
		return err == nil && e.Hash == d.BlockHash && !e.Failed && e.Amount.Cmp(d.Amount) == 0, err
	}
	b, err := driver.Fetch(ctx, d.BlockHeight)
	if err != nil {
		return false, err
	}
	if b.Header().Hash != d.BlockHash {
		return false, nil
	}
	transfers, err := b.Match(ctx, only(d.Key))
	if err != nil {
		return false, err
	}
	equal := 0
	for _, t := range transfers {
		if t.TxHash != d.TxHash || t.Asset != d.Asset || t.Contract != d.Contract || t.Amount.Cmp(d.Amount) != 0 {
			continue
		}
		switch {
		case chain.IsTraced(d.Ordinal) && chain.IsTraced(t.Ordinal): // hosts may count calls in different ways
			equal++
		case t.Ordinal == d.Ordinal:
			return true, nil
		}
	}
	return equal > d.EqualBefore, nil
}
