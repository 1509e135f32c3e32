// Package door is what the signer's clients reach: the desk, which judges a request, signs it and logs it in that
// order, and the unix socket before it. Nothing else of the process can be reached from outside.
package door

import (
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/cmd/signer/internal/journal"
	"causeway.internal/services/wallets/cmd/signer/internal/policy"
	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/intent"
)

// Vault derives addresses and signs.
type Vault interface {
	policy.Keys
	Solana(index uint32) (string, error)
	SignEVM(account, index uint32, tx evmtx.Transaction) ([]byte, error)
}

// Desk signs what the policy allows, one request at a time.
type Desk struct {
	policy policy.Policy
	vault  Vault
	log    *slog.Logger
	stop   string // file whose existence is the kill switch; "" for none
	now    func() time.Time

	mu      sync.Mutex
	journal *journal.Journal
	known   map[string]given
	spends  []policy.Spend
	refused struct {
		hour  time.Time
		lines int
	}
}

// given is what was signed under an id.
type given struct {
	print  string
	answer intent.Signed
	at     time.Time
}

const (
	remember    = 30 * 24 * time.Hour // how long an answer can be given again
	refusedMost = 1_000               // refusals logged in an hour; more are only reported by slog
)

// NewDesk opens the log and takes up what was signed before.
func NewDesk(p policy.Policy, v Vault, logPath, stop string, log *slog.Logger, now func() time.Time) (*Desk, error) {
	d := &Desk{policy: p, vault: v, log: log, stop: stop, now: now, known: map[string]given{}}
	var bad error
	j, err := journal.Open(logPath, func(e journal.Entry) {
		if e.Event != journal.Signed || e.Request == nil || e.Signed == nil {
			return
		}
		if err := d.remember(*e.Request, *e.Signed, e.At); err != nil && bad == nil {
			bad = fmt.Errorf("line %d of the log: %w", e.Number, err)
		}
	})
	if err != nil {
		return nil, err
	}
	if bad == nil {
		bad = j.Append(journal.Entry{At: now(), Event: journal.Started})
	}
	if bad != nil {
		return nil, errors.Join(bad, j.Close())
	}
	d.journal = j
	return d, nil
}

// Close closes the log.
func (d *Desk) Close() error { return d.journal.Close() }

func (d *Desk) remember(r intent.Request, s intent.Signed, at time.Time) error {
	print, err := r.Fingerprint()
	if err != nil {
		return err
	}
	if now := d.now(); now.Sub(at) < remember {
		d.known[r.ID] = given{print, s, at}
		if now.Sub(at) < policy.Window {
			amount, err := intent.Units(r.Amount)
			if err != nil || r.EVM == nil {
				return errors.New("it holds a request that cannot be read")
			}
			d.spends = append(d.spends, policy.Spend{
				Network: r.Network, Slot: fmt.Sprintf("%s/%d", s.From, r.EVM.Nonce), Kind: r.Kind, Asset: r.Asset, Amount: amount, At: at,
			})
		}
	}
	return nil
}

// Sign answers a request: with the bytes, with a refusal (an *intent.Refusal), or with a fault of the signer itself.
func (d *Desk) Sign(r intent.Request) (intent.Signed, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	print, err := r.Fingerprint()
	if err != nil {
		return intent.Signed{}, err
	}
	if d.stopped() {
		return intent.Signed{}, d.refuse(r, intent.Refuse(intent.Stopped, "the kill switch is on"), now)
	}
	if before, ok := d.known[r.ID]; ok {
		if before.print != print {
			return intent.Signed{}, d.refuse(r, intent.Refuse(intent.Reused, "the id was used for another request"), now)
		}
		return before.answer, nil
	}
	d.spends = policy.Recent(d.spends, now)
	plan, refusal, err := d.policy.Check(r, d.vault, d.spends, now)
	if err != nil {
		return intent.Signed{}, err
	}
	if refusal != nil {
		return intent.Signed{}, d.refuse(r, refusal, now)
	}
	raw, err := d.vault.SignEVM(plan.Account, plan.Index, plan.Transaction)
	if err != nil {
		return intent.Signed{}, err
	}
	hash := evmtx.Hash(raw)
	answer := intent.Signed{ID: r.ID, From: plan.From.String(), TxHash: "0x" + hex.EncodeToString(hash[:]), Raw: hex.EncodeToString(raw)}
	if _, err := answer.Check(r, plan.From.String()); err != nil { // what leaves is what was asked for
		return intent.Signed{}, err
	}
	if err := d.journal.Append(journal.Entry{At: now, Event: journal.Signed, Request: &r, Signed: &answer}); err != nil {
		return intent.Signed{}, err
	}
	d.known[r.ID] = given{print, answer, now}
	d.spends = append(d.spends, plan.Spend)
	d.forget(now)
	d.log.Info("signed", "id", r.ID, "kind", r.Kind, "network", r.Network, "index", r.Index, "asset", r.Asset, "amount", r.Amount,
		"tx", answer.TxHash)
	return answer, nil
}

// stopped reports the kill switch. A switch that cannot be looked at is on.
func (d *Desk) stopped() bool {
	if d.stop == "" {
		return false
	}
	_, err := os.Stat(d.stop)
	return !errors.Is(err, os.ErrNotExist)
}

// refuse logs a refusal, as many an hour as a log can bear.
func (d *Desk) refuse(r intent.Request, refusal *intent.Refusal, now time.Time) error {
	d.log.Warn("refused", "id", r.ID, "kind", r.Kind, "network", r.Network, "index", r.Index, "asset", r.Asset,
		"code", refusal.Code, "why", refusal.Message)
	if now.Sub(d.refused.hour) >= time.Hour {
		d.refused.hour, d.refused.lines = now, 0
	}
	if d.refused.lines++; d.refused.lines > refusedMost {
		return refusal
	}
	if err := d.journal.Append(journal.Entry{At: now, Event: journal.Refused, Request: &r, Refusal: refusal}); err != nil {
		return err
	}
	return refusal
}

// forget drops answers that are too old to be asked for again.
func (d *Desk) forget(now time.Time) {
	for id, g := range d.known {
		if now.Sub(g.at) >= remember {
			delete(d.known, id)
		}
	}
}

// Stations are the addresses that pay for gas, which are one on every EVM network, and what is pinned.
type Stations struct {
	Mode       string            `json:"mode"`
	Account    uint32            `json:"account"`
	EVM        string            `json:"evm"`
	Treasuries map[string]string `json:"treasuries"`
}

// Stations tells clients which addresses are the house's own.
func (d *Desk) Stations() (Stations, error) {
	gas, err := d.vault.Account(d.policy.GasAccount, 0)
	out := Stations{Mode: d.policy.Mode, Account: d.policy.Account, EVM: gas.String(), Treasuries: map[string]string{}}
	for name, n := range d.policy.Networks {
		out.Treasuries[name] = n.Treasury
	}
	return out, err
}

// Places names deposit addresses by their indices.
type Places struct {
	Family  money.Family `json:"family"`
	Indices []uint32     `json:"indices"`
}

// placesMost bounds one look-up of addresses.
const placesMost = 1_000

// Addresses derives deposit addresses, so that wallets can prove that the signer has the keys of what it issued.
func (d *Desk) Addresses(p Places) ([]string, error) {
	if len(p.Indices) > placesMost {
		return nil, intent.Refuse(intent.Malformed, "more than %d addresses at once", placesMost)
	}
	out := make([]string, len(p.Indices))
	for i, index := range p.Indices {
		var err error
		switch p.Family {
		case money.EVM:
			var a evmtx.Account
			a, err = d.vault.Account(d.policy.Account, index)
			out[i] = a.String()
		case money.Solana:
			out[i], err = d.vault.Solana(index)
		default:
			return nil, intent.Refuse(intent.Malformed, "%.20q has no addresses here", p.Family)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
