//go:build !linux

package mcp

import "os/exec"

// endWithThread does nothing: a program that ignores the end of its stdin outlives this
// process when it is killed.
func endWithThread(*exec.Cmd) {}
