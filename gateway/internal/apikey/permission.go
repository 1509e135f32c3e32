package apikey

import (
	"slices"
	"strings"
)

// Permission is one right that a key may have (docs/api-contract.md#permissions).
type Permission string

// The permissions.
const (
	PaymentCreate Permission = "payment:create"
	PaymentRead   Permission = "payment:read"
	WalletCreate  Permission = "wallet:create"
	WalletRead    Permission = "wallet:read"
	ReportCreate  Permission = "report:create"
	ReportManage  Permission = "report:manage"
	WebhookManage Permission = "webhook:manage"
	RefundCreate  Permission = "refund:create"

	SettlementManage Permission = "settlement:manage"
	WithdrawalCreate Permission = "withdrawal:create"
	WalletDraw       Permission = "wallet:withdraw"
)

// The permissions of people, which no key can have: with them a stolen key could make itself others
// (docs/decisions/0027-merchants.md).
const (
	KeyManage      Permission = "key:manage"
	MerchantManage Permission = "merchant:manage"
	MerchantCreate Permission = "merchant:create"
)

var personal = []Permission{KeyManage, MerchantManage, MerchantCreate}

var permissions = []Permission{
	PaymentCreate, PaymentRead, WalletCreate, WalletRead, ReportCreate, ReportManage, WebhookManage, RefundCreate, SettlementManage, WithdrawalCreate,
	WalletDraw,
}

// all are the places of permissions in a Set.
var all = slices.Concat(permissions, personal)

// Grantable lists everything that may be granted: each permission, the wildcard of each area, and * for all.
func Grantable() []string {
	out := make([]string, 0, 2*len(permissions))
	for _, p := range permissions {
		out = append(out, string(p))
		if wild := area(p) + ":*"; !slices.Contains(out, wild) {
			out = append(out, wild)
		}
	}
	slices.Sort(out)
	return append(out, "*")
}

func area(p Permission) string {
	before, _, _ := strings.Cut(string(p), ":")
	return before
}

// Set is a compiled list of grants.
type Set uint32

// Compile turns grants into a set. A grant that this version does not know allows nothing.
func Compile(grants []string) Set {
	var s Set
	for i, p := range permissions {
		for _, g := range grants {
			if g == "*" || g == string(p) || g == area(p)+":*" {
				s |= 1 << i
			}
		}
	}
	return s
}

// compilePerson turns the permissions of a person into a set. There are no wildcards.
func compilePerson(names []string) Set {
	var s Set
	for i, p := range all {
		if slices.Contains(names, string(p)) {
			s |= 1 << i
		}
	}
	return s
}

// Allows reports whether the set holds a permission.
func (s Set) Allows(p Permission) bool {
	i := slices.Index(all, p)
	return i >= 0 && s&(1<<i) != 0
}

// List returns the permissions of a set without wildcards, so that services need no rule to read them.
func (s Set) List() []string {
	out := make([]string, 0, len(all))
	for i, p := range all {
		if s&(1<<i) != 0 {
			out = append(out, string(p))
		}
	}
	return out
}
