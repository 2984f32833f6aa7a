// Package report makes the page that compares runs: the rates with their intervals, the costs, the
// differences, what is left out and why, and a table of all instances. Package view shows it, live
// and as one file.
//
// A page is sections of texts, charts and tables. Everything that comes from outside (ids, errors,
// models, paths) is text and cannot be anything else: the template escapes it, [printable.Line]
// escapes characters that change the direction of text, and the only markup is that of the charts.
//
// Its API is not promised to other programs: see package batch.
//
// [printable.Line]: https://pkg.go.dev/batch.example/batch/internal/printable#Line
package report
