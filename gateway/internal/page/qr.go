package page

import (
	"fmt"
	"html/template"
	"strings"

	"rsc.io/qr"
)

// quiet is the light margin that ISO/IEC 18004 asks for, in modules.
const quiet = 4

// qrCode draws a text as a QR code of level M, as one SVG path: no image request, and sharp at any size. label is what
// a screen reader says.
func qrCode(content, label string) (template.HTML, error) {
	code, err := qr.Encode(content, qr.M)
	if err != nil {
		return "", fmt.Errorf("draw a QR code: %w", err)
	}
	var d strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			run := 0
			for x+run < code.Size && code.Black(x+run, y) {
				run++
			}
			if run > 0 {
				fmt.Fprintf(&d, "M%d %dh%dv1h-%dz", x+quiet, y+quiet, run, run)
				x += run
			}
		}
	}
	side := code.Size + 2*quiet
	svg := fmt.Sprintf(`<svg class="qr" viewBox="0 0 %d %d" role="img" aria-label="%s" shape-rendering="crispEdges">`+
		`<path fill="#fff" d="M0 0h%dv%dh-%dz"/><path fill="#000" d="%s"/></svg>`,
		side, side, template.HTMLEscapeString(label), side, side, side, d.String())
	return template.HTML(svg), nil //nolint:gosec // numbers, and a label that is escaped
}
