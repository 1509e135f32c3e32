package rail

import (
	"slices"
	"strings"

	"causeway.internal/libs/money"
)

// Entry is one institution of the table, a bank or a mobile wallet, with all its codes.
type Entry struct {
	Name     string
	Currency money.Currency
	Codes    []string // every code that a caller may use; lists show the first
	Wallet   bool     // mobile money: the account is a phone number
	cbn      string   // the bank's number in the check digit of its accounts (Nigeria), "" where it has none
	own      map[string]string
}

// Known reports whether a code of a rail's own list of banks belongs to this institution.
func (e Entry) Known(code string) bool {
	return slices.ContainsFunc(e.Codes, func(c string) bool { return strings.EqualFold(c, code) })
}

// Own is the code of a mobile wallet at a rail, by the rail's name. Banks are found in the rail's list instead.
func (e Entry) Own(rail string) (string, bool) {
	code, ok := e.own[rail]
	return code, ok
}

// banks is the table of the codes that callers use, by currency: Nigeria's CBN and NIP codes and the card processors'
// codes of the wallets, Ghana's sort codes, Kenya's CBK codes, South Africa's universal branch codes, and mobile money.
// Its sources are NIBSS' list and the lists of the two rails (docs/rails.md). A rail's own list contains one of a
// bank's codes.
var banks = build()

func build() map[money.Currency][]Entry {
	table := map[money.Currency][]Entry{}
	for cur, rows := range listed {
		for _, row := range rows {
			e := Entry{Name: row.name, Currency: cur, Codes: row.codes}
			if cur == money.NGN {
				e.cbn = row.codes[0]
			}
			table[cur] = append(table[cur], e)
		}
	}
	for _, w := range wallets {
		table[w.Currency] = append(table[w.Currency], w)
	}
	return table
}

// wallets are mobile money, with each rail's own code.
var wallets = []Entry{
	{Name: "MTN Mobile Money", Currency: money.GHS, Wallet: true, Codes: []string{"MTN"}, own: map[string]string{"paystack": "MTN", "flutterwave": "MTN"}},
	{
		Name: "Telecel Cash", Currency: money.GHS, Wallet: true, Codes: []string{"VOD", "VODAFONE"},
		own: map[string]string{"paystack": "VOD", "flutterwave": "VODAFONE"},
	},
	{
		Name: "AirtelTigo Money", Currency: money.GHS, Wallet: true, Codes: []string{"ATL", "AIRTEL", "TIGO"},
		own: map[string]string{"paystack": "ATL", "flutterwave": "AIRTEL"},
	},
	{Name: "M-PESA", Currency: money.KES, Wallet: true, Codes: []string{"MPESA", "MPS"}, own: map[string]string{"paystack": "MPESA", "flutterwave": "MPS"}},
}

var listed = map[money.Currency][]struct {
	name  string
	codes []string
}{
	money.NGN: {
		{"Access Bank", []string{"044", "000014"}},
		{"Citibank Nigeria", []string{"023", "000009"}},
		{"Ecobank Nigeria", []string{"050", "000010"}},
		{"Fidelity Bank", []string{"070", "000007"}},
		{"First Bank of Nigeria", []string{"011", "000016"}},
		{"First City Monument Bank", []string{"214", "000003"}},
		{"Globus Bank", []string{"103", "000027"}},
		{"Guaranty Trust Bank", []string{"058", "000013"}},
		{"Jaiz Bank", []string{"301", "000006"}},
		{"Keystone Bank", []string{"082", "000002"}},
		{"Kuda Microfinance Bank", []string{"50211", "090267"}},
		{"Moniepoint Microfinance Bank", []string{"50515", "090405"}},
		{"OPay", []string{"999992", "100004"}},
		{"PalmPay", []string{"999991", "100033"}},
		{"Polaris Bank", []string{"076", "000008"}},
		{"Providus Bank", []string{"101", "000023"}},
		{"Stanbic IBTC Bank", []string{"221", "000012"}},
		{"Standard Chartered Bank Nigeria", []string{"068", "000021"}},
		{"Sterling Bank", []string{"232", "000001"}},
		{"SunTrust Bank", []string{"100", "000022"}},
		{"TAJ Bank", []string{"302", "000026"}},
		{"Titan Trust Bank", []string{"102", "000025"}},
		{"Union Bank of Nigeria", []string{"032", "000018"}},
		{"United Bank for Africa", []string{"033", "000004"}},
		{"Unity Bank", []string{"215", "000011"}},
		{"Wema Bank", []string{"035", "000017"}},
		{"Zenith Bank", []string{"057", "000015"}},
	},
	money.GHS: {
		{"Access Bank Ghana", []string{"280100", "GH280100"}},
		{"CAL Bank", []string{"140100", "GH140100"}},
		{"Ecobank Ghana", []string{"130100", "GH130100"}},
		{"Fidelity Bank Ghana", []string{"240100", "GH240100"}},
		{"GCB Bank", []string{"040100", "GH040100"}},
		{"Stanbic Bank Ghana", []string{"190100", "GH190100"}},
		{"Zenith Bank Ghana", []string{"120100", "GH120100"}},
	},
	money.KES: {
		{"Absa Bank Kenya", []string{"03", "3"}},
		{"Co-operative Bank of Kenya", []string{"11"}},
		{"Diamond Trust Bank", []string{"63"}},
		{"Equity Bank", []string{"68"}},
		{"Family Bank", []string{"70"}},
		{"I&M Bank", []string{"57"}},
		{"KCB Bank", []string{"01", "1"}},
		{"NCBA Bank", []string{"07", "7"}},
		{"Stanbic Bank Kenya", []string{"31"}},
		{"Standard Chartered Bank Kenya", []string{"02", "2"}},
	},
	money.ZAR: {
		{"Absa Bank", []string{"632005"}},
		{"African Bank", []string{"430000"}},
		{"Bidvest Bank", []string{"462005"}},
		{"Capitec Bank", []string{"470010"}},
		{"First National Bank", []string{"250655", "FNB"}},
		{"Investec Bank", []string{"580105"}},
		{"Nedbank", []string{"198765"}},
		{"Postbank", []string{"460005"}},
		{"Standard Bank of South Africa", []string{"051001"}},
		{"TymeBank", []string{"678910"}},
	},
}

// Find finds an institution of the currency by any of its codes, without regard to case.
func Find(cur money.Currency, code string) (Entry, bool) {
	for _, e := range banks[cur] {
		if e.Known(code) {
			return e, true
		}
	}
	return Entry{}, false
}

// BankName is the name of an institution of the currency.
func BankName(cur money.Currency, code string) (string, bool) {
	e, ok := Find(cur, code)
	return e.Name, ok
}

// AnyBankName finds a bank by its code, of this currency first and then of any.
func AnyBankName(cur money.Currency, code string) (string, bool) {
	if name, ok := BankName(cur, code); ok {
		return name, true
	}
	for _, other := range money.Currencies() {
		if name, ok := BankName(other, code); ok {
			return name, true
		}
	}
	return "", false
}

// KnownBanks lists the institutions of a currency by name, each under its first code.
func KnownBanks(cur money.Currency) []Bank {
	list := make([]Bank, 0, len(banks[cur]))
	for _, e := range banks[cur] {
		list = append(list, Bank{Code: e.Codes[0], Name: e.Name, Currency: cur})
	}
	return list
}
