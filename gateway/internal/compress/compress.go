// Package compress sends pages and JSON compressed to callers that accept it.
package compress

import (
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// Answers below least are sent as they are: they fit into one packet.
const least = 1 << 10

// kinds are the content types that shrink. Exports in CSV are streamed row by row and stay as they are.
var kinds = []string{"text/html", "text/css", "text/javascript", "application/javascript", "application/json", "application/yaml", "image/svg+xml"}

const suffix = "-gzip"

// Handler compresses the answers that next gives to GET. Answers to other methods stay as they are, and so do those
// that show a secret: nobody may measure its length beside text that another person chose.
func Handler(next http.Handler) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(
		gzhttp.MinSize(least), gzhttp.ContentTypes(kinds), gzhttp.SuffixETag(suffix),
		gzhttp.EnableZstd(false), // one encoder of it holds megabytes
	)
	if err != nil {
		return nil, fmt.Errorf("make the compressing handler: %w", err)
	}
	compressed := wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || path.Base(r.URL.Path) == "secret" {
			next.ServeHTTP(w, r)
			return
		}
		if tag := r.Header.Get("If-None-Match"); tag != "" {
			r.Header.Set("If-None-Match", strings.ReplaceAll(tag, suffix+`"`, `"`)) // the tag of the plain answer
		}
		compressed.ServeHTTP(w, r)
	}), nil
}
