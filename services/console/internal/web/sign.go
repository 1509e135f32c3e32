package web

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/console/internal/passkey"
	"causeway.internal/services/console/internal/password"
	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/store"
)

// own are the console's own pages: people and how they sign in.
func (c *Console) own() []Page {
	public := func(p Page) Page { p.Public = true; return p }
	script := func(p Page) Page { p.JSON, p.Alone = true, true; return p }
	alone := func(p Page) Page { p.Alone = true; return p }
	mine := func(p Page) Page { p.Personal = true; return p }
	return []Page{
		public(Get("/sign-in", "", showSignIn)),
		public(Post("/sign-in", "", signIn)),
		public(Get("/sign-in/code", "", showCode)),
		public(Post("/sign-in/code", "", signInCode)),
		public(script(Post("/sign-in/passkey/begin", "", beginSignIn))),
		public(script(Post("/sign-in/passkey/finish", "", finishSignIn))),
		public(Get("/link/{secret}", "", showLink)),
		public(Post("/link/{secret}", "", useLink)),
		mine(alone(Post("/sign-out", "", signOut))),
		Get("/prove", "", showProve),
		mine(Post("/prove", "", prove)),
		script(Post("/prove/passkey/begin", "", beginSignIn)),
		script(Post("/prove/passkey/finish", "", finishProve)),
		mine(alone(Post("/scope", "", choose))),

		public(Get("/register", "", showRegister)),
		public(Post("/register", "", register)),
		public(Get("/enrol", "", showEnrol)),
		public(Post("/enrol", "", enrol)),
		public(Get("/enrol/code", "", showEnrolCode)),
		public(Post("/enrol/code", "", enrolCode)),
		public(script(Post("/enrol/passkey/begin", "", beginEnrol))),
		public(script(Post("/enrol/passkey/finish", "", finishEnrol))),
		Get("/business", "", showBusiness),
		mine(Post("/business", "", business)),

		Get("/account", "", showAccount),
		Get("/account/name", "", showName),
		mine(Post("/account/name", "", changeName)),
		script(Post("/account/passkeys/begin", "", beginPasskey)).WithFresh(),
		script(Post("/account/passkeys/finish", "", finishPasskey)).WithFresh(),
		Get("/account/passkeys/{id}", "", showRemovePasskey).WithFresh(),
		mine(Post("/account/passkeys/{id}", "", removePasskey)).WithFresh(),
		Get("/account/password", "", showPassword).WithFresh(),
		mine(Post("/account/password", "", changePassword)).WithFresh(),
		Get("/account/app", "", showApp).WithFresh(),
		mine(Post("/account/app", "", changeApp)).WithFresh(),
		Get("/account/codes", "", showCodes),
		Get("/account/codes/new", "", showNewCodes).WithFresh(),
		mine(Post("/account/codes/new", "", changeCodes)).WithFresh(),
		mine(alone(Post("/account/sessions", "", endSession))),

		Get("/team", "", showTeam),
		Get("/team/acts", "", showActs),
		Get("/team/invite", people.TeamManage, showInvite).WithFresh(),
		Post("/team/invite", people.TeamManage, invite).WithFresh(),
		alone(Post("/team/invitations/{id}", people.TeamManage, withdrawInvitation)),
		Get("/team/members/{id}", people.TeamManage, showMember).WithFresh(),
		Post("/team/members/{id}", people.TeamManage, changeMember).WithFresh(),
	}
}

// signForm is the content of the pages of signing in.
type signForm struct {
	Form    *Form
	SignUp  bool
	Code    bool // the person needs a code too
	Passkey bool
	Link    people.Link
}

func showSignIn(v *Visit) error {
	if v.Person.ID != "" {
		return v.Redirect(v.resume())
	}
	return v.Render("sign-in", "sign.title", signForm{Form: &Form{}, SignUp: v.console.SignUp && v.console.Door == people.Merchants, Passkey: true})
}

// signIn takes a login and a password. The second factor follows on a page of its own.
func signIn(v *Visit) error {
	c, ctx := v.console, v.Context()
	f := v.Form(nil)
	again := func() error {
		return v.Refuse("sign-in", "sign.title", signForm{Form: f, SignUp: c.SignUp && c.Door == people.Merchants, Passkey: true})
	}
	if !v.Need(f, "login", "password") {
		return again()
	}
	login, ok := people.Login(c.Door, f.Get("login"))
	if !ok { // no valid login, of any length: it counts against the address alone
		login = ""
	}
	bounds := v.anybody(guess)
	if ok {
		bounds = v.guesses("password", login)
	}
	who, err := c.check(v, bounds, login, f.Values.Get("password"))
	if errors.Is(err, errWrong) || errors.Is(err, errLimited) {
		f.Problem = v.T("sign.wrong")
		if errors.Is(err, errLimited) {
			f.Problem = v.T("sign.limited")
		}
		return again()
	}
	if err != nil {
		return err
	}
	if err := c.sessions.Half(ctx, who.ID); err != nil {
		return err
	}
	return v.Redirect("/sign-in/code")
}

var errWrong = errors.New("the login or its proof is wrong")

// check verifies a password under the limits. It returns errWrong for a wrong password, and for an account without one.
// A password that was not looked at, because too many wait, does not count.
func (c *Console) check(v *Visit, bounds []bound, login, typed string) (people.Person, error) {
	ctx := v.Context()
	if err := c.limits.begin(ctx, "password", bounds); err != nil {
		return people.Person{}, err
	}
	who, err := c.Store.PersonOf(ctx, login)
	if err != nil && !errors.Is(err, store.ErrUnknown) {
		return who, err
	}
	hash := ""
	if err == nil && who.HasTOTP && !who.Disabled {
		if hash, err = c.Store.PasswordOf(ctx, who.ID); err != nil {
			return who, err
		}
	}
	right := false
	if len(typed) <= 4*people.PasswordMax {
		if right, err = password.Verify(ctx, hash, typed); err != nil {
			return who, errors.Join(err, c.limits.takeBack(ctx, bounds))
		}
	}
	if !right {
		c.limits.failed("password")
		return who, errWrong
	}
	return who, c.limits.takeBack(ctx, bounds)
}

func showCode(v *Visit) error {
	if v.console.sessions.Owing(v.Context()) == "" {
		return v.Redirect("/sign-in")
	}
	return v.Render("sign-code", "code.title", signForm{Form: &Form{}})
}

// signInCode takes a code of the authenticator app, or a recovery code.
func signInCode(v *Visit) error {
	c, ctx := v.console, v.Context()
	id := c.sessions.Owing(ctx)
	if id == "" {
		return v.Redirect("/sign-in")
	}
	who, err := c.Store.Person(ctx, id)
	if err != nil {
		return err
	}
	f := v.Form(nil)
	if v.Need(f, "code") {
		err := c.checkCode(v, v.guesses("code", who.Login), who, f.Get("code"))
		switch {
		case err == nil:
			return v.lead(v.begin(who, "password"))
		case errors.Is(err, errLimited):
			f.Problem = v.T("sign.limited")
		case errors.Is(err, errWrong):
			f.Err("code", v.T("code.wrong"))
		default:
			return err
		}
	}
	return v.Refuse("sign-code", "code.title", signForm{Form: f})
}

// checkCode verifies a second factor under the limits.
func (c *Console) checkCode(v *Visit, bounds []bound, who people.Person, typed string) error {
	ctx := v.Context()
	if err := c.limits.begin(ctx, "code", bounds); err != nil {
		return err
	}
	typed = strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(typed))
	secret, err := c.Store.TOTP(ctx, who.ID)
	if err != nil {
		return err
	}
	taken := false
	if step, ok := matchTOTP(secret, typed, c.Now()); ok {
		taken, err = c.Store.TakeStep(ctx, who.ID, step)
	} else {
		taken, err = c.Store.TakeCode(ctx, who.ID, hashCode(typed))
	}
	if err != nil {
		return err
	}
	if !taken {
		c.limits.failed("code")
		return errWrong
	}
	return c.limits.takeBack(ctx, bounds)
}

// begin signs a person in and returns the path of the page that waits.
func (v *Visit) begin(who people.Person, way string) (to string, err error) {
	c, ctx := v.console, v.Context()
	if who.Disabled {
		return "", errForbidden
	}
	link := c.sessions.Link(ctx)
	if err := c.sessions.Begin(ctx, who.ID, v.Address(), v.R.UserAgent()); err != nil {
		return "", err
	}
	c.countRefusal(way, "done")
	v.rememberBrowser(who.Login)
	if err := v.identify(); err != nil {
		return "", err
	}
	c.sessions.Choose(ctx, v.Member.MerchantID, tenant.Test)
	if err := v.Record("signed_in", way); err != nil {
		return "", err
	}
	if link != nil {
		return v.accept(link)
	}
	if !who.Secured() {
		v.Notice("sign.unsecured")
		return "/", nil
	}
	return v.resume(), nil
}

// accept uses an invitation that waited for the sign-in to join the person, and returns the path of the next page.
func (v *Visit) accept(hash []byte) (to string, err error) {
	c, ctx := v.console, v.Context()
	c.sessions.DropLink(ctx)
	link, err := c.Store.FindLink(ctx, hash)
	if errors.Is(err, store.ErrUnknown) {
		v.Notice("link.gone.text")
		return "/", nil
	}
	if err != nil {
		return "", err
	}
	if link.Login != v.Person.Login {
		v.Notice("link.other", "login", link.Login)
		return "/", nil
	}
	if link, err = c.Store.TakeLink(ctx, hash); err != nil {
		return "", err
	}
	m := people.Membership{PersonID: v.Person.ID, MerchantID: link.MerchantID, MerchantName: link.MerchantName, Role: link.Role}
	if err := c.Store.Join(ctx, m, link.CreatedBy); err != nil {
		return "", err
	}
	v.Member = m
	c.sessions.Choose(ctx, m.MerchantID, tenant.Test)
	if err := v.Record("joined", string(link.Role)); err != nil {
		return "", err
	}
	v.Notice("link.joined", "merchant", m.Shown())
	return "/", nil
}

// beginSignIn gives the browser the options of a sign-in by passkey.
func beginSignIn(v *Visit) error {
	ceremony, err := v.console.keys.SignIn()
	if err != nil {
		return err
	}
	v.console.sessions.Start(v.Context(), "sign in", ceremony.State)
	return v.writeOptions(ceremony)
}

func (v *Visit) writeOptions(c passkey.Ceremony) error {
	v.W.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, err := io.Copy(v.W, bytes.NewReader(c.Options))
	return err
}

// ceremonyMax bounds the answer of a browser, in bytes.
const ceremonyMax = 64 << 10

var errCeremony = fault.New(fault.Conflict, "ceremony_over", "That took too long. Try again.")

var errPasskey = fault.New(fault.Forbidden, "passkey_refused", "This passkey is not known here. Try another way to sign in.")

// verifyPasskey ends the ceremony of a passkey under the limits and returns its person.
func (v *Visit) verifyPasskey(bounds []bound) (people.Person, error) {
	c, ctx := v.console, v.Context()
	if err := c.limits.begin(ctx, "passkey", bounds); err != nil {
		return people.Person{}, err
	}
	state, ok := c.sessions.Finish(ctx, "sign in")
	if !ok {
		return people.Person{}, errCeremony
	}
	response, err := io.ReadAll(io.LimitReader(v.R.Body, ceremonyMax))
	if err != nil {
		return people.Person{}, err
	}
	who, credentialID, credential, err := c.keys.SignedIn(state, response, func(handle []byte) (people.Person, [][]byte, error) {
		person, err := c.Store.PersonBehind(ctx, handle)
		if err != nil {
			return person, nil, err
		}
		credentials, err := c.credentials(v, person.ID)
		return person, credentials, err
	})
	if errors.Is(err, passkey.ErrRefused) {
		c.Log.InfoContext(ctx, "passkey refused", "err", err)
		c.limits.failed("passkey")
		return who, errPasskey
	}
	if err != nil {
		return who, err
	}
	if who.Disabled {
		return who, errPasskey
	}
	if err := c.limits.takeBack(ctx, bounds); err != nil {
		return who, err
	}
	return who, c.Store.UsedPasskey(ctx, credentialID, credential)
}

func (c *Console) credentials(v *Visit, personID string) ([][]byte, error) {
	keys, err := c.Store.Passkeys(v.Context(), personID)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(keys))
	for i, k := range keys {
		out[i] = k.Credential
	}
	return out, nil
}

// finishSignIn signs the person of a passkey in and sends the script the next address.
func finishSignIn(v *Visit) error {
	who, err := v.verifyPasskey(v.anybody("passkey"))
	if err != nil {
		return err
	}
	return v.onward(v.begin(who, "passkey"))
}

// onward sends the script the address of the next page.
func (v *Visit) onward(to string, err error) error {
	if err != nil {
		return err
	}
	return v.writeJSON(http.StatusOK, map[string]string{"to": v.Link(to)})
}

// lead sends the browser to the next page.
func (v *Visit) lead(to string, err error) error {
	if err != nil {
		return err
	}
	return v.Redirect(to)
}

func showProve(v *Visit) error {
	return v.Render("prove", "prove.title", signForm{Form: &Form{}, Passkey: v.Person.Passkeys > 0, Code: v.Person.HasPassword && v.Person.HasTOTP})
}

// prove takes the password and a code again.
func prove(v *Visit) error {
	c := v.console
	f := v.Form(nil)
	if v.Need(f, "password", "code") {
		_, err := c.check(v, v.proofs(), v.Person.Login, f.Values.Get("password"))
		if err == nil {
			err = c.checkCode(v, v.proofs(), v.Person, f.Get("code"))
		}
		switch {
		case err == nil:
			c.sessions.Prove(v.Context())
			c.countRefusal("password", "done")
			return v.Redirect(v.resume())
		case errors.Is(err, errLimited):
			f.Problem = v.T("sign.limited")
		case errors.Is(err, errWrong):
			f.Problem = v.T("prove.wrong")
		default:
			return err
		}
	}
	return v.Refuse("prove", "prove.title", signForm{Form: f, Passkey: v.Person.Passkeys > 0, Code: v.Person.HasPassword && v.Person.HasTOTP})
}

func finishProve(v *Visit) error {
	who, err := v.verifyPasskey(v.proofs())
	if err != nil {
		return err
	}
	if who.ID != v.Person.ID {
		return fault.New(fault.Forbidden, "other_person", "This passkey belongs to another account.")
	}
	v.console.sessions.Prove(v.Context())
	v.console.countRefusal("passkey", "done")
	return v.onward(v.resume(), nil)
}

func signOut(v *Visit) error {
	if err := v.Record("signed_out", ""); err != nil {
		return err
	}
	if err := v.console.sessions.End(v.Context()); err != nil {
		return err
	}
	return v.Redirect("/sign-in")
}

// choose changes the merchant and the mode of the pages.
func choose(v *Visit) error {
	c, ctx := v.console, v.Context()
	merchantID, mode := v.Member.MerchantID, v.Mode
	if m := v.R.PostForm.Get("merchant"); m != "" {
		merchantID = m
	}
	if m := tenant.Mode(v.R.PostForm.Get("mode")); m.Valid() {
		mode = m
	}
	if !slices.ContainsFunc(v.Memberships, func(m people.Membership) bool { return m.MerchantID == merchantID }) {
		return errForbidden
	}
	c.sessions.Choose(ctx, merchantID, mode)
	return v.Redirect(c.Area.Home)
}

// LinkHash is the hash under which the database has a one-time link.
func LinkHash(secret string) []byte {
	sum := sha256.Sum256([]byte("causeway console link\n" + secret))
	return sum[:]
}

// findLink finds the one-time link of the path, under the limits.
func (v *Visit) findLink() (people.Link, error) {
	c, ctx := v.console, v.Context()
	if err := c.limits.begin(ctx, "link", v.anybody("link")); err != nil {
		return people.Link{}, err
	}
	link, err := c.Store.FindLink(ctx, LinkHash(v.Param("secret")))
	switch {
	case errors.Is(err, store.ErrUnknown):
		c.limits.failed("link")
		return link, err
	case err != nil:
		return link, err
	}
	return link, c.limits.takeBack(ctx, v.anybody("link"))
}

func showLink(v *Visit) error {
	link, err := v.findLink()
	if errors.Is(err, store.ErrUnknown) {
		return v.render(http.StatusNotFound, "link-gone", "link.gone.title", nil)
	}
	if err != nil {
		return err
	}
	return v.Render("link", "link.title", signForm{Form: &Form{}, Link: link})
}

// useLink exchanges a one-time link.
func useLink(v *Visit) error {
	c, ctx := v.console, v.Context()
	link, err := v.findLink()
	if errors.Is(err, store.ErrUnknown) {
		return v.render(http.StatusNotFound, "link-gone", "link.gone.title", nil)
	}
	if err != nil {
		return err
	}
	hash := LinkHash(v.Param("secret"))
	if link.Purpose == people.SignIn {
		if _, err := c.Store.TakeLink(ctx, hash); err != nil {
			return err
		}
		who, err := c.Store.PersonOf(ctx, link.Login)
		if err != nil {
			return err
		}
		return v.lead(v.begin(who, "link"))
	}
	return v.enrolBy(link, hash)
}
