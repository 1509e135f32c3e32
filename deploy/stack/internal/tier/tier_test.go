package tier

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReader_countsAndPrintsWhatFails(t *testing.T) {
	const events = `{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestGood"}
{"Action":"output","Package":"a","Test":"TestGood","Output":"quiet\n"}
{"Action":"pass","Package":"a","Test":"TestGood"}
{"Action":"output","Package":"a","Output":"ok  \ta\t0.1s\n"}
{"Action":"pass","Package":"a"}
{"Action":"output","Package":"b","Test":"TestBad","Output":"loud\n"}
{"Action":"fail","Package":"b","Test":"TestBad"}
{"Action":"output","Package":"b","Test":"TestLater","Output":"not today\n"}
{"Action":"skip","Package":"b","Test":"TestLater"}
{"Action":"output","Package":"b","Output":"FAIL\tb\t0.1s\n"}
{"Action":"fail","Package":"b"}
{"ImportPath":"c [c.test]","Action":"build-output","Output":"c.go:1: broken\n"}
{"Action":"fail","Package":"c","FailedBuild":"c [c.test]"}
{"Action":"output","Package":"d","Output":"?   \td\t[no test files]\n"}
{"Action":"skip","Package":"d"}
not json
`
	var out strings.Builder
	r := newReader(&out)
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	got := r.result
	if got.Packages != 3 || got.Passed != 1 || strings.Join(got.Failed, " ") != "b.TestBad b c" || strings.Join(got.Skipped, " ") != "b.TestLater" {
		t.Errorf("result %+v", got)
	}
	want := "ok  \ta\t0.1s\nloud\nnot today\nFAIL\tb\t0.1s\nc.go:1: broken\nnot json\n"
	if out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestResult_line(t *testing.T) {
	r := Result{Name: "pure", Budget: time.Minute, Took: 90 * time.Second, Packages: 2, Passed: 5}
	if got := r.Line(); !strings.HasPrefix(got, "ok ") || !strings.Contains(got, "over it by 30s") {
		t.Errorf("line %q", got)
	}
	r.Skipped = []string{"x"}
	if r.OK() || !strings.HasPrefix(r.Line(), "FAIL") {
		t.Errorf("a skipped test passes: %q", r.Line())
	}
}

func TestReader_slowest(t *testing.T) {
	var events strings.Builder
	for i, seconds := range []float64{0.1, 7, 0.2, 3, 0.3, 5, 0.4} {
		fmt.Fprintf(&events, `{"Action":"pass","Package":"a","Test":"Test%d","Elapsed":%g}`+"\n", i, seconds)
		fmt.Fprintf(&events, `{"Action":"pass","Package":"a","Test":"Test%d/part","Elapsed":9}`+"\n", i)
	}
	r := newReader(io.Discard)
	if err := r.read(strings.NewReader(events.String())); err != nil {
		t.Fatal(err)
	}
	want := []Timed{
		{"a.Test1", 7 * time.Second},
		{"a.Test5", 5 * time.Second},
		{"a.Test3", 3 * time.Second},
		{"a.Test6", 400 * time.Millisecond},
		{"a.Test4", 300 * time.Millisecond},
	}
	if !slices.Equal(r.result.Slowest, want) {
		t.Errorf("the slowest tests are %v, want %v", r.result.Slowest, want)
	}
}
