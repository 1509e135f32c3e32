package page

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// texts is every word that pages show, by key; {0}, {1} … stand for what a page fills in. A translation is another file
// of the same keys.
//
//go:embed texts.json
var texts []byte

var words = parseTexts()

func parseTexts() map[string]string {
	var all map[string]string
	if err := json.Unmarshal(texts, &all); err != nil {
		panic(fmt.Sprintf("texts.json: %v", err)) // embedded: found by the first test
	}
	return all
}

// text is the text of a key with its gaps filled in. A key without a text returns itself; a test refuses that.
func text(key string, fill ...any) string {
	s, ok := words[key]
	if !ok {
		return key
	}
	if len(fill) == 0 {
		return s
	}
	pairs := make([]string, 0, 2*len(fill))
	for i, v := range fill {
		pairs = append(pairs, "{"+strconv.Itoa(i)+"}", fmt.Sprint(v))
	}
	return strings.NewReplacer(pairs...).Replace(s)
}
