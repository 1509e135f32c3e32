package outbox

import "time"

// SleepUntilWoken lets a relay sleep after so many reads without a row, for longer than any test runs.
func (r *Relay) SleepUntilWoken(emptyMost int) { r.emptyMost, r.sleepMost = emptyMost, time.Hour }
