package id_test

import (
	"regexp"
	"testing"
	"time"

	"causeway.internal/libs/id"
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
	for _, s := range []string{"", "pay_", good[:29], good + "0", "x" + good, "pyo_" + good[4:], good[:29] + "\x00", good[:29] + "u", good[:29] + "A", id.GiftReference()} {
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
