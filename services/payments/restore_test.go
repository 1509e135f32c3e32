//go:build integration

package main

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/migrations"
)

// load are the payments of a restore: those before the backup, those after it, and those of before that are paid after
// it.
type load struct{ before, lost, waiting int }

// drill is a restore under load. It keeps the deposits that wallets knows and the addresses that payers saw.
type drill struct {
	told  []wire.DepositChanged
	shown []string
}

// make creates a payment; wallets sees its money when paid.
func (d *drill) make(s *service, paid bool) {
	s.t.Helper()
	status, body, _ := s.call(tenant.Test, "POST", "/v1/payments", good)
	if status != 201 {
		s.t.Fatalf("create: %d %s", status, body)
	}
	var made struct {
		Payment struct{ DepositAddress string }
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil {
		s.t.Fatal(err)
	}
	address := made.Payment.DepositAddress
	if slices.Contains(d.shown, address) {
		s.t.Errorf("address %s is shown twice", address)
	}
	d.shown = append(d.shown, address)
	if paid {
		d.pay(s, address)
	}
}

func (d *drill) pay(s *service, address string) {
	m := wire.DepositChanged{
		Key: "tron:" + address + ":0", Version: 1, Mode: tenant.Test, Family: "tron", Network: "tron", Address: address, Asset: "USDT", TxHash: address,
		State: wire.Confirmed, BlockHeight: 10, BlockTime: time.Now(), Amount: "31250000", Depth: 19, Head: 28, FirstSeenAt: time.Now(),
	}
	d.told = append(d.told, m)
	s.publish(wire.DepositChangedV1, m)
}

// The database is set back by some seconds under load, to a moment with payments in every stage, while bank, payers and
// wallets remember: after a start with recovery every payment that is left settles, none is ordered twice, no address
// is shown twice, no deposit is lost.
func TestFlow_databaseSetBackUnderLoad(t *testing.T) {
	t.Parallel()
	before, lost, waiting := setBack.before, setBack.lost, setBack.waiting
	database := pg.URL(t, migrations.FS)
	d := &drill{}
	t.Run("until the crash", func(t *testing.T) {
		s := startOn(t, database, nil)
		for range waiting + before { // the first few pay in the time that is lost
			d.make(s, false)
		}
		for _, address := range slices.Clone(d.shown[waiting:]) {
			d.pay(s, address)
		}
		s.until("the first payout is on its way", func() bool { return s.count(`SELECT count(*) FROM payouts WHERE sends > 0`) > 0 })
		pg.Backup(t, database)
		for _, address := range slices.Clone(d.shown[:waiting]) {
			d.pay(s, address)
		}
		for range lost {
			d.make(s, true)
		}
		s.until("everything is paid", func() bool {
			return s.count(`SELECT count(*) FROM payments WHERE status = 'settled'`) == before+lost+waiting
		})
	})
	pg.Restore(t, database, "sim_transfers", "sim_outcomes")
	t.Run("after the restore", func(t *testing.T) {
		s := startOn(t, database, map[string]string{"RECOVERY": "true"})
		t.Logf("of %d payments the backup holds %d, %d of them settled, and %d payouts, %d of them never sent", before+lost+waiting,
			s.count(`SELECT count(*) FROM backup.payments`), s.count(`SELECT count(*) FROM backup.payments WHERE status = 'settled'`),
			s.count(`SELECT count(*) FROM backup.payouts`), s.count(`SELECT count(*) FROM backup.payouts WHERE sends = 0`))
		for _, m := range d.told { // wallets sends every message again
			m.Version++
			s.publish(wire.DepositChangedV1, m)
		}
		s.until("what is left is settled", func() bool {
			return s.count(`SELECT count(*) FROM payments WHERE status <> 'settled'`) == 0 && s.count(`SELECT count(*) FROM deposits`) == len(d.told)
		})
		if n := s.count(`SELECT count(*) FROM payments`); n != before+waiting {
			t.Errorf("%d payments are left", n)
		}
		if n := s.count(`SELECT count(*) FROM payouts o JOIN backup.payouts b USING (id) WHERE o.sends <> b.sends`) +
			s.count(`SELECT count(*) FROM payouts WHERE sends > 0 AND id NOT IN (SELECT id FROM backup.payouts)`); n != 0 {
			t.Errorf("%d payouts were ordered a second time", n)
		}
		if n := s.count(`SELECT count(*) FROM sim_transfers`); n != before+lost+waiting {
			t.Errorf("%d transfers at the bank", n)
		}
		if n := s.count(`SELECT count(*) FROM deposits WHERE payment_id IS NULL AND booked = 'suspense'`); n != lost {
			t.Errorf("%d deposits of lost payments are in suspense, want %d", n, lost)
		}
		if n := s.count(`SELECT count(*) FROM (SELECT asset FROM ledger_entries GROUP BY asset HAVING sum(CASE side WHEN 'debit' THEN amount ELSE -amount END) <> 0) x`); n != 0 {
			t.Errorf("%d assets do not balance", n)
		}
		for range 5 {
			d.make(s, false)
		}
	})
}
