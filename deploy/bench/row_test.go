package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRun_takesTurnsAndJudgesByTheMedian(t *testing.T) {
	var order []string
	ours := []float64{0, 30, 50, 40} // the first is the warm-up
	fake := row{name: "fake", target: 0.4, prepare: func(context.Context, *bench) (measure, error) {
		return measure{
			ours: func(context.Context, time.Duration) (side, error) {
				order = append(order, "o")
				s := side{PerSec: ours[0]}
				ours = ours[1:]
				return s, nil
			},
			yardstick: func(context.Context, time.Duration) (side, error) {
				order = append(order, "y")
				return side{PerSec: 100}, nil
			},
			close: func(context.Context) error { order = append(order, "close"); return nil },
		}, nil
	}}
	b := &bench{say: func(string, ...any) {}}
	res, err := b.run(t.Context(), fake, 3, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if res.Ratio != 0.4 || res.Least != 0.3 || res.Most != 0.5 || !res.Met {
		t.Errorf("result %+v", res)
	}
	if want := strings.Fields("o y o y y o o y close"); !slices.Equal(order, want) {
		t.Errorf("order %v", order)
	}
}

func TestCosts(t *testing.T) {
	per := costs(map[string]float64{"gateway": 1, "idle": 2}, map[string]float64{"gateway": 1.5, "idle": 2, "new": 0.1}, 1000)
	if len(per) != 2 || per["gateway"] != 0.5 || per["new"] != 0.1 {
		t.Errorf("costs %v", per)
	}
}
