// Package page renders the pages for people: what a payer sees at /pay/:reference, who claims a gift at
// /claim/:reference, and a programmer at /docs. Pages are whole without JavaScript; the script only refreshes, counts
// down, copies, searches, and recalls the last choice of a coin. Everything on them comes from the public endpoints of
// payments, asked in the caller's name; the reference in the path is the only secret and is never written to a log or
// sent to another site.
//
// Forms are plain POSTs. They need no token against forgery: no cookie or other ambient right is read anywhere, so a
// form on a foreign site can do nothing that its author could not do himself, namely what knowing the reference allows.
//
// The package knows no key, no SQL and no rule of money.
package page

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	swagger "github.com/swaggest/swgui/v5/static"

	"causeway.internal/gateway/internal/merchant"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/language"
)

// Payments answers questions about payments in the name of the call that ctx belongs to.
type Payments interface {
	Ask(ctx context.Context, method, path string, body []byte) (proxy.Reply, error)
	// AskOnce is Ask for a POST under an Idempotency-Key.
	AskOnce(ctx context.Context, path, key string, body []byte) (proxy.Reply, error)
}

// Brands find what payers see of a merchant; Name is "" where the merchant has said nothing.
type Brands interface {
	Brand(ctx context.Context, merchantID string) merchant.Brand
	Logo(ctx context.Context, name string) ([]byte, error)
}

//go:embed templates/*.html
var templates embed.FS

//go:embed assets
var assets embed.FS

// Pages serves the pages. It is safe for concurrent use.
type Pages struct {
	payments Payments
	brands   Brands
	offer    language.List
	log      *slog.Logger
	now      func() time.Time
	views    map[string]*template.Template // by language and name
	files    map[string]file
	version  string // changes with everything that a page is made of
}

// file is one embedded asset.
type file struct {
	body        []byte
	contentType string
}

// New parses every embedded file and reports what is wrong with it. Pages of live payments have the languages of the
// offer.
func New(payments Payments, brands Brands, offer language.List, log *slog.Logger, now func() time.Time) (*Pages, error) {
	p := &Pages{payments: payments, brands: brands, offer: offer, log: log, now: now, views: map[string]*template.Template{}, files: map[string]file{}}
	if err := p.load(); err != nil {
		return nil, err
	}
	for _, l := range languages {
		helpers := template.FuncMap{
			"t": l.Text, "money": l.Money, "date": l.Date, "asset": p.asset, "qr": qrCode, "brand": brand,
			"fiat": func(of payment) string { return fiat(l, of) }, "payout": func(of payment) string { return payout(l, of) },
		}
		for name, files := range map[string][]string{
			"pay": {"layout", "pay", "coins"}, "claim": {"layout", "claim"}, "error": {"layout", "error"}, "home": {"layout", "home"}, "link": {"layout", "link", "coins"}, "docs": {"docs"},
			"guide": {"guide", "guide_text"},
		} {
			view := template.New(files[0] + ".html").Funcs(helpers)
			for _, file := range files {
				if _, err := view.ParseFS(templates, "templates/"+file+".html"); err != nil {
					return nil, fmt.Errorf("page %s: %w", name, err)
				}
			}
			p.views[l.Code+" "+name] = view
		}
	}
	return p, nil
}

// brand is the name on the pages.
func brand() string { return "Causeway" }

// load reads the assets and computes their common version.
func (p *Pages) load() error {
	sum := sha256.New()
	add := func(name string, body []byte) {
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", name, len(body), body) // writing to a hash never fails
		if kind, ok := types[path.Ext(name)]; ok {
			p.files[path.Base(name)] = file{body, kind}
		}
	}
	for _, from := range []embed.FS{assets, templates, texts} {
		err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			body, err := from.ReadFile(name)
			add(name, body)
			return err
		})
		if err != nil {
			return fmt.Errorf("read the assets: %w", err)
		}
	}
	for _, name := range []string{"swagger-ui-bundle.js", "swagger-ui.css"} {
		body, err := unpacked(name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		add(name, body)
	}
	p.version = hex.EncodeToString(sum.Sum(nil))[:16]
	return nil
}

// unpacked is a file of Swagger UI, which its module keeps compressed.
func unpacked(name string) ([]byte, error) {
	packed, err := swagger.FS.ReadFile(name + ".gz")
	if err != nil {
		return nil, err
	}
	body, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(body)
}

// types are the endings of the files that are served, with their media types.
var types = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// asset is the path of an embedded file; it changes with the content.
func (p *Pages) asset(name string) (string, error) {
	if _, ok := p.files[name]; !ok {
		return "", fmt.Errorf("no asset %s", name)
	}
	return "/assets/" + name + "?v=" + p.version, nil
}

// Routes adds the pages to a mux.
func (p *Pages) Routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /pay/{reference}", p.showPay)
	mux.HandleFunc("POST /pay/{reference}/fulfill", p.fulfil)
	mux.HandleFunc("POST /pay/{reference}/simulate", p.simulate)
	mux.HandleFunc("POST /pay/{reference}/transaction", p.transaction)
	mux.HandleFunc("POST /pay/{reference}/refund-address", p.refundAddress)
	mux.HandleFunc("GET /claim/{reference}", p.showClaim)
	mux.HandleFunc("POST /claim/{reference}", p.checkAccount)
	mux.HandleFunc("POST /claim/{reference}/confirm", p.claim)
	mux.HandleFunc("GET /logos/{name}", p.showLogo)
	mux.HandleFunc("GET /{$}", p.showHome)
	mux.HandleFunc("GET /link/{id}", p.showLink)
	mux.HandleFunc("POST /link/{id}", p.payLink)
	mux.HandleFunc("GET /docs", p.showDocs)
	mux.HandleFunc("GET /guide", p.showGuide)
	mux.HandleFunc("GET /assets/{name}", p.showAsset)
}

// policy lets a page use what this host serves and nothing else: no inline script or style, no third party.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// render writes a page. Caches never keep pages: anybody who has a reference may see its payment.
func (p *Pages) render(w http.ResponseWriter, r *http.Request, l *language.Language, status int, name string, data any) {
	var body bytes.Buffer
	if err := p.views[l.Code+" "+name].Execute(&body, data); err != nil {
		p.log.ErrorContext(r.Context(), "page not rendered", "page", name, "err", err)
		httpkit.WriteError(w, r.Header.Get(httpkit.RequestIDHeader), err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	if h.Get("Content-Security-Policy") == "" {
		h.Set("Content-Security-Policy", policy)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept, Accept-Language")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the reader may be gone
}

// view holds the fields of every page.
type view struct {
	Title   string
	Refresh int    // seconds after which a page without script reloads; 0 never does
	Poll    int    // milliseconds between two polls of the script; 0 never polls
	Tag     string // digest of the shown state, for those polls
	Test    bool   // test mode: no real money
	Path    string // of the page itself; its forms lie below
	Speech  speech
	Payee   merchant.Brand
}

// failure is the content of the error page.
type failure struct {
	view
	Heading, Text, RequestID string
	Retry                    bool
}

// fail answers with an error page, or in the one error shape to a caller that did not ask for a page.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, status int, retryAfter string, err *fault.Error) {
	requestID := r.Header.Get(httpkit.RequestIDHeader)
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		httpkit.WriteError(w, requestID, err)
		return
	}
	key := "error.other"
	switch {
	case status == http.StatusNotFound:
		key = "error.missing"
	case status >= http.StatusInternalServerError || status == http.StatusTooManyRequests:
		key = "error.passing"
		if retryAfter == "" {
			retryAfter = "5"
		}
		w.Header().Set("Retry-After", retryAfter)
	}
	said := p.speak(r, "", "")
	title := said.Text(key + ".title")
	f := failure{view: view{Title: title, Path: pagePath(r), Speech: said}, Heading: title, Text: said.Text(key + ".text"), RequestID: requestID}
	if f.Retry = key == "error.passing" && r.Method == http.MethodGet; f.Retry {
		f.Refresh, _ = strconv.Atoi(retryAfter)
	}
	p.render(w, r, said.Language, status, "error", f)
}

// pagePath is the path of the page that a request is about; a form's lies below it.
func pagePath(r *http.Request) string {
	parts := strings.SplitN(r.URL.Path, "/", 4)
	return strings.Join(parts[:min(len(parts), 3)], "/")
}

// Refuse answers a call that the proxy refused, such as one beyond a rate limit, with an error page.
func (p *Pages) Refuse(w http.ResponseWriter, r *http.Request, f *fault.Error) {
	after := ""
	if f.RetryAfter > 0 {
		after = strconv.Itoa(int((f.RetryAfter + time.Second - 1) / time.Second))
	}
	p.fail(w, r, httpkit.Status(f.Kind), after, f)
}

// showLogo serves a merchant's picture, whose name is the hash of its bytes.
func (p *Pages) showLogo(w http.ResponseWriter, r *http.Request) {
	picture, err := p.brands.Logo(r.Context(), r.PathValue("name"))
	switch {
	case err != nil:
		httpkit.WriteError(w, r.Header.Get(httpkit.RequestIDHeader), errNoLogo.Because(err))
		return
	case picture == nil:
		httpkit.WriteError(w, r.Header.Get(httpkit.RequestIDHeader), httpkit.ErrRouteUnknown)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "image/png")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(picture) //nolint:gosec // the reader may be gone; the picture is one that was decoded, and a sandbox shows it
}

var errNoLogo = fault.New(fault.Unavailable, "upstream_unavailable", "The picture is not available right now.").After(2 * time.Second)

// showAsset serves an embedded file. A path with a version never changes.
func (p *Pages) showAsset(w http.ResponseWriter, r *http.Request) {
	f, ok := p.files[r.PathValue("name")]
	if !ok {
		httpkit.WriteError(w, r.Header.Get(httpkit.RequestIDHeader), httpkit.ErrRouteUnknown)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == p.version {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	_, _ = w.Write(f.body) // the reader may be gone
}
