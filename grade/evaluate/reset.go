package evaluate

import (
	"context"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/bash"
)

// resetScript resets files to a commit, and removes files that the commit does not have, whatever
// is in their place or in the place of the folders above them. So the test patch, which is made for
// that commit, applies. It removes Python's caches of the files: a cache that is marked as
// unchecked would run instead of its file. The arguments are the commit and the files. The second
// try is for fuse-overlayfs, where a file that patch(1) has linked to its backup still exists after
// the first removal.
const resetScript = `export GIT_LITERAL_PATHSPECS=1
commit=$1; shift
GIT cat-file -e "$commit^{commit}" 2>/dev/null || commit=HEAD
folder_at_commit() { [ "$(GIT cat-file -t "$commit:$1" 2>/dev/null)" = tree ]; }
failed=0
for file; do
    at= rest=$file
    while [ "$rest" != "${rest#*/}" ]; do
        at=$at${rest%%/*} rest=${rest#*/}
        if [ -L "$at" ] || { [ -e "$at" ] && [ ! -d "$at" ]; }; then
            GIT cat-file -e "$commit:$at" 2>/dev/null && ! folder_at_commit "$at" || rm -f -- "$at"
        fi
        at=$at/
    done
    name=${file##*/} folder=./
    case $file in */*) folder=${file%/*}/;; esac
    case $name in *.py) rm -f -- "$folder$name"[co] "$folder"__pycache__/"${name%.py}".*.py[co];; esac
    if GIT cat-file -e "$commit:$file" 2>/dev/null; then
        GIT checkout -q "$commit" -- "$file" 2>/dev/null || { rm -rf -- "$file"; GIT checkout -q "$commit" -- "$file"; } || failed=1
    else
        GIT rm -rfq --cached --ignore-unmatch -- "$file"
        rm -rf -- "$file"
    fi
done
exit $failed`

// reset resets the files of the test patch to the base commit.
func (r *runner) reset(ctx context.Context) error {
	if len(r.job.TestFiles) == 0 {
		return nil
	}
	for _, name := range r.job.TestFiles {
		if why := forbidden(name); why != "" || strings.HasPrefix(name, "/") || name == "" {
			return fault.Newf(fault.Instance, "resetting the files of the test patch: %q is not a path in the repository", name)
		}
	}
	words := []string{"set --", bash.Quote(r.job.BaseCommit)}
	for _, name := range r.job.TestFiles {
		words = append(words, bash.Quote(name))
	}
	out, err := r.setup(ctx, strings.Join(words, " ")+"\n"+strings.ReplaceAll(resetScript, "GIT ", safely))
	if err == nil && out.ExitCode != 0 {
		err = fault.Newf(fault.Instance, "resetting the files of the test patch: %s", reason(out.Bytes))
	}
	return err
}
