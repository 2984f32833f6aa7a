package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "batch.example/batch"

// mayImport says for each room which other rooms it may know. A room is a
// first-level folder with all below it; below internal, each folder is one.
// A room that is not here may not exist. Every room may know those in forAll.
var mayImport = map[string][]string{
	"":           {}, // doc.go
	"vocab":      {},
	"fault":      {},
	"dataset":    {"fault", "internal/abspath", "internal/idlist", "internal/near", "internal/python"},
	"docker":     {leaf, "imagecache", "fault", "internal/box", "internal/boxinit", "internal/owner"},
	"kube":       {leaf, "fault", "internal/box", "internal/boxinit", "internal/owner"},
	"engines":    {leaf, "docker", "kube", "fault"},
	leaf:         {"imagecache", "fault", "internal/box", "internal/boxinit", "internal/enginetest", "internal/meminfo", "internal/owner"},
	"imagecache": {"fault", "internal/atomicfile"},
	"llm":        {"authority", "fault", "internal/abspath", "internal/bash", "internal/mask", "internal/near"},
	"agent":      {"llm", "fault", "internal/abspath", "internal/python", "internal/bash", "internal/near", "internal/mask", "internal/printable"},
	"audit":      {"dataset", "results", "internal/mask", "internal/printable"},
	"authority":  {"fault"},
	"designs":    {},
	"docs":       {},
	"session":    {"agent", "authority", "llm", "journal", "fault"},
	"chat":       {"solver", "session", "agent", "llm", "journal", "runner", "fault", "internal/printable"},
	"journal":    {"fault", "internal/python", "internal/atomicfile", "internal/inject"},
	"control":    {"journal", "fault", "internal/near"},
	"results":    {"journal", "swebench", "fault", "internal/python", "internal/atomicfile", "internal/idlist", "internal/inject", "internal/mask", "internal/printable"},
	"swebench":   {"fault", "internal/atomicfile", "internal/printable", "internal/python"},
	"report":     {"results", "internal/printable"},
	"view":       {"audit", "control", "dataset", "report", "results", "swebench", "journal", "fault", "internal/atomicfile", "internal/mask", "internal/printable"},
	"runner":     {"fault", "internal/near"},
	"grade":      {"dataset", "results", "swebench", "fault", "internal/atomicfile", "internal/bash", "internal/mask", "internal/near", "internal/printable", "internal/python"},
	"sandbox":    {leaf, "dataset", "imagecache", "fault", "internal/bash", "internal/box", "internal/boxgit", "internal/meminfo", "internal/owner"},
	"run":        {"control", "dataset", "grade", "agent", "llm", "journal", "results", "runner", "sandbox", leaf, "engines", "solver", "swebench", "imagecache", "fault", "internal/abspath", "internal/atomicfile", "internal/boxgit", "internal/mask", "internal/near", "internal/owner", "internal/printable"},
	"doctor":     {leaf, "dataset", "llm", "fault"},
	"solver":     {"session", "sandbox", "dataset", "agent", "llm", "journal", "results", "runner", "fault", "internal/bash", "internal/boxgit", "internal/mask"},
	"serve":      {"session", "solver", "agent", "authority", "dataset", "journal", "runner", "fault", "internal/atomicfile"},
	"internal":   {"fault", "vocab", "internal/bash", "internal/boxinit", "internal/gitpack", "internal/inject", "internal/printable"},
	"cmd":        {"*"},
	"scripts":    {"*"},
	"e2e":        {"*"}, // tests of the whole program
}

// forAll are the words that all rooms share, and what they postpone. They import no room.
var forAll = []string{"vocab", "internal/lazy"}

// onlyIn says which outside modules belong to one room alone.
var onlyIn = map[string]string{
	"github.com/docker/docker": "docker",
	"github.com/docker/cli":    "docker",
	"go.opentelemetry.io":      "run",
	"k8s.io":                   "kube",

	"github.com/modelcontextprotocol/go-sdk": "agent",
	"github.com/a2aproject/a2a-go":           "serve",
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
var doors = []string{"cmd", "scripts", "internal/boxinit", "internal/sample", "internal/enginetest", "internal/kubetest", "e2e"}

func TestEveryPackageImportsOnlyWhatItMay(t *testing.T) {
	for _, v := range importViolations(listed(t)) {
		t.Error(v)
	}
}

func TestOnlyTheCommandReadsTheProcess(t *testing.T) {
	for _, p := range listed(t) {
		for _, name := range append(append(p.GoFiles, p.CgoFiles...), p.IgnoredGoFiles...) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			for _, v := range doorViolations(p.ImportPath, goFile(t, filepath.Join(p.Dir, name))) {
				t.Error(v)
			}
		}
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
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Imports,GoFiles,CgoFiles,IgnoredGoFiles", "./...")
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
