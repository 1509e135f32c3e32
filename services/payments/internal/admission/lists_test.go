package admission_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
)

// A list that cannot be read hides no other: a pause that an operator has just set counts while an outage of test mode
// cannot be read.
func TestCopies_oneListFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("a row cannot be read")
	pauses := admission.NewPauses(func(context.Context) ([]admission.Pause, error) {
		return []admission.Pause{{What: admission.PauseQuotes}}, nil
	})
	copies := admission.Copies{
		Pauses:  pauses,
		Terms:   admission.NewTerms(func(context.Context) ([]admission.Term, error) { return nil, nil }),
		Scans:   admission.NewScans(func(context.Context) ([]admission.Scan, error) { return nil, nil }, time.Minute, func(tenant.Mode, string, bool) {}, slog.New(slog.DiscardHandler)),
		Outages: admission.NewOutages(func(context.Context) ([]admission.Outage, error) { return nil, broken }),
	}
	err := copies.Load(t.Context(), func(context.Context) (admission.Lists, error) { return admission.Lists{}, broken })
	if !errors.Is(err, broken) {
		t.Errorf("loading returned %v, want the error of the list", err)
	}
	if pauses.Quotes("NGN", "tron", "mer_1") == nil {
		t.Error("the pause is not seen")
	}
}
