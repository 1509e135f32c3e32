package command

import "os/user"

// Operator is how an audit names the person who typed a verb.
func Operator() string {
	if u, err := user.Current(); err == nil {
		return "cli:" + u.Username
	}
	return "cli:unknown"
}
