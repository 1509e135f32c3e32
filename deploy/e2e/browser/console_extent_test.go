//go:build integration && !long

package browser

// The representative part of TestConsoleMatrix: two roles, each page small and dark, and wide and light.
var (
	matrixRoles  = []string{"owner", "operator"}
	matrixLooks  = []look{{phone, "dark"}, {desktop, "light"}}
	matrixSpeech = []string{"ar"}
)
