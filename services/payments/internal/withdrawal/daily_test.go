package withdrawal_test

import (
	"testing"

	"github.com/shopspring/decimal"

	"causeway.internal/services/payments/internal/withdrawal"
)

func TestSchedule_amount(t *testing.T) {
	for name, c := range map[string]struct {
		available, most, minimum string
		whole                    bool
		want                     string
	}{
		"all":                {"123.45", "1000", "100", false, "123.45"},
		"whole units":        {"123.45", "1000", "100", true, "123"},
		"the minimum":        {"100", "1000", "100", false, "100"},
		"below the minimum":  {"99.99", "1000", "100", false, "0"},
		"nothing":            {"0", "1000", "0", false, "0"},
		"less than nothing":  {"-5", "1000", "0", false, "0"},
		"more than one":      {"5000", "1000", "0", false, "1000"},
		"less than one unit": {"0.5", "1000", "0", true, "0"},
	} {
		d := decimal.RequireFromString
		if got := (withdrawal.Schedule{Minimum: d(c.minimum)}).Amount(d(c.available), d(c.most), c.whole); !got.Equal(d(c.want)) {
			t.Errorf("%s: Amount() = %s, want %s", name, got, c.want)
		}
	}
}
