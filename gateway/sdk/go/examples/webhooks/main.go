// Webhooks receives webhooks, and prints the events of those that are genuine.
//
//	WEBHOOK_SECRET=whsec_… PORT=3000 go run ./examples/webhooks
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	causeway "causeway.internal/gateway/sdk/go"
)

func main() {
	log.SetFlags(0)
	secrets := strings.Fields(os.Getenv("WEBHOOK_SECRET")) // one, or several for the time while it is replaced
	var seen sync.Map                                      // a shop keeps the ids of events in its database, with what they changed
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "too long", http.StatusBadRequest)
			return
		}
		event, err := causeway.VerifyWebhook(body, r.Header, secrets...)
		if err != nil {
			http.Error(w, "not genuine", http.StatusBadRequest)
			return
		}
		if _, again := seen.LoadOrStore(event.ID, true); !again { // the same event may arrive again
			line := event.Type
			if data, err := event.Payment(); err == nil && event.Type == "payment.settled" && data.Payment.PayoutAmount != nil {
				line = fmt.Sprintf("%s %s: %s %s", event.Type, data.Payment.Reference, data.Payment.PayoutAmount, data.Payment.FiatCurrency)
			}
			fmt.Println(line)
		}
		w.WriteHeader(http.StatusNoContent)
	})}
	log.Fatal(server.Serve(listener))
}
