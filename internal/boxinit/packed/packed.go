// Package packed has batch's helper as engines need it: internal/boxinit, built and compressed by
// scripts/boxinit for the machines that engines run on. An engine starts it as /dev/batch/init,
// without arguments, as process 1 of a container, with the container's user and environment and
// with /proc.
package packed

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
)

//go:embed linux-*.gz
var programs embed.FS

// For returns the compressed helper for Linux on an architecture, by Go's name for it; nil if there
// is none.
func For(arch string) []byte {
	gz, _ := programs.ReadFile("linux-" + arch + ".gz")
	return gz
}

// Unpack returns the program that For returned.
func Unpack(gz []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(gz))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
