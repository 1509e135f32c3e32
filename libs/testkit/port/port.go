// Package port finds loopback ports for servers that a test starts by address, and may kill and start again on the same.
//
// A port that the system chose is no good for that: between its choice and its use, and while the server is down, the
// system may give it to any other listener or connection of the machine. These ports lie below the range that the system
// chooses from, and no other process is given the same: each holds blocks of them by listening on a block's first.
package port

import (
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
	mine.Lock()
	defer mine.Unlock()
	for mine.next < mine.end || claim() {
		addr := local(mine.next)
		mine.next++
		if l, err := net.Listen("tcp4", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
	t.Fatalf("all %d blocks of ports are taken", blocks)
	return ""
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
