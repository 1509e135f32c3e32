package page

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

// claimView is what /claim/:reference shows.
type claimView struct {
	view
	P       payment
	Stage   string // form, confirm, progress, done, review, gone or none
	Steps   []mark
	Unpaid  bool // the sender's money has not arrived
	Search  string
	Banks   []bank
	Bank    string // the code of the selected bank
	Account string
	Digits  bool              // account numbers of this currency are digits only
	Found   receiver          // the receiver of stage confirm
	Problem string            // the key of the reason why a form was refused
	Wrong   map[string]string // the same by field
}

type bank struct {
	Code string `json:"code"`
	Name string `json:"name"`
}

// receiver is the account that payments found.
type receiver struct {
	AccountName   string `json:"accountName"`
	AccountNumber string `json:"accountNumber"`
	BankCode      string `json:"bankCode"`
	BankName      string `json:"bankName"`
	NameVerified  bool   `json:"nameVerified"`
}

// claimStage is the stage of a gift for its claimant.
func claimStage(p payment) string {
	switch {
	case p.Type != "gift":
		return "none"
	case p.Status == "settled":
		return "done"
	case p.Status == "settling":
		return "progress"
	case p.Status == "needs_review" || p.Status == "refunded":
		return "review"
	case p.Claimed:
		return "progress"
	case p.Status == "expired" || p.Status == "cancelled":
		return "gone"
	}
	return "form"
}

// unpaid reports whether the money of a gift has not arrived.
func unpaid(p payment) bool {
	return p.Status == "pending" || p.Status == "confirming" || p.Exception == "unfunded"
}

func (p *Pages) showClaim(w http.ResponseWriter, r *http.Request) {
	found, tag, ok := p.find(w, r)
	if !ok {
		return
	}
	p.gift(w, r, found, tag, http.StatusOK, claimView{Search: r.URL.Query().Get("bank")})
}

// gift renders the page of a gift; the handler has filled in the rest of the view.
func (p *Pages) gift(w http.ResponseWriter, r *http.Request, found payment, tag string, status int, v claimView) {
	v.P, v.Unpaid, v.Steps = found, unpaid(found), claimSteps(found)
	said := p.speak(r, found.Mode, found.Locale)
	v.view = view{
		Title: said.Text("claim.title", "amount", payout(said.Language, found)), Test: found.Mode == "test", Path: "/claim/" + found.Reference, Speech: said,
		Payee: found.payee,
	}
	if v.Stage == "" {
		v.Stage = claimStage(found)
	}
	switch v.Stage {
	case "none":
		p.fail(w, r, http.StatusNotFound, "", errUnknown)
		return
	case "progress", "review":
		v.Poll, v.Refresh = int(often/time.Millisecond), 15
	case "form":
		if !p.fillBanks(w, r, &v) {
			return
		}
	}
	v.Tag = `"` + tag + "-" + v.Stage + "-" + said.Code + `"`
	w.Header().Set("ETag", v.Tag)
	if status == http.StatusOK && r.Header.Get("If-None-Match") == v.Tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	p.render(w, r, said.Language, status, "claim", v)
}

const searchMax = 100

// fillBanks lists the banks of the gift's currency whose name contains the search text.
func (p *Pages) fillBanks(w http.ResponseWriter, r *http.Request, v *claimView) bool {
	v.Search = strings.ToValidUTF8(v.Search[:min(len(v.Search), searchMax)], "")
	v.Digits = digitsOnly(v.P)
	query := url.Values{"mode": {v.P.Mode}, "currency": {v.P.FiatCurrency}, "name": {v.Search}}
	var answer struct {
		Banks []bank `json:"banks"`
	}
	if _, refused := p.ask(r.Context(), http.MethodGet, "/v1/banks?"+query.Encode(), nil, &answer); refused != nil {
		p.fail(w, r, refused.status, refused.retryAfter, refused.fault)
		return false
	}
	v.Banks = answer.Banks
	if len(v.Banks) == 1 && v.Bank == "" {
		v.Bank = v.Banks[0].Code
	}
	if i := slices.IndexFunc(v.Banks, func(b bank) bool { return b.Code == v.Bank }); i > 0 { // the list shows its beginning
		chosen := v.Banks[i]
		v.Banks = slices.Insert(slices.Delete(v.Banks, i, i+1), 0, chosen)
	}
	return true
}

// accountNumber is a typed account number without what people put between its digits, and with the digits of an Arabic
// keyboard as 0 to 9.
func accountNumber(typed string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.In(r, unicode.Pd, unicode.Cf), r == '.':
			return -1
		case r >= '\u0660' && r <= '\u0669':
			return r - '\u0660' + '0'
		case r >= '\u06f0' && r <= '\u06f9':
			return r - '\u06f0' + '0'
		}
		return r
	}, typed)
}

// checkAccount looks up the holder of the typed account and asks the claimant to confirm it.
func (p *Pages) checkAccount(w http.ResponseWriter, r *http.Request) {
	found, tag, ok := p.find(w, r)
	if !ok {
		return
	}
	if claimStage(found) != "form" {
		p.back(w, r, found)
		return
	}
	typed := form(r, "bank", "account")
	v := claimView{Bank: typed[0], Account: accountNumber(typed[1])}
	if v.wrong("bank", v.Bank == "", "claim.bank.missing") || v.wrong("account", v.Account == "", "claim.account.missing") {
		v.wrong("account", v.Account == "", "claim.account.missing")
		p.gift(w, r, found, tag, http.StatusBadRequest, v)
		return
	}
	var answer struct {
		Receiver receiver `json:"receiver"`
	}
	body := map[string]string{"bankCode": v.Bank, "accountNumber": v.Account, "reference": found.Reference}
	if _, refused := p.ask(r.Context(), http.MethodPost, "/v1/payments/verify-receiver", body, &answer); refused != nil {
		v.refuse(found, refused)
		p.gift(w, r, found, tag, refused.status, v)
		return
	}
	v.Stage, v.Found = "confirm", answer.Receiver
	p.gift(w, r, found, tag, http.StatusOK, v)
}

// wrong adds an error to a field.
func (v *claimView) wrong(field string, is bool, key string) bool {
	if is {
		if v.Wrong == nil {
			v.Wrong = map[string]string{}
		}
		v.Wrong[field] = key
	}
	return is
}

// noAccount is how payments says that the bank has no such account; any other fault of a number is one of its form.
const noAccount = "no such account at this bank"

// digitsOnly reports a gift whose account numbers have ten digits and nothing else.
func digitsOnly(p payment) bool { return p.FiatCurrency == "NGN" }

// refuse shows a refusal of payments in the form.
func (v *claimView) refuse(found payment, why *refusal) {
	for _, f := range why.problem.Error.Fields {
		switch f.Field {
		case "bankCode", "receiver.bankCode":
			v.wrong("bank", true, "claim.bank.unknown")
		case "accountNumber", "receiver.accountNumber":
			key := "claim.account.shape"
			switch {
			case f.Message == noAccount:
				key = "claim.account.unknown"
			case digitsOnly(found):
				key = "claim.account.digits"
			}
			v.wrong("account", true, key)
		}
	}
	if v.Wrong == nil {
		v.Problem = "claim.failed"
		if why.status >= http.StatusInternalServerError || why.status == http.StatusTooManyRequests {
			v.Problem = "claim.unavailable"
		}
	}
}

// claim gives the gift to the account that was confirmed.
func (p *Pages) claim(w http.ResponseWriter, r *http.Request) {
	found, tag, ok := p.find(w, r)
	if !ok {
		return
	}
	typed := form(r, "bank", "account")
	v := claimView{Bank: typed[0], Account: accountNumber(typed[1])}
	body := map[string]any{"receiver": map[string]string{"bankCode": v.Bank, "accountNumber": v.Account}}
	var answer json.RawMessage
	_, refused := p.ask(r.Context(), http.MethodPost, "/v1/payments/gifts/"+found.Reference+"/claim/confirm", body, &answer)
	if refused == nil || claimStage(found) != "form" || refused.status == http.StatusConflict {
		p.back(w, r, found) // the gift's new state says more than the refusal
		return
	}
	v.refuse(found, refused)
	p.gift(w, r, found, tag, refused.status, v)
}
