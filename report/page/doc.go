// Package page writes a comparison of runs as one self-contained HTML file, without network access
// or other files. It shows the rates with their intervals, the costs, the differences, what is left
// out and why, and a table of all instances.
//
// Everything that comes from outside (ids, errors, models, paths) is text and cannot be anything
// else: html/template escapes it, [printable.Line] escapes characters that change the direction of
// text, and a Content-Security-Policy allows only the style and the script of this package, by
// their digests. Without scripts, everything can be read; only sorting and filtering are missing.
//
// [printable.Line]: https://pkg.go.dev/batch.example/batch/internal/printable#Line
package page
