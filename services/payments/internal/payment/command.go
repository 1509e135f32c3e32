package payment

import (
	"errors"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/quote"
)

// The texts of docs/api-contract.md#fixed-texts.
const (
	TextFulfilled        = "Request fulfilled successfully"
	TextClaimed          = "Gift claimed successfully. Payout is being processed."
	TextNotGift          = "Payment is not a gift"
	TextNotRequest       = "Payment is not a request"
	TextAlreadyClaimed   = "Gift has already been claimed"
	TextAlreadyFulfilled = "Request has already been fulfilled"
)

// Bounds of the fields of a create, in characters or bytes.
const (
	maxChatID   = 128
	maxPhone    = 32
	maxBankRef  = 100
	maxOrder    = 64  // merchantReference
	maxText     = 255 // description
	maxLocale   = 35
	maxURL      = 2048
	maxMetadata = 8 << 10 // bytes, so that an event stays below 20 kB
	maxCallback = 2048
	maxCoin     = 8 // fractional digits of cryptoAmount
)

// Command is the decoded, unchecked body of POST /v1/payments. A pointer is nil, and a string empty, when the field was
// not supplied (null and "" count as not supplied).
type Command struct {
	Type         string
	FiatAmount   *decimal.Decimal
	CryptoAmount *decimal.Decimal
	FiatCurrency string
	Crypto       string
	Network      string
	ChargeFrom   string
	Payer        *PayerInput
	Receiver     *ReceiverInput
	BankRef      string
	Metadata     []byte // raw JSON object, nil when not supplied
	CallbackURL  string
	Shop         Shop
}

// Shop is how a payment belongs to the merchant's own shop: its name there, the words for the payer, the language of
// the page, and the page of the shop to which the payer goes back. All of it may be empty.
type Shop struct {
	MerchantReference string // unique among the payments of the merchant and mode that have not ended without money
	Description       string
	Locale            string // a language tag
	ReturnURL         string
}

// PayerInput is the payer in a request.
type PayerInput struct{ ChatID, Phone string }

// ReceiverInput is the receiver in a request. Names that a client sends are ignored.
type ReceiverInput struct{ BankCode, AccountNumber string }

// Terms is a checked command. Ask is complete except for a request, which is priced at fulfil.
type Terms struct {
	Type        Type
	Ask         quote.Ask
	NetworkName string // as the caller wrote it, in lower case
	Payer       Payer
	Receiver    Receiver // without names, which the bank's lookup adds
	Preferred   Preference
	BankRef     string
	Metadata    []byte
	CallbackURL string
	Shop        Shop
}

// Draft fills the fields of a payment that the terms contain. The caller adds ids, merchant, key, mode, rail, quote,
// address and the receiver's names.
func (t Terms) Draft() Payment {
	return Payment{
		Type: t.Type, Currency: t.Ask.Currency, FiatAmount: t.Ask.FiatAmount, ChargeFrom: t.Ask.ChargeFrom, NetworkName: t.NetworkName,
		Payer: t.Payer, Receiver: t.Receiver, Preferred: t.Preferred, BankRef: t.BankRef, Metadata: t.Metadata, CallbackURL: t.CallbackURL,
		Shop: t.Shop,
	}
}

// UnsupportedPair is the code of an unknown crypto or network, or of a crypto that its network does not have.
const UnsupportedPair = "unsupported_pair"

// checker collects problems. A special problem has its own code, which the error carries when it is the only problem.
// Otherwise it is one field among the others.
type checker struct {
	problems *fault.Problems
	special  []*fault.Error
}

func (c *checker) add(field, format string, args ...any) { c.problems.Add(field, format, args...) }

func (c *checker) extra(err error) {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		c.special = append(c.special, f)
	}
}

func (c *checker) err() error {
	if len(c.special) == 1 && c.problems.Err() == nil {
		return c.special[0]
	}
	for _, f := range c.special {
		for _, field := range f.Fields {
			c.add(field.Field, "%s", field.Message)
		}
	}
	return c.problems.Err()
}

// required reports whether a string was sent, and notes the problem if it is missing or blank.
func (c *checker) required(field, value string) bool {
	sent := strings.TrimSpace(value) != ""
	if !sent {
		c.add(field, "is required")
	}
	return sent
}

func (c *checker) atMost(field, value string, limit int) {
	if n := len([]rune(value)); n > limit {
		c.add(field, "must be at most %d characters", limit)
	}
}

// Check applies every conditional rule of docs/api-contract.md#create and docs/api-contract.md#validation. problems
// holds the problems that the decoder (wrong types) and the caller (callbackUrl) found before; the error holds them
// all. limits decides amount_out_of_range for fiat-first amounts.
func (c Command) Check(mode tenant.Mode, limits quote.Limits, problems *fault.Problems) (Terms, error) {
	k := &checker{problems: problems}
	t := Terms{Type: Type(c.Type), BankRef: c.BankRef, Metadata: c.Metadata, CallbackURL: c.CallbackURL, Shop: c.Shop}
	if k.required("type", c.Type) && !t.Type.Valid() {
		k.add("type", "must be one of transfer, gift, request, merchant, bank_confirmation")
	}
	t.Ask.Currency = money.Currency(c.FiatCurrency)
	c.amounts(k, &t, limits)
	if k.required("fiatCurrency", c.FiatCurrency) && !t.Ask.Currency.Valid() {
		k.add("fiatCurrency", "must be one of NGN, GHS, KES, ZAR")
	}
	c.pair(k, &t)
	c.chargeFrom(k, &t)
	c.people(k, &t, mode)
	c.rest(k, &t)
	c.Shop.check(k, mode)
	return t, k.err()
}

// amounts requires exactly one of the two, and fiatAmount for a request (docs/api-contract.md#charge-and-payout).
func (c Command) amounts(k *checker, t *Terms, limits quote.Limits) {
	request := t.Type == Request
	switch {
	case request && c.CryptoAmount != nil:
		k.add("cryptoAmount", "is not allowed for a request")
	case c.FiatAmount != nil && c.CryptoAmount != nil:
		k.add("cryptoAmount", "cannot be given together with fiatAmount: send one of the two")
	case c.FiatAmount == nil && c.CryptoAmount == nil:
		if request {
			k.add("fiatAmount", "is required")
		} else {
			k.add("fiatAmount", "is required unless cryptoAmount is given")
		}
	}
	if request && c.FiatAmount == nil && c.CryptoAmount != nil {
		k.add("fiatAmount", "is required")
	}
	if c.FiatAmount != nil && k.amount("fiatAmount", *c.FiatAmount, money.FiatDigits) {
		t.Ask.FiatAmount = *c.FiatAmount
		if b, ok := limits[t.Ask.Currency]; ok {
			k.extra(b.InRange("fiatAmount", *c.FiatAmount))
		}
	}
	if c.CryptoAmount != nil && k.amount("cryptoAmount", *c.CryptoAmount, maxCoin) {
		t.Ask.CryptoAmount = *c.CryptoAmount
	}
}

func (c *checker) amount(field string, d decimal.Decimal, digits int32) bool {
	switch {
	case !d.IsPositive():
		c.add(field, "must be greater than 0")
	case d.GreaterThan(money.Max):
		c.add(field, "must be at most %s", money.Canonical(money.Max))
	case money.Digits(d) > digits:
		c.add(field, "must have at most %d decimal places", digits)
	default:
		return true
	}
	return false
}

// pair requires crypto and network, except for a request, where each is an optional preference
// (docs/api-contract.md#create).
func (c Command) pair(k *checker, t *Terms) {
	if t.Type != Request {
		crypto, network := k.required("crypto", c.Crypto), k.required("network", c.Network)
		if !crypto || !network {
			return
		}
	}
	n, a, ok := k.supported(c.Crypto, c.Network)
	if !ok {
		return
	}
	if t.Type == Request {
		t.Preferred = Preference{Crypto: symbol(c.Crypto), Network: clean(c.Network)}
		return
	}
	t.Ask.Network, t.Ask.Asset, t.NetworkName = n.Name, a, clean(c.Network)
	if money.Digits(t.Ask.CryptoAmount) > a.Decimals {
		k.add("cryptoAmount", "must have at most %d decimal places for %s on %s", a.Decimals, a.Symbol, n.Name)
	}
}

func clean(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// symbol is the canonical spelling of a crypto: upper case, and POL for MATIC.
func symbol(crypto string) string {
	for _, n := range money.Networks() {
		if a, ok := n.Asset(crypto); ok {
			return a.Symbol
		}
	}
	return strings.ToUpper(strings.TrimSpace(crypto))
}

// supported finds a pair, or one part when the other is empty. An unknown one is unsupported_pair with the list of the
// supported pairs.
func (c *checker) supported(crypto, network string) (n money.Network, a money.Asset, ok bool) {
	refuse := func(field, format string, args ...any) {
		f := fault.New(fault.Invalid, UnsupportedPair, format, args...)
		text := f.Message + " is not supported. Supported: " + money.Pairs()
		f.Message, f.Fields = field+": "+text, []fault.Field{{Field: field, Message: text}}
		c.special = append(c.special, f)
	}
	if network != "" {
		if n, ok = money.NetworkOf(network); !ok {
			refuse("network", "network %q", trim(network))
			return n, a, false
		}
	}
	if crypto == "" {
		return n, a, true
	}
	if network != "" {
		if a, ok = n.Asset(crypto); !ok {
			refuse("crypto", "%q on %s", trim(crypto), n.Name)
		}
		return n, a, ok
	}
	for _, other := range money.Networks() {
		if a, ok = other.Asset(crypto); ok {
			return n, a, true
		}
	}
	refuse("crypto", "crypto %q", trim(crypto))
	return n, a, false
}

// trim bounds the caller's text in an error message.
func trim(s string) string {
	const most = 32
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// chargeFrom is required for a transfer, crypto by default elsewhere, and always crypto on a request.
func (c Command) chargeFrom(k *checker, t *Terms) {
	t.Ask.ChargeFrom = quote.ChargeFrom(c.ChargeFrom)
	switch {
	case c.ChargeFrom != "" && !t.Ask.ChargeFrom.Valid():
		k.add("chargeFrom", "must be one of fiat, crypto")
	case c.ChargeFrom == "" && t.Type == Transfer:
		k.add("chargeFrom", "is required for a transfer")
	}
	if c.ChargeFrom == "" || t.Type == Request {
		t.Ask.ChargeFrom = quote.Crypto
	}
}

// people checks payer and receiver by the type's rules.
func (c Command) people(k *checker, t *Terms, mode tenant.Mode) {
	switch {
	case t.Type == Request && c.Payer != nil:
		k.add("payer", "is not allowed for a request")
	case (t.Type == Transfer || t.Type == Gift) && c.Payer == nil:
		k.add("payer", "is required for a %s", t.Type)
	case c.Payer != nil:
		t.Payer = k.payer(*c.Payer)
	}
	switch {
	case (t.Type == Gift || t.Type == BankConfirmation) && c.Receiver != nil:
		k.add("receiver", "is not allowed for a %s", t.Type)
	case (t.Type == Transfer || t.Type == Request) && c.Receiver == nil:
		k.add("receiver", "is required for a %s", t.Type)
	case c.Receiver != nil:
		t.Receiver = k.receiver(*c.Receiver, mode, t.Ask.Currency)
	}
}

func (c *checker) payer(in PayerInput) Payer {
	if c.required("payer.chatId", in.ChatID) {
		c.atMost("payer.chatId", in.ChatID, maxChatID)
	}
	c.atMost("payer.phone", in.Phone, maxPhone)
	return Payer(in)
}

// Formats of receivers. Test mode accepts any code and fails by magic numbers only (docs/api-contract.md#sandbox). Live
// mode checks the countries' formats (docs/api-contract.md#receivers), and the bank table decides on the codes.
var (
	testBank    = regexp.MustCompile(`^[A-Za-z0-9]{2,12}$`)
	nuban       = regexp.MustCompile(`^[0-9]{10}$`)
	testAccount = regexp.MustCompile(`^[A-Za-z0-9]{5,20}$`)
	liveAccount = map[money.Currency]*regexp.Regexp{
		money.NGN: nuban,
		money.GHS: regexp.MustCompile(`^[0-9]{8,20}$`),
		money.KES: regexp.MustCompile(`^[0-9A-Za-z]{5,16}$`),
		money.ZAR: regexp.MustCompile(`^[0-9]{7,11}$`),
	}
	accountShape = map[tenant.Mode]map[money.Currency]string{
		tenant.Test: {money.NGN: "must be 10 digits", "": "must be 5 to 20 letters or digits"},
		tenant.Live: {
			money.NGN: "must be 10 digits", money.GHS: "must be 8 to 20 digits", money.KES: "must be 5 to 16 letters or digits",
			money.ZAR: "must be 7 to 11 digits",
		},
	}
)

func (c *checker) receiver(in ReceiverInput, mode tenant.Mode, cur money.Currency) Receiver {
	if c.required("receiver.bankCode", in.BankCode) && !testBank.MatchString(in.BankCode) {
		c.add("receiver.bankCode", "must be 2 to 12 letters or digits")
	}
	if c.required("receiver.accountNumber", in.AccountNumber) && cur.Valid() {
		shape, text := testAccount, accountShape[tenant.Test][""]
		switch {
		case cur == money.NGN:
			shape, text = nuban, accountShape[tenant.Test][money.NGN]
		case mode == tenant.Live:
			shape, text = liveAccount[cur], accountShape[tenant.Live][cur]
		}
		if !shape.MatchString(in.AccountNumber) {
			c.add("receiver.accountNumber", "%s", text)
		}
	}
	return Receiver{BankCode: in.BankCode, AccountNumber: in.AccountNumber}
}

// rest checks the fields that are the same for every type, and bankRef.
func (c Command) rest(k *checker, t *Terms) {
	if c.BankRef != "" {
		if t.Type != BankConfirmation && t.Type.Valid() {
			k.add("bankRef", "is only allowed for a bank_confirmation")
		}
		k.atMost("bankRef", c.BankRef, maxBankRef)
	}
	if len(c.Metadata) > maxMetadata {
		k.add("metadata", "must be at most %d bytes of JSON", maxMetadata)
	}
	if c.Metadata == nil {
		t.Metadata = []byte("{}")
	}
	k.atMost("callbackUrl", c.CallbackURL, maxCallback)
}

// FulfilCommand is the decoded body of the fulfilment.
type FulfilCommand struct {
	Payer   *PayerInput
	Crypto  string
	Network string
}

// FulfilTerms is a checked fulfilment. Currency and amount come from the payment.
type FulfilTerms struct {
	Payer       Payer
	Network     money.Network
	Asset       money.Asset
	NetworkName string
}

// Check applies the rules of docs/api-contract.md#fulfil.
func (c FulfilCommand) Check(problems *fault.Problems) (FulfilTerms, error) {
	k := &checker{problems: problems}
	t := FulfilTerms{NetworkName: clean(c.Network)}
	if c.Payer == nil {
		k.add("payer.chatId", "is required")
	} else {
		t.Payer = k.payer(*c.Payer)
	}
	crypto, network := k.required("crypto", c.Crypto), k.required("network", c.Network)
	if crypto && network {
		t.Network, t.Asset, _ = k.supported(c.Crypto, c.Network)
	}
	return t, k.err()
}

// Ask is the pricing request of the fulfilment: fiat-first, with the fee from crypto.
func (f FulfilTerms) Ask(p Payment) quote.Ask {
	return quote.Ask{Currency: p.Currency, Asset: f.Asset, Network: f.Network.Name, FiatAmount: p.FiatAmount, ChargeFrom: quote.Crypto}
}

// CheckReceiver checks that a receiver is present and has the format of its currency and mode
// (docs/api-contract.md#receivers). Without a currency it checks presence only.
func CheckReceiver(in *ReceiverInput, mode tenant.Mode, currency money.Currency, problems *fault.Problems) Receiver {
	k := &checker{problems: problems}
	if in == nil {
		in = &ReceiverInput{}
	}
	return k.receiver(*in, mode, currency)
}
