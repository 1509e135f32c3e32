package state

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Secrets are the generated keys and passwords of an instance, kept for as long as its data.
type Secrets struct {
	path   string
	values map[string]string
}

// LoadSecrets reads the directory's secrets.
func LoadSecrets(dir string) (*Secrets, error) {
	s := &Secrets{path: filepath.Join(dir, "secrets.json"), values: map[string]string{}}
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the secrets: %w", err)
	}
	if err := json.Unmarshal(text, &s.values); err != nil {
		return nil, fmt.Errorf("read the secrets in %s: %w", s.path, err)
	}
	return s, nil
}

// Get returns the secret of that name and makes it first if there is none.
func (s *Secrets) Get(name string, make func() string) (string, error) {
	if value, ok := s.values[name]; ok {
		return value, nil
	}
	s.values[name] = make()
	text, err := json.MarshalIndent(s.values, "", "  ")
	if err != nil {
		return "", fmt.Errorf("render the secrets: %w", err)
	}
	return s.values[name], WriteFile(s.path, text)
}

// Key makes 32 random bytes in base64.
func Key() string { return base64.StdEncoding.EncodeToString(random(32)) }

// Password makes a password that needs no escaping in a URL.
func Password() string { return hex.EncodeToString(random(16)) }

// Suffix makes a short random name.
func Suffix() string { return hex.EncodeToString(random(4)) }

func random(count int) []byte {
	bytes := make([]byte, count)
	_, _ = rand.Read(bytes) // never fails (crypto/rand since Go 1.24)
	return bytes
}
