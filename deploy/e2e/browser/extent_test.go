//go:build integration && !long

package browser

// The representative part of TestConsoleMatrix: a page of each kind for two roles, small and dark, and wide and light.
// The pages of TestConsoleLanguages are of each kind too.
var (
	matrixPages  = []string{"overview", "payments", "payment", "payment-new", "webhook", "keys", "attention", "merchant", "pauses-new"}
	speechPages  = []string{"/overview", "/payments/one", "/payments/new", "/webhooks/new", "/attention", "/treasury", "/pauses/new"}
	matrixRoles  = []string{"owner", "operator"}
	matrixLooks  = []look{{phone, "dark"}, {desktop, "light"}}
	matrixSpeech = []string{"ar"}
)

// stillPictures asks pages to move nothing: the processors draw what moves sixty times a second.
const stillPictures = true

// flowSizes is one size for each flow: half of them have the phone.
func flowSizes(test string) []size {
	if len(test)%2 == 1 {
		return []size{phone}
	}
	return []size{desktop}
}
