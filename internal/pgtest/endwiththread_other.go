//go:build !linux

package pgtest

import "os/exec"

// endWithThread does nothing: a server outlives a test that is killed.
func endWithThread(*exec.Cmd) {}
