// Package sandbox plays payers and banks in test mode.
package sandbox

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/deposits"
	"causeway.internal/services/payments/internal/magic"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/views"
)

// The sandbox of docs/api-contract.md#sandbox: test mode only; to a live key its routes do not exist.
var (
	errNoSandbox   = fault.New(fault.NotFound, "route_not_found", "No such route.")
	errNotPayable  = fault.New(fault.Conflict, "not_payable", "This payment takes no deposit in its present state.")
	errNotExpiring = fault.New(fault.Conflict, "not_expirable", "This payment has no open window.")
)

// Store finds payments and payouts of an owner.
type Store interface {
	Find(ctx context.Context, o tenant.Owner, reference string) (change.View, error)
	// SendOwned keeps the answer and sends the commands that f gives for the payment of an owner, and nothing else of its
	// result. The payment is not locked.
	SendOwned(ctx context.Context, o tenant.Owner, reference string, k idempotency.Key, f change.Func) error
	// FindPayout is the reference of the owner's payment that a payout belongs to.
	FindPayout(ctx context.Context, o tenant.Owner, payoutID string) (reference string, err error)
	// TakeDown begins or ends an outage of a merchant's test mode and keeps the answer.
	TakeDown(ctx context.Context, o admission.Outage, lasts time.Duration, k idempotency.Key, answer func(admission.Outage) (idempotency.Answer, error)) (idempotency.Answer, error)
	// Hint makes a payout due, so that the worker asks its rail about it now.
	Hint(ctx context.Context, rail, reference string) error
}

// Sandbox plays payers and banks in test mode.
type Sandbox struct {
	Store     Store
	Access    *access.Payments
	Providers map[tenant.Mode]provider.Set
	Deposits  *deposits.Deposits
	Outages   *admission.Outages
	Policy    payment.Policy
	Render    views.Renderer
}

// finalityDepth is the depth of a simulated transfer on a network where only finality counts.
const finalityDepth = 64

// Deposit is the body of POST /v1/sandbox/payments/:reference/deposits. Without Given the amount is what is
// still owed; negative Confirmations mean enough. With Crypto money of the wrong asset comes.
type Deposit struct {
	Amount        decimal.Decimal
	Given         bool
	Crypto        string // another asset of the payment's network; "" is the asked one
	Confirmations int64
	Outcome       string // one of DepositOutcomes; "" for a transfer without trouble
}

// The outcomes of a simulated transfer.
const (
	OutcomeReorg   = "reorg"         // its block leaves the chain after its confirmations, and a later one holds it again
	OutcomeDropped = "reorg_dropped" // the same, and no later block holds it
	OutcomeHold    = string(magic.Listed)
	OutcomeOver    = string(magic.Above)
)

// DepositOutcomes lists the outcomes that a test may set for a transfer.
func DepositOutcomes() []string {
	return []string{OutcomeReorg, OutcomeDropped, OutcomeHold, OutcomeOver}
}

type depositAnswer struct {
	Success bool        `json:"success"`
	Deposit depositView `json:"deposit"`
}

type depositView struct {
	DepositAddress string       `json:"depositAddress"`
	Amount         money.Number `json:"amount"`
	Crypto         string       `json:"crypto"`
	Network        string       `json:"network"`
	Confirmations  int64        `json:"confirmations"`
}

// SimulateDeposit asks the simulated chain for a transfer to the payment's address.
func (a *Sandbox) SimulateDeposit(ctx context.Context, o tenant.Owner, reference string, d Deposit, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if o.Mode != tenant.Test {
		return idempotency.Answer{}, errNoSandbox
	}
	if d.Given && (!d.Amount.IsPositive() || d.Amount.GreaterThan(money.Max)) {
		problems.Add("amount", "must be greater than 0 and at most %s", money.Max)
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	if !id.IsPaymentReference(reference) {
		return idempotency.Answer{}, change.ErrNotFound
	}
	simulated := func(v change.View, now time.Time) (change.Result, error) { return a.simulated(v, d, now) }
	// A transfer may come at any time, so the payment need not be locked.
	return a.Access.Once(ctx, k, simulated, func(f change.Func) error { return a.Store.SendOwned(ctx, o, reference, k, f) })
}

// simulated is the change that sends a simulated transfer to a payment.
func (a *Sandbox) simulated(v change.View, d Deposit, now time.Time) (change.Result, error) {
	p := v.Payment
	switch p.State() {
	case payment.State(payment.StatusPending), payment.State(payment.StatusConfirming), payment.StateUnfunded,
		payment.State(payment.StatusExpired), payment.State(payment.StatusCancelled):
	default:
		return change.Result{}, errNotPayable
	}
	n, ok := money.NetworkOf(p.Quote.Network)
	if !ok || p.Address == "" {
		return change.Result{}, errNotPayable
	}
	crypto := p.Quote.Crypto
	if d.Crypto != "" {
		crypto = d.Crypto
	}
	asset, ok := n.Asset(crypto)
	if !ok {
		var problems fault.Problems
		problems.Add("crypto", "is no crypto of the payment's network")
		return change.Result{}, problems.Err()
	}
	owed := a.owed(v)
	if d.Outcome == OutcomeOver {
		if !p.Type.ProRata() || d.Crypto != "" {
			var problems fault.Problems
			problems.Add("outcome", "over_limit is for transfers and gifts, which convert what is paid too much, in their crypto")
			return change.Result{}, problems.Err()
		}
		owed = PayOver.amount(p.Quote, owed)
	}
	amount, err := depositAmount(owed, asset, d)
	if err != nil {
		return change.Result{}, err
	}
	depth, leaves := d.Confirmations, int64(0)
	if d.Outcome == OutcomeReorg || d.Outcome == OutcomeDropped {
		depth, leaves = -1, max(d.Confirmations, 1)
	}
	if depth < 0 {
		depth = a.enough(p, amount)
	}
	requestID := id.New(id.Message, now)
	body, err := views.Encode(depositAnswer{true, depositView{p.Address, money.N(amount), asset.Symbol, p.NetworkName, depth}})
	if err != nil {
		return change.Result{}, err
	}
	return change.Result{
		Answer: &idempotency.Answer{Status: change.StatusOK, Body: body},
		Commands: []change.Command{{Name: wire.SimulateDepositV1, ID: requestID, Payload: wire.SimulateDeposit{
			RequestID: requestID, Address: p.Address, Network: n.Name, Asset: asset.Symbol, Amount: asset.ToUnits(amount).Truncate(0).String(), Confirmations: depth,
			Sender: magic.Sender(d.Outcome).Address(n.Family), LeavesAfter: leaves, Returns: d.Outcome == OutcomeReorg,
		}}},
	}, nil
}

func depositAmount(owed decimal.Decimal, asset money.Asset, d Deposit) (decimal.Decimal, error) {
	var problems fault.Problems
	amount := d.Amount
	switch {
	case !d.Given:
		amount = owed
	case money.Digits(amount) > asset.Decimals:
		problems.Add("amount", "must have at most %d fractional digits", asset.Decimals)
	}
	return amount, problems.Err()
}

// enough is the depth that confirms a transfer of this amount on top of the received amount.
func (a *Sandbox) enough(p payment.Payment, amount decimal.Decimal) int64 {
	p.Received = p.Received.Add(amount)
	if need := a.Policy.Need(p); need.Confirmations > 0 {
		return need.Confirmations
	}
	return finalityDepth
}

// ExpireNow closes the payment's window as the timer would, in test mode.
func (a *Sandbox) ExpireNow(ctx context.Context, o tenant.Owner, reference string, k idempotency.Key) (idempotency.Answer, error) {
	if o.Mode != tenant.Test {
		return idempotency.Answer{}, errNoSandbox
	}
	return a.Access.Owned(ctx, o, reference, k, a.expired)
}

// expired is the change that closes a payment's window now.
func (a *Sandbox) expired(v change.View, now time.Time) (change.Result, error) {
	if due, name := v.Payment.Timer(); due.IsZero() || name != payment.OnWindow {
		return change.Result{}, errNotExpiring
	}
	r, err := a.Deposits.CloseWindow(v, true, now)
	if err != nil {
		return change.Result{}, err
	}
	return a.Render.Answered(v, r)
}
