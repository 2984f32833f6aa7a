package main

import (
	"context"
	"io"
	"os"

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
