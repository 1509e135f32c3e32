package merchant

import (
	"net/url"

	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/web"
)

type complaint struct {
	ReportID, ComplaintType, Name, PhoneNumber, WalletAddress, SessionReference, FraudsterWalletAddress, Description, Status string
	Confirmer, AdminNotes, CreatedAt, UpdatedAt                                                                              string
}

// Next are the statuses to which the report may change.
func (r complaint) Next() []string {
	switch r.Status {
	case "pending":
		return []string{"processing", "dismissed"}
	case "processing":
		return []string{"resolved", "dismissed"}
	}
	return nil
}

func complaints() []string { return []string{"track_transaction", "stolen_funds", "fraud"} }

type reportsPage struct {
	Reports  []complaint
	Pager    *web.Pager
	Statuses []string
	Types    []string
}

func listReports(v *web.Visit) error {
	p := reportsPage{Pager: v.NewPager(), Statuses: []string{"pending", "processing", "resolved", "dismissed"}, Types: complaints()}
	var list struct {
		Data struct {
			Reports    []complaint
			Pagination pagination
		}
	}
	if err := v.API.Get(v.Context(), "/v1/reports", query(v, p.Pager, "status", "complaintType"), &list); err != nil {
		return err
	}
	p.Reports = list.Data.Reports
	v.More(p.Pager, list.Data.Pagination.NextCursor)
	return v.Render("reports", "reports.title", p)
}

type reportPage struct {
	R    complaint
	Form *web.Form
}

func reportForm(v *web.Visit, f func(complaint) *web.Form, render func(page, title string, data any) error) error {
	var answer struct{ Data struct{ Report complaint } }
	if err := v.API.Get(v.Context(), api.Path("v1", "reports", v.Param("id")), nil, &answer); err != nil {
		return err
	}
	r := answer.Data.Report
	return render("report", "reports.one", reportPage{r, f(r)})
}

func showReport(v *web.Visit) error {
	return reportForm(v, func(r complaint) *web.Form {
		return v.Form(url.Values{"confirmer": {r.Confirmer}, "notes": {r.AdminNotes}})
	}, v.Render)
}

func changeReport(v *web.Visit) error {
	f := v.Form(nil)
	body := map[string]string{}
	for name, member := range map[string]string{"status": "status", "confirmer": "confirmer", "notes": "adminNotes"} {
		if text := f.Get(name); text != "" {
			body[member] = text
		}
	}
	err := v.API.Do(v.Context(), api.Call{Method: "PATCH", Path: api.Path("v1", "reports", v.Param("id")), Body: body}, nil)
	if err != nil {
		if !v.Refused(f, err, "status", "status", "confirmer", "confirmer", "adminNotes", "notes") {
			return err
		}
		return reportForm(v, func(complaint) *web.Form { return f }, v.Refuse)
	}
	v.Notice("reports.changed")
	return v.Redirect("/reports/" + url.PathEscape(v.Param("id")))
}

type newReportPage struct {
	Form  *web.Form
	Types []string
}

func askReport(v *web.Visit) error {
	f := v.Form(url.Values{"complaintType": {"fraud"}, "sessionReference": {v.Query("payment")}})
	return v.Render("report-new", "reports.new", newReportPage{f, complaints()})
}

func createReport(v *web.Visit) error {
	f := v.Form(nil)
	again := func() error { return v.Refuse("report-new", "reports.new", newReportPage{f, complaints()}) }
	if !v.Need(f, "name") {
		return again()
	}
	body := map[string]string{}
	fields := []string{"complaintType", "name", "phoneNumber", "walletAddress", "sessionReference", "fraudsterWalletAddress", "description"}
	var members []string
	for _, name := range fields {
		members = append(members, name, name)
		if text := f.Get(name); text != "" {
			body[name] = text
		}
	}
	var made struct{ Data struct{ Report complaint } }
	if err := v.API.Post(v.Context(), "/v1/reports", f.Key, body, &made); err != nil {
		if !v.Refused(f, err, members...) {
			return err
		}
		return again()
	}
	v.Notice("reports.made", "id", made.Data.Report.ReportID)
	return v.Redirect("/reports/new")
}
