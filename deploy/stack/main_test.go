package main

import (
	"io"
	"testing"
)

func TestParse_redundantServers(t *testing.T) {
	t.Parallel()
	if a, err := parse("exec", []string{"--standby", "--cluster", "--private"}, io.Discard); err != nil || !a.standby || !a.cluster {
		t.Errorf("parse both flags: got %+v, %v", a, err)
	}
	for _, args := range [][]string{{"--standby", "--keep"}, {"--cluster", "--keep"}, {"--standby", "--toxic"}} {
		if _, err := parse("up", args, io.Discard); err == nil {
			t.Errorf("%v are accepted together", args)
		}
	}
}
