package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrBusy says that another launcher owns the instance.
var ErrBusy = errors.New("another launcher is at work in this directory")

// ownWithin is how long a killed launcher may take to vanish: the kernel gives its lock back at the very end.
const ownWithin = time.Second

// Own takes the instance for this launcher until release is called or the launcher dies, however it dies.
func Own(dir string) (release func(), err error) {
	for deadline := time.Now().Add(ownWithin); ; time.Sleep(25 * time.Millisecond) {
		release, err = lock(filepath.Join(dir, "owner.lock"), false)
		if !errors.Is(err, ErrBusy) || time.Now().After(deadline) {
			return release, err
		}
	}
}

// lock takes an flock(2), which the kernel gives back when the holder dies. The file stays: removing it would let two
// holders lock two different files.
func lock(path string, wait bool) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err = syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		_ = file.Close() // nothing was written
		return nil, ErrBusy
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = file.Close() }, nil
}
