package sim

import "context"

// Script is SetOutcome with the outcome's name, for callers that know a rail only as scriptable.
func (r *Rail) Script(ctx context.Context, ref, outcome string) error {
	return r.SetOutcome(ctx, ref, Outcome(outcome))
}
