package merchant

import "causeway.internal/services/console/internal/web"

func overview(v *web.Visit) error {
	return v.Render("overview", "overview.title", nil)
}
