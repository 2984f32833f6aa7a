package archtest

import (
	"strings"
	"testing"
)

func TestTheImportCheckCatches(t *testing.T) {
	for _, c := range []struct {
		what, from string
		imports    []string
		caught     bool
	}{
		{"dataset knowing docker", "dataset", []string{"docker"}, true},
		{"dataset knowing fault", "dataset", []string{"fault", "dataset/hub"}, false},
		{"a part of dataset knowing the runner", "dataset/hub", []string{"runner"}, true},
		{"a part of dataset knowing its parent", "dataset/hub", []string{"dataset", "fault"}, false},
		{"docker knowing results", "docker", []string{"results"}, true},
		{"llm knowing agent", "llm", []string{"agent"}, true},
		{"a provider knowing the seam", "llm/openai", []string{"llm", "fault"}, false},
		{"agent knowing docker", "agent", []string{"docker"}, true},
		{"agent knowing llm", "agent/config", []string{"agent", "llm", "fault"}, false},
		{"results knowing the runner", "results", []string{"runner"}, true},
		{"the harness's files knowing run directories", "swebench", []string{"results"}, true},
		{"the harness's files knowing the rules of grading", "swebench", []string{"grade/logparse"}, true},
		{"results writing atomically", "results", []string{"fault", "internal/atomicfile"}, false},
		{"report knowing fault", "report", []string{"fault"}, true},
		{"report knowing results", "report", []string{"results"}, false},
		{"runner knowing agent", "runner", []string{"agent"}, true},
		{"runner knowing what it runs", "runner", []string{"dataset"}, true},
		{"runner knowing the faults", "runner", []string{"fault"}, false},
		{"grade knowing docker", "grade", []string{"docker"}, true},
		{"solver knowing docker", "solver", []string{"docker"}, true},
		{"solver knowing what a sandbox is", "solver", []string{"sandbox"}, false},
		{"sandbox knowing whom it is for", "sandbox", []string{"solver"}, true},
		{"sandbox knowing Docker", "sandbox", []string{"docker", "docker/containers"}, true},
		{"sandbox knowing what an engine is", "sandbox", []string{"sandbox/engine"}, false},
		{"Docker knowing what an engine is", "docker/containers", []string{"sandbox/engine"}, false},
		{"Docker knowing sandboxes", "docker", []string{"sandbox"}, true},
		{"run knowing the command", "run", []string{"cmd/batch"}, true},
		{"run knowing what a person sees", "run", []string{"internal/progress"}, true},
		{"run knowing what it puts together", "run", []string{"runner", "solver", "sandbox", "results"}, false},
		{"solver knowing the rest", "solver", []string{"dataset", "agent", "llm", "results", "runner", "fault"}, false},
		{"internal knowing a room", "internal/progress", []string{"runner"}, true},
		{"internal knowing its neighbor", "internal/progress", []string{"internal/atomicfile"}, true},
		{"internal knowing fault", "internal/progress", []string{"fault"}, false},
		{"fault knowing anything", "fault", []string{"internal/progress"}, true},
		{"fault knowing the words", "fault", []string{"vocab"}, false},
		{"the words knowing fault", "vocab", []string{"fault"}, true},
		{"the tour knowing anything", "", []string{"fault"}, true},
		{"the command knowing everything", "cmd/batch", []string{"docker", "runner", "report", "internal/progress"}, false},
		{"a room without a rule", "util", nil, true},
		{"a room whose name begins like another", "datasets", []string{"fault"}, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			p := pkg{ImportPath: join(c.from), Imports: []string{"fmt", "golang.org/x/sync/errgroup"}}
			for _, room := range c.imports {
				p.Imports = append(p.Imports, join(room))
			}
			if found := importViolations([]pkg{p}); (len(found) > 0) != c.caught {
				t.Errorf("found %q, want a violation: %v", found, c.caught)
			}
		})
	}
}

func TestTheImportCheckKeepsTheDockerSDKInItsRoom(t *testing.T) {
	for _, room := range []string{"solver", "cmd/batch", "scripts/bench", "internal/progress"} {
		for _, path := range []string{"github.com/docker/docker/client", "github.com/docker/cli/cli/config"} {
			if importViolations([]pkg{{ImportPath: join(room), Imports: []string{path}}}) == nil {
				t.Errorf("%s may import %s", room, path)
			}
		}
	}
	fine := []pkg{
		{ImportPath: join("docker"), Imports: []string{"github.com/docker/docker/client"}},
		{ImportPath: join("docker/shell"), Imports: []string{"github.com/docker/docker"}},
		{ImportPath: join("internal/progress"), Imports: []string{"github.com/docker/go-units"}},
	}
	if found := importViolations(fine); found != nil {
		t.Errorf("found %q, want nothing", found)
	}
}

func TestTheSourceCheckCatches(t *testing.T) {
	for _, c := range []struct{ what, src, want string }{
		{"an exit", `import "os"; func f() { os.Exit(1) }`, "os.Exit"},
		{"arguments", `import "os"; var a = os.Args`, "os.Args"},
		{"the environment", `import "os"; func f() string { return os.Getenv("X") }`, "os.Getenv"},
		{"the environment passed as a function", `import "os"; var get = os.LookupEnv`, "os.LookupEnv"},
		{"another name for os", `import sys "os"; func f() { sys.Exit(1) }`, "sys.Exit"},
		{"a dot import", `import . "os"; func f() { Exit(1) }`, "importing os"},
		{"signals", `import "os/signal"; func f() { signal.Notify(nil) }`, "importing os/signal"},
		{"printing", `import "fmt"; func f() { fmt.Println() }`, "fmt.Println"},
		{"standard error", `import "os"; var w = os.Stderr`, "os.Stderr"},
		{"the global log", `import "log"; func f() { log.Fatal() }`, "importing log"},
		{"flags", `import "flag"; func f() { flag.Parse() }`, "importing flag"},
		{"nothing in files and errors", `import ("os"; "fmt"); func f() { os.Open(fmt.Sprint()) }`, ""},
		{"nothing in a namesake", `type os struct{ Args int }; func f(os os) { _ = os.Args }`, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			src := parsed(t, "f.go", "package p; "+c.src)
			found := doorViolations(join("runner"), src)
			if (len(found) > 0) != (c.want != "") || c.want != "" && !strings.Contains(found[0], c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
			if found := doorViolations(join("cmd/batch"), src); found != nil {
				t.Errorf("the check refuses uses in the command itself: %q", found)
			}
		})
	}
	if _, err := parse("f.go", "package"); err == nil {
		t.Error("the check accepts a file that is not Go")
	}
}

func join(room string) string { return strings.TrimSuffix(module+"/"+room, "/") }
