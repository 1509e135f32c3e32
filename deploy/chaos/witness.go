package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/chaos/internal/load"
)

// moment is when a thing was made, as seen from a restore.
type moment int

const (
	before moment = iota // the backup holds it
	lost                 // the backup is older
	after
)

// thing is something that a service made and answered with.
type thing struct {
	unique []string // what no other thing may have been given
	path   string   // where it is read
	token  string
	at     moment
}

// witness makes things of one kind around a restore. At the end those of the lost time must be gone, all others there,
// and nothing may have been given twice.
type witness struct {
	what string
	each int
	gone int // status of a thing that is not there any more
	make func(ctx context.Context, f *field) (thing, error)
	also func(ctx context.Context, f *field, gone []thing) error
}

// made is a witness at work; one of no witness does nothing.
type made struct {
	*witness
	f      *field
	things []thing
}

func (w *witness) on(f *field) *made { return &made{witness: w, f: f} }

func (m *made) make(ctx context.Context, at moment) error {
	if m.witness == nil {
		return nil
	}
	for range m.each {
		one, err := m.witness.make(ctx, m.f)
		if err != nil {
			return fmt.Errorf("making %s: %w", m.what, err)
		}
		one.at = at
		m.things = append(m.things, one)
	}
	return nil
}

func (m *made) judge(ctx context.Context) error {
	if m.witness == nil {
		return nil
	}
	given := map[string]bool{}
	var gone []thing
	for _, one := range m.things {
		for _, value := range one.unique {
			if given[value] {
				m.f.fault("%s: %s was given twice", m.what, value)
			}
			given[value] = true
		}
		want := http.StatusOK
		if one.at == lost {
			want, gone = m.gone, append(gone, one)
		}
		status, err := load.Ask(ctx, http.MethodGet, m.f.stack.BaseURL+one.path, one.token, nil, nil)
		if err != nil {
			return err
		}
		if status != want {
			m.f.fault("%s %v: answered with %d, want %d", m.what, one.unique, status, want)
		}
	}
	m.f.say("witness %-28s %d made, %d of them lost, none given twice", m.what, len(m.things), len(gone))
	if m.also == nil {
		return nil
	}
	return m.also(ctx, m.f, gone)
}

// ask sends a request that must succeed.
func (f *field) ask(ctx context.Context, method, path, token string, body, answer any) error {
	status, err := load.Ask(ctx, method, f.stack.BaseURL+path, token, body, answer)
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("%s %s is answered with %d", method, path, status)
	}
	return err
}

var keysMade = witness{what: "keys", each: 3, gone: http.StatusUnauthorized, make: func(ctx context.Context, f *field) (thing, error) {
	var answer struct {
		Key struct {
			ID     int64  `json:"id"`
			Secret string `json:"secret"`
		} `json:"key"`
	}
	err := f.ask(ctx, http.MethodPost, "/v1/admin/keys", f.stack.AdminToken, map[string]any{
		"merchantId": f.merchant.ID, "name": "witness", "mode": "test", "permissions": []string{"*"},
	}, &answer)
	return thing{unique: []string{"key " + strconv.FormatInt(answer.Key.ID, 10)}, path: "/v1/wallets?limit=1", token: answer.Key.Secret}, err
}}

var reportsMade = witness{what: "reports", each: 3, gone: http.StatusNotFound, make: func(ctx context.Context, f *field) (thing, error) {
	var answer struct {
		Data struct {
			Report struct {
				ID       int64  `json:"id"`
				ReportID string `json:"reportId"`
			} `json:"report"`
		} `json:"data"`
	}
	err := f.ask(ctx, http.MethodPost, "/v1/reports", f.merchant.APIKey, map[string]any{
		"complaintType": "fraud", "name": "Witness", "walletAddress": "0xwitness", "fraudsterWalletAddress": "0xaccused",
	}, &answer)
	r := answer.Data.Report
	return thing{unique: []string{"record " + strconv.FormatInt(r.ID, 10), r.ReportID}, path: "/v1/reports/" + r.ReportID}, err
}}

var walletsMade = witness{
	what: "wallets", each: 6, gone: http.StatusNotFound,
	make: func(ctx context.Context, f *field) (thing, error) {
		pair := load.Pairs[f.random.IntN(len(load.Pairs))]
		var answer struct {
			Wallet struct {
				ID      string `json:"id"`
				Address string `json:"address"`
			} `json:"wallet"`
		}
		err := f.ask(ctx, http.MethodPost, "/v1/wallets", f.merchant.APIKey, map[string]any{"network": pair.Network, "crypto": pair.Crypto}, &answer)
		return thing{unique: []string{answer.Wallet.Address}, path: "/v1/wallets/" + answer.Wallet.ID, token: f.merchant.APIKey}, err
	},
	also: watched,
}

// watched looks whether the addresses that were given out in the lost time are watched all the same.
func watched(ctx context.Context, f *field, gone []thing) error {
	db, err := pgx.Connect(ctx, f.stack.Superuser["wallets"])
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	for _, one := range gone {
		var known bool
		err := db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM addresses WHERE address = $1)`, one.unique[0]).Scan(&known)
		if err != nil {
			return err
		}
		if !known {
			f.fault("address %s was given out before the restore and is not watched", one.unique[0])
		}
	}
	return nil
}
