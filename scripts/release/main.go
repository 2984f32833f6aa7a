// Release builds the program as .goreleaser.yaml describes it, without goreleaser:
//
//	go run ./scripts/release build GOOS/GOARCH FILE   one target
//	go run ./scripts/release check                    darwin/arm64, and the files of the archives
//	go run ./scripts/release check --all              the same for all targets
//
// check builds one target because each costs about two minutes of CPU time without a
// build cache. It is the one that differs most from what all other tests build.
//
// It reads the targets, flags and variables from that file, so they are not repeated
// anywhere, and refuses keys that it does not know.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	c, err := readConfig(".goreleaser.yaml")
	if err != nil {
		return err
	}
	switch {
	case len(args) == 3 && args[0] == "build":
		t, ok := c.target(args[1])
		if !ok {
			return fmt.Errorf(".goreleaser.yaml has no target %s", args[1])
		}
		return t.build(args[2])
	case len(args) == 1 && args[0] == "check":
		return c.check(func(t target) bool { return t.goos == "darwin" && t.goarch == "arm64" })
	case len(args) == 2 && args[0] == "check" && args[1] == "--all":
		return c.check(func(target) bool { return true })
	default:
		return fmt.Errorf("usage: go run ./scripts/release build GOOS/GOARCH FILE | check [--all]")
	}
}

// check builds the chosen targets in a temporary folder, which it removes, and verifies them.
func (c *config) check(chosen func(target) bool) error {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, line := range c.Before.Hooks {
		if err := run(exec.Command("bash", "-c", line)); err != nil {
			return fmt.Errorf("hook %s: %w", line, err)
		}
	}
	for _, t := range slices.DeleteFunc(c.targets(), func(t target) bool { return !chosen(t) }) {
		file := filepath.Join(dir, t.goos+"-"+t.goarch)
		if err := t.build(file); err != nil {
			return err
		}
		if err := t.verify(file); err != nil {
			return fmt.Errorf("%s/%s: %w", t.goos, t.goarch, err)
		}
		if t.goos == runtime.GOOS && t.goarch == runtime.GOARCH {
			if err := run(exec.Command(file, "version")); err != nil {
				return fmt.Errorf("running the program for this machine: %w", err)
			}
		}
		_ = os.Remove(file) // a disk may be small
	}
	return c.filesExist()
}

// filesExist returns an error if a file of an archive does not exist.
func (c *config) filesExist() error {
	for _, a := range c.Archives {
		for _, f := range a.Files {
			found, err := filepath.Glob(f.Src)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				return fmt.Errorf("archives: no file matches %s", f.Src)
			}
		}
	}
	return nil
}

func run(c *exec.Cmd) error {
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	return c.Run()
}
