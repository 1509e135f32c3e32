package proxy_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// net/http itself answers malformed HTTP in plain text (docs/decisions/0005): the status is right, the connection ends,
// and no service receives the request.
func TestProxy_malformed(t *testing.T) {
	w := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the service was called") }))
	key := "X-API-Key: " + testSecret + "\r\n"
	for name, tc := range map[string]struct {
		raw    string
		status int
	}{
		"broken escape":  {"GET /v1/payments/% HTTP/1.1\r\nHost: x\r\n" + key + "\r\n", 400},
		"no host":        {"GET /v1/payments/x HTTP/1.1\r\n" + key + "\r\n", 400},
		"two lengths":    {"POST /v1/payments HTTP/1.1\r\nHost: x\r\n" + key + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}", 400},
		"unknown coding": {"POST /v1/payments HTTP/1.1\r\nHost: x\r\n" + key + "Transfer-Encoding: gzip\r\n\r\n", 501},
		"wrong length":   {"POST /v1/payments HTTP/1.1\r\nHost: x\r\n" + key + "Content-Length: x\r\n\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			conn := w.dial(t)
			fmt.Fprint(conn, tc.raw)
			in := bufio.NewReader(conn)
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if res.StatusCode != tc.status || !res.Close {
				t.Errorf("%d, close %v; want %d and the end of the connection", res.StatusCode, res.Close, tc.status)
			}
			if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
				t.Errorf("the connection goes on: %v", err)
			}
		})
	}
}
