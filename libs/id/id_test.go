package id_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/id"
)

func TestNew_sortsByTime(t *testing.T) {
	at := time.Date(2026, 4, 1, 13, 30, 0, 0, time.UTC)
	shape := regexp.MustCompile(`^pay_[0-9a-z]{26}$`)
	last := ""
	for i := range 1000 {
		got := id.New(id.Payment, at.Add(time.Duration(i)*time.Millisecond))
		if !shape.MatchString(got) || got <= last {
			t.Fatalf("%q after %q", got, last)
		}
		last = got
	}
}

func TestPaymentReference_isRandomAndWellFormed(t *testing.T) {
	seen := map[string]bool{}
	counts := map[rune]int{}
	const draws = 20_000
	for range draws {
		ref := id.PaymentReference()
		if !id.IsPaymentReference(ref) || seen[ref] {
			t.Fatalf("reference %q is malformed or repeats", ref)
		}
		seen[ref] = true
		for _, c := range strings.TrimPrefix(ref, "CW-") {
			counts[c]++
		}
	}
	mean := draws * 12 / len(id.Alphabet)
	for _, c := range id.Alphabet { // seven standard deviations of a fair draw
		if n := counts[c]; n < mean*92/100 || n > mean*108/100 {
			t.Errorf("%c was drawn %d times, want about %d", c, n, mean)
		}
	}
}

func TestIsPaymentReference_refuses(t *testing.T) {
	for _, s := range []string{"", "CW-", "CW-ABCDEFGHJKM", "CW-ABCDEFGHJKMNP", "cw-ABCDEFGHJKMN", "CW-ABCDEFGHJKM0", "CW-ABCDEFGHJKMN\n", "../ABCDEFGHJKMN"} {
		if id.IsPaymentReference(s) {
			t.Errorf("%q passes", s)
		}
	}
	if !regexp.MustCompile(`^RPT-[A-Z0-9]{6}$`).MatchString(id.ReportReference()) {
		t.Error("a report reference is malformed")
	}
}
