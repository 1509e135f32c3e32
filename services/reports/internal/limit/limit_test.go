package limit_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"causeway.internal/services/reports/internal/limit"
)

type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *clock) pass(d time.Duration)    { c.at.Add(int64(d)) }
func started() *clock                    { c := &clock{}; c.at.Store(1_700_000_000_000_000_000); return c }
func take(t *limit.Table, k string) bool { _, ok := t.Take(k); return ok }

func TestTable_burstThenRate(t *testing.T) {
	c := started()
	table := limit.New(5, time.Second, 50, c.now)
	for i := range 50 {
		if !take(table, "a") {
			t.Fatalf("refused number %d of the burst", i+1)
		}
	}
	wait, ok := table.Take("a")
	if ok || wait != 200*time.Millisecond {
		t.Errorf("after the burst: %v, wait %v, want a refusal for 200ms", ok, wait)
	}
	if !take(table, "b") {
		t.Error("another key pays for the first")
	}
	c.pass(wait)
	if !take(table, "a") || take(table, "a") {
		t.Error("want exactly one token back after the wait")
	}
	c.pass(time.Hour)
	n := 0
	for take(table, "a") {
		n++
	}
	if n != 50 {
		t.Errorf("%d tokens after an hour, want the burst and no more", n)
	}
}

// A look-up by two subjects spends a token of each or of none.
func TestTable_allOrNothing(t *testing.T) {
	c := started()
	table := limit.New(1, time.Second, 2, c.now)
	take(table, "spent")
	take(table, "spent")
	if _, ok := table.Take("fresh", "spent"); ok {
		t.Fatal("passed although one key has nothing left")
	}
	left := 0
	for take(table, "fresh") {
		left++
	}
	if left != 2 {
		t.Errorf("the other key has %d tokens left, want both", left)
	}
}

// Guesses: asking costs nothing, only what is found wanting does, and a debt ends.
func TestTable_hasAndSpend(t *testing.T) {
	c := started()
	table := limit.New(30, time.Minute, 30, c.now)
	for range 100 {
		if _, ok := table.Has("ip"); !ok {
			t.Fatal("asking spends")
		}
	}
	for range 1000 {
		table.Spend("ip")
	}
	if _, ok := table.Has("ip"); ok {
		t.Fatal("not refused after a thousand guesses")
	}
	c.pass(62 * time.Second)
	if _, ok := table.Has("ip"); !ok {
		t.Error("still refused after twice the window")
	}
}

func TestTable_off(t *testing.T) {
	table := limit.New(0, time.Second, 50, time.Now)
	for range 1000 {
		if !take(table, "a") {
			t.Fatal("a table without a rate refuses")
		}
		table.Spend("a")
	}
}

// Three hundred thousand keys use the memory of one, and the key beyond its budget is remembered among them.
func TestTable_boundedMemory(t *testing.T) {
	c := started()
	table := limit.New(5, time.Second, 50, c.now)
	for take(table, "busy") {
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 300_000 {
		take(table, fmt.Sprint(i))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if take(table, "busy") {
		t.Error("the busy key was forgotten among all the others")
	}
}

func TestTable_parallel(t *testing.T) {
	c := started()
	table := limit.New(1, time.Hour, 100, c.now)
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if _, ok := table.Has("k"); ok {
					table.Spend("k")
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := passed.Load(); n < 100 || n > 107 {
		t.Errorf("%d passed, want 100 and at most one more for every other caller at the same moment", n)
	}
}
