package identity

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"causeway.internal/libs/fault"
)

// Operators find the person of a request's token. An error other than ErrBadToken means that the look-up failed.
type Operators interface {
	Operator(ctx context.Context, token string, ip netip.Addr) (name string, err error)
}

// Static are tokens from the environment. They never expire and are meant for development and tests.
type Static []operator

type operator struct {
	name string
	sum  [sha256.Size]byte
}

const operatorsMax = 64

// ParseOperators reads OPERATOR_TOKENS: comma separated name:hex(SHA-256(token)). An empty text names no operator.
func ParseOperators(text string) (Static, error) {
	var out Static
	if strings.TrimSpace(text) == "" {
		return out, nil
	}
	names := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, digits, _ := strings.Cut(strings.TrimSpace(part), ":")
		sum, err := hex.DecodeString(digits)
		if err != nil || len(sum) != sha256.Size || name == "" || len(name) > 64 {
			return nil, errors.New("operator tokens: want comma separated name:hex of the SHA-256 of the token")
		}
		if names[name] {
			return nil, fmt.Errorf("operator tokens: %s is given twice", name)
		}
		names[name] = true
		out = append(out, operator{name: name, sum: [sha256.Size]byte(sum)})
	}
	if len(out) > operatorsMax {
		return nil, fmt.Errorf("operator tokens: more than %d", operatorsMax)
	}
	return out, nil
}

// The refusals of an operator's token.
var (
	errNoToken  = fault.New(fault.Unauthenticated, "operator_token_missing", "Send an operator token as Authorization: Bearer.")
	ErrBadToken = fault.New(fault.Unauthenticated, "operator_token_invalid", "The operator token is not valid.")
)

// tokenOf reads the token that a request carries.
func tokenOf(h http.Header) (string, error) {
	values := h["Authorization"]
	if len(values) != 1 {
		return "", errNoToken
	}
	token, ok := bearer(values[0])
	if !ok || token == "" {
		return "", errNoToken
	}
	return token, nil
}

// Operator implements Operators. It compares every token in constant time, so that the time reveals nothing.
func (o Static) Operator(_ context.Context, token string, _ netip.Addr) (string, error) {
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range o {
		if subtle.ConstantTimeCompare(sum[:], o[i].sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return "", ErrBadToken
	}
	return o[found].name, nil
}
