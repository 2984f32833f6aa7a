package boxgit

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/diff"
)

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
