package evaluate

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/bash"
)

// asideScript copies files into the folder AT, and restoreScript puts them back, or removes files
// that did not exist. So a patch in any form is applied as a whole, and the files that are not
// restored are exact. LIST has a number and a path for each file, since there may be too many files
// for a command line.
const (
	asideScript = `mkdir -p AT || exit 1
while IFS= read -r -d '' i && IFS= read -r -d '' file; do
    rm -rf AT/$i
    if [ -L "$file" ] || [ -e "$file" ]; then cp -dpR -- "$file" AT/$i || exit 1; fi
done <LIST`

	restoreScript = `while IFS= read -r -d '' i && IFS= read -r -d '' file; do
    if [ -L AT/$i ] || [ -e AT/$i ]; then
        at= rest=$file
        case $file in /*) rest= ;; esac
        while [ "$rest" != "${rest#*/}" ]; do
            at=$at${rest%%/*} rest=${rest#*/}
            if [ -L "$at" ] || { [ -e "$at" ] && [ ! -d "$at" ]; }; then rm -f -- "$at"; fi
            at=$at/
        done
        rm -rf -- "$file" && mkdir -p -- "${file%/*}" && cp -dpR -- AT/$i "$file" || exit 1
    else
        rm -rf -- "$file" || exit 1
        rmdir -p -- "${file%/*}" 2>/dev/null
    fi
done <LIST
exit 0`
)

// aside keeps copies of the current state of files. They are some of the files that the job leaves
// out.
func (r *runner) aside(ctx context.Context, files []string) error {
	if len(files) == 0 {
		return nil
	}
	done, err := r.eachLeftOut(ctx, files, asideScript)
	if err == nil && !done {
		err = fault.Newf(fault.Instance, "keeping what is left out of the patch: the files in %s cannot be copied", r.job.Workdir)
	}
	return err
}

// leaveOut reverts the patch's changes of the files that the job leaves out, or makes the gold patch's
// changes of them, and reports whether it could revert them.
func (r *runner) leaveOut(ctx context.Context) (done bool, err error) {
	if len(r.job.Without) == 0 {
		return true, nil
	}
	if done, err = r.eachLeftOut(ctx, r.job.Without, restoreScript); err != nil || !done {
		return done, err
	}
	if instead := r.job.Instead(); len(instead) > 0 {
		if err := r.applyInstead(ctx, instead); err != nil {
			return false, err
		}
	}
	// The script restores this state again before the tests, except in the files of the test patch, which it
	// writes itself.
	again := slices.DeleteFunc(slices.Clone(r.job.Without), func(name string) bool { return slices.Contains(r.job.TestFiles, name) })
	return r.eachLeftOut(ctx, again, asideScript)
}

// applyInstead makes the gold patch's changes of what is left out.
func (r *runner) applyInstead(ctx context.Context, instead []byte) error {
	file := r.folder + "/instead.diff"
	if err := r.box.Write(ctx, file, 0o644, instead); err != nil {
		return err
	}
	out, err := r.setup(ctx, safely+"apply "+file+" || patch --unified --batch --forward --fuzz=5 -p1 -i "+file)
	if err == nil && out.ExitCode != 0 {
		err = fault.Newf(fault.Instance, "applying the gold patch to what is left out of the patch: %s", reason(out.Bytes))
	}
	return err
}

// Instead returns the parts of the gold patch about the files that the job leaves out.
func (j Job) Instead() []byte {
	var parts []byte
	for _, name := range j.Without {
		if p := only(j.Gold, name); p != nil {
			parts = append(parts, p.raw...)
		}
	}
	return parts
}

func (r *runner) eachLeftOut(ctx context.Context, files []string, script string) (done bool, err error) {
	var list bytes.Buffer
	for _, name := range files {
		file := name
		if !path.IsAbs(name) {
			file = "./" + name
		}
		list.WriteString(strconv.Itoa(slices.Index(r.job.Without, name)) + "\x00" + file + "\x00")
	}
	if err := r.box.Write(ctx, r.folder+"/left-out", 0o644, list.Bytes()); err != nil {
		return false, err
	}
	out, err := r.setup(ctx, r.inFolder(script))
	return out.ExitCode == 0, err
}

// inFolder completes one of the two scripts.
func (r *runner) inFolder(script string) string {
	return strings.NewReplacer("AT", r.folder+"/aside", "LIST", r.folder+"/left-out").Replace(script)
}

// restores returns the commands that restore what the job leaves out, for the script to run before
// the tests: what runs before may have written it anew.
func (r *runner) restores() []string {
	if len(r.job.Without) == 0 {
		return nil
	}
	return []string{"{ ( cd " + bash.Quote(r.job.Workdir), r.inFolder(restoreScript), ") || :; } >/dev/null 2>&1"}
}
