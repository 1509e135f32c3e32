package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// Mark is the variable that every process of an instance carries in its environment.
func Mark(dir string) string { return "CAUSEWAY_INSTANCE=" + dir }

// Marked finds every live process with the instance's mark, recorded or not: also those that a launcher started but
// could not record before it was killed.
func Marked(dir string) []Ref {
	mark := []byte(Mark(dir))
	entries, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var found []Ref
	for _, entry := range entries {
		environ, err := os.ReadFile(entry)
		if err != nil || !hasVariable(environ, mark) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(entry)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if ref, err := Identify(pid); err == nil {
			found = append(found, ref)
		}
	}
	return found
}

func hasVariable(environ, variable []byte) bool {
	for one := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.Equal(one, variable) {
			return true
		}
	}
	return false
}
