package approval_test

import (
	"errors"
	"testing"

	"causeway.internal/libs/approval"
)

func TestConfirms(t *testing.T) {
	open := approval.Request{Object: "pay_1", Version: 3, Action: "accept", Digest: []byte("d"), Operator: "ada", Reason: "checked"}
	with := func(change func(*approval.Request)) approval.Request {
		by := open
		by.Operator = "bob"
		change(&by)
		return by
	}
	for name, c := range map[string]struct {
		by        approval.Request
		confirmed bool
		err       error
	}{
		"another person, the same":    {with(func(*approval.Request) {}), true, nil},
		"the same person":             {open, false, approval.ErrSamePerson},
		"the same person, in capital": {with(func(r *approval.Request) { r.Operator = "ADA" }), false, approval.ErrSamePerson},
		"another order":               {with(func(r *approval.Request) { r.Digest = []byte("e") }), false, nil},
		"another action":              {with(func(r *approval.Request) { r.Action = "retry" }), false, nil},
		"the object changed":          {with(func(r *approval.Request) { r.Version = 4 }), false, approval.ErrOutdated},
		"the object and order changed": {with(func(r *approval.Request) {
			r.Version, r.Digest = 4, []byte("e")
		}), false, approval.ErrOutdated},
		"the same person asks anew": {with(func(r *approval.Request) { r.Operator, r.Version = "ada", 4 }), false, nil},
	} {
		confirmed, err := c.by.Confirms(&open)
		if confirmed != c.confirmed || !errors.Is(err, c.err) {
			t.Errorf("%s: got confirmed %t, %v; want %t, %v", name, confirmed, err, c.confirmed, c.err)
		}
	}
	if confirmed, err := open.Confirms(nil); confirmed || err != nil {
		t.Errorf("without an open request: %t, %v", confirmed, err)
	}
	if got := open.Joined(""); got != "(asked for by ada: checked)" {
		t.Errorf("reasons %q", got)
	}
}
