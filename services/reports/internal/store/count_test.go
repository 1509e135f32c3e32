package store

import (
	"testing"
	"time"
)

// Reports of two hours that come together count each in its own hour. The table keeps the newest.
func TestSourceCount_hours(t *testing.T) {
	t.Parallel()
	before := time.Date(2026, 11, 29, 11, 59, 59, 0, time.UTC)
	old, next := sourceCount{1, 1, "m", before.Truncate(time.Hour), before, before}, sourceCount{1, 1, "m", before.Add(time.Second), before.Add(time.Second), before.Add(time.Second)}
	want := sourceCount{5, 2, "m", next.window, old.first, next.last}
	for name, all := range map[string][]sourceCount{
		"the old ones first": {old, old, old, next, next},
		"the new ones first": {next, next, old, old, old},
		"in turn":            {old, next, old, next, old},
	} {
		var got sourceCount
		for _, one := range all {
			got = got.plus(one)
		}
		if got != want {
			t.Errorf("%s: sum = %+v, want %+v", name, got, want)
		}
	}
}
