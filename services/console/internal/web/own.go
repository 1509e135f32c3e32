package web

import (
	"encoding/base64"

	"causeway.internal/services/console/internal/passkey"
)

// OwnPasskey is a passkey of the person who is signed in, as others register it elsewhere; its texts are base64url.
type OwnPasskey struct{ Name, CredentialID, PublicKey string }

// OwnPasskeys lists those of the person.
func (v *Visit) OwnPasskeys() ([]OwnPasskey, error) {
	all, err := v.console.Store.Passkeys(v.Context(), v.Person.ID)
	if err != nil {
		return nil, err
	}
	out := make([]OwnPasskey, 0, len(all))
	for _, one := range all {
		public, err := passkey.Public(one.Credential)
		if err != nil {
			return nil, err
		}
		enc := base64.RawURLEncoding
		out = append(out, OwnPasskey{one.Name, enc.EncodeToString(one.CredentialID), enc.EncodeToString(public)})
	}
	return out, nil
}
