package prometheus

import "testing"

func TestFaster(t *testing.T) {
	t.Parallel()
	const rules = `      - alert: A
        expr: |-
          time() - max by (network) (head{mode="live"}) > 1800
          or time() - max(other) > 3 * 86400
        for: 15m
        labels: {severity: page}
      - alert: B
        expr: sum(rate(x_total[5m])) / sum(increase(y_total[1m])) > 0.01
        for: 1d
        labels: {severity: ticket}
        annotations: {summary: no more for 15m}
`
	const want = `      - alert: A
        expr: |-
          time() - max by (network) (head{mode="live"}) > 1800
          or time() - max(other) > 3 * 86400
        for: 60000ms
        labels: {clock: fast, severity: page}
      - alert: B
        expr: sum(rate(x_total[20000ms])) / sum(increase(y_total[8000ms])) > 0.01
        for: 5760000ms
        labels: {clock: fast, severity: ticket}
        annotations: {summary: no more for 15m}
`
	if got := Faster(rules, 15); got != want {
		t.Errorf("Faster by 15: got\n%s\nwant\n%s", got, want)
	}
}
