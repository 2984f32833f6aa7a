// Failed prints the last screen of a failed test run: for each test that failed, its last lines,
// the seed that repeats it and the command that runs it alone.
//
//	go run ./scripts/failed FILE...
//
// The files are those of gotestsum --jsonfile, the events of `go test -json`. A test that failed
// and passed when it was run again has not failed.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := command(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "failed:", err)
		os.Exit(1)
	}
}

func command(out io.Writer, files []string) error {
	r := run{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		err = r.read(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	r.print(out)
	return nil
}

// event is one of the events that `go doc test2json` describes.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// id names a test, or a package where test is empty.
type id struct{ pkg, test string }

// result is how a test ended the last time, and the end of what it printed.
type result struct {
	action  string
	elapsed float64
	lines   []string
}

// kept is how many lines of a test are shown.
const kept = 15

type run map[id]*result

// read adds the events of one file. Lines that are not events, such as those of a program that wrote
// into the middle of one, are left out.
func (r run) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil && e.Action != "" {
			r.add(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r run) add(e event) {
	of := id{cmp.Or(e.Package, e.ImportPath), e.Test}
	t := r[of]
	if t == nil {
		t = &result{}
		r[of] = t
	}
	switch e.Action {
	case "start", "run":
		*t = result{}
	case "output", "build-output":
		line := strings.TrimRight(e.Output, "\n")
		if mark := strings.TrimSpace(line); mark == "" || strings.HasPrefix(mark, "=== ") {
			return
		}
		t.lines = append(t.lines, line)
	case "pass", "fail", "skip", "build-fail":
		t.action, t.elapsed = strings.TrimPrefix(e.Action, "build-"), e.Elapsed
	}
}

// failed returns the tests that failed and have no failed test below them, and the packages
// that failed without one: those that did not compile, or ended by a panic or in a time limit.
func (r run) failed() []id {
	var list []id
	for of, t := range r {
		if t.action == "fail" && !r.failedBelow(of) {
			list = append(list, of)
		}
	}
	slices.SortFunc(list, func(a, b id) int { return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.test, b.test)) })
	return list
}

func (r run) failedBelow(of id) bool {
	for other, t := range r {
		below := of.test == "" && other.test != "" || of.test != "" && strings.HasPrefix(other.test, of.test+"/")
		if below && other.pkg == of.pkg && t.action == "fail" {
			return true
		}
	}
	return false
}

var seedIn = regexp.MustCompile(`BATCH_SEED=\d+`)

// seed is the one that the test or a test above it printed.
func (r run) seed(of id) string {
	for test := of.test; ; test = path.Dir(test) {
		if t := r[id{of.pkg, test}]; t != nil {
			if seed := seedIn.FindString(strings.Join(t.lines, "\n")); seed != "" {
				return seed + " "
			}
		}
		if !strings.Contains(test, "/") {
			return ""
		}
	}
}

func (r run) print(out io.Writer) {
	list := r.failed()
	fmt.Fprintf(out, "== %d failed\n", len(list))
	for _, of := range list {
		t := r[of]
		folder := "." + strings.TrimPrefix(of.pkg, "batch.example/batch")
		fmt.Fprintf(out, "\n-- %s (%.1f s)\n", strings.TrimSpace(folder+" "+of.test), t.elapsed)
		for _, line := range t.lines[max(0, len(t.lines)-kept):] {
			fmt.Fprintf(out, "   %.200s\n", line)
		}
		only := ""
		if of.test != "" {
			only = " -run '" + pattern(of.test) + "'"
		}
		fmt.Fprintf(out, "   alone: %sscripts/test %s -race%s\n", r.seed(of), folder, only)
	}
}

// pattern is the -run flag for one test.
func pattern(test string) string {
	names := strings.Split(test, "/")
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	return strings.Join(names, "/")
}
