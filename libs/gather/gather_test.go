package gather

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// crowdOf holds up a first call, makes the others wait behind it, and returns their answers as texts.
func crowdOf(t *testing.T, unsure bool, answer func(in []int) ([]int, error), calls ...int) (answers []string, statements [][]int) {
	t.Helper()
	begun, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var mu sync.Mutex
	g := &Calls[int, int]{Once: unsure}
	g.All = func(_ context.Context, in []int) ([]int, error) {
		once.Do(func() {
			close(begun)
			<-release
		})
		mu.Lock()
		defer mu.Unlock()
		statements = append(statements, slices.Clone(in))
		return answer(in)
	}
	var callers sync.WaitGroup
	callers.Go(func() {
		if _, err := g.Ask(t.Context(), 0); err != nil {
			t.Error(err)
		}
	})
	<-begun
	answers = make([]string, len(calls))
	for i, c := range calls {
		callers.Go(func() {
			out, err := g.Ask(t.Context(), c)
			answers[i] = fmt.Sprint(out, " ", err)
		})
		for waits := 0; waits <= i; { // so that they come in order
			waits = g.Waiting()
		}
	}
	close(release)
	callers.Wait()
	return answers, statements
}

func doubled(in []int) ([]int, error) {
	out := make([]int, len(in))
	for i, n := range in {
		out[i] = 2 * n
	}
	return out, nil
}

// Calls that come while one is under way share the next statement, and each has its own answer.
func TestCalls_sharesAStatement(t *testing.T) {
	t.Parallel()
	answers, statements := crowdOf(t, false, doubled, 1, 2, 3)
	if want := []string{"2 <nil>", "4 <nil>", "6 <nil>"}; !slices.Equal(answers, want) {
		t.Errorf("answers = %q, want %q", answers, want)
	}
	if got, want := fmt.Sprint(statements), "[[0] [1 2 3]]"; got != want {
		t.Errorf("statements = %s, want %s", got, want)
	}
}

// A call fails for its own reasons only, also when the program panics.
func TestCalls_failingMember(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"an error": func() error { return errors.New("broken") },
		"a panic":  func() error { panic("broken") },
	} {
		answers, statements := crowdOf(t, false, func(in []int) ([]int, error) {
			if slices.Contains(in, 2) {
				return nil, fail()
			}
			return doubled(in)
		}, 1, 2, 3)
		if answers[0] != "2 <nil>" || answers[2] != "6 <nil>" || answers[1] != "0 broken" && answers[1] != "0 panic: broken" {
			t.Errorf("%s: answers = %q, want that the second fails alone", name, answers)
		}
		slices.SortFunc(statements[2:], slices.Compare) // callers make their calls again at the same time
		if got, want := fmt.Sprint(statements), "[[0] [1 2 3] [1] [2] [3]]"; got != want {
			t.Errorf("%s: statements = %s, want %s", name, got, want)
		}
	}
}

// After an error of statements that write nobody knows what was written, so no call is made again.
func TestCalls_once(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"an error": func() error { return errors.New("broken") },
		"a panic":  func() error { panic("broken") },
	} {
		answers, statements := crowdOf(t, true, func(in []int) ([]int, error) {
			if slices.Contains(in, 2) {
				return nil, fail()
			}
			return doubled(in)
		}, 1, 2, 3)
		for i, a := range answers {
			if a != "0 broken" && a != "0 panic: broken" {
				t.Errorf("%s: answer %d = %q, want the error", name, i, a)
			}
		}
		if got, want := fmt.Sprint(statements), "[[0] [1 2 3]]"; got != want {
			t.Errorf("%s: statements = %s, want %s", name, got, want)
		}
	}
}

// A caller whose time has ended does not wait for the others, and a call that still waited then is not made.
func TestCalls_ended(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var made []int
	g := &Calls[int, int]{All: func(_ context.Context, in []int) ([]int, error) {
		once.Do(func() {
			close(begun)
			<-release
		})
		made = append(made, in...)
		return doubled(in)
	}}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := g.Ask(ctx, 1)
		failed <- err
	}()
	<-begun
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("ask = %v, want that the caller ended", err)
	}
	if _, err := g.Ask(ctx, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("ask of a caller that has ended = %v, want that it ended", err)
	}
	last := make(chan error)
	go func() {
		_, err := g.Ask(t.Context(), 3)
		last <- err
	}()
	close(release)
	if err := <-last; err != nil {
		t.Errorf("ask = %v, want no error", err)
	}
	if !slices.Equal(made, []int{1, 3}) {
		t.Errorf("calls that were made = %v, want those of 1 and 3", made)
	}
}

// A look-up that takes longer than its time is made again for as long as its caller likes, also when it came alone.
func TestCalls_slow(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	g := &Calls[int, int]{Within: time.Millisecond, All: func(ctx context.Context, in []int) ([]int, error) {
		if calls.Add(1) == 1 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return doubled(in)
	}}
	if out, err := g.Ask(t.Context(), 1); err != nil || out != 2 || calls.Load() != 2 {
		t.Errorf("ask = %d, %v after %d calls, want 2 after 2", out, err, calls.Load())
	}
	g.Once, g.All = true, func(ctx context.Context, _ []int) ([]int, error) {
		calls.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if _, err := g.Ask(t.Context(), 1); !errors.Is(err, context.DeadlineExceeded) || calls.Load() != 3 {
		t.Errorf("ask of a write = %v after %d calls, want that its time has ended after 3", err, calls.Load())
	}
}
