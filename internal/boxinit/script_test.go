package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/internal/tier"
)

// checkout copies what scripts/boxinit needs to a folder of the test.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum", "scripts/env", "scripts/boxinit", "internal/boxinit", "internal/gitpack"} {
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "cp", "-r", filepath.Join("../..", name), to).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return dir
}

func TestTheBoxinitCheckDetectsAnOldBinary(t *testing.T) {
	tier.Rest(t, "scripts/boxinit")
	t.Parallel()
	dir := checkout(t)
	script := func(arg ...string) (said string, ok bool) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "scripts/boxinit"), arg...)
		out, err := cmd.CombinedOutput()
		return string(out), err == nil
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if said, ok := script("--check"); !ok || said != "" {
		t.Fatalf("unchanged source in another folder: ok %v, output %s", ok, said)
	}
	const (
		more     = "package main\n\nconst word = \"a\"\n\nfunc init() { println(word) }\n"
		machines = 2
	)
	write("internal/boxinit/more.go", more)
	if said, ok := script("--check"); ok || strings.Count(said, "is not what internal/boxinit makes") != machines {
		t.Errorf("with more source: %v %s; want ok false, %d times %q", ok, said, machines, "is not what internal/boxinit makes")
	}
	if said, ok := script(); !ok || strings.Count(said, "wrote") != machines {
		t.Errorf("building: %v %s; want ok true, %d times %q", ok, said, machines, "wrote")
	}
	if said, ok := script("--check"); !ok || said != "" {
		t.Errorf("built: %v %s; want ok true, no output", ok, said)
	}
	write("internal/boxinit/more.go", strings.Replace(more, `"a"`, `"b"`, 1))
	if said, ok := script("--check"); ok || strings.Count(said, "is not what internal/boxinit makes") != machines {
		t.Errorf("with one byte of source changed: ok %v, output %s", ok, said)
	}
	if said, ok := script("--chek"); ok || !strings.HasPrefix(said, "boxinit: usage") {
		t.Errorf("an unknown flag: %v %s; want ok false, the output beginning with %q", ok, said, "boxinit: usage")
	}
	self, err := os.ReadFile(filepath.Join(dir, "scripts/boxinit"))
	if err != nil {
		t.Fatal(err)
	}
	write("scripts/boxinit", strings.Replace(string(self), "limit=1300000", "limit=1000", 1))
	if said, ok := script(); ok || strings.Count(said, "more than 1000") != machines {
		t.Errorf("over the limit: %v %s; want ok false, %d times %q", ok, said, machines, "more than 1000")
	}
}
