package web

import (
	"encoding/base64"
	"slices"

	"causeway.internal/services/console/internal/passkey"
	"causeway.internal/services/console/internal/people"
)

// OwnPasskey is a passkey of the person who is signed in, in the form in which operators register it at the gateway;
// its texts are base64url.
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

// Called stores the API's name of the person's merchant, for the pages of all its people.
func (v *Visit) Called(name string) error {
	if name == "" || name == v.Member.MerchantName {
		return nil
	}
	v.Member.MerchantName = name
	i := slices.IndexFunc(v.Memberships, func(m people.Membership) bool { return m.MerchantID == v.Member.MerchantID })
	v.Memberships[i].MerchantName = name
	return v.console.Store.NameMerchant(v.Context(), v.Member.MerchantID, name)
}
