package wire_test

import (
	"slices"
	"testing"

	"causeway.internal/libs/wire"
)

func TestMayTell_ownObjectsOnly(t *testing.T) {
	for _, c := range []struct {
		name          wire.Name
		event, object string
		may           bool
	}{
		{wire.PaymentStatusChangedV1, "payment.settled", "pay_1", true},
		{wire.WalletStatusChangedV1, "wallet.confirmed", "wal_1", true},
		{wire.ReportStatusChangedV1, "report.created", "RPT-ABC234", true},
		{wire.ReportStatusChangedV1, "payment.settled", "pay_1", false},
		{wire.ReportStatusChangedV1, "payment.settled", "RPT-ABC234", false},
		{wire.ReportStatusChangedV1, "report.created", "pay_1", false},
		{wire.WalletStatusChangedV1, "payment.settled", "pay_1", false},
		{wire.PaymentStatusChangedV1, "webhook.test", "whe_1", false},
		{wire.PaymentStatusChangedV1, "withdrawal.paid", "wdr_1", true},
		{wire.PaymentStatusChangedV1, "withdrawal.paid", "pay_1", false},
		{wire.PaymentStatusChangedV1, "payment.settled", "wdr_1", false},
		{wire.WalletStatusChangedV1, "withdrawal.paid", "wdr_1", false},
		{wire.WalletStatusChangedV1, "wallet.confirmed", "wdr_1", false},
		{wire.DepositChangedV1, "payment.settled", "pay_1", false},
		{"", "payment.settled", "pay_1", false},
		{wire.PaymentStatusChangedV1, "wallet.withdrawal_sent", "wwd_1", true},
		{wire.PaymentStatusChangedV1, "wallet.address_added", "adr_1", true},
		{wire.PaymentStatusChangedV1, "settlement_account.added", "sac_1", true},
		{wire.WalletStatusChangedV1, "settlement_account.added", "sac_1", false},
		{wire.PaymentStatusChangedV1, "withdrawal.paid", "sac_1", false},
		{wire.PaymentStatusChangedV1, "wallet.confirmed", "wal_1", false},
		{wire.PaymentStatusChangedV1, "wallet.confirmed", "wwd_1", false},
		{wire.PaymentStatusChangedV1, "wallet.withdrawal_sent", "wal_1", false},
		{wire.PaymentStatusChangedV1, "payment.settled", "wwd_1", false},
		{wire.WalletStatusChangedV1, "wallet.withdrawal_sent", "wwd_1", false},
	} {
		if got := c.name.MayTell(c.event, c.object); got != c.may {
			t.Errorf("%s, %s about %s: %v", c.name, c.event, c.object, got)
		}
	}
}

func TestIsGuarding(t *testing.T) {
	var got []string
	for _, e := range wire.EventTypes() {
		if wire.IsGuarding(e.Type) {
			got = append(got, e.Type)
		}
	}
	want := []string{
		"payment.refund_address_changed",
		"withdrawal.requested", "withdrawal.approved", "withdrawal.sending", "withdrawal.paid", "withdrawal.failed", "withdrawal.returned",
		"settlement_account.added", "settlement_account.confirmed", "settlement_account.deleted",
		"wallet.address_added", "wallet.withdrawal_requested", "wallet.withdrawal_approved", "wallet.withdrawal_signing",
		"wallet.withdrawal_sent", "wallet.withdrawal_confirmed", "wallet.withdrawal_failed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the events that no filter keeps back: got %q, want %q", got, want)
	}
}
