package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/password"
	"causeway.internal/services/console/internal/store"
)

// ErrMissing is the answer for a page that does not exist.
var ErrMissing error = store.ErrUnknown

// Failure is the content of the error page.
type Failure struct {
	Heading, Text string
	Code          string
	RequestID     string
	Retry         bool
}

// fail answers with an error: a page, or JSON for the script. The reader sees only the message of a refusal; the log
// has the rest, with the request's id.
func (v *Visit) fail(err error) {
	c, ctx := v.console, v.R.Context()
	if v.speech == nil {
		v.speech = c.views.languages[0]
	}
	status, f := v.explain(err)
	if status >= http.StatusInternalServerError && !errors.Is(err, context.Canceled) && !errors.Is(err, password.ErrBusy) {
		c.Log.ErrorContext(ctx, "page failed", "route", v.Page.Name(), "request_id", f.RequestID, "err", err)
	}
	if rec, ok := v.W.(*recorder); ok && rec.status != 0 { // a part is sent already: the reader must see that it is not complete
		panic(http.ErrAbortHandler)
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		v.W.Header().Set("Retry-After", "30")
	}
	if v.Page.JSON {
		if err := v.writeJSON(status, map[string]any{"error": map[string]string{"code": f.Code, "message": f.Text, "requestId": f.RequestID}}); err != nil {
			c.Log.ErrorContext(ctx, "answer not written", "route", v.Page.Name(), "request_id", f.RequestID, "err", err)
		}
		return
	}
	if err := v.render(status, "error", "error.title", f); err != nil {
		c.Log.ErrorContext(ctx, "page not rendered", "route", v.Page.Name(), "request_id", f.RequestID, "err", err)
		http.Error(v.W, v.T("error.failed.text"), status)
	}
}

// explain turns an error into the status and the text that its reader may see.
func (v *Visit) explain(err error) (int, Failure) {
	f := Failure{RequestID: httpkit.IdentityOf(v.Context()).RequestID}
	status := http.StatusInternalServerError
	key := "error.failed"
	var refusal *api.Error
	var own *fault.Error
	switch {
	case errors.As(err, &refusal):
		status, f.Code, f.Text = refusal.Status, refusal.Code, refusal.Message
		if refusal.RequestID != "" {
			f.RequestID = refusal.RequestID
		}
		if status == http.StatusUnauthorized { // the gateway does not know this console's key
			status = http.StatusBadGateway
		}
	case errors.Is(err, store.ErrUnknown):
		status, f.Code = http.StatusNotFound, store.ErrUnknown.Code
	case errors.As(err, &own) && own.Kind != fault.Internal:
		status, f.Code, f.Text = httpkit.Status(own.Kind), own.Code, own.Message
	case errors.Is(err, password.ErrBusy):
		status, f.Code, key = http.StatusServiceUnavailable, "overloaded", "error.many"
	case errors.Is(err, context.DeadlineExceeded):
		status, f.Code = http.StatusGatewayTimeout, "timeout"
	default:
		f.Code = "internal_error"
	}
	switch {
	case status == http.StatusNotFound:
		key, f.Text = "error.missing", ""
	case status == http.StatusForbidden:
		key = "error.forbidden"
	case status == http.StatusTooManyRequests:
		key = "error.many"
	case status >= http.StatusInternalServerError:
		f.Retry = v.R.Method == http.MethodGet
	case f.Text != "":
		key = "error.refused"
	}
	if f.Text == "" || status == http.StatusForbidden && f.Code == "forbidden" {
		f.Text = v.T(key + ".text")
	}
	f.Heading = v.T(key + ".title")
	return status, f
}

// failPlain answers before there is a session.
func (c *Console) failPlain(w http.ResponseWriter, r *http.Request, status int, key string) {
	l, _ := c.speak(r, "")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		httpkit.WriteError(w, httpkit.IdentityOf(r.Context()).RequestID, fault.New(fault.Forbidden, "cross_site", "%s", l.Text(key)))
		return
	}
	http.Error(w, l.Text(key), status)
}

// failSession answers when the database of sessions does not answer.
func (c *Console) failSession(w http.ResponseWriter, r *http.Request, err error) {
	c.Log.ErrorContext(r.Context(), "session not read or written", "err", err)
	l, _ := c.speak(r, "")
	http.Error(w, l.Text("error.failed.text"), http.StatusServiceUnavailable)
}
