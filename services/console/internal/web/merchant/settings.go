package merchant

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	_ "image/jpeg" // formats of a logo
	_ "image/png"
	"net/http"
	"net/url"
	"strings"

	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/web"
)

// business is the merchant as the API shows it.
type business struct {
	MerchantID     string
	Name           string
	Country        string
	ContactEmail   string
	SupportContact string
	Logo           string
	Status         string
	Currencies     []string
	Networks       []string
	Types          []string
	Limits         []limit
	DailyLimits    []limit
	CreatedAt      string
	ApprovedAt     string
	SuspendedAt    string
}

type limit struct {
	FiatCurrency string
	Minimum      json.Number
	Maximum      json.Number
}

// settingsPage is the content of the pages about the business.
type settingsPage struct {
	Form     *web.Form
	Business business
	May      bool
}

func findBusiness(v *web.Visit) (business, error) {
	var answer struct{ Merchant business }
	if err := v.API.Get(v.Context(), "/v1/merchant", nil, &answer); err != nil {
		return business{}, err
	}
	return answer.Merchant, v.Called(answer.Merchant.Name)
}

// settings shows the business, with a preview of the pay page.
func settings(v *web.Visit) error {
	one, err := findBusiness(v)
	if err != nil {
		return err
	}
	return v.Render("settings", "settings.title", settingsPage{Business: one, May: v.Allows(people.MerchantManage)})
}

func showBranding(v *web.Visit) error {
	one, err := findBusiness(v)
	if err != nil {
		return err
	}
	f := v.Form(url.Values{"name": {one.Name}, "support": {one.SupportContact}, "contact": {one.ContactEmail}})
	return v.Render("branding", "branding.title", settingsPage{Form: f, Business: one})
}

// The bounds of a logo.
const (
	logoMax  = 64 << 10
	logoEdge = 512
)

// logo reads the picture of a data address, which the script makes of the chosen file.
func logo(typed string) (string, bool) {
	_, encoded, ok := strings.Cut(typed, ";base64,")
	if !ok {
		return "", false
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) > logoMax {
		return "", false
	}
	about, _, err := image.DecodeConfig(bytes.NewReader(raw))
	if err != nil || about.Width > logoEdge || about.Height > logoEdge {
		return "", false
	}
	return encoded, true
}

func changeBranding(v *web.Visit) error {
	one, err := findBusiness(v)
	if err != nil {
		return err
	}
	f := v.Form(nil)
	body := map[string]any{"supportContact": f.Get("support"), "contactEmail": f.Get("contact")}
	if name := f.Get("name"); name != "" && name != one.Name {
		body["name"] = name
	}
	switch picture := f.Get("logo"); {
	case f.Has("unlogo", "yes"):
		body["logo"] = ""
	case picture != "":
		encoded, ok := logo(picture)
		if !ok {
			f.Err("logo", v.T("branding.logo.wrong"))
			return v.Refuse("branding", "branding.title", settingsPage{Form: f, Business: one})
		}
		body["logo"] = encoded
	}
	err = v.API.Do(v.Context(), api.Call{Method: http.MethodPatch, Path: "/v1/merchant", Body: body}, nil)
	if v.Refused(f, err, "name", "name", "supportContact", "support", "contactEmail", "contact", "logo", "logo") {
		return v.Refuse("branding", "branding.title", settingsPage{Form: f, Business: one})
	}
	if err != nil {
		return err
	}
	v.Notice("branding.saved")
	return v.Redirect("/settings")
}
