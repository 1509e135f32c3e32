// Package port finds loopback ports for servers that a test, or a stack, starts by address and may kill and start again.
//
// A port that the system chose is no good for that: between its choice and its use, and while the server is down, the
// system may give it to any other listener or connection of the machine. These ports lie below the range that the system
// chooses from, and no other process is given the same: each holds blocks of them by listening on a block's first.
package port

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// Blocks of ports end below 32768, where Linux begins to choose (net.ipv4.ip_local_port_range).
const (
	lowest = 20 * 1024
	size   = 256
	blocks = (32*1024 - lowest) / size
)

var mine struct {
	sync.Mutex
	claims    []net.Listener // stay open until the process ends
	next, end int            // of the newest block
}

// Free returns the address of a port that nobody listens on, another one at each call.
func Free(t testing.TB) string {
	t.Helper()
	ports, err := Take(1)
	if err != nil {
		t.Fatal(err)
	}
	return local(ports[0])
}

// Take returns ports that nobody listens on, others at each call. They stay this process's as long as it runs.
func Take(count int) ([]int, error) {
	mine.Lock()
	defer mine.Unlock()
	ports := make([]int, 0, count)
	for len(ports) < count {
		if mine.next == mine.end && !claim() {
			return nil, fmt.Errorf("all %d blocks of ports are taken", blocks)
		}
		if l, err := net.Listen("tcp4", local(mine.next)); err == nil {
			_ = l.Close()
			ports = append(ports, mine.next)
		}
		mine.next++
	}
	return ports, nil
}

// claim takes a block that no process holds. It begins anywhere: servers of a process that has ended may still run.
func claim() bool {
	for i, from := 0, rand.IntN(blocks); i < blocks; i++ {
		first := lowest + (from+i)%blocks*size
		if l, err := net.Listen("tcp4", local(first)); err == nil {
			mine.claims, mine.next, mine.end = append(mine.claims, l), first+1, first+size
			return true
		}
	}
	return false
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
