package httpkit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"causeway.internal/libs/nonce"
)

type identityKey struct{}

// Verified serves a handler that is no endpoint, such as pages, to the gateway alone. It verifies the identity of a
// request as Server does, with its body and nonce. The handler finds the identity by IdentityOf, and the body to read.
func Verified(log *slog.Logger, v Verifier, next http.Handler) http.Handler {
	nonces := nonce.NewMemory(identityLife)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := v.Verify(r)
		if err == nil && !id.bound() {
			err = errIdentityUnbound
		}
		if err != nil {
			refuseIdentity(log, w, r, err)
			return
		}
		raw, err := readBody(r)
		if err != nil {
			WriteError(w, id.RequestID, err)
			return
		}
		sum := sha256.Sum256(raw)
		switch {
		case !bytes.Equal(sum[:], id.BodyHash):
			err = errIdentityBody
		case !nonces.First(id.Nonce, v.Now()):
			err = errIdentityUsed
		}
		if err != nil {
			refuseIdentity(log, w, r, err)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), identityKey{}, id))
		r.Body = io.NopCloser(bytes.NewReader(raw))
		next.ServeHTTP(w, r)
	})
}

func refuseIdentity(log *slog.Logger, w http.ResponseWriter, r *http.Request, why error) {
	level := slog.LevelWarn
	if errors.Is(why, errIdentityMissing) {
		level = slog.LevelInfo
	}
	log.Log(r.Context(), level, "identity refused", "reason", why.Error())
	WriteError(w, r.Header.Get(RequestIDHeader), errNotGateway)
}

// IdentityOf returns the identity of a request that Verified has let pass.
func IdentityOf(ctx context.Context) Identity {
	id, _ := ctx.Value(identityKey{}).(Identity) // the zero value outside of Verified
	return id
}
