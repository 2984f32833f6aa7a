package boxgit

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/diff"
	"batch.example/batch/vocab"
)

// Shell executes scripts in a container, in its working directory.
type Shell interface {
	Script(ctx context.Context, script string) (vocab.Output, error)
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
	return WorktreeDiffWithout(ctx, box, nil, commits...)
}

// WorktreeDiffWithout is [WorktreeDiff] without new files that match one of the patterns, which have the form of
// .gitignore. Changes to files of the commit stay.
func WorktreeDiffWithout(ctx context.Context, box Shell, patterns []string, commits ...string) (patch []byte, err error) {
	dir := "/tmp/.batch-salvage-" + rand.Text()
	first, err := run(ctx, box, diffScript(dir, patterns, commits))
	if err != nil {
		return nil, fault.New(fault.Instance, "taking the working tree's diff", err)
	}
	defer func() {
		if err != nil || len(patch) > diffPiece {
			_, _ = box.Script(ctx, "rm -rf "+dir) // in a container that will be removed soon
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
func diffScript(dir string, patterns, commits []string) string {
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
%s >> "$t/git/info/exclude" || exit 6
git "${ends[@]}" add -A --ignore-errors -- . "${submodules[@]}" > /dev/null; [ $? -le 1 ] || exit 6
%s --no-renames --ignore-submodules=all "$commit" > "$t/patch" || exit 7
size=$(wc -c < "$t/patch") && echo $((size)) && head -c %d "$t/patch" || exit 8
[ "$size" -le %d ] || more=yes`,
		dir, bash.Quote(strings.Join(commits, " ")), scratchRepo, firstCommit, bash.Print([]byte("\n"+strings.Join(patterns, "\n")+"\n")), gitDiff, diffPiece, diffPiece)
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
	out, err := box.Script(ctx, script)
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

// Portable returns a text that JSON can hold and that applies with the same effect as
// patch: patch itself if it is UTF-8, otherwise the same change with the affected files as
// a git binary patch. If the patch does not apply at all, so that no text has its effect,
// invalid bytes are written as \xNN. The note says what was done; it is empty if the text
// is patch itself.
func Portable(ctx context.Context, box Shell, commits []string, patch []byte) (text, note string) {
	if utf8.Valid(patch) {
		return string(patch), ""
	}
	for _, attributes := range []string{binaryAttributes(patch), "* -diff\n"} {
		for _, commit := range commits {
			out, err := run(ctx, box, rewriteScript(patch, attributes, commit))
			if err == nil && utf8.Valid(out) && len(out) > 0 {
				return string(out), "rewritten as a git binary patch"
			}
		}
	}
	return escapeInvalid(patch), "could not be rewritten as a git binary patch and is not UTF-8; " +
		"its invalid bytes are written as \\xNN, the exact bytes are in the patch file"
}

// rewriteScript applies patch to a scratch index at commit and prints the same
// change with the given attributes. It works in a bare repository, where the working
// tree's attributes do not apply.
func rewriteScript(patch []byte, attributes, commit string) string {
	return fmt.Sprintf(`t=$(mktemp -d) && trap 'rm -rf "$t"' EXIT || exit 3
commits=%s
%s%sunset GIT_WORK_TREE
printf '[core]\nbare = true\n' >> "$t/git/config"
%s > "$t/patch" && %s > "$t/git/info/attributes" &&
git read-tree "$commit" && git apply --cached --whitespace=nowarn "$t/patch" > /dev/null &&
%s "$commit"`, bash.Quote(commit), scratchRepo, firstCommit, bash.Print(patch), bash.Print([]byte(attributes)), gitDiff)
}

// binaryAttributes marks the files whose part of the patch is not UTF-8.
func binaryAttributes(patch []byte) string {
	var b strings.Builder
	for _, f := range diff.Read(string(patch)) {
		if utf8.ValidString(f.Text) {
			continue
		}
		for _, name := range []string{f.Old, f.New} {
			if name != "" {
				fmt.Fprintf(&b, "%q -diff\n", "/"+globQuote(diff.Trim(name)))
			}
		}
	}
	return b.String()
}

func globQuote(path string) string {
	return regexp.MustCompile(`[*?\[\\]`).ReplaceAllString(path, `\$0`)
}

func escapeInvalid(patch []byte) string {
	var b strings.Builder
	for len(patch) > 0 {
		r, size := utf8.DecodeRune(patch)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02X`, patch[0])
		} else {
			b.Write(patch[:size])
		}
		patch = patch[size:]
	}
	return b.String()
}

// scratchRepo makes a separate repository in $t that borrows the objects and refs of the
// one around the working directory, and makes git use it with the same working tree
// ($top) and a new index. Whatever an agent did to the original's configuration, index,
// hooks or locks has no effect there, and neither do the settings of the user and the
// environment; only its info/exclude still applies, and what says how line ends are
// converted ($ends). If the environment names a repository that git accepts, that is the
// original. Otherwise the script finds it itself, because git refuses a broken repository.
const scratchRepo = `exec 2> /dev/null
named= index=$GIT_INDEX_FILE ends=()
if [ "$GIT_DIR$GIT_WORK_TREE" ]; then { read -r own && read -r top && named=yes; } < <(git rev-parse --absolute-git-dir --show-toplevel); fi
if [ ! "$named" ]; then
	index= top=$(pwd -P)
	until [ -e "$top/.git" ]; do [ -n "$top" ] || exit 5; top=${top%/*}; done
	own=$top/.git
fi
if [ -f "$own" ]; then
	IFS= read -r own < "$own"; own=${own#gitdir: }
	case $own in /*) ;; *) own=$top/$own ;; esac
fi
for v in core.autocrlf core.eol; do said=$(GIT_DIR=$own git config --get "$v") && ends+=(-c "$v=$said"); done
for v in ${!GIT_*}; do unset "$v"; done
common=$own
if [ -f "$own/commondir" ]; then
	IFS= read -r common < "$own/commondir"
	case $common in /*) ;; *) common=$own/$common ;; esac
fi
mkdir -p "$t/git/objects/info" "$t/git/info" || exit 3
printf '%s\n' "$common/objects" > "$t/git/objects/info/alternates"
if [ -d "$common/refs" ]; then ln -s "$common/refs" "$t/git/refs"; else mkdir "$t/git/refs"; fi
if [ -f "$common/packed-refs" ]; then ln -s "$common/packed-refs" "$t/git/packed-refs"; fi
cp "$own/HEAD" "$t/git/HEAD" || printf 'ref: refs/heads/none\n' > "$t/git/HEAD"
for f in "$own"/sharedindex.*; do [ ! -f "$f" ] || ln -s "$f" "$t/git/"; done
cp "$common/info/exclude" "$t/git/info/exclude"
case $t/ in "${top%/}"/*) t_in_top=${t#"$top"}; printf '%s/\n' "$t_in_top" >> "$t/git/info/exclude" ;; esac
printf '[core]\nrepositoryformatversion = 0\nfilemode = true\nsymlinks = true\nignorecase = false\nfsync = none\n' > "$t/git/config"
export HOME="$t" XDG_CONFIG_HOME="$t" GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 LC_ALL=C
export GIT_DIR="$t/git" GIT_WORK_TREE="${top:-/}" GIT_INDEX_FILE="$t/index"
`

// firstCommit sets $commit to the first word of $commits that names a commit.
const firstCommit = `for c in $commits; do commit=$(git rev-parse --verify --quiet "$c^{commit}") && break; done
[ -n "$commit" ] || exit 4
`
