// Package needy has a test that needs an engine, and one that takes it long.
package needy

func Has(n int) bool { return n > 0 }
