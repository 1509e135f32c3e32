// Package chain reads private chains from the first block to the last: who moved what to whom, and what addresses
// hold. It asks the nodes and shares no code with the product, so that it repeats none of its mistakes.
package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"time"
)

// Subject is a chain to read.
type Subject struct {
	Family string
	URL    string
	Coin   string
	Tokens map[string]string // symbol to contract
}

// Move is an amount that one transaction moved from one address to another. Rent are the coins that lie in a token
// account that the transaction opened; To is its owner.
type Move struct {
	Tx       string
	Asset    string
	From, To string
	Units    *big.Int
	Rent     bool
}

// Reading is what a chain says of addresses.
type Reading struct {
	Moves    []Move                         // from one of the addresses
	Balances map[string]map[string]*big.Int // by address and asset; addresses that nothing ever reached are left out
}

// reading collects a Reading.
type reading struct {
	Reading
	known   map[string]bool
	touched map[string]bool
}

func newReading(addresses []string) *reading {
	r := &reading{Reading: Reading{Balances: map[string]map[string]*big.Int{}}, known: map[string]bool{}, touched: map[string]bool{}}
	for _, a := range addresses {
		r.known[a] = true
	}
	return r
}

// moved notes a move if it concerns a known address.
func (r *reading) moved(m Move) {
	if m.Units.Sign() == 0 {
		return
	}
	for _, a := range []string{m.From, m.To} {
		if r.known[a] {
			r.touched[a] = true
		}
	}
	if r.known[m.From] {
		r.Moves = append(r.Moves, m)
	}
}

// holds notes a balance.
func (r *reading) holds(address, asset string, units *big.Int) {
	if r.Balances[address] == nil {
		r.Balances[address] = map[string]*big.Int{}
	}
	r.Balances[address][asset] = units
}

// Canonical writes an address as a Reading does. Text that is no address stays as it is.
func (s Subject) Canonical(address string) string {
	switch s.Family {
	case "evm":
		return strings.ToLower(address)
	case "tron":
		if number, err := tronHex(address); err == nil {
			return number
		}
	}
	return address
}

// Read reads the whole chain. Addresses are canonical.
func (s Subject) Read(ctx context.Context, addresses []string) (Reading, error) {
	r := newReading(addresses)
	var err error
	switch s.Family {
	case "evm":
		err = s.readEVM(ctx, r)
	case "bitcoin":
		err = s.readBitcoin(ctx, r)
	case "tron":
		err = s.readTron(ctx, r)
	case "solana":
		err = s.readSolana(ctx, r)
	default:
		err = fmt.Errorf("nobody reads %s", s.Family)
	}
	if err != nil {
		return Reading{}, fmt.Errorf("reading the chain of %s: %w", s.Family, err)
	}
	return r.Reading, nil
}

// symbol names a token by its contract; one that is not listed has its contract as its name.
func (s Subject) symbol(contract string) string {
	for symbol, at := range s.Tokens {
		if strings.EqualFold(at, contract) {
			return symbol
		}
	}
	return contract
}

const askTimeout = 2 * time.Minute // nobody knows whether a node that was given up paid

// call calls a method of JSON-RPC.
func (s Subject) call(ctx context.Context, result any, method string, params ...any) error {
	if params == nil {
		params = []any{}
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  any             `json:"error"`
	}
	if err := Ask(ctx, s.URL, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, &answer); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %v", method, answer.Error)
	}
	return json.Unmarshal(answer.Result, result)
}

// Ask posts to a node and reads its answer, if that is wanted.
func Ask(ctx context.Context, address string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is answered with %s: %.300s", address, response.Status, content)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(content, answer)
}

// hexadecimal reads 0x and digits; what is none is nothing.
func hexadecimal(text string) *big.Int {
	if n, ok := new(big.Int).SetString(strings.TrimPrefix(text, "0x"), 16); ok {
		return n
	}
	return new(big.Int)
}
