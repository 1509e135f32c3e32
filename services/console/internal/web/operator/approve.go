package operator

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/passkey"
	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/web"
)

// decision is a request of the API that waits in the session for its operator's approval. At is set when the operator's
// passkey is asked.
type decision struct {
	Act    string // name of the act
	Method string
	Path   string
	Body   json.RawMessage
	Key    string // Idempotency-Key
	Back   string
	At     int64 // unix milliseconds

	Page string     // of the form
	Form url.Values // as it was typed; only of an act on a version of an object
}

const kept = "decision"

// keep stores a decision and leads to its approval.
func keep(v *web.Visit, a act, f *web.Form, body map[string]any) error {
	d := decision{Act: a.Name, Method: a.Method, Path: filledFrom(v, a.API), Key: f.Key, Back: filledFrom(v, a.Back)}
	if a.Shown != "" {
		d.Page, d.Form = v.Path(), f.Values
	}
	if len(body) > 0 {
		raw, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("write the request: %w", err)
		}
		d.Body = raw
	}
	if err := d.keep(v); err != nil {
		return err
	}
	return v.Redirect("/approve")
}

func (d decision) keep(v *web.Visit) error {
	raw, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("keep a decision: %w", err)
	}
	v.Keep(kept, string(raw))
	return nil
}

// name identifies a decision, so that a page approves the decision that it shows: another form of the same session may
// have replaced it meanwhile.
func (d decision) name() string {
	sum := sha256.Sum256([]byte(d.Method + "\n" + d.Path + "\n" + d.Key + "\n" + string(d.Body)))
	return hex.EncodeToString(sum[:])
}

var errOther = fault.New(fault.Conflict, "other_decision", "Another decision waits for your approval now. Open it again and look at it.")

var errNothing = fault.New(fault.NotFound, "nothing_to_approve", "There is nothing to approve. Decide again.")

// waiting reads the decision that waits in this session, and leaves it there.
func waiting(v *web.Visit) (d decision, err error) {
	text := v.Take(kept)
	if text == "" {
		return d, errNothing
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return d, fmt.Errorf("read a decision: %w", err)
	}
	v.Keep(kept, text)
	return d, nil
}

// change is the decision as the operator's passkey signs it.
func (d decision) change(v *web.Visit) (passkey.Change, error) {
	u, err := url.Parse("http://gateway" + d.Path)
	if err != nil {
		return passkey.Change{}, fmt.Errorf("read the path of a decision: %w", err)
	}
	return passkey.Change{
		Operator: v.API.Who().Name, Method: d.Method, Path: u.RequestURI(), Body: d.Body, IdempotencyKey: d.Key, At: time.UnixMilli(d.At),
	}, nil
}

// registered is a passkey of the operator that the services know.
type registered struct {
	Name, Label, CredentialID string
	RevokedAt                 string
}

func passkeysOf(v *web.Visit) (own []registered, err error) {
	var answer struct{ Passkeys []registered }
	if err := v.API.Get(v.Context(), "/v1/admin/operators/passkeys", nil, &answer); err != nil {
		return nil, err
	}
	for _, one := range answer.Passkeys {
		if one.Name == v.API.Who().Name && one.RevokedAt == "" {
			own = append(own, one)
		}
	}
	return own, nil
}

// approvePage is the content of the page that asks for an approval.
type approvePage struct {
	Title    string // key of a text
	Decision string // its name
	Facts    []cell
	Back     string
	Keys     []registered
	Own      []web.OwnPasskey // passkeys of the account, for an operator who has registered none at the gateway
	Who      string
}

func approve(v *web.Visit) error {
	d, err := waiting(v)
	if err != nil {
		return err
	}
	page := approvePage{Title: "decide." + d.Act, Decision: d.name(), Back: d.Back, Who: v.API.Who().Name, Facts: []cell{{Label: "approve.request", As: code, Text: d.Method + " " + d.Path}}}
	var body row
	if len(d.Body) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(d.Body))
		decoder.UseNumber()
		if err := decoder.Decode(&body); err != nil {
			return fmt.Errorf("read a decision: %w", err)
		}
	}
	for _, a := range acts() {
		if a.Name != d.Act {
			continue
		}
		for _, f := range a.Fields {
			if text := f.said(v, body.at(f.member())); text != "" {
				page.Facts = append(page.Facts, cell{Label: "field." + f.Name, Text: text})
			}
		}
	}
	if page.Keys, err = passkeysOf(v); err != nil {
		return err
	}
	if len(page.Keys) == 0 {
		if page.Own, err = v.OwnPasskeys(); err != nil {
			return err
		}
	}
	return v.Render("approve", "approve.title", page)
}

// beginApproval gives the browser the options of the ceremony, for the decision that its page shows.
func beginApproval(v *web.Visit) error {
	d, err := waiting(v)
	if err != nil {
		return err
	}
	var shown struct{ Decision string }
	if err := json.NewDecoder(io.LimitReader(v.R.Body, ceremonyMax)).Decode(&shown); err != nil {
		return fault.New(fault.Invalid, "body_invalid", "The request is no JSON.")
	}
	if shown.Decision != d.name() {
		return errOther
	}
	keys, err := passkeysOf(v)
	if err != nil {
		return err
	}
	d.At = time.Now().UnixMilli()
	if err := d.keep(v); err != nil {
		return err
	}
	change, err := d.change(v)
	if err != nil {
		return err
	}
	type descriptor struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	allowed := make([]descriptor, 0, len(keys))
	for _, k := range keys {
		allowed = append(allowed, descriptor{"public-key", k.CredentialID})
	}
	return answer(v, map[string]any{"publicKey": map[string]any{
		"challenge": base64.RawURLEncoding.EncodeToString(change.Challenge()), "allowCredentials": allowed, "userVerification": "required", "timeout": 120_000,
	}})
}

// ceremonyMax bounds the answer of a browser, in bytes.
const ceremonyMax = 64 << 10

// finishApproval sends the decision with its approval to the service, which verifies it.
func finishApproval(v *web.Visit) error {
	d, err := waiting(v)
	if err != nil {
		return err
	}
	var made struct {
		ID       string
		Response struct{ AuthenticatorData, ClientDataJSON, Signature string }
	}
	if err := json.NewDecoder(io.LimitReader(v.R.Body, ceremonyMax)).Decode(&made); err != nil {
		return fault.New(fault.Invalid, "body_invalid", "The request is no JSON.")
	}
	approval := passkey.Approval{
		At: d.At, CredentialID: made.ID, AuthenticatorData: made.Response.AuthenticatorData, ClientDataJSON: made.Response.ClientDataJSON,
		Signature: made.Response.Signature,
	}
	call := api.Call{Method: d.Method, Path: d.Path, Key: d.Key, Header: http.Header{passkey.Header: {approval.Header()}}}
	if len(d.Body) > 0 {
		call.Body = d.Body
	}
	var said struct {
		Approval *struct{ ExpiresAt string }
		Key      *struct{ Secret string }
	}
	err = v.API.Do(v.Context(), call, &said)
	if refused, ok := errors.AsType[*api.Error](err); ok && refused.Status < http.StatusInternalServerError && refused.Code != "approval_invalid" {
		v.Take(kept)
	}
	if api.Is(err, "merchant_changed") {
		d.Form.Del(versionField)
		v.Again(d.Page, d.Form)
		v.Notice("decide.changed")
		return answer(v, map[string]string{"to": v.Link(d.Page)})
	}
	if err != nil {
		return err
	}
	v.Take(kept)
	switch {
	case said.Approval != nil:
		v.Notice("approve.second")
	case said.Key != nil && said.Key.Secret != "":
		v.Notice("approve.secret", "secret", said.Key.Secret)
	default:
		v.Notice("approve.done")
	}
	return answer(v, map[string]string{"to": v.Link(d.Back)})
}

func answer(v *web.Visit, value any) error {
	v.W.Header().Set("Content-Type", "application/json; charset=utf-8")
	return json.NewEncoder(v.W).Encode(value)
}
