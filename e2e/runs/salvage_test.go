package runs

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"batch.example/batch/agent/config"
	"batch.example/batch/attempt"
	"batch.example/batch/docker"
	"batch.example/batch/e2e"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/internal/tier"
	"batch.example/batch/run"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// seedScript makes the repository that every case is a clone of.
const seedScript = `set -e
git config --global user.name t; git config --global user.email t@localhost
git config --global protocol.file.allow always; git config --global advice.detachedHead false
mkdir -p /work/sub /work/seed; cd /work/sub; git init -q; echo s > s.txt; git add -A; git commit -qm sub
cd /work/seed; git init -q; mkdir dir
printf 'one\ntwo\nthree\n' > a.txt; printf 'one\r\ntwo\r\n' > crlf.txt; printf 'caf\351\n' > latin1.txt
head -c 3000 /dev/urandom > bin.dat; printf '#!/bin/sh\n' > exec.sh; chmod 755 exec.sh; ln -s a.txt link
printf 'x\n' > dir/x; printf 'y\n' > dir/y; : > empty; printf 'no end' > noeol; printf 's\n' > 'sp ace.txt'
printf '*.log\nbuild/\n' > .gitignore; printf 'kept\n' > kept.log
git add -A; git add -f kept.log; git -c protocol.file.allow=always submodule -q add /work/sub sub
git commit -qm base; cp /root/.gitconfig /work/gitconfig; cp /root/.bashrc /work/bashrc 2> /dev/null || : > /work/bashrc
`

// hostile is a change to a clone before its diff is taken.
var hostile = []struct {
	name   string
	script string
	undo   string // restores what is outside the tree, before the trees are compared
	leave  string // removes from the tree what the patch must not have
}{
	{name: "nothing", script: ":"},
	{name: "edits", script: `printf 'one\n2\nthree\n' > a.txt; printf 'no end at all' > noeol; printf 'now\n' > empty; : > dir/x`},
	{name: "new files", script: `mkdir -p new/deep/er; echo 1 > new/deep/er/f; : > new/empty; echo q > 'new/q "uo\te'; echo n > $'new/l\nine'; echo e > $'new/\351'; chmod 755 new/empty`},
	{name: "deletions", script: `rm -r a.txt dir link bin.dat crlf.txt empty`},
	{name: "a move", script: `mkdir to; git mv a.txt to/b.txt; mv dir elsewhere`},
	{name: "modes", script: `chmod 755 a.txt bin.dat; chmod 644 exec.sh`},
	{name: "links", script: `ln -sfn dir link; ln -s /nowhere dangling; ln -s 'with
newline' odd; rm latin1.txt; ln -s a.txt latin1.txt`},
	{name: "a folder becomes a link", script: `mv dir real; ln -s real dir`},
	{name: "a link becomes a folder", script: `rm link; mkdir link; echo f > link/f`},
	{name: "a file becomes a folder", script: `rm a.txt; mkdir a.txt; echo f > a.txt/f`},
	{name: "a folder becomes a file", script: `rm -r dir; echo f > dir`},
	{name: "line ends", script: `printf 'one\r\n2\r\n' > crlf.txt; printf 'one\r\ntwo\nth\rree\r' > a.txt; printf 'new\r\n' > new.txt`},
	{name: "bytes that are not UTF-8", script: `printf 'th\351\377\n' > latin1.txt; printf '\200\201\n' > new.txt`},
	{name: "binary files", script: `head -c 300000 /dev/urandom > bin.dat; head -c 5000 /dev/urandom > new.bin; printf 'a\0b' > a.txt`},
	{name: "more than one piece", script: `head -c 450000 /dev/urandom | od -An -tx1 > long.txt`},
	{name: "ignored files", script: `mkdir build; echo b > build/o; echo l > new.log; echo f > forced.log; git add -f forced.log; echo changed > kept.log`, leave: `rm -r build new.log forced.log`},
	{name: "a staged change that was changed again", script: `echo staged > a.txt; git add a.txt; echo worked > a.txt; git rm -q --cached dir/x; git add -N .; echo n > n`},
	{name: "bits that hide changes", script: `git update-index --assume-unchanged a.txt; git update-index --skip-worktree dir/x; echo h > a.txt; echo h > dir/x`},
	{name: "a broken index and a lock", script: `echo garbage > .git/index; : > .git/index.lock; echo c > a.txt; rm dir/y`},
	{name: "a broken configuration", script: `echo '[core' >> .git/config; echo c > a.txt`},
	{name: "settings", script: `git config core.autocrlf true; git config core.fileMode false; git config core.symlinks false; git config core.ignoreCase true
git config core.excludesFile /work/all; echo '*' > /work/all; git config diff.noprefix true; git config diff.external false
git config core.fsmonitor /bin/false; printf 'one\r\n' > crlf.txt; chmod 755 a.txt; echo n > N.TXT; git config core.bare true`},
	{name: "another working tree", script: `git config core.worktree /work/seed; echo c > a.txt`},
	{
		name: "the user's settings", script: `git config --global core.excludesFile /work/all; echo '*' > /work/all; git config --global core.autocrlf input; git config --global color.ui always; echo n > n; printf 'c\r\n' > crlf.txt`,
		undo: `cp /work/gitconfig /root/.gitconfig`,
	},
	{
		name: "the environment", script: `echo 'export GIT_DIR=/nowhere GIT_INDEX_FILE=/nowhere GIT_WORK_TREE=/ GIT_EXTERNAL_DIFF=false' >> /root/.bashrc; echo n > n`,
		undo: `unset ${!GIT_*}; cp /work/bashrc /root/.bashrc`,
	},
	{name: "hooks and filters", script: `printf '#!/bin/sh\necho bad > a.txt\n' > .git/hooks/post-index-change; chmod 755 .git/hooks/post-index-change
git config filter.f.clean 'echo bad'; git config filter.f.required true; git config diff.d.textconv 'echo same'; echo '*.txt filter=f diff=d' > .git/info/attributes; echo c > a.txt`},
	{name: "attributes that hide the text", script: `printf '* -diff\n' > .gitattributes; echo c > a.txt`},
	{name: "commits", script: `echo c > a.txt; git commit -qam work; git rm -q dir/x; git commit -qm more; echo n > n`},
	{name: "another branch", script: `git checkout -q --orphan other; git rm -rfq --cached .; git add n 2> /dev/null; echo n > n; git add n; git commit -qm other; echo m > m`},
	{name: "no HEAD", script: `echo c > a.txt; rm .git/HEAD`},
	{name: "packed", script: `git gc -q; git pack-refs --all; echo c > a.txt`},
	{name: "repositories inside", script: `git init -q none; echo n > none/n; git init -q one; cd one; echo o > o; git add o; git commit -qm o; cd ..; mkdir odd; : > odd/.git; echo o > odd/o`, leave: `rm -r none one`},
	{name: "a repository around tracked files", script: `cd dir; git init -q; git add x; git commit -qm x; echo c > x`},
	{name: "a submodule", script: `git submodule -q update --init; cd sub; echo c > s.txt; git -c user.name=t commit -qam c; cd ..; echo c > a.txt`, leave: `rm -rf sub/*`},
	{name: "a broken submodule", script: `git submodule -q update --init; rm -rf .git/modules; echo c > a.txt`, leave: `rm -rf sub/*`},
	{name: "special files", script: `mkfifo pipe; rm dir/x; mkfifo dir/x; echo c > a.txt`, leave: `rm pipe dir/x; echo x > dir/x`},
	{name: "a sparse checkout", script: `git sparse-checkout set dir; echo c > dir/x; rm dir/y; echo n > n`, leave: `git sparse-checkout disable; rm -f dir/y`},
	{name: "a sparse checkout of another commit, with a lock", script: `echo o > old; git add old; git commit -qm old; git sparse-checkout set --no-cone /dir; git reset -q --soft HEAD~; git rm -rq --cached --sparse 'sp ace.txt'; : > .git/index.lock`, leave: `rm .git/index.lock; git reset -q; git sparse-checkout disable; rm 'sp ace.txt'`},
	{name: "a sparse checkout and a split index", script: `git sparse-checkout set dir; git update-index --split-index; echo c > dir/x`, leave: `git sparse-checkout disable`},
	{name: "a sparse index whose trees a program would fetch", script: `mkdir -p one/two; echo f > one/two/f; git add one; git commit -qm one
git sparse-checkout set --cone --sparse-index dir; tree=$(git rev-parse HEAD:one); rm ".git/objects/${tree:0:2}/${tree:2}"; git config core.repositoryformatversion 1
git config extensions.partialClone far; git config remote.far.promisor true; git config remote.far.url 'ext::touch /tmp/ran'; git config protocol.ext.allow always; echo c > dir/x`},
	{name: "line ends that git converts", script: `git config core.autocrlf true; rm a.txt dir/x noeol; git checkout -q .; printf 'n\r\nn\r\n' > n; printf 'x\r\nx\r\n' > dir/x`, leave: `sed -i 's/\r$//' a.txt dir/x n`},
	{name: "line ends that git does not know", script: `git config core.autocrlf no-such; echo c > a.txt`},
	{
		name: "a repository of the environment", script: `mv .git /work/elsewhere; echo 'export GIT_DIR=/work/elsewhere GIT_WORK_TREE=/work/case' >> /root/.bashrc; echo n > n; rm a.txt`,
		undo: `unset ${!GIT_*}; cp /work/bashrc /root/.bashrc; rm -rf /work/elsewhere`,
	},
	{
		name: "a working tree of another repository", script: `cd /work; git clone -q seed owner; rm -rf case; git -C owner worktree add -q /work/case; cd case; echo c > a.txt; echo n > n; git -C . add n`,
		undo: `rm -rf /work/owner`,
	},
}

// inFolder runs batch's scripts in another folder than the sandbox's own.
type inFolder struct {
	attempt.Sandbox
	dir string
}

func (f inFolder) Script(ctx context.Context, script string) (vocab.Output, error) {
	return f.Sandbox.Script(ctx, "cd "+f.dir+" || exit\n"+script)
}

// compareScript prints every file of /work/case, except those left out, and
// of a new clone with the patch applied: its kind, mode and content.
const compareScript = `list() { find . -name .git -prune -o \( -type f -o -type l \) -print0 | sort -z | while IFS= read -r -d '' f; do
	if [ -L "$f" ]; then printf 'link %q %q\n' "$f" "$(readlink "$f")"; continue; fi
	x=file; if [ -x "$f" ]; then x=program; fi; printf '%s %q %s\n' $x "$f" "$(sha256sum < "$f")"
done; }
compare() {
	if [ -e /work/rest ]; then cat /work/rest >> /work/patch; rm /work/rest; fi
	echo '== want'; cd /work/case && eval "$1" && list
	echo '== got'; git clone -q /work/seed /work/fresh && cd /work/fresh && { [ ! -s /work/patch ] || git apply --whitespace=nowarn /work/patch; } && list
}`

func TestASalvageRestoresTheWorkingTree(t *testing.T) {
	tier.Rest(t, "attempt/*.go", "sandbox/*.go", "internal/boxgit")
	e2e.NeedDocker(t)
	t.Parallel()
	box := demoSandbox(t)
	must := func(t *testing.T, script string) string {
		t.Helper()
		out, err := box.Execute(t.Context(), "", script)
		if err != nil || out.ExitCode != 0 {
			t.Fatalf("got %v, exit code %d; want exit code 0, no error\n%s", err, out.ExitCode, out.Bytes)
		}
		return string(out.Bytes)
	}
	must(t, seedScript)
	base := strings.TrimSpace(must(t, "git -C /work/seed rev-parse HEAD"))
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			// Every tree is a new clone: in a restored one, git could take changed files for unchanged.
			const untouched = "\nsha256sum /work/case/.git/index 2>&1; ls -A /work/case/.git /tmp; :"
			before := must(t, "rm -rf /work/case /work/fresh && git clone -q /work/seed /work/case && cd /work/case && {\n"+c.script+"\n} > /dev/null 2>&1"+untouched)
			patch, err := boxgit.WorktreeDiff(t.Context(), inFolder{box, "/work/case"}, base, "HEAD")
			if err != nil {
				t.Fatal(err)
			}
			writes := bash.Prints(patch, 1<<20)
			for _, command := range writes[1:] { // sorted below
				must(t, command+" >> /work/rest")
			}
			out := must(t, untouched+"\n"+c.undo+"\n"+writes[0]+" > /work/patch\n"+compareScript+"\ncompare "+bash.Quote(c.leave))
			after, rest, _ := strings.Cut(out, "== want\n")
			want, got, _ := strings.Cut(rest, "== got\n")
			if after != before {
				t.Errorf("taking the diff left behind:\n%s\nbefore:\n%s", after, before)
			}
			if got != want {
				t.Errorf("applied to a new clone:\n%s\nwant:\n%s\npatch:\n%.3000q", got, want, patch)
			}
		})
	}
}

// demoSandbox is a container of one of the demo's images.
func demoSandbox(t *testing.T) attempt.Sandbox {
	t.Helper()
	cfg, err := config.Load(nil, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	home, _ := os.UserHomeDir()
	c := run.Environment(cfg, sandbox.One(docker.FromEnv(os.Getenv, home).Open), os.Getenv)
	c.State = t.TempDir()
	host, err := sandbox.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	box, err := host.Open(t.Context(), sandbox.Opening{Instance: e2e.DemoInstances(t)[0], Attempt: 1, Report: func(string) {}})
	t.Cleanup(func() {
		if err == nil {
			err = box.Close()
		}
		if err := errors.Join(err, host.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return box
}
