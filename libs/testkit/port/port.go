// Package port finds loopback ports for servers that a test, or a stack, starts by address and may kill and start
// again.
//
// A port that the system chose does not suffice: between its choice and its use, and while the server is down, the
// system may give it to any other listener or connection of the machine. These ports lie below the range that the
// system chooses from, and each belongs to one process: a process holds blocks of ports by listening on a block's
// first. A block in which a server still runs is skipped too, since the process that took it may have ended.
package port

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
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

// Free returns the address of a port without a listener, another one at each call.
func Free(t testing.TB) string {
	t.Helper()
	ports, err := Take(1)
	if err != nil {
		t.Fatal(err)
	}
	return local(ports[0])
}

// Take returns ports without listeners, others at each call. They belong to this process as long as it runs.
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

// Hold keeps the block of a port that another process took, so that it stays reserved when that process has ended and
// while the port's server is down. It belongs to this process as long as it runs.
func Hold(port int) error {
	if port < lowest || port >= lowest+blocks*size {
		return fmt.Errorf("port %d is in no block", port)
	}
	mine.Lock()
	defer mine.Unlock()
	first := port - (port-lowest)%size
	if slices.ContainsFunc(mine.claims, func(l net.Listener) bool { return l.Addr().String() == local(first) }) {
		return nil
	}
	l, err := net.Listen("tcp4", local(first))
	if err != nil {
		return fmt.Errorf("hold the block of port %d: %w", port, err)
	}
	mine.claims = append(mine.claims, l)
	return nil
}

// claim takes a block that no process holds and in which nothing listens.
func claim() bool {
	for i, from := 0, rand.IntN(blocks); i < blocks; i++ {
		first := lowest + (from+i)%blocks*size
		if l, err := net.Listen("tcp4", local(first)); err == nil {
			if !quiet(first) {
				_ = l.Close()
				continue
			}
			mine.claims, mine.next, mine.end = append(mine.claims, l), first+1, first+size
			return true
		}
	}
	return false
}

// quiet reports whether nothing listens in the rest of a block.
func quiet(first int) bool {
	for port := first + 1; port < first+size; port++ {
		l, err := net.Listen("tcp4", local(port))
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
