package wire_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files and docs/events.md")

var at = time.Date(2026, 4, 1, 13, 30, 0, 0, time.UTC)

const (
	addressExample = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
	hashExample    = "0x8c1f0a7f2f1d4b8e9c3a5d6e7f8091a2b3c4d5e6f70819a2b3c4d5e6f7081920"
)

// examples holds one payload of every message. Its golden form is a promise between services that may run at
// different versions: a field may be added, never removed or retyped.
var storedExample = wire.Stored{Messages: []wire.StoredMessage{{Row: 41, ID: "msg_01"}, {Row: 42, ID: "msg_02"}}}

var examples = map[wire.Name]any{
	wire.AllocateAddressesV1: wire.AllocateAddresses{RequestID: "msg_01", Mode: tenant.Test, Family: money.EVM, Count: 1024},
	wire.AddressesAllocatedV1: wire.AddressesAllocated{
		RequestID: "msg_01", Mode: tenant.Test, Family: money.EVM, Part: 1, Parts: 3,
		Addresses: []wire.Address{{WalletID: "wal_01", Address: addressExample}},
	},
	wire.DepositChangedV1: wire.DepositChanged{
		Key: "ethereum:" + hashExample + ":0", Version: 3, Mode: tenant.Live, Family: money.EVM, Network: "ethereum",
		Address: addressExample, Asset: "USDT", Contract: "0xdAC17F958D2ee523a2206206994597C13D831ec7", TxHash: hashExample,
		State: wire.Confirmed, BlockHeight: 100, BlockHash: hashExample, BlockTime: at, Amount: "10000000", Depth: 12, Head: 111,
		FirstSeenAt: at, Senders: []string{addressExample}, Number: 42, Witness: wire.WitnessConfirmed,
	},
	wire.ScannedThroughV1: wire.ScannedThrough{
		Mode: tenant.Live, Network: "ethereum", Height: 111, Finalized: 64, BlockTime: at, Deposits: 42,
		State: wire.ScanFollowing, Head: 112, HeadTime: at, ToldAt: at, Untraced: true,
	},
	wire.OutgoingFinalV1: wire.OutgoingFinal{
		Mode: tenant.Live, Network: "ethereum", TxHash: hashExample, Kind: wire.OutgoingSweep, Asset: "USDT", Amount: "10000000", Fee: "1200000000000000",
		Returned: "2039280", Part: "swp_01",
	},
	wire.HoldingsReadV1: wire.HoldingsRead{
		Mode: tenant.Live, Network: "ethereum", ReadAt: at, Holdings: []wire.Holding{{
			Asset: "USDT", Deposits: "10000000", GasStation: "0", RefundStation: "5000000", Treasury: "900000000", Expected: "915000000", Standalone: "0", Unread: 2,
		}},
	},
	wire.AddressesOwnedV1: wire.AddressesOwned{Addresses: []wire.OwnedAddress{{Mode: tenant.Test, Family: money.EVM, Address: addressExample}}},
	wire.SimulateDepositV1: wire.SimulateDeposit{
		RequestID: "msg_02", Address: addressExample, Network: "ethereum", Asset: "USDT", Amount: "10000000", Confirmations: 12,
	},
	wire.AddressesUsedV1: wire.AddressesUsed{Addresses: []wire.UsedAddress{{
		Mode: tenant.Test, Family: money.EVM, Address: addressExample, Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}}},
	wire.LookAtTransactionV1: wire.LookAtTransaction{
		Mode: tenant.Live, Network: "base", Address: addressExample, Asset: "ETH", TxHash: hashExample,
	},
	wire.RefundApprovedV1: wire.RefundApproved{
		Approved: order.Approved{
			Order: order.Order{
				Kind: order.Refund, ID: "rfd_01", Mode: tenant.Live, Network: "ethereum", Asset: "USDT",
				Contract: "0xdAC17F958D2ee523a2206206994597C13D831ec7", Amount: "25000000", To: addressExample, Approval: order.Automatic,
			},
			Signature: "3q2+7w==", ApprovedAt: at, TimedSignature: "3q2+8A==",
		},
		Currency: money.NGN,
	},
	wire.RefundWithdrawnV1: wire.RefundWithdrawn{
		Order: order.Order{
			Kind: order.Refund, ID: "rfd_01", Mode: tenant.Live, Network: "ethereum", Asset: "USDT",
			Contract: "0xdAC17F958D2ee523a2206206994597C13D831ec7", Amount: "25000000", To: addressExample, Approval: order.Automatic,
		},
		WithdrawnAt: at,
	},
	wire.RefundsPausedV1: wire.RefundsPaused{Version: 1775048400000000, Pauses: []wire.RefundPause{{Currency: money.NGN, Network: "tron"}}},
	wire.RefundChangedV1: wire.RefundChanged{
		RefundID: "rfd_01", Version: 3, Mode: tenant.Live, Network: "ethereum", State: wire.RefundConfirmed, TxHash: hashExample,
		Amount: "25000000", Fee: "1200000000000000", Reason: wire.RefundReverted, OccurredAt: at,
	},
	wire.FindTransferV1: wire.FindTransfer{
		RequestID: "msg_03", Mode: tenant.Test, Network: "ethereum", Address: addressExample, TxHash: hashExample,
		Owed: []wire.Sum{{Asset: "USDT", Amount: "10000000"}},
	},
	wire.TransferFoundV1: wire.TransferFound{
		RequestID: "msg_03", Mode: tenant.Test, Network: "ethereum", Address: addressExample, TxHash: hashExample, State: wire.TransferFinal,
		Sums: []wire.Sum{{Asset: "USDT", Amount: "10000000"}}, BlockHeight: 100, BlockTime: at,
	},
	wire.PaymentStatusChangedV1:                   withToken(statusChanged("payment.confirmed", "pay_01")),
	wire.WalletStatusChangedV1:                    statusChanged("wallet.watching", "wal_01"),
	wire.ReportStatusChangedV1:                    statusChanged("report.created", "RPT-ABC234"),
	wire.StoredBy(wire.Wallets, wire.Payments):    storedExample,
	wire.StoredBy(wire.Payments, wire.Wallets):    storedExample,
	wire.StoredBy(wire.Payments, wire.Reports):    storedExample,
	wire.StoredBy(wire.Dispatcher, wire.Payments): storedExample,
	wire.StoredBy(wire.Dispatcher, wire.Wallets):  storedExample,
	wire.StoredBy(wire.Dispatcher, wire.Reports):  storedExample,
	wire.FraudSignalV1: wire.FraudSignal{
		Mode: tenant.Live, Address: "0x9858effd232b4033e47d90003d41ec34ecaeda94", Merchants: 2, Reports: 3, Version: 3, OccurredAt: at, Confirmed: new(true),
	},
}

func statusChanged(kind, object string) wire.StatusChanged {
	return wire.StatusChanged{
		EventID: "evt_01", Type: kind, MerchantID: "acme", Mode: tenant.Test, ObjectID: object, Sequence: 1,
		CallbackURL: "https://shop.example/hook", OccurredAt: at, Body: []byte(`{"id":"evt_01"}`),
	}
}

func withToken(e wire.StatusChanged) wire.StatusChanged {
	e.Body, e.Token = []byte(`{"id":"evt_01","data":{"payment":{`+wire.TokenMask+`}}}`), []byte("sealed")
	return e
}

func TestTopology_isWhole(t *testing.T) {
	queues := map[string]bool{}
	for _, r := range wire.Topology() {
		if _, ok := examples[r.Name]; !ok {
			t.Errorf("%s has no example, so its shape is not pinned", r.Name)
		}
		if r.Exchange == "" || r.Consumer == "" || (queues[r.Queue] && r.Queue != wire.IntakeQueue) {
			t.Errorf("%s: bad route %+v", r.Name, r)
		}
		queues[r.Queue] = true
	}
	for _, r := range wire.Topology() {
		if r.Answer == (r.Stored != "") || !r.Answer && !queues[r.Exchange+"."+string(r.Stored)] {
			t.Errorf("%s: a message is answered, an answer is not: %+v", r.Name, r)
		}
	}
	if len(examples) != len(wire.Topology()) {
		t.Errorf("%d examples for %d messages", len(examples), len(wire.Topology()))
	}
}

func TestMessages_golden(t *testing.T) {
	for name, payload := range examples {
		raw, err := json.MarshalIndent(payload, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", string(name)+".json")
		if recorded, err := os.ReadFile(path); err == nil { // one that is new has none
			for _, problem := range lost(t, recorded, raw) {
				t.Errorf("%s: readers of the last release break: %s", name, problem)
			}
		}
		if !t.Failed() {
			golden(t, path, append(raw, '\n'))
		}
		back := reflect.New(reflect.TypeOf(payload))
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(back.Interface()); err != nil || !reflect.DeepEqual(back.Elem().Interface(), payload) {
			t.Errorf("%s does not survive its encoding: %v", name, err)
		}
	}
}

// lost lists what a reader of the recorded message would miss in the present one: fields, and the type of their values.
// It holds for -update, too: a promise is broken by hand or not at all.
func lost(t *testing.T, recorded, present []byte) []string {
	t.Helper()
	var old, now any
	for raw, into := range map[*[]byte]*any{&recorded: &old, &present: &now} {
		if err := json.Unmarshal(*raw, into); err != nil {
			t.Fatal(err)
		}
	}
	return missing("$", old, now)
}

func missing(path string, old, now any) (problems []string) {
	if fmt.Sprintf("%T", old) != fmt.Sprintf("%T", now) {
		return []string{fmt.Sprintf("%s was %T and is %T", path, old, now)}
	}
	switch old := old.(type) {
	case map[string]any:
		fields, _ := now.(map[string]any)
		for name, value := range old {
			if _, ok := fields[name]; !ok {
				problems = append(problems, path+"."+name+" is gone")
				continue
			}
			problems = append(problems, missing(path+"."+name, value, fields[name])...)
		}
	case []any:
		if items, _ := now.([]any); len(old) > 0 && len(items) > 0 {
			problems = missing(path+"[]", old[0], items[0])
		}
	}
	return problems
}

func TestMessages_lost(t *testing.T) {
	const recorded = `{"id":"a","n":1,"list":[{"x":"1"}],"in":{"b":true}}`
	for present, bad := range map[string]bool{
		recorded: false,
		`{"id":"other","n":2,"list":[{"x":"2","y":1}],"in":{"b":false},"more":1}`: false,
		`{"n":1,"list":[{"x":"1"}],"in":{"b":true}}`:                              true,
		`{"id":1,"n":1,"list":[{"x":"1"}],"in":{"b":true}}`:                       true,
		`{"id":"a","n":"1","list":[{"x":"1"}],"in":{"b":true}}`:                   true,
		`{"id":"a","n":1,"list":[{"y":"1"}],"in":{"b":true}}`:                     true,
		`{"id":"a","n":1,"list":["1"],"in":{"b":true}}`:                           true,
		`{"id":"a","n":1,"list":[{"x":"1"}],"in":{}}`:                             true,
		`{"id":"a","n":1,"list":[{"x":"1"}],"in":null}`:                           true,
	} {
		if got := lost(t, []byte(recorded), []byte(present)); (len(got) > 0) != bad {
			t.Errorf("compare %s with the recorded message: got lost %q", present, got)
		}
	}
}

func TestEventsPage_isCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Events and messages\n\nGenerated from `libs/wire` by `go test ./libs/wire -update`; do not edit.\n\n## Webhook events\n\n" +
		"A merchant receives webhooks by Standard Webhooks 1.0. The body is\n" +
		"`{\"id\":\"evt_…\",\"type\":\"…\",\"createdAt\":\"…\",\"mode\":\"live|test\",\"data\":{…}}`. `data.payment`, `data.wallet`,\n" +
		"`data.report` or `data.endpoint` is the object as its GET shows it, plus `sequence`, which counts the events of that\n" +
		"object: 1, 2, 3 without gaps.\n\nIn live mode the types with a `*` go to every endpoint, whatever its filter: they warn of money that may leave.\n\n" +
		"| type | when |\n|---|---|\n")
	for _, e := range wire.EventTypes() {
		star := ""
		if wire.IsGuarding(e.Type) {
			star = " *"
		}
		fmt.Fprintf(&b, "| `%s`%s | %s |\n", e.Type, star, e.When)
	}
	b.WriteString("\n## Messages between services\n\nJSON over RabbitMQ: a topic exchange per producer, quorum queues, poison in `<queue>.dead`.\n")
	for _, r := range wire.Topology() {
		raw, err := json.MarshalIndent(examples[r.Name], "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "\n### `%s`\n\n%s → %s, queue `%s`\n\n```json\n%s\n```\n", r.Name, r.Exchange, r.Consumer, r.Queue, raw)
	}
	golden(t, filepath.Join("..", "..", "docs", "events.md"), []byte(b.String()))
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not current: run go test ./libs/wire -update and look at the difference", path)
	}
}
