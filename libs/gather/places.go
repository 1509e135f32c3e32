package gather

import "context"

// Places bounds how many calls run at the same time.
type Places chan struct{}

// NewPlaces makes so many places, at least one.
func NewPlaces[N ~int | ~int32](n N) Places { return make(Places, max(1, n)) }

// In runs f once one of the places is free.
func (p Places) In(ctx context.Context, f func() error) error {
	select {
	case p <- struct{}{}:
		defer func() { <-p }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return f()
}
