package run

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/results/manifest"
)

func TestTheStateOfAWorkingTree(t *testing.T) {
	for name, c := range map[string]struct {
		out  string
		want manifest.Git
	}{
		"clean":    {"# branch.oid abc\n# branch.head main\n# branch.upstream origin/main\n# branch.ab +0 -0\n", manifest.Git{Commit: "abc", Branch: "main"}},
		"changed":  {"# branch.oid abc\n# branch.head (detached)\n1 .M N... 100644 100644 100644 1 2 f\n", manifest.Git{Commit: "abc", Branch: "(detached)", Dirty: true}},
		"initial":  {"# branch.oid (initial)\n# branch.head main\n", manifest.Git{Commit: "(initial)", Branch: "main"}},
		"conflict": {"# branch.oid abc\nu UU N... 1 2 3 4 5 6 7 f\n", manifest.Git{Commit: "abc", Dirty: true}},
	} {
		if diff := cmp.Diff(&c.want, parseGitStatus(c.out)); diff != "" {
			t.Errorf("%s: got %s, want no difference", name, diff)
		}
	}
}

func TestTheGitProbe(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
	t.Chdir(t.TempDir())
	told := func() *manifest.Git {
		p := ProbeGit(t.Context(), "")
		defer p.Stop()
		<-p.done
		return p.Known()
	}
	if g := told(); g != nil {
		t.Errorf("outside of a working tree: %+v", g)
	}
	if out, err := exec.Command("git", "init", "-q", "-b", "trunk").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if g := told(); g == nil || g.Branch != "trunk" || g.Dirty {
		t.Errorf("in a new one: %+v, want a value, branch %q, dirty false", g, "trunk")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := ProbeGit(ctx, "")
	p.Stop()
	if g := p.Known(); g != nil {
		t.Errorf("the probe of a failing git: got %+v, want nil", g)
	}
}
