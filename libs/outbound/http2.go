package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
)

// handed is the connection on which an origin was found to speak HTTP/2. The transport takes it when it dials, unless it has
// another to that origin by then.
type handed struct {
	conn  *tls.Conn
	taken atomic.Bool
}

type handedKey struct{}

// postHTTP2 posts through the transport, over the connection that was opened for it, if any.
func (c *Client) postHTTP2(ctx context.Context, watch *stopwatch, r *request, opened *handed) Result {
	ctx, cancel := context.WithDeadline(ctx, r.until)
	defer cancel()
	if opened != nil {
		ctx = context.WithValue(ctx, handedKey{}, opened)
		defer func() {
			if opened.taken.CompareAndSwap(false, true) {
				_ = opened.conn.NetConn().Close()
			}
		}()
	}
	req, err := http.NewRequestWithContext(watch.attach(ctx), http.MethodPost, r.url.String(), bytes.NewReader(r.body))
	if err != nil {
		return Result{Err: &unusable{err}}
	}
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	if basic := r.basic(); basic != "" {
		req.Header.Set("Authorization", basic)
	}
	resp, err := c.http2.RoundTrip(req) // below http.Client, so nothing can follow a redirect
	if err != nil {
		return Result{Err: err}
	}
	defer resp.Body.Close()
	if resp.ProtoMajor < 2 {
		c.pool.forgetHTTP2(r.origin)
	}
	if resp.StatusCode == http.StatusSwitchingProtocols { // what follows knows no deadline: the transport has let go of it
		_ = resp.Body.Close()
		resp.Body = http.NoBody
	}
	var res Result
	res.read(resp)
	return res
}

// dialHTTP2 is how the transport comes by connections.
func (c *Client) dialHTTP2(ctx context.Context, _, address string) (net.Conn, error) {
	if opened, ok := ctx.Value(handedKey{}).(*handed); ok && opened.taken.CompareAndSwap(false, true) {
		return opened.conn, nil
	}
	watch, ok := ctx.Value(stopwatchKey{}).(*stopwatch)
	if !ok {
		watch = &stopwatch{}
	}
	_, secure, err := c.dial(ctx, watch, address, true)
	if err != nil {
		return nil, err
	}
	return secure, nil
}
