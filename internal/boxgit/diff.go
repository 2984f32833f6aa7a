package boxgit

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/bash"
	"batch.example/batch/vocab"
)

// Shell executes scripts in a container, in its working directory.
type Shell interface {
	Execute(ctx context.Context, script string) (vocab.Output, error)
}

const (
	diffPiece = 4 << 20  // bytes of a diff that one command prints; less than an output's cap
	diffLimit = 64 << 20 // bytes of a diff that is kept
)

// WorktreeDiff returns the difference between the working tree around the shell's
// working directory and the first of commits that exists, as a patch for git apply. The
// patch includes later commits, new files and whole binary files, with every byte
// unchanged. It leaves out ignored files, submodules and nested repositories. The
// repository's index, configuration and hooks are neither used nor changed, but for what they say
// of line ends and of a sparse checkout; .gitattributes in the working tree apply as in git. An
// error is an Instance fault.
func WorktreeDiff(ctx context.Context, box Shell, commits ...string) (patch []byte, err error) {
	dir := "/tmp/.batch-salvage-" + rand.Text()
	first, err := run(ctx, box, diffScript(dir, commits))
	if err != nil {
		return nil, fault.New(fault.Instance, "taking the working tree's diff", err)
	}
	defer func() {
		if err != nil || len(patch) > diffPiece {
			_, _ = box.Execute(ctx, "rm -rf "+dir) // in a container that will be removed soon
		}
	}()
	head, patch, _ := bytes.Cut(first, []byte("\n"))
	size, err := strconv.Atoi(string(head))
	if err != nil || size > diffLimit {
		return nil, fault.Newf(fault.Instance, "taking the working tree's diff: it has %.20s bytes, and at most %d are kept", head, diffLimit)
	}
	for len(patch) < size {
		piece, err := run(ctx, box, fmt.Sprintf("tail -c +%d %s/patch | head -c %d", len(patch)+1, dir, diffPiece))
		if err != nil || len(piece) == 0 {
			return nil, fault.New(fault.Instance, "reading the working tree's diff", err)
		}
		patch = append(patch, piece...)
	}
	return patch, nil
}

// diffScript writes the diff to a file in dir and prints its size, a newline
// and its beginning; dir is kept only if there is more. `git add` exits with 1
// if it had to leave out something that it cannot read or that is not a file,
// such as a repository without commits; a broken submodule would end it.
// Files that a sparse checkout leaves out are not deleted. The original's index is read with the new
// repository's configuration: to expand a sparse index, git may fetch a tree by a program that the
// original's names. Git refuses some values of $ends.
func diffScript(dir string, commits []string) string {
	return fmt.Sprintf(`t=%s; commits=%s; more=
mkdir -m 700 "$t" || exit 3
trap '[ "$more" ] || rm -rf "$t"' EXIT
%s%scd "${top:-/}" && git read-tree "$commit" || exit 5
submodules=()
while IFS= read -r line; do submodules+=(":(exclude,literal)${line#*$'\t'}"); done < <(git -c core.quotePath=false ls-tree -r "$commit" | grep '^160000 ')
declare -A sparse
while IFS= read -r -d '' f; do sparse["${f#S }"]=1; done < <(GIT_INDEX_FILE=${index:-$own/index} git ls-files -z -t | grep -z '^S ')
if ((${#sparse[@]})); then
	git ls-files -z -d | while IFS= read -r -d '' f; do [ ! "${sparse["$f"]}" ] || printf '%%s\0' "$f"; done | git update-index -z --skip-worktree --stdin
fi
git "${ends[@]}" ls-files -- . > /dev/null || ends=()
git "${ends[@]}" add -A --ignore-errors -- . "${submodules[@]}" > /dev/null; [ $? -le 1 ] || exit 6
%s --no-renames --ignore-submodules=all "$commit" > "$t/patch" || exit 7
size=$(wc -c < "$t/patch") && echo $((size)) && head -c %d "$t/patch" || exit 8
[ "$size" -le %d ] || more=yes`,
		dir, bash.Quote(strings.Join(commits, " ")), scratchRepo, firstCommit, gitDiff, diffPiece, diffPiece)
}

// Head returns the commit that the working tree is at, or "" if there is none.
func Head(ctx context.Context, box Shell) string {
	out, err := run(ctx, box, "git rev-parse --verify --quiet HEAD")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// gitDiff prints the difference between the index and a commit in the form that the
// harness applies, whatever the settings of the repository and the user. It may read files of the
// working tree in place of the index.
const gitDiff = `git "${ends[@]}" -c core.quotePath=true -c diff.noprefix=false -c diff.mnemonicPrefix=false -c diff.orderFile=/dev/null -c diff.relative=false ` +
	"diff --cached --binary --full-index --no-color --no-ext-diff --no-textconv --src-prefix=a/ --dst-prefix=b/"

// run executes a script whose whole output is needed.
func run(ctx context.Context, box Shell, script string) ([]byte, error) {
	out, err := box.Execute(ctx, script)
	if err != nil {
		return nil, err
	}
	switch out.ExitCode {
	case 4:
		return nil, fault.Newf(fault.Instance, "the git repository has no commit to compare with")
	case 5:
		return nil, fault.Newf(fault.Instance, "the working directory is not in a git repository")
	}
	if out.ExitCode != 0 || out.Total > int64(len(out.Bytes)) {
		return nil, fault.Newf(fault.Instance, "exit code %d, %d bytes of output", out.ExitCode, out.Total)
	}
	return out.Bytes, nil
}
