package app

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/reports/internal/report"
)

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// reportView is a report in the form of docs/api-contract.md#reports: unsupplied texts are null.
type reportView struct {
	ID         int64         `json:"id"`
	Reference  string        `json:"reportId"`
	KeyID      int64         `json:"apiKeyId"`
	MerchantID string        `json:"merchantId"`
	Session    *string       `json:"sessionReference"`
	Kind       report.Kind   `json:"complaintType"`
	Name       string        `json:"name"`
	Phone      *string       `json:"phoneNumber"`
	Wallet     *string       `json:"walletAddress"`
	Fraudster  *string       `json:"fraudsterWalletAddress"`
	Text       *string       `json:"description"`
	Status     report.Status `json:"status"`
	Confirmer  *string       `json:"confirmer"`
	Notes      *string       `json:"adminNotes"`
	CreatedAt  string        `json:"createdAt"`
	UpdatedAt  string        `json:"updatedAt"`
	Sequence   int64         `json:"sequence,omitempty"`
}

// viewOf shows a report without its internal fields, which are null.
func viewOf(r report.Report) reportView {
	return reportView{
		ID: r.ID, Reference: r.Reference, KeyID: r.KeyID, MerchantID: r.MerchantID, Session: textOrNull(r.Session), Kind: r.Kind,
		Name: r.Name, Phone: textOrNull(r.Phone), Wallet: textOrNull(r.Wallet), Fraudster: textOrNull(r.Fraudster),
		Text: textOrNull(r.Text), Status: r.Status, CreatedAt: timestamp.Text(r.CreatedAt), UpdatedAt: timestamp.Text(r.UpdatedAt),
	}
}

type reportData struct {
	Report reportView `json:"report"`
}

type answer[T any] struct {
	Success bool `json:"success"`
	Data    T    `json:"data"`
}

// encode writes JSON without HTML escapes and without a trailing newline.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

func success[T any](data T) ([]byte, error) { return encode(answer[T]{true, data}) }

func filed(r report.Report) ([]byte, error) { return success(reportData{viewOf(r)}) }

// shown is a report as the caller of a public route may see it; the zero Owner is the public.
func (a *App) shown(viewer tenant.Owner, r report.Report) reportView {
	if r.MerchantID != viewer.MerchantID || r.Mode != viewer.Mode {
		r = r.Public(a.MarkedSince)
	}
	return viewOf(r)
}

// managedView is a report with its internal fields, for keys of its merchant with report:manage.
func managedView(r report.Report) reportView {
	v := viewOf(r)
	v.Confirmer, v.Notes = textOrNull(r.Confirmer), textOrNull(r.Notes)
	return v
}

func managed(r report.Report) ([]byte, error) { return success(reportData{managedView(r)}) }

type ownData struct {
	Reports    []reportView `json:"reports"`
	Pagination pagination   `json:"pagination"`
}

func ownList(limit int, found []report.Report) ([]byte, error) {
	out := ownData{Reports: []reportView{}, Pagination: pagination{Limit: limit, HasMore: len(found) > limit}}
	if out.Pagination.HasMore {
		found = found[:limit]
		last := found[limit-1]
		out.Pagination.NextCursor = textOrNull(report.Position{At: last.CreatedAt, ID: last.ID}.Cursor())
	}
	for _, r := range found {
		out.Reports = append(out.Reports, managedView(r))
	}
	return success(out)
}

type listData struct {
	Reports []reportView `json:"reports"`
	Total   int64        `json:"total"`
	Limit   int          `json:"limit"`
	Offset  int          `json:"offset"`
	*keyset
}

// keyset is part of a list that was requested by cursor.
type keyset struct {
	NextCursor *string `json:"nextCursor"`
	HasMore    bool    `json:"hasMore"`
}

func (a *App) listed(viewer tenant.Owner, l report.Lookup, p Page) ([]byte, error) {
	data := listData{Reports: make([]reportView, 0, len(p.Reports)), Total: p.Total, Limit: l.Limit, Offset: l.Offset}
	for _, r := range p.Reports {
		data.Reports = append(data.Reports, a.shown(viewer, r))
	}
	if l.ByCursor {
		data.keyset = &keyset{HasMore: p.More}
		if p.More {
			last := p.Reports[len(p.Reports)-1]
			data.NextCursor = textOrNull(report.Position{At: last.CreatedAt, ID: last.ID}.Cursor())
		}
	}
	return success(data)
}

type eventView struct {
	ID        string      `json:"id"`
	Type      string      `json:"type"`
	CreatedAt string      `json:"createdAt"`
	Mode      tenant.Mode `json:"mode"`
	Data      reportData  `json:"data"`
}

// eventBody is the exact webhook body of an event, which is signed and sent (docs/api-contract.md#webhooks): the report
// as GET shows it, plus its sequence.
func eventBody(e Event) ([]byte, error) {
	v := viewOf(e.Report)
	v.Sequence = e.Report.Sequence
	return encode(eventView{e.ID, e.Type, timestamp.Text(e.OccurredAt), e.Report.Mode, reportData{v}})
}

type countsView struct {
	Total      int64 `json:"total"`
	Pending    int64 `json:"pending"`
	Processing int64 `json:"processing"`
	Resolved   int64 `json:"resolved"`
	Dismissed  int64 `json:"dismissed"`
}

func countsOf(c report.Counts) countsView {
	return countsView{c.Total(), c.Of(report.Pending), c.Of(report.Processing), c.Of(report.Resolved), c.Of(report.Dismissed)}
}

type sourceView struct {
	Mode       tenant.Mode `json:"mode"`
	Address    string      `json:"walletAddress"`
	Role       Role        `json:"role"`
	KeyID      int64       `json:"apiKeyId"`
	MerchantID string      `json:"merchantId"`
	Reports    int64       `json:"reports"`
	LastHour   int64       `json:"reportsThisHour"`
	Refused    int64       `json:"refused"`
	RefusedAt  *string     `json:"lastRefusedAt"`
	FirstAt    string      `json:"firstReportedAt"`
	LastAt     string      `json:"lastReportedAt"`
}

func sourcesView(all []SourceView) []sourceView {
	out := make([]sourceView, 0, len(all))
	for _, s := range all {
		out = append(out, sourceView{
			s.Mode, s.Source.Address, s.Source.Role, s.KeyID, s.MerchantID, s.Reports, s.LastHour, s.Refused,
			timestamp.OrNull(s.RefusedAt), timestamp.Text(s.FirstAt), timestamp.Text(s.LastAt),
		})
	}
	return out
}

type suspectView struct {
	Address   string      `json:"walletAddress"`
	Mode      tenant.Mode `json:"mode"`
	Counts    countsView  `json:"counts"`
	Reporters int64       `json:"distinctReporters"`
	Merchants int64       `json:"distinctMerchants"`
	Convicted int64       `json:"resolvedFraudMerchants"`
	Confirmed bool        `json:"confirmed"`
	Judged    *judgedView `json:"decision"`
	FirstAt   *string     `json:"firstReportedAt"`
	LastAt    *string     `json:"lastReportedAt"`
}

type judgedView struct {
	Operator string `json:"operator"`
	Reason   string `json:"reason"`
	At       string `json:"at"`
}

func suspectOf(k Accused) suspectView {
	v := suspectView{
		k.Address, k.Mode, countsOf(k.Against), k.Reporters, k.Merchants, k.Convicted, k.Confirmed, nil,
		timestamp.OrNull(k.FirstAt), timestamp.OrNull(k.LastAt),
	}
	if j := k.Judged; j != nil {
		v.Judged = &judgedView{j.Operator, j.Reason, timestamp.Text(j.At)}
	}
	return v
}

type judgedData struct {
	Subject  suspectView    `json:"subject"`
	Approval *approval.View `json:"approval,omitempty"`
}

type subjectView struct {
	suspectView
	FiledFrom countsView   `json:"filedFrom"`
	Sources   []sourceView `json:"sources"`
}

type subjectsData struct {
	Subjects []subjectView `json:"subjects"`
}

func overseen(address string, known []Accused) ([]byte, error) {
	data := subjectsData{Subjects: make([]subjectView, 0, len(known))}
	for _, k := range known {
		k.Address = address
		data.Subjects = append(data.Subjects, subjectView{suspectOf(k), countsOf(k.FiledFrom), sourcesView(k.Sources)})
	}
	return success(data)
}

type suspectsAnswer struct {
	Success    bool          `json:"success"`
	Subjects   []suspectView `json:"subjects"`
	Pagination pagination    `json:"pagination"`
}

func suspected(limit int, found []Accused) ([]byte, error) {
	out := suspectsAnswer{Success: true, Subjects: []suspectView{}, Pagination: pagination{Limit: limit, HasMore: len(found) > limit}}
	if out.Pagination.HasMore {
		found = found[:limit]
		last := found[limit-1]
		out.Pagination.NextCursor = textOrNull(SuspectsAfter{last.Convicted, last.Mode, last.Address}.Cursor())
	}
	for _, k := range found {
		out.Subjects = append(out.Subjects, suspectOf(k))
	}
	return encode(out)
}

// Cursor writes the start of the next page.
func (s SuspectsAfter) Cursor() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s %s", s.Merchants, s.Mode, s.Address))
}

// ParseSuspectsAfter parses the text of Cursor.
func ParseSuspectsAfter(text string) (*SuspectsAfter, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, false
	}
	parts := strings.SplitN(string(raw), " ", 3)
	if len(parts) != 3 {
		return nil, false
	}
	merchants, err := strconv.ParseInt(parts[0], 10, 32)
	s := SuspectsAfter{merchants, tenant.Mode(parts[1]), parts[2]}
	return &s, err == nil && report.Storable(parts[1]+parts[2])
}

type floodsAnswer struct {
	Success    bool         `json:"success"`
	Floods     []sourceView `json:"floods"`
	Pagination pagination   `json:"pagination"`
}

type pagination struct {
	Limit      int     `json:"limit"`
	NextCursor *string `json:"nextCursor"`
	HasMore    bool    `json:"hasMore"`
}

func flooded(limit int, sources []SourceView) ([]byte, error) {
	out := floodsAnswer{Success: true, Pagination: pagination{Limit: limit, HasMore: len(sources) > limit}}
	if out.Pagination.HasMore {
		sources = sources[:limit]
		last := sources[limit-1]
		out.Pagination.NextCursor = textOrNull(FloodsAfter{At: last.RefusedAt, Source: last.Source, Mode: last.Mode, KeyID: last.KeyID}.Cursor())
	}
	out.Floods = sourcesView(sources)
	return encode(out)
}

// Cursor writes the start of the next page.
func (f FloodsAfter) Cursor() string {
	text := fmt.Sprintf("%d %s %s %d %s", f.At.UnixMicro(), f.Mode, f.Role, f.KeyID, f.Address)
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// ParseFloodsAfter parses the text of Cursor.
func ParseFloodsAfter(text string) (*FloodsAfter, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, false
	}
	var f FloodsAfter
	var at int64
	parts := strings.SplitN(string(raw), " ", 5)
	if len(parts) != 5 {
		return nil, false
	}
	if _, err := fmt.Sscan(parts[0]+" "+parts[3], &at, &f.KeyID); err != nil || at < 0 || at > floodsLast {
		return nil, false
	}
	f.At, f.Mode, f.Role, f.Address = time.UnixMicro(at).UTC(), tenant.Mode(parts[1]), Role(parts[2]), parts[4]
	return &f, report.Storable(parts[1] + parts[2] + parts[4])
}

// floodsLast is the end of the year 9999 in microseconds.
const floodsLast = 253402300799999999
