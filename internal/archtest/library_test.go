package archtest

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notPromised is in the comment of each package that is not part of the library.
const notPromised = "Its API is not promised to other programs: see package batch."

// promisedIn returns the packages that doc.go promises to other programs.
func promisedIn(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, library, found := strings.Cut(string(text), "// # Library\n")
	if !found {
		t.Fatal("doc.go has no heading Library")
	}
	library, _, _ = strings.Cut(library, "// # ")
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z/]+)  `).FindAllStringSubmatch(library, -1) {
		list = append(list, m[1])
	}
	return list
}

// A package in a module of its own compiles with the promised packages alone, and uses all of them.
func TestTheLibraryServesAnotherModule(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for from, to := range map[string]string{"testdata/library/library.go": "library.go", filepath.Join(root, "go.sum"): "go.sum", filepath.Join(root, "go.mod"): "go.mod"} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if to == "go.mod" {
			_, rest, _ := strings.Cut(string(text), "\n")
			text = []byte("module library.example/own\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + root + "\n" + rest)
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	var used []string
	for _, spec := range goFile(t, "testdata/library/library.go", nil).Imports {
		if room, found := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/"); found {
			used = append(used, room)
		}
	}
	slices.Sort(used)
	promised := promisedIn(t)
	slices.Sort(promised)
	if !slices.Equal(used, promised) {
		t.Errorf("the package imports\n%q,\ndoc.go promises\n%q", used, promised)
	}
}

func TestEveryOtherPackageSaysThatItIsNotPromised(t *testing.T) {
	promised := promisedIn(t)
	for _, p := range listed(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if len(p.GoFiles) == 0 || name == "" || p.Name == "main" || strings.HasPrefix(name, "internal/") || strings.Contains(name, "/internal/") {
			continue // no other module can import it
		}
		says := false
		for _, file := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			says = says || strings.Contains(f.Doc.Text(), notPromised)
		}
		if is := slices.Contains(promised, name); is == says {
			t.Errorf("%s: doc.go promises it: %t; its comment says that it is not promised: %t", name, is, says)
		}
	}
}
