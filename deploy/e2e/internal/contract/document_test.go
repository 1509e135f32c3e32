package contract

import "testing"

// TestDocumentLoads: the published document can be used to check exchanges.
func TestDocumentLoads(t *testing.T) {
	t.Parallel()
	path, err := Find("gateway/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err != nil {
		t.Fatal(err)
	}
}
