package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"causeway.internal/libs/lifecycle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func group(drain time.Duration) *lifecycle.Group {
	return lifecycle.New(slog.New(slog.DiscardHandler), drain)
}

// journal notes what happened, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

// The time of the last success stays while work fails, and begins with the work; a group and its child show one.
func TestEvery_tellsTheLastSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group(time.Minute)
		child := g.Child(time.Minute)
		var failing atomic.Bool
		var well atomic.Int64
		child.Every("erasures", 10*time.Minute, func(context.Context) error {
			if failing.Load() {
				return errors.New("database is away")
			}
			well.Store(time.Now().Unix())
			return nil
		})
		child.Every("never well", 10*time.Minute, func(context.Context) error { return errors.New("no") })
		began := time.Now().Unix()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- child.Run(ctx) }()
		time.Sleep(25 * time.Minute) // synthetic
		failing.Store(true)
		time.Sleep(2 * time.Hour) // synthetic
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		const name = "lifecycle_last_success_timestamp_seconds"
		want := fmt.Sprintf("# HELP %[1]s When a run of periodic work last ended well; before the first such run, when the work began.\n# TYPE %[1]s gauge\n"+
			"%[1]s{work=\"erasures\"} %[2]g\n%[1]s{work=\"never well\"} %[3]g\n", name, float64(well.Load()), float64(began))
		if last := well.Load() - began; last <= 15*60 || last > 25*60 {
			t.Errorf("the last success came %d s after the begin, want it in the last interval before work failed", last)
		}
		if err := testutil.CollectAndCompare(g, strings.NewReader(want), name); err != nil {
			t.Error(err)
		}
	})
}

// Work that is due at the same moment takes turns: a few runs at a time, so that a quiet process needs a few
// connections and not one for each loop. A run that takes long holds up the others for a moment only.
func TestEvery_takesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group(time.Minute)
		child := g.Child(time.Minute)
		var running, most, runs atomic.Int64
		for n := range 12 {
			of := g
			if n%2 == 0 {
				of = child
			}
			of.Every(fmt.Sprint("look ", n), time.Second, func(context.Context) error {
				runs.Add(1)
				defer running.Add(-1)
				now := running.Add(1)
				for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
				}
				time.Sleep(time.Millisecond) // synthetic: a round trip
				return nil
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { done <- child.Run(ctx) }()
		go func() { done <- g.Run(ctx) }()
		time.Sleep(10 * time.Second) // synthetic
		if got := most.Load(); got > 2 {
			t.Errorf("%d runs at a time, want 2 at most", got)
		}
		if got := runs.Load(); got < 12*9 {
			t.Errorf("%d runs in ten seconds, want 108 at least", got)
		}
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// Two runs that never end do not keep other work from running.
func TestEvery_longRunsHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group(time.Minute)
		for n := range 2 {
			g.Every(fmt.Sprint("long ", n), time.Second, func(ctx context.Context) error {
				<-ctx.Done()
				return nil
			})
		}
		var runs atomic.Int64
		g.Every("look", time.Second, func(context.Context) error {
			runs.Add(1)
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.Run(ctx) }()
		time.Sleep(10*time.Second + 500*time.Millisecond) // synthetic
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := runs.Load(); got < 10 {
			t.Errorf("%d runs in ten seconds beside two that do not end, want 10 at least", got)
		}
	})
}

func TestRun_stopsLoopsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		g := group(time.Minute)
		for _, name := range []string{"consumers", "timers", "relay"} {
			g.Go(name, func(ctx context.Context) error {
				<-ctx.Done()
				if g.Ready() == nil {
					t.Error("still ready while stopping")
				}
				time.Sleep(time.Second) // synthetic: the work that drains
				j.note(name)
				return ctx.Err()
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.Run(ctx) }()
		synctest.Wait()
		if err := g.Ready(); err != nil {
			t.Errorf("not ready while running: %v", err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("an asked-for stop returned %v", err)
		}
		if want := []string{"consumers", "timers", "relay"}; !slices.Equal(j.lines, want) {
			t.Errorf("stopped in order %v, want %v", j.lines, want)
		}
	})
}

func TestRun_anEndedLoopStopsTheGroup(t *testing.T) {
	for name, f := range map[string]func(context.Context) error{
		"error": func(context.Context) error { return errors.New("no more") },
		"nil":   func(context.Context) error { return nil },
		"panic": func(context.Context) error { panic("no more") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := group(time.Minute)
				g.Go("steady", func(ctx context.Context) error { <-ctx.Done(); return nil })
				g.Go("relay", f)
				if err := g.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "relay: ") {
					t.Errorf("run returned %v", err)
				}
			})
		})
	}
}

func TestRun_abandonsWhatDoesNotEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group(5 * time.Second)
		release := make(chan struct{})
		g.Go("stuck", func(context.Context) error { <-release; return nil })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		err := g.Run(ctx)
		if err == nil || !strings.Contains(err.Error(), "stuck did not stop within 5s") || time.Since(began) != 5*time.Second {
			t.Errorf("run returned %v after %s", err, time.Since(began))
		}
		close(release)
	})
}

func TestEvery_survivesErrorsAndPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group(time.Minute)
		runs := 0
		g.Every("expire", time.Second, func(context.Context) error {
			runs++
			switch runs {
			case 1:
				return errors.New("database is away")
			case 2:
				panic("bad row")
			default:
				return nil
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.Run(ctx) }()
		time.Sleep(3 * time.Second) // synthetic
		cancel()
		if err := <-done; err != nil || runs != 4 {
			t.Errorf("run returned %v after %d runs", err, runs)
		}
		want := "# HELP lifecycle_failures_total Runs of periodic work that ended in an error.\n" +
			"# TYPE lifecycle_failures_total counter\nlifecycle_failures_total{work=\"expire\"} 2\n"
		if err := testutil.CollectAndCompare(g, strings.NewReader(want), "lifecycle_failures_total"); err != nil {
			t.Error(err)
		}
	})
}

func TestHTTP_finishesRequestsAndKeepsOpsUpToTheEnd(t *testing.T) {
	g := group(10 * time.Second)
	entered, release := make(chan struct{}), make(chan struct{})
	api := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		_, _ = io.WriteString(w, "done")
	})
	ops := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if g.Ready() != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	for name, h := range map[string]http.Handler{"api": api, lifecycle.Ops: ops} {
		if err := g.HTTP(name, "127.0.0.1:0", h); err != nil {
			t.Fatal(err)
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ctx, cancel := context.WithCancel(t.Context())
	opsDuringDrain := make(chan int, 1)
	g.Go("drain", func(ctx context.Context) error {
		<-ctx.Done()
		code, _ := fetch(t, client, "http://"+g.Addr(lifecycle.Ops))
		opsDuringDrain <- code
		return nil
	})
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	answer := make(chan string, 1)
	go func() {
		_, body := fetch(t, client, "http://"+g.Addr("api"))
		answer <- body
	}()
	<-entered
	cancel()
	close(release)
	if err := <-done; err != nil {
		t.Errorf("run returned %v", err)
	}
	if body := <-answer; body != "done" {
		t.Errorf("the request in flight got %q", body)
	}
	if code := <-opsDuringDrain; code != http.StatusServiceUnavailable {
		t.Errorf("ops answered %d during the drain", code)
	}
}

func TestHTTP_takenPortIsAnErrorAtOnce(t *testing.T) {
	g := group(time.Second)
	if err := g.HTTP("api", "127.0.0.1:0", http.NotFoundHandler()); err != nil {
		t.Fatal(err)
	}
	if err := g.HTTP("ops", g.Addr("api"), http.NotFoundHandler()); err == nil || !strings.Contains(err.Error(), "listening for ops") {
		t.Errorf("taken port: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Run(ctx); err != nil {
		t.Error(err)
	}
}

func fetch(t *testing.T, client *http.Client, url string) (int, string) {
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	response, err := client.Do(request)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode, string(body)
}
