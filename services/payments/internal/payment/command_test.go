package payment_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	. "causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
)

func amount(s string) *decimal.Decimal {
	d := dec(s)
	return &d
}

// command is a correct create of each type.
func command(kind Type) Command {
	c := Command{Type: string(kind), FiatAmount: amount("160000"), FiatCurrency: "NGN"}
	if kind != Request {
		c.Crypto, c.Network = "USDT", "tron"
	}
	if kind == Transfer || kind == Gift {
		c.Payer = &PayerInput{ChatID: "chat-1"}
	}
	if kind == Transfer {
		c.ChargeFrom = "fiat"
	}
	if kind == Transfer || kind == Request {
		c.Receiver = &ReceiverInput{BankCode: "058", AccountNumber: "0123456789"}
	}
	return c
}

func check(c Command, mode tenant.Mode) (Terms, error) {
	return c.Check(mode, quote.DefaultLimits(), &fault.Problems{})
}

// fields returns the broken fields of a refusal, nil without one.
func fields(err error) []string {
	if err == nil {
		return nil
	}
	var out []string
	for _, f := range fault.As(err).Fields {
		out = append(out, f.Field)
	}
	slices.Sort(out)
	return out
}

func TestEachTypeIsAcceptedAtItsLeast(t *testing.T) {
	for _, kind := range Types() {
		terms, err := check(command(kind), tenant.Test)
		if err != nil {
			t.Errorf("Check() of a %s with its least fields = %v, want no error", kind, err)
			continue
		}
		if string(terms.Metadata) != "{}" {
			t.Errorf("%s: metadata %s", kind, terms.Metadata)
		}
		if want := map[bool]quote.ChargeFrom{true: quote.Fiat, false: quote.Crypto}[kind == Transfer]; terms.Ask.ChargeFrom != want {
			t.Errorf("%s: charge from %s", kind, terms.Ask.ChargeFrom)
		}
	}
}

// The tables of docs/api-contract.md#create, docs/api-contract.md#numbers and docs/api-contract.md#receivers: each
// rule, and the field it names.
func TestCreateRules(t *testing.T) {
	type edit = func(*Command)
	both := func(c *Command) { c.CryptoAmount = amount("1") }
	cases := []struct {
		name string
		kind Type
		edit edit
		want []string
	}{
		{"type missing", Transfer, func(c *Command) { c.Type = "" }, []string{"type"}},
		{"type unknown", Transfer, func(c *Command) { c.Type = "loan" }, []string{"type"}},
		{"type in capitals", Transfer, func(c *Command) { c.Type = "Transfer" }, []string{"type"}},
		{"no amount", Transfer, func(c *Command) { c.FiatAmount = nil }, []string{"fiatAmount"}},
		{"both amounts", Transfer, both, []string{"cryptoAmount"}},
		{"crypto amount alone", Transfer, func(c *Command) { c.FiatAmount, c.CryptoAmount = nil, amount("1.5") }, nil},
		{"crypto amount on request", Request, func(c *Command) { c.FiatAmount, c.CryptoAmount = nil, amount("1") }, []string{"cryptoAmount", "fiatAmount"}},
		{"both amounts on request", Request, both, []string{"cryptoAmount"}},
		{"no amount on request", Request, func(c *Command) { c.FiatAmount = nil }, []string{"fiatAmount"}},
		{"zero", Transfer, func(c *Command) { c.FiatAmount = amount("0") }, []string{"fiatAmount"}},
		{"negative", Transfer, func(c *Command) { c.FiatAmount = amount("-1") }, []string{"fiatAmount"}},
		{"three digits", Transfer, func(c *Command) { c.FiatAmount = amount("1.001") }, []string{"fiatAmount"}},
		{"trailing zero is no digit", Transfer, func(c *Command) { c.FiatAmount = amount("1.500") }, nil},
		{"beyond 1e15", Transfer, func(c *Command) { c.FiatAmount = amount("1000000000000001") }, []string{"fiatAmount"}},
		{"crypto zero", Gift, func(c *Command) { c.FiatAmount, c.CryptoAmount = nil, amount("0") }, []string{"cryptoAmount"}},
		{"crypto nine digits", Gift, func(c *Command) { c.FiatAmount, c.CryptoAmount = nil, amount("1.123456789") }, []string{"cryptoAmount"}},
		{"crypto more digits than the asset has", Gift, func(c *Command) { c.FiatAmount, c.CryptoAmount = nil, amount("1.1234567") }, []string{"cryptoAmount"}},
		{"as many digits as the asset has elsewhere", Gift, func(c *Command) {
			c.FiatAmount, c.CryptoAmount, c.Network = nil, amount("1.1234567"), "bsc"
		}, nil},
		{"currency missing", Transfer, func(c *Command) { c.FiatCurrency = "" }, []string{"fiatCurrency"}},
		{"currency unknown", Transfer, func(c *Command) { c.FiatCurrency = "USD" }, []string{"fiatCurrency"}},
		{"crypto missing", Gift, func(c *Command) { c.Crypto = "" }, []string{"crypto"}},
		{"network missing", MerchantPayment, func(c *Command) { c.Network = "" }, []string{"network"}},
		{"both missing", BankConfirmation, func(c *Command) { c.Crypto, c.Network = "", "" }, []string{"crypto", "network"}},
		{"crypto unknown", Transfer, func(c *Command) { c.Crypto = "DOGE" }, []string{"crypto"}},
		{"network unknown", Transfer, func(c *Command) { c.Network = "dogechain" }, []string{"network"}},
		{"pair unsupported", Transfer, func(c *Command) { c.Crypto = "USDC" }, []string{"crypto"}},
		{"case and alias", Transfer, func(c *Command) { c.Crypto, c.Network = "usdt", "TRC20" }, nil},
		{"pair on request", Request, func(c *Command) { c.Crypto, c.Network = "USDT", "trc20" }, nil},
		{"crypto alone on request", Request, func(c *Command) { c.Crypto = "btc" }, nil},
		{"network alone on request", Request, func(c *Command) { c.Network = "sol" }, nil},
		{"unsupported pair on request", Request, func(c *Command) { c.Crypto, c.Network = "BTC", "tron" }, []string{"crypto"}},
		{"unknown crypto on request", Request, func(c *Command) { c.Crypto = "DOGE" }, []string{"crypto"}},
		{"unknown network on request", Request, func(c *Command) { c.Network = "x" }, []string{"network"}},
		{"charge missing on transfer", Transfer, func(c *Command) { c.ChargeFrom = "" }, []string{"chargeFrom"}},
		{"charge unknown", Gift, func(c *Command) { c.ChargeFrom = "both" }, []string{"chargeFrom"}},
		{"charge fiat on request", Request, func(c *Command) { c.ChargeFrom = "fiat" }, nil},
		{"charge unknown on request", Request, func(c *Command) { c.ChargeFrom = "x" }, []string{"chargeFrom"}},
		{"payer missing on transfer", Transfer, func(c *Command) { c.Payer = nil }, []string{"payer"}},
		{"payer missing on gift", Gift, func(c *Command) { c.Payer = nil }, []string{"payer"}},
		{"payer on request", Request, func(c *Command) { c.Payer = &PayerInput{ChatID: "c"} }, []string{"payer"}},
		{"payer on merchant", MerchantPayment, func(c *Command) { c.Payer = &PayerInput{ChatID: "c"} }, nil},
		{"payer on bank_confirmation", BankConfirmation, func(c *Command) { c.Payer = &PayerInput{ChatID: "c"} }, nil},
		{"payer without chatId", MerchantPayment, func(c *Command) { c.Payer = &PayerInput{Phone: "1"} }, []string{"payer.chatId"}},
		{"chatId too long", Gift, func(c *Command) { c.Payer.ChatID = strings.Repeat("x", 129) }, []string{"payer.chatId"}},
		{"phone too long", Gift, func(c *Command) { c.Payer.Phone = strings.Repeat("1", 33) }, []string{"payer.phone"}},
		{"receiver missing on transfer", Transfer, func(c *Command) { c.Receiver = nil }, []string{"receiver"}},
		{"receiver missing on request", Request, func(c *Command) { c.Receiver = nil }, []string{"receiver"}},
		{"receiver on gift", Gift, func(c *Command) { c.Receiver = &ReceiverInput{"058", "0123456789"} }, []string{"receiver"}},
		{"receiver on bank_confirmation", BankConfirmation, func(c *Command) { c.Receiver = &ReceiverInput{"058", "0123456789"} }, []string{"receiver"}},
		{"receiver on merchant", MerchantPayment, func(c *Command) { c.Receiver = &ReceiverInput{"058", "0123456789"} }, nil},
		{"receiver empty", Transfer, func(c *Command) { c.Receiver = &ReceiverInput{} }, []string{"receiver.accountNumber", "receiver.bankCode"}},
		{"bank code short", Transfer, func(c *Command) { c.Receiver.BankCode = "0" }, []string{"receiver.bankCode"}},
		{"bank code with a dash", Transfer, func(c *Command) { c.Receiver.BankCode = "05-8" }, []string{"receiver.bankCode"}},
		{"any bank code", Transfer, func(c *Command) { c.Receiver.BankCode = "ZZ99ZZ99ZZ99" }, nil},
		{"nine digits for NGN", Transfer, func(c *Command) { c.Receiver.AccountNumber = "012345678" }, []string{"receiver.accountNumber"}},
		{"letters for NGN", Transfer, func(c *Command) { c.Receiver.AccountNumber = "01234abcde" }, []string{"receiver.accountNumber"}},
		{"other digits for NGN", Transfer, func(c *Command) { c.Receiver.AccountNumber = "٠١٢٣٤٥٦٧٨٩" }, []string{"receiver.accountNumber"}},
		{"letters elsewhere", Transfer, func(c *Command) {
			c.FiatCurrency, c.FiatAmount, c.Receiver.AccountNumber = "KES", amount("100"), "01234abcde"
		}, nil},
		{"four characters elsewhere", Transfer, func(c *Command) {
			c.FiatCurrency, c.FiatAmount, c.Receiver.AccountNumber = "KES", amount("100"), "0123"
		}, []string{"receiver.accountNumber"}},
		{"bankRef", BankConfirmation, func(c *Command) { c.BankRef = strings.Repeat("é", 100) }, nil},
		{"bankRef too long", BankConfirmation, func(c *Command) { c.BankRef = strings.Repeat("x", 101) }, []string{"bankRef"}},
		{"bankRef on transfer", Transfer, func(c *Command) { c.BankRef = "x" }, []string{"bankRef"}},
		{"metadata too large", Transfer, func(c *Command) { c.Metadata = []byte(`{"a":"` + strings.Repeat("x", 8<<10) + `"}`) }, []string{"metadata"}},
		{"callbackUrl too long", Transfer, func(c *Command) { c.CallbackURL = "https://x/" + strings.Repeat("x", 2048) }, []string{"callbackUrl"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cmd := command(c.kind)
			c.edit(&cmd)
			_, err := check(cmd, tenant.Test)
			if got := fields(err); !slices.Equal(got, c.want) {
				t.Errorf("fields %v, want %v (%v)", got, c.want, err)
			}
			if f := fault.As(err); err != nil && f.Kind != fault.Invalid {
				t.Errorf("%v is no 400", err)
			}
		})
	}
}

func TestAllProblemsComeAtOnce(t *testing.T) {
	c := Command{
		Type: "transfer", FiatAmount: amount("0.5"), FiatCurrency: "NGN", Crypto: "DOGE", Network: "tron", ChargeFrom: "x",
		Payer: &PayerInput{}, Receiver: &ReceiverInput{BankCode: "!", AccountNumber: "1"}, BankRef: "x",
	}
	problems := &fault.Problems{}
	problems.Add("callbackUrl", "must be https")
	_, err := c.Check(tenant.Test, quote.DefaultLimits(), problems)
	want := []string{"bankRef", "callbackUrl", "chargeFrom", "crypto", "fiatAmount", "payer.chatId", "receiver.accountNumber", "receiver.bankCode"}
	if got := fields(err); !slices.Equal(got, want) || fault.As(err).Code != "validation_failed" {
		t.Errorf("Check() = %v, which refuses the fields %q; want validation_failed of %q", err, got, want)
	}
}

func TestSpecialCodesStandAlone(t *testing.T) {
	for code, edit := range map[string]func(*Command){
		quote.OutOfRange: func(c *Command) { c.FiatAmount = amount("50000000.01") },
		UnsupportedPair:  func(c *Command) { c.Network = "bitcoin" },
	} {
		c := command(Transfer)
		edit(&c)
		_, err := check(c, tenant.Test)
		f := fault.As(err)
		if f.Code != code || len(f.Fields) != 1 || f.Kind != fault.Invalid {
			t.Errorf("Check() of a transfer with one wrong field = %v, want %s with that field", err, code)
		}
		for _, must := range map[string][]string{quote.OutOfRange: {"1.00", "50000000.00"}, UnsupportedPair: {"tron: TRX USDT", "bitcoin: BTC"}}[code] {
			if !strings.Contains(f.Message, must) {
				t.Errorf("%s does not name %s: %s", code, must, f.Message)
			}
		}
	}
	for cur, bounds := range map[money.Currency][2]string{
		money.NGN: {"0.99", "50000000.01"}, money.GHS: {"0.99", "500000.01"}, money.KES: {"0.99", "5000000.01"}, money.ZAR: {"0.99", "1000000.01"},
	} {
		for _, value := range bounds {
			c := command(Gift)
			c.FiatCurrency, c.FiatAmount = string(cur), amount(value)
			if _, err := check(c, tenant.Test); !fault.Is(err, quote.OutOfRange) {
				t.Errorf("Check() of a gift of %s %s = %v, want %s", value, cur, err, quote.OutOfRange)
			}
		}
	}
}

func TestWhatTheTermsKeep(t *testing.T) {
	c := command(Transfer)
	c.Crypto, c.Network = "matic", "Matic"
	terms, err := check(c, tenant.Test)
	if err != nil || terms.Ask.Asset.Symbol != "POL" || terms.Ask.Network != "polygon" || terms.NetworkName != "matic" {
		t.Errorf("Check() of matic on Matic = %+v, %v; want POL on polygon, named matic", terms, err)
	}
	c = command(Request)
	c.Crypto, c.Network, c.ChargeFrom = "usdt", "TRC20", "fiat"
	terms, err = check(c, tenant.Test)
	if err != nil || terms.Preferred != (Preference{"USDT", "trc20"}) || terms.Ask.ChargeFrom != quote.Crypto || terms.Ask.Network != "" {
		t.Errorf("Check() of a request in usdt = %+v, %v; want the preference USDT on trc20, charged from crypto", terms, err)
	}
	draft := terms.Draft()
	if draft.Type != Request || !draft.FiatAmount.Equal(dec("160000")) || draft.Quote.Priced() {
		t.Errorf("Draft() = %+v, want a request of 160000 without a price", draft)
	}
}

func TestLiveAccounts(t *testing.T) {
	for _, c := range []struct {
		cur, number string
		ok          bool
	}{
		{"NGN", "0123456789", true},
		{"NGN", "012345678", false},
		{"GHS", "12345678", true},
		{"GHS", "1234567a", false},
		{"KES", "0123A", true},
		{"KES", "0123", false},
		{"ZAR", "1234567", true},
		{"ZAR", "123456", false},
		{"ZAR", "123456789012", false},
	} {
		cmd := command(Transfer)
		cmd.FiatCurrency, cmd.FiatAmount, cmd.Receiver.AccountNumber = c.cur, amount("100"), c.number
		if _, err := check(cmd, tenant.Live); (err == nil) != c.ok {
			t.Errorf("Check() of the account %s %s = %v, want it accepted: %t", c.cur, c.number, err, c.ok)
		}
	}
}

func TestFulfilRules(t *testing.T) {
	good := FulfilCommand{Payer: &PayerInput{ChatID: "c"}, Crypto: "usdt", Network: "TRC20"}
	terms, err := good.Check(&fault.Problems{})
	if err != nil || terms.Asset.Symbol != "USDT" || terms.Network.Name != "tron" || terms.NetworkName != "trc20" {
		t.Errorf("Check() of a fulfilment = %+v, %v; want USDT on tron, named trc20", terms, err)
	}
	if ask := terms.Ask(Payment{Currency: money.NGN, FiatAmount: dec("5")}); ask.ChargeFrom != quote.Crypto || !ask.FiatAmount.Equal(dec("5")) {
		t.Errorf("Ask() = %+v, want 5 charged from crypto", ask)
	}
	for name, c := range map[string]struct {
		cmd  FulfilCommand
		want []string
	}{
		"empty":       {FulfilCommand{}, []string{"crypto", "network", "payer.chatId"}},
		"no chatId":   {FulfilCommand{Payer: &PayerInput{}, Crypto: "USDT", Network: "tron"}, []string{"payer.chatId"}},
		"unsupported": {FulfilCommand{Payer: &PayerInput{ChatID: "c"}, Crypto: "USDC", Network: "tron"}, []string{"crypto"}},
	} {
		if _, err := c.cmd.Check(&fault.Problems{}); !slices.Equal(fields(err), c.want) {
			t.Errorf("Check() of a fulfilment, %s = %v, want the fields %q refused", name, err, c.want)
		}
	}
}

func TestClaimReceiver(t *testing.T) {
	p := &fault.Problems{}
	if CheckReceiver(nil, tenant.Test, money.NGN, p); !slices.Equal(fields(p.Err()), []string{"receiver.accountNumber", "receiver.bankCode"}) {
		t.Errorf("CheckReceiver(none) = %v, want account number and bank code refused", p.Err())
	}
	p = &fault.Problems{}
	if r := CheckReceiver(&ReceiverInput{"058", "0123456789"}, tenant.Test, money.NGN, p); p.Err() != nil || !r.Known() {
		t.Errorf("CheckReceiver() = %+v, %v; want a known receiver", r, p.Err())
	}
}

func TestMasked(t *testing.T) {
	for in, want := range map[string]string{"0123456789": "******6789", "1234": "1234", "": ""} {
		if got := (Receiver{AccountNumber: in}).Masked().AccountNumber; got != want {
			t.Errorf("%q masked is %q", in, got)
		}
	}
}

func TestDepths(t *testing.T) {
	if err := DefaultDepths().Check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		network string
		row     Deposit
		want    bool
	}{
		{"bitcoin", Deposit{Depth: 1}, false},
		{"bitcoin", Deposit{Depth: 2}, true},
		{"bitcoin", Deposit{Depth: 9, Reverted: true}, false},
		{"bitcoin", Deposit{Finalized: true, Depth: 1}, true},
		{"ethereum", Deposit{Finalized: true, Depth: 1}, true}, // reported once, by a scanner that was down for long
		{"ethereum", Deposit{Depth: 11}, false},
		{"ethereum", Deposit{Finalized: true, Depth: 64, Reverted: true}, false},
		{"bsc", Deposit{Finalized: true, Depth: 1}, true},
		{"bsc", Deposit{Depth: 90}, true},
		{"solana", Deposit{Depth: 1000}, false},
		{"solana", Deposit{Finalized: true}, true},
		{"unheard", Deposit{Depth: 1000}, false},
	} {
		need := DefaultDepths().Required(c.network, "X", dec("1"))
		for height, want := range map[int64]bool{7: c.want, 0: false, -1: false} { // a transfer in no block is never deep
			c.row.BlockHeight = height
			if got := need.Met(c.row); got != want {
				t.Errorf("Met(%s %+v) = %t, want %t", c.network, c.row, got, want)
			}
		}
	}
	for name, broken := range map[string]Depths{
		"a missing network": {"bitcoin": {{Confirmations: 2}}},
		"no last tier": func() Depths {
			d := DefaultDepths()
			d["tron"] = []Depth{{UpToUSD: dec("1"), Confirmations: 1}}
			return d
		}(),
		"nothing asked": func() Depths { d := DefaultDepths(); d["tron"] = []Depth{{}}; return d }(),
	} {
		if broken.Check() == nil {
			t.Errorf("a table with %s passes", name)
		}
	}
}

func TestParseDepths(t *testing.T) {
	table, err := ParseDepths("erc20=3; ethereum/usdt=<1000:12,<50000:32,64 ;bsc=final|15;solana=final")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		network, asset, usd string
		want                Depth
	}{
		{"ethereum", "ETH", "1e9", Depth{Confirmations: 3}},
		{"ethereum", "USDT", "1000", Depth{UpToUSD: dec("1000"), Confirmations: 12}},
		{"ethereum", "USDT", "1000.01", Depth{UpToUSD: dec("50000"), Confirmations: 32}},
		{"ethereum", "USDT", "50001", Depth{Confirmations: 64}},
		{"bsc", "BNB", "1", Depth{Confirmations: 15, Finality: true}},
		{"solana", "SOL", "1", Depth{Finality: true}},
		{"tron", "TRX", "1", Depth{Confirmations: 19}},
	} {
		got := table.Required(c.network, c.asset, dec(c.usd))
		if got.Confirmations != c.want.Confirmations || got.Finality != c.want.Finality || !got.UpToUSD.Equal(c.want.UpToUSD) {
			t.Errorf("Required(%s, %s, %s) = %+v, want %+v", c.network, c.asset, c.usd, got, c.want)
		}
	}
	for _, text := range []string{"ethereum", "dogechain=1", "tron/BTC=1", "tron=", "tron=0", "tron=-1", "tron=x", "tron=<5:1", "tron=5:1,2", "tron=1,2", "tron=<5:1,<4:2,3"} {
		if _, err := ParseDepths(text); err == nil {
			t.Errorf("%q passes", text)
		}
	}
	if table, err := ParseDepths(""); err != nil || len(table) != len(DefaultDepths()) {
		t.Errorf("ParseDepths of nothing = %d rows, %v; want the %d of the default", len(table), err, len(DefaultDepths()))
	}
}

func TestShownTransferAndConfirmations(t *testing.T) {
	w := newFixture(t, Transfer)
	if _, ok := w.p.Shown(nil); ok {
		t.Error("nothing was seen")
	}
	rows := []Deposit{
		{Key: "c", Network: "polygon", Asset: "USDT", FirstSeenAt: start},
		{Key: "b", Network: "ethereum", Asset: "USDT", FirstSeenAt: start.Add(2)},
		{Key: "a", Network: "ethereum", Asset: "USDT", FirstSeenAt: start.Add(1), Reverted: true},
	}
	if d, _ := w.p.Shown(rows); d.Key != "b" {
		t.Errorf("shown is %s", d.Key)
	}
	for _, c := range []struct {
		d    Deposit
		head int64
		want int64
	}{{Deposit{BlockHeight: 10, Depth: 1}, 14, 5}, {Deposit{BlockHeight: 10, Depth: 7}, 12, 7}, {Deposit{}, 100, 0}, {Deposit{BlockHeight: 10, Reverted: true}, 100, 0}} {
		if got := c.d.Confirmations(c.head); got != c.want {
			t.Errorf("%+v under %d: %d, want %d", c.d, c.head, got, c.want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("transfer", "160000", "", "NGN", "USDT", "tron", "fiat", "c", "058", "0123456789", "")
	f.Add("request", "", "1", "ZAR", "", "SOL", "", "", "", "", "ref")
	f.Fuzz(func(t *testing.T, kind, fiat, crypto, cur, symbol, network, from, chat, bank, number, ref string) {
		parse := func(s string) *decimal.Decimal {
			if d, err := money.Parse(s); err == nil {
				return &d
			}
			return nil
		}
		c := Command{
			Type: kind, FiatAmount: parse(fiat), CryptoAmount: parse(crypto), FiatCurrency: cur, Crypto: symbol, Network: network, ChargeFrom: from,
			Payer: &PayerInput{ChatID: chat}, Receiver: &ReceiverInput{bank, number}, BankRef: ref,
		}
		if chat == "" {
			c.Payer = nil
		}
		if bank == "" {
			c.Receiver = nil
		}
		terms, err := check(c, tenant.Test)
		if err != nil {
			if f := fault.As(err); f.Kind != fault.Invalid || f.Message == "" || len(f.Fields) == 0 {
				t.Fatalf("%v is no validation error", err)
			}
			return
		}
		if terms.Type == Request {
			return
		}
		priced := terms.Ask.Currency
		_, err = quote.First(priced).Make(terms.Ask, quote.DefaultLimits()[priced], quote.Rate{Value: dec("1600"), USD: dec("1600")})
		if err != nil && !fault.Is(err, quote.OutOfRange) {
			t.Fatalf("accepted terms cannot be priced: %v", err)
		}
	})
}
