package page

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"
)

// payView is what /pay/:reference shows.
type payView struct {
	view
	P       payment
	Stage   stage
	Steps   []mark
	Note    string
	Next    string
	Left    int          // whole seconds until the window closes
	Wallet  template.URL // opens a wallet app; "" when there is none for this payment
	Coins   []coin       // the choices of a request
	Chosen  string       // the selected choice
	Problem string       // the key of the reason why a form was refused
	Play    []string     // what a simulated payer of a test payment may do now
	Named   bool         // the payer has just named a transaction
	Typed   string       // the refund address that was refused
	Now     time.Time
}

// coin is a crypto with the networks it may be sent on.
type coin struct {
	Crypto  string
	Open    bool
	Choices []choice
}

func (p *Pages) showPay(w http.ResponseWriter, r *http.Request) {
	found, tag, ok := p.find(w, r)
	if !ok {
		return
	}
	p.pay(w, r, found, tag, shown{status: http.StatusOK, chosen: r.URL.Query().Get("pair")})
}

// shown is the state of the page's forms: the pair that is chosen, the refund address that was typed and, when a form
// was refused, the key of the reason.
type shown struct {
	status                   int
	problem, chosen, address string
}

// pay renders the page.
func (p *Pages) pay(w http.ResponseWriter, r *http.Request, found payment, tag string, f shown) {
	now := p.now()
	s, said := stageOf(found, now), p.speak(r, found.Mode, found.Locale)
	tag = `"` + tag + "-" + s.Name + "-" + said.Code + `"`
	if f.status == http.StatusOK && r.Header.Get("If-None-Match") == tag {
		w.Header().Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("ETag", tag)
	v := payView{
		view: view{
			Title: said.Text("pay.title", "amount", fiat(said.Language, found)), Poll: int(s.Poll / time.Millisecond), Tag: tag, Test: found.Mode == "test",
			Path: "/pay/" + found.Reference, Speech: said, Payee: found.payee,
		},
		P: found, Stage: s, Steps: steps(found, s), Note: noteOf(found), Next: next(found, s), Problem: f.problem,
		Left: max(0, int(found.ExpiresAt.Sub(now)/time.Second)), Named: r.URL.Query().Has("named"),
		Typed: f.address, Now: now,
	}
	if s.Name != "choose" && s.Poll > 0 && !found.TakesRefund { // without a script, a reload takes away what was typed
		v.Refresh = 15
	}
	if v.Test && s.Poll > 0 {
		v.Poll = int(often / time.Millisecond) // the person who plays the payer wants to see the effect
	}
	if s.Name == "choose" {
		v.Coins, v.Chosen = coins(found, f.chosen)
	}
	if s.Name == "send" && opensWallet(found.PaymentURI) {
		v.Wallet = template.URL(found.PaymentURI) //nolint:gosec // its scheme was checked above
	}
	if v.Test {
		v.Play = plays(found, s)
	}
	p.render(w, r, said.Language, f.status, "pay", v)
}

// tag is a digest of the shown state of a payment; it changes with the payment and with the program.
func (p *Pages) tag(raw []byte) string {
	sum := sha256.Sum256(append([]byte(p.version), raw...))
	return hex.EncodeToString(sum[:12])
}

// opensWallet reports whether a URI is one of those that payments makes (app.paymentURI).
func opensWallet(uri string) bool {
	scheme, _, ok := strings.Cut(uri, ":")
	return ok && slices.Contains([]string{"bitcoin", "ethereum", "solana"}, scheme)
}

// favourites are the pairs that people here pay with most, on their cheapest networks, in the order of the choices.
var (
	favourites = []string{"USDT", "USDC", "BTC", "ETH", "BNB", "SOL", "TRX", "POL"}
	cheapest   = []string{"tron", "bsc", "polygon", "solana", "arbitrum", "base", "ethereum", "bitcoin"}
)

// coins groups the options of a request by crypto. The payee's wish, or the earlier choice, is open and selected.
func coins(p payment, chosen string) (out []coin, checked string) {
	wish := strings.ToUpper(p.Preferred.Crypto)
	for _, name := range favourites {
		c := coin{Crypto: name}
		for _, o := range p.Options {
			if o.Crypto == name {
				c.Choices = append(c.Choices, o)
			}
		}
		if len(c.Choices) == 0 {
			continue
		}
		slices.SortStableFunc(c.Choices, func(a, b choice) int {
			return slices.Index(cheapest, a.NetworkName) - slices.Index(cheapest, b.NetworkName)
		})
		for _, o := range c.Choices {
			if o.Pair() == chosen || (chosen == "" && o.Crypto == wish && networkTitle(p.Preferred.Network) == o.Network()) {
				c.Open, checked = true, o.Pair()
			}
		}
		c.Open = c.Open || (chosen == "" && checked == "" && name == wish)
		out = append(out, c)
	}
	if len(out) > 0 && !slices.ContainsFunc(out, func(c coin) bool { return c.Open }) {
		out[0].Open = true
	}
	return out, checked
}

// Pair names the choice in a form.
func (c choice) Pair() string { return c.Crypto + "/" + c.NetworkName }

// plays lists what a simulated payer may do at a stage.
func plays(p payment, s stage) []string {
	switch {
	case s.Name == "send" && p.Status == "pending":
		return []string{"full", "partial", "over", "late"}
	case s.Open:
		return []string{"full", "partial", "over"}
	case s.Name == "expired":
		return []string{"late"}
	}
	return nil
}

// form reads a posted form, at most formMax bytes of it; the proxy has bounded the body before.
func form(r *http.Request, names ...string) []string {
	values := make([]string, len(names))
	if err := r.ParseForm(); err != nil {
		return values // an unreadable form counts as an empty one
	}
	for i, name := range names {
		values[i] = strings.TrimSpace(r.PostForm.Get(name))
	}
	return values
}

// payerName is the name of a payer who fulfils through the page, which asks for no name.
const payerName = "checkout-page"

func (p *Pages) fulfil(w http.ResponseWriter, r *http.Request) {
	found, tag, ok := p.find(w, r)
	if !ok {
		return
	}
	pair := form(r, "pair")[0]
	crypto, network, chosen := strings.Cut(pair, "/")
	if !chosen && found.Status == "created" {
		p.pay(w, r, found, tag, shown{status: http.StatusBadRequest, problem: "choose.missing"})
		return
	}
	body := map[string]any{"payer": map[string]string{"chatId": payerName}, "crypto": crypto, "network": network}
	var answer json.RawMessage
	_, refused := p.ask(r.Context(), http.MethodPost, "/v1/payments/requests/"+found.Reference+"/fulfill", body, &answer)
	if refused == nil || found.Status != "created" || refused.status == http.StatusConflict {
		p.back(w, r, found) // the payment's new state says more than the refusal
		return
	}
	key := "choose.failed"
	if refused.status >= http.StatusInternalServerError {
		key = "choose.unavailable"
	}
	p.pay(w, r, found, tag, shown{status: refused.status, problem: key, chosen: pair})
}

// back redirects after a form to a page that may be reloaded without sending the form again, in the same language. The
// page has the words of the form behind its question mark.
func (p *Pages) back(w http.ResponseWriter, r *http.Request, found payment, words ...string) {
	if chosen := p.speak(r, found.Mode, found.Locale).Query; chosen != "" {
		words = append([]string{chosen[1:]}, words...)
	}
	path := "/pay/" + found.Reference
	if strings.HasPrefix(r.URL.Path, "/claim/") {
		path = "/claim/" + found.Reference
	}
	if len(words) > 0 {
		path += "?" + strings.Join(words, "&")
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, path, http.StatusSeeOther)
}

func (p *Pages) simulate(w http.ResponseWriter, r *http.Request) {
	found, tag, ok := p.find(w, r)
	if !ok {
		return
	}
	body := map[string]string{"scenario": form(r, "scenario")[0]}
	var answer json.RawMessage
	_, refused := p.ask(r.Context(), http.MethodPost, "/v1/checkout/"+found.Reference+"/simulate", body, &answer)
	switch {
	case refused == nil:
		p.back(w, r, found)
	case refused.status == http.StatusNotFound:
		p.fail(w, r, refused.status, "", refused.fault)
	default:
		p.pay(w, r, found, tag, shown{status: refused.status, problem: "play.refused"})
	}
}

// transaction submits the transaction that paid, on networks where the scanner may not see it.
func (p *Pages) transaction(w http.ResponseWriter, r *http.Request) {
	found, tag, ok := p.find(w, r)
	if !ok {
		return
	}
	body := map[string]string{"txHash": form(r, "tx")[0]}
	var answer json.RawMessage
	_, refused := p.ask(r.Context(), http.MethodPost, "/v1/checkout/"+found.Reference+"/transaction", body, &answer)
	switch {
	case refused == nil:
		p.back(w, r, found, "named")
	case refused.status == http.StatusNotFound || refused.status >= http.StatusTooManyRequests:
		p.fail(w, r, refused.status, refused.retryAfter, refused.fault)
	case refused.status == http.StatusConflict:
		p.pay(w, r, found, tag, shown{status: refused.status, problem: "unseen.many"})
	default:
		p.pay(w, r, found, tag, shown{status: refused.status, problem: "unseen.wrong"})
	}
}
