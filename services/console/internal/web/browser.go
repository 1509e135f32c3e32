package web

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"causeway.internal/libs/person"
)

// browserLife is the time after a sign-in for which its browser knows the account.
const browserLife = 30 * 24 * time.Hour

// browserCookie is the name of the cookie of a browser that knows an account. The gateway passes cookies of such names
// alone (person.Door.Owns).
func (c *Console) browserCookie() string {
	name := person.Door(c.Door).Cookie() + "-browser"
	if c.Origin.Scheme == "https" {
		name = person.HostPrefix + name
	}
	return name
}

// browserPlace binds the sealed content of the cookie to an account.
func browserPlace(login string) string { return "browser/" + login }

// rememberBrowser gives the browser a cookie that knows an account. It opens nothing; it only has failures of its own
// (limits). Each sign-in gives another one, and the browser keeps that of its last account.
func (v *Visit) rememberBrowser(login string) {
	c := v.console
	plain := strconv.FormatInt(c.Now().Add(browserLife).Unix(), 10) + " " + rand.Text()
	http.SetCookie(v.W, &http.Cookie{ //nolint:gosec // Secure wherever browsers use https; a developer's console has http
		Name: c.browserCookie(), Value: base64.RawURLEncoding.EncodeToString(c.Ring.Seal([]byte(plain), browserPlace(login))), Path: "/",
		MaxAge: int(browserLife.Seconds()), HttpOnly: true, Secure: c.Origin.Scheme == "https", SameSite: http.SameSiteLaxMode,
	})
}

// knownBrowser is the id of a browser that knows an account, "" for any other.
func (v *Visit) knownBrowser(login string) string {
	c := v.console
	cookie, err := v.R.Cookie(c.browserCookie())
	if err != nil {
		return ""
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return ""
	}
	plain, err := c.Ring.Open(sealed, browserPlace(login))
	if err != nil {
		return ""
	}
	ends, id, _ := strings.Cut(string(plain), " ")
	at, err := strconv.ParseInt(ends, 10, 64)
	if err != nil || !c.Now().Before(time.Unix(at, 0)) {
		return ""
	}
	return id
}
