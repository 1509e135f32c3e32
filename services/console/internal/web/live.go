package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The bounds of streams: their life, after which a browser asks again; the interval between two looks at a page; and
// their number in this process and for one person.
const (
	liveLife  = 10 * time.Minute
	liveEvery = 3 * time.Second
	liveMax   = 256
	liveOwn   = 6
	liveWrite = 10 * time.Second
)

// live counts the streams.
type live struct {
	mu    sync.Mutex
	all   int
	by    map[string]int
	gauge *prometheus.Desc
}

func newLive() *live {
	return &live{by: map[string]int{}, gauge: prometheus.NewDesc("console_live_streams", "Open streams of live pages.", nil, nil)}
}

// Describe implements prometheus.Collector.
func (l *live) Describe(to chan<- *prometheus.Desc) { to <- l.gauge }

// Collect implements prometheus.Collector.
func (l *live) Collect(to chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	to <- prometheus.MustNewConstMetric(l.gauge, prometheus.GaugeValue, float64(l.all)) //nolint:forbidigo // a count of streams
}

func (l *live) begin(who string) (end func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= liveMax || l.by[who] >= liveOwn {
		return nil, false
	}
	l.all++
	l.by[who]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all--
		if l.by[who]--; l.by[who] == 0 {
			delete(l.by, who)
		}
	}, true
}

// followed finds the live page at an address of this console, as the mux would.
func (c *Console) followed(r *http.Request) (*Page, *http.Request) {
	of, err := url.Parse(r.URL.Query().Get("of"))
	if err != nil || of.Host != "" || !strings.HasPrefix(of.Path, c.base+"/") {
		return nil, nil
	}
	asked := r.Clone(r.Context())
	asked.URL, asked.RequestURI = of, of.RequestURI()
	_, pattern := c.mux.Handler(asked)
	p := c.pages[pattern]
	if p == nil || p.Live == nil || p.Method != http.MethodGet {
		return nil, nil
	}
	// The mux fills in the values of the path only while it serves.
	filled := asked
	probe := http.NewServeMux()
	probe.HandleFunc(pattern, func(_ http.ResponseWriter, q *http.Request) { filled = q })
	probe.ServeHTTP(httptest.NewRecorder(), asked)
	return p, filled
}

// serveLive is a stream of server-sent events: the version of a page whenever it has changed.
func (c *Console) serveLive(w http.ResponseWriter, r *http.Request) {
	p, asked := c.followed(r)
	if p == nil {
		http.Error(w, "", http.StatusNotFound)
		return
	}
	// A stream lasts longer than a session's data may be trusted, so each look reads the session's person again.
	v := &Visit{W: w, R: asked, Page: &Page{Method: p.Method, Path: p.Path, Permission: p.Permission, JSON: true, Live: p.Live}, console: c}
	if err := c.admit(v); err != nil {
		http.Error(w, "", http.StatusNoContent) // on which an EventSource does not reconnect
		return
	}
	end, ok := c.live.begin(v.Person.ID)
	if !ok {
		w.Header().Set("Retry-After", "30")
		http.Error(w, "", http.StatusServiceUnavailable)
		return
	}
	defer end()
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no")
	stream := http.NewResponseController(w)
	say := func(text string) bool {
		_ = stream.SetWriteDeadline(c.Now().Add(liveWrite))
		_, err := fmt.Fprint(w, text) //nolint:gosec // numbers of versions alone
		return err == nil && stream.Flush() == nil
	}
	// The end of the stream is a write as well, and the last look may have taken longer than one may take.
	defer func() { _ = stream.SetWriteDeadline(c.Now().Add(liveWrite)) }()
	if !say("retry: 3000\n\n") {
		return
	}
	ticker := time.NewTicker(liveEvery)
	defer ticker.Stop()
	known := r.URL.Query().Get("version")
	for ends := c.Now().Add(liveLife); c.Now().Before(ends) && c.Stopping() == nil; {
		version, err := c.look(v, p)
		if err != nil {
			return // signed out, forbidden meanwhile, or the API fails: the browser asks again
		}
		text := ": \n\n"
		if version != known {
			known, text = version, "data: "+version+"\n\n"
		}
		if !say(text) {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
	}
}

// look checks that the person may still see a page, and then asks the page for its version.
func (c *Console) look(v *Visit, p *Page) (string, error) {
	ctx, stop := context.WithTimeout(v.R.Context(), pageMax)
	defer stop()
	again := &Visit{W: v.W, R: v.R.WithContext(ctx), Page: v.Page, console: c}
	if err := c.admit(again); err != nil {
		return "", err
	}
	return p.Live(again)
}
