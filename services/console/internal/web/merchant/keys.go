package merchant

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/web"
)

// key is an API key as the API shows it.
type key struct {
	ID           json.Number
	PublicKey    string
	Name         string
	Mode         string
	Kind         string // console, for the key by which people act; "" for the merchant's own
	Permissions  []string
	CreatedAt    string
	ExpiresAt    string
	AllowedCidrs []string
	RevokedAt    string
	LastUsedAt   string
	Secret       string // only in the answer that makes it
}

// pagination is the position in a list of the API.
type pagination struct{ NextCursor string }

// keysPage is the content of the pages about keys.
type keysPage struct {
	Form        *web.Form
	Keys        []key
	Key         key
	Permissions []string
	Pager       *web.Pager
	Secret      string
	Revoke      bool
	Overlaps    []string
}

// grantable lists the permissions that a person may give to a key: the person's own, except those that only people
// have.
func grantable(v *web.Visit) []string {
	out := v.API.Who().Permissions
	return slices.DeleteFunc(slices.Clone(out), func(p string) bool {
		return p == string(people.KeyManage) || p == string(people.MerchantManage)
	})
}

func keys(v *web.Visit) error {
	page := keysPage{Pager: v.NewPager()}
	query := url.Values{"limit": {"25"}}
	if page.Pager.After != "" {
		query.Set("cursor", page.Pager.After)
	}
	var answer struct {
		Keys       []key
		Pagination pagination
	}
	if err := v.API.Get(v.Context(), "/v1/keys", query, &answer); err != nil {
		return err
	}
	page.Keys = answer.Keys
	v.More(page.Pager, answer.Pagination.NextCursor)
	return v.Render("keys", "keys.title", page)
}

// chosen lists the permissions that a person gives to a key only by a choice of their own: with them a thief of the key
// moves money, or silences the events that would warn of it.
var chosen = []people.Permission{
	people.RefundCreate, people.SettlementManage, people.WithdrawalCreate, people.WalletDraw, people.WebhookManage,
}

func newKey(v *web.Visit) error {
	all := grantable(v)
	ticked := slices.DeleteFunc(slices.Clone(all), func(p string) bool { return slices.Contains(chosen, people.Permission(p)) })
	return v.Render("key-new", "keys.new", keysPage{Form: v.Form(url.Values{"permissions": ticked}), Permissions: all})
}

func createKey(v *web.Visit) error {
	f := v.Form(nil)
	page := keysPage{Form: f, Permissions: grantable(v)}
	v.Need(f, "name")
	if len(f.All("permissions")) == 0 {
		f.Err("permissions", v.T("keys.permissions.none"))
	}
	if !f.OK() {
		return v.Refuse("key-new", "keys.new", page)
	}
	body := map[string]any{"name": f.Get("name"), "permissions": f.All("permissions"), "allowedCidrs": lines(f.Get("addresses"))}
	if until := f.Get("until"); until != "" {
		body["expiresAt"] = until + "T23:59:59Z"
	}
	var answer struct{ Key key }
	err := v.API.Post(v.Context(), "/v1/keys", f.Key, body, &answer)
	if v.Refused(f, err, "name", "name", "permissions", "permissions", "allowedCidrs", "addresses", "expiresAt", "until") {
		return v.Refuse("key-new", "keys.new", page)
	}
	if err != nil {
		return err
	}
	v.Keep("key", answer.Key.Secret)
	return v.Redirect("/keys/" + answer.Key.ID.String() + "/secret")
}

// lines are the words of a text area, one on a line or separated by commas.
func lines(text string) []string {
	out := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == ',' || r == ' ' })
	if out == nil {
		return []string{}
	}
	return out
}

// secret shows the secret of a new key once.
func secret(v *web.Visit) error {
	one, err := findKey(v)
	if err != nil {
		return err
	}
	return v.Render("key-secret", "keys.secret", keysPage{Key: one, Secret: v.Take("key")})
}

func findKey(v *web.Visit) (key, error) {
	var answer struct{ Key key }
	err := v.API.Get(v.Context(), api.Path("v1", "keys", v.Param("id")), nil, &answer)
	return answer.Key, err
}

func showKey(v *web.Visit) error {
	one, err := findKey(v)
	if err != nil {
		return err
	}
	f := v.Form(url.Values{"name": {one.Name}, "permissions": one.Permissions, "addresses": {strings.Join(one.AllowedCidrs, "\n")}})
	return v.Render("key", "keys.one", keysPage{Form: f, Key: one, Permissions: union(grantable(v), one.Permissions)})
}

// union lists each word of both lists once.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, word := range b {
		if !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

func changeKey(v *web.Visit) error {
	one, err := findKey(v)
	if err != nil {
		return err
	}
	f := v.Form(nil)
	body := map[string]any{"name": f.Get("name")}
	if ticked := f.All("permissions"); !same(ticked, one.Permissions) {
		body["permissions"] = ticked
	}
	if addresses := lines(f.Get("addresses")); !same(addresses, one.AllowedCidrs) {
		body["allowedCidrs"] = addresses
	}
	err = v.API.Do(v.Context(), api.Call{Method: http.MethodPatch, Path: api.Path("v1", "keys", v.Param("id")), Body: body}, nil)
	if v.Refused(f, err, "name", "name", "permissions", "permissions", "allowedCidrs", "addresses") {
		return v.Refuse("key", "keys.one", keysPage{Form: f, Key: one, Permissions: union(grantable(v), one.Permissions)})
	}
	if err != nil {
		return err
	}
	v.Notice("keys.saved", "name", f.Get("name"))
	return v.Redirect("/keys")
}

func same(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// overlaps are the times, in minutes, for which the old secret of a rotated key may stay valid.
var overlaps = []string{"1440", "60", "0", "10080"}

func showRotate(v *web.Visit) error {
	one, err := findKey(v)
	if err != nil {
		return err
	}
	return v.Render("key-rotate", "keys.rotate", keysPage{Form: v.Form(nil), Key: one, Overlaps: overlaps})
}

func rotateKey(v *web.Visit) error {
	one, err := findKey(v)
	if err != nil {
		return err
	}
	f := v.Form(nil)
	if !slices.Contains(overlaps, f.Get("overlap")) {
		f.Err("overlap", v.T("form.needed"))
		return v.Refuse("key-rotate", "keys.rotate", keysPage{Form: f, Key: one, Overlaps: overlaps})
	}
	var answer struct{ Key key }
	body := map[string]any{"overlapMinutes": json.Number(f.Get("overlap"))}
	err = v.API.Post(v.Context(), api.Path("v1", "keys", v.Param("id"), "rotate"), f.Key, body, &answer)
	if v.Refused(f, err) {
		return v.Refuse("key-rotate", "keys.rotate", keysPage{Form: f, Key: one, Overlaps: overlaps})
	}
	if err != nil {
		return err
	}
	v.Keep("key", answer.Key.Secret)
	return v.Redirect(fmt.Sprintf("/keys/%s/secret", one.ID))
}

func showRevoke(v *web.Visit) error {
	one, err := findKey(v)
	if err != nil {
		return err
	}
	return v.Render("key-revoke", "keys.revoke", keysPage{Form: v.Form(nil), Key: one})
}

func revokeKey(v *web.Visit) error {
	one, err := findKey(v)
	if err != nil {
		return err
	}
	f := v.Form(nil)
	err = v.API.Do(v.Context(), api.Call{Method: http.MethodDelete, Path: api.Path("v1", "keys", v.Param("id"))}, nil)
	if v.Refused(f, err) {
		return v.Refuse("key-revoke", "keys.revoke", keysPage{Form: f, Key: one})
	}
	if err != nil {
		return err
	}
	v.Notice("keys.revoked", "name", one.Name)
	return v.Redirect("/keys")
}
