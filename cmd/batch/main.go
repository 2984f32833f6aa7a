package main

import (
	"context"
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program: it never exits by itself, except on a third interrupt.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	home, _ := os.UserHomeDir() // without a home, caches and docker contexts are just not found
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, getenv: os.Getenv, home: home, args: args}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return a.exit(root.ExecuteContext(context.Background()))
}
