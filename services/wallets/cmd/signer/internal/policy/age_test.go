package policy

import (
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/order"
	"causeway.internal/services/wallets/internal/intent"
)

// An order that the log does not know is carried out when it proves that it was approved since the log's beginning, or
// since the time that the policy names. Without a time it is carried out until the policy's date alone.
func TestAged(t *testing.T) {
	at := func(d time.Duration) order.Approved {
		o := approved(nil).Order
		return o.Approve(keysOf[o.Approval], now.Add(d))
	}
	untimed := at(time.Hour)
	untimed.TimedSignature = ""
	member := func(name string, d time.Duration) string {
		return `,"` + name + `":"` + now.Add(d).Format(time.RFC3339) + `"},"networks"`
	}
	earlier, later, until := member("after", -time.Hour), member("after", time.Hour), member("untimedUntil", time.Minute)
	for name, c := range map[string]struct {
		o      order.Approved
		policy string // members of orders
		clock  time.Time
		want   string
	}{
		"after the log's beginning":              {at(time.Second), "", now, ""},
		"within the margin":                      {at(-clockMargin), "", now, ""},
		"before the margin":                      {at(-clockMargin - time.Microsecond), "", now, intent.OrderAge},
		"since an earlier time":                  {at(-time.Hour), earlier, now, ""},
		"before the earlier time":                {at(-time.Hour - time.Microsecond), earlier, now, intent.OrderAge},
		"since a later time":                     {at(time.Hour), later, now, ""},
		"before the later time":                  {at(time.Hour - time.Microsecond), later, now, intent.OrderAge},
		"without a time":                         {untimed, "", now, intent.OrderAge},
		"without a time before the date":         {untimed, until, now, ""},
		"without a time at the date":             {untimed, until, now.Add(time.Minute), intent.OrderAge},
		"before the log's beginning with a date": {at(-time.Hour), until, now, intent.OrderAge},
	} {
		t.Run(name, func(t *testing.T) {
			text := refundText()
			if c.policy != "" {
				text = strings.Replace(text, `},"networks"`, c.policy, 1)
			}
			p, err := Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if got := codeOf(p.Aged(c.o, now, c.clock)); got != c.want {
				t.Errorf("judge an order %s: got the refusal %q, want %q", name, got, c.want)
			}
		})
	}
	if got := codeOf(parse(t).Aged(at(-time.Hour), now, now)); got != intent.OrderAge {
		t.Errorf("judge an old order under a policy without keys of orders: got the refusal %q, want %q", got, intent.OrderAge)
	}
}

func TestParse_orderTimes(t *testing.T) {
	for _, name := range []string{"after", "untimedUntil"} {
		for _, bad := range []string{"", "2026-11-01", "tomorrow"} {
			text := strings.Replace(refundText(), `},"networks"`, `,"`+name+`":"`+bad+`"},"networks"`, 1)
			if _, err := Parse([]byte(text)); err == nil {
				t.Errorf("parse a policy whose %s is %q: got no error, want one", name, bad)
			}
		}
	}
}
