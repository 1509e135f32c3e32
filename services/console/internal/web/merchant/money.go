package merchant

import (
	"encoding/json"
	"net/url"
	"strings"

	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/web"
)

type balances struct {
	Fiat []struct {
		Currency           string
		Available, Pending json.Number
	}
	Balances []struct{ Crypto, Network, Available, Pending, Missing string }
}

type account struct {
	ID, Currency, Status              string
	Receiver                          receiver
	HeldUntil, CreatedAt, ConfirmedAt string
}

// Called is the text of the account in a choice.
func (a account) Called() string {
	return a.Currency + " · " + a.Receiver.BankName + " · " + a.Receiver.AccountNumber + " · " + a.Receiver.AccountName
}

func readAccounts(v *web.Visit) ([]account, error) {
	var list struct{ SettlementAccounts []account }
	err := v.API.Get(v.Context(), "/v1/settlement-accounts", nil, &list)
	return list.SettlementAccounts, err
}

// active are the confirmed accounts of a currency, or of all currencies.
func active(all []account, currency string) (out []account) {
	for _, a := range all {
		if a.Status == "active" && (currency == "" || a.Currency == currency) {
			out = append(out, a)
		}
	}
	return out
}

type balancesPage struct {
	B        balances
	Accounts []account
	Settings settling
}

type settling struct {
	MerchantPayments string
	Daily            []struct {
		Currency            string
		SettlementAccountID string `json:"settlementAccountId"`
		Minimum             json.Number
	}
}

func readSettings(v *web.Visit) (settling, error) {
	var answer struct{ Settings settling }
	err := v.API.Get(v.Context(), "/v1/settlement-settings", nil, &answer)
	return answer.Settings, err
}

func showBalances(v *web.Visit) (err error) {
	var p balancesPage
	if err = v.API.Get(v.Context(), "/v1/balances", nil, &p.B); err != nil {
		return err
	}
	if v.Allows(people.PaymentRead) {
		if p.Accounts, err = readAccounts(v); err != nil {
			return err
		}
		if p.Settings, err = readSettings(v); err != nil {
			return err
		}
	}
	return v.Render("balances", "balances.title", p)
}

type settlingPage struct {
	Form       *web.Form
	Currencies []string
	Accounts   []account
}

// Of are the active accounts of a currency.
func (p settlingPage) Of(currency string) []account { return active(p.Accounts, currency) }

func askSettings(v *web.Visit) error {
	now, err := readSettings(v)
	if err != nil {
		return err
	}
	filled := url.Values{"merchantPayments": {now.MerchantPayments}}
	for _, d := range now.Daily {
		filled.Set("account-"+d.Currency, d.SettlementAccountID)
		filled.Set("minimum-"+d.Currency, d.Minimum.String())
	}
	return settlingForm(v, v.Form(filled), v.Render)
}

func settlingForm(v *web.Visit, f *web.Form, render func(page, title string, data any) error) error {
	accounts, err := readAccounts(v)
	if err != nil {
		return err
	}
	return render("settling", "settling.title", settlingPage{f, currencies(), accounts})
}

func changeSettings(v *web.Visit) error {
	f := v.Form(nil)
	daily := []map[string]any{}
	for _, currency := range currencies() {
		if id := f.Get("account-" + currency); id != "" {
			one := map[string]any{"currency": currency, "settlementAccountId": id}
			if n, ok := amount(v, f, "minimum-"+currency); ok {
				one["minimum"] = n
			}
			daily = append(daily, one)
		}
	}
	if !f.OK() {
		return settlingForm(v, f, v.Refuse)
	}
	body := map[string]any{"merchantPayments": f.Get("merchantPayments"), "daily": daily}
	err := v.API.Do(v.Context(), api.Call{Method: "PATCH", Path: "/v1/settlement-settings", Body: body}, nil)
	if err != nil {
		if !v.Refused(f, err, "merchantPayments", "merchantPayments") {
			return err
		}
		return settlingForm(v, f, v.Refuse)
	}
	v.Notice("settling.done")
	return v.Redirect("/balances")
}

type accountsPage struct{ Accounts []account }

func listAccounts(v *web.Visit) error {
	all, err := readAccounts(v)
	if err != nil {
		return err
	}
	return v.Render("accounts", "accounts.title", accountsPage{all})
}

type newAccountPage struct {
	Form       *web.Form
	Currencies []string
	Banks      []bank
}

func askAccount(v *web.Visit) error {
	return accountForm(v, v.Form(url.Values{"currency": {"NGN"}}), v.Render)
}

func accountForm(v *web.Visit, f *web.Form, render func(page, title string, data any) error) error {
	var list struct{ Banks []bank }
	if err := v.API.Get(v.Context(), "/v1/banks", nil, &list); err != nil {
		return err
	}
	return render("account-new", "accounts.new", newAccountPage{f, currencies(), list.Banks})
}

func addAccount(v *web.Visit) error {
	f := v.Form(nil)
	if !v.Need(f, "bank", "account") {
		return accountForm(v, f, v.Refuse)
	}
	currency, code, _ := strings.Cut(f.Get("bank"), ":")
	var made struct{ SettlementAccount account }
	err := v.API.Post(v.Context(), "/v1/settlement-accounts", f.Key, map[string]any{
		"currency": currency, "receiver": map[string]string{"bankCode": code, "accountNumber": f.Get("account")},
	}, &made)
	if err != nil {
		if !v.Refused(f, err, "receiver.bankCode", "bank", "receiver.accountNumber", "account", "currency", "bank") {
			return err
		}
		return accountForm(v, f, v.Refuse)
	}
	if !v.Allows(people.WithdrawalCreate) {
		v.Notice("accounts.added")
		return v.Redirect("/accounts")
	}
	return v.Redirect("/accounts/" + url.PathEscape(made.SettlementAccount.ID) + "/confirm")
}

type confirmPage struct {
	Form *web.Form
	A    account
}

func confirmForm(v *web.Visit, f *web.Form, render func(page, title string, data any) error) error {
	var answer struct{ SettlementAccount account }
	if err := v.API.Get(v.Context(), api.Path("v1", "settlement-accounts", v.Param("id")), nil, &answer); err != nil {
		return err
	}
	return render("account-confirm", "accounts.confirm", confirmPage{f, answer.SettlementAccount})
}

func askConfirm(v *web.Visit) error { return confirmForm(v, v.Form(nil), v.Render) }

func confirmAccount(v *web.Visit) error {
	f := v.Form(nil)
	if !v.Need(f, "account") {
		return confirmForm(v, f, v.Refuse)
	}
	err := v.API.Post(v.Context(), api.Path("v1", "settlement-accounts", v.Param("id"), "confirm"), f.Key,
		map[string]string{"accountNumber": f.Get("account")}, nil)
	if err != nil {
		if !v.Refused(f, err, "accountNumber", "account") {
			return err
		}
		return confirmForm(v, f, v.Refuse)
	}
	v.Notice("accounts.confirmed")
	return v.Redirect("/accounts")
}

func deleteAccount(v *web.Visit) error {
	if err := v.API.Do(v.Context(), api.Call{Method: "DELETE", Path: api.Path("v1", "settlement-accounts", v.Param("id"))}, nil); err != nil {
		return err
	}
	v.Notice("accounts.deleted")
	return v.Redirect("/accounts")
}

type withdrawal struct {
	ID, Status, Currency, SettlementAccountID, Failure string
	Amount                                             json.Number
	Receiver                                           receiver
	CreatedAt, EndedAt                                 string
}

type withdrawalsPage struct {
	Withdrawals []withdrawal
	Pager       *web.Pager
}

func listWithdrawals(v *web.Visit) error {
	p := withdrawalsPage{Pager: v.NewPager()}
	var list struct {
		Withdrawals []withdrawal
		Pagination  pagination
	}
	if err := v.API.Get(v.Context(), "/v1/withdrawals", query(v, p.Pager), &list); err != nil {
		return err
	}
	p.Withdrawals = list.Withdrawals
	v.More(p.Pager, list.Pagination.NextCursor)
	return v.Render("withdrawals", "withdrawals.title", p)
}

func readWithdrawal(v *web.Visit) (withdrawal, error) {
	var answer struct{ Withdrawal withdrawal }
	err := v.API.Get(v.Context(), api.Path("v1", "withdrawals", v.Param("id")), nil, &answer)
	return answer.Withdrawal, err
}

func showWithdrawal(v *web.Visit) error {
	w, err := readWithdrawal(v)
	if err != nil {
		return err
	}
	return v.Render("withdrawal", "withdrawals.one", struct{ W withdrawal }{w})
}

func versionWithdrawal(v *web.Visit) (string, error) {
	w, err := readWithdrawal(v)
	return version(w), err
}

type withdrawPage struct {
	Form     *web.Form
	Accounts []account
	B        balances
}

func withdrawForm(v *web.Visit, f *web.Form, render func(page, title string, data any) error) error {
	p := withdrawPage{Form: f}
	accounts, err := readAccounts(v)
	if err != nil {
		return err
	}
	p.Accounts = active(accounts, "")
	if v.Allows(people.WalletRead) {
		if err := v.API.Get(v.Context(), "/v1/balances", nil, &p.B); err != nil {
			return err
		}
	}
	return render("withdraw", "withdrawals.new", p)
}

func askWithdraw(v *web.Visit) error {
	return withdrawForm(v, v.Form(url.Values{"account": {v.Query("account")}}), v.Render)
}

func withdraw(v *web.Visit) error {
	f := v.Form(nil)
	v.Need(f, "amount", "account")
	n, ok := amount(v, f, "amount")
	if !ok || !f.OK() {
		return withdrawForm(v, f, v.Refuse)
	}
	accounts, err := readAccounts(v)
	if err != nil {
		return err
	}
	currency := ""
	for _, a := range accounts {
		if a.ID == f.Get("account") {
			currency = a.Currency
		}
	}
	var made struct{ Withdrawal withdrawal }
	err = v.API.Post(v.Context(), "/v1/withdrawals", f.Key, map[string]any{"currency": currency, "amount": n, "settlementAccountId": f.Get("account")}, &made)
	if err != nil {
		if !v.Refused(f, err, "amount", "amount", "settlementAccountId", "account", "currency", "account") {
			return err
		}
		return withdrawForm(v, f, v.Refuse)
	}
	v.Notice("withdrawals.done")
	return v.Redirect("/withdrawals/" + url.PathEscape(made.Withdrawal.ID))
}
