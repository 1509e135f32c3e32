package web

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/console/internal/passkey"
	"causeway.internal/services/console/internal/password"
	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/store"
)

// enrolment is an account that is being made. The session keeps it until its person has a way to sign in, so that no
// account exists to which nobody can sign in.
type enrolment struct {
	Login    string `json:"login"`
	Name     string `json:"name"`
	Handle   []byte `json:"handle"`
	Password string `json:"password"` // its hash
	Secret   string `json:"secret"`   // of the authenticator app
	Address  string `json:"address"`  // the same for the QR code
}

const enrolName = "enrolment"

func (v *Visit) enrolment() (e enrolment, ok bool) {
	raw := v.console.sessions.Peek(v.Context(), enrolName)
	return e, raw != "" && json.Unmarshal([]byte(raw), &e) == nil
}

func (v *Visit) keepEnrolment(e enrolment) error {
	raw, err := json.Marshal(e) //nolint:gosec // the hash of a password, for the sealed session
	if err == nil {
		v.Keep(enrolName, string(raw))
	}
	return err
}

// enrolBy continues an invitation or a registration: a person with an account signs in and joins, and anybody else
// makes an account first.
func (v *Visit) enrolBy(link people.Link, hash []byte) error {
	c, ctx := v.console, v.Context()
	c.sessions.HoldLink(ctx, hash)
	_, err := c.Store.PersonOf(ctx, link.Login)
	switch {
	case err == nil && v.Person.Login == link.Login:
		return v.lead(v.accept(hash))
	case err == nil:
		v.Notice("link.sign_in", "login", link.Login)
		return v.Redirect("/sign-in")
	case !errors.Is(err, store.ErrUnknown):
		return err
	}
	e := enrolment{Login: link.Login, Handle: make([]byte, 32)}
	_, _ = rand.Read(e.Handle) // never fails
	if err := v.keepEnrolment(e); err != nil {
		return err
	}
	return v.Redirect("/enrol")
}

// enrolPage is the content of the pages that make an account.
type enrolPage struct {
	Form *Form
	enrolment
}

func showEnrol(v *Visit) error {
	e, ok := v.enrolment()
	if !ok || v.Person.ID != "" {
		return v.Redirect("/sign-in")
	}
	return v.Render("enrol", "enrol.title", enrolPage{Form: v.Form(nil), enrolment: e})
}

// enrol takes a name and a password; the authenticator app follows.
func enrol(v *Visit) error {
	e, ok := v.enrolment()
	if !ok {
		return v.Redirect("/sign-in")
	}
	f := v.Form(nil)
	name, named := people.Name(f.Get("name"))
	if !named {
		f.Err("name", v.T("enrol.name.wrong"))
	}
	v.newPassword(f, e.Login, name)
	if !f.OK() {
		return v.Refuse("enrol", "enrol.title", enrolPage{Form: f, enrolment: e})
	}
	e.Name = name
	var err error
	if e.Password, err = password.Hash(v.Context(), f.Values.Get("password")); err != nil {
		return err
	}
	if e.Secret, e.Address, err = newTOTP(e.Login); err != nil {
		return err
	}
	if err := v.keepEnrolment(e); err != nil {
		return err
	}
	return v.Redirect("/enrol/code")
}

// newPassword checks a password that is typed twice.
func (v *Visit) newPassword(f *Form, login, name string) {
	typed := f.Values.Get("password")
	if problem := people.PasswordProblem(typed, login, name); problem != "" {
		f.Err("password", v.T("password."+problem, "least", people.PasswordMin, "most", people.PasswordMax))
	} else if typed != f.Values.Get("again") {
		f.Err("again", v.T("password.differs"))
	}
}

func showEnrolCode(v *Visit) error {
	e, ok := v.enrolment()
	if !ok || e.Secret == "" {
		return v.Redirect("/enrol")
	}
	return v.Render("enrol-code", "app.title", enrolPage{Form: v.Form(nil), enrolment: e})
}

func enrolCode(v *Visit) error {
	e, ok := v.enrolment()
	if !ok || e.Secret == "" {
		return v.Redirect("/enrol")
	}
	f := v.Form(nil)
	if _, ok := matchTOTP(e.Secret, f.Get("code"), v.console.Now()); !ok {
		f.Err("code", v.T("code.wrong"))
		return v.Refuse("enrol-code", "app.title", enrolPage{Form: f, enrolment: e})
	}
	shown, hashes := newCodes()
	v.Keep("codes", strings.Join(shown, " "))
	return v.lead(v.enrolled(store.Account{Login: e.Login, Name: e.Name, Handle: e.Handle, Password: e.Password, TOTP: e.Secret, Codes: hashes}, "password"))
}

// enrolled makes the account, with what the link grants, signs its person in, and returns the path of the next page.
func (v *Visit) enrolled(a store.Account, way string) (to string, err error) {
	c, ctx := v.console, v.Context()
	who, link, err := c.Store.Enrol(ctx, a, c.sessions.Link(ctx))
	if err != nil {
		return "", err
	}
	codes := v.Take("codes")
	c.sessions.DropLink(ctx)
	if to, err = v.begin(who, way); err != nil {
		return "", err
	}
	if link.Purpose == people.Join {
		c.sessions.Choose(ctx, link.MerchantID, tenant.Test)
		if err := v.Record("joined", string(link.Role)); err != nil {
			return "", err
		}
	}
	if codes != "" {
		v.Keep("codes", codes)
		to = "/account/codes"
	}
	return to, nil
}

// nameOf reads the name that the script sends along with the begin of a ceremony.
func nameOf(v *Visit) (string, error) {
	var typed struct{ Name string }
	if err := json.NewDecoder(io.LimitReader(v.R.Body, 4<<10)).Decode(&typed); err != nil {
		return "", fault.New(fault.Invalid, "body_invalid", "The request is no JSON.")
	}
	name, ok := people.Name(typed.Name)
	if !ok {
		return "", fault.New(fault.Invalid, "name_invalid", "%s", v.T("enrol.name.wrong"))
	}
	return name, nil
}

func beginEnrol(v *Visit) error {
	e, ok := v.enrolment()
	if !ok {
		return errSignedOut
	}
	name, err := nameOf(v)
	if err != nil {
		return err
	}
	e.Name = name
	if err := v.keepEnrolment(e); err != nil {
		return err
	}
	ceremony, err := v.console.keys.Register(people.Person{Login: e.Login, Name: name, Handle: e.Handle}, nil)
	if err != nil {
		return err
	}
	v.console.sessions.Start(v.Context(), "enrol", ceremony.State)
	return v.writeOptions(ceremony)
}

func finishEnrol(v *Visit) error {
	e, ok := v.enrolment()
	if !ok {
		return errSignedOut
	}
	key, err := v.registered("enrol", people.Person{Login: e.Login, Name: e.Name, Handle: e.Handle})
	if err != nil {
		return err
	}
	return v.onward(v.enrolled(store.Account{Login: e.Login, Name: e.Name, Handle: e.Handle, Passkey: &key}, "passkey"))
}

// registered ends the registration of a passkey.
func (v *Visit) registered(purpose string, who people.Person) (store.Passkey, error) {
	c := v.console
	state, ok := c.sessions.Finish(v.Context(), purpose)
	if !ok {
		return store.Passkey{}, errCeremony
	}
	response, err := io.ReadAll(io.LimitReader(v.R.Body, ceremonyMax))
	if err != nil {
		return store.Passkey{}, err
	}
	credentialID, credential, err := c.keys.Registered(who, state, response)
	if errors.Is(err, passkey.ErrRefused) {
		c.Log.InfoContext(v.Context(), "passkey refused", "err", err)
		return store.Passkey{}, errPasskey
	}
	return store.Passkey{CredentialID: credentialID, Credential: credential, Name: device(v.R.UserAgent(), c.Now())}, err
}

// device names a passkey by the device that it was made in.
func device(agent string, now time.Time) string {
	name := named(agent, "iPhone", "iPad", "Android", "Mac", "Windows", "Linux")
	if name == "" {
		name = "Passkey"
	}
	return name + ", " + now.UTC().Format(time.DateOnly)
}

// named is the first of some names that is in a text.
func named(text string, names ...string) string {
	for _, name := range names {
		if strings.Contains(text, name) {
			return name
		}
	}
	return ""
}

// browserOf names the browser and the device of a session.
func browserOf(agent string) string {
	words := []string{
		named(agent, "Firefox", "Edg", "OPR", "Chrome", "Safari"), named(agent, "iPhone", "iPad", "Android", "Mac", "Windows", "Linux"),
	}
	short := strings.Trim(strings.Join(words, ", "), ", ")
	if short == "" {
		return agent[:min(len(agent), 60)]
	}
	return strings.Replace(strings.Replace(short, "Edg", "Edge", 1), "OPR", "Opera", 1)
}

// registerPage is the content of the page on which a newcomer begins.
type registerPage struct {
	Form   *Form
	Sent   string // the address that a letter went to
	Follow string // the link itself, where there is no mail
}

func showRegister(v *Visit) error {
	if !v.console.SignUp || v.Person.ID != "" {
		return v.Redirect("/")
	}
	return v.Render("register", "register.title", registerPage{Form: v.Form(nil)})
}

const (
	registerLife = 24 * time.Hour
	inviteLife   = 7 * 24 * time.Hour
)

// register sends a newcomer a link that proves the address.
func register(v *Visit) error {
	c, ctx := v.console, v.Context()
	if !c.SignUp {
		return errForbidden
	}
	f := v.Form(nil)
	login, ok := people.Login(c.Door, f.Get("email"))
	if !ok {
		f.Err("email", v.T("register.email.wrong"))
		return v.Refuse("register", "register.title", registerPage{Form: f})
	}
	if err := c.limits.begin(ctx, "link", v.anybody("registration")); err != nil { // it is not taken back, so that nobody can mail a list of addresses
		return err
	}
	if err := c.limits.letter(ctx, "", login); err != nil { // nor floods one
		return err
	}
	_, err := c.Store.PersonOf(ctx, login)
	if err != nil && !errors.Is(err, store.ErrUnknown) {
		return err
	}
	known := err == nil
	page := registerPage{Form: f, Sent: login}
	switch {
	case known && c.Mail.Sends():
		if err := c.Mail.Send(ctx, login, v.T("mail.known.subject"), v.T("mail.known.text", "link", v.URL("/sign-in"))); err != nil {
			return err
		}
	case known:
		f.Err("email", v.T("register.email.known"))
		return v.Refuse("register", "register.title", registerPage{Form: f})
	default:
		link := people.Link{Purpose: people.Register, Login: login, CreatedBy: login, ExpiresAt: c.Now().Add(registerLife)}
		address, err := v.makeLink(link)
		if err != nil {
			return err
		}
		if !c.Mail.Sends() {
			page.Follow = address
		} else if err := c.Mail.Send(ctx, login, v.T("mail.register.subject"), v.T("mail.register.text", "link", address)); err != nil {
			return err // the link proves the address, so that nobody else sees it
		}
	}
	return v.Render("register", "register.title", page)
}

// makeLink makes a one-time link and returns its address.
func (v *Visit) makeLink(link people.Link) (string, error) {
	secret := rand.Text() + rand.Text()
	if err := v.console.Store.MakeLink(v.Context(), link, LinkHash(secret)); err != nil {
		return "", err
	}
	return v.URL("/link/" + secret), nil
}

// businessPage is the content of the page on which a person registers a merchant.
type businessPage struct {
	Form      *Form
	Countries []string
}

// businessesMax bounds the merchants of one person: each draft has keys, limits and addresses of its own.
const businessesMax = 20

// countries are those whose merchants may register.
var countries = []string{"GH", "KE", "NG", "ZA"}

func showBusiness(v *Visit) error {
	return v.Render("business", "business.title", businessPage{v.Form(nil), countries})
}

// business registers a merchant as a draft, of which the person is the owner.
func business(v *Visit) error {
	c, ctx := v.console, v.Context()
	f := v.Form(nil)
	name, ok := people.Name(f.Get("name"))
	if !ok {
		f.Err("name", v.T("enrol.name.wrong"))
	}
	if len(v.Memberships) >= businessesMax {
		f.Problem = v.T("business.many", "most", businessesMax)
	}
	if !v.Need(f, "country") {
		return v.Refuse("business", "business.title", businessPage{f, countries})
	}
	id := merchantID(name, f.Key)
	err := v.registration(id).Post(ctx, "/v1/merchant", f.Key, map[string]any{"name": name, "country": f.Get("country"), "contactEmail": v.Person.Login}, nil)
	if v.Refused(f, err, "name", "name", "country", "country") {
		return v.Refuse("business", "business.title", businessPage{f, countries})
	}
	if err != nil {
		return err
	}
	m := people.Membership{PersonID: v.Person.ID, MerchantID: id, MerchantName: name, Role: people.Owner}
	if err := c.Store.Join(ctx, m, v.Person.Login); err != nil {
		return err
	}
	v.Member = m
	c.sessions.Choose(ctx, id, tenant.Test)
	if err := v.Record("registered", name); err != nil {
		return err
	}
	v.Notice("business.done", "merchant", name)
	return v.Redirect("/keys")
}

const merchantIDMax = 40

// merchantID makes an id out of a merchant's name and the random part of the form, so that a form that is sent twice
// makes one merchant.
func merchantID(name, key string) string {
	var out strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			out.WriteRune(r)
		case out.Len() > 0 && !strings.HasSuffix(out.String(), "-"):
			out.WriteByte('-')
		}
		if out.Len() >= merchantIDMax-9 {
			break
		}
	}
	base := strings.Trim(out.String(), "-")
	if base == "" {
		base = "merchant"
	}
	return base + "-" + strings.ToLower(key[max(0, len(key)-8):])
}
