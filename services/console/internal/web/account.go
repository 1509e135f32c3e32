package web

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"causeway.internal/libs/fault"
	"causeway.internal/services/console/internal/password"
	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/store"
)

// accountPage is the content of the pages about the person's own account.
type accountPage struct {
	Form     *Form
	Passkeys []store.Passkey
	Sessions []store.Seen
	Current  string // the session of this browser
	About    string // the object of a page of confirmation
	Codes    []string
	Secret   string
	Address  string
}

// ID names a passkey in an address.
func keyID(k store.Passkey) string { return hex.EncodeToString(k.CredentialID) }

func showAccount(v *Visit) error {
	c, ctx := v.console, v.Context()
	page := accountPage{Form: v.Form(nil), Current: c.sessions.ID(ctx)}
	var err error
	if page.Passkeys, err = c.Store.Passkeys(ctx, v.Person.ID); err != nil {
		return err
	}
	if page.Sessions, err = c.Store.Sessions(ctx, v.Person.ID); err != nil {
		return err
	}
	return v.Render("account", "account.title", page)
}

func showName(v *Visit) error {
	return v.Render("account-name", "account.name", accountPage{Form: v.Form(map[string][]string{"name": {v.Person.Name}, "locale": {v.Person.Locale}})})
}

func changeName(v *Visit) error {
	f := v.Form(nil)
	name, ok := people.Name(f.Get("name"))
	if !ok {
		f.Err("name", v.T("enrol.name.wrong"))
		return v.Refuse("account-name", "account.name", accountPage{Form: f})
	}
	locale := f.Get("locale")
	if locale != "" && v.Languages().Named(locale) == nil {
		return fault.New(fault.Invalid, "language_unknown", "The pages are not in this language.")
	}
	if err := v.console.Store.Rename(v.Context(), v.Person.ID, name, locale); err != nil {
		return err
	}
	v.speech, _ = v.console.speak(v.R, locale)
	v.Notice("account.saved")
	return v.Redirect("/account")
}

// beginPasskey begins the registration of another passkey of the person.
func beginPasskey(v *Visit) error {
	c := v.console
	credentials, err := c.credentials(v, v.Person.ID)
	if err != nil {
		return err
	}
	ceremony, err := c.keys.Register(v.Person, credentials)
	if err != nil {
		return err
	}
	c.sessions.Start(v.Context(), "add", ceremony.State)
	return v.writeOptions(ceremony)
}

const passkeysMax = 20

func finishPasskey(v *Visit) error {
	c, ctx := v.console, v.Context()
	if v.Person.Passkeys >= passkeysMax {
		return fault.New(fault.Conflict, "too_many_passkeys", "Remove a passkey first.")
	}
	key, err := v.registered("add", v.Person)
	if err != nil {
		return err
	}
	key.PersonID = v.Person.ID
	added, err := c.Store.AddPasskey(ctx, key)
	if err != nil {
		return err
	}
	if !added {
		return fault.New(fault.Conflict, "passkey_known", "This passkey is registered already.")
	}
	if err := v.Record("passkey_added", key.Name); err != nil {
		return err
	}
	v.Notice("account.passkey.added")
	return v.onward("/account", nil)
}

// passkey finds the passkey that the path names.
func (v *Visit) passkey() (store.Passkey, error) {
	keys, err := v.console.Store.Passkeys(v.Context(), v.Person.ID)
	if err != nil {
		return store.Passkey{}, err
	}
	if i := slices.IndexFunc(keys, func(k store.Passkey) bool { return keyID(k) == v.Param("id") }); i >= 0 {
		return keys[i], nil
	}
	return store.Passkey{}, store.ErrUnknown
}

func showRemovePasskey(v *Visit) error {
	key, err := v.passkey()
	if err != nil {
		return err
	}
	return v.Render("account-passkey", "account.passkey.remove", accountPage{Form: v.Form(nil), About: key.Name})
}

func removePasskey(v *Visit) error {
	key, err := v.passkey()
	if err != nil {
		return err
	}
	err = v.console.Store.RemovePasskey(v.Context(), v.Person.ID, key.CredentialID)
	if errors.Is(err, store.ErrLastWay) {
		f := v.Form(nil)
		f.Problem = v.T("account.last_way")
		return v.Refuse("account-passkey", "account.passkey.remove", accountPage{Form: f, About: key.Name})
	}
	if err != nil {
		return err
	}
	if err := v.Record("passkey_removed", key.Name); err != nil {
		return err
	}
	v.Notice("account.passkey.removed")
	return v.Redirect("/account")
}

func showPassword(v *Visit) error {
	return v.Render("account-password", "account.password", accountPage{Form: v.Form(nil)})
}

// changePassword stores a new password. All other sessions end, because a person who knew the old password may have
// some.
func changePassword(v *Visit) error {
	c, ctx := v.console, v.Context()
	f := v.Form(nil)
	v.newPassword(f, v.Person.Login, v.Person.Name)
	if !f.OK() {
		return v.Refuse("account-password", "account.password", accountPage{Form: f})
	}
	hash, err := password.Hash(ctx, f.Values.Get("password"))
	if err != nil {
		return err
	}
	if err := c.Store.SetPassword(ctx, v.Person.ID, hash); err != nil {
		return err
	}
	if err := c.Store.RevokeOthers(ctx, v.Person.ID, c.sessions.ID(ctx)); err != nil {
		return err
	}
	if err := v.Record("password_changed", ""); err != nil {
		return err
	}
	v.Notice("account.saved")
	if !v.Person.HasTOTP {
		return v.Redirect("/account/app")
	}
	return v.Redirect("/account")
}

// showApp shows the secret of a new authenticator app, which is stored once a code proves that the app has it.
func showApp(v *Visit) error {
	secret, address, err := newTOTP(v.Person.Login)
	if err != nil {
		return err
	}
	v.Keep("app", secret+" "+address)
	return v.Render("account-app", "app.title", accountPage{Form: v.Form(nil), Secret: secret, Address: address})
}

func changeApp(v *Visit) error {
	c, ctx := v.console, v.Context()
	secret, address, ok := strings.Cut(c.sessions.Peek(ctx, "app"), " ")
	if !ok {
		return v.Redirect("/account/app")
	}
	f := v.Form(nil)
	if _, ok := matchTOTP(secret, f.Get("code"), c.Now()); !ok {
		f.Err("code", v.T("code.wrong"))
		return v.Refuse("account-app", "app.title", accountPage{Form: f, Secret: secret, Address: address})
	}
	v.Take("app")
	shown, hashes := newCodes()
	if err := c.Store.SetTOTP(ctx, v.Person.ID, secret, hashes); err != nil {
		return err
	}
	if err := v.Record("app_changed", ""); err != nil {
		return err
	}
	v.Keep("codes", strings.Join(shown, " "))
	return v.Redirect("/account/codes")
}

// showCodes shows new recovery codes once, or offers to make some.
func showCodes(v *Visit) error {
	return v.Render("account-codes", "codes.title", accountPage{Form: v.Form(nil), Codes: strings.Fields(v.Take("codes"))})
}

func showNewCodes(v *Visit) error {
	return v.Render("account-codes-new", "codes.title", accountPage{Form: v.Form(nil)})
}

func changeCodes(v *Visit) error {
	shown, hashes := newCodes()
	if err := v.console.Store.SetCodes(v.Context(), v.Person.ID, hashes); err != nil {
		return err
	}
	if err := v.Record("codes_changed", ""); err != nil {
		return err
	}
	v.Keep("codes", strings.Join(shown, " "))
	return v.Redirect("/account/codes")
}

// endSession ends one session of the person, or all others.
func endSession(v *Visit) error {
	c, ctx := v.console, v.Context()
	if id := v.R.PostForm.Get("session"); id != "" {
		if err := c.Store.RevokeSession(ctx, v.Person.ID, id); err != nil {
			return err
		}
	} else if err := c.Store.RevokeOthers(ctx, v.Person.ID, c.sessions.ID(ctx)); err != nil {
		return err
	}
	if err := v.Record("sessions_ended", ""); err != nil {
		return err
	}
	v.Notice("account.sessions.ended")
	return v.Redirect("/account")
}
