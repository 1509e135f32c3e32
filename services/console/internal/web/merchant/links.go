package merchant

import (
	"encoding/json"
	"net/url"
	"strconv"
	"time"

	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/web"
)

type paymentLink struct {
	ID, URL, Type, Status, Title, Description, FiatCurrency string
	FiatAmount, MinimumAmount, MaximumAmount                json.Number
	SettlementAccountID                                     string `json:"settlementAccountId"`
	UsageLimit                                              int    // 0 is no limit
	Uses                                                    int
	ExpiresAt, EndedAt, CreatedAt                           string
}

type linksPage struct {
	Links []paymentLink
	Pager *web.Pager
}

func listLinks(v *web.Visit) error {
	p := linksPage{Pager: v.NewPager()}
	var list struct {
		PaymentLinks []paymentLink
		Pagination   pagination
	}
	if err := v.API.Get(v.Context(), "/v1/payment-links", query(v, p.Pager), &list); err != nil {
		return err
	}
	p.Links = list.PaymentLinks
	v.More(p.Pager, list.Pagination.NextCursor)
	return v.Render("links", "links.title", p)
}

func showLink(v *web.Visit) error {
	var answer struct{ PaymentLink paymentLink }
	if err := v.API.Get(v.Context(), api.Path("v1", "payment-links", v.Param("id")), nil, &answer); err != nil {
		return err
	}
	return v.Render("link-page", "links.one", struct{ L paymentLink }{answer.PaymentLink})
}

// endLink ends a link, or takes that back.
func endLink(v *web.Visit) error {
	status := v.Form(nil).Get("status")
	err := v.API.Do(v.Context(), api.Call{Method: "PATCH", Path: api.Path("v1", "payment-links", v.Param("id")), Body: map[string]string{"status": status}}, nil)
	if err != nil {
		return err
	}
	if status == "ended" {
		v.Notice("links.ended")
	} else {
		v.Notice("links.reopened")
	}
	return v.Redirect("/links/" + url.PathEscape(v.Param("id")))
}

type newLinkPage struct {
	Form       *web.Form
	Currencies []string
	Accounts   []account
}

func askLink(v *web.Visit) error {
	return newLink(v, v.Form(url.Values{"type": {"merchant"}, "fiatCurrency": {"NGN"}}), v.Render)
}

func newLink(v *web.Visit, f *web.Form, render func(page, title string, data any) error) error {
	accounts, err := readAccounts(v)
	if err != nil {
		return err
	}
	return render("link-new", "links.new", newLinkPage{f, currencies(), active(accounts, "")})
}

func createLink(v *web.Visit) error {
	f := v.Form(nil)
	body := map[string]any{
		"type": f.Get("type"), "title": f.Get("title"), "description": f.Get("description"), "fiatCurrency": f.Get("fiatCurrency"),
	}
	v.Need(f, "title")
	for _, name := range []string{"fiatAmount", "minimumAmount", "maximumAmount"} {
		if n, ok := amount(v, f, name); ok {
			body[name] = n
		}
	}
	if f.Get("type") == "request" {
		body["settlementAccountId"] = f.Get("account")
	}
	if text := f.Get("usageLimit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			f.Err("usageLimit", v.T("form.whole"))
		}
		body["usageLimit"] = n
	}
	if text := f.Get("expires"); text != "" {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			f.Err("expires", v.T("form.day"))
		}
		body["expiresAt"] = at.AddDate(0, 0, 1).UTC().Format("2006-01-02T15:04:05.000Z") // the day is included
	}
	if !f.OK() {
		return newLink(v, f, v.Refuse)
	}
	var made struct{ PaymentLink paymentLink }
	if err := v.API.Post(v.Context(), "/v1/payment-links", f.Key, body, &made); err != nil {
		if !v.Refused(f, err, "title", "title", "description", "description", "fiatAmount", "fiatAmount", "minimumAmount", "minimumAmount", "maximumAmount",
			"maximumAmount", "settlementAccountId", "account", "usageLimit", "usageLimit", "expiresAt", "expires", "type", "type", "fiatCurrency", "fiatCurrency") {
			return err
		}
		return newLink(v, f, v.Refuse)
	}
	v.Notice("links.made")
	return v.Redirect("/links/" + url.PathEscape(made.PaymentLink.ID))
}
