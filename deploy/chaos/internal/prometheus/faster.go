package prometheus

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	pending = regexp.MustCompile(`(?m)^( +for: )(\w+)$`)
	window  = regexp.MustCompile(`\[(\w+)\]`)
	labels  = regexp.MustCompile(`labels: \{severity: `)
)

// Faster is a file of rules whose clock runs faster: what must last before an alert fires (for:), and the windows of
// rates and increases, are divided by the factor, windows down to four scrapes. Nothing else changes: ages, levels, and
// counts within a window, are what they were, so that a count is harder to reach than in the real rules. Its alerts
// carry the label clock="fast".
func Faster(rules string, factor int) string {
	divide := func(text string, least time.Duration) string {
		d, ok := duration(text)
		if !ok {
			return text
		}
		return strconv.FormatInt(max(d/time.Duration(factor), least).Milliseconds(), 10) + "ms"
	}
	rules = pending.ReplaceAllStringFunc(rules, func(line string) string {
		m := pending.FindStringSubmatch(line)
		return m[1] + divide(m[2], 0)
	})
	rules = window.ReplaceAllStringFunc(rules, func(text string) string {
		return "[" + divide(strings.Trim(text, "[]"), 4*scrapeEvery) + "]"
	})
	return labels.ReplaceAllString(rules, "labels: {clock: fast, severity: ")
}

// duration reads a duration of one unit as Prometheus writes it.
func duration(text string) (time.Duration, bool) {
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}
	unit := units[text[len(text)-1]]
	n, err := strconv.Atoi(text[:len(text)-1])
	return time.Duration(n) * unit, unit > 0 && err == nil
}
