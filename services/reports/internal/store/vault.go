package store

import (
	"bytes"
	"encoding/json"
	"fmt"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/reports/internal/report"
)

// vault seals the reporters, each value bound to its report, and makes the indexes and hashes of phones.
type vault struct {
	keys  keyring.Optional
	seals bool // seals new values; sealed ones are read either way
}

// person holds a report's data about people. The reporter's and the accused wallet are not in it, because chains show
// them to everybody.
type person struct {
	Session   string `json:"session,omitempty"`
	Name      string `json:"name,omitempty"`
	Phone     string `json:"phone,omitempty"`
	Text      string `json:"text,omitempty"`
	Confirmer string `json:"confirmer,omitempty"`
	Notes     string `json:"notes,omitempty"`
}

func personOf(r report.Report) person {
	return person{r.Session, r.Name, r.Phone, r.Text, r.Confirmer, r.Notes}
}

// of is the report with the person's data.
func (p person) of(r report.Report) report.Report {
	r.Session, r.Name, r.Phone, r.Text, r.Confirmer, r.Notes = p.Session, p.Name, p.Phone, p.Text, p.Confirmer, p.Notes
	return r
}

func personPlace(id int64) string { return fmt.Sprint("report/", id) }

// keep is the stored form of a new report.
func (v vault) keep(r report.Report) (row, error) {
	if !v.seals {
		return row{Report: r}, nil
	}
	plain, err := json.Marshal(personOf(r))
	if err != nil {
		return row{}, fmt.Errorf("encode the person of report %d: %w", r.ID, err)
	}
	kept := row{Report: r, person: v.keys.Seal(plain, personPlace(r.ID))}
	if r.Phone != "" {
		kept.index = v.indexes(r.Mode, r.Phone)[0]
	}
	return kept, nil
}

// rekeep is the stored form of a report after a change: sealed if it was, and with its former index and hash.
func (v vault) rekeep(was row, r report.Report) (row, error) {
	if was.person == nil {
		return row{Report: r}, nil
	}
	v.seals = true
	kept, err := v.keep(r)
	kept.index = was.index
	return kept, err
}

// open opens the sealed values of a row.
func (v vault) open(r row) (row, error) {
	if r.person == nil {
		return r, nil
	}
	plain, err := v.keys.Open(r.person, personPlace(r.ID))
	if err != nil {
		return r, fmt.Errorf("open report %d: %w", r.ID, err)
	}
	var p person
	if err := json.Unmarshal(plain, &p); err != nil {
		return r, fmt.Errorf("read report %d: %w", r.ID, err)
	}
	r.Report = p.of(r.Report)
	return r, nil
}

// indexes are the blind indexes of a phone, the first key's first.
func (v vault) indexes(mode tenant.Mode, phone string) [][]byte {
	if v.keys.Ring() == nil {
		return nil
	}
	return v.keys.Ring().Blinds(phone, "phone/"+string(mode))
}

// hashes are the hashes under which phones may be counted: the plain one, and that of each key, the first one's first.
func (v vault) hashes() []report.Hash {
	all := []report.Hash{report.Plain}
	if v.keys.Ring() == nil {
		return all
	}
	for i := range v.keys.Ring().Blinds("", "") {
		all = append(all, func(text string) []byte { return v.keys.Ring().Blinds(text, "reports")[i] })
	}
	return all
}

// hash is the hash under which the phone of a row is counted.
func (v vault) hash(r row) (report.Hash, error) {
	if r.index == nil {
		return report.Plain, nil
	}
	for i, index := range v.indexes(r.Mode, r.Phone) {
		if bytes.Equal(index, r.index) {
			return v.hashes()[1+i], nil
		}
	}
	return nil, fmt.Errorf("report %d is counted under a missing key: %w", r.ID, keyring.ErrUnknownKey)
}

// stale reports a row that is not sealed under the first key.
func (v vault) stale(r row) bool {
	return r.person == nil || v.keys.Ring().Stale(r.person) || r.Phone != "" && !bytes.Equal(r.index, v.indexes(r.Mode, r.Phone)[0])
}

func answerPlace(k idempotency.Key) string { return "answer/" + k.Scope + "/" + k.Key }

// keepAnswer is the stored form of an answer's body, which names a person.
func (v vault) keepAnswer(k idempotency.Key, body []byte) []byte {
	if !v.seals {
		return body
	}
	return v.keys.Seal(body, answerPlace(k))
}

// openAnswer opens a stored body.
func (v vault) openAnswer(k idempotency.Key, body []byte) ([]byte, error) {
	plain, err := v.keys.Open(body, answerPlace(k))
	if err != nil {
		return nil, fmt.Errorf("open a stored answer: %w", err)
	}
	return plain, nil
}
