package id_test

import (
	"regexp"
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

func TestReportReference(t *testing.T) {
	if !regexp.MustCompile(`^RPT-[A-Z0-9]{6}$`).MatchString(id.ReportReference()) {
		t.Error("a report reference is malformed")
	}
}
