package store

import "testing"

// TestStatus stores what is a status, which a number that comes over HTTP/2 need not be.
func TestStatus(t *testing.T) {
	for code, want := range map[int]int16{100: 100, 200: 200, 999: 999} {
		if got := status(code); got == nil || *got != want {
			t.Errorf("%d: got %v", code, got)
		}
	}
	for _, code := range []int{0, -1, 99, 1000, 65736, 1 << 40} {
		if got := status(code); got != nil {
			t.Errorf("%d: got %d", code, *got)
		}
	}
}
