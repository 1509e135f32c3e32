package audit

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// law must select nothing: a selected row is a fault with the text of the law.
type law struct{ service, what, query string }

// The laws that a report has lines of.
const (
	unbalancedJournal = "journal that does not balance"
	unbalancedAsset   = "asset whose debits differ from its credits"
	fullClearing      = "clearing account that is not empty"
	leftInOutbox      = "message left in the outbox"
	floatsDiffer      = "floats that differ from the bank's statement"
	fiatBelowZero     = "balance of a merchant that was below zero"
	cryptoBelowZero   = "balance of a merchant below zero"
)

// laws hold once the last payment has ended. The accounts of test mode have a prefix, so each law covers both modes.
var laws = []law{
	{"payments", "address given to two payments", `SELECT mode || ' ' || address FROM payments WHERE address IS NOT NULL GROUP BY mode, family, address HAVING count(*) > 1`},
	{"payments", "payment with two successful payouts", `SELECT payment_id FROM payouts WHERE state = 'succeeded' GROUP BY payment_id HAVING count(*) > 1`},
	{"payments", unbalancedJournal, `SELECT journal_id || ' ' || asset FROM ledger_entries GROUP BY journal_id, asset
		HAVING sum(CASE side WHEN 'debit' THEN amount ELSE -amount END) <> 0`},
	{"payments", unbalancedAsset, `SELECT mode || ' ' || asset || ' by ' || trim_scale(total) FROM (
			SELECT CASE WHEN account LIKE 'test:%' THEN 'test' ELSE 'live' END AS mode, asset,
				sum(CASE side WHEN 'debit' THEN amount ELSE -amount END) AS total
			FROM ledger_entries GROUP BY 1, 2) AS sums
		WHERE total <> 0`},
	{"payments", "entry of an unknown account or in another asset than its account's", `SELECT e.journal_id || ' ' || e.account FROM ledger_entries e
		LEFT JOIN ledger_accounts a ON a.code = e.account WHERE a.asset IS DISTINCT FROM e.asset`},
	{"payments", "account whose balance differs from its entries", `SELECT a.code FROM ledger_accounts a LEFT JOIN ledger_entries e ON e.account = a.code
		WHERE a.balance IS NOT NULL GROUP BY a.code, a.balance
		HAVING a.balance <> coalesce(sum(CASE WHEN e.side = a.normal THEN e.amount ELSE -e.amount END), 0)`},
	{"payments", fullClearing, `SELECT account || ' holds ' || trim_scale(sum(CASE side WHEN 'credit' THEN amount ELSE -amount END))
		FROM ledger_entries WHERE account ~ '^(test:)?clearing:' GROUP BY account
		HAVING sum(CASE side WHEN 'credit' THEN amount ELSE -amount END) <> 0`},
	{"payments", floatsDiffer, `SELECT currency || ': the floats paid ' || trim_scale(coalesce(booked, 0)) || ', the bank ' || trim_scale(coalesce(paid, 0))
		FROM (SELECT asset AS currency, sum(CASE side WHEN 'credit' THEN amount ELSE -amount END) AS booked FROM ledger_entries
			WHERE account ~ '^(test:)?fiat:float:sim:' GROUP BY asset) AS ledger
		FULL JOIN (SELECT currency, sum(amount) AS paid FROM sim_transfers WHERE outcome = 'succeed' GROUP BY currency) AS bank USING (currency)
		WHERE coalesce(booked, 0) <> coalesce(paid, 0)`},
	{"payments", fiatBelowZero, `SELECT DISTINCT account FROM (SELECT account, sum(CASE side WHEN 'credit' THEN amount ELSE -amount END)
			OVER (PARTITION BY account ORDER BY journal_id, line) AS held
		FROM ledger_entries WHERE account ~ '^(test:)?merchant:') AS balances WHERE held < 0`},
	{"payments", "deposit addresses that hold less than nothing", `SELECT account || ' holds ' || trim_scale(sum(CASE side WHEN 'debit' THEN amount ELSE -amount END))
		FROM ledger_entries WHERE account ~ '^(test:)?crypto:deposit:' GROUP BY account
		HAVING sum(CASE side WHEN 'debit' THEN amount ELSE -amount END) < 0`},
	{"payments", "history with a gap", `SELECT p.reference FROM payments p JOIN history h ON h.payment_id = p.id
		GROUP BY p.id, p.reference, p.version HAVING max(h.version) > p.version OR min(h.version) <> 1`},
	{"payments", leftInOutbox, `SELECT name || ' ' || message_id FROM outbox WHERE created_at < now() - interval '5 seconds'`},
	{"wallets", leftInOutbox, `SELECT name || ' ' || message_id FROM outbox WHERE created_at < now() - interval '5 seconds'`},
	{"wallets", "transfer on the simulated chain that was not seen", `SELECT t.tx_hash FROM sim_transfers t
		LEFT JOIN deposits d ON d.mode = 'test' AND d.network = t.network AND d.tx_hash = t.tx_hash
		WHERE NOT t.dropped AND d.tx_hash IS NULL`},
	{"wallets", unbalancedJournal, `SELECT journal || ' ' || network || ' ' || asset FROM custody_entries GROUP BY journal, network, asset HAVING sum(debit) <> sum(credit)`},
	{"wallets", unbalancedAsset, `SELECT mode || ' ' || network || ' ' || asset || ' by ' || sum(debit - credit)
		FROM custody_entries GROUP BY mode, network, asset HAVING sum(debit) <> sum(credit)`},
	{"wallets", cryptoBelowZero, `SELECT mode || ' ' || merchant_id || ' ' || network || ' ' || asset || ' has ' || sum(credit - debit)
		FROM custody_entries WHERE account = 'merchant' GROUP BY mode, merchant_id, network, asset HAVING sum(credit - debit) < 0`},
	{"wallets", "balance of a merchant that differs from its entries", `SELECT concat_ws(' ', mode, merchant_id, network, asset) || ' has ' ||
			coalesce(trim_scale(amount)::text, 'no row') || ', its entries ' || coalesce(trim_scale(sum)::text, 'none')
		FROM (SELECT mode, merchant_id, network, asset, sum(credit - debit) FROM custody_entries WHERE account = 'merchant'
			GROUP BY mode, merchant_id, network, asset) AS entries
		FULL JOIN merchant_balances USING (mode, merchant_id, network, asset) WHERE amount IS DISTINCT FROM sum`},
	{"wallets", "money of an ended withdrawal that waits", `SELECT r.id || ' ' || r.state || ' holds ' || sum(e.credit - e.debit) FROM refunds r
		JOIN custody_journals j ON j.mode = r.mode AND j.deposit = r.id JOIN custody_entries e ON e.journal = j.key AND e.account = 'withdrawals'
		WHERE r.kind = 'withdrawal' AND r.state IN ('confirmed', 'failed') GROUP BY r.id HAVING sum(e.credit - e.debit) <> 0`},
}

// faultsShown bounds how many lines one broken law prints.
const faultsShown = 5

// querier reads a database.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// broken lists what a law selects, as faults.
func (l law) broken(ctx context.Context, db querier) ([]string, error) {
	rows, err := db.Query(ctx, l.query)
	if err != nil {
		return nil, fmt.Errorf("checking %q: %w", l.what, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("checking %q: %w", l.what, err)
	}
	var faults []string
	for i, text := range found {
		if i == faultsShown {
			return append(faults, fmt.Sprintf("%s: %s and %d more", l.service, l.what, len(found)-i)), nil
		}
		faults = append(faults, fmt.Sprintf("%s: %s: %s", l.service, l.what, text))
	}
	return faults, nil
}

// commonFaults also counts the faults of each law.
func commonFaults(ctx context.Context, e Evidence, payments, wallets *pgx.Conn) (faults []string, byLaw map[string]int, err error) {
	byLaw = map[string]int{}
	for _, l := range laws {
		if l.what == floatsDiffer && len(e.Restores) > 0 {
			continue // payments that a restore took away were paid
		}
		db := payments
		if l.service == "wallets" {
			db = wallets
		}
		broken, err := l.broken(ctx, db)
		if err != nil {
			return nil, nil, err
		}
		faults, byLaw[l.what] = append(faults, broken...), byLaw[l.what]+len(broken)
	}
	leftovers, err := queuesNotEmpty(ctx, e)
	return append(faults, leftovers...), byLaw, err
}

// Proof is a law of the money with what it was held against.
type Proof struct {
	Law    string
	Of     string // such as "7 assets"
	Faults int
}

// provenByBooks reads what the ledger of payments holds at the end, which the laws have judged.
func provenByBooks(ctx context.Context, payments *pgx.Conn, faults map[string]int) ([]Proof, error) {
	var assets, clearing int
	if err := payments.QueryRow(ctx, countBooks).Scan(&assets, &clearing); err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	return []Proof{
		{"sum per asset 0", fmt.Sprintf("%d assets", assets), faults[unbalancedJournal] + faults[unbalancedAsset]},
		{"clearing accounts empty", fmt.Sprint(clearing), faults[fullClearing]},
	}, nil
}

// countBooks counts the assets of both modes, and the accounts that must be empty.
const countBooks = `SELECT count(DISTINCT asset)::int, (count(DISTINCT account) FILTER (WHERE account ~ '^(test:)?clearing:'))::int FROM ledger_entries`
