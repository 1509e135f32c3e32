package check

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// route is a line of libs/wire's table.
type route struct{ producer, consumer, queue string }

var (
	name   = regexp.MustCompile(`(\w+)\s+Name = "([a-z._0-9]+)"`)
	routed = regexp.MustCompile(`\broute\((\w+), (\w+), (\w+)\)`)
	taken  = regexp.MustCompile(`\bintake\((\w+), (\w+)\)`)
)

// topology reads the table from the source of libs/wire, which this module cannot import because it is outside the
// workspace.
func topology(t *testing.T) []route {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "libs", "wire", "wire.go"))
	if err != nil {
		t.Fatal(err)
	}
	service := map[string]string{"Payments": "payments", "Wallets": "wallets", "Reports": "reports", "Dispatcher": "callback-dispatcher"}
	messages := map[string]string{}
	for _, m := range name.FindAllStringSubmatch(string(raw), -1) {
		messages[m[1]] = m[2]
	}
	var all []route
	for _, m := range routed.FindAllStringSubmatch(string(raw), -1) {
		if messages[m[1]] != "" {
			all = append(all, route{service[m[2]], service[m[3]], service[m[3]] + "." + messages[m[1]]})
		}
	}
	for _, m := range taken.FindAllStringSubmatch(string(raw), -1) {
		if messages[m[1]] != "" {
			all = append(all, route{service[m[2]], "callback-dispatcher", "callback-dispatcher.status_changed.v1"})
		}
	}
	if len(all) < 9 {
		t.Fatalf("libs/wire has %d routes that can be read", len(all))
	}
	return all
}

func queues(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, r := range topology(t) {
		all = append(all, r.queue)
	}
	return all
}
