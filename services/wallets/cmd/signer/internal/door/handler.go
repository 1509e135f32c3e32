// Package door serves the signer's clients over a unix socket. Its handler judges a request, signs it and logs it, in
// this order. Clients reach no other part of the process.
package door

import (
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/cmd/signer/internal/journal"
	"causeway.internal/services/wallets/cmd/signer/internal/policy"
	"causeway.internal/services/wallets/cmd/signer/internal/vault"
	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
	"causeway.internal/services/wallets/internal/trontx"
)

// Handler signs what the policy allows, one request at a time.
type Handler struct {
	policy policy.Policy
	vault  *vault.Vault
	log    *slog.Logger
	stop   string // file whose existence stops signing; "" for none
	now    func() time.Time

	mu      sync.Mutex
	began   time.Time // first line of the log
	journal *journal.Journal
	known   map[string]given
	spends  []policy.Spend
	orders  map[string]spent // every order that was ever signed, by its id
	refused struct {
		hour  time.Time
		lines int
	}
}

// given is the answer to a signed id.
type given struct {
	print  string
	answer intent.Signed
	at     time.Time
}

// spent is a signed order with the one slot in which its forms may land. On tron, where only time keeps two forms
// apart, it counts the forms, and each names the one before.
type spent struct {
	network, slot, message string
	forms                  int
	newest                 string // hash
}

const (
	remember    = 30 * 24 * time.Hour // time for which the handler repeats an answer
	refusedMost = 1_000               // refusals that the journal takes in an hour; slog reports all
)

// NewHandler opens the log and reads the answers that were signed before.
func NewHandler(p policy.Policy, v *vault.Vault, logPath, stop string, log *slog.Logger, now func() time.Time) (*Handler, error) {
	h := &Handler{policy: p, vault: v, log: log, stop: stop, now: now, known: map[string]given{}, orders: map[string]spent{}}
	var bad error
	j, err := journal.Open(logPath, func(e journal.Entry) {
		if e.Number == 1 {
			h.began = e.At
		}
		if e.Event != journal.Signed || e.Request == nil || e.Signed == nil {
			return
		}
		if err := h.remember(*e.Request, *e.Signed, e.At); err != nil && bad == nil {
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
	h.journal = j
	return h, nil
}

// Close closes the log.
func (h *Handler) Close() error { return h.journal.Close() }

func (h *Handler) remember(r intent.Request, s intent.Signed, at time.Time) error {
	print, err := r.Fingerprint()
	if err != nil {
		return err
	}
	amount, err := intent.Units(r.Amount)
	if err != nil {
		return fmt.Errorf("reading a request: %w", err)
	}
	spend := policy.Spent(r, s.From, amount, at)
	h.spend(r, spend, s.TxHash)
	now := h.now()
	if now.Sub(at) < remember {
		h.known[r.ID] = given{print, s, at}
	}
	if now.Sub(at) < policy.Window {
		h.spends = append(h.spends, spend)
	}
	return nil
}

// spend records that a form of an order was signed.
func (h *Handler) spend(r intent.Request, s policy.Spend, hash string) {
	if r.Order == nil {
		return
	}
	next := spentBy(r, s)
	next.forms, next.newest = h.orders[s.Order].forms+1, hash
	h.orders[s.Order] = next
}

// spentBy is the slot of a refund with its order.
func spentBy(r intent.Request, s policy.Spend) spent {
	slot := s.Slot
	if r.Tron != nil {
		slot = "" // each form has one of its own
	}
	return spent{network: s.Network, slot: slot, message: string(r.Order.Message())}
}

// unspent refuses a second transaction for an order, however long ago the first one was signed. An order may have only
// these other forms: a replacement under the same nonce or of the same inputs, and on tron a bounded number of forms,
// each after the newest one.
func (h *Handler) unspent(r intent.Request, s policy.Spend) *intent.Refusal {
	if r.Order == nil {
		return nil
	}
	before, known := h.orders[s.Order]
	same := spentBy(r, s)
	same.forms, same.newest = before.forms, before.newest
	switch follows := r.Tron != nil && r.Tron.Follows != ""; {
	case !known && follows:
		return intent.Refuse(intent.OrderSpent, "the log has no form for the order %.80q", s.Order)
	case !known:
		return nil
	case before != same || r.Tron != nil && r.Tron.Follows != before.newest:
		return intent.Refuse(intent.OrderSpent, "another transaction was signed for the order %.80q", s.Order)
	case r.Tron != nil && before.forms >= h.policy.Networks[r.Network].Tron.FormsPerOrder:
		return intent.Refuse(intent.Forms, "the order %.80q has its %d forms", s.Order, before.forms)
	}
	return nil
}

// aged refuses an order that an earlier log may have. Its refusal takes the place of every other one, since those would
// end the refund.
func (h *Handler) aged(r intent.Request, now time.Time) *intent.Refusal {
	if r.Kind != intent.Refund || r.Order == nil {
		return nil
	}
	if _, known := h.orders[r.Order.ID]; known {
		return nil
	}
	return h.policy.Aged(*r.Order, h.began, now)
}

// signed reports whether a transaction was signed for an order, whatever the policy says about its request now: the
// policy may have changed since, and wallets fails a refund whose order is refused for good. A request that names the
// newest form proves that wallets has it.
func (h *Handler) signed(r intent.Request) bool {
	if r.Order == nil {
		return false
	}
	before, ok := h.orders[r.Order.ID]
	return ok && (r.Tron == nil || r.Tron.Follows != before.newest)
}

// Sign answers a request with the signed bytes, with a refusal (an *intent.Refusal), or with a fault of the signer
// itself.
func (h *Handler) Sign(r intent.Request) (intent.Signed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	print, err := r.Fingerprint()
	if err != nil {
		return intent.Signed{}, err
	}
	if h.stopped() {
		return intent.Signed{}, h.refuse(r, intent.Refuse(intent.Stopped, "the kill switch is on"), now)
	}
	if before, ok := h.known[r.ID]; ok {
		if before.print != print {
			return intent.Signed{}, h.refuse(r, intent.Refuse(intent.Reused, "the id was used for another request"), now)
		}
		return before.answer, nil
	}
	h.spends = policy.Recent(h.spends, now)
	plan, refusal, err := h.policy.Check(r, h.vault, h.spends, now)
	if err != nil {
		return intent.Signed{}, err
	}
	if refusal == nil {
		refusal = h.unspent(r, plan.Spend)
	}
	if aged := h.aged(r, now); aged != nil && (refusal == nil || !refusal.Passing() && refusal.Code != intent.OrderSpent) {
		refusal = aged
	}
	if refusal != nil && !refusal.Passing() && h.signed(r) {
		refusal = intent.Refuse(intent.OrderSpent, "a transaction was signed for the order %.80q, and now: %s", r.Order.ID, refusal.Message)
	}
	if refusal != nil {
		return intent.Signed{}, h.refuse(r, refusal, now)
	}
	raw, hash, err := h.carryOut(plan)
	if err != nil {
		return intent.Signed{}, err
	}
	answer := intent.Signed{ID: r.ID, From: plan.From.String(), TxHash: hash, Raw: hex.EncodeToString(raw)}
	if _, err := answer.Check(r, plan.From.String()); err != nil { // only the requested transaction leaves the process
		return intent.Signed{}, err
	}
	kept := r.Terms()
	if err := h.journal.Append(journal.Entry{At: now, Event: journal.Signed, Request: &kept, Signed: &answer}); err != nil {
		return intent.Signed{}, err
	}
	h.known[r.ID] = given{print, answer, now}
	h.spends = append(h.spends, plan.Spend)
	h.spend(r, plan.Spend, answer.TxHash)
	h.forget(now)
	h.log.Info("intent signed", "id", r.ID, "kind", r.Kind, "network", r.Network, "index", r.Index, "asset", r.Asset, "amount", r.Amount,
		"tx", answer.TxHash)
	return answer, nil
}

// carryOut signs the transaction of a plan.
func (h *Handler) carryOut(plan policy.Plan) (raw []byte, hash string, err error) {
	if plan.Solana != nil {
		raw, err = h.vault.SignSolana(h.policy.GasAccount, plan.Solana.Indices, plan.Solana.Transaction)
		if err != nil {
			return nil, "", err
		}
		return raw, soltx.Hash(raw), nil
	}
	if plan.SolanaRefund != nil {
		raw, err = h.vault.SignRefund(h.policy.RefundAccount, *plan.SolanaRefund)
		if err != nil {
			return nil, "", err
		}
		return raw, soltx.Hash(raw), nil
	}
	if c := plan.Bitcoin; c != nil {
		if raw, err = h.vault.SignBitcoin(plan.Account, c.Transaction, c.Scripts, c.Indices); err == nil {
			hash, err = c.Verify(raw, c.Scripts)
		}
		return raw, hash, err
	}
	if plan.Tron != nil {
		raw, err = h.vault.SignTron(plan.Account, plan.Index, *plan.Tron)
		id := plan.Tron.ID()
		return raw, hex.EncodeToString(id[:]), err
	}
	tx := plan.Transaction
	if a := plan.Authorized; a != nil {
		if tx.Data, err = h.vault.Authorize(h.policy.Account, a.Index, a.Authorization); err != nil {
			return nil, "", err
		}
	}
	raw, err = h.vault.SignEVM(plan.Account, plan.Index, tx)
	sum := evmtx.Hash(raw)
	return raw, "0x" + hex.EncodeToString(sum[:]), err
}

// stopped reports the kill switch. A switch that cannot be read counts as on.
func (h *Handler) stopped() bool {
	if h.stop == "" {
		return false
	}
	_, err := os.Stat(h.stop)
	return !errors.Is(err, os.ErrNotExist)
}

// refuse logs a refusal, up to the hourly limit of the log.
func (h *Handler) refuse(r intent.Request, refusal *intent.Refusal, now time.Time) error {
	h.log.Warn("intent refused", "id", r.ID, "kind", r.Kind, "network", r.Network, "index", r.Index, "asset", r.Asset,
		"code", refusal.Code, "reason", refusal.Message)
	if now.Sub(h.refused.hour) >= time.Hour {
		h.refused.hour, h.refused.lines = now, 0
	}
	if h.refused.lines++; h.refused.lines > refusedMost {
		return refusal
	}
	kept := r.Terms()
	err := h.journal.Append(journal.Entry{At: now, Event: journal.Refused, Request: &kept, Refusal: refusal})
	if errors.Is(err, journal.ErrLong) { // wallets never sends such a request: its id is enough
		kept = intent.Request{ID: r.ID[:min(len(r.ID), intent.IDMost)]}
		err = h.journal.Append(journal.Entry{At: now, Event: journal.Refused, Request: &kept, Refusal: refusal})
	}
	if err != nil {
		return err
	}
	return refusal
}

// forget drops answers that are too old to repeat.
func (h *Handler) forget(now time.Time) {
	for id, g := range h.known {
		if now.Sub(g.at) >= remember {
			delete(h.known, id)
		}
	}
}

// Stations are the addresses that pay for gas, the same one on every EVM network, and the pinned treasuries.
type Stations struct {
	Mode    string   `json:"mode"`
	Account uint32   `json:"account"`
	EVM     string   `json:"evm"`
	Tron    string   `json:"tron"`
	Solana  string   `json:"solana"`
	Nonces  []string `json:"nonces,omitempty"` // the nonce accounts of solana
	// RefundNonces are those of the refund station.
	RefundNonces []string          `json:"refundNonces,omitempty"`
	Treasuries   map[string]string `json:"treasuries"`
	// Refunds are the refund stations by family. A family without one makes no refunds.
	Refunds map[money.Family]string `json:"refunds,omitempty"`
	// Authorized are the tokens whose contract takes authorizations, by network and asset.
	Authorized map[string]map[string]intent.Domain `json:"authorized,omitempty"`
}

// Stations returns the stations and the pinned treasuries to clients.
func (h *Handler) Stations() (Stations, error) {
	gas, err := h.vault.Account(h.policy.GasAccount, 0)
	tron, tronErr := h.vault.TronAccount(h.policy.GasAccount, 0)
	solana, solanaErr := h.vault.SolanaStation(h.policy.GasAccount)
	out := Stations{
		Mode: h.policy.Mode, Account: h.policy.Account, EVM: gas.String(), Tron: tron.String(), Solana: solana.String(), Treasuries: map[string]string{},
		Authorized: map[string]map[string]intent.Domain{},
	}
	for name, n := range h.policy.Networks {
		out.Treasuries[name] = n.Treasury
		for symbol, a := range n.Assets {
			if a.Authorization == nil {
				continue
			}
			if out.Authorized[name] == nil {
				out.Authorized[name] = map[string]intent.Domain{}
			}
			out.Authorized[name][symbol] = *a.Authorization
		}
		if n.Solana != nil {
			out.Nonces, out.RefundNonces = n.Solana.Nonces, n.Solana.RefundNonces
		}
	}
	var refundErr error
	if h.policy.Orders != nil {
		out.Refunds, refundErr = h.refundStations(len(out.RefundNonces) > 0)
	}
	return out, errors.Join(err, tronErr, solanaErr, refundErr)
}

// refundStations are the refund stations by family. That of solana needs nonce accounts.
func (h *Handler) refundStations(nonces bool) (map[money.Family]string, error) {
	evm, err := h.vault.Account(h.policy.RefundAccount, 0)
	tron, tronErr := h.vault.TronAccount(h.policy.RefundAccount, 0)
	key, keyErr := h.vault.Witness(h.policy.RefundAccount, 0)
	bitcoin, encodeErr := address.Encode(money.Bitcoin, h.policy.Net(), key[:])
	out := map[money.Family]string{money.EVM: evm.String(), money.Tron: tron.String(), money.Bitcoin: bitcoin}
	err = errors.Join(err, tronErr, keyErr, encodeErr)
	if !nonces {
		return out, err
	}
	solana, solanaErr := h.vault.SolanaStation(h.policy.RefundAccount)
	out[money.Solana] = solana.String()
	return out, errors.Join(err, solanaErr)
}

// Places names deposit addresses by their indices.
type Places struct {
	Family  money.Family `json:"family"`
	Indices []uint32     `json:"indices"`
}

// placesMost bounds the addresses of one request.
const placesMost = 1_000

// Addresses derives deposit addresses, so that wallets can prove that the signer has the keys of the issued ones.
func (h *Handler) Addresses(p Places) ([]string, error) {
	if len(p.Indices) > placesMost {
		return nil, intent.Refuse(intent.Malformed, "more than %d addresses at once", placesMost)
	}
	out := make([]string, len(p.Indices))
	for i, index := range p.Indices {
		var err error
		switch p.Family {
		case money.EVM:
			var a evmtx.Account
			a, err = h.vault.Account(h.policy.Account, index)
			out[i] = a.String()
		case money.Tron:
			var a trontx.Account
			a, err = h.vault.TronAccount(h.policy.Account, index)
			out[i] = a.String()
		case money.Solana:
			var a soltx.Account
			a, err = h.vault.Solana(index)
			out[i] = a.String()
		case money.Bitcoin:
			var hash [20]byte
			if hash, err = h.vault.Witness(h.policy.Account, index); err == nil {
				out[i], err = address.Encode(money.Bitcoin, h.policy.Net(), hash[:])
			}
		default:
			return nil, intent.Refuse(intent.Malformed, "%.20q has no addresses here", p.Family)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
