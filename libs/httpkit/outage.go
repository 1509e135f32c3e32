package httpkit

import (
	"errors"
	"io"
	"net"
	"slices"

	"causeway.internal/libs/fault"
)

// errOutage is the answer while a dependency of the service is away. Waiting cures it, and the key makes a retry safe.
var errOutage = fault.New(fault.Unavailable, "service_unavailable", "The service is not available right now. Try again with the same Idempotency-Key.")

// outage turns an error that means an unavailable database into a 503; every other error stays as it is. It recognises
// a database driver's errors by SQLSTATE: class 08 is a broken connection, 28 a refused log-in, as while a password
// changes, 53 a lack of resources, and 57P01 to 57P03 a server that stops, has crashed or starts.
func outage(err error) error {
	if _, told := errors.AsType[*fault.Error](err); told {
		return err
	}
	if state, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		code := state.SQLState()
		if len(code) == 5 && (slices.Contains([]string{"08", "28", "53"}, code[:2]) || slices.Contains([]string{"57P01", "57P02", "57P03"}, code)) {
			return errOutage.Because(err)
		}
		return err
	}
	// A driver says so of a statement that it did not send, because its connection was lost before.
	if unsent, ok := errors.AsType[interface {
		error
		SafeToRetry() bool
	}](err); ok && unsent.SafeToRetry() {
		return errOutage.Because(err)
	}
	if _, broken := errors.AsType[net.Error](err); broken || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return errOutage.Because(err)
	}
	return err
}
