package main

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// refused runs a command with and without --dry-run, which must end with the same exit
// code and the same error: refused 2 batch run ...
func refused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: refused CODE COMMAND SUBCOMMAND [ARG...]")
	}
	exits(ts, false, append(append([]string{}, args...), "--dry-run"))
	planned := ts.ReadFile("stderr")
	exits(ts, false, args)
	if run := ts.ReadFile("stderr"); run != planned || strings.TrimSpace(run) == "" {
		ts.Fatalf("with --dry-run:\n%s\nwithout:\n%s", planned, run)
	}
}
