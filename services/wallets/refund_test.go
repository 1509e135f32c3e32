//go:build integration

package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"causeway.internal/libs/address"
	"causeway.internal/libs/bus"
	"causeway.internal/libs/config"
	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/intent"
)

var (
	automaticKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte("a"), ed25519.SeedSize))
	operatorKey  = ed25519.NewKeyFromSeed(bytes.Repeat([]byte("o"), ed25519.SeedSize))
)

// approver is a custody with a refund station, and payments, which approves refunds and receives their progress.
type approver struct {
	*custody
	link    *bus.Link
	station string
	orders  int
	changes map[string]map[int64]wire.RefundChanged // by refund and version; guarded by mu of the custody
}

// orderKeys are the members of a policy that allow refunds.
func orderKeys() string {
	public := func(k ed25519.PrivateKey) string {
		return base64.StdEncoding.EncodeToString(k.Public().(ed25519.PublicKey))
	}
	return fmt.Sprintf(`"refundAccount":2,"orders":{"automatic":"%s","operator":"%s"}`, public(automaticKey), public(operatorKey))
}

// newApprover starts the processes. fill is the sum of each asset at the refund station.
func newApprover(t *testing.T, fill string, change func(policy string, environ map[string]string) string) *approver {
	t.Helper()
	d := &approver{changes: map[string]map[int64]wire.RefundChanged{}}
	d.custody = newCustody(t, func(policy string, environ map[string]string) string {
		policy = strings.NewReplacer(
			`"indexBelow"`, orderKeys()+`,"indexBelow"`,
			`"ETH":{"perHour"`, `"ETH":{"refundPerHour":"1000000000000000000","automaticPerHour":"500000000000000000","perHour"`,
			`,"perHour":"1000000000000"`, `,"perHour":"1000000000000","refundPerHour":"1000000000000","automaticPerHour":"1000000000000"`).Replace(policy)
		if change != nil {
			policy = change(policy, environ)
		}
		return policy
	})
	stations, err := d.client.Stations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.station = stations.Refunds[money.EVM]
	if fill != "" {
		d.Transfer(map[string]any{"to": d.station, "amount": fill, "token": false})
		d.Transfer(map[string]any{"to": d.station, "amount": "1000000000", "token": "USDT", "mine": 1})
	}
	d.open(t)
	return d
}

// open plays payments.
func (d *approver) open(t *testing.T) {
	t.Helper()
	var err error
	if d.link, err = bus.Dial(t.Context(), bus.Config{URL: config.Secret(d.environ["AMQP_URL"])}, wire.Payments, telemetrytest.ForTest(t)); err != nil {
		t.Fatal(err)
	}
	d.link.Handle(wire.Payments+"."+string(wire.RefundChangedV1), 1, func(_ context.Context, m bus.Message) error {
		var c wire.RefundChanged
		if err := json.Unmarshal(m.Body, &c); err != nil {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.changes[c.RefundID] == nil {
			d.changes[c.RefundID] = map[int64]wire.RefundChanged{}
		}
		if before, ok := d.changes[c.RefundID][c.Version]; ok && before != c {
			return fmt.Errorf("version %d of %s was another one", c.Version, c.RefundID)
		}
		d.changes[c.RefundID][c.Version] = c
		return nil
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- d.link.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = d.link.Close() }) //nolint:errcheck // it ends because it is cancelled
}

// order makes an order to a payer of its own.
func (d *approver) order(asset, amount string) order.Order {
	d.orders++
	o := order.Order{
		Kind: order.Refund, ID: fmt.Sprint("rfd_", d.orders), Mode: tenant.Live, Network: "ethereum", Asset: asset, Contract: d.Tokens[asset], Amount: amount,
		To: address.Canonical(money.EVM, fmt.Sprintf("0x%040x", 0xbeef0000+d.orders)), Approval: order.Automatic,
	}
	return o
}

// approve sends an order, signed by the key of its approval.
func (d *approver) approve(t *testing.T, o order.Order) {
	t.Helper()
	key := automaticKey
	if o.Approval == order.Operator {
		key = operatorKey
	}
	d.send(t, wire.RefundApproved{Approved: o.Approve(key, time.Now())})
}

// send publishes an order.
func (d *approver) send(t *testing.T, approved wire.RefundApproved) {
	t.Helper()
	body, err := json.Marshal(approved)
	if err != nil {
		t.Fatal(err)
	}
	m := message.NewMessage(id.New(id.Message, time.Now()), body)
	if err := d.link.Publisher().Publish(string(wire.RefundApprovedV1), m); err != nil {
		t.Fatal(err)
	}
}

// progress are the states of a refund that payments received, in the order of their versions without gaps.
func (d *approver) progress(o order.Order) (states []string, last wire.RefundChanged) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for v := int64(1); ; v++ {
		c, ok := d.changes[o.ID][v]
		if !ok {
			return states, last
		}
		states, last = append(states, string(c.State)), c
	}
}

func (d *approver) state(o order.Order) string {
	_, last := d.progress(o)
	return string(last.State)
}

// confirmed checks the end of a refund: payments received each state with the chain's fee and hash, and one transaction
// is final.
func (d *approver) confirmed(t *testing.T, o order.Order) {
	t.Helper()
	d.await(t, "refund "+o.ID+" is confirmed", func() bool { return d.state(o) == string(wire.RefundConfirmed) })
	states, last := d.progress(o)
	if want := []string{"signing", "sent", "confirmed"}; !slices.Equal(slices.Compact(states), want) {
		t.Errorf("follow %s: got the states %v, want %v", o.ID, states, want)
	}
	if last.Amount != o.Amount || last.Fee == "0" || last.TxHash == "" || last.Reason != "" {
		t.Errorf("read the end of %s: got %+v, want its amount, fee and hash", o.ID, last)
	}
	if n := d.count(t, `SELECT count(*) FROM outgoing_tx WHERE refund = $1 AND state = 'final'`, o.ID); n != 1 {
		t.Errorf("count the final transactions of %s: got %d, want 1", o.ID, n)
	}
}

// paid checks that the chain moved the money of a refund once.
func (d *approver) paid(t *testing.T, o order.Order) {
	t.Helper()
	d.confirmed(t, o)
	if o.Contract != "" {
		if got := d.moved(t, d.station, o.To); len(got) != 1 || got[0] != o.Amount {
			t.Errorf("read the chain's transfers for %s: got %v, want %s once", o.ID, got, o.Amount)
		}
	} else if got := d.coins(t, o.To).String(); got != o.Amount {
		t.Errorf("read the payer's balance for %s: got %s, want %s", o.ID, got, o.Amount)
	}
}

const ether = "2000000000000000000"

// refundSteps are the rows of a refund that a process can die at.
var refundSteps = []string{
	"refund planned", "refund signed", "refund broadcast", "refund mined", "refund final", "taking signing", "taking sent", "taking confirmed",
}

// installTaking lets a test hold wallets where it writes a state of a refund.
func (d *approver) installTaking(t *testing.T) {
	t.Helper()
	for _, sql := range []string{
		`CREATE FUNCTION refund_step() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			PERFORM pg_advisory_xact_lock_shared(hashtextextended('step taking ' || new.state, 0)); RETURN new; END $$`,
		`CREATE TRIGGER step BEFORE INSERT OR UPDATE OF state ON refunds FOR EACH ROW EXECUTE FUNCTION refund_step()`,
	} {
		if _, err := d.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefund_kill9 kills wallets, or the signer, at every step of a refund, and starts it again. The payer gets the
// money once.
func TestRefund_kill9(t *testing.T) {
	t.Parallel()
	d := newApprover(t, ether, nil)
	d.Do("/block-time", map[string]string{"every": blockTime})
	d.installSteps(t)
	d.installTaking(t)
	d.points(refundKills, func(name string, at func(t *testing.T) stop, side string) {
		t.Run(name, func(t *testing.T) {
			o := d.order("USDT", fmt.Sprint(1_000_001+d.orders))
			place := at(t)
			d.approve(t, o)
			d.killAt(t, place, side)
			d.paid(t, o)
		})
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.final) != 0 {
		t.Errorf("read the messages about sweeps: got %v, want none about refunds", d.final)
	}
	cmd := exec.Command(filepath.Join(d.bin, "signer"), "verify-log")
	cmd.Env = d.vault
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("lines are valid")) {
		t.Errorf("verify the signer's log: got %v, %s, want that its lines are valid", err, out)
	}
}

// points calls f for each point of a refund's or a withdrawal's transaction, with the side that dies there.
func (d *approver) points(k kills, f func(name string, at func(t *testing.T) stop, side string)) {
	for _, side := range []string{"wallets", "signer"} {
		for _, answered := range k.signing[side] {
			f(fmt.Sprintf("signing, answered %v, %s dies", answered, side), d.door("sign", intent.Refund, answered), side)
		}
	}
	for _, answered := range k.sending {
		f(fmt.Sprintf("sending, answered %v", answered), d.door("send", intent.Sweep, answered), "wallets") // a token's transfer
	}
	for _, state := range k.writing {
		f("writing "+state, d.row(state), "wallets")
	}
}

// A hostile wallets gets no signature for anything but the order; a policy that forbids a refund blocks it until an
// operator releases it; and the kill switch stops refunds, signed ones too. The same policy allows no withdrawal.
func TestRefund_refused(t *testing.T) {
	t.Parallel()
	d := newApprover(t, ether, func(policy string, _ map[string]string) string {
		return strings.Replace(policy, `"maxGas":500000`, `"maxGas":30000`, 1) // a token's transfer needs more
	})
	d.Do("/block-time", map[string]string{"every": blockTime})
	o := d.order("USDT", "7000001")
	d.approve(t, o)
	d.await(t, "blocked", func() bool {
		return d.count(t, `SELECT count(*) FROM refunds WHERE blocked AND reason LIKE '%(fee)%'`) == 1
	})
	forged := d.order("USDT", "7000003") // under the key of the other approval
	d.send(t, wire.RefundApproved{Approved: forged.Approve(operatorKey, time.Now())})
	d.await(t, "the forged order fails", func() bool { return d.state(forged) == string(wire.RefundFailed) })
	if _, last := d.progress(forged); last.Reason != wire.RefundOrderRefused || last.TxHash != "" || last.Amount != forged.Amount {
		t.Errorf("read the end of an order that the signer refuses: got %+v, want %s", last, wire.RefundOrderRefused)
	}
	stolen := d.order("USDT", "7000002")
	thief := address.Canonical(money.EVM, "0x00000000000000000000000000000000deadbeef")
	for name, change := range map[string]func(r *intent.Request){
		intent.Destination: func(r *intent.Request) { r.To = thief },
		intent.Order:       func(r *intent.Request) { r.Order.To, r.To = thief, thief },
	} {
		r := intent.Request{
			ID: "theft " + name, Kind: intent.Refund, Network: "ethereum", Asset: "USDT", Amount: stolen.Amount, To: stolen.To,
			Order: new(stolen.Approve(automaticKey, time.Now())),
			EVM:   &intent.EVM{ChainID: uint64(d.Chain), Contract: d.Tokens["USDT"], Gas: 25_000, MaxFee: "2000000000", Tip: "1"},
		}
		change(&r)
		_, err := d.asked(t, r)
		if no, ok := errors.AsType[*intent.Refusal](err); !ok || no.Code != name {
			t.Errorf("sign a refund to a thief: got %v, want the refusal %s", err, name)
		}
	}

	kill, policyPath := filepath.Join(d.dir, "stop"), filepath.Join(d.dir, "policy.json")
	policy, err := os.ReadFile(policyPath)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(kill, nil, 0o600),
		os.WriteFile(policyPath, bytes.Replace(policy, []byte(`"maxGas":30000`), []byte(`"maxGas":500000`), 1), 0o600)); err != nil {
		t.Fatal(err)
	}
	d.signer.kill(t)
	d.startSigner(t)
	cmd := exec.Command(filepath.Join(d.bin, "wallets"), "refunds", "--release", o.ID)
	cmd.Env = d.wallets.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("release the blocked refund: %v: %s", err, out)
	}
	d.await(t, "the switch refuses it", func() bool {
		log, err := os.ReadFile(filepath.Join(d.dir, "signer.log"))
		return err == nil && bytes.Contains(log, []byte(`"code":"stopped"`))
	})
	signed := d.door("sign", intent.Refund, true)(t) // the answer waits at the door while the switch is turned on again
	if err := os.Remove(kill); err != nil {
		t.Fatal(err)
	}
	signed.wait(t)
	if err := os.WriteFile(kill, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	signed.gone(t)
	log := func() int {
		text, err := os.ReadFile(filepath.Join(d.dir, "signer.log"))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte(`"code":"stopped"`))
	}
	before := log()
	d.await(t, "the switch stops it again", func() bool { return log() > before+1 })
	if n, err := d.statusPending(); err != nil || n != 0 || d.state(o) != string(wire.RefundSigning) {
		t.Errorf("look at the node while the switch is on: got %d transactions, %v, state %s, want none", n, err, d.state(o))
	}
	if err := os.Remove(kill); err != nil {
		t.Fatal(err)
	}
	d.paid(t, o)
	if got := d.coins(t, thief); got.Cmp(new(big.Int)) != 0 || len(d.moved(t, d.station, thief)) != 0 {
		t.Errorf("read the thief's balance: got %s and %v, want nothing", got, d.moved(t, d.station, thief))
	}
	d.refusesWithdrawals(t)
}
