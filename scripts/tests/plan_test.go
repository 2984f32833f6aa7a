package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// small has the packages of a small module, with what their tests are built from.
var small = []pkg{
	{name: "journal", deps: []string{"fault", "journal", "vocab"}},
	{name: "results", deps: []string{"fault", "journal", "results"}, marks: marks{outside: true}},
	{name: "docs", deps: []string{"docs"}},
	{name: "kube", deps: []string{"internal/box", "kube"}, marks: marks{cluster: true}},
	{name: "e2e/runs", deps: []string{"e2e", "e2e/runs", "journal", "results"}, marks: marks{engine: true, cluster: true, pods: true}},
}

func TestAChangeWakesThePackagesThatItReaches(t *testing.T) {
	for file, want := range map[string]string{
		"journal/journal.go":               "journal results",
		"journal/testdata/old/1.jsonl":     "journal results",
		"results/doc.go":                   "results",
		"fault/fault.go":                   "", // all packages import it
		"docs/shards.md":                   "docs",
		"README.md":                        "",
		"go.mod":                           "journal results docs kube e2e/runs",
		"internal/box/box.go":              "kube",
		"scripts/kube":                     "kube",
		"scripts/kubernetes/build":         "kube",
		"e2e/script.go":                    "e2e/runs",
		"e2e/runs/testdata/script/a.txtar": "e2e/runs",
	} {
		if got := strings.Join(makePlan(since{files: []string{file}}, small).woken, " "); got != want {
			t.Errorf("%s wakes %q, want %q", file, got, want)
		}
	}
}

func TestAPlanHasEachPackageOnce(t *testing.T) {
	p := makePlan(since{files: []string{"docs/x.md"}}, small)
	for got, want := range map[string]string{
		strings.Join(p.raced, " "): "journal results",
		strings.Join(p.plain, " "): "docs",
		strings.Join(p.fresh, " "): "e2e/runs",
		strings.Join(p.left, " "):  "kube",
	} {
		if got != want {
			t.Errorf("the plan has %q, want %q: %+v", got, want, p)
		}
	}
	if len(p.cluster)+len(p.pods) > 0 {
		t.Errorf("a change of a page starts a cluster: %+v", p)
	}
	all := makePlan(everything("so asked"), small)
	if strings.Join(all.cluster, " ")+strings.Join(all.pods, " ")+strings.Join(all.left, " ") != "kubee2e/runs" || len(all.woken) != len(small) {
		t.Errorf("the plan of everything leaves something out: %+v", all)
	}
}

// What this module leaves out, and what it runs with the race detector, is there.
func TestThePackagesOfTheTablesExist(t *testing.T) {
	t.Chdir("../..")
	list, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	known := func(name string) bool { return slices.ContainsFunc(list, func(p pkg) bool { return p.name == name }) }
	names := slices.Concat(raced, longest)
	for name, paths := range apart {
		names = append(names, name)
		for _, path := range paths {
			if found, _ := filepath.Glob(path); found == nil {
				t.Errorf("%s: nothing is at %s, which should wake it", name, path)
			}
		}
	}
	for _, name := range names {
		if !known(name) {
			t.Errorf("%s is in a table, and has no tests", name)
		}
	}
	for _, name := range shared {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

func TestChangesAreComparedWithTheCommitOfTheFile(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.c"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(files string, all bool) {
		t.Helper()
		if s := changes(dir); strings.Join(s.files, " ") != files || s.all != all {
			t.Errorf("changed: %q, everything %v (%s); want %q, %v", s.files, s.all, s.why, files, all)
		}
	}
	git("init", "-q")
	write("a.go", "a")
	write("b.go", "b")
	git("add", ".")
	git("commit", "-qm", "a")
	want("", true) // it names no commit
	write(".ci/passed", git("rev-parse", "HEAD")+"\n")
	git("add", ".")
	git("commit", "-qm", "passed")
	want("", false)
	write("a.go", "other")
	git("mv", "b.go", "c.go")
	write("d.go", "d")
	write("é.go", "e")
	want("a.go b.go c.go d.go é.go", false)
	write("it's.md", "")
	want("", true)
	git("checkout", "-q", "--orphan", "other")
	git("commit", "-qm", "unrelated")
	want("", true)
}
