package merchant

import (
	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/web"
)

// moneyPages are the routes of payments, money, wallets, reports and webhooks, with the permission for each.
func moneyPages() []web.Page {
	alone := func(p web.Page) web.Page { p.Alone = true; return p }
	return []web.Page{
		web.Get("/payments", people.PaymentRead, listPayments),
		web.Get("/payments/export", people.PaymentRead, exportPayments),
		web.Get("/payments/new", people.PaymentCreate, askCreate),
		web.Post("/payments/new", people.PaymentCreate, createPayment),
		web.Get("/payments/{reference}", people.PaymentRead, showPayment).WithLive(versionPayment),
		web.Get("/payments/{reference}/cancel", people.PaymentCreate, askCancel),
		web.Post("/payments/{reference}/cancel", people.PaymentCreate, cancel),
		web.Get("/payments/{reference}/refund", people.RefundCreate, askRefund).WithFresh(),
		web.Post("/payments/{reference}/refund", people.RefundCreate, sendRefund).WithFresh(),

		web.Get("/links", people.PaymentRead, listLinks),
		web.Get("/links/new", people.PaymentCreate, askLink),
		web.Post("/links/new", people.PaymentCreate, createLink),
		web.Get("/links/{id}", people.PaymentRead, showLink),
		alone(web.Post("/links/{id}/status", people.PaymentCreate, endLink)),

		web.Get("/balances", people.WalletRead, showBalances),
		web.Get("/settlement-settings", people.SettlementManage, askSettings).WithFresh(),
		web.Post("/settlement-settings", people.SettlementManage, changeSettings).WithFresh(),
		web.Get("/withdrawals", people.PaymentRead, listWithdrawals),
		web.Get("/withdrawals/new", people.WithdrawalCreate, askWithdraw).WithFresh(),
		web.Post("/withdrawals/new", people.WithdrawalCreate, withdraw).WithFresh(),
		web.Get("/withdrawals/{id}", people.PaymentRead, showWithdrawal).WithLive(versionWithdrawal),
		web.Get("/accounts", people.PaymentRead, listAccounts),
		web.Get("/accounts/new", people.SettlementManage, askAccount).WithFresh(),
		web.Post("/accounts/new", people.SettlementManage, addAccount).WithFresh(),
		web.Get("/accounts/{id}/confirm", people.WithdrawalCreate, askConfirm).WithFresh(),
		web.Post("/accounts/{id}/confirm", people.WithdrawalCreate, confirmAccount).WithFresh(),
		alone(web.Post("/accounts/{id}/delete", people.SettlementManage, deleteAccount)).WithFresh(),

		web.Get("/wallets", people.WalletRead, listWallets),
		web.Get("/wallets/new", people.WalletCreate, askWallet),
		web.Post("/wallets/new", people.WalletCreate, createWallet),
		web.Get("/wallets/{id}", people.WalletRead, showWallet).WithLive(versionWallet),
		web.Get("/crypto-withdrawals", people.WalletRead, listDraws),
		web.Get("/crypto-withdrawals/new", people.WalletDraw, askDraw).WithFresh(),
		web.Post("/crypto-withdrawals/new", people.WalletDraw, createDraw).WithFresh(),
		web.Get("/crypto-withdrawals/{id}", people.WalletRead, showDraw).WithLive(versionDraw),
		alone(web.Post("/crypto-withdrawals/{id}/cancel", people.WalletDraw, cancelDraw)),
		web.Get("/addresses", people.WalletRead, listAddresses),
		web.Get("/addresses/new", people.WalletDraw, askAddress).WithFresh(),
		web.Post("/addresses/new", people.WalletDraw, addAddress).WithFresh(),
		alone(web.Post("/addresses/{id}/remove", people.WalletDraw, removeAddress)).WithFresh(),

		web.Get("/reports", people.ReportManage, listReports),
		web.Get("/reports/new", people.ReportCreate, askReport),
		web.Post("/reports/new", people.ReportCreate, createReport),
		web.Get("/reports/{id}", people.ReportManage, showReport),
		web.Post("/reports/{id}", people.ReportManage, changeReport),

		web.Get("/webhooks", people.WebhookManage, listEndpoints),
		web.Get("/webhooks/new", people.WebhookManage, askEndpoint).WithFresh(),
		web.Post("/webhooks/new", people.WebhookManage, createEndpoint).WithFresh(),
		web.Get("/webhooks/{id}", people.WebhookManage, showEndpoint).WithLive(versionEndpoint),
		web.Get("/webhooks/{id}/edit", people.WebhookManage, askEdit).WithFresh(),
		web.Post("/webhooks/{id}/edit", people.WebhookManage, changeEndpoint).WithFresh(),
		web.Get("/webhooks/{id}/secret", people.WebhookManage, askSecret).WithFresh(),
		web.Post("/webhooks/{id}/secret", people.WebhookManage, showSecret).WithFresh(),
		alone(web.Post("/webhooks/{id}/test", people.WebhookManage, testEndpoint)),
		alone(web.Post("/webhooks/{id}/delete", people.WebhookManage, deleteEndpoint)).WithFresh(),
		web.Get("/deliveries", people.WebhookManage, listDeliveries),
		web.Get("/deliveries/{id}", people.WebhookManage, showDelivery).WithLive(versionDelivery),
		alone(web.Post("/deliveries/{id}/retry", people.WebhookManage, retryDelivery)),
		web.Get("/replays/new", people.WebhookManage, askReplay).WithFresh(),
		web.Post("/replays/new", people.WebhookManage, createReplay).WithFresh(),
		web.Get("/replays/{id}", people.WebhookManage, showReplay).WithLive(versionReplay),
		alone(web.Post("/replays/{id}/turn", people.WebhookManage, turnReplay)),
	}
}

// moneyMenu are the lines of the navigation for moneyPages.
func moneyMenu() []web.Item {
	return []web.Item{
		{Name: "payments", Path: "/payments"},
		{Name: "links", Path: "/links"},
		{Name: "balances", Path: "/balances"},
		{Name: "withdrawals", Path: "/withdrawals"},
		{Name: "accounts", Path: "/accounts"},
		{Name: "wallets", Path: "/wallets"},
		{Name: "draws", Path: "/crypto-withdrawals"},
		{Name: "addresses", Path: "/addresses"},
		{Name: "reports", Path: "/reports"},
		{Name: "webhooks", Path: "/webhooks"},
		{Name: "deliveries", Path: "/deliveries"},
	}
}
