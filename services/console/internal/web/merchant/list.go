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

// pageSize is how many rows a list shows.
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

// pass sends a file of the API on to the browser, of any length.
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
	_, err = io.Copy(v.W, answer.Body) // after an error the reader sees that the file is not whole (Visit.fail)
	return err
}

// currencies and networks are the values of selects.
func currencies() []string { return []string{"NGN", "GHS", "KES", "ZAR"} }

func networks() []string {
	return []string{"bitcoin", "ethereum", "bsc", "polygon", "base", "arbitrum", "tron", "solana"}
}

// version is a short text that changes with a value.
func version(of any) string {
	raw, err := json.Marshal(of)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}
