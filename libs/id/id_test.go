package id_test

import (
	"regexp"
	"testing"
	"time"

	"pgregory.net/rapid"

	"causeway.internal/libs/id"
	"causeway.internal/libs/shard"
)

func TestNew_sortsByTime(t *testing.T) {
	at := time.Date(2026, 4, 1, 13, 30, 0, 0, time.UTC)
	last := ""
	for i := range 1000 {
		got := id.New(id.Payment, at.Add(time.Duration(i)*time.Millisecond))
		if !id.IsPayment(got) || got <= last {
			t.Fatalf("%q after %q", got, last)
		}
		last = got
	}
}

func TestIsPayment(t *testing.T) {
	good := id.New(id.Payment, time.Now())
	for _, s := range []string{good, good + "aa", good + "2z", id.Placed(id.Payment, shard.First, time.Now())} {
		if !id.IsPayment(s) || !id.IsObject(s) {
			t.Errorf("%q is not taken for a payment's id", s)
		}
	}
	for _, s := range []string{
		"", "pay_", good[:29], good + "0", "x" + good, "pyo_" + good[4:], good[:29] + "\x00", good[:29] + "u", good[:29] + "A",
		good + "AA", good + "ga", good + "a0", good + "aaa", good + "aaaa", good + "aa\n", id.GiftReference(""), id.GiftReference(shard.First),
	} {
		if id.IsPayment(s) {
			t.Errorf("%q is taken for a payment's id", s)
		}
	}
}

func TestReportReference(t *testing.T) {
	if !regexp.MustCompile(`^RPT-[A-Z0-9]{6}$`).MatchString(id.ReportReference()) {
		t.Error("a report reference is malformed")
	}
}

// Ids sort by time whatever their codes, and an object beside another is in its shard.
func TestPlaced(t *testing.T) {
	codes := rapid.SampledFrom([]shard.Code{"", shard.First, "ZZ", "22", "K9"})
	from := time.Date(2026, 4, 1, 13, 30, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		code, other := codes.Draw(t, "code"), codes.Draw(t, "another's code")
		at := from.Add(time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "milliseconds")) * time.Millisecond)
		made := id.Placed(id.Refund, code, at)
		if later := id.Placed(id.Refund, other, at.Add(time.Millisecond)); later <= made {
			t.Fatalf("%s was made after %s and sorts before it", later, made)
		}
		if made < id.First(id.Refund, at) || made >= id.First(id.Refund, at.Add(time.Millisecond)) {
			t.Fatalf("%s is not between the bounds of its millisecond", made)
		}
		if in, ok := id.ShardOf(made); !ok || in != code.Home() {
			t.Fatalf("read the shard of %s: got %q, %v, want %q", made, in, ok, code.Home())
		}
		beside := id.Beside(id.Payout, made, at)
		if in, ok := id.ShardOf(beside); !ok || in != code.Home() || len(beside) != len(made) {
			t.Fatalf("make an id beside %s: got %s in %q, want the same shard", made, beside, in)
		}
	})
}

// Every reference and id carries its shard; those without a code are in the first.
func TestShardOf(t *testing.T) {
	for name, want := range map[string]shard.Code{
		"CW-7KQ2M9XHTB4N": shard.First, "CW-G7KQ2M9XHTB4N": shard.First, "CW-GKQ2M9XHTB4N": shard.First,
		"CW-AA7KQ2M9XHTB4N": "AA", "CW-GAA7KQ2M9XHTB4N": "AA", "CW-ZG7KQ2M9XHTB4N": "ZG", "CW-GZGGKQ2M9XHTB4N": "ZG", "CW-22GGGGGGGGGGGG": "22",
		"pay_0123456789abcdefghjkmnpqrs": shard.First, "pay_0123456789abcdefghjkmnpqrszg": "ZG", "wal_0123456789abcdefghjkmnpqrs22": "22",
	} {
		if got, ok := id.ShardOf(name); !ok || got != want {
			t.Errorf("read the shard of %q: got %q, %v, want %q", name, got, ok, want)
		}
	}
	for _, name := range []string{
		"", "CW-", "CW-7KQ2M9XHTB4", "CW-7KQ2M9XHTB4NP", "CW-GA7KQ2M9XHTB4N", "CW-LA7KQ2M9XHTB4N", "CW-AU7KQ2M9XHTB4N", "cw-aa7kq2m9xhtb4n", "CW-GGA7KQ2M9XHTB4N",
		"CW-AAA7KQ2M9XHTB4N", "RPT-7KQ2M9", "17", "pay_0123456789abcdefghjkmnpqrsga", "pay_0123456789abcdefghjkmnpqrsAA", "pay_0123456789abcdefghjkmnpqrsa",
		"PAY_0123456789abcdefghjkmnpqrs", "fee_ngn_1", "payment_0123456789abcdefghjkmnpqrs",
	} {
		if got, ok := id.ShardOf(name); ok {
			t.Errorf("read the shard of %q: got %q, want none", name, got)
		}
	}
}

// No text is read as a name of a shard unless that shard makes such names.
func FuzzShardOf(f *testing.F) {
	for _, name := range []string{"CW-AA7KQ2M9XHTB4N", "CW-G7KQ2M9XHTB4N", "pay_0123456789abcdefghjkmnpqrsaa", "CW-\u212aA7KQ2M9XHTB4N"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		in, ok := id.ShardOf(name)
		if ok != (id.IsPaymentReference(name) || id.IsObject(name)) {
			t.Errorf("ShardOf(%q) = %q, %v, which differs from its form", name, in, ok)
		}
		if ok && !in.Valid() {
			t.Errorf("ShardOf(%q) = %q, which is no code", name, in)
		}
	})
}
