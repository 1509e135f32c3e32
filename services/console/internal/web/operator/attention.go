package operator

import "causeway.internal/services/console/internal/web"

func attention(v *web.Visit) error {
	return v.Render("attention", "attention.title", nil)
}
