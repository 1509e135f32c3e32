package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"causeway.internal/deploy/chaos/internal/audit"
	"causeway.internal/deploy/chaos/internal/livenet"
)

// books are the files that accountants and operators would ask for at the end of a run.
type books struct {
	address, token string
	dir            string
	networks       *livenet.Networks // nil without live networks
}

// treasuryWait is how long the report of the treasury may take to have the last journal, and what the chains have after
// it.
const treasuryWait = 3 * time.Minute

// keep writes the journals of the month and the report of the treasury of both modes into the directory of the run, and
// returns what contradicts double entry, and where the report and the chains differ.
func (b books) keep(ctx context.Context) (faults []string, proofs []audit.Proof, err error) {
	rest := time.Now()
	month := rest.UTC().Format("2006-01")
	for _, mode := range []string{"live", "test"} {
		path := filepath.Join(b.dir, "chaos-journals-"+mode+".csv")
		if _, err := b.fetch(ctx, "/v1/admin/journals?mode="+mode+"&month="+month, path); err != nil {
			return faults, proofs, err
		}
		export, err := readExport(path)
		if err != nil {
			return faults, proofs, err
		}
		for _, fault := range export.faults() {
			faults = append(faults, "journals of "+mode+" mode: "+fault)
		}
		differs, err := b.treasury(ctx, mode, export.last, rest)
		if err != nil {
			return faults, proofs, err
		}
		faults = append(faults, differs...)
		if lines := b.lines(mode); lines > 0 {
			law := "the treasury's report names what operators put there"
			proofs = append(proofs, audit.Proof{Law: law, Of: fmt.Sprintf("%d assets", lines), Faults: len(differs)})
		}
	}
	return faults, proofs, nil
}

// treasury writes the first report that has a journal and, of live mode, agrees with the chains as they were at rest.
// It returns what differs to the end.
func (b books) treasury(ctx context.Context, mode string, journal int64, rest time.Time) (faults []string, err error) {
	path := filepath.Join(b.dir, "chaos-treasury-"+mode+".csv")
	for deadline := time.Now().Add(treasuryWait); ; {
		status, err := b.fetch(ctx, "/v1/admin/treasury?format=csv&mode="+mode, path)
		if err == nil && throughOf(path) >= journal {
			if faults, err = b.differences(mode, path, rest); err != nil || len(faults) == 0 {
				return faults, err
			}
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			if err == nil && len(faults) > 0 {
				return faults, nil
			}
			return nil, errors.Join(fmt.Errorf("the report of the treasury has no journal %d after %s, status %d", journal, treasuryWait, status), err)
		}
		time.Sleep(time.Second)
	}
}

// throughOf is the last journal of a report, 0 of a file that is none.
func throughOf(path string) int64 {
	rows, err := readCSV(path)
	if err != nil || len(rows) < 2 {
		return 0
	}
	through, _ := strconv.ParseInt(rows[1][4], 10, 64) // the row of the report
	return through
}

// lines is the number of assets of the networks whose chains the report of a mode is held against.
func (b books) lines(mode string) (n int) {
	if mode == "live" && b.networks != nil {
		for _, c := range b.networks.Chains {
			n += len(c.Assets)
		}
	}
	return n
}

// differences holds a report against the chains: at rest nothing is on the way, and each asset differs from the ledger
// by exactly what operators put on stations and treasuries without booking it.
func (b books) differences(mode, path string, rest time.Time) (faults []string, err error) {
	if b.lines(mode) == 0 {
		return nil, nil
	}
	rows, err := readCSV(path)
	if err != nil {
		return nil, fmt.Errorf("reading the report: %w", err)
	}
	for _, c := range b.networks.Chains {
		for _, a := range c.Assets {
			i := slices.IndexFunc(rows, func(r []string) bool {
				return r[0] == "crypto" && r[1] == c.Network && r[2] == "all" && r[3] == a.Symbol
			})
			if i < 0 {
				faults = append(faults, fmt.Sprintf("the report of the treasury has no line of %s on %s", a.Symbol, c.Network))
				continue
			}
			given := b.networks.Given[c.Network][a.Symbol]
			if given == nil {
				given = new(big.Int)
			}
			r := rows[i]
			at, err := time.Parse(time.RFC3339, r[9])
			if err != nil || at.Before(rest) || !same(r[6], "0") || !same(r[7], a.Text(given)) {
				faults = append(faults, fmt.Sprintf("the report of the treasury says of %s on %s: on the way %q, difference %q, read at %q; want 0 and %s after %s",
					a.Symbol, c.Network, r[6], r[7], r[9], a.Text(given), rest.UTC().Format(time.RFC3339)))
			}
		}
	}
	return faults, nil
}

// same compares two decimal numbers, of which the first may be missing.
func same(a, b string) bool {
	one, ok := new(big.Rat).SetString(a)
	other, known := new(big.Rat).SetString(b)
	return ok && known && one.Cmp(other) == 0
}

// fetch writes an answer to a file.
func (b books) fetch(ctx context.Context, path, to string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.address+path, http.NoBody)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+b.token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return answer.StatusCode, fmt.Errorf("GET %s: status %d", path, answer.StatusCode)
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(file, answer.Body)
	return answer.StatusCode, errors.Join(err, file.Close())
}

func readCSV(path string) ([][]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	return csv.NewReader(file).ReadAll()
}

// export is the sums of an export of journals.
type export struct {
	last     int64               // journal
	journals map[string]*big.Rat // debits less credits, by kind of row, journal and asset
	accounts map[string]*big.Rat // opening and entries less closing, by account and asset
}

func readExport(path string) (export, error) {
	e := export{journals: map[string]*big.Rat{}, accounts: map[string]*big.Rat{}}
	rows, err := readCSV(path)
	if err != nil {
		return e, fmt.Errorf("reading %s: %w", path, err)
	}
	for i, r := range rows {
		if i == 0 {
			continue
		}
		n, ok := new(big.Rat).SetString(r[9] + r[10]) // one of both is empty
		if !ok {
			return e, fmt.Errorf("%s, row %d: %q and %q are no amount", path, i+1, r[9], r[10])
		}
		if r[10] != "" {
			n.Neg(n)
		}
		add(e.journals, r[0]+" "+r[1]+" "+r[8], n)
		if r[0] == "closing" {
			n.Neg(n)
		}
		add(e.accounts, r[6]+" "+r[8], n)
		if journal, err := strconv.ParseInt(r[1], 10, 64); err == nil {
			e.last = max(e.last, journal)
		}
	}
	return e, nil
}

func add(to map[string]*big.Rat, key string, n *big.Rat) {
	if to[key] == nil {
		to[key] = new(big.Rat)
	}
	to[key].Add(to[key], n)
}

// faults lists what does not balance.
func (e export) faults() (faults []string) {
	for _, key := range slices.Sorted(maps.Keys(e.journals)) {
		if n := e.journals[key]; n.Sign() != 0 {
			faults = append(faults, fmt.Sprintf("%q does not balance: %s", key, n.FloatString(8)))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e.accounts)) {
		if n := e.accounts[key]; n.Sign() != 0 {
			faults = append(faults, fmt.Sprintf("%s does not close with what it opened with and moved: %s", key, n.FloatString(8)))
		}
	}
	return faults
}
