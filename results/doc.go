// Package results is the run directory: its format, and the only code that
// writes it. (The format's specification goes here.)
package results
