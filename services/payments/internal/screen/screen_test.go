package screen

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// Every entry of the list is an address with a valid checksum, where its format has one.
func TestList_everyAddressIsOne(t *testing.T) {
	l, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	names, err := filepath.Glob("list/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		family := map[string]money.Family{"evm": money.EVM, "solana": money.Solana, "tron": money.Tron, "bitcoin": money.Bitcoin}[strings.TrimSuffix(filepath.Base(name), ".txt")]
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), "OFAC SDN") && !strings.Contains(string(raw), "OFAC\n# SDN") {
			t.Errorf("%s does not name its source", name)
		}
		for _, line := range strings.Split(string(raw), "\n") {
			if line == "" || line[0] == '#' {
				continue
			}
			counts[name]++
			if err := address.Check(family, address.Mainnet, line); err != nil {
				t.Errorf("list %s: address %s = %v, want it valid", name, line, err)
			}
			if !l.Has(line) {
				t.Errorf("%s is not found", line)
			}
		}
	}
	t.Log(l.Version(), counts)
}

func TestList_case(t *testing.T) {
	l, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"0x098B716B8Aaf21512996dC57EB0615e2383E2f96":   true,
		"0x098b716b8aaf21512996dc57eb0615e2383e2f96":   true,
		"0X098B716B8AAF21512996DC57EB0615E2383E2F96":   true,
		"0x098b716b8aaf21512996dc57eb0615e2383e2f97":   false,
		"FuCC7GoYwt5TsNTjWL23Xx9UKCvC18chjMEFPL3vJDCC": true,
		"fuCC7GoYwt5TsNTjWL23Xx9UKCvC18chjMEFPL3vJDCC": false,
	} {
		if got := l.Has(address); got != want {
			t.Errorf("Has(%s) = %t, want %t", address, got, want)
		}
	}
}

func TestOpen_file(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	for text, ok := range map[string]bool{"# nothing\n": false, "0xAb # one\nTx\n": true, "two words\n": false} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Open(path)
		if (err == nil) != ok || (ok && (!l.Has("0xaB") || !strings.HasPrefix(l.Version(), "ofac-sdn 2 "))) {
			t.Errorf("Open() of %q = %+v, %v; want it accepted: %t", text, l, err, ok)
		}
	}
	if _, err := Open(path + "x"); err == nil {
		t.Error("a file that is not there was opened")
	}
}

// fixedList is a list that is never replaced.
type fixedList struct{ list *List }

func (f fixedList) Current() *List { return f.list }
func (f fixedList) Outdated() bool { return false }

type signals struct {
	confirmed bool
	err       error
}

func (s signals) FraudConfirmed(context.Context, tenant.Mode, []string) (bool, error) {
	return s.confirmed, s.err
}

func TestScreen(t *testing.T) {
	l, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	const listed = "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"
	for name, c := range map[string]struct {
		signals signals
		mode    tenant.Mode
		network string
		senders []string
		reason  string
		fails   bool
	}{
		"clear":                   {signals{}, tenant.Live, "ethereum", []string{"0x1"}, "", false},
		"listed":                  {signals{}, tenant.Live, "ethereum", []string{"0x1", listed}, Sanctioned, false},
		"listed, test mode":       {signals{}, tenant.Test, "ethereum", []string{listed}, Sanctioned, false},
		"reported":                {signals{true, nil}, tenant.Live, "ethereum", []string{"0x1"}, Reported, false},
		"reports are away":        {signals{false, errors.New("down")}, tenant.Live, "ethereum", []string{"0x1"}, "", true},
		"nobody named":            {signals{}, tenant.Live, "ethereum", nil, SenderUnknown, false},
		"nobody named on bitcoin": {signals{}, tenant.Live, "bitcoin", nil, SenderNotKnown, false},
		"nobody named on solana":  {signals{}, tenant.Live, "solana", nil, SenderUnknown, false},
		"some named on bitcoin, one of them listed": {signals{}, tenant.Live, "bitcoin", []string{"bc1qq", "123WBUDmSJv4GctdVEz6Qq6z8nXSKrJ4KX"}, Sanctioned, false},
		"nobody named, test":                        {signals{}, tenant.Test, "ethereum", nil, "", false},
	} {
		v, err := New(fixedList{l}, c.signals).Screen(t.Context(), c.mode, c.network, c.senders)
		if (err != nil) != c.fails || v.Reason != c.reason || v.Hit != (c.reason != "" && c.reason != SenderNotKnown) || (err == nil && !strings.HasPrefix(v.Lists, l.Version())) {
			t.Errorf("Screen() of %s = %+v, %v; want the reason %q, an error: %t", name, v, err, c.reason, c.fails)
		}
	}
}
