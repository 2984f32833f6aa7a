package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/internal/tier"
)

// summarize prints the last screen of a test run, from the files in a folder: how many tests ended, the
// ten packages that took most of a processor, what was left out, and for each test that failed its last
// lines, the seed that repeats it and the command that runs it alone. It returns an error if one failed.
//
// Files that end in .json come from gotestsum --jsonfile: the events of `go test -json`. The tests in
// those that begin with "raced" have the race detector. A test that failed and passed when it was run
// again has not failed. One that did not end has, if its package failed. The file cpu comes from
// scripts/cputime. The packages in left did not run at all.
func summarize(out io.Writer, dir string, short bool, left []string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	r := run{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		err = r.read(f, path.Base(name))
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	r.printTotal(out)
	if text, err := os.ReadFile(filepath.Join(dir, "cpu")); err == nil {
		printCost(out, string(text))
	}
	r.printSampled(out)
	r.printLeft(out, left)
	return r.printFailed(out, short)
}

// printTotal prints the sum of what gotestsum prints for each part, in its form: CI reads the last one.
func (r run) printTotal(out io.Writer) {
	ended := map[string]int{}
	for of, t := range r {
		if of.test != "" {
			ended[t.action]++
		}
	}
	fmt.Fprintf(out, "\nDONE %d tests, %d skipped, %d failures\n", ended["pass"]+ended["skip"]+ended["fail"], ended["skip"], ended["fail"])
}

// printCost prints the ten packages whose tests took most of a processor. A line of the text is
// USER SYSTEM ELAPSED FOLDER, in seconds.
func printCost(out io.Writer, text string) {
	cost, sum := map[string]float64{}, 0.0
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 4 {
			continue
		}
		user, _ := strconv.ParseFloat(f[0], 64)
		system, _ := strconv.ParseFloat(f[1], 64)
		cost[f[3]] += user + system
		sum += user + system
	}
	names := slices.SortedFunc(maps.Keys(cost), func(a, b string) int {
		return cmp.Or(cmp.Compare(cost[b], cost[a]), cmp.Compare(a, b))
	})
	fmt.Fprintf(out, "== %.0f s of a processor for the tests of %d packages; most for", sum, len(names))
	for i, name := range names[:min(10, len(names))] {
		fmt.Fprintf(out, "%s %s %.0f", map[bool]string{true: "", false: ","}[i == 0], name, cost[name])
	}
	fmt.Fprintln(out)
}

// event is one of the events that `go doc test2json` describes.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// id names a test of one file of events, or a package where test is empty.
type id struct{ file, pkg, test string }

// result is how a test ended the last time, and the end of what it printed.
type result struct {
	action  string // empty: it has not ended
	elapsed float64
	lines   []string
	raced   bool // it is built with the race detector
}

// kept is how many lines of a test are shown.
const kept = 15

type run map[id]*result

// read adds the events of one file. Lines that are not events are left out: a program may have
// written into the middle of one.
func (r run) read(in io.Reader, file string) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil && e.Action != "" {
			r.add(e, file)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r run) add(e event, file string) {
	built, _, _ := strings.Cut(e.ImportPath, " ") // "PACKAGE [PACKAGE.test]"
	of := id{file, cmp.Or(e.Package, built), e.Test}
	raced := strings.HasPrefix(file, "raced")
	t := r[of]
	if t == nil {
		t = &result{raced: raced}
		r[of] = t
	}
	switch e.Action {
	case "start", "run":
		*t = result{raced: raced}
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
	whole := r[id{file: of.file, pkg: of.pkg}]
	return t.action == "fail" || t.action == "" && of.test != "" && whole != nil && whole.action == "fail"
}

func (r run) failedBelow(of id) bool {
	for other, t := range r {
		below := of.test == "" && other.test != "" || of.test != "" && strings.HasPrefix(other.test, of.test+"/")
		if below && other.file == of.file && other.pkg == of.pkg && r.badly(other, t) {
			return true
		}
	}
	return false
}

var seedIn = regexp.MustCompile(`BATCH_SEED=\d+`)

// seed is the one that the test or a test above it printed.
func (r run) seed(of id) string {
	for test := of.test; ; test = path.Dir(test) {
		if t := r[id{of.file, of.pkg, test}]; t != nil {
			if seed := seedIn.FindString(strings.Join(t.lines, "\n")); seed != "" {
				return seed + " "
			}
		}
		if !strings.Contains(test, "/") {
			return ""
		}
	}
}

var sampledIn = regexp.MustCompile(`sampled (\d+) of (\d+)`)

// printSampled says in one line which tests ran a part, and how much of it.
func (r run) printSampled(out io.Writer) {
	var list []string
	for of, t := range r {
		if m := sampledIn.FindStringSubmatch(strings.Join(t.lines, "\n")); m != nil && m[1] != m[2] {
			list = append(list, fmt.Sprintf("%s %s %s of %s", strings.TrimPrefix(of.pkg, module+"/"), of.test, m[1], m[2]))
		}
	}
	if len(list) > 0 {
		slices.Sort(list)
		fmt.Fprintln(out, "== sampled:", strings.Join(list, ", "))
	}
}

// printLeft says in one line what was left to `make test-all`.
func (r run) printLeft(out io.Writer, whole []string) {
	n, in := 0, map[string]bool{}
	for of, t := range r {
		if t.action == "skip" && strings.Contains(strings.Join(t.lines, " "), tier.Message) {
			n++
			in[of.pkg] = true
		}
	}
	if n+len(whole) > 0 {
		fmt.Fprintf(out, "== %s: %d tests in %d packages, and all tests of %s\n", tier.Message, n, len(in), cmp.Or(strings.Join(whole, ", "), "none"))
	}
}

func (r run) printFailed(out io.Writer, short bool) error {
	list := r.failed()
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintf(out, "== %d failed\n", len(list))
	for _, of := range list {
		t := r[of]
		folder := "." + strings.TrimPrefix(of.pkg, module)
		ended := fmt.Sprintf("%.1f s", t.elapsed)
		if t.action == "" {
			ended = "did not end"
		}
		fmt.Fprintf(out, "\n-- %s (%s)\n", strings.TrimSpace(folder+" "+of.test), ended)
		for _, line := range t.lines[max(0, len(t.lines)-kept):] {
			fmt.Fprintf(out, "   %.200s\n", line)
		}
		flags := ""
		if t.raced {
			flags += " -race"
		}
		if short {
			flags += " -short"
		}
		if of.test != "" {
			flags += " -run '" + pattern(of) + "'"
		}
		fmt.Fprintf(out, "   alone: %sscripts/test %s%s\n", r.seed(of), folder, flags)
	}
	return fmt.Errorf("%d failed", len(list))
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
