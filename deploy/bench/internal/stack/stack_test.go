package stack

import "testing"

func TestParseStat(t *testing.T) {
	got, ok := parseStat("42 (a (b) c) S 7 42 42 0 -1 4194560 100 0 0 0 150 50 30 20 20 0 1 0 12345 1000 100")
	if !ok || got.parent != 7 || got.own != 2 || got.children != 0.5 {
		t.Errorf("parseStat: got %+v, %v; want the parent 7, 2 s of its own and 0.5 s of its children", got, ok)
	}
	if _, ok := parseStat("42 (x) S 7"); ok {
		t.Error("a short line was read")
	}
}

func TestLiving(t *testing.T) {
	times := map[int]usage{1: {0, 9, 9}, 2: {1, 1, 0.5}, 3: {2, 2, 0}, 4: {9, 5, 5}}
	if sum := living(times, 1); sum != 3.5 {
		t.Errorf("sum %v", sum)
	}
}
