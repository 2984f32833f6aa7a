package archtest

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var lower = flag.Bool("lower", false, "write the figures of sizes.txt that have become smaller")

// slack is how far below its figure a room may be, so that not every commit changes sizes.txt.
const slack = 100

// sizes.txt has the lines of Go of each first-level folder and of all together: "program" is
// what the program and process 1 of containers are made of, "tests" is tests, test support and
// tools. A figure may only fall.
func TestSizesOnlyFall(t *testing.T) {
	text, err := os.ReadFile("sizes.txt")
	if err != nil {
		t.Fatal(err)
	}
	have, most := sizes(t), map[string]int{}
	for line := range strings.Lines(string(text)) {
		var kind, room string
		var lines int
		if _, err := fmt.Sscan(line, &kind, &room, &lines); err != nil {
			t.Fatalf("sizes.txt: %q: %v", line, err)
		}
		most[kind+" "+room] = lines
	}
	if *lower {
		var b strings.Builder
		for _, of := range slices.Sorted(maps.Keys(have)) {
			fmt.Fprintf(&b, "%s %d\n", of, min(have[of], most[of]))
		}
		if err := os.WriteFile("sizes.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, v := range sizeViolations(have, most) {
		t.Error(v)
	}
}

func TestTheSizeCheckCatches(t *testing.T) {
	have := map[string]int{"program grown": 11, "program new": 1, "program shrunk": 5, "tests kept": 50}
	most := map[string]int{"program grown": 10, "program gone": 1, "program shrunk": 6 + slack, "tests kept": 50 + slack}
	if found := sizeViolations(have, most); len(found) != 4 {
		t.Errorf("found %q, want four violations", found)
	}
}

// sizes counts all lines of Go, except in testdata and in hidden folders.
func sizes(t *testing.T) map[string]int {
	t.Helper()
	have, program := map[string]int{}, inProgram(listed(t))
	root := os.DirFS(filepath.Join("..", ".."))
	err := fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "testdata" || name != "." && strings.ContainsAny(e.Name()[:1], "._")):
			return fs.SkipDir
		case e.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		kind := "tests "
		if program[path.Join(module, path.Dir(name))] && !strings.HasSuffix(name, "_test.go") {
			kind = "program "
		}
		room, _, inside := strings.Cut(name, "/")
		if !inside {
			room = "."
		}
		have[kind+room] += bytes.Count(text, []byte("\n"))
		have[kind+"all"] += bytes.Count(text, []byte("\n"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return have
}

// inProgram has the packages that the program and process 1 of containers are made of.
func inProgram(list []pkg) map[string]bool {
	imports, found := map[string][]string{}, map[string]bool{}
	for _, p := range list {
		imports[p.ImportPath] = p.Imports
	}
	for queue := []string{module + "/cmd/batch", module + "/internal/boxinit"}; len(queue) > 0; queue = queue[1:] {
		if !found[queue[0]] {
			found[queue[0]] = true
			queue = append(queue, imports[queue[0]]...)
		}
	}
	return found
}

// sizeViolations says which figures are exceeded, and which are too high.
func sizeViolations(have, most map[string]int) (found []string) {
	all := maps.Clone(have)
	maps.Copy(all, most)
	for _, of := range slices.Sorted(maps.Keys(all)) {
		switch has, limit := have[of], most[of]; {
		case has > limit:
			found = append(found, fmt.Sprintf("%s: %d lines of Go, may be %d: remove some", of, has, limit))
		case has < limit-slack, has == 0:
			found = append(found, fmt.Sprintf("%s: only %d lines of Go, may be %d: run go test ./internal/archtest -lower", of, has, limit))
		}
	}
	return found
}
