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
				t.Fatal(lines.Text())
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
