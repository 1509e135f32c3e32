package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/language"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/store"
)

// Visit is one request for a page, with the person who makes it.
type Visit struct {
	W    http.ResponseWriter
	R    *http.Request
	Page *Page

	Person      people.Person // its ID is "" where nobody is signed in
	Memberships []people.Membership
	Member      people.Membership // the merchant that the person looks at
	Mode        tenant.Mode
	API         api.Person // the API as this person sees it

	console *Console
	speech  *language.Language
}

// Context is the request's.
func (v *Visit) Context() context.Context { return v.R.Context() }

// Param is a value in the path.
func (v *Visit) Param(name string) string { return v.R.PathValue(name) }

// Query is the value of a parameter of the address, without space around it.
func (v *Visit) Query(name string) string { return strings.TrimSpace(v.R.URL.Query().Get(name)) }

// Allows reports whether the person has a permission here.
func (v *Visit) Allows(p people.Permission) bool {
	return v.Person.ID != "" && (p == "" || v.Member.Role.Allows(p))
}

// T is the text of a key.
func (v *Visit) T(key string, fill ...any) string { return v.speech.Text(key, fill...) }

// Path is the path of this page below the door.
func (v *Visit) Path() string { return cmp.Or(strings.TrimPrefix(v.R.URL.Path, v.console.base), "/") }

// Link is the address of a path below the door.
func (v *Visit) Link(path string) string { return at(v.console.base, path) }

// URL is the whole address of a path below the door, for mail and QR codes.
func (v *Visit) URL(path string) string {
	return v.console.Origin.Scheme + "://" + v.console.Origin.Host + v.Link(path)
}

// Origin is the address of the host that browsers use, without a path.
func (v *Visit) Origin() string { return v.console.Origin.Scheme + "://" + v.console.Origin.Host }

// Redirect sends the browser to a path below the door.
func (v *Visit) Redirect(path string) error {
	http.Redirect(v.W, v.R, v.Link(path), http.StatusSeeOther)
	return nil
}

// Notice shows a text on the next page.
func (v *Visit) Notice(key string, fill ...any) {
	v.console.sessions.Notice(v.Context(), v.T(key, fill...))
}

// Keep keeps a text in the session until Take, such as a secret that the next page shows once.
func (v *Visit) Keep(name, text string) { v.console.sessions.Set(v.Context(), name, text) }

// Take takes a text that Keep has kept, "" without one.
func (v *Visit) Take(name string) string { return v.console.sessions.Take(v.Context(), name) }

// Record stores an act of the person on people, for the team's page.
func (v *Visit) Record(act, about string) error {
	return v.console.Store.Record(v.Context(), store.Act{
		PersonID: v.Person.ID, Login: v.Person.Login, MerchantID: v.Member.MerchantID, Act: act, About: about, Address: v.Address(),
	})
}

// Address is the address of the browser, as the gateway saw it.
func (v *Visit) Address() string { return httpkit.IdentityOf(v.Context()).ClientIP }

// Scope is the merchant and the mode of this page, which its forms must name.
func (v *Visit) Scope() string {
	if v.console.Door == people.Operators || v.Member.MerchantID == "" {
		return string(v.console.Door)
	}
	return v.Member.MerchantID + "/" + string(v.Mode)
}

// askToSignIn keeps the form and leads to the sign-in.
func (v *Visit) askToSignIn() error {
	if v.Page.JSON {
		return errSignedOut
	}
	// The console stores the form only of a person who was signed in, so that others cannot fill the database.
	personID, err := v.console.sessions.Knew(v.R)
	if err != nil {
		return err
	}
	if personID != "" || v.R.Method != http.MethodPost {
		v.park(personID)
	}
	return errors.Join(v.Redirect("/sign-in"), errAnswered)
}

// askToProve keeps the form and asks the person for a proof of identity. A POST without a page of its own, by the
// script or by a button, leads back to the page that it came from.
func (v *Visit) askToProve() error {
	if !v.Page.Alone {
		v.park(v.Person.ID)
	} else if from, err := url.Parse(v.R.Referer()); err == nil && strings.HasPrefix(from.Path, v.console.base+"/") {
		v.console.sessions.Park(v.Context(), v.Person.ID, strings.TrimPrefix(from.Path, v.console.base), nil)
	}
	if v.Page.JSON {
		return errors.Join(v.writeJSON(http.StatusOK, map[string]string{"to": v.Link("/prove")}), errAnswered)
	}
	return errors.Join(v.Redirect("/prove"), errAnswered)
}

// askScope shows a form again if the person now looks at another merchant or mode than the form's.
func (v *Visit) askScope() error {
	if v.Page.Alone {
		return fault.New(fault.Conflict, "other_scope", "This page was opened for another merchant or mode. Nothing was done.")
	}
	v.park(v.Person.ID)
	v.Notice("form.scope", "merchant", v.Member.Shown(), "mode", v.T("mode."+string(v.Mode)))
	return errors.Join(v.Redirect(v.Path()), errAnswered)
}

const parkMax = 64 << 10

// secretFields are never kept.
var secretFields = []string{"password", "again", "code", "current"}

// park keeps the typed form and the requested address. The form of a POST is shown again at its own path.
func (v *Visit) park(personID string) {
	form := url.Values{}
	size := 0
	if v.R.Method == http.MethodPost {
		for name, values := range v.R.PostForm {
			form[name] = values
			for _, value := range values {
				size += len(name) + len(value)
			}
		}
		for _, name := range secretFields {
			form.Del(name)
		}
	}
	path := v.Path()
	if v.R.Method == http.MethodGet && v.R.URL.RawQuery != "" {
		path += "?" + v.R.URL.RawQuery
	}
	if size <= parkMax && len(path) <= 2048 && !v.Page.Alone {
		v.console.sessions.Park(v.Context(), personID, path, form)
	}
}

// Again keeps a form for the page at its path, which then shows it as it was typed. The form becomes a new request.
func (v *Visit) Again(path string, form url.Values) {
	form.Del(keyField)
	v.console.sessions.Park(v.Context(), v.Person.ID, path, form)
}

// resume returns the path that the person wanted to go to before the sign-in.
func (v *Visit) resume() string {
	path := v.console.sessions.Parked(v.Context())
	if path == "" {
		path = "/"
	}
	if strings.Contains(path, "?") || path == "/" { // nothing to fill in
		v.console.sessions.Unpark(v.Context(), path)
	}
	return path
}
