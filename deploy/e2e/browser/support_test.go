//go:build integration

package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// within is what one step of a flow may take on a busy machine of two cores.
const within = 90 * time.Second

// names are the programs that are looked for, the smallest first.
var names = []string{"chromium-headless-shell", "headless_shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

func chromium() (string, error) {
	if path := os.Getenv("CAUSEWAY_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium is installed: apt-get install chromium-headless-shell, or set CAUSEWAY_CHROMIUM")
}

// chrome is the one Chromium of this run; every test has a tab of its own in it.
var chrome context.Context

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	path, err := chromium()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.NoSandbox, // tests may run as root, and open pages of this repository alone
		chromedp.Flag("force-prefers-reduced-motion", stillPictures))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	first, end := chromedp.NewContext(allocator)
	defer end()
	if err := chromedp.Do(first); err != nil {
		fmt.Fprintln(os.Stderr, "start Chromium:", err)
		return 1
	}
	chrome = first
	return m.Run()
}

// jpegQuality is that of screenshots. At 100 they are PNG, which takes several times as long to compress.
const jpegQuality = 85

// size is a kind of screen.
type size struct {
	name          string
	width, height int64
	options       []chromedp.EmulateViewportOption
}

var (
	phone   = size{"phone", 360, 740, []chromedp.EmulateViewportOption{chromedp.EmulateMobile, chromedp.EmulateTouch}}
	desktop = size{"desktop", 1280, 800, nil}
)

// both runs a flow on both sizes, in make test on one of them.
func both(t *testing.T, flow func(t *testing.T, b *tab)) {
	t.Parallel()
	for _, s := range flowSizes(t.Name()) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			flow(t, open(t, s))
		})
	}
}

// tab is a page of a browser with a client of the same stack.
type tab struct {
	t     *testing.T
	ctx   context.Context
	stack *stack.Stack
	api   *api.Client
	size  size
	shots int

	mu       sync.Mutex
	allow    string // part of a complaint that a test expects
	problems []string
}

// tabs bounds how many tests have one at a time, however many may run: each computes for itself.
var tabs = make(chan struct{}, 4)

// holders are the names of those tests. A test that holds one, or whose parent does, opens further tabs at once:
// several tests would otherwise wait for each other's for ever.
var holders sync.Map

func takeTab(t *testing.T) {
	t.Helper()
	for name := t.Name(); name != ""; name = name[:max(0, strings.LastIndexByte(name, '/'))] {
		if _, ok := holders.Load(name); ok {
			return
		}
	}
	tabs <- struct{}{}
	holders.Store(t.Name(), true)
	t.Cleanup(func() {
		holders.Delete(t.Name())
		<-tabs
	})
}

func open(t *testing.T, s size) *tab {
	t.Helper()
	takeTab(t)
	running := stack.Shared(t)
	return openOn(t, s, running, running.APIKey)
}

// openOn opens a tab beside a client of a stack.
func openOn(t *testing.T, s size, running *stack.Stack, key string) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(chrome, chromedp.WithNewBrowserContext())
	b := &tab{
		t: t, ctx: ctx, stack: running, size: s,
		api: &api.Client{Base: running.BaseURL, Key: key, HTTP: &http.Client{Timeout: within}},
	}
	t.Cleanup(func() {
		if t.Failed() {
			b.shoot("failed")
		}
		closeTab()
		for _, p := range b.problems {
			t.Errorf("a problem in the browser: %s", p)
		}
	})
	if err := chromedp.Do(ctx); err != nil { // opens the tab, which lives as long as this context
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(s.width, s.height, s.options...))
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	return b
}

var consolePage = regexp.MustCompile(`^http://localhost:[0-9]+/(console|operators)`)

// hear notes what a page must never do.
func (b *tab) hear(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err == nil && u.Scheme != "data" && !strings.HasPrefix(e.Request.URL, b.stack.BaseURL+"/") {
			b.problem("asked another host: " + e.Request.URL)
		}
		// The pages of a console have no secret in their address, and forms need the origin.
		if from := e.Request.Headers["Referer"]; from != nil && from != "" && !consolePage.MatchString(e.Request.URL) {
			b.problem("named where it comes from: " + e.Request.URL)
		}
	case *page.EventJavascriptDialogOpening:
		b.problem("opened a dialog: " + e.Message)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			b.problem("console: " + e.Entry.Text + " " + e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		b.problem("threw: " + e.ExceptionDetails.Text)
	}
}

func (b *tab) problem(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.allow == "" || !strings.Contains(text, b.allow) {
		b.problems = append(b.problems, text)
	}
}

// expect lets complaints that hold this text pass, such as of a form that is refused.
func (b *tab) expect(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allow = text
}

// do runs actions; the test ends when one fails or takes too long.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, within)
	defer cancel()
	b.must(chromedp.Do(ctx, actions...))
}

func (b *tab) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("in the browser: %v\nthe page reads:\n%s", err, b.text())
	}
}

// call gives Chromium a command.
func call[P, R any](b *tab, c cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, within)
	defer cancel()
	out, err := chromedp.Call(ctx, c, params)
	b.must(err)
	return out
}

// js is the value of an expression on the page.
func js[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, within)
	defer cancel()
	await := true
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, func(p *runtime.EvaluateParams) { p.AwaitPromise = &await }))
	b.must(err)
	return out
}

// calmly looks for something on a page ten times a second instead of two hundred: pages wait for payments.
var calmly = chromedp.RetryInterval(100 * time.Millisecond)

// see waits until something is visible, gone until it is not, and enter types into it.
func (b *tab) see(selector string) {
	b.t.Helper()
	b.do(chromedp.WaitVisible(chromedp.CSS(selector), calmly))
}

func (b *tab) gone(selector string) {
	b.t.Helper()
	b.do(chromedp.WaitNotVisible(chromedp.CSS(selector), calmly))
}

func (b *tab) enter(selector, text string) {
	b.t.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// text is what the page shows.
func (b *tab) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, within)
	defer cancel()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`)) // nothing is shown where nothing can be read
	return text
}

// visit opens a page of the stack.
func (b *tab) visit(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.stack.BaseURL + path))
}

// click presses what is found.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.persist(func(ctx context.Context) error { return chromedp.Do(ctx, pressing(selector)) })
}

// submit presses a button that loads the next page, and waits for that.
func (b *tab) submit(selector string) {
	b.t.Helper()
	b.persist(func(ctx context.Context) error {
		_, err := chromedp.Run(ctx, chromedp.WaitEvent(page.LoadEventFired, nil, pressing(selector)))
		return err
	})
}

func pressing(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(chromedp.ScrollIntoView(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// persist repeats what the page has hindered. A page that renews itself, or narrows a list, may take a button away
// before it is pressed; the new one is pressed then, as a person would.
func (b *tab) persist(act func(ctx context.Context) error) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, within)
	defer cancel()
	for {
		err := act(ctx)
		gone := err != nil && (strings.Contains(err.Error(), "Could not find node") || strings.Contains(err.Error(), "not have a layout object"))
		if !gone || ctx.Err() != nil {
			b.must(err)
			return
		}
	}
}

// stage waits until the page is at a stage, by itself: nothing is loaded again from here.
func (b *tab) stage(name string) {
	b.t.Helper()
	b.see(`[data-stage="` + name + `"]`)
	b.shoot(name)
}

// shows fails the test unless the page shows every text.
func (b *tab) shows(texts ...string) {
	b.t.Helper()
	b.contains(strings.Join(strings.Fields(b.text()), " "), texts...)
}

func (b *tab) contains(shown string, texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			b.t.Errorf("the page does not show %q:\n%s", text, shown)
		}
	}
}

// shoot leaves a screenshot of the whole page, and holds it to what every page owes.
func (b *tab) shoot(name string) {
	b.t.Helper()
	b.shots++
	ctx, cancel := context.WithTimeout(b.ctx, within)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(jpegQuality))
	if err != nil {
		b.t.Errorf("take a screenshot: %v", err)
		return
	}
	test := strings.NewReplacer("/", "-", "Test", "").Replace(b.t.Name())
	dir := filepath.Join(os.Getenv("CAUSEWAY_STACK_DIR"), "screens")
	file := filepath.Join(dir, fmt.Sprintf("%s-%02d-%s.jpg", test, b.shots, name))
	err = errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(file, picture, 0o644))
	if err != nil {
		b.t.Errorf("leave a screenshot: %v", err)
	}
}

// create makes a payment with the stack's key and returns its reference.
func (b *tab) create(changes api.Object) string {
	b.t.Helper()
	body := api.Object{
		"type": "transfer", "fiatAmount": 25000, "fiatCurrency": "NGN", "crypto": "USDT", "network": "trc20", "chargeFrom": "crypto",
		"payer": api.Object{"chatId": "payer-1"}, "receiver": api.Object{"bankCode": "058", "accountNumber": "0123456789"},
	}
	for name, value := range changes {
		if value == nil {
			delete(body, name)
			continue
		}
		body[name] = value
	}
	return b.api.Call(b.t, http.MethodPost, "/v1/payments", body).Want(b.t, http.StatusCreated).Text(b.t, "payment.reference")
}

// gift makes a gift.
func (b *tab) gift(changes api.Object) string {
	b.t.Helper()
	body := api.Object{"type": "gift", "chargeFrom": nil, "receiver": nil}
	for name, value := range changes {
		body[name] = value
	}
	return b.create(body)
}

// bank gives a payment's payout an outcome.
func (b *tab) bank(reference, outcome string) {
	b.t.Helper()
	path := "/v1/sandbox/payouts/" + reference + "/outcome"
	b.api.Call(b.t, http.MethodPost, path, api.Object{"outcome": outcome}).Want(b.t, http.StatusOK)
}

// read is the payment as its merchant sees it.
func (b *tab) read(reference string) *api.Answer {
	b.t.Helper()
	return b.api.Call(b.t, http.MethodGet, "/v1/payments/"+reference, nil).Want(b.t, http.StatusOK)
}

// again loads the page until it is at a stage, which without JavaScript it would do by itself, only more slowly.
func (b *tab) again(name string) {
	b.t.Helper()
	api.Eventually(b.t, within, "the page to be at "+name, func() bool {
		b.do(chromedp.Reload())
		at := js[string](b, "document.querySelector(`[data-stage=\""+name+"\"]`) ? 'there' :"+
			"document.querySelector(`meta[http-equiv=refresh]`) ? 'waits' : 'stuck'")
		if at == "stuck" {
			b.t.Errorf("without JavaScript the page would never be at %s", name)
		}
		return at != "waits"
	})
	b.stage(name)
}

// scriptless turns JavaScript off.
func (b *tab) scriptless() {
	b.t.Helper()
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}
