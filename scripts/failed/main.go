// Failed prints the last screen of a failed test run: for each test that failed, its last lines,
// the seed that repeats it and the command that runs it alone.
//
//	go run ./scripts/failed FILE...
//
// The files come from gotestsum --jsonfile: the events of `go test -json`. The tests in
// measured.json are built without the race detector. A test that failed and passed when it was run
// again has not failed. One that did not end has, if its package failed.
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
		err = r.read(f, path.Base(name) == "measured.json")
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
	action   string // empty: it has not ended
	elapsed  float64
	lines    []string
	measured bool // it is built without the race detector
}

// kept is how many lines of a test are shown.
const kept = 15

type run map[id]*result

// read adds the events of one file. Lines that are not events are left out: a program may have
// written into the middle of one.
func (r run) read(in io.Reader, measured bool) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil && e.Action != "" {
			r.add(e, measured)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r run) add(e event, measured bool) {
	built, _, _ := strings.Cut(e.ImportPath, " ") // "PACKAGE [PACKAGE.test]"
	of := id{cmp.Or(e.Package, built), e.Test}
	t := r[of]
	if t == nil {
		t = &result{measured: measured}
		r[of] = t
	}
	switch e.Action {
	case "start", "run":
		*t = result{measured: measured}
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
// that failed without one, because they did not compile, panicked or reached a time limit.
func (r run) failed() []id {
	var list []id
	for of, t := range r {
		if r.badly(of, t) && !r.failedBelow(of) {
			list = append(list, of)
		}
	}
	slices.SortFunc(list, func(a, b id) int { return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.test, b.test)) })
	return list
}

// badly reports whether a test failed, or hung until its package was ended.
func (r run) badly(of id, t *result) bool {
	whole := r[id{pkg: of.pkg}]
	return t.action == "fail" || t.action == "" && of.test != "" && whole != nil && whole.action == "fail"
}

func (r run) failedBelow(of id) bool {
	for other, t := range r {
		below := of.test == "" && other.test != "" || of.test != "" && strings.HasPrefix(other.test, of.test+"/")
		if below && other.pkg == of.pkg && r.badly(other, t) {
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
		ended := fmt.Sprintf("%.1f s", t.elapsed)
		if t.action == "" {
			ended = "did not end"
		}
		fmt.Fprintf(out, "\n-- %s (%s)\n", strings.TrimSpace(folder+" "+of.test), ended)
		for _, line := range t.lines[max(0, len(t.lines)-kept):] {
			fmt.Fprintf(out, "   %.200s\n", line)
		}
		without, only := " -race", ""
		if t.measured {
			without = ""
		}
		if of.test != "" {
			only = " -run '" + pattern(of) + "'"
		}
		fmt.Fprintf(out, "   alone: %s%sscripts/test %s%s%s\n", r.seed(of), variables(t), folder, without, only)
	}
}

// variables returns the variables, beside the seed, that the command to run a test alone needs.
func variables(t *result) string {
	text := ""
	if os.Getenv("BATCH_TESTS") == "all" {
		text = "BATCH_TESTS=all "
	}
	if t.measured {
		text += "CGO_ENABLED=0 "
	}
	return text
}

// pattern is the -run flag for one test. A command of the README needs those before it.
func pattern(of id) string {
	names := strings.Split(of.test, "/")
	if strings.HasSuffix(of.pkg, "internal/readme") {
		names = names[:1]
	}
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	return strings.Join(names, "/")
}
