package process

import (
	"fmt"
	"net"
)

// Ports picks free loopback ports. All listeners stay open until the last one is chosen, so the ports differ; another
// program may still take one before it is used, so whoever uses them tries again on a clash.
func Ports(count int) ([]int, error) {
	ports := make([]int, 0, count)
	for range count {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
