package outbox

import "time"

// Refused are the statements that read past the rows of a refused name, and those of it.
var Refused = map[string]string{"the other names": otherSQL, "one name": nameSQL}

// SleepUntilWoken lets a relay sleep after so many reads without a row, for longer than any test runs.
func (r *Relay) SleepUntilWoken(emptyMost int) { r.emptyMost, r.sleepMost = emptyMost, time.Hour }

// Hurry shortens all waits for acknowledgements.
func (r *Relay) Hurry() {
	r.markAfter, r.repeatAfter, r.lookEvery = 20*time.Millisecond, 100*time.Millisecond, 20*time.Millisecond
	r.settleAfter, r.sleepMost = 20*time.Millisecond, 20*time.Millisecond
}

// LookOften has the relay look for lost messages at once, with all other waits as they are.
func (r *Relay) LookOften() { r.lookEvery, r.sleepMost = 20*time.Millisecond, 20*time.Millisecond }

// OnePlan has a session plan a statement once.
const OnePlan = onePlanSQL

// StoredSQL deletes what consumers have stored.
const StoredSQL = storedSQL

// Waits asks whether a row waits that is not in flight.
const Waits = waitsSQL

// Prepared are the statements that a leader's session prepares, with arguments.
var Prepared = map[string]struct {
	SQL  string
	Args []any
}{
	"new":    {newSQL, []any{[]int64{7}, int64(8), batchRows}},
	"mark":   {markSQL, []any{[]int64{7}}},
	"delete": {deleteSQL, []any{[]int64{7}}},
}
