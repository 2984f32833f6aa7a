//go:build race

package main

// The race detector multiplies what a program takes of memory.
func init() { raceEnabled = true }
