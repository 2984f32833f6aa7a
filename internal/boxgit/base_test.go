package boxgit_test

import (
	"crypto/sha1"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/internal/boxgit"
	"batch.example/batch/internal/tier"
)

// wanted prints in a case's script which commit the row names.
const wanted = `want() { git rev-parse "$1" > "$top/base"; }
setup() { echo "$1" > "$1" && git add -A && git commit -qm SWE-bench; } # file: a commit with that file
`

// look runs Script as the solver does, with the case's base, and scrubs if
// history is empty.
func (r repo) look(t *testing.T, base, history string) (found boxgit.Base, output string, exitCode int) {
	t.Helper()
	output, exitCode = r.bash(t, boxgit.Script, boxgit.ID(base), history)
	return boxgit.ReadBase([]byte(output), exitCode), output, exitCode
}

// base is the commit that the case's script asked for.
func (r repo) base(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, "base"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// gold is a patch of one file; %s is its name.
const gold = "diff --git a/%[1]s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n@@ -1 +1 @@\n-a\n+b\n"

func TestTheCommitOfAnImageIsReported(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		cut          int      // digits of the id in the row
		gold         string   // file that the gold patch changes
		mismatch     string   // the report, with HEAD for HEAD's id; empty if the image is at its commit
		changed      string   // files of the commits on top
		work         string   // directory of the repository; empty: repo
		env          []string // %s is the case's directory
	}{
		{name: "at it", script: `begin repo; want HEAD`},
		{name: "at it, abbreviated", script: `begin repo; want HEAD`, cut: 7},
		{name: "at it, detached", script: `begin repo; git checkout -q HEAD~1; want HEAD`},
		{name: "at it, packed, in a subfolder", script: `begin repo; git gc -q; want HEAD`, work: "repo/dir"},
		{name: "at it, SHA-256", script: `begin --object-format=sha256 repo; want HEAD`},
		{name: "at it, in a working tree beside another", script: `begin first; git worktree add -q ../repo HEAD~1; want HEAD~1`},
		{name: "at it, shallow", script: `begin origin; commit three; cd ..; git clone -q --depth 1 "file://$top/origin" repo; cd repo; want HEAD`},
		{name: "a commit on top with the same tree", script: `begin repo; want HEAD; git commit -q --allow-empty -m SWE-bench`},
		{name: "a commit on top with the same tree, abbreviated", script: `begin repo; want HEAD; git commit -q --allow-empty -m SWE-bench`, cut: 9},
		{name: "a commit on top of shallow history", script: `begin origin; cd ..; git clone -q --depth 1 "file://$top/origin" repo; cd repo; want HEAD; setup setup.py`, changed: "setup.py"},
		{name: "a commit on top that edits what builds it", script: `begin repo; want HEAD; mkdir lib; echo x > lib/requirements-dev.txt; echo x > tox.ini; setup setup.py`, gold: "a", changed: "lib/requirements-dev.txt, setup.py, tox.ini"},
		{name: "a commit on top in a folder whose name git quotes", script: `begin repo; git config core.quotePath false; want HEAD; mkdir $'\303\251 "x"'; setup $'\303\251 "x"/pom.xml'`, changed: `"\303\251 \"x\"/pom.xml"`},
		{name: "a commit on top that removes what builds it", script: `begin repo; setup Gemfile; want HEAD; git rm -q Gemfile; git commit -qm SWE-bench`, changed: "Gemfile"},
		{
			name: "a commit on top that edits what the gold patch does", script: `begin repo; want HEAD; setup setup.py`, gold: "setup.py", changed: "setup.py",
			mismatch: "HEAD is HEAD, one commit on top of it, which changes what the gold patch changes: setup.py",
		},
		{
			name: "a commit on top that edits code", script: `begin repo; want HEAD; echo x > setup.py; commit three`, changed: "a, dir/three, setup.py",
			mismatch: "HEAD is HEAD, one commit on top of it, which changes files that setting up an environment does not: a, dir/three",
		},
		{
			name: "a commit on top that only moves code to such a name", script: `begin repo; want HEAD; git mv dir/one setup.py; git commit -qm x`, changed: "dir/one, setup.py",
			mismatch: "HEAD is HEAD, one commit on top of it, which changes files that setting up an environment does not: dir/one",
		},
		{
			name: "a commit on top with more files than are named", script: `begin repo; want HEAD; for i in $(seq -w 0 102); do mkdir d$i; : > d$i/setup.py; done; git add -A; git commit -qm SWE-bench`,
			changed:  "d000/setup.py, d001/setup.py, d002/setup.py, d003/setup.py, d004/setup.py and 98 more",
			mismatch: "HEAD is HEAD, one commit on top of it, which changes 103 files, more than setting up an environment does",
		},
		{name: "ahead", script: `begin repo; want HEAD; setup setup.py; setup tox.ini`, changed: "setup.py, tox.ini", mismatch: "HEAD is HEAD, 2 commits ahead of it"},
		{name: "ahead by a merge", script: `begin repo; want HEAD; git checkout -qb x HEAD~1; setup setup.py; git checkout -q main; git merge -q --no-ff x -m m`, changed: "setup.py", mismatch: "HEAD is HEAD, 2 commits ahead of it"},
		{name: "behind", script: `begin repo; commit three; want HEAD; git checkout -q HEAD~1`, changed: "a, dir/three", mismatch: "HEAD is HEAD, 1 commit behind it"},
		{name: "on another line", script: `begin repo; want HEAD; git checkout -qb x HEAD~1; commit three`, changed: "a, dir/three, dir/two", mismatch: "HEAD is HEAD, 1 commit ahead of and 1 commit behind it"},
		{name: "of another history", script: `begin repo; want HEAD; git checkout -q --orphan x; git commit -qm x`, mismatch: "HEAD is HEAD, 1 commit ahead of and 2 commits behind it"},
		{name: "not there", script: `begin repo; echo 0123456789012345678901234567890123456789 > "$top/base"`, mismatch: "the repository does not have that commit; HEAD is HEAD"},
		{name: "not there, abbreviated", script: `begin repo; echo 0123456789 > "$top/base"`, mismatch: "the repository does not have that commit; HEAD is HEAD"},
		{name: "a file's id", script: `begin repo; want HEAD:a`, mismatch: "the repository does not have that commit; HEAD is HEAD"},
		{name: "a file's id, abbreviated", script: `begin repo; want HEAD:a`, cut: 12, mismatch: "the repository does not have that commit; HEAD is HEAD"},
		{
			name: "cut off by a shallow clone", script: `begin origin; want HEAD; commit three; cd ..; git clone -q --depth 1 "file://$top/origin" repo`,
			mismatch: "the repository does not have that commit; HEAD is HEAD",
		},
		{name: "nothing checked out", script: `begin repo; want HEAD; git checkout -q --orphan x`, mismatch: "the repository around the working directory has no commit checked out"},
		{name: "no repository", script: `begin other; want HEAD; mkdir ../repo`, mismatch: "there is no git repository around the working directory"},
		{name: "no id", script: `begin repo; echo main > "$top/base"`, mismatch: "that is not the id of a commit"},
		{name: "an id that is too short", script: `begin repo; want HEAD`, cut: 6, mismatch: "that is not the id of a commit"},
		// Ways in which an image's repository can pretend to be another one.
		{name: "a branch with the id's name", script: `begin repo; want HEAD~1; git branch "$(cut -c 1-10 "$top/base")"`, cut: 10, changed: "a, dir/two", mismatch: "HEAD is HEAD, one commit on top of it, which changes files that setting up an environment does not: a, dir/two"},
		{name: "a replaced commit", script: `begin repo; want HEAD; commit three; commit four; git replace HEAD $(git commit-tree -p HEAD~2 -m x HEAD~2^{tree})`, changed: "a, dir/four, dir/three", mismatch: "HEAD is HEAD, 2 commits ahead of it"},
		{name: "a graft", script: `begin repo; want HEAD; commit three; commit four; echo "$(git rev-parse HEAD HEAD~2 | tr '\n' ' ')" > .git/info/grafts`, changed: "a, dir/four, dir/three", mismatch: "HEAD is HEAD, 2 commits ahead of it"},
		{name: "a replaced folder", script: `begin repo; want HEAD; commit three; git replace HEAD^{tree} HEAD~1^{tree}`, changed: "a, dir/three", mismatch: "HEAD is HEAD, one commit on top of it, which changes files that setting up an environment does not: a, dir/three"},
		{
			name: "another repository in the environment", script: `begin other; want HEAD; begin "$top/repo"; commit three`, env: []string{"GIT_DIR=%s/other/.git", "GIT_WORK_TREE=%s/other"},
			changed: "a, dir/three", mismatch: "HEAD is HEAD, one commit on top of it, which changes files that setting up an environment does not: a, dir/three",
		},
		{
			name: "settings in the environment", script: `begin repo; want HEAD; commit three; git replace HEAD HEAD~1`,
			env:     []string{"GIT_REPLACE_REF_BASE=refs/replace/", "GIT_NO_REPLACE_OBJECTS=", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.worktree", "GIT_CONFIG_VALUE_0=/", "GIT_CEILING_DIRECTORIES=%s", "GIT_OBJECT_DIRECTORY=/nowhere", "GIT_NAMESPACE=x", "GIT_EXEC_PATH=/nowhere"},
			changed: "a, dir/three", mismatch: "HEAD is HEAD, one commit on top of it, which changes files that setting up an environment does not: a, dir/three",
		},
		{
			name: "settings", script: `begin repo; want HEAD; commit three; git config alias.rev-parse '!cat ../base'; git config diff.ignoreSubmodules all; git config core.worktree /; git config diff.orderFile /nowhere`,
			changed: "a, dir/three", mismatch: "HEAD is HEAD, one commit on top of it, which changes files that setting up an environment does not: a, dir/three",
		},
		{
			name: "a submodule", script: `begin sub; cd ..; begin repo; git -c protocol.file.allow=always submodule --quiet add "$top/sub" setup; git commit -qm s; want HEAD
				git -C setup checkout -q HEAD~1; git config submodule.setup.ignore all; git update-index --cacheinfo 160000,$(git -C setup rev-parse HEAD),setup; git commit -qm SWE-bench`,
			changed: "setup", mismatch: "HEAD is HEAD, one commit on top of it, which changes files that setting up an environment does not: setup",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			work := tt.work
			if work == "" {
				work = "repo"
			}
			r := hostile(t, wanted+tt.script, work)
			base := r.base(t)
			if tt.cut > 0 {
				base = base[:tt.cut]
			}
			head, _ := r.bash(t, "git --no-replace-objects rev-parse -q --verify HEAD")
			for _, v := range tt.env {
				r.env = append(r.env, strings.ReplaceAll(v, "%s", r.dir))
			}
			found, out, _ := r.look(t, strings.ToUpper(base)+"\n", "keep")
			if got := found.Mismatch(base, fmt.Sprintf(gold, tt.gold)); got != strings.ReplaceAll(tt.mismatch, "is HEAD", "is "+head[:min(12, len(head))]) {
				t.Errorf("said %q, want %q\n%s", got, tt.mismatch, out)
			}
			if got := found.Changed.String(); got != tt.changed {
				t.Errorf("changed %q, want %q\n%s", got, tt.changed, out)
			}
		})
	}
}

func TestACommitThatChangesFilesOfTheGoldPatchIsNotSetup(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ file, patch string }{
		"an edit":              {"lib/setup.py", fmt.Sprintf(gold, "lib/setup.py")},
		"line ends of Windows": {"setup.py", strings.ReplaceAll(fmt.Sprintf(gold, "setup.py"), "\n", "\r\n")},
		"a time of change":     {"setup.py", "--- a/setup.py\t2001-01-01\n+++ b/setup.py\t2001-01-01\n"},
		"no prefixes":          {"setup.py", "--- setup.py\n+++ setup.py\n"},
		"a new file":           {"setup.py", "--- /dev/null\n+++ b/setup.py\n"},
		"a move from there":    {"a/setup.py", "diff --git a/a/setup.py b/new.py\nsimilarity index 100%\nrename from a/setup.py\nrename to new.py\n"},
		"a copy to there":      {"b/setup.py", "diff --git a/x b/b/setup.py\nsimilarity index 100%\ncopy from x\ncopy to b/setup.py\n"},
		"a mode":               {"setup.py", "diff --git a/setup.py b/setup.py\nold mode 100644\nnew mode 100755\n"},
		"a binary file":        {"yarn.lock", "diff --git a/yarn.lock b/yarn.lock\nindex 1..2 100644\nGIT binary patch\n"},
		"a mode, in quotes":    {`"\303\251/setup.py"`, "diff --git \"a/\\303\\251/setup.py\" \"b/\\303\\251/setup.py\"\nold mode 100644\nnew mode 100755\n"},
		"a name in quotes":     {`"\303\251/setup.py"`, "--- \"a/\\303\\251/setup.py\"\n+++ \"b/\\303\\251/setup.py\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := boxgit.Base{Head: "fedcba9876", Commit: "0123456789", Ahead: 1, Changed: boxgit.Files{Names: []string{tt.file}, Total: 1}}
			if got := b.Mismatch(b.Commit, tt.patch); !strings.HasSuffix(got, "which changes what the gold patch changes: "+tt.file) {
				t.Errorf("got %q, want ending in %q", got, "which changes what the gold patch changes: "+tt.file)
			}
			if got := b.Mismatch(b.Commit, fmt.Sprintf(gold, "other/setup.py")); got != "" {
				t.Errorf("got %q, want nothing", got)
			}
		})
	}
}

func TestAnImageWithoutGitSaysSo(t *testing.T) {
	t.Parallel()
	r := hostile(t, wanted+"begin repo; want HEAD; mkdir ../bin; ln -s $(type -P bash) ../bin", "repo")
	r.env = []string{"PATH=" + filepath.Join(r.dir, "bin")}
	found, _, _ := r.look(t, r.base(t), "keep")
	if got := found.Mismatch(r.base(t), ""); got != "the image has no git, so its commit is unknown" {
		t.Error(got)
	}
	found = boxgit.ReadBase([]byte("sh: bash: not found"), 127)
	if got := found.Mismatch(r.base(t), ""); got != `finding its commit: exit code 127, output "sh: bash: not found"` {
		t.Error(got)
	}
}

// twoCommits are commits whose ids begin with the same 7 digits.
func twoCommits(tree string) (a, b string) {
	seen := map[string]string{}
	for i := 0; ; i++ {
		text := fmt.Sprintf("tree %s\nauthor a <a@localhost> 0 +0000\ncommitter a <a@localhost> 0 +0000\n\n%d\n", tree, i)
		id := fmt.Sprintf("%x", sha1.Sum([]byte(fmt.Sprintf("commit %d\x00%s", len(text), text))))[:7]
		if other, ok := seen[id]; ok {
			return other, text
		}
		seen[id] = text
	}
}

func TestAnAmbiguousAbbreviationMatchesNoCommit(t *testing.T) {
	t.Parallel()
	r := hostile(t, "begin repo; git rev-parse HEAD^{tree} > ../tree", "repo")
	tree, err := os.ReadFile(filepath.Join(r.dir, "tree"))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	first, second := twoCommits(strings.TrimSpace(string(tree)))
	for _, text := range []string{first, second} {
		cmd := exec.CommandContext(t.Context(), "git", "hash-object", "-t", "commit", "-w", "--stdin")
		cmd.Dir, cmd.Stdin = r.work, strings.NewReader(text)
		id, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, strings.TrimSpace(string(id)))
	}
	found, out, _ := r.look(t, ids[0][:7], "keep")
	if got := found.Mismatch(ids[0][:7], ""); !strings.HasPrefix(got, "2 commits have ids that begin with it; HEAD is ") {
		t.Errorf("got %q, want beginning with %q\n%s", got, "2 commits have ids that begin with it; HEAD is ", out)
	}
	// A row may name HEAD itself.
	if out, code := r.bash(t, "git update-ref --no-deref HEAD "+ids[1]); code != 0 {
		t.Fatal(out)
	}
	if found, out, _ := r.look(t, ids[0][:7], "keep"); found.Mismatch(ids[0][:7], "") != "" {
		t.Error(out)
	}
}

func TestUncommittedChangesAreNamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ script, want string }{
		"none":                        {`begin repo`, ""},
		"only the time":               {`begin repo; touch -d 2001-01-01 a`, ""},
		"new files":                   {`begin repo; echo x > x`, ""},
		"of every kind":               {`begin repo; echo x >> a; rm dir/one; git mv dir/two dir/three; chmod +x dir/three`, "a, dir/one, dir/three, dir/two"},
		"many":                        {`begin repo; for i in $(seq 6); do echo $i > $i; done; git add .`, "1, 2, 3, 4, 5 and 1 more"},
		"a working tree elsewhere":    {`begin repo; echo x >> a; mkdir ../e; git config core.worktree "$top/e"`, "a"},
		"in a bare repository":        {`begin first; cd ..; git clone -q --bare first real; ln -s real repo`, ""},
		"nothing of a submodule":      {`begin sub; cd ..; begin repo; git -c protocol.file.allow=always submodule --quiet add "$top/sub" s; git commit -qm s; echo x >> s/a`, ""},
		"a filter that would be run":  {`begin repo; git config filter.x.clean "touch $top/ran"; echo '* filter=x' > .git/info/attributes; echo x >> a; touch dir/*`, ""},
		"a filter in a file included": {`begin repo; printf '[filter "x"]\n\tprocess = touch %s/ran\n' "$top" > .git/more; git config include.path more; echo '* filter=x' > .git/info/attributes; echo x >> a`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := hostile(t, tt.script, "repo")
			_ = os.Remove(filepath.Join(r.dir, "ran"))
			found, out, _ := r.look(t, "", "keep")
			if got := found.Unsaved.String(); got != tt.want {
				t.Errorf("%q, want %q\n%s", got, tt.want, out)
			}
			if _, err := os.Stat(filepath.Join(r.dir, "ran")); err == nil {
				t.Error("something that the repository configured was run")
			}
		})
	}
}

// changesAndRunsNothing looks at the repository without a scrub.
func (r repo) changesAndRunsNothing(t *testing.T) {
	t.Helper()
	before := files(t, r.dir, "")
	head, code := r.bash(t, "git -c core.fsmonitor=false rev-parse -q --verify HEAD")
	if code != 0 {
		head = ""
	}
	_ = os.Remove(filepath.Join(r.dir, "ran"))
	found, out, code := r.look(t, "0123456789", "keep")
	report, err := boxgit.Read([]byte(out), code)
	if err != nil || report != (boxgit.Report{Verdict: "kept"}) || found.Head != strings.TrimSpace(head) {
		t.Errorf("%+v, %v, HEAD %s, want %s", report, err, found.Head, head)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "ran")); err == nil {
		t.Error("something that the repository configured was run")
	}
	after := files(t, r.dir, "")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("changed (-before +after), want no difference:\n%s", diff)
	}
}

func TestTheBaseCommitSurvivesTheScrub(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"on another branch": `begin repo; git checkout -qb other HEAD~1; commit three; want HEAD; future secret; back; ahead secret2`,
		"ahead":             `begin repo; commit three; want HEAD; ahead; git checkout -q --detach HEAD~1`,
		"on a remote's branch, HEAD ahead too": `begin origin; git checkout -qb other HEAD~1; commit three; want HEAD; future secret; back; cd ..
			git clone -q origin repo; cd repo; commit four; git config core.logAllRefUpdates always; git branch -q gone; git checkout -q gone; future secret2; git checkout -q main; git branch -qD gone`,
		"under a ref of batch": `begin repo; ahead; git update-ref refs/batch/base-commit ahead; git update-ref refs/batch/secret ahead; git checkout -qb other HEAD~1; commit three; want HEAD; back`,
		"packed":               `begin repo; git update-ref refs/batch ahead 2>/dev/null || true; ahead; git update-ref refs/batch ahead; git checkout -qb other HEAD~1; commit three; want HEAD; back; git gc -q; git pack-refs --all`,
		"HEAD unborn":          `begin repo; want HEAD; ahead; git checkout -q --orphan new; git rm -rfq --cached .; rm -f .git/index`,
		"shallow":              `begin origin; git checkout -qb other; commit three; want HEAD; back; commit four; ahead; cd ..; git clone -q --depth 2 --no-single-branch "file://$top/origin" repo`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := hostile(t, wanted+script, "repo")
			base := r.base(t)
			before := r.observe(t)
			_, out, code := r.look(t, base, "")
			if report, err := boxgit.Read([]byte(out), code); err != nil || report.Verdict != "scrubbed" {
				t.Errorf("got %+v, %v; want verdict %q, no error", report, err, "scrubbed")
			}
			after := r.observe(t)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("changed (-before +after), want no difference:\n%s", diff)
			}
			if out, code := r.bash(t, "git log -p --format=%H "+base+" >/dev/null && git archive "+base+" | tar -t && git gc -q --prune=now && git cat-file -e "+base); code != 0 {
				t.Errorf("the commit is not whole: %s", out)
			}
			if out, _ := r.bash(t, found); strings.TrimSpace(out) != "" {
				t.Errorf("found, want nothing:\n%s", out)
			}
			if out, _ := r.bash(t, "git for-each-ref --format='%(refname) %(objectname)' refs/batch; ls -d .git/logs 2>/dev/null"); strings.TrimSpace(out) != "refs/batch/base-commit "+base {
				t.Errorf("refs under refs/batch: %s, want %q", out, "refs/batch/base-commit "+base)
			}
			_, out, code = r.look(t, base, "")
			if report, err := boxgit.Read([]byte(out), code); err != nil || report != (boxgit.Report{Verdict: "clean"}) {
				t.Errorf("the second time: %+v, %v; want report %v, no error", report, err, (boxgit.Report{Verdict: "clean"}))
			}
		})
	}
}

// An image of SWE-smith has a clone whose branches are the instances; a commit
// with the bug, and one without the tests for it, are on top of the repository's.
func TestABranchOfAnInstanceIsKept(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	r := hostile(t, wanted+`begin origin; for i in o__r.1.one__a o__r.1.two__b; do git checkout -qb $i main; commit "Bug-$i"
		[ $i = o__r.1.two__b ] && plant $(git rev-parse HEAD HEAD:); [ $i = o__r.1.one__a ] && want HEAD; git rm -q dir/one; git commit -qm 'Remove F2P Tests'; done
		back; git gc -q; cd ..; git clone -q -o origin origin repo; cd repo; git checkout -q o__r.1.one__a`, "repo")
	base, out, code := r.look(t, r.base(t), "")
	if report, err := boxgit.Read([]byte(out), code); err != nil || report.Verdict != "scrubbed" {
		t.Errorf("got %+v, %v; want verdict %q, no error", report, err, "scrubbed")
	}
	if got := base.Mismatch(r.base(t), ""); !strings.HasSuffix(got, "setting up an environment does not: dir/one") {
		t.Errorf("got %q, want ending in %q", got, "setting up an environment does not: dir/one")
	}
	if out, code := r.bash(t, `[ "$(git branch --show-current)" = o__r.1.one__a ] && [ "$(git log --format=%s | head -3 | tr '\n' ' ')" = "Remove F2P Tests Bug-o__r.1.one__a two " ] && git checkout -q HEAD~1 && [ -e dir/one ] && git checkout -q HEAD~1`); code != 0 {
		t.Error(out)
	}
	if out, _ := r.bash(t, found); strings.TrimSpace(out) != "" {
		t.Errorf("found, want nothing:\n%s", out)
	}
}
