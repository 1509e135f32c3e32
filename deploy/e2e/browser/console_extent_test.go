//go:build integration && !long

package browser

// The representative part of TestConsoleMatrix: some pages of two roles, small and dark, and wide and light.
var (
	matrixPages = []string{
		"overview", "payments", "payment", "payment-new", "link", "webhook", "keys", "settings", "team", "account", "attention", "merchant", "pauses-new", "search",
	}
	matrixRoles  = []string{"owner", "operator"}
	matrixLooks  = []look{{phone, "dark"}, {desktop, "light"}}
	matrixSpeech = []string{"ar"}
)
