//go:build race

package main

// The race detector multiplies the memory that a program needs.
func init() { raceEnabled = true }
