package httpkit

import (
	"errors"
	"io"
	"net"
	"slices"

	"causeway.internal/libs/fault"
)

// errOutage is what a caller is told while something behind the service is away: waiting cures it, and the key makes trying
// again safe.
var errOutage = fault.New(fault.Unavailable, "service_unavailable", "The service is not available right now. Try again with the same Idempotency-Key.")

// outage turns an error that only says that the database is away into the 503 that it is; everything else stays as it is. A
// database driver's errors are known by their SQLSTATE alone: class 08 is a broken connection, 28 a refused log-in, as while a
// password is changed, 53 a lack of resources, and 57P01 to 57P03 a server that stops, has crashed or starts.
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
	if _, broken := errors.AsType[net.Error](err); broken || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return errOutage.Because(err)
	}
	return err
}
