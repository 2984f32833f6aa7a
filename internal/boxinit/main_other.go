//go:build !linux

package main

import "os"

func main() {
	_, _ = os.Stderr.WriteString("boxinit: it is for Linux only\n")
	os.Exit(1)
}
