package door

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"causeway.internal/services/wallets/cmd/signer/internal/journal"
	"causeway.internal/services/wallets/internal/intent"
)

// approvedAt is a refund whose order was approved at a time.
func approvedAt(id, orderID string, nonce uint64, at time.Time) intent.Request {
	r := refund(id, orderID, "5", nonce)
	r.Order = new(r.Order.Approve(automatic, at))
	return r
}

// anew makes a new log for a signer, as after the loss of the old one.
func anew(t *testing.T, d *fixture, rules string) *fixture {
	t.Helper()
	path := filepath.Join(d.dir, "log")
	if err := os.Rename(path, path+".lost"); err != nil {
		t.Fatal(err)
	}
	if err := journal.Create(path, d.at); err != nil {
		t.Fatal(err)
	}
	return openWith(t, d, rules)
}

// dated are the rules with members of orders.
func dated(members string) string {
	return strings.Replace(refundRules(), `},"networks"`, `,`+members+`},"networks"`, 1)
}

// A signer with a new log does not know which orders were carried out. So it refuses all from before its beginning,
// even orders that it would refuse for a reason that ends a refund.
func TestHandler_oldOrderInNewLog(t *testing.T) {
	d := openWith(t, nil, refundRules())
	if _, err := d.Sign(refund("a-1", "rfd_1", "5", 4)); err != nil {
		t.Fatal(err)
	}
	d.at = d.at.Add(time.Hour)
	d = anew(t, d, refundRules())
	if _, err := d.Sign(refund("b-1", "rfd_1", "5", 9)); code(err) != intent.OrderAge {
		t.Errorf("sign an order of the lost log: got %v, want %s", code(err), intent.OrderAge)
	}
	stolen := refund("b-2", "rfd_1", "5", 9)
	stolen.Order.TimedSignature = ""
	if _, err := d.Sign(stolen); code(err) != intent.OrderAge {
		t.Errorf("sign it without its time: got %v, want %s", code(err), intent.OrderAge)
	}
	stolen.ID, stolen.Order = "b-3", new(stolen.Order.Approve(operator, d.at))
	if _, err := d.Sign(stolen); code(err) != intent.Order {
		t.Errorf("sign it at a time of another key: got %v, want %s", code(err), intent.Order)
	}
	fresh := approvedAt("c-1", "rfd_2", 9, d.at)
	if _, err := d.Sign(fresh); err != nil {
		t.Errorf("sign an order from after the log's beginning: %v", err)
	}
	d = openWith(t, d, strings.ReplaceAll(refundRules(), `,"refundPerHour":"1000","automaticPerHour":"1000"`, ""))
	if _, err := d.Sign(refund("b-4", "rfd_1", "5", 9)); code(err) != intent.OrderAge {
		t.Errorf("sign an old order of an asset without refunds: got %v, want %s", code(err), intent.OrderAge)
	}
	d = openWith(t, d, dated(`"after":"`+began.Format(time.RFC3339)+`"`))
	if _, err := d.Sign(refund("b-5", "rfd_1", "5", 9)); err != nil {
		t.Errorf("sign an old order that the policy admits: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// The age of an order counts only before its first line. An order that is in the log gets its higher fees, even without
// a time, and even from before the time of a policy.
func TestHandler_knownOrderHasNoAge(t *testing.T) {
	until := dated(`"untimedUntil":"` + began.Add(time.Minute).Format(time.RFC3339) + `"`)
	d := openWith(t, nil, until)
	untimed := func(id, orderID, fee string, nonce uint64) intent.Request {
		r := refund(id, orderID, "5", nonce)
		r.Order.TimedSignature, r.Order.ApprovedAt, r.EVM.MaxFee = "", time.Time{}, fee
		return r
	}
	first, err := d.Sign(untimed("a-1", "rfd_1", "10", 4))
	if err != nil {
		t.Fatalf("sign an order without a time before the policy's date: %v", err)
	}
	// wallets of this release repeats the request with the time that payments has sent since.
	if again, err := d.Sign(refund("a-1", "rfd_1", "5", 4)); err != nil || again != first {
		t.Errorf("sign the same request with its time: got %+v, %v, want the same answer", again, err)
	}
	d.at = d.at.Add(24 * time.Hour)
	d = openWith(t, d, dated(`"after":"`+d.at.Format(time.RFC3339)+`"`))
	if _, err := d.Sign(untimed("a-2", "rfd_1", "20", 4)); err != nil {
		t.Errorf("raise the fee of an order without a time: %v", err)
	}
	raised := refund("a-3", "rfd_1", "5", 4)
	raised.EVM.MaxFee = "30"
	if _, err := d.Sign(raised); err != nil {
		t.Errorf("raise the fee of an order with its time: %v", err)
	}
	if _, err := d.Sign(untimed("b-1", "rfd_2", "10", 5)); code(err) != intent.OrderAge {
		t.Errorf("sign another order without a time after the date: got %v, want %s", code(err), intent.OrderAge)
	}
	if _, err := d.Sign(approvedAt("b-2", "rfd_2", 5, d.at)); err != nil {
		t.Errorf("sign it with its time: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
