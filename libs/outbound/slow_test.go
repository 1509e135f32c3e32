//go:build long

package outbound

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// Any 2xx within 15 seconds is a delivery, also one that comes in the last of them, over HTTP/1.1 and over HTTP/2.
func TestPost_answersInTheLastSeconds(t *testing.T) {
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(Total - 2*time.Second):
			w.WriteHeader(http.StatusAccepted)
		case <-r.Context().Done():
		}
	})
	secure := httptest.NewUnstartedServer(slow)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(secure.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	for name, url := range map[string]string{"HTTP/1.1": serve(t, slow).URL, "HTTP/2": secure.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := client(t, Config{RootCAs: roots}).Post(t.Context(), url, nil, []byte("{}"))
			if res.Class != OK || res.Status != http.StatusAccepted {
				t.Errorf("after %s: %s, %v", res.Timing.Total, res.Class, res.Err)
			}
		})
	}
}
