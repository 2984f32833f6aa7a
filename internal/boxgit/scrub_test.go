package boxgit_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/internal/boxgit"
	"batch.example/batch/internal/sample"
	"batch.example/batch/internal/tier"
)

// prelude makes, in its working directory, what all the cases start from: a
// repository "repo" with two commits and a tag, and functions for more.
const prelude = `set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@localhost
export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=maintenance.auto GIT_CONFIG_VALUE_0=false GIT_CONFIG_KEY_1=core.fsync GIT_CONFIG_VALUE_1=none GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@localhost GIT_ALLOW_PROTOCOL=file
top=$PWD
plant() { printf '%s\n' "$@" >> "$top/secrets"; }
commit() { # name: a commit with a change to a file, and a file of its own
	echo "$1" >> a && mkdir -p dir && echo "$1" > "dir/$1" && git add -A && git commit -qm "$1"
}
future() { # name: such a commit, which must not be found later
	commit "$1"
	plant $(git rev-parse HEAD HEAD: HEAD:a HEAD:dir "HEAD:dir/$1")
}
begin() { # git init's options
	if [ $# = 1 ] && [ -d "$TEMPLATE" ]; then cp -R "$TEMPLATE" "$1" && cd "$1" && return; fi
	git init -q -b main "$@" && cd "${!#}" && commit one && git tag v1 && commit two
}
back() { git checkout -q "${1:-main}"; }
ahead() { git checkout -q -b ahead && future "${1:-secret}" && back; }
`

// observed is the state that must not change, with the files. Nothing that the repository
// configured is run.
const observed = `export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
git() { command git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c diff.external= "$@"; }
git status --porcelain=v2 --ignored 2>/dev/null # refreshes the index
bare=$(git rev-parse --is-bare-repository HEAD 2>&1); echo "$bare"
git symbolic-ref -q HEAD; git log --format=%H%d --decorate-refs=refs/tags/v1 -- 2>&1
if [[ $bare == true* ]]; then exit 0; fi
git describe --tags 2>/dev/null; git ls-files -s; git diff; git diff --cached
[ ! -f .gitmodules ] || git submodule status 2>&1
`

// found looks for planted objects, also by their names in the text of any file.
const found = `git() { command git -c core.fsmonitor=false -c core.hooksPath=/dev/null "$@"; }
git cat-file --batch-check < "$SECRETS" | grep -v ' missing$'
grep -raoF -f "$SECRETS" "$(git rev-parse --git-common-dir)"
git log --all --reflog --format=%s | grep -E 'secret|future'
git fsck --full --unreachable --no-reflogs 2>&1 | grep -v ^notice:
git for-each-ref refs/remotes refs/notes refs/stash; git remote`

type repo struct {
	dir, work string // directories of the case and of its repository
	env       []string
	helper    string // batch's, if the container has it
	shared    string // the folder that containers share
	outcome   string // the file with the outcome of an earlier scrub
}

func (r repo) bash(t *testing.T, script string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{"-p", "-c", script, "bash"}, args...)...)
	cmd.Dir = r.work
	cmd.Env = append(os.Environ(), r.env...)
	cmd.Env = append(cmd.Env, "SECRETS="+filepath.Join(r.dir, "secrets"))
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// observe returns what must not change: what git shows, and the files of the working tree.
func (r repo) observe(t *testing.T) string {
	t.Helper()
	shown, _ := r.bash(t, observed)
	if _, err := os.Stat(filepath.Join(r.work, "HEAD")); err == nil {
		return shown // a bare repository has no other files than git's
	}
	return shown + files(t, r.work, ".git")
}

// files returns the digests of the files in dir. It does not enter folders with the name skip.
func files(t *testing.T, dir, skip string) string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == skip && d.IsDir():
			return fs.SkipDir
		case d.Name() == skip || !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&list, "%x %s\n", sha256.Sum256(data), path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}

func (r repo) scrub(t *testing.T, args ...string) boxgit.Report {
	t.Helper()
	script := boxgit.Script
	if r.helper != "" {
		script = strings.Replace(script, "helper=/dev/batch/init", "helper="+r.helper, 1)
	}
	if r.shared != "" {
		script = strings.Replace(script, "shared="+boxgit.Shared, "shared="+r.shared, 1)
	}
	if r.outcome != "" {
		script = strings.Replace(script, "outcome="+boxgit.OutcomeFile, "outcome="+r.outcome, 1)
	}
	out, code := r.bash(t, script, args...)
	report, err := boxgit.Read([]byte(out), code)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// fixtures has the repositories that the cases are copies of.
var fixtures string

// TestMain makes the repository that most cases are a copy of.
func TestMain(m *testing.M) {
	var err error
	if fixtures, err = os.MkdirTemp("", "gitscrub-"); err != nil {
		panic(err)
	}
	cmd := exec.Command("bash", "-p", "-c", prelude+"begin template")
	cmd.Dir = fixtures
	_ = cmd.Run() // without git the tests are skipped
	os.Setenv("TEMPLATE", filepath.Join(fixtures, "template"))
	code := m.Run()
	_ = os.RemoveAll(fixtures)
	os.Exit(code)
}

// hostile returns a case's repository, made by its script after the prelude.
func hostile(t *testing.T, script, work string) repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := repo{dir: dir, work: dir}
	if err := os.WriteFile(filepath.Join(dir, "secrets"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := r.bash(t, prelude+script); code != 0 {
		t.Fatalf("making the repository: exit code %d\n%s", code, out)
	}
	r.work = filepath.Join(dir, work)
	return r
}

// The check comes first, and changes nothing, so that both share a case's repository.
func TestTheCheckChangesNothingAndTheScrubLeavesNothingBeyondHEAD(t *testing.T) {
	t.Parallel()
	built := buildHelper(t)
	for _, way := range []struct{ name, helper, elsewhere string }{
		{name: "by git"},
		{name: "by the helper", helper: built},
		{name: "after one in another container", helper: built, elsewhere: boxgit.Scrub},
		{name: "with what another container shares", helper: built, elsewhere: boxgit.Share},
	} {
		t.Run(way.name, func(t *testing.T) { t.Parallel(); testScrub(t, way.helper, way.elsewhere) })
	}
}

// buildHelper builds the program that is process 1 of containers, once, and returns its path.
func buildHelper(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("batch's helper runs on Linux")
	}
	if err := helperBuilt(); err != nil {
		t.Fatal(err)
	}
	return helperFile()
}

func helperFile() string { return filepath.Join(fixtures, "init") }

var helperBuilt = sync.OnceValue(func() error {
	cmd := exec.Command("go", "build", "-o", helperFile(), "batch.example/batch/internal/boxinit")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as scripts/boxinit, so that both share what is compiled
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
})

// scrubElsewhere scrubs a copy of the repository, at the same place, as a container of the
// same image would, and returns the repository with what that scrub shares or has found out.
func (r repo) scrubElsewhere(t *testing.T, mode string) repo {
	t.Helper()
	kept := r.dir + ".kept"
	if mode == boxgit.Share {
		r.shared = r.dir + ".shared"
	}
	if out, err := exec.CommandContext(t.Context(), "cp", "-pR", r.dir, kept).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	report := r.scrub(t, "", mode)
	if mode == boxgit.Scrub {
		r.outcome = r.dir + ".outcome"
		if err := os.WriteFile(r.outcome, []byte(report.Outcome), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(kept, r.dir); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheScrubUsesTheHelper(t *testing.T) {
	t.Parallel()
	r := hostile(t, "begin repo; ahead; git gc -q", "repo")
	called := filepath.Join(r.dir, "called")
	r.helper = filepath.Join(r.dir, "helper")
	if err := os.WriteFile(r.helper, []byte("#!/bin/sh\necho \"$@\" > "+called+"\nexec "+buildHelper(t)+" \"$@\""), 0o700); err != nil {
		t.Fatal(err)
	}
	if report := r.scrub(t); report.Verdict != "scrubbed" {
		t.Errorf("got %+v, want verdict scrubbed", report)
	}
	packs := filepath.Join(r.work, ".git/objects/pack")
	want := "keep-objects " + packs + " " + packs + " "
	if got, err := os.ReadFile(called); err != nil || !strings.HasPrefix(string(got), want) {
		t.Errorf("it was called with %q, %v; want %q, no error", got, err, want)
	}
}

// The tags that stay are found in the list of what HEAD needs.
func TestTheHistoryIsReadOnce(t *testing.T) {
	t.Parallel()
	r := hostile(t, `begin repo; git tag -a -m t annotated; ahead; git tag later ahead; mkdir ../bin
		printf '#!/bin/sh\necho "$@" >> "%s/called"\nexec "%s" "$@"\n' "$top" "$(type -P git)" > ../bin/git; chmod +x ../bin/git`, "repo")
	r.env = []string{"PATH=" + filepath.Join(r.dir, "bin") + ":" + os.Getenv("PATH")}
	r.scrub(t, "", boxgit.Scrub)
	called, err := os.ReadFile(filepath.Join(r.dir, "called"))
	if n := strings.Count(string(called), " rev-list "); err != nil || n != 1 || strings.Contains(string(called), "--merged") {
		t.Errorf("git read the history other than once, %v:\n%s", err, called)
	}
}

// What an earlier scrub of the image has found out saves reading the history. It has to be whole,
// and of this repository.
func TestAnOutcomeIsUsedOrFoundOut(t *testing.T) {
	t.Parallel()
	const script = `begin repo; git tag -a -m t annotated; ahead; git tag later ahead; git gc -q; mkdir ../bin
		printf '#!/bin/sh\necho "$@" >> "%s/called"\nexec "%s" "$@"\n' "$top" "$(type -P git)" > ../bin/git; chmod +x ../bin/git`
	other := hostile(t, "begin repo; commit another; git gc -q; ahead", "repo")
	other.helper = buildHelper(t)
	for name, c := range map[string]struct {
		change func(outcome string) string
		walks  int
	}{
		"as it was":          {func(s string) string { return s }, 0},
		"empty":              {func(string) string { return "" }, 1},
		"cut":                {func(s string) string { return s[:len(s)-9] }, 1},
		"only the refs":      {func(s string) string { before, _, _ := strings.Cut(s, "\n\n"); return before }, 1},
		"no text":            {func(string) string { return strings.Repeat("\x00", 1000) }, 1},
		"another repository": {func(string) string { return other.scrub(t).Outcome }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := hostile(t, script, "repo")
			r.helper = other.helper
			r = r.scrubElsewhere(t, boxgit.Scrub)
			found, err := os.ReadFile(r.outcome)
			if err != nil || len(found) == 0 {
				t.Fatalf("the first scrub's outcome is %q, %v", found, err)
			}
			if err := os.WriteFile(r.outcome, []byte(c.change(string(found))), 0o600); err != nil {
				t.Fatal(err)
			}
			r.env = []string{"PATH=" + filepath.Join(r.dir, "bin") + ":" + os.Getenv("PATH")}
			report := r.scrub(t, "", boxgit.Scrub)
			called, err := os.ReadFile(filepath.Join(r.dir, "called"))
			if n := strings.Count(string(called), " rev-list "); err != nil || n != c.walks {
				t.Errorf("git read the history %d times, %v; want %d:\n%s", n, err, c.walks, called)
			}
			if again := report.Outcome; c.walks > 0 && again != string(found) || c.walks == 0 && again != "" {
				t.Errorf("outcome %q, want none if there was one, and otherwise %q", again, found)
			}
			check := "git fsck --full && ! git rev-parse -q --verify later && git rev-parse annotated && " + onlyPacks
			if out, code := r.bash(t, check); code != 0 || report.Verdict != "scrubbed" {
				t.Errorf("report %+v, exit code %d, want 0\n%s", report, code, out)
			}
			if _, err := os.Stat(r.outcome); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the outcome is left: %v", err)
			}
		})
	}
}

// Of a long output the middle is left out: an outcome may not become so long, and one without its middle
// is no reason to fail.
func TestAnOutcomeThatIsTooLongIsNone(t *testing.T) {
	t.Parallel()
	r := hostile(t, "begin repo; ahead; git gc -q", "repo")
	r.helper = filepath.Join(r.dir, "helper")
	helper := "#!/bin/bash\n" + buildHelper(t) + ` "$@" && head -c 4000000 /dev/zero >> "$4"`
	if err := os.WriteFile(r.helper, []byte(helper), 0o700); err != nil {
		t.Fatal(err)
	}
	if report := r.scrub(t); report.Verdict != "scrubbed" || report.Outcome != "" {
		t.Errorf("report with verdict %q and an outcome of %d bytes, want scrubbed, none", report.Verdict, len(report.Outcome))
	}
	cut := "outcome: MQp\ngitscrub: scrubbed, 1 refs, 2 objects\n"
	if report, err := boxgit.Read([]byte(cut), 0); err != nil || report != (boxgit.Report{Verdict: "scrubbed", Refs: 1, Objects: 2}) {
		t.Errorf("without its middle: %+v, %v; want no outcome and no error", report, err)
	}
}

// An outcome of a scrub of a container's own store also serves one that shares, and the reverse.
func TestAnOutcomeServesASharedScrub(t *testing.T) {
	t.Parallel()
	r := hostile(t, "begin repo; git tag -a -m t annotated; ahead; git gc -q; commit loose", "repo")
	r.helper = buildHelper(t)
	r = r.scrubElsewhere(t, boxgit.Scrub)
	outcome, err := os.ReadFile(r.outcome)
	if err != nil || len(outcome) == 0 {
		t.Fatalf("outcome %q, %v", outcome, err)
	}
	r = r.scrubElsewhere(t, boxgit.Share)
	report := r.scrub(t, "", boxgit.Scrub)
	if out, code := r.bash(t, "git fsck --full && ! git cat-file -e ahead"); code != 0 || report.Verdict != "scrubbed" {
		t.Errorf("report %+v, exit code %d, want 0\n%s", report, code, out)
	}
	if count, err := os.ReadFile(r.shared + r.work + "/.git/objects/count"); err != nil {
		t.Errorf("count %q, %v", count, err)
	}
}

// Whatever happens to the helper and its output, no object that HEAD needs is lost.
func TestAHelperThatFailsLosesNothing(t *testing.T) {
	t.Parallel()
	built := buildHelper(t)
	for name, helper := range map[string]string{
		"it is killed, and leaves parts of packs": `cp "$2"/*.pack "$3/tmp_cut_1"; kill -9 $$`,
		"what it says cannot be read":             built + ` "$@"; mkdir "$2/../../gitscrub.$PPID.rest"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := hostile(t, "begin repo; ahead; git gc -q; commit loose", "repo")
			r.helper = filepath.Join(r.dir, "helper")
			if err := os.WriteFile(r.helper, []byte("#!/bin/bash\n"+helper), 0o700); err != nil {
				t.Fatal(err)
			}
			r.scrub(t)
			if out, code := r.bash(t, "git fsck --full && "+onlyPacks); code != 0 {
				t.Errorf("exit code %d, want 0\n%s", code, out)
			}
		})
	}
}

// Another container was to share the history of a repository, but did not, or not as it says:
// the repository is scrubbed on its own.
func TestAnIncompleteSharedHistoryIsNotBorrowed(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	for name, damage := range map[string]string{ // of the shared folder of the objects
		"without its end":   "rm count",
		"without any packs": "rm -f pack/*",
		"empty packs":       "for f in pack/*; do chmod u+w $f; : >$f; done",
		"only the refs":     "rm -rf *",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := hostile(t, "begin repo; ahead; git gc -q; commit loose", "repo").scrubElsewhere(t, boxgit.Share)
			if out, code := r.bash(t, "cd "+r.shared+r.work+"/.git/objects && "+damage); code != 0 {
				t.Fatal(out)
			}
			out, code := r.bash(t, strings.Replace(boxgit.Script, "shared="+boxgit.Shared, "shared="+r.shared, 1))
			if _, err := boxgit.Read([]byte(out), code); err != nil {
				t.Fatal(err)
			}
			if out, code := r.bash(t, "git fsck --full && ! git rev-parse -q --verify ahead && "+onlyPacks); code != 0 {
				t.Errorf("exit code %d, want 0\n%s", code, out)
			}
		})
	}
}

func testScrub(t *testing.T, helper, elsewhere string) {
	for _, c := range sample.Some(t, 6, cases) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			work := c.work
			if work == "" {
				work = "repo"
			}
			r := hostile(t, c.script, work)
			if planted, err := os.ReadFile(filepath.Join(r.dir, "secrets")); err != nil || (len(planted) == 0) != c.clean {
				t.Fatalf("planted %q, %v; want nothing planted: %v, no error", planted, err, c.clean)
			}
			r.helper = helper
			r.changesAndRunsNothing(t)
			before := r.observe(t)
			index, _ := os.ReadFile(filepath.Join(r.work, ".git", "index"))
			_ = os.Remove(filepath.Join(r.dir, "ran"))
			if elsewhere != "" {
				r = r.scrubElsewhere(t, elsewhere)
			}
			report := r.scrub(t, "", boxgit.Scrub)
			if _, err := os.Stat(filepath.Join(r.dir, "ran")); err == nil {
				t.Error("something that the repository configured was run")
			}
			again, _ := os.ReadFile(filepath.Join(r.work, ".git", "index"))
			if !bytes.Equal(index, again) {
				t.Error("the index has changed")
			}
			after := r.observe(t)
			if diff := cmp.Diff(before, after); diff != "" && !c.differs {
				t.Errorf("changed (-before +after):\n%s", diff)
			}
			if out, _ := r.bash(t, found); strings.TrimSpace(out) != "" && !c.incomplete {
				t.Errorf("planted objects were found:\n%s", out)
			}
			if want := map[bool]string{true: "clean", false: "scrubbed"}[c.clean]; report.Verdict != want {
				t.Errorf("verdict %q, want %q", report.Verdict, want)
			}
			if second := r.scrub(t); second != (boxgit.Report{Verdict: "clean"}) && !c.again {
				t.Errorf("the second scrub reports %+v, want clean", second)
			}
			if c.check != "" {
				if out, code := r.bash(t, c.check); code != 0 {
					t.Errorf("check: exit code %d, want exit code 0\n%s", code, out)
				}
			}
		})
	}
}

func TestADirectoryWithoutARepositoryIsNotAnError(t *testing.T) {
	t.Parallel()
	r := hostile(t, "mkdir empty .git; mkdir -p half/.git/objects", "empty")
	if report := r.scrub(t); report.Verdict != "no repository" {
		t.Errorf("got %+v, want verdict %q", report, "no repository")
	}
	r.work = filepath.Join(r.dir, "half")
	if report := r.scrub(t); report.Verdict != "no repository" {
		t.Errorf("got %+v, want verdict %q", report, "no repository")
	}
	r = hostile(t, "begin repo; mkdir ../bin; ln -s $(type -P bash) ../bin", "repo")
	r.env = []string{"PATH=" + filepath.Join(r.dir, "bin")}
	if report := r.scrub(t); report.Verdict != "no git" {
		t.Errorf("got %+v, want verdict %q", report, "no git")
	}
}

func TestAHistoryThatCannotBeScrubbedIsAnError(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"HEAD's commit is missing":                                 "begin repo; rm -rf .git/objects/??",
		"a file of HEAD's history is missing, and refs are locked": "begin repo; ahead; git pack-refs --all; touch .git/packed-refs.lock",
		"refs as reftable":                                         "begin repo; mkdir .git/reftable",
		"HEAD makes no sense":                                      "begin repo; echo nonsense > .git/HEAD",
		"objects where no pack can be written": "begin repo; ahead; git gc -q; rm -f .git/objects/info/packs; chmod -R u+w .git; mv .git/objects/pack .git/objects/p; " +
			"mkdir .git/o; mv .git/objects/p/* .git/o; rmdir .git/objects/p; touch .git/objects/pack; echo ../o > .git/objects/info/alternates",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := hostile(t, script, "repo")
			out, code := r.bash(t, boxgit.Script)
			if report, err := boxgit.Read([]byte(out), code); err == nil {
				t.Errorf("got %+v, want an error", report)
			} else {
				t.Log(err)
			}
		})
	}
}
