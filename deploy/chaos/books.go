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
)

// books are the files that accountants and operators would ask for at the end of a run.
type books struct {
	address, token string
	dir            string
}

// treasuryWait is how long the report of the treasury may take to have the last journal.
const treasuryWait = time.Minute

// keep writes the journals of the month and the report of the treasury of both modes into the directory of the run, and
// returns what contradicts double entry.
func (b books) keep(ctx context.Context) (faults []string, err error) {
	month := time.Now().UTC().Format("2006-01")
	for _, mode := range []string{"live", "test"} {
		path := filepath.Join(b.dir, "chaos-journals-"+mode+".csv")
		if _, err := b.fetch(ctx, "/v1/admin/journals?mode="+mode+"&month="+month, path); err != nil {
			return faults, err
		}
		export, err := readExport(path)
		if err != nil {
			return faults, err
		}
		for _, fault := range export.faults() {
			faults = append(faults, "journals of "+mode+" mode: "+fault)
		}
		if err := b.treasury(ctx, mode, export.last); err != nil {
			return faults, err
		}
	}
	return faults, nil
}

// treasury writes the first report that has a journal.
func (b books) treasury(ctx context.Context, mode string, journal int64) error {
	path := filepath.Join(b.dir, "chaos-treasury-"+mode+".csv")
	for deadline := time.Now().Add(treasuryWait); ; {
		status, err := b.fetch(ctx, "/v1/admin/treasury?format=csv&mode="+mode, path)
		if err == nil && throughOf(path) >= journal {
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return errors.Join(fmt.Errorf("the report of the treasury has no journal %d after %s, status %d", journal, treasuryWait, status), err)
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
