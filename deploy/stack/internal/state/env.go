package state

import (
	"path/filepath"
	"strings"
)

// Variables are what programs that use the product read.
func (p Product) Variables() []string {
	return []string{
		"BASE_URL=" + p.BaseURL,
		"API_KEY=" + p.APIKey,
		"ADMIN_TOKEN=" + p.AdminToken,
		"WEBHOOK_SECRET=" + p.WebhookSecret,
	}
}

// EnvFile renders variables for a shell to source. Values are quoted only where a shell needs it, so that other tools
// can read the file too.
func EnvFile(variables []string) string {
	var out strings.Builder
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		out.WriteString(name + "=" + quote(value) + "\n")
	}
	return out.String()
}

func quote(value string) string {
	for _, r := range value {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:+=@%,", r)
		if !plain {
			return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
	}
	return value
}

// WriteEnv leaves the product's variables in the directory's env file.
func (s *State) WriteEnv() error {
	return WriteFile(filepath.Join(s.Dir, "env"), []byte(EnvFile(s.Product.Variables())))
}
