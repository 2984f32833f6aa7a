//go:build !man

package main

import "github.com/spf13/cobra"

// generators are the commands that only a build with the tag man has.
func (a *app) generators() []*cobra.Command { return nil }
