package web

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/person"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/mail"
	"causeway.internal/services/console/internal/passkey"
	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/session"
	"causeway.internal/services/console/internal/store"
)

//go:embed templates texts assets
var files embed.FS

// Parts are the parts of a console.
type Parts struct {
	Door     people.Door
	Origin   *url.URL // as browsers see it
	Store    *store.Store
	Ring     *keyring.Ring // seals the cookies of browsers that know an account
	Gateway  *api.Gateway
	Mail     mail.Sender
	Area     Area // of the door
	Log      *slog.Logger
	Registry prometheus.Registerer
	Now      func() time.Time
	Stopping func() error // an error once the process stops, so that streams end

	SignUp bool // merchants may register themselves
}

// Console serves the pages of one door. It is safe for concurrent use.
type Console struct {
	Parts
	base     string // path of the door
	sessions *session.Manager
	keys     *passkey.Keys
	pages    map[string]*Page // by pattern
	order    []*Page
	mux      *http.ServeMux
	views    views
	handler  http.Handler
	limits   limits
	live     *live
	seconds  *prometheus.HistogramVec
	signIns  *prometheus.CounterVec
}

// Base is the path of a door below the origin.
func Base(d people.Door) string {
	if d == people.Operators {
		return "/operators"
	}
	return "/console"
}

// New reads every embedded file, and reports an error in one.
func New(parts Parts) (*Console, error) {
	c := &Console{Parts: parts, base: Base(parts.Door), pages: map[string]*Page{}, mux: http.NewServeMux(), live: newLive()}
	var err error
	if c.keys, err = passkey.New(parts.Origin); err != nil {
		return nil, err
	}
	core := Area{Name: "console", Files: files, Pages: c.own()}
	if c.views, err = viewsOf(c.base, []Area{core, parts.Area}); err != nil {
		return nil, err
	}
	c.sessions = session.New(parts.Store, person.Door(parts.Door).Cookie(), parts.Origin.Scheme == "https", parts.Now, c.failSession)
	c.limits = limits{store: parts.Store, count: c.countRefusal}
	c.seconds = httpkit.Seconds(parts.Registry)
	c.signIns = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "console_sign_ins_total", Help: "Attempts to sign in, by way (passkey, password, code, link) and result (done, refused, limited).",
	}, []string{"way", "result"})
	parts.Registry.MustRegister(c.signIns, c.live)
	for _, way := range []string{"passkey", "password", "code", "link"} {
		for _, result := range []string{"done", "refused", "limited"} {
			c.signIns.WithLabelValues(way, result).Add(0)
		}
	}
	if err := c.route(slices.Concat(core.Pages, parts.Area.Pages)); err != nil {
		return nil, err
	}
	c.wrap()
	return c, nil
}

// route adds the pages to the mux.
func (c *Console) route(pages []Page) error {
	for i := range pages {
		p := &pages[i]
		pattern := p.Method + " " + c.base + p.Path
		if p.Path == "/" {
			pattern = p.Method + " " + c.base + "/{$}"
		}
		if c.pages[pattern] != nil {
			return fmt.Errorf("the route %s is there twice", pattern)
		}
		c.pages[pattern] = p
		c.order = append(c.order, p)
		c.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, p) })
	}
	c.mux.HandleFunc("GET "+c.base+"/live", c.serveLive)
	c.mux.HandleFunc("GET "+c.base+"/{$}", c.home)
	c.mux.HandleFunc("GET "+c.base, c.home)
	return nil
}

// Pages lists the routes.
func (c *Console) Pages() []*Page { return c.order }

// wrap puts the middlewares around the mux; the outermost is last.
func (c *Console) wrap() {
	cross := http.NewCrossOriginProtection()
	if err := cross.AddTrustedOrigin(c.Origin.Scheme + "://" + c.Origin.Host); err != nil {
		panic(err) // a URL's scheme and host are an origin
	}
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.Log.WarnContext(r.Context(), "cross-site request refused", "origin", r.Header.Get("Origin"))
		c.failPlain(w, r, http.StatusForbidden, "error.cross")
	}))
	routed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := c.mux.Handler(r); pattern == "" {
			c.serve(w, r, &Page{Method: r.Method, Path: "unknown", Public: true, Handle: func(*Visit) error { return store.ErrUnknown }})
			return
		}
		c.mux.ServeHTTP(w, r)
	})
	inner := cross.Handler(c.sessions.Load(routed))
	c.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if name, ok := strings.CutPrefix(r.URL.Path, c.base+"/assets/"); ok {
			c.serveAsset(w, r, name)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// ServeHTTP answers a request that the gateway's identity came with (httpkit.Verified).
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// policy lets a page use what this host serves and nothing else: no inline script or style, no third party.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; frame-src 'self'"

func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=()")
	h.Set("Cache-Control", "no-store")
}

// recorder knows the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// pageMax bounds the time of a page.
const pageMax = 20 * time.Second

// serve runs a page for the person of the request, if that person may see it.
func (c *Console) serve(w http.ResponseWriter, r *http.Request, p *Page) {
	began := time.Now()
	rec := &recorder{ResponseWriter: w}
	ctx, stop := context.WithTimeout(r.Context(), pageMax)
	defer stop()
	r = r.WithContext(ctx)
	v := &Visit{W: rec, R: r, Page: p, console: c}
	defer func() {
		cause := recover()
		defer func() {
			c.seconds.WithLabelValues(p.Name(), strconv.Itoa(rec.status)).Observe(time.Since(began).Seconds())
		}()
		switch {
		case cause == nil:
		case cause == http.ErrAbortHandler: //nolint:errorlint // net/http compares this very value
			panic(cause)
		default:
			v.fail(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	err := c.admit(v)
	if err == nil {
		err = p.Handle(v)
	}
	if err != nil && !errors.Is(err, errAnswered) {
		v.fail(err)
	}
}

// errAnswered ends a visit that has its answer already.
var errAnswered = errors.New("answered")

// admit identifies the person and checks the permission. It answers itself if the person must first sign in, prove
// their identity, or choose another merchant or mode; it keeps the typed form.
func (c *Console) admit(v *Visit) error {
	if err := v.identify(); err != nil {
		return err
	}
	if v.R.Method == http.MethodPost {
		v.R.Body = http.MaxBytesReader(v.W, v.R.Body, httpkit.BodyMax)
		if !v.Page.JSON {
			if err := v.R.ParseForm(); err != nil {
				return fault.New(fault.Invalid, "form_unreadable", "The form could not be read.").Because(err)
			}
		}
	}
	switch {
	case v.Page.Public:
		return nil
	case v.Person.ID == "":
		return v.askToSignIn()
	case !v.Allows(v.Page.Permission):
		return errForbidden
	case v.Page.Fresh && !c.sessions.Fresh(v.Context()) && v.Person.Secured():
		return v.askToProve()
	case v.R.Method == http.MethodPost && !v.Page.JSON && !v.Page.Personal && v.R.PostForm.Get(scopeField) != v.Scope():
		return v.askScope()
	}
	return nil
}

// The refusals of the console itself.
var (
	errForbidden = fault.New(fault.Forbidden, "forbidden", "Your role does not allow this.")
	errSignedOut = fault.New(fault.Unauthenticated, "signed_out", "Sign in first.")
)

// home leads to the first page.
func (c *Console) home(w http.ResponseWriter, r *http.Request) {
	c.serve(w, r, &Page{Method: http.MethodGet, Path: "/", Handle: func(v *Visit) error {
		if len(v.Memberships) == 0 && c.Door == people.Merchants {
			return v.Redirect("/business")
		}
		return v.Redirect(c.Area.Home)
	}})
}

// identify reads the session.
func (v *Visit) identify() error {
	c, ctx := v.console, v.R.Context()
	var asked bool
	if v.speech, asked = c.speak(v.R, ""); asked {
		v.rememberLanguage()
	}
	id := c.sessions.Person(ctx)
	if id == "" {
		return nil
	}
	who, err := c.Store.Person(ctx, id)
	if errors.Is(err, store.ErrUnknown) || err == nil && who.Disabled {
		return c.sessions.End(ctx)
	}
	if err != nil {
		return err
	}
	if v.Memberships, err = c.Store.Memberships(ctx, id); err != nil {
		return err
	}
	v.Person = who
	v.speech, _ = c.speak(v.R, who.Locale)
	merchantID, mode := c.sessions.Scope(ctx)
	v.Mode = mode
	for i, m := range v.Memberships {
		if i == 0 || m.MerchantID == merchantID {
			v.Member = m
		}
	}
	v.API = c.Gateway.As(v.assertion())
	return nil
}

// assertion is the statement for the gateway about the person.
func (v *Visit) assertion() person.Assertion {
	a := person.Assertion{Door: person.Door(v.console.Door), User: v.Person.ID, Name: v.Person.Login, ClientIP: v.Address()}
	if v.console.Door == people.Merchants {
		a.MerchantID, a.Mode, a.Permissions = v.Member.MerchantID, v.Mode, v.Member.Role.Assertable()
	}
	return a
}

// Registration returns the API for a person who registers a merchant that does not exist yet.
func (v *Visit) registration(merchantID string) api.Person {
	a := v.assertion()
	a.MerchantID, a.Mode, a.Permissions = merchantID, tenant.Test, []string{string(people.MerchantCreate)}
	return v.console.Gateway.As(a)
}

// newKey returns a new Idempotency-Key.
func newKey() string { return "console-" + rand.Text() }

// countRefusal counts an attempt to sign in by its result.
func (c *Console) countRefusal(way, result string) { c.signIns.WithLabelValues(way, result).Inc() }

// writeJSON answers the script.
func (v *Visit) writeJSON(status int, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	v.W.Header().Set("Content-Type", "application/json; charset=utf-8")
	v.W.WriteHeader(status)
	_, _ = v.W.Write(raw) // the reader may be gone
	return nil
}
