package payment

import (
	"testing"
	"time"
)

// A transfer that a mempool showed in time is on time until two hours after the window; mined later it is as late as its
// block. One that was first seen after the window never is on time by its sighting.
func TestMempool_time(t *testing.T) {
	expires := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	c := change{pol: Defaults(), p: Payment{ExpiresAt: expires}}
	for name, e := range map[string]struct {
		seen, mined time.Duration // after the window; mined zero is in no block
		onTime      bool
	}{
		"seen, in no block yet":            {-time.Minute, 0, true},
		"seen at the last moment":          {0, 2 * time.Hour, true},
		"seen, mined in the two hours":     {-time.Minute, 90 * time.Minute, true},
		"seen, mined at their end":         {-time.Minute, 2 * time.Hour, true},
		"seen, mined after them":           {-time.Minute, 2*time.Hour + time.Second, false},
		"seen late":                        {time.Second, 0, false},
		"seen late, mined at once":         {time.Second, time.Minute, false},
		"learnt late, mined in the window": {time.Hour, -time.Minute, true},
	} {
		d := Deposit{FirstSeenAt: expires.Add(e.seen)}
		if e.mined != 0 {
			d.BlockTime = expires.Add(e.mined)
		}
		if got := c.onTime(d); got != e.onTime {
			t.Errorf("%s: %v", name, got)
		}
		if e.mined > 2*time.Hour && !c.at(d).Equal(d.BlockTime) {
			t.Errorf("%s: its time is %s", name, c.at(d))
		}
	}
	if Defaults().Depths.Required("bitcoin", "BTC", Payment{}.Received).Met(Deposit{FirstSeenAt: expires}) {
		t.Error("a transfer in no block is deep enough")
	}
}

// Late money that a mempool showed for long is no option: mined more than two hours after it was seen, it is judged again, by
// the rate and the time of its block.
func TestMempool_late(t *testing.T) {
	expires := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	c := change{pol: Defaults(), p: Payment{ExpiresAt: expires}}
	for mined, late := range map[time.Duration]bool{3 * time.Hour: false, 3*time.Hour + time.Second: true} {
		d := Deposit{FirstSeenAt: expires.Add(time.Hour), BlockTime: expires.Add(mined)}
		if got := c.at(d).Equal(d.BlockTime); got != late {
			t.Errorf("seen an hour late, mined %s after the window: its time is %s", mined, c.at(d))
		}
	}
}
