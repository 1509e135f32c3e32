package outbound

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// resolver returns a resolver that asks a name server of this test alone. Query n (from 0) is answered with
// answer(n), or with "no such name" when answer is nil.
func resolver(t *testing.T, answer func(n int) netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var once sync.WaitGroup
	once.Go(func() { nameServer(conn, answer) })
	t.Cleanup(func() { _ = conn.Close(); once.Wait() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func nameServer(conn net.PacketConn, answer func(n int) netip.Addr) {
	buf := make([]byte, 1500)
	for n := 0; ; n++ {
		size, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:size]) != nil || len(m.Questions) == 0 {
			continue
		}
		q := m.Questions[0]
		m.Response, m.Authoritative, m.Additionals = true, true, nil
		switch {
		case answer == nil:
			m.RCode = dnsmessage.RCodeNameError
		default:
			header := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}
			switch a := answer(n); {
			case q.Type == dnsmessage.TypeA && a.Is4():
				m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: a.As4()}}}
			case q.Type == dnsmessage.TypeAAAA && a.Is6():
				m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}}}
			}
		}
		if out, err := m.Pack(); err == nil {
			_, _ = conn.WriteTo(out, from)
		}
	}
}
