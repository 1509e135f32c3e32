package merchant

import (
	"encoding/json"
	"net/url"
	"strings"

	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/web"
)

type wallet struct {
	ID, Address, Network, Crypto, Status, Amount string
	Confirmations                                int64
	CreatedAt, ExpiresAt                         string
	Metadata                                     json.RawMessage
}

type walletsPage struct {
	Wallets  []wallet
	Pager    *web.Pager
	Statuses []string
}

func listWallets(v *web.Visit) error {
	p := walletsPage{Pager: v.NewPager(), Statuses: []string{"watching", "deposit_detected", "confirmed", "swept", "expired"}}
	q := query(v, p.Pager, "status")
	if p.Pager.After == "" {
		q.Set("cursor", "") // the list has cursors only if the first request gives one
	}
	var list struct {
		Wallets    []wallet
		Pagination pagination
	}
	if err := v.API.Get(v.Context(), "/v1/wallets", q, &list); err != nil {
		return err
	}
	p.Wallets = list.Wallets
	v.More(p.Pager, list.Pagination.NextCursor)
	return v.Render("wallets", "wallets.title", p)
}

type walletPage struct {
	W        wallet
	Deposits []struct {
		TxHash, Crypto, Network, Amount, Status, FirstSeenAt string
		Confirmations                                        int64
		Counted                                              bool
	}
	Pager *web.Pager
}

func showWallet(v *web.Visit) error {
	p := walletPage{Pager: v.NewPager()}
	var answer struct{ Wallet wallet }
	if err := v.API.Get(v.Context(), api.Path("v1", "wallets", v.Param("id")), nil, &answer); err != nil {
		return err
	}
	p.W = answer.Wallet
	list := struct {
		Deposits   any
		Pagination pagination
	}{Deposits: &p.Deposits}
	if err := v.API.Get(v.Context(), api.Path("v1", "wallets", v.Param("id"), "deposits"), query(v, p.Pager), &list); err != nil {
		return err
	}
	v.More(p.Pager, list.Pagination.NextCursor)
	return v.Render("wallet", "wallets.one", p)
}

func versionWallet(v *web.Visit) (string, error) {
	var answer struct{ Wallet wallet }
	err := v.API.Get(v.Context(), api.Path("v1", "wallets", v.Param("id")), nil, &answer)
	return version(answer.Wallet), err
}

type newWalletPage struct {
	Form  *web.Form
	Pairs []pair
}

func walletForm(v *web.Visit, f *web.Form, render func(page, title string, data any) error) error {
	pairs, _, err := options(v)
	if err != nil {
		return err
	}
	return render("wallet-new", "wallets.new", newWalletPage{f, pairs})
}

func askWallet(v *web.Visit) error { return walletForm(v, v.Form(nil), v.Render) }

func createWallet(v *web.Visit) error {
	f := v.Form(nil)
	crypto, network, ok := strings.Cut(f.Get("pair"), "/")
	if !ok {
		f.Err("pair", v.T("form.needed"))
		return walletForm(v, f, v.Refuse)
	}
	body := map[string]any{"crypto": crypto, "network": network}
	if note := f.Get("note"); note != "" {
		body["metadata"] = map[string]string{"note": note}
	}
	var made struct{ Wallet wallet }
	if err := v.API.Post(v.Context(), "/v1/wallets", f.Key, body, &made); err != nil {
		if !v.Refused(f, err, "crypto", "pair", "network", "pair", "metadata", "note") {
			return err
		}
		return walletForm(v, f, v.Refuse)
	}
	return v.Redirect("/wallets/" + url.PathEscape(made.Wallet.ID))
}

type bookEntry struct {
	ID, Network, Address, Label, CreatedAt, UsableAt string
}

// Called is the text of the entry in a choice.
func (e bookEntry) Called() string { return e.Network + " · " + e.Label + " · " + e.Address }

type addressesPage struct {
	Addresses []bookEntry
	Pager     *web.Pager
}

func listAddresses(v *web.Visit) error {
	p := addressesPage{Pager: v.NewPager()}
	var list struct {
		Addresses  []bookEntry
		Pagination pagination
	}
	if err := v.API.Get(v.Context(), "/v1/wallets/address-book", query(v, p.Pager), &list); err != nil {
		return err
	}
	p.Addresses = list.Addresses
	v.More(p.Pager, list.Pagination.NextCursor)
	return v.Render("addresses", "addresses.title", p)
}

type newAddressPage struct {
	Form     *web.Form
	Networks []string
}

func askAddress(v *web.Visit) error {
	return v.Render("address-new", "addresses.new", newAddressPage{v.Form(url.Values{"network": {"tron"}}), networks()})
}

func addAddress(v *web.Visit) error {
	f := v.Form(nil)
	if !v.Need(f, "address", "label") {
		return v.Refuse("address-new", "addresses.new", newAddressPage{f, networks()})
	}
	body := map[string]string{"network": f.Get("network"), "address": f.Get("address"), "label": f.Get("label")}
	if err := v.API.Post(v.Context(), "/v1/wallets/address-book", f.Key, body, nil); err != nil {
		if !v.Refused(f, err, "network", "network", "address", "address", "label", "label") {
			return err
		}
		return v.Refuse("address-new", "addresses.new", newAddressPage{f, networks()})
	}
	v.Notice("addresses.added")
	return v.Redirect("/addresses")
}

func removeAddress(v *web.Visit) error {
	if err := v.API.Do(v.Context(), api.Call{Method: "DELETE", Path: api.Path("v1", "wallets", "address-book", v.Param("id"))}, nil); err != nil {
		return err
	}
	v.Notice("addresses.removed")
	return v.Redirect("/addresses")
}

type draw struct {
	ID, Status, Crypto, Network, Amount, Fee, Address, AddressID, TxHash, Failure, Cancellation string
	CreatedAt, ConfirmedAt                                                                      string
}

// MayCancel reports whether the withdrawal has not left yet.
func (d draw) MayCancel() bool {
	return d.Cancellation == "" && (d.Status == "requested" || d.Status == "approved")
}

type drawsPage struct {
	Draws []draw
	Pager *web.Pager
}

func listDraws(v *web.Visit) error {
	p := drawsPage{Pager: v.NewPager()}
	var list struct {
		Withdrawals []draw
		Pagination  pagination
	}
	if err := v.API.Get(v.Context(), "/v1/wallets/withdrawals", query(v, p.Pager), &list); err != nil {
		return err
	}
	p.Draws = list.Withdrawals
	v.More(p.Pager, list.Pagination.NextCursor)
	return v.Render("draws", "draws.title", p)
}

func readDraw(v *web.Visit) (draw, error) {
	var answer struct{ Withdrawal draw }
	err := v.API.Get(v.Context(), api.Path("v1", "wallets", "withdrawals", v.Param("id")), nil, &answer)
	return answer.Withdrawal, err
}

func showDraw(v *web.Visit) error {
	d, err := readDraw(v)
	if err != nil {
		return err
	}
	return v.Render("draw", "draws.one", struct{ D draw }{d})
}

func versionDraw(v *web.Visit) (string, error) {
	d, err := readDraw(v)
	return version(d), err
}

func cancelDraw(v *web.Visit) error {
	if err := v.API.Post(v.Context(), api.Path("v1", "wallets", "withdrawals", v.Param("id"), "cancel"), v.Form(nil).Key, nil, nil); err != nil {
		return err
	}
	v.Notice("draws.cancelled")
	return v.Redirect("/crypto-withdrawals/" + url.PathEscape(v.Param("id")))
}

type drawFee struct {
	Crypto, Network, Fee, Minimum string
	Open                          bool
}

// Value names the asset in a form.
func (f drawFee) Value() string { return f.Crypto + "/" + f.Network }

type newDrawPage struct {
	Form      *web.Form
	Fees      []drawFee
	Addresses []bookEntry
	B         balances
}

// Available is the balance of an asset.
func (p newDrawPage) Available(f drawFee) string {
	for _, b := range p.B.Balances {
		if b.Crypto == f.Crypto && b.Network == f.Network {
			return b.Available
		}
	}
	return "0"
}

func drawForm(v *web.Visit, f *web.Form, render func(page, title string, data any) error) error {
	p := newDrawPage{Form: f}
	var fees struct{ Fees []drawFee }
	if err := v.API.Get(v.Context(), "/v1/wallets/withdrawals/fees", nil, &fees); err != nil {
		return err
	}
	if err := v.API.Get(v.Context(), "/v1/balances", nil, &p.B); err != nil {
		return err
	}
	var book struct{ Addresses []bookEntry }
	if err := v.API.Get(v.Context(), "/v1/wallets/address-book", url.Values{"limit": {"100"}}, &book); err != nil {
		return err
	}
	p.Addresses = book.Addresses
	for _, fee := range fees.Fees {
		if fee.Open {
			p.Fees = append(p.Fees, fee)
		}
	}
	return render("draw-new", "draws.new", p)
}

func askDraw(v *web.Visit) error { return drawForm(v, v.Form(nil), v.Render) }

func createDraw(v *web.Visit) error {
	f := v.Form(nil)
	v.Need(f, "asset", "amount", "address")
	n, ok := amount(v, f, "amount")
	crypto, network, named := strings.Cut(f.Get("asset"), "/")
	if !ok || !named || !f.OK() {
		return drawForm(v, f, v.Refuse)
	}
	body := map[string]string{"crypto": crypto, "network": network, "amount": string(n), "addressId": f.Get("address")}
	if fee := f.Get("fee-" + f.Get("asset")); fee != "" { // the fee that the page showed; the API refuses another one
		body["fee"] = fee
	}
	var made struct{ Withdrawal draw }
	if err := v.API.Post(v.Context(), "/v1/wallets/withdrawals", f.Key, body, &made); err != nil {
		if !v.Refused(f, err, "amount", "amount", "crypto", "asset", "network", "asset", "addressId", "address") {
			return err
		}
		return drawForm(v, f, v.Refuse)
	}
	v.Notice("draws.done")
	return v.Redirect("/crypto-withdrawals/" + url.PathEscape(made.Withdrawal.ID))
}
