// Package deposit logs and measures what the store records about deposits.
package deposit

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/money"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/wallet"
)

// Observer receives deposits from the store, perhaps twice.
type Observer struct {
	log    *slog.Logger
	strays *prometheus.CounterVec
	lag    *prometheus.HistogramVec
}

// NewObserver registers the measures.
func NewObserver(registry prometheus.Registerer, log *slog.Logger) *Observer {
	o := &Observer{
		log: log,
		strays: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wallets_stray_deposits_total",
			Help: "Deposits on standalone wallets of another crypto or on another network than theirs.",
		}, []string{"mode", "network", "asset"}),
		lag: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "wallets_deposit_lag_seconds", Help: "From the time of a deposit's block to when it was first seen.",
			Buckets: []float64{.25, .5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300, 900, 3600},
		}, []string{"mode", "network"}),
	}
	registry.MustRegister(o.strays, o.lag)
	for _, mode := range tenant.Modes() { // 0 from the start: the objective of detection sees the first deposit
		for _, n := range money.Networks() {
			o.lag.WithLabelValues(string(mode), n.Name)
		}
	}
	return o
}

// Found measures the time until a deposit was seen.
func (o *Observer) Found(d wallet.Deposit) {
	o.lag.WithLabelValues(string(d.Mode), d.Network).Observe(max(0, d.FirstSeenAt.Sub(d.BlockTime).Seconds()))
}

// Changed logs every version of a deposit, in the trace of its address's payment.
func (o *Observer) Changed(ctx context.Context, d wallet.Deposit) {
	o.log.InfoContext(telemetry.At(ctx, d.Trace), "deposit changed", "deposit", d.Key(), "mode", d.Mode, "state", d.State,
		"version", d.Version, "depth", d.Depth, "asset", d.Asset, "wallet_id", d.WalletID)
}

// Strayed reports a deposit to a standalone wallet in another crypto or on another network than the wallet's.
func (o *Observer) Strayed(ctx context.Context, w wallet.Wallet, d wallet.Deposit) {
	o.strays.WithLabelValues(string(d.Mode), d.Network, d.Asset).Inc()
	ctx = telemetry.With(telemetry.At(ctx, w.Trace), telemetry.MerchantID, w.MerchantID, "wallet_id", w.ID)
	o.log.WarnContext(ctx, "deposit of unexpected asset on wallet", "deposit", d.Key(), "asset", d.Asset,
		"network", d.Network, "wallet_crypto", w.Crypto, "wallet_network", w.Network)
}
