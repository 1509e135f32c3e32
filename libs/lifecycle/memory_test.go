package lifecycle

import (
	"errors"
	"os"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// The heap's limit is a part of the container's, so that the collector works before the system kills.
func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	const pod = 512 << 20
	for name, test := range map[string]struct {
		container memlimit.Provider
		setting   string
		want      int64
	}{
		"a pod":                     {memlimit.Limit(pod), "", pod / 10 * 8},
		"a small pod":               {memlimit.Limit(64 << 20), "", (64 << 20) / 10 * 8},
		"nothing limits it":         {func() (uint64, error) { return 0, memlimit.ErrNoLimit }, "", 1 << 30},
		"no cgroup can be read":     {func() (uint64, error) { return 0, errors.New("unreadable") }, "", 1 << 30},
		"an operator's own setting": {memlimit.Limit(pod), "300MiB", 777 << 20}, // Go has read it before main began
	} {
		debug.SetMemoryLimit(777 << 20)
		if test.setting == "" {
			unset(t, "GOMEMLIMIT")
		} else {
			t.Setenv("GOMEMLIMIT", test.setting)
		}
		limitMemory(test.container)
		if got := debug.SetMemoryLimit(-1); got < test.want-8 || got > test.want+8 {
			t.Errorf("%s: the limit is %d, not %d", name, got, test.want)
		}
	}
}

func unset(t *testing.T, name string) {
	t.Helper()
	t.Setenv(name, "") // which restores it at the end
	if err := os.Unsetenv(name); err != nil {
		t.Fatal(err)
	}
}
