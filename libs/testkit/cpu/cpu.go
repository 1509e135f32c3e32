// Package cpu lets a benchmark count processor time, which a busy machine stretches less than wall time.
package cpu

import (
	"syscall"
	"testing"
	"time"
)

// Spent is the processor time of this process so far, its garbage collector's included.
func Spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Report reports the cost of one operation since before, in milliseconds.
func Report(b *testing.B, before time.Duration) {
	b.Helper()
	spent := Spent() - before
	b.ReportMetric(float64(spent.Microseconds())/1000/float64(b.N), "cpu-ms/op") //nolint:forbidigo // how the testing package takes a number
}
