package main

import (
	"errors"
	"strconv"
)

// width is the value of --workers: a number, or "auto" until it is resolved.
type width struct {
	n    int
	auto bool
	why  string // what auto was resolved by, for a person
}

// Set implements pflag.Value.
func (w *width) Set(s string) error {
	if s == "auto" {
		*w = width{auto: true}
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return errors.New("expected a number or auto")
	}
	*w = width{n: n}
	return nil
}

// String implements pflag.Value.
func (w *width) String() string {
	if w.auto {
		return "auto"
	}
	return strconv.Itoa(w.n)
}

// Type implements pflag.Value.
func (w *width) Type() string { return "N|auto" }
