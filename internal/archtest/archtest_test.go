package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "batch.example/batch"

// mayImport says for each room which other rooms it may know. A room is a
// first-level folder with all below it; below internal, each folder is one, and so are the leaves.
// A room that is not here may not exist. Every room may know those in forAll.
var mayImport = map[string][]string{
	"":               {}, // doc.go
	"vocab":          {},
	"fault":          {},
	"dataset":        {"fault", "internal/abspath", "internal/diff", "internal/idlist", "internal/near", "internal/python"},
	"docker":         {"sandbox/engine", "sandbox/images", "fault", "internal/box", "internal/boxinit", "internal/owner"},
	"kube":           {"sandbox/engine", "fault", "internal/box", "internal/boxinit", "internal/owner"},
	"run/engines":    {"sandbox/engine", "docker", "kube", "fault"},
	"sandbox/engine": {"sandbox/images", "fault", "internal/box", "internal/boxinit", "internal/enginetest", "internal/meminfo", "internal/owner"},
	"sandbox/images": {"fault", "internal/atomicfile"},
	"llm":            {"fault", "internal/abspath", "internal/bash", "internal/mask", "internal/near"},
	"agent":          {"llm", "fault", "internal/abspath", "internal/python", "internal/bash", "internal/near", "internal/mask", "internal/printable", "internal/removed"},
	"audit":          {"dataset", "results", "internal/diff", "internal/mask", "internal/printable"},
	"docs":           {},
	"journal":        {"fault", "internal/python", "internal/atomicfile", "internal/inject", "internal/mask"},
	"run/control":    {"journal", "fault", "internal/near"},
	"results":        {"journal", "internal/swebench", "fault", "internal/python", "internal/atomicfile", "internal/idlist", "internal/inject", "internal/mask", "internal/printable"},
	"report":         {"results", "internal/printable"},
	"view":           {"audit", "run/control", "dataset", "report", "results", "internal/swebench", "journal", "fault", "internal/atomicfile", "internal/diff", "internal/mask", "internal/printable"},
	"runner":         {"fault", "internal/near"},
	"grade":          {"dataset", "results", "internal/swebench", "fault", "internal/atomicfile", "internal/bash", "internal/diff", "internal/mask", "internal/near", "internal/printable", "internal/python"},
	"sandbox":        {"sandbox/engine", "sandbox/images", "dataset", "fault", "internal/bash", "internal/box", "internal/boxgit", "internal/meminfo", "internal/owner"},
	"run":            {"run/control", "dataset", "grade", "agent", "llm", "journal", "results", "runner", "sandbox", "sandbox/engine", "sandbox/images", "run/engines", "attempt", "internal/swebench", "fault", "internal/abspath", "internal/atomicfile", "internal/boxgit", "internal/fetch", "internal/mask", "internal/near", "internal/owner", "internal/printable"},
	"gateway":        {"llm", "fault", "internal/mask"},
	"attempt":        {"sandbox", "dataset", "agent", "gateway", "llm", "journal", "results", "runner", "fault", "internal/atomicfile", "internal/bash", "internal/boxgit", "internal/mask", "internal/printable"},
	"internal":       {"fault", "vocab", "internal/atomicfile", "internal/bash", "internal/boxinit", "internal/diff", "internal/gitpack", "internal/inject", "internal/printable", "internal/python"},
	"cmd":            {"*"},
	"scripts":        {"*"},
	"e2e":            {"*"}, // tests of the whole program
}

// forAll are the words that all rooms share, what they postpone, and how they open files and try again.
// They import no room.
var forAll = []string{"vocab", "internal/lazy", "internal/regular", "internal/retry"}

// onlyIn says which outside modules belong to one room alone.
var onlyIn = map[string]string{
	"github.com/docker/docker": "docker",
	"github.com/docker/cli":    "docker",
	"go.opentelemetry.io":      "run",
	"k8s.io":                   "kube",

	"github.com/modelcontextprotocol/go-sdk": "agent",
	"github.com/a2aproject/a2a-go":           "attempt",
}

// atTheDoor are the names by which a program accesses its process. "*" is the
// whole package. Only the rooms in doors may use them.
var atTheDoor = map[string][]string{
	"os": {
		"Args", "Exit", "Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv",
		"Stdin", "Stdout", "Stderr",
	},
	"os/signal": {"*"},
	"fmt":       {"Print", "Printf", "Println"},
	"log":       {"*"},
	"flag":      {"*"},
}

// doors may also be test support that the environment steers.
var doors = []string{"cmd", "scripts", "internal/boxinit", "internal/sample", "internal/tier", "internal/enginetest", "internal/kubetest", "e2e"}

func TestEveryPackageImportsOnlyWhatItMay(t *testing.T) {
	for _, v := range importViolations(listed(t)) {
		t.Error(v)
	}
}

func TestOnlyTheCommandReadsTheProcess(t *testing.T) {
	for _, p := range listed(t) {
		for _, f := range p.sources(t) {
			for _, v := range doorViolations(p.ImportPath, f) {
				t.Error(v)
			}
		}
	}
}

func TestExpressionsCompile(t *testing.T) {
	for _, p := range listed(t) {
		for _, f := range p.sources(t) {
			for _, v := range lazyViolations(f) {
				t.Error(v)
			}
		}
	}
}

// Each check finds a violation that is planted.
func TestTheChecksCatch(t *testing.T) {
	imports := func(room, path string) []string {
		return importViolations([]pkg{{ImportPath: module + "/" + room, Imports: []string{"fmt", path}}})
	}
	for what, found := range map[string][]string{
		"a floor that knows a higher one":  imports("dataset/hub", module+"/runner"),
		"internal that knows its neighbor": imports("internal/near", module+"/internal/mask"),
		"a room without a rule":            imports("datasets", "os"),
		"an SDK outside of its room":       imports("cmd/batch", "github.com/docker/docker/client"),
		"an exit outside of the command":   doorViolations(module+"/runner", parsed(t, `import sys "os"; func f() { sys.Exit(1) }`)),
		"signals outside of the command":   doorViolations(module+"/runner", parsed(t, `import "os/signal"; func f() { signal.Notify(nil) }`)),
		"a mistake in an expression":       lazyViolations(parsed(t, "var re = lazy.Regexp(`(` + `a`)")),
	} {
		if len(found) != 1 {
			t.Errorf("%s: found %q, want one violation", what, found)
		}
	}
	if found := slices.Concat(
		imports("internal/near", module+"/fault"),
		doorViolations(module+"/cmd/batch", parsed(t, `import "os"; var a = os.Args`)),
	); len(found) > 0 {
		t.Errorf("found %q in what is allowed", found)
	}
}

// listed is every package of the module as the go command sees it.
func listed(t *testing.T) []pkg {
	t.Helper()
	list, err := packages()
	if err != nil {
		t.Fatalf("listing the packages: %v", err)
	}
	if len(list) < 5 {
		t.Fatalf("only %d packages found: is this the module's root?", len(list))
	}
	return list
}

var packages = sync.OnceValues(func() (list []pkg, err error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Name,Imports,GoFiles,CgoFiles,IgnoredGoFiles", "./...")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
})

// sources are the package's files without tests, those of other platforms too.
func (p pkg) sources(t *testing.T) (list []source) {
	t.Helper()
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles) {
		if !strings.HasSuffix(name, "_test.go") {
			list = append(list, goFile(t, filepath.Join(p.Dir, name), nil))
		}
	}
	return list
}

func parsed(t *testing.T, text string) source {
	t.Helper()
	return goFile(t, "f.go", "package p; "+text)
}

func goFile(t *testing.T, name string, text any) source {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return source{f, set}
}
