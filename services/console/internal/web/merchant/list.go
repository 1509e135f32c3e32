package merchant

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"causeway.internal/services/console/internal/web"
)

// pageSize is the number of rows that a list shows.
const pageSize = 25

// query is the query of a list: its filters and the cursor of the page.
func query(v *web.Visit, p *web.Pager, filters ...string) url.Values {
	q := v.Filters(filters...)
	q.Set("limit", strconv.Itoa(pageSize))
	if p.After != "" {
		q.Set("cursor", p.After)
	}
	return q
}

// pass passes a file of the API, of any length, on to the browser.
func pass(v *web.Visit, path string, q url.Values, name string) error {
	answer, err := v.API.Open(v.Context(), path, q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	h := v.W.Header()
	h.Set("Content-Type", answer.Header.Get("Content-Type"))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	v.W.WriteHeader(http.StatusOK)
	_, err = io.Copy(v.W, answer.Body) // after an error the reader sees that the file is not complete (Visit.fail)
	return err
}

// currencies and networks are the values of selects.
func currencies() []string { return []string{"NGN", "GHS", "KES", "ZAR"} }

func networks() []string {
	return []string{"bitcoin", "ethereum", "bsc", "polygon", "base", "arbitrum", "tron", "solana"}
}

// version is a short text that changes whenever a value does.
func version(of any) string {
	raw, err := json.Marshal(of)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}
