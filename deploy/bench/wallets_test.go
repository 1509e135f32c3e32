package main

import "testing"

func TestMetric(t *testing.T) {
	out := []byte("goos: linux\nBenchmarkBlock-2   \t     100\t  21760269 ns/op\t  65.61 MB/s\t         3.155 cpu-ms/op\nPASS\n")
	if v, ok := metric(out, "BenchmarkBlock", "cpu-ms/op"); !ok || v != 3.155 {
		t.Errorf("metric cpu-ms/op of BenchmarkBlock: got %v, %v, want 3.155", v, ok)
	}
	for _, wrong := range [][2]string{{"BenchmarkBlo", "cpu-ms/op"}, {"BenchmarkBlock", "MB"}} {
		if v, ok := metric(out, wrong[0], wrong[1]); ok {
			t.Errorf("metric of %v: got %v, want none", wrong, v)
		}
	}
}
