package holdings

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// Spent is an output of a deposit or of the refund station that a final block spends in no own transaction.
type Spent struct {
	Network string `json:"network"`
	Place   Place  `json:"place"`
	Address string `json:"address"`
	Output  string `json:"output"` // transaction and number
	Units   string `json:"units"`
	Height  int64  `json:"spentIn"` // block
}

// Elsewhere lists those that no operator has accepted.
type Elsewhere interface {
	SpentElsewhere(ctx context.Context) ([]Spent, error)
}

// ElsewhereGauge counts outputs that were spent elsewhere, until an operator has explained them.
type ElsewhereGauge struct {
	store Elsewhere
	spent *prometheus.GaugeVec
}

// NewElsewhereGauge registers the gauge.
func NewElsewhereGauge(store Elsewhere, registry prometheus.Registerer) *ElsewhereGauge {
	g := &ElsewhereGauge{store, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "wallets_outputs_spent_elsewhere", Help: "Outputs of bitcoin that somebody else has spent, until an operator accepts that (wallets outputs).",
	}, []string{"network", "place"})}
	registry.MustRegister(g.spent)
	return g
}

// Measure counts once.
func (g *ElsewhereGauge) Measure(ctx context.Context) error {
	list, err := g.store.SpentElsewhere(ctx)
	if err != nil {
		return err
	}
	g.spent.Reset()
	for _, place := range []Place{Deposits, RefundStation} {
		g.spent.WithLabelValues("bitcoin", string(place)).Set(0)
	}
	for _, s := range list {
		g.spent.WithLabelValues(s.Network, string(s.Place)).Inc()
	}
	return nil
}
