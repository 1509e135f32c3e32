package port

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Other processes that ask at the same time are given other ports, and so is this one at each call.
func TestFree_isNobodyElses(t *testing.T) {
	const each, children = 300, 3 // more than a block
	const child = "CAUSEWAY_TEST_PORTS_UNTIL_STDIN_ENDS"
	if os.Getenv(child) != "" {
		for range each {
			fmt.Println("port", Free(t))
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	var all []string
	for range each {
		addr := Free(t)
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		all = append(all, addr)
	}
	for range children {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestFree_isNobodyElses$")
		cmd.Env, cmd.Stderr = append(os.Environ(), child+"=1"), t.Output()
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = stdin.Close(); _ = cmd.Wait() })
		lines := bufio.NewScanner(stdout)
		for range each {
			if !lines.Scan() {
				t.Fatalf("a process was given too few: %v", lines.Err())
			}
			addr, ok := strings.CutPrefix(lines.Text(), "port ")
			if !ok {
				t.Fatalf("read the line %q, want a port", lines.Text())
			}
			all = append(all, addr)
		}
	}
	for _, addr := range all { // chance alone may give different blocks
		port, err := strconv.Atoi(strings.TrimPrefix(addr, "127.0.0.1:"))
		if err != nil {
			t.Fatal(err)
		}
		if l, err := net.Listen("tcp4", local(port-(port-lowest)%size)); err == nil {
			t.Errorf("nobody holds the block of %s", addr)
			_ = l.Close()
		}
	}
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != each*(1+children) {
		t.Errorf("%d of %d ports differ", n, each*(1+children))
	}
}

// abandoned returns the first port of a block whose process has ended.
func abandoned(t *testing.T) (first int) {
	t.Helper()
	mine.Lock()
	defer mine.Unlock()
	next, end := mine.next, mine.end
	if !claim() {
		t.Fatal("no block is free")
	}
	first = mine.end - size
	last := len(mine.claims) - 1
	_ = mine.claims[last].Close()
	mine.claims, mine.next, mine.end = mine.claims[:last], next, end
	return first
}

// A server may run longer than the process that took its port.
func TestTake_leavesServersAlone(t *testing.T) {
	first := abandoned(t)
	server, err := net.Listen("tcp4", local(first+7))
	if err != nil {
		t.Fatal(err)
	}
	if quiet(first) {
		t.Error("a block in which a server runs is given away")
	}
	_ = server.Close()
	if !quiet(first) {
		t.Error("a block in which nobody listens is left alone")
	}
}

// A process that kills and starts servers keeps their ports for them.
func TestHold(t *testing.T) {
	first := abandoned(t)
	for range 2 {
		if err := Hold(first + 9); err != nil {
			t.Fatal(err)
		}
	}
	if l, err := net.Listen("tcp4", local(first)); err == nil {
		_ = l.Close()
		t.Error("the block can be taken")
	}
	for _, outside := range []int{lowest - 1, lowest + blocks*size} {
		if err := Hold(outside); err == nil {
			t.Errorf("port %d is held", outside)
		}
	}
}
