package page

import "net/http"

// docsPolicy is policy with the data: images of Swagger UI's style sheet.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// showDocs serves the OpenAPI document as a reference for programmers, in English as the document is.
func (p *Pages) showDocs(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", docsPolicy)
	p.render(w, r, languages[0], http.StatusOK, "docs", nil)
}

// showGuide serves docs/merchants.md, in English alone like the document.
func (p *Pages) showGuide(w http.ResponseWriter, r *http.Request) {
	p.render(w, r, languages[0], http.StatusOK, "guide", nil)
}
