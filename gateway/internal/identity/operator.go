package identity

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"causeway.internal/libs/fault"
)

// Operators are the tokens that may call /v1/admin, each with the name that the audit shows.
type Operators []operator

type operator struct {
	name string
	sum  [sha256.Size]byte
}

const operatorsMax = 64

// ParseOperators reads OPERATOR_TOKENS: comma separated name:hex(SHA-256(token)). An empty text is nobody.
func ParseOperators(text string) (Operators, error) {
	var out Operators
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
			return nil, fmt.Errorf("operator tokens: %s is there twice", name)
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
	errBadToken = fault.New(fault.Unauthenticated, "operator_token_invalid", "The operator token is not valid.")
)

// find returns the name of the token that a request carries. Every token is compared, each in constant time, so that
// the time taken tells nothing.
func (o Operators) find(h http.Header) (string, error) {
	values := h["Authorization"]
	if len(values) != 1 {
		return "", errNoToken
	}
	token, ok := bearer(values[0])
	if !ok || token == "" {
		return "", errNoToken
	}
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range o {
		if subtle.ConstantTimeCompare(sum[:], o[i].sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return "", errBadToken
	}
	return o[found].name, nil
}
