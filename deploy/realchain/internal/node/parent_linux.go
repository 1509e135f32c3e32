package node

import (
	"os/exec"
	"syscall"
)

// DieWithParent makes a child end when this process is killed.
func DieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
