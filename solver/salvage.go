package solver

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/internal/bash"
)

const (
	diffPiece = 4 << 20  // bytes of a diff that one command prints; less than an output's cap
	diffLimit = 64 << 20 // bytes of a diff that is kept
)

// WorktreeDiff returns, as a patch for git apply, how the work tree around the
// environment's working directory differs from the first of commits that is
// there: commits made since and new files included, binary files whole, and
// every byte as it is. Ignored files are left out, and so are submodules and
// repositories inside. The repository's index, configuration and hooks are
// neither used nor touched; .gitattributes in the work tree count as they do
// for git. An error is an Instance fault.
func WorktreeDiff(ctx context.Context, env agent.Environment, commits ...string) (patch []byte, err error) {
	dir := "/tmp/.batch-salvage-" + rand.Text()
	first, err := run(ctx, env, diffScript(dir, commits))
	if err != nil {
		return nil, fault.New(fault.Instance, "taking the work tree's diff", err)
	}
	defer func() {
		if err != nil || len(patch) > diffPiece {
			_, _ = env.Execute(ctx, "rm -rf "+dir) // in a container that is about to go
		}
	}()
	head, patch, _ := bytes.Cut(first, []byte("\n"))
	size, err := strconv.Atoi(string(head))
	if err != nil || size > diffLimit {
		return nil, fault.Newf(fault.Instance, "taking the work tree's diff: it has %.20s bytes, and at most %d are kept", head, diffLimit)
	}
	for len(patch) < size {
		piece, err := run(ctx, env, fmt.Sprintf("tail -c +%d %s/patch | head -c %d", len(patch)+1, dir, diffPiece))
		if err != nil || len(piece) == 0 {
			return nil, fault.New(fault.Instance, "reading the work tree's diff", err)
		}
		patch = append(patch, piece...)
	}
	return patch, nil
}

// diffScript writes the diff to a file in dir and prints its size, a newline
// and its beginning; dir stays only where there is more. `git add` exits with 1
// when it had to leave something out that it cannot read or that is no file,
// such as a repository without commits; a submodule that is broken would end it.
func diffScript(dir string, commits []string) string {
	return fmt.Sprintf(`t=%s; commits=%s; more=
mkdir -m 700 "$t" || exit 3
trap '[ "$more" ] || rm -rf "$t"' EXIT
%s%scd "${top:-/}" && git read-tree "$commit" || exit 5
submodules=()
while IFS= read -r line; do submodules+=(":(exclude,literal)${line#*$'\t'}"); done < <(git -c core.quotePath=false ls-tree -r "$commit" | grep '^160000 ')
git add -A --ignore-errors -- . "${submodules[@]}" > /dev/null; [ $? -le 1 ] || exit 6
%s --no-renames --ignore-submodules=all "$commit" > "$t/patch" || exit 7
size=$(wc -c < "$t/patch") && echo $((size)) && head -c %d "$t/patch" || exit 8
[ "$size" -le %d ] || more=yes`,
		dir, bash.Quote(strings.Join(commits, " ")), scratchRepo, firstCommit, gitDiff, diffPiece, diffPiece)
}

// head returns the commit that the work tree is at, or "" where there is none.
func head(ctx context.Context, env agent.Environment) string {
	out, err := run(ctx, env, "git rev-parse --verify --quiet HEAD")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// commits are those that a patch of this attempt may be against, the likeliest first.
func (t *attempt) commits() []string {
	var list []string
	for _, c := range []string{t.base, "HEAD", t.in.BaseCommit} {
		if c != "" {
			list = append(list, c)
		}
	}
	return list
}

// salvage keeps the work of a run that ended without a submission, and makes
// it the prediction where that is asked for and the ending was the agent's own.
func (t *attempt) salvage(ctx context.Context, box Sandbox, predict bool) {
	patch, err := WorktreeDiff(ctx, ours{box}, t.commits()...)
	if err != nil {
		t.log.Warn("salvaging", "err", err)
		return
	}
	t.result.Salvage = patch
	var note string
	t.notes.salvage, note = portable(ctx, ours{box}, t.commits(), patch)
	t.log.Info("salvaged", "bytes", len(patch))
	if predict && len(patch) > 0 {
		t.result.Prediction, t.result.Record.Salvaged = t.notes.salvage, true
		t.notes.prediction = strings.TrimSuffix("salvaged: the work tree's diff of a run that did not submit; "+note, "; ")
	}
}
