// Package people says who the users of a console are, which roles they have, and what each role allows. It does no I/O.
//
// A person sees a page if their role has the page's permission (Page.Permission in package web). The assertion for the
// gateway has the same permissions (libs/person), so the gateway refuses the calls of a hidden page.
package people

import (
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Door is the entrance that a console serves.
type Door string

// The doors. Each is a deployment with a database and keys of its own.
const (
	Merchants Door = "merchant"
	Operators Door = "operator"
)

// Permission is one right of a person. The merchants' door has the permissions of the gateway
// (docs/api-contract.md#permissions), and a few that only people have.
type Permission string

// The permissions of the merchants' door.
const (
	PaymentCreate    Permission = "payment:create"
	PaymentRead      Permission = "payment:read"
	WalletCreate     Permission = "wallet:create"
	WalletRead       Permission = "wallet:read"
	WalletDraw       Permission = "wallet:withdraw"
	ReportCreate     Permission = "report:create"
	ReportManage     Permission = "report:manage"
	WebhookManage    Permission = "webhook:manage"
	RefundCreate     Permission = "refund:create"
	SettlementManage Permission = "settlement:manage"
	WithdrawalCreate Permission = "withdrawal:create"

	KeyManage      Permission = "key:manage"      // people only
	MerchantManage Permission = "merchant:manage" // people only
	MerchantCreate Permission = "merchant:create" // to register a merchant, once
	TeamManage     Permission = "team:manage"     // known to the console alone
)

// The permissions of the operators' door, known to the console alone: the gateway admits an operator, and the service
// that acts demands the operator's own passkey.
const (
	OperatorRead Permission = "operator:read"
	OperatorAct  Permission = "operator:act"
)

// Role is the role of a person at a merchant, or among the operators.
type Role string

// The roles.
const (
	Owner     Role = "owner"
	Developer Role = "developer"
	Finance   Role = "finance"
	Support   Role = "support"
	ReadOnly  Role = "read_only"

	Operator Role = "operator"
	Approver Role = "approver"
	Auditor  Role = "auditor"
)

// Roles lists the roles of a door, the strongest first.
func Roles(d Door) []Role {
	if d == Operators {
		return []Role{Operator, Approver, Auditor}
	}
	return []Role{Owner, Developer, Finance, Support, ReadOnly}
}

var grants = map[Role][]Permission{
	Owner: {
		PaymentCreate, PaymentRead, WalletCreate, WalletRead, WalletDraw, ReportCreate, ReportManage, WebhookManage, RefundCreate, SettlementManage,
		WithdrawalCreate, KeyManage, MerchantManage, TeamManage,
	},
	Developer: {PaymentCreate, PaymentRead, WalletCreate, WalletRead, WebhookManage, KeyManage},
	Finance:   {PaymentRead, WalletRead, WalletDraw, RefundCreate, SettlementManage, WithdrawalCreate, ReportCreate},
	Support:   {PaymentCreate, PaymentRead, RefundCreate, ReportCreate, ReportManage},
	ReadOnly:  {PaymentRead, WalletRead},

	Operator: {OperatorRead, OperatorAct, TeamManage},
	Approver: {OperatorRead, OperatorAct},
	Auditor:  {OperatorRead},
}

// Permissions lists the permissions of a role.
func (r Role) Permissions() []Permission { return grants[r] }

// Allows reports whether a role has a permission; every role has "".
func (r Role) Allows(p Permission) bool { return p == "" || slices.Contains(grants[r], p) }

// local are the permissions that only the console knows.
var local = []Permission{TeamManage, OperatorRead, OperatorAct}

// Assertable lists the permissions of a role that an assertion names.
func (r Role) Assertable() []string {
	var out []string
	for _, p := range grants[r] {
		if !slices.Contains(local, p) {
			out = append(out, string(p))
		}
	}
	return out
}

// Person is somebody who may sign in.
type Person struct {
	ID          string
	Login       string // an e-mail address, or an operator's name such as ada.obi
	Name        string
	Locale      string // language of the pages; "" is the browser's
	Handle      []byte // by which a passkey names its owner
	HasPassword bool
	HasTOTP     bool
	Passkeys    int
	Codes       int // recovery codes that are left
	CreatedAt   time.Time
	Disabled    bool
}

// Secured reports whether the person can sign in again.
func (p Person) Secured() bool { return p.Passkeys > 0 || p.HasPassword && p.HasTOTP }

// Called is the name to show.
func (p Person) Called() string {
	if p.Name != "" {
		return p.Name
	}
	return p.Login
}

// Membership is a person's role with one merchant. MerchantID is "" among operators.
type Membership struct {
	PersonID     string
	MerchantID   string
	MerchantName string
	Role         Role
	CreatedAt    time.Time
}

// Shown is the name of the merchant to show.
func (m Membership) Shown() string {
	if m.MerchantName != "" {
		return m.MerchantName
	}
	return m.MerchantID
}

// Purpose is the effect of a one-time link.
type Purpose string

// The purposes.
const (
	SignIn   Purpose = "sign_in"  // signs its person in; only the command line makes it
	Join     Purpose = "join"     // adds a membership: an invitation
	Register Purpose = "register" // proves an address, for one who registers a merchant
)

// Link is a one-time link without its secret.
type Link struct {
	ID           int64
	Purpose      Purpose
	Login        string
	MerchantID   string
	MerchantName string
	Role         Role
	CreatedBy    string
	CreatedAt    time.Time
	ExpiresAt    time.Time
}

const (
	loginMax = 254
	// NameMax bounds the name of a person or a merchant, in characters.
	NameMax = 100
)

var operatorName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}(\.[a-z][a-z0-9-]{0,30}){0,3}$`)

// The lengths of an operator's name that the gateway takes.
const (
	operatorLeast = 2
	operatorMost  = 63
)

// Login reads the login of a door into its stored form, and reports whether the text is one.
func Login(d Door, typed string) (string, bool) {
	typed = strings.ToLower(strings.TrimSpace(typed))
	if d == Operators {
		return typed, operatorName.MatchString(typed) && len(typed) >= operatorLeast && len(typed) <= operatorMost
	}
	if strings.ContainsFunc(typed, func(r rune) bool { return r <= ' ' || r > '~' }) { // no assertion carries it
		return typed, false
	}
	at, err := mail.ParseAddress(typed)
	if err != nil || at.Address != typed || len(typed) > loginMax || !strings.Contains(typed[strings.LastIndexByte(typed, '@'):], ".") {
		return typed, false
	}
	return typed, true
}

// Name reads the name of a person or a merchant: one line of text.
func Name(typed string) (string, bool) {
	name := strings.Join(strings.Fields(typed), " ")
	n := utf8.RuneCountInString(name)
	return name, utf8.ValidString(name) && n > 0 && n <= NameMax && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// The lengths of a password. The shorter bound is NIST's for a password beside a second factor; composition rules do
// not make passwords better (SP 800-63B).
const (
	PasswordMin = 12
	PasswordMax = 128
)

// PasswordProblem names the rule that a password breaks, "" where it breaks none.
func PasswordProblem(password, login, name string) string {
	n := utf8.RuneCountInString(password)
	switch {
	case n < PasswordMin:
		return "short"
	case n > PasswordMax || !utf8.ValidString(password):
		return "long"
	}
	lower := strings.ToLower(password)
	local, _, _ := strings.Cut(login, "@")
	for _, known := range []string{local, strings.ToLower(name), "causeway"} {
		if len(known) >= 4 && strings.Contains(lower, known) && n < PasswordMin+len(known) {
			return "guessable"
		}
	}
	distinct := map[rune]bool{}
	for _, r := range lower {
		distinct[r] = true
	}
	if len(distinct) < 5 {
		return "guessable"
	}
	return ""
}
