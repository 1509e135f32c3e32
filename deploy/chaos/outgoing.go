package main

import (
	"context"

	"causeway.internal/deploy/chaos/internal/latch"
)

// outSteps are rows of withdrawals of balances, of withdrawals from wallets, of stray money and of refunds.
var outSteps = []latch.Step{
	{Name: "withdrawal made", Database: "payments", Event: "AFTER INSERT ON withdrawals"},
	{Name: "withdrawal sending", Database: "payments", Event: "AFTER UPDATE ON withdrawals", When: "NEW.state = 'sending' AND OLD.state <> 'sending'"},
	{Name: "withdrawal ended", Database: "payments", Event: "AFTER UPDATE ON withdrawals", When: "NEW.ended_at IS NOT NULL AND OLD.ended_at IS NULL"},
	{Name: "wallets' withdrawal made", Database: "payments", Event: "AFTER INSERT ON draws"},
	{Name: "wallets' withdrawal taken", Database: "wallets", Event: "AFTER INSERT ON refunds", When: "NEW.kind = 'withdrawal'"},
	{Name: "wallets' withdrawal ended", Database: "payments", Event: "AFTER UPDATE ON draws", When: "NEW.ended_at IS NOT NULL AND OLD.ended_at IS NULL"},
	{Name: "stray money adopted", Database: "payments", Event: "AFTER INSERT ON payments", When: "NEW.type = 'stray'"},
	{Name: "refund made", Database: "payments", Event: "AFTER INSERT ON refunds"},
}

// asked are the steps that a request takes; the others are taken by workers.
var asked = map[string]bool{
	"withdrawal made": true, "wallets' withdrawal made": true, "stray money adopted": true, "refund made": true,
}

// outStep ends every replica of what takes a step of outgoing money, when a row of it is held, or has just been let
// through.
func outStep(ctx context.Context, f *field) error {
	if err := f.latches(ctx); err != nil {
		return err
	}
	i, after := f.random.IntN(len(outSteps)), f.random.IntN(2) == 0
	step := outSteps[i]
	names := f.workers(step.Database)
	if serving := f.stack.Replicas(step.Database + "-serve"); asked[step.Name] && len(serving) > 0 {
		names = serving
	}
	return f.killAt(ctx, len(latched)-len(outSteps)+i, after, names)
}
