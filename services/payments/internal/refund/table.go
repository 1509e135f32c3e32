package refund

// TriggerName names a column of the table.
type TriggerName string

// The closed set of triggers: decisions of people, and the reports of wallets.
const (
	OnApprove   TriggerName = "approve"
	OnRefuse    TriggerName = "refuse"
	OnCancel    TriggerName = "cancel"
	OnTaken     TriggerName = "taken"
	OnBroadcast TriggerName = "broadcast"
	OnFinal     TriggerName = "final"
	OnReorged   TriggerName = "reorged_away"
	OnFailed    TriggerName = "failed"
)

// TriggerNames lists every column of the table.
func TriggerNames() []TriggerName {
	return []TriggerName{OnApprove, OnRefuse, OnCancel, OnTaken, OnBroadcast, OnFinal, OnReorged, OnFailed}
}

// Effect is a booking that a transition causes.
type Effect string

// The effects.
const (
	Book     Effect = "book"      // the money leaves the treasury
	Reverse  Effect = "reverse"   // the money is in the treasury again
	GiveBack Effect = "give_back" // the money is owed to the payer again
)

// Cell is the outcome of one trigger in one state: refused, or taken with the next state.
type Cell struct {
	Taken   bool
	To      State
	Effects []Effect
}

// Transitions is the total table: every state has every trigger. A part of docs/state-machine.md is rendered from it.
func Transitions() map[State]map[TriggerName]Cell { return transitions }

var transitions = build()

// build makes the table. A cancellation only asks wallets, which fails the refund or lets it go on. A newer report of
// wallets may overtake an older one, so a report may skip states. A failed
// refund takes no further report: wallets fails an order only when none of its transactions can land, so such a report
// is an incident.
func build() map[State]map[TriggerName]Cell {
	t := map[State]map[TriggerName]Cell{}
	for _, s := range States() {
		t[s] = map[TriggerName]Cell{}
		for _, name := range TriggerNames() {
			t[s][name] = Cell{}
		}
	}
	take := func(from State, name TriggerName, to State, effects ...Effect) {
		t[from][name] = Cell{Taken: true, To: to, Effects: effects}
	}
	take(Requested, OnApprove, Approved)
	take(Requested, OnRefuse, Failed, GiveBack)
	for _, s := range []State{Approved, Signing} {
		take(s, OnCancel, s)
		take(s, OnTaken, Signing)
		take(s, OnBroadcast, Sent)
		take(s, OnReorged, Sent)
		take(s, OnFinal, Confirmed, Book)
		take(s, OnFailed, Failed, GiveBack)
	}
	take(Sent, OnTaken, Sent)
	take(Sent, OnBroadcast, Sent)
	take(Sent, OnReorged, Sent)
	take(Sent, OnFinal, Confirmed, Book)
	take(Sent, OnFailed, Failed, GiveBack)
	take(Confirmed, OnBroadcast, Sent, Reverse)
	take(Confirmed, OnReorged, Sent, Reverse)
	take(Confirmed, OnFinal, Confirmed, Reverse, Book)
	take(Confirmed, OnFailed, Failed, Reverse, GiveBack)
	return t
}
