package main

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
)

// templateVars are what templates are shown of an environment. Both the check
// before a run and its sandboxes have them from here.
type templateVars map[string]any

// Vars implements agent.Environment.
func (v templateVars) Vars() map[string]any { return v }

// hostVars has the members of Python's platform.uname of this machine, which
// mini-swe-agent's templates use.
func hostVars() templateVars {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		host, _ := os.Hostname()
		return templateVars{"system": "", "node": host, "release": "", "version": "", "machine": ""}
	}
	return templateVars{
		"system":  unix.ByteSliceToString(u.Sysname[:]),
		"node":    unix.ByteSliceToString(u.Nodename[:]),
		"release": unix.ByteSliceToString(u.Release[:]),
		"version": unix.ByteSliceToString(u.Version[:]),
		"machine": unix.ByteSliceToString(u.Machine[:]),
	}
}

// unopened is an environment that is only looked at.
type unopened struct{ templateVars }

// Execute implements agent.Environment.
func (unopened) Execute(context.Context, string) (agent.Output, error) {
	return agent.Output{}, fault.Newf(fault.Bug, "executing a command in an environment that is not open")
}
