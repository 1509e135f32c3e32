package payment

// Outcome is the table's entry for one trigger in one state.
type Outcome string

// The outcomes. Move may lead to another state; its guards may also record or refuse. Record changes amounts and facets
// and never the state. Refuse changes nothing and is an error.
const (
	Move   Outcome = "move"
	Record Outcome = "record"
	Refuse Outcome = "refuse"
)

// Edge is one state that a move may lead to and when.
type Edge struct {
	To   State
	When string
}

// Cell is one field of the table.
type Cell struct {
	Outcome Outcome
	Edges   []Edge
	act     func(*change, Trigger) error
}

// Transitions is the total table: every state has every trigger. docs/state-machine.md is rendered from it.
func Transitions() map[State]map[TriggerName]Cell { return transitions }

// Short names of the states for the table below.
const (
	created    = State(StatusCreated)
	pending    = State(StatusPending)
	confirming = State(StatusConfirming)
	confirmed  = State(StatusConfirmed)
	unfunded   = StateUnfunded
	settling   = State(StatusSettling)
	settled    = State(StatusSettled)
	expired    = State(StatusExpired)
	cancelled  = State(StatusCancelled)
	review     = State(StatusNeedsReview)
	refunded   = State(StatusRefunded)
)

var transitions = build()

// act adapts a typed action. The trigger's name selects the column, so the type is right.
func act[T Trigger](f func(*change, T) error) func(*change, Trigger) error {
	return func(c *change, t Trigger) error { return f(c, t.(T)) }
}

func to(s State, when string) Edge { return Edge{s, when} }

func build() map[State]map[TriggerName]Cell {
	t := map[State]map[TriggerName]Cell{}
	for _, s := range States() {
		t[s] = map[TriggerName]Cell{}
		for _, name := range TriggerNames() {
			t[s][name] = Cell{Outcome: Refuse}
		}
	}
	move := func(s State, name TriggerName, f func(*change, Trigger) error, edges ...Edge) {
		t[s][name] = Cell{Outcome: Move, Edges: edges, act: f}
	}
	record := func(name TriggerName, f func(*change, Trigger) error, states ...State) {
		for _, s := range states {
			t[s][name] = Cell{Outcome: Record, act: f}
		}
	}
	commands(move, record)
	funds(move, record)
	payouts(move, record)
	refunds(move, record)
	return t
}

type (
	mover    func(State, TriggerName, func(*change, Trigger) error, ...Edge)
	recorder func(TriggerName, func(*change, Trigger) error, ...State)
)

// commands are the triggers of merchants, payers, recipients and operators.
func commands(move mover, record recorder) {
	move(StateNone, OnCreate, act((*change).create), to(created, "a request"), to(pending, "any other type"))
	move(StateNone, OnAdopt, act((*change).adopt),
		to(review, "money on an address without a payment"), to(cancelled, "the same, worth less than any transfer may be"))
	move(created, OnFulfil, act((*change).fulfil), to(pending, "rate locked now"))
	move(created, OnCancel, act((*change).cancel), to(cancelled, ""))
	move(pending, OnCancel, act((*change).cancel), to(cancelled, "nothing seen"))

	claim := act((*change).claim)
	move(pending, OnClaim, claim, to(unfunded, "a gift"))
	move(confirming, OnClaim, claim, to(unfunded, "a gift"))
	move(confirmed, OnClaim, claim, to(settling, "a gift"))

	move(confirmed, OnSettle, act((*change).settle), to(settled, "the caller pays out; valid token"))
	record(OnToken, act((*change).token), confirmed)
	record(OnRefundAddress, act((*change).refundAddress),
		created, pending, confirming, confirmed, unfunded, settling, settled, expired, cancelled, review, refunded)
	record(OnRefundProposal, act((*change).proposeRefund),
		pending, confirming, confirmed, unfunded, settling, settled, expired, cancelled, review, refunded)
	record(OnRefundConfirm, act((*change).confirmRefund),
		pending, confirming, confirmed, unfunded, settling, settled, expired, cancelled, review, refunded)
	record(OnNamed, act((*change).named),
		created, pending, confirming, confirmed, unfunded, settling, settled, expired, cancelled, review, refunded)

	move(review, OnAccept, act((*change).accept),
		to(confirmed, "some money is confirmed"), to(settling, "a claimed gift, or a second attempt"))
	move(review, OnRetry, act((*change).retry), to(settling, "payout failed or returned"))
	move(review, OnRefund, act((*change).refunded), to(refunded, "refund address known"))
}

// refunds are the triggers of refunds on a chain.
func refunds(move mover, record recorder) {
	record(OnRefundRequested, act((*change).requestRefund),
		pending, confirming, confirmed, unfunded, settling, settled, expired, cancelled, review, refunded)
	moved := act((*change).changeRefund)
	record(OnRefundChanged, moved, pending, confirming, confirmed, unfunded, settling, settled, expired, cancelled)
	move(review, OnRefundChanged, moved, to(refunded, "a final block holds the last refund, and nothing is owed"))
	move(refunded, OnRefundChanged, moved, to(review, "a confirmed refund was reorged away and can never land"))
}

// funds are the triggers of deposits, timers and screening.
func funds(move mover, record recorder) {
	deposits, window, screened := act((*change).changed), act((*change).windowOver), act((*change).screened)
	move(pending, OnDeposits, deposits, to(confirming, "sum ≥ due − tolerance"))
	move(confirming, OnDeposits, deposits,
		to(confirmed, "deep enough, screening clear"), to(pending, "reorged away"), to(expired, "reorged away after the window"),
		to(review, "more than the quote, and above a limit; reorged to a short sum after the window"))
	move(confirmed, OnDeposits, deposits,
		to(confirming, "reorged, other transfers still cover the due; mined again in a shallow block"), to(pending, "reorged away"), to(expired, "reorged away after the window"),
		to(review, "reorged to a short sum after the window"), to(settling, "reorged and covered again, a second attempt"),
		to(settled, "final, and credited to the merchant's balance"))
	move(unfunded, OnDeposits, deposits,
		to(settling, "deep enough, screening clear"), to(review, "more than the quote, and above a limit; a short sum after the window"),
		to(expired, "reorged away after the window: the claim is void"))
	move(settling, OnDeposits, deposits,
		to(unfunded, "a claimed gift reorged before the payout left"), to(pending, "a retry reorged before the payout left"),
		to(expired, "the same, after the window"), to(confirming, "the same, other transfers still cover the due"),
		to(review, "the same, a short sum after the window"))
	move(expired, OnDeposits, deposits,
		to(confirming, "on time and reported late; late within the grace, rate within the drift, at the lower rate; a short sum of a pro-rata type"),
		to(review, "late beyond grace or drift; short and not pro-rata; wrong asset; any transfer after the receiver was erased"))
	move(cancelled, OnDeposits, deposits, to(review, "any transfer"))
	record(OnDeposits, deposits, settled, review, refunded)

	move(created, OnWindow, window, to(expired, "not fulfilled"))
	move(pending, OnWindow, window,
		to(expired, "nothing received; then late money as from expired"), to(confirming, "a short sum of a pro-rata type"),
		to(review, "short and not pro-rata; wrong asset"))
	move(unfunded, OnWindow, window,
		to(expired, "nothing received: the claim is void"), to(settling, "short sum, pro-rata, deep enough"),
		to(review, "wrong asset"))
	move(confirming, OnWindow, window,
		to(expired, "no block holds the money when its hold after expiresAt ends"),
		to(confirmed, "the same, and a short sum of a pro-rata type is deep enough"),
		to(review, "the same, short and not pro-rata"))
	record(OnWindow, window, confirmed, settling, settled, expired, cancelled, review, refunded)

	move(confirmed, OnDeadline, act((*change).deadlineOver), to(review, "gift not claimed, or caller did not settle"),
		to(settled, "credited to the balance, confirmed by an earlier release"))
	record(OnDeadline, act((*change).deadlineOver),
		created, pending, confirming, unfunded, settling, settled, expired, cancelled, review, refunded)

	hit := to(review, "a hit")
	move(pending, OnScreened, screened, hit)
	move(confirming, OnScreened, screened, to(confirmed, "clear and deep enough"), hit)
	move(confirmed, OnScreened, screened, hit)
	move(unfunded, OnScreened, screened, to(settling, "clear and deep enough"), hit)
	move(settling, OnScreened, screened, to(review, "a hit before the payout left"))
	record(OnScreened, screened, settled, expired, cancelled, review, refunded)
}

// payouts are the triggers of the rail's answers.
func payouts(move mover, record recorder) {
	sending, unknown := act((*change).sending), act((*change).unknown)
	succeeded, failed, returned := act((*change).succeeded), act((*change).failed), act((*change).returned)
	move(confirmed, OnPayoutSending, sending, to(settling, "confirmed money, no hold"))
	record(OnPayoutSending, sending, settling)
	move(confirmed, OnPayoutUnknown, unknown, to(settling, "found at the rail after a restore"))
	record(OnPayoutUnknown, unknown, settling, settled, review, refunded)
	move(confirmed, OnPayoutSucceeded, succeeded, to(settling, "passing: found at the rail after a restore"))
	move(confirmed, OnPayoutFailed, failed, to(review, "this attempt"))
	move(confirmed, OnPayoutReturned, returned, to(review, "this attempt, found at the rail after a restore"))
	move(settling, OnPayoutSucceeded, succeeded, to(settled, "this attempt"))
	move(settling, OnPayoutFailed, failed, to(review, "this attempt, and no other rail takes over"))
	move(settling, OnPayoutReturned, returned, to(review, "this attempt; the rail never reported a success"))
	move(settled, OnPayoutReturned, returned, to(review, "this attempt"))
	record(OnPayoutSucceeded, succeeded, settled, refunded)
	record(OnPayoutFailed, failed, settled, review, refunded)
	move(review, OnPayoutSucceeded, succeeded, to(settled, "the rail had reported a failure: an incident"))
	record(OnPayoutReturned, returned, review, refunded)
}
