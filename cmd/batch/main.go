package main

import (
	"context"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/printable"
)

func main() {
	os.Exit(program(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// program is batch: it never exits by itself, except on a third interrupt.
func program(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	home, _ := os.UserHomeDir() // without a home, caches and docker contexts are just not found
	secrets := mask.New()
	rows := printable.NewWriter(stdout)
	out, diag := secrets.Writer(rows), secrets.Writer(printable.NewWriter(stderr))
	a := &app{
		stdin: stdin, stdout: out, stderr: diag, rows: rows, mask: secrets,
		getenv: os.Getenv, home: home, args: args,
	}
	a.process().HideKnown(os.Environ())
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(diag)
	code := a.exit(root.ExecuteContext(context.Background()))
	_, _ = out.Flush(), diag.Flush() // the reader may be gone
	return code
}

// postponeCollection lets the heap grow to 32 MB before garbage is collected for the first
// time, and then collects as usual. It is for commands that read, print and end: a dry run of
// 500 rows would collect six times while its heap only grows. It is not for runs: their memory
// has a limit, and their first steps may need much at once.
func postponeCollection() {
	usual := debug.SetGCPercent(800) // of 4 MB
	if usual != 100 {                // GOGC is set
		debug.SetGCPercent(usual)
		return
	}
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}

// The garbage of many agents: their conversations stay, and their steps make little else.
const (
	manyAgents  = 100
	manyPercent = 20 // of the heap that lives
)

// collectOften lets the heap of many agents grow by less than Go does between two collections, by
// which it doubles. A thousand agents then take two thirds of the memory, for about a tenth of a core.
func collectOften(agents int) {
	if agents < manyAgents {
		return
	}
	if usual := debug.SetGCPercent(manyPercent); usual != 100 { // GOGC is set
		debug.SetGCPercent(usual)
	}
}
