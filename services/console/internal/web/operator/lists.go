package operator

import (
	"net/url"

	"causeway.internal/services/console/internal/people"
)

const mayAct = people.OperatorAct

var (
	modes     = filter{Name: "mode", Options: []string{"live", "test"}}
	merchants = filter{Name: "merchantId"}
)

// payment are the columns of a list of payments.
var payment = []column{
	{Name: "payment", From: "id", As: code, To: "/payments/{id}"},
	{Name: "merchant", From: "merchantId"},
	{Name: "mode", From: "mode", As: word},
	{Name: "status", From: "status", As: word},
	{Name: "exception", From: "exception", As: word},
	{Name: "fiat", From: "fiatAmount", As: amount, Of: "fiatCurrency"},
	{Name: "received", From: "receivedAmount", As: amount, Of: "crypto"},
	{Name: "created", From: "createdAt", As: when},
}

// reviews are the acts on a payment that needs review, such as one with money of a hit.
var reviews = []string{"accept", "retry_payout", "mark_refunded", "refund_ask"}

var inReview = status("needs_review")

// lists are all lists, in the order of the navigation.
func lists() []list {
	return []list{
		{
			Name: "payments", API: "/v1/admin/payments", Items: "payments", Columns: payment, Menu: true, Live: true,
			Filters: []filter{
				modes, merchants,
				{Name: "status", Options: []string{"needs_review", "pending", "confirming", "confirmed", "settling", "settled", "expired", "refunded"}},
				{Name: "exception"},
				{Name: "reference"},
				{Name: "txHash"},
				{Name: "address"},
			},
		},
		{Name: "holds", API: "/v1/admin/holds", Items: "payments", Columns: payment, Rows: reviews, Open: inReview, Live: true},
		{
			Name: "payouts", API: "/v1/admin/payouts", Items: "payouts", Menu: true, Live: true,
			Columns: []column{
				{Name: "payout", From: "id", As: code},
				{Name: "payment", From: "paymentId", As: code, To: "/payments/{paymentId}"},
				{Name: "mode", From: "mode", As: word},
				{Name: "rail", From: "rail"},
				{Name: "amount", From: "amount", As: amount, Of: "currency"},
				{Name: "sends", From: "sends"},
				{Name: "frozen", From: "frozen", As: word},
				{Name: "answer", From: "lastAnswer"},
				{Name: "concluded", From: "concluded"},
				{Name: "sent", From: "firstSentAt", As: when},
			},
			Rows: []string{"payout_ask", "payout_conclude"},
		},
		{
			Name: "refunds", API: "/v1/admin/refunds", Items: "refunds", Menu: true, Live: true,
			Columns: []column{
				{Name: "refund", From: "id", As: code},
				{Name: "payment", From: "paymentId", As: code, To: "/payments/{paymentId}"},
				{Name: "mode", From: "mode", As: word},
				{Name: "status", From: "status", As: word},
				{Name: "amount", From: "amount", As: amount, Of: "crypto"},
				{Name: "network", From: "network"},
				{Name: "address", From: "address", As: code},
				{Name: "reason", From: "reason"},
				{Name: "by", From: "requestedBy"},
				{Name: "created", From: "createdAt", As: when},
			},
			Rows: []string{"refund_approve", "refund_refuse", "refund_cancel"},
		},
		{
			Name: "withdrawals", API: "/v1/admin/withdrawals", Items: "withdrawals", Menu: true, Live: true,
			Columns: []column{
				{Name: "withdrawal", From: "id", As: code},
				{Name: "merchant", From: "merchantId"},
				{Name: "mode", From: "mode", As: word},
				{Name: "status", From: "status", As: word},
				{Name: "amount", From: "amount", As: amount, Of: "currency"},
				{Name: "receiver", From: "receiver.accountName"},
				{Name: "account", From: "receiver.accountNumber"},
				{Name: "created", From: "createdAt", As: when},
			},
			Rows: []string{"withdrawal_approve", "withdrawal_refuse"},
		},
		{
			Name: "draws", API: "/v1/admin/wallets/withdrawals", Items: "withdrawals", Menu: true, Live: true,
			Columns: []column{
				{Name: "withdrawal", From: "id", As: code},
				{Name: "merchant", From: "merchantId"},
				{Name: "mode", From: "mode", As: word},
				{Name: "status", From: "status", As: word},
				{Name: "amount", From: "amount", As: amount, Of: "crypto"},
				{Name: "usd", From: "usd"},
				{Name: "network", From: "network"},
				{Name: "address", From: "address", As: code},
				{Name: "created", From: "createdAt", As: when},
			},
			Rows: []string{"draw_approve", "draw_refuse", "draw_cancel"},
		},
		{
			Name: "deposits", API: "/v1/admin/deposits/unattributed", Items: "deposits", Menu: true, Live: true,
			Columns: []column{
				{Name: "deposit", From: "key", As: code},
				{Name: "mode", From: "mode", As: word},
				{Name: "amount", From: "amount", As: amount, Of: "crypto"},
				{Name: "network", From: "network"},
				{Name: "address", From: "address", As: code},
				{Name: "seen", From: "firstSeenAt", As: when},
			},
			Heads: []string{"deposit_adopt"},
		},
		{
			Name: "owed", API: "/v1/admin/owed", Items: "owed", Menu: true,
			Columns: []column{
				{Name: "payment", From: "paymentId", As: code, To: "/payments/{paymentId}"},
				{Name: "merchant", From: "merchantId"},
				{Name: "mode", From: "mode", As: word},
				{Name: "to", From: "to", As: word},
				{Name: "amount", From: "amount", As: amount, Of: "asset"},
				{Name: "since", From: "since", As: when},
				{Name: "days", From: "ageDays"},
			},
			Filters: []filter{modes, {Name: "asset"}, {Name: "olderThanDays"}},
		},
		{
			Name: "unclaimed", API: "/v1/admin/unclaimed", Items: "unclaimed", Menu: true,
			Columns: []column{
				{Name: "unclaimed", From: "id", As: code},
				{Name: "payment", From: "paymentId", As: code, To: "/payments/{paymentId}"},
				{Name: "mode", From: "mode", As: word},
				{Name: "amount", From: "amount", As: amount, Of: "asset"},
				{Name: "since", From: "owedSince", As: when},
				{Name: "by", From: "bookedBy"},
				{Name: "reason", From: "reason"},
			},
			Rows: []string{"unclaimed_return"}, Heads: []string{"unclaimed_book"},
		},
		{
			Name: "differences", API: "/v1/admin/differences", Items: "differences", Menu: true, Live: true,
			Columns: []column{
				{Name: "kind", From: "kind", As: word},
				{Name: "object", From: "object", As: code},
				{Name: "owner", From: "owner"},
				{Name: "expected", From: "expected", As: amount, Of: "asset"},
				{Name: "found", From: "found", As: amount, Of: "asset"},
				{Name: "since", From: "firstFoundAt", As: when},
				{Name: "days", From: "ageDays"},
				{Name: "resolved", From: "resolvedAt", As: when},
			},
			Filters: []filter{{Name: "status", Options: []string{"open", "all"}}},
		},
		{
			Name: "fraud", API: "/v1/admin/reports/confirmations", Items: "subjects", Menu: true, Live: true,
			Columns: []column{
				{Name: "address", From: "walletAddress", As: code},
				{Name: "mode", From: "mode", As: word},
				{Name: "reports", From: "counts.total"},
				{Name: "reporters", From: "distinctReporters"},
				{Name: "merchants", From: "distinctMerchants"},
				{Name: "confirmed", From: "confirmed", As: word},
				{Name: "since", From: "firstReportedAt", As: when},
			},
			Filters: []filter{modes, {Name: "state", Options: []string{"waiting", "confirmed"}}}, Rows: []string{"fraud_confirm", "fraud_withdraw"},
		},
		{
			Name: "floods", API: "/v1/admin/reports/floods", Items: "floods",
			Columns: []column{
				{Name: "merchant", From: "merchantId"},
				{Name: "mode", From: "mode", As: word},
				{Name: "address", From: "walletAddress", As: code},
				{Name: "reports", From: "reports"},
				{Name: "since", From: "firstReportedAt", As: when},
			},
			Filters: []filter{modes},
		},
		{
			Name: "screenings", API: "/v1/admin/screenings", Items: "screenings", Menu: true, Live: true,
			Columns: []column{
				{Name: "at", From: "at", As: when},
				{Name: "mode", From: "mode", As: word},
				{Name: "stage", From: "stage", As: word},
				{Name: "reason", From: "reason"},
				{Name: "list", From: "lists"},
				{Name: "address", From: "addresses", As: code},
				{Name: "payment", From: "paymentId", As: code, To: "/payments/{paymentId}"},
				{Name: "merchant", From: "merchantId"},
				{Name: "status", From: "status", As: word},
				{Name: "hold", From: "hold"},
			},
			Filters: []filter{modes, {Name: "stage", Options: []string{"deposit", "payout", "refund"}}},
			Object:  "paymentId", Rows: reviews, Open: inReview,
		},
		{
			Name: "merchants", API: "/v1/admin/merchants", Items: "merchants", Menu: true,
			Columns: []column{
				{Name: "merchant", From: "merchantId", To: "/merchants/{merchantId}"},
				{Name: "name", From: "name"},
				{Name: "country", From: "country"},
				{Name: "status", From: "status", As: word},
				{Name: "created", From: "createdAt", As: when},
				{Name: "by", From: "approvedBy"},
			},
			Filters: []filter{{Name: "status", Options: []string{"draft", "active", "suspended"}}, {Name: "search"}}, Heads: []string{"merchant_create"},
		},
		{
			Name: "keys", API: "/v1/admin/keys", Items: "keys", Menu: true,
			Columns: []column{
				{Name: "key", From: "id", To: "/keys/{id}"},
				{Name: "merchant", From: "merchantId"},
				{Name: "name", From: "name"},
				{Name: "mode", From: "mode", As: word},
				{Name: "tier", From: "tier", As: word},
				{Name: "permissions", From: "permissions"},
				{Name: "used", From: "lastUsedAt", As: when},
				{Name: "revoked", From: "revokedAt", As: when},
			},
			Filters: []filter{modes, merchants}, Heads: []string{"key_create"},
		},
		{
			Name: "pauses", API: "/v1/admin/pauses", Items: "pauses", Menu: true, Live: true,
			Columns: []column{
				{Name: "pause", From: "id", As: code},
				{Name: "what", From: "paused", As: word},
				{Name: "currency", From: "fiatCurrency"},
				{Name: "network", From: "network"},
				{Name: "rail", From: "rail"},
				{Name: "merchant", From: "merchantId"},
				{Name: "reason", From: "reason"},
				{Name: "until", From: "until", As: when},
				{Name: "since", From: "since", As: when},
				{Name: "by", From: "operator"},
			},
			Rows: []string{"pause_end"}, Heads: []string{"pause_begin"},
		},
		{
			Name: "fees", API: "/v1/admin/fee-schedules", Items: "feeSchedules",
			Columns: []column{
				{Name: "schedule", From: "id", As: code},
				{Name: "currency", From: "fiatCurrency"},
				{Name: "mode", From: "mode", As: word},
				{Name: "merchant", From: "merchantId"},
				{Name: "since", From: "validFrom", As: when},
				{Name: "by", From: "createdBy"},
				{Name: "note", From: "note"},
			},
			Filters: []filter{modes, merchants, {Name: "fiatCurrency"}}, Menu: true,
		},
		{
			Name: "sweeps", API: "/v1/admin/sweeps", Items: "sweeps", Menu: true, Live: true,
			Columns: []column{
				{Name: "sweep", From: "id", As: code},
				{Name: "state", From: "state", As: word},
				{Name: "reason", From: "reason"},
				{Name: "amount", From: "amount", As: amount, Of: "crypto"},
				{Name: "network", From: "network"},
				{Name: "address", From: "address", As: code},
				{Name: "kind", From: "transaction.kind", As: word},
				{Name: "step", From: "transaction.state", As: word},
				{Name: "transaction", From: "transaction.txHash", As: code},
				{Name: "created", From: "createdAt", As: when},
			},
			Filters: []filter{{Name: "network"}, {Name: "state", Options: []string{"open", "blocked"}}}, Rows: []string{"sweep_release"},
		},
		{
			Name: "rescans", API: "/v1/admin/rescans", Items: "rescans", Live: true,
			Columns: []column{
				{Name: "rescan", From: "id"},
				{Name: "network", From: "network"},
				{Name: "mode", From: "mode", As: word},
				{Name: "state", From: "state", As: word},
				{Name: "from", From: "from"},
				{Name: "to", From: "to"},
				{Name: "found", From: "found"},
				{Name: "problem", From: "problem"},
				{Name: "by", From: "operator"},
				{Name: "reason", From: "reason"},
				{Name: "created", From: "orderedAt", As: when},
			},
		},
		{
			Name: "closes", API: "/v1/admin/closes", Items: "closes", Menu: true,
			Columns: []column{
				{Name: "day", From: "day", To: "/treasury?day={day}"},
				{Name: "closed", From: "closedAt", As: when},
				{Name: "journal", From: "lastJournal"},
				{Name: "differences", From: "differences", To: "/differences?status=all"},
				{Name: "snapshot_live", Says: "csv", As: word, To: "/closes/{day}/live/treasury.csv"},
				{Name: "snapshot_test", Says: "csv", As: word, To: "/closes/{day}/test/treasury.csv"},
			},
		},
		{
			Name: "deliveries", API: "/v1/admin/deliveries", Items: "deliveries", Menu: true, Live: true,
			Columns: []column{
				{Name: "merchant", From: "merchantId"},
				{Name: "mode", From: "mode", As: word},
				{Name: "type", From: "type"},
				{Name: "object", From: "objectId", As: code},
				{Name: "url", From: "url"},
				{Name: "status", From: "status", As: word},
				{Name: "attempts", From: "attemptCount"},
				{Name: "last", From: "lastAttempt.class"},
				{Name: "code", From: "lastAttempt.status"},
				{Name: "tried", From: "lastAttempt.at", As: when},
			},
			Filters: []filter{merchants, modes, {Name: "status", Options: []string{"pending", "retrying", "held", "delivered", "exhausted"}}, {Name: "objectId"}},
			Rows:    []string{"delivery_retry"},
		},
		{
			Name: "dead", API: "/v1/admin/dead-messages", Items: "messages", Menu: true, Live: true,
			Columns: []column{
				{Name: "message", From: "id"},
				{Name: "at", From: "at", As: when},
				{Name: "name", From: "name"},
				{Name: "reason", From: "reason"},
				{Name: "sent_as", From: "messageId", As: code},
			},
			Rows: []string{"dead_replay"}, Tables: []table{deadQueues()},
		},
		{
			Name: "passkeys", API: "/v1/admin/operators/passkeys", Items: "passkeys", Whole: true, Menu: true,
			Columns: []column{
				{Name: "passkey", From: "id"},
				{Name: "operator", From: "name"},
				{Name: "label", From: "label"},
				{Name: "credential", From: "credentialId", As: code},
				{Name: "created", From: "createdAt", As: when},
				{Name: "by", From: "createdBy"},
				{Name: "revoked", From: "revokedAt", As: when},
			},
			Rows: []string{"passkey_revoke"},
		},
		{
			Name: "tokens", API: "/v1/admin/operators", Items: "operators", Whole: true,
			Columns: []column{
				{Name: "token", From: "id"},
				{Name: "operator", From: "name"},
				{Name: "created", From: "createdAt", As: when},
				{Name: "by", From: "createdBy"},
				{Name: "until", From: "expiresAt", As: when},
				{Name: "revoked", From: "revokedAt", As: when},
				{Name: "used", From: "lastUsedAt", As: when},
			},
			Rows: []string{"token_revoke"},
		},
		{
			Name: "audit", API: "/v1/admin/audit", Items: "acts", Menu: true,
			Columns: []column{
				{Name: "at", From: "at", As: when},
				{Name: "actor", From: "actor"},
				{Name: "what", From: "act", As: code},
				{Name: "object", From: "object"},
				{Name: "detail", From: "detail"},
				{Name: "from", From: "clientIp"},
				{Name: "request", From: "requestId", As: code},
			},
			Filters: []filter{{Name: "actor"}, {Name: "act"}, {Name: "object"}, {Name: "from"}, {Name: "to"}},
		},
	}
}

// stuck are the filters of the attention queue's own view of lists.
var stuck = map[string]url.Values{"payments": {"status": {"needs_review"}}, "sweeps": {"state": {"blocked"}}}
