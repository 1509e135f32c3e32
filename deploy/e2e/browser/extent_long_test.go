//go:build integration && long

package browser

// Every page of every role, three sizes, both schemes, every language.
var (
	matrixPages []string
	speechPages []string
	matrixRoles = []string{"owner", "developer", "finance", "support", "read_only", "operator", "approver", "auditor"}
	matrixLooks = []look{
		{phone, "light"}, {phone, "dark"}, {tablet, "light"}, {tablet, "dark"}, {desktop, "light"}, {desktop, "dark"},
	}
	matrixSpeech = []string{"fr", "sw", "ha", "yo", "pt", "ar"}
)

const stillPictures = false

func flowSizes(string) []size { return []size{phone, desktop} }
