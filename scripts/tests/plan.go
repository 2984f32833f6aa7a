package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/internal/tier"
)

const module = "batch.example/batch"

// apart has the packages whose tests `make test` leaves out whole, until they are woken: they do not
// even have to be built. The paths wake them too, besides the package and what it imports.
var apart = map[string][]string{
	"e2e/scale":         {"runner", "run/*.go", "run/rundir", "attempt/*.go", "attempt/session", "sandbox/*.go", "journal", "internal/box", "docker/*.go"},
	"internal/kubetest": {"scripts/kube", "scripts/kubernetes"},
	"kube":              {"scripts/kube", "scripts/kubernetes"},
}

// raced has the packages that run with the race detector in `make test` too.
var raced = []string{"attempt", "attempt/session", "internal/box", "journal", "llm/limit", "results", "run/control", "runner"}

// longest has the packages that take most time, which begin first.
var longest = []string{"internal/readme", "e2e/faults", "e2e/runs", "docker", "e2e/grading"}

// shared has the packages that every other one imports. A change in one of them wakes only its own
// tests: it would wake all tests each time that a word is added.
var shared = []string{"fault", "vocab"}

// since says what has changed, and from which commit.
type since struct {
	base  string
	files []string
	all   bool   // everything counts as changed
	why   string // it does
}

func everything(why string) since { return since{all: true, why: why} }

// changes compares the working tree in dir with the commit that .ci/passed names.
func changes(dir string) since {
	git := func(args ...string) (string, error) {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	text, err := os.ReadFile(filepath.Join(dir, ".ci", "passed"))
	base := strings.TrimSpace(string(text))
	if err != nil || base == "" {
		return everything("no .ci/passed")
	}
	if _, err := git("merge-base", "--is-ancestor", base, "HEAD"); err != nil {
		return everything(fmt.Sprintf("%.12s is not an ancestor of HEAD", base))
	}
	tracked, err := git("diff", "-z", "--name-only", "--no-renames", base)
	created, err2 := git("ls-files", "-z", "--others", "--exclude-standard")
	if err := errors.Join(err, err2); err != nil {
		return everything(err.Error())
	}
	s := since{base: fmt.Sprintf("%.12s", base)}
	for name := range strings.SplitSeq(tracked+"\x00"+created, "\x00") {
		switch {
		case strings.ContainsAny(name, " \t\n'"):
			return everything(fmt.Sprintf("a file has the name %q", name))
		case name != "" && name != ".ci/passed": // no test is about that file
			s.files = append(s.files, name)
		}
	}
	return s
}

// pkg is a package of this module that has tests. Names are relative to the module's root.
type pkg struct {
	name  string
	deps  []string // the packages of this module that its tests are built from, itself included
	marks marks
}

// marks is what the test files of a package name.
type marks struct{ engine, cluster, pods, outside bool }

// packages lists the packages with tests.
func packages() ([]pkg, error) {
	cmd := exec.Command("go", "list", "-test", "-json=ImportPath,Dir,ForTest,Deps", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var list []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir, ForTest string
			Deps                     []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		tested, isProgram := strings.CutSuffix(p.ImportPath, ".test")
		if !isProgram {
			continue
		}
		one := pkg{name: relative(tested)}
		for _, dep := range p.Deps {
			dep, _, _ = strings.Cut(dep, " ") // "PACKAGE [PROGRAM.test]"
			if strings.HasPrefix(dep, module) && !strings.HasSuffix(dep, ".test") && !slices.Contains(one.deps, relative(dep)) {
				one.deps = append(one.deps, relative(dep))
			}
		}
		if one.marks, err = marksIn(filepath.FromSlash(one.name)); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
}

func relative(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

// marksIn reads the test files in a folder. An engine or a cluster is used by tests that name the
// variable which asks for it, or import what starts it. Go's cache of results does not see files and
// programs outside of the module, or an engine: tests that use these must run each time.
func marksIn(dir string) (m marks, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return m, err
		}
		names := func(words ...string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(text, []byte(w)) })
		}
		m.engine = m.engine || names("BATCH_DOCKER", `"batch.example/batch/e2e"`)
		m.cluster = m.cluster || names("BATCH_KUBE", `"batch.example/batch/internal/kubetest"`)
		m.pods = m.pods || names("OnPods(")
		m.outside = m.outside || names("../shared", `"shared"`, "datasettest", "exec.LookPath", "chromedp")
	}
	return m, err
}

// plan says which packages run and how. Each package is in one list at most.
type plan struct {
	since
	woken   []string // packages that leave no test to make test-all
	plain   []string // results may come from Go's cache
	fresh   []string // they may not
	raced   []string // with the race detector, in `make test` too
	cluster []string // they need a Kubernetes cluster
	pods    []string // packages of e2e with tests that need one
	left    []string // left out whole
}

func makePlan(changed since, list []pkg) plan {
	p := plan{since: changed}
	for _, one := range list {
		woken := changed.all || wakes(changed.files, one, list)
		if woken {
			p.woken = append(p.woken, one.name)
		}
		_, mayBeLeft := apart[one.name]
		below := strings.HasPrefix(one.name, "e2e/")
		switch {
		case mayBeLeft && !woken:
			p.left = append(p.left, one.name)
			continue
		case one.marks.cluster && !below:
			p.cluster = append(p.cluster, one.name)
			continue
		case slices.Contains(raced, one.name):
			p.raced = append(p.raced, one.name)
			continue
		case one.marks.engine || one.marks.outside:
			p.fresh = append(p.fresh, one.name)
		default:
			p.plain = append(p.plain, one.name)
		}
		if below && one.marks.pods && (woken || tier.Woken(changed.files, onPods)) {
			p.pods = append(p.pods, one.name)
		}
	}
	slices.SortStableFunc(p.fresh, func(a, b string) int { return rank(longest, a) - rank(longest, b) })
	return p
}

// onPods is what the tests of e2e that need a cluster are about: see their calls of tier.Rest.
var onPods = []string{
	"kube", "scripts/kube", "scripts/kubernetes", "internal/kubetest", "run/engines", "sandbox/*.go", "sandbox/engine", "internal/box", "internal/boxinit",
}

func rank(first []string, name string) int {
	if i := slices.Index(first, name); i >= 0 {
		return i
	}
	return len(first)
}

// wakes reports whether one of the files is of a package that the tests of p are built from, or wakes
// p by its path. The tests of e2e are built from packages that support them; of those, only the ones
// below e2e count, since the tests are about the whole program, and name the paths that wake them.
func wakes(files []string, p pkg, list []pkg) bool {
	if tier.Woken(files, apart[p.name]) {
		return true
	}
	for _, file := range files {
		owner := ownerOf(file, list)
		switch {
		case owner == p.name:
			return true
		case !slices.Contains(p.deps, owner), slices.Contains(shared, owner):
		case !strings.HasPrefix(p.name, "e2e/"), owner == "e2e" || strings.HasPrefix(owner, "e2e/"):
			return true
		}
	}
	return false
}

// ownerOf is the package that a file belongs to: its folder is the nearest one above the file.
func ownerOf(file string, list []pkg) string {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if dir == "." || slices.ContainsFunc(list, func(p pkg) bool { return p.name == dir || slices.Contains(p.deps, dir) }) {
			return dir
		}
	}
}

// print writes the plan as assignments for a shell.
func (p plan) print(out io.Writer) {
	assign := func(name string, list []string, each string) {
		fmt.Fprintf(out, "%s='", name)
		for _, one := range list {
			fmt.Fprintf(out, "%s%s ", each, one)
		}
		fmt.Fprintln(out, "'")
	}
	woken, changed := p.woken, p.files
	if p.all || len(strings.Join(changed, " ")) > 100_000 { // a variable has a limited length
		woken, changed = []string{"all"}, nil
	}
	assign("BATCH_WOKEN", woken, "")
	assign("BATCH_CHANGED", changed, "")
	assign("plain", p.plain, "./")
	assign("fresh", p.fresh, "./")
	assign("raced", p.raced, "./")
	assign("cluster", p.cluster, "./")
	assign("pods", p.pods, "./")
	assign("left", p.left, "")
	why := "everything runs: " + p.why
	if !p.all {
		why = fmt.Sprintf("%d files changed since make test-all passed on %s", len(p.files), p.base)
	}
	fmt.Fprintf(out, "since='%s'\n", strings.ReplaceAll(why, "'", ""))
}
