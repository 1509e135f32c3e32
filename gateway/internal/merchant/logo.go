package merchant

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"image"
	_ "image/jpeg" // what a logo may be sent as
	"image/png"
)

// Logo is a merchant's picture for pages. Its name is the hash of its bytes, so that the bytes under a name never
// change.
type Logo struct {
	Name  string
	Image []byte // PNG
}

// Bounds of a logo that is sent.
const (
	LogoBytesMax  = 64 << 10
	logoPixelsMax = 512 // on each side
)

// LogoTextMax is the length of base64 of LogoBytesMax bytes.
const LogoTextMax = (LogoBytesMax + 2) / 3 * 4

// ReadLogo reads a picture out of base64. It draws the picture anew, so that nothing but pixels is served from the
// gateway's own address. The reason of a refusal is for the caller; it is "" for a good picture.
func ReadLogo(text string) (l Logo, refusal string) {
	const how = "must be base64 of a PNG or JPEG of at most 65536 bytes and 512 by 512 pixels"
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) > LogoBytesMax {
		return Logo{}, how
	}
	size, kind, err := image.DecodeConfig(bytes.NewReader(raw)) // before the pixels, which could be many
	if err != nil || (kind != "png" && kind != "jpeg") || size.Width < 1 || size.Height < 1 || size.Width > logoPixelsMax || size.Height > logoPixelsMax {
		return Logo{}, how
	}
	picture, _, err := image.Decode(bytes.NewReader(raw))
	if err != nil {
		return Logo{}, how
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		return Logo{}, how
	}
	sum := sha256.Sum256(out.Bytes())
	return Logo{Name: hex.EncodeToString(sum[:16]) + ".png", Image: out.Bytes()}, ""
}
