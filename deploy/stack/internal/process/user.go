package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// User is the account a process runs under when the launcher is root.
type User struct {
	Name string `json:"name"`
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
}

// Unprivileged picks the first existing account of the names. It returns nil when the launcher is not root: then
// everything runs as the user who called it.
func Unprivileged(names ...string) (*User, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range names {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(found.Uid)
		gid, gidErr := strconv.Atoi(found.Gid)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("read user %s: %w", name, err)
		}
		return &User{Name: name, UID: uid, GID: gid}, nil
	}
	return nil, fmt.Errorf("none of the users %v exists", names)
}

func (u *User) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID)}
}

// Run runs a short command as the user and returns what it printed when it fails.
func (u *User) Run(environ []string, path string, args ...string) error {
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = "/", environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: u.credential()}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(path), err, out)
	}
	return nil
}

// CanReach says whether the user may enter the directory, which needs every parent to be searchable.
func (u *User) CanReach(dir string) bool {
	return u == nil || u.Run(nil, "/bin/sh", "-c", `cd "$0"`, dir) == nil
}

// Own makes the directory, private to the user.
func (u *User) Own(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory: %w", err)
	}
	if u == nil {
		return nil
	}
	if err := os.Chown(dir, u.UID, u.GID); err != nil {
		return fmt.Errorf("give %s to %s: %w", dir, u.Name, err)
	}
	return nil
}

// Write writes a file that belongs to the user and that only the user may read.
func (u *User) Write(path, content string) error {
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return fmt.Errorf("write a file: %w", err)
	}
	if u == nil {
		return nil
	}
	if err := os.Chown(path, u.UID, u.GID); err != nil {
		return fmt.Errorf("give %s to %s: %w", path, u.Name, err)
	}
	return nil
}
