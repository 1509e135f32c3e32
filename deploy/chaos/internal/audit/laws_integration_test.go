//go:build integration

package audit

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// payment is a row of payments with an address.
const payment = `INSERT INTO payments (id, reference, merchant_id, key_id, mode, type, version, sequence, status, fiat_currency, fiat_amount, charge_from,
	family, address, metadata, created_at, expires_at)
VALUES ('pay_%[1]d', 'CW-%[1]d', 'm', 1, 'test', 'transfer', 1, 1, 'pending', 'NGN', 1, 'fiat', 'evm', '0x1', '', now(), now());`

// entries writes one journal; each entry is the number of an account, a side and an amount.
func entries(journal int, all ...string) string {
	var text strings.Builder
	for line, entry := range all {
		var account, asset, side, amount string
		if _, err := fmt.Sscan(entry, &account, &asset, &side, &amount); err != nil {
			panic(err)
		}
		fmt.Fprintf(&text, `INSERT INTO ledger_accounts (code, asset, normal) VALUES ('%[1]s', '%[2]s', 'debit') ON CONFLICT DO NOTHING;
INSERT INTO ledger_lines (journal_id, line, account, asset, side, amount) VALUES (%[5]d, %[6]d, '%[1]s', '%[2]s', '%[3]s', %[4]s);`,
			account, asset, side, amount, journal, line)
	}
	return text.String()
}

// sound is a book in which a deposit was swept and paid out.
var sound = entries(1, "crypto:deposit:tron:USDT USDT debit 10", "customer:pay_1:USDT USDT credit 10") +
	entries(2, "test:payable:pay_1:NGN NGN debit 5", "test:clearing:payout:sim:NGN NGN credit 5") +
	entries(3, "test:clearing:payout:sim:NGN NGN debit 5", "test:fiat:float:sim:NGN NGN credit 5") +
	entries(4, "crypto:hot:tron:USDT USDT debit 4", "crypto:deposit:tron:USDT USDT credit 4") +
	`INSERT INTO sim_transfers (ref, currency, amount, bank_code, account_number, account_name, outcome, at, done_at)
		VALUES ('cw-1-1', 'NGN', 5, '', '', '', 'succeed', now(), now()), ('cw-2-1', 'NGN', 7, '', '', '', 'return', now(), now());` +
	entries(5, "test:payable:wdr_1:NGN NGN debit 2", "test:merchant:m:NGN NGN credit 2") +
	entries(6, "test:merchant:m:NGN NGN debit 2", "test:payable:wdr_1:NGN NGN credit 2")

// custody writes one entry of wallets.
func custody(journal string, line int, account, debit, credit string) string {
	return fmt.Sprintf(`INSERT INTO custody_entries (journal, line, mode, merchant_id, account, network, asset, debit, credit)
VALUES ('%s', %d, 'live', 'm', '%s', 'tron', 'USDT', %s, %s);`, journal, line, account, debit, credit)
}

// soundCustody is a book of wallets in which a deposit was confirmed.
var soundCustody = custody("a", 1, "custody", "3", "0") + custody("a", 2, "merchant", "0", "3") +
	`INSERT INTO merchant_balances (mode, merchant_id, network, asset, amount) VALUES ('live', 'm', 'tron', 'USDT', 3);`

const unsentRow = `INSERT INTO outbox (name, message_id, headers, body, created_at) VALUES ('n', 'm', '', '', now() - interval '1 minute');`

// Each law of the books is broken in a database of the product's own schema, and is found; a sound book breaks none.
func TestLaws_eachIsFoundBroken(t *testing.T) {
	t.Parallel()
	breaks := map[string]string{ // by service and law
		"payments: address given to two payments": `DROP INDEX payments_address;` + fmt.Sprintf(payment, 1) + fmt.Sprintf(payment, 2),
		"payments: payment with two successful payouts": `INSERT INTO payouts (id, payment_id, mode, reference, attempt, rail, currency, amount, receiver, state, created_at)
			SELECT 'po_' || n, 'pay_1', 'test', 'cw-1-' || n, n, 'sim', 'NGN', 1, '', 'succeeded', now() FROM generate_series(1, 2) AS n`,
		"payments: journal that does not balance": sound +
			entries(7, "gas:TRX TRX debit 3", "crypto:hot:tron:TRX TRX credit 2") + entries(8, "gas:TRX TRX debit 2", "crypto:hot:tron:TRX TRX credit 3"),
		"payments: asset whose debits differ from its credits": sound +
			entries(7, "gas:TRX TRX debit 3", "test:crypto:hot:tron:TRX TRX credit 3"),
		"payments: entry of an unknown account or in another asset than its account's": sound +
			entries(7, "gas:TRX TRX debit 3", "crypto:hot:tron:TRX TRX credit 3") + `UPDATE ledger_accounts SET asset = 'BTC' WHERE code = 'gas:TRX'`,
		"payments: account whose balance differs from its entries": sound + `UPDATE ledger_accounts SET balance = 11 WHERE code = 'customer:pay_1:USDT'`,
		"payments: clearing account that is not empty": sound +
			entries(7, "test:payable:pay_1:NGN NGN debit 2", "test:clearing:payout:sim:NGN NGN credit 2"),
		"payments: floats that differ from the bank's statement": sound + `DELETE FROM sim_transfers WHERE ref = 'cw-1-1'`,
		"payments: balance of a merchant that was below zero": sound +
			entries(7, "merchant:m:NGN NGN debit 1", "payable:wdr_2:NGN NGN credit 1") + entries(8, "payable:wdr_2:NGN NGN debit 1", "merchant:m:NGN NGN credit 1"),
		"payments: deposit addresses that hold less than nothing": sound +
			entries(7, "crypto:hot:tron:USDT USDT debit 7", "crypto:deposit:tron:USDT USDT credit 7"),
		"payments: history with a gap": fmt.Sprintf(payment, 1) +
			`INSERT INTO history_rows (payment_id, version, n, trigger, from_state, to_state, exception) VALUES ('pay_1', 2, 1, 't', 'a', 'b', '')`,
		"payments: message left in the outbox": unsentRow,
		"wallets: message left in the outbox":  unsentRow,
		"wallets: transfer on the simulated chain that was not seen": `INSERT INTO sim_transfers (request_id, network, tx_hash, key, asset, contract, amount, sender, confirmations)
			VALUES ('r', 'tron', 'h', '', 'USDT', '', 1, '', 1)`,
		"wallets: journal that does not balance": custody("a", 1, "custody", "3", "0") + custody("a", 2, "merchant", "0", "2") +
			custody("b", 1, "custody", "2", "0") + custody("b", 2, "merchant", "0", "3"),
		"wallets: asset whose debits differ from its credits":          custody("a", 1, "custody", "3", "0"),
		"wallets: balance of a merchant below zero":                    custody("a", 1, "merchant", "3", "0") + custody("a", 2, "withdrawals", "0", "3"),
		"wallets: balance of a merchant that differs from its entries": soundCustody + `UPDATE merchant_balances SET amount = 4;`,
		"wallets: money of an ended withdrawal that waits": `INSERT INTO refunds (id, mode, network, family, asset, contract, amount, address, ordered, state, kind, merchant_id)
			VALUES ('wwd_1', 'live', 'tron', 'tron', 'USDT', '', 3, 'T', '{}', 'confirmed', 'withdrawal', 'm');
			INSERT INTO custody_journals (key, event, mode, merchant_id, wallet_id, deposit) VALUES ('a', 'withdrawal_booked', 'live', 'm', '', 'wwd_1');` +
			custody("a", 1, "merchant", "3", "0") + custody("a", 2, "withdrawals", "0", "3"),
	}
	databases := map[string]*pgx.Conn{"payments": schema(t, "payments"), "wallets": schema(t, "wallets")}
	for name := range breaks {
		if !slices.ContainsFunc(laws, func(l law) bool { return l.service+": "+l.what == name }) {
			t.Errorf("look for the law %q: got none", name)
		}
	}
	for _, l := range laws {
		name := l.service + ": " + l.what
		if breaks[name] == "" {
			t.Errorf("nothing breaks the law %q", name)
			continue
		}
		if faults := after(t, databases[l.service], breaks[name], l); len(faults) != 1 && len(faults) != 2 || !strings.HasPrefix(faults[0], name) {
			t.Errorf("break the law %q: got %q, want it to be found", name, faults)
		}
		book := map[string]string{"payments": sound, "wallets": soundCustody}[l.service]
		if faults := after(t, databases[l.service], book, l); len(faults) > 0 {
			t.Errorf("check the law %q on a sound book: got %q, want no fault", name, faults)
		}
	}
}

// after checks a law after statements that no trigger refuses, and takes them back.
func after(t *testing.T, db *pgx.Conn, statements string, l law) []string {
	t.Helper()
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) //nolint:errcheck // nothing is to stay
	if _, err := tx.Exec(t.Context(), `SET LOCAL session_replication_role = replica;`+statements); err != nil {
		t.Fatalf("break the law %q: %v", l.what, err)
	}
	faults, err := l.broken(t.Context(), tx)
	if err != nil {
		t.Fatal(err)
	}
	return faults
}

// schema is a new database with the tables of a service, read from the files of its migrations: an auditor shares no
// code with the product.
func schema(t *testing.T, service string) *pgx.Conn {
	t.Helper()
	server := os.Getenv("CAUSEWAY_TEST_POSTGRES_URL")
	if server == "" {
		t.Fatal("CAUSEWAY_TEST_POSTGRES_URL is not set; run this with `make test` or `bin/stack exec --infra`")
	}
	name := fmt.Sprintf("audit_%s_%d", service, time.Now().UnixNano())
	admin, err := pgx.Connect(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	address.Path = name
	db, err := pgx.Connect(t.Context(), address.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_ = db.Close(ctx)
		if _, err := admin.Exec(ctx, "DROP DATABASE "+name); err != nil {
			t.Error(err)
		}
		_ = admin.Close(ctx)
	})
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "services", service, "migrations", "*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("look for the migrations of %s: got %d files, %v", service, len(files), err)
	}
	slices.Sort(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		// All statements of a file are one transaction here.
		if _, err := db.Exec(t.Context(), strings.ReplaceAll(up, "CONCURRENTLY", "")); err != nil {
			t.Fatalf("migrate with %s: %v", filepath.Base(file), err)
		}
	}
	return db
}
