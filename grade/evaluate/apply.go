package evaluate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/vocab"
)

// setupLimit is the time limit for everything before the eval script. Only the largest repositories
// come near it.
const setupLimit = 10 * time.Minute

// setupOutput limits the output of these commands, in bytes. It is for people.
const setupOutput = 1 << 20

// chain returns the commands that may apply a patch, in the harness's order. Each takes the patch's
// file as its last argument.
func chain(r logparse.Rules) []string {
	if r == logparse.V4 {
		return []string{"git apply --verbose", "git apply --verbose --reject", "patch --batch --fuzz=5 -p1 -i"}
	}
	return []string{
		"git apply --verbose", "git apply --verbose --3way", "git apply --verbose --reject",
		"patch --batch --forward --fuzz=5 -p1 -i",
	}
}

// notFound is the exit code of a shell that does not find a command.
const notFound = 127

// safely has the settings of git for every command before the eval script: git runs no hook and no
// file monitor, and accepts a repository of another user.
const safely = "git -c core.hooksPath=/dev/null -c core.fsmonitor= -c safe.directory='*' "

// edCommand matches the commands of ed, as patch(1) recognizes them. Older versions of patch would
// run an ed script, and through it any command.
var edCommand = lazy.Regexp(`(?m)^[ \t>X]*\d[\d,]*[acd][ \t]*\r?$`)

// harden makes one of the harness's commands safe.
func harden(command string, patch []byte) string {
	if rest, ok := strings.CutPrefix(command, "git "); ok {
		return safely + rest
	}
	if rest, ok := strings.CutPrefix(command, "patch "); ok && edCommand().Match(patch) {
		return "patch --unified " + rest
	}
	return command
}

// apply applies the patch in file, with the first command of the chain that succeeds, and stores
// the result in r.e.
func (r *runner) apply(ctx context.Context, file string) error {
	if err := r.aside(ctx, r.job.Without); err != nil {
		return err
	}
	before, err := r.readTree(ctx)
	if err != nil {
		return err
	}
	var unpatched map[string]treeFile // the tree before patch(1); nil: it has not run
	var said []byte                   // output of the last command that the image has
	for i, command := range chain(r.job.Rules) {
		if i == 1 { // a failure is the patch's if there is a repository
			if err := r.checkRepository(ctx); err != nil {
				return err
			}
		}
		if i > 0 && r.job.Rules != logparse.V4 {
			if err := r.cleanUp(ctx, before, i == 1); err != nil {
				return err
			}
		}
		if strings.HasPrefix(command, "patch ") {
			if unpatched, err = r.readTree(ctx); err != nil {
				return err
			}
		}
		out, err := r.box.Run(ctx, vocab.Command{Script: harden(command, r.job.Patch) + " " + file, Dir: r.job.Workdir, Timeout: setupLimit, Limit: setupOutput})
		if err == nil && (out.OOM || out.Disk != nil) { // a small patch can order to write without end
			r.refuse("applying it takes more memory or disk space than the container may have")
			return nil
		}
		if err = r.prepared(command, out, err); err != nil {
			return err
		}
		r.e.ApplyOutput = out.Bytes
		if out.ExitCode != notFound {
			said = out.Bytes
		}
		if out.ExitCode == 0 {
			return r.applied(ctx, command, before, unpatched)
		}
		r.log.failed(command)
	}
	if r.job.Rules != logparse.V4 {
		const command = "git apply --check --reverse"
		out, err := r.setup(ctx, harden(command, nil)+" "+file)
		if err != nil {
			return err
		}
		if out.ExitCode == 0 {
			return r.applied(ctx, command, before, unpatched)
		}
	}
	why := "no command of the chain could apply it: " + reason(said)
	if !bytes.HasSuffix(r.job.Patch, []byte("\n")) { // a program may have trimmed the patch
		why += "; it does not end with a newline, and may be cut"
	}
	r.refuse(why)
	return nil
}

// applied stores the changes of the tree by the command that applied the patch, and reverts the
// files that the job leaves out.
func (r *runner) applied(ctx context.Context, command string, before, unpatched map[string]treeFile) error {
	after, err := r.readTree(ctx)
	if err != nil {
		return err
	}
	var why string
	if r.e.Changes, why = ofPatch(before, unpatched, after); why != "" {
		r.refuse(why)
		return nil
	}
	if err := r.markShadows(ctx, before, r.first, r.e.Changes); err != nil {
		return err
	}
	if done, err := r.leaveOut(ctx); err != nil || !done {
		r.refuse("what is left out of the patch could not be put back")
		return err
	}
	r.e.Applied, r.e.How = true, command
	if command == "git apply --check --reverse" {
		r.log.info(appliedText + ": verified already applied")
	} else {
		r.log.applied(r.e.ApplyOutput)
	}
	return nil
}

// cleanUp makes the working tree clean for the next command of the chain, as the harness does. This
// removes the image's own changes: the first call records them as lost and removes them from
// before, the tree before the patch. All other leftovers of the failed command count as the
// patch's: git apply may fail after it has written some files, and ignored files stay.
func (r *runner) cleanUp(ctx context.Context, before map[string]treeFile, first bool) error {
	if first {
		if err := r.noteLost(ctx, before); err != nil {
			return err
		}
	}
	_, err := r.setup(ctx, safely+"checkout -- . ; "+safely+"clean -fd") // an error shows in the next command
	if err != nil || !first || len(r.e.Lost) == 0 {
		return err
	}
	clean, err := r.readTree(ctx)
	if err != nil {
		return err
	}
	for _, name := range r.e.Lost {
		delete(before, name)
		if e, there := clean[name]; there {
			before[name] = e
		}
	}
	return r.aside(ctx, slices.DeleteFunc(slices.Clone(r.job.Without), func(name string) bool { return !slices.Contains(r.e.Lost, name) }))
}

// noteLost records the files that the image itself has changed, except files that a failed command
// has written.
func (r *runner) noteLost(ctx context.Context, before map[string]treeFile) error {
	own, err := r.ownChanges(ctx)
	if err != nil || len(own) == 0 {
		return err
	}
	now, err := r.readTree(ctx)
	if err != nil {
		return err
	}
	written := map[string]bool{}
	for _, c := range changes(before, now) {
		written[c.Path] = true
	}
	r.e.Lost = slices.DeleteFunc(own, func(name string) bool { return written[name] })
	return nil
}

// ownChanges returns the files that the image has changed or added since its last commit.
func (r *runner) ownChanges(ctx context.Context) ([]string, error) {
	out, err := r.setup(ctx, safely+"status --porcelain -z --no-renames --untracked-files=all --ignore-submodules=all")
	if err != nil {
		return nil, err
	}
	if out.ExitCode != 0 {
		return nil, fault.Newf(fault.Instance, "reading the state of the repository in %s: %s", r.job.Workdir, reason(out.Bytes))
	}
	var list []string
	for line := range strings.SplitSeq(string(out.Bytes), "\x00") {
		const prefix = 3 // two letters and a blank
		if len(line) > prefix {
			list = append(list, line[prefix:])
		}
	}
	return list, nil
}

// setup runs one of batch's own commands in the repository.
func (r *runner) setup(ctx context.Context, script string) (vocab.Output, error) {
	return r.setupWith(ctx, script, setupOutput)
}

// setupWith is setup with another limit for the output.
func (r *runner) setupWith(ctx context.Context, script string, limit int64) (vocab.Output, error) {
	out, err := r.box.Run(ctx, vocab.Command{Script: script, Dir: r.job.Workdir, Timeout: setupLimit, Limit: limit})
	return out, r.prepared(script, out, err)
}

// prepared returns the error of one of batch's own commands.
func (r *runner) prepared(script string, out vocab.Output, err error) error {
	switch {
	case err != nil:
		return err
	case out.TimedOut:
		return fault.Newf(fault.Transient, "preparing the repository in %s: %.200s: no end after %v", r.job.Workdir, script, setupLimit)
	case out.OOM || out.Restarted || out.Disk != nil:
		return fault.Newf(fault.Instance, "preparing the repository in %s: its container is out of memory or disk space", r.job.Workdir).
			WithHint("raise the container's limits")
	}
	return nil
}

// reason returns the first line of an output that explains the failure to a person.
func reason(output []byte) string {
	first, failed := "", ""
	for line := range strings.Lines(string(output)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "error: ") || strings.HasPrefix(line, "patch: ") || strings.HasPrefix(line, "fatal: ") {
			return fmt.Sprintf("%.300s", line)
		}
		first = cmp.Or(first, line)
		if strings.HasPrefix(line, "Hunk #") && strings.Contains(line, "FAILED") {
			failed = cmp.Or(failed, line)
		}
	}
	if failed != "" && failed != first {
		first += ": " + failed
	}
	return fmt.Sprintf("%.300s", first)
}

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
