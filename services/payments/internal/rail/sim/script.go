package sim

import "context"

// Script is SetOutcome by the outcome's name, for callers that know no more of a rail than that it can be told what to
// do.
func (r *Rail) Script(ctx context.Context, ref, outcome string) error {
	return r.SetOutcome(ctx, ref, Outcome(outcome))
}
