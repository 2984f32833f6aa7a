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
	postponeCollection()
	os.Exit(program(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// postponeCollection lets the heap grow to 32 MB before garbage is collected for the first
// time, and from then on collects as ever. Most commands end before that, and a dry run would
// collect six times while it only adds to what it needs.
func postponeCollection() {
	usual := debug.SetGCPercent(800) // of 4 MB
	if usual != 100 {                // somebody set GOGC
		debug.SetGCPercent(usual)
		return
	}
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
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
	a.hideKnown(os.Environ())
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(diag)
	code := a.exit(root.ExecuteContext(context.Background()))
	_, _ = out.Flush(), diag.Flush() // the reader may be gone
	return code
}
