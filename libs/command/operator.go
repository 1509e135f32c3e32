package command

import (
	"os/user"
	"regexp"
)

// person is the form of --as.
var person = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// Operator is the audit's name for the person who typed a verb. In a container every user of the system is the same, so
// there the person gives it: `--as ada.obi` before the verb.
func (in Input) Operator() string {
	if in.as != "" {
		return "cli:" + in.as
	}
	if u, err := user.Current(); err == nil {
		return "cli:" + u.Username
	}
	return "cli:unknown"
}
