package messaging

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/outbound/guard"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
)

// BenchmarkRead reads a message as payments writes it, with the body of an ordinary payment.
func BenchmarkRead(b *testing.B) {
	m := ordinary(b)
	policies := map[tenant.Mode]guard.Policy{tenant.Test: {Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := read(m, Rules{policies, eventKeys}); err != nil {
			b.Fatal(err)
		}
	}
}

func ordinary(tb testing.TB) bus.Message {
	tb.Helper()
	body := fmt.Appendf(nil, `{"id":"evt_06fv8m1jq5r7t2c9k3x4n8w1ya","type":"payment.pending","createdAt":"2026-04-01T13:30:00.000Z",`+
		`"mode":"test","data":{"payment":{"id":"pay_06fv8m1jq5r7t2c9k3x4n8w1yb","sequence":1,"status":"pending","amount":"12.50","late":false,`+
		`"asset":"USDT","metadata":{"order":"A-1007"},"fee":null,"addresses":[{"network":"ethereum",`+
		`"address":"0x9858EfFD232B4033E47d90003D41EC34EcaEda94"}],"note":%q}}}`, strings.Repeat("x", 200))
	raw, err := json.Marshal(wire.StatusChanged{
		EventID: "evt_06fv8m1jq5r7t2c9k3x4n8w1ya", Type: "payment.pending", MerchantID: "mer_06fv8m1jq5r7t2c9k3x4n8w1yc", Mode: tenant.Test,
		ObjectID: "pay_06fv8m1jq5r7t2c9k3x4n8w1yb", Sequence: 1, CallbackURL: "http://127.0.0.1:41234/hook",
		OccurredAt: time.Date(2026, 4, 1, 13, 30, 0, 123456789, time.UTC), Body: body,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return bus.Message{ID: "evt_06fv8m1jq5r7t2c9k3x4n8w1ya", Name: string(wire.PaymentStatusChangedV1), Body: raw}
}
