// Package tick lets the periodic work of a process run at the same moments. A process that wakes up pays for that,
// however little it does then: ten loops that each run every second, at moments of their own, wake it ten times a
// second.
package tick

import "time"

// origin is when the process began. So the processes of a cluster do not wake up together.
var origin = time.Now()

// Until is the time until the next whole interval since the process began, and so at most one interval. Loops that wait
// for it run together, and those of two seconds with every second run of those of one.
func Until(interval time.Duration) time.Duration {
	since := time.Since(origin) % interval
	if since < 0 { // in the bubble of a test, whose clock is years behind
		since += interval
	}
	return interval - since
}
