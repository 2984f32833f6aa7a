package evaluate

import (
	"context"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/bash"
)

// asideScript keeps copies of the files that are its arguments in the folder %[1]s, and
// restoreScript puts them back, or removes those that were not there. So a patch is applied as a
// whole, in whatever form it is, and the rest of it is exact.
const (
	asideScript = `rm -rf AT && mkdir -p AT || exit 1
i=0
for file; do
    i=$((i+1))
    if [ -L "$file" ] || [ -e "$file" ]; then cp -dpR -- "$file" AT/$i || exit 1; fi
done`

	restoreScript = `i=0
for file; do
    i=$((i+1))
    if [ -L AT/$i ] || [ -e AT/$i ]; then
        at= rest=$file
        while [ "$rest" != "${rest#*/}" ]; do
            at=$at${rest%%/*} rest=${rest#*/}
            if [ -L "$at" ] || { [ -e "$at" ] && [ ! -d "$at" ]; }; then rm -f -- "$at"; fi
            at=$at/
        done
        rm -rf -- "$file"
        case $file in */*) mkdir -p -- "${file%/*}";; esac
        cp -dpR -- AT/$i "$file" || exit 1
    else
        rm -rf -- "$file"
        case $file in */*) rmdir -p -- "${file%/*}" 2>/dev/null;; esac
    fi
done
exit 0`
)

// aside keeps copies of the files whose changes are left out, as they are now.
func (r *runner) aside(ctx context.Context) error { return r.eachLeftOut(ctx, asideScript) }

// leaveOut undoes what the patch did to the files whose changes are left out.
func (r *runner) leaveOut(ctx context.Context) error { return r.eachLeftOut(ctx, restoreScript) }

func (r *runner) eachLeftOut(ctx context.Context, script string) error {
	if len(r.job.Without) == 0 {
		return nil
	}
	words := []string{"set --"}
	for _, name := range r.job.Without {
		words = append(words, bash.Quote("./"+name))
	}
	out, err := r.setup(ctx, strings.Join(words, " ")+"\n"+strings.ReplaceAll(script, "AT", r.folder+"/aside"))
	if err == nil && out.ExitCode != 0 {
		err = fault.Newf(fault.Instance, "leaving files out of the patch: %s", reason(out.Bytes))
	}
	return err
}
