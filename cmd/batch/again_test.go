package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"batch.example/batch/fault"
	"batch.example/batch/results"
)

// made writes the manifest of a run directory that was made by argv in dir.
func made(t *testing.T, dir string, argv ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	store, err := results.Open(out, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &results.Manifest{Argv: argv, Dir: dir, Dataset: results.Dataset{Instances: []string{"a", "b"}}}
	if err := store.WriteManifest(m); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestARunIsMadeAgainFromItsManifest(t *testing.T) {
	t.Chdir(t.TempDir())
	elsewhere := t.TempDir()
	argv := []string{
		"run", "--subset", "rows.jsonl", "-m", "noop", "-o", "x", "-w", "7", "--retry", "transient=5,limit=1", "--redo-existing",
		"-c", "a=1,2", "-c", "b.yaml", "--instances", "-", "--accept-changes", "--cost-limit-total=3", "-q", "--salvage",
	}
	out := made(t, elsewhere, argv...)
	var flags runFlags
	own := pflag.NewFlagSet("resume", pflag.ContinueOnError)
	flags.addPace(own)
	own.Bool("its-own", false, "")
	if err := own.Parse([]string{"-w", "9", "--retry", "empty=2", "--retry", "transient=0", "--its-own", "--json"}); err != nil {
		t.Fatal(err)
	}
	f, err := runFromManifest(out, own)
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil || here != elsewhere {
		t.Errorf("in %s, want %s where the run was started", here, elsewhere)
	}
	if f.workers.n != 9 || !slices.Equal(f.retry, []string{"empty=2", "transient=0"}) || !f.json {
		t.Errorf("what was given is not on top: %+v", f.paceFlags)
	}
	if f.subset != "rows.jsonl" || f.totalCost != 3 || !f.salvage || !slices.Equal(f.configs, []string{"a=1,2", "b.yaml"}) {
		t.Errorf("what the run said is not kept: %+v", f)
	}
	if f.redo || len(f.accept) > 0 || f.quiet {
		t.Errorf("what was for that run alone is kept: %+v", f)
	}
	if f.output != out || !slices.Equal(f.argv, argv) || !slices.Equal(f.ids, []string{"a", "b"}) {
		t.Errorf("output %s, argv %q, ids %q", f.output, f.argv, f.ids)
	}
}

func TestARunThatCannotBeMadeAgainIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, out := range map[string]string{
		"no directory":           filepath.Join(t.TempDir(), "none"),
		"no manifest":            t.TempDir(),
		"no command":             made(t, ""),
		"a hidden secret":        made(t, "", maskArgs([]string{"run", "-c", "model.model_kwargs.api_key=S3CRET"})...),
		"a flag that is unknown": made(t, "", "run", "--from-the-future"),
		"a folder that is gone":  made(t, "/nowhere/at/all", "run", "-m", "noop"),
	} {
		_, err := runFromManifest(out, pflag.NewFlagSet("resume", pflag.ContinueOnError))
		if fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("%s: %v (%s)", name, err, fault.HintOf(err))
		}
	}
}

func TestTheStateOfAWorkTree(t *testing.T) {
	for name, c := range map[string]struct {
		out  string
		want results.Git
	}{
		"clean":    {"# branch.oid abc\n# branch.head main\n# branch.upstream origin/main\n# branch.ab +0 -0\n", results.Git{Commit: "abc", Branch: "main"}},
		"changed":  {"# branch.oid abc\n# branch.head (detached)\n1 .M N... 100644 100644 100644 1 2 f\n", results.Git{Commit: "abc", Branch: "(detached)", Dirty: true}},
		"initial":  {"# branch.oid (initial)\n# branch.head main\n", results.Git{Commit: "(initial)", Branch: "main"}},
		"conflict": {"# branch.oid abc\nu UU N... 1 2 3 4 5 6 7 f\n", results.Git{Commit: "abc", Dirty: true}},
	} {
		if diff := cmp.Diff(&c.want, parseGitStatus(c.out)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTheGitProbe(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
	t.Chdir(t.TempDir())
	told := func() *results.Git {
		p := probeGit(t.Context())
		defer p.stop()
		<-p.done
		return p.known()
	}
	if g := told(); g != nil {
		t.Errorf("outside of a work tree: %+v", g)
	}
	if out, err := exec.Command("git", "init", "-q", "-b", "trunk").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if g := told(); g == nil || g.Branch != "trunk" || g.Dirty {
		t.Errorf("in a new one: %+v", g)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := probeGit(ctx)
	p.stop()
	if g := p.known(); g != nil {
		t.Errorf("asked in vain: %+v", g)
	}
}
