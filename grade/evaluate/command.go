package evaluate

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"batch.example/batch/internal/bash"
)

const (
	scriptDepth = 3       // nesting of scripts that run scripts
	scriptsRead = 1 << 20 // bytes of the scripts at one depth
	mostWords   = 1000    // words of a command that are examined
)

// readScripts prints the shell scripts among its files, each after a NUL.
const readScripts = `for f in %s; do
    [ -f "$f" ] || continue
    case $f in
    *.sh | *.bash) ;;
    *) IFS= read -r -n 200 first < "$f" || continue
       case $first in '#!'*sh*) ;; *) continue ;; esac ;;
    esac
    printf '\0'; head -c 200000 "$f"
done 2>/dev/null; :`

// scripts returns the text of the shell scripts that the job's test command runs, and of the
// scripts that these run, from the image before the patch is applied.
func (r *runner) scripts(ctx context.Context) (text string, err error) {
	last, seen := r.job.command(), map[string]bool{}
	for range scriptDepth {
		var files []string
		for _, word := range words(last) {
			if name := path.Clean(word); !seen[name] && strings.ContainsAny(name, "/.") && len(files) < mostWords {
				seen[name] = true
				files = append(files, bash.Quote(name))
			}
		}
		if len(files) == 0 {
			break
		}
		out, err := r.setupWith(ctx, strings.Replace(readScripts, "%s", strings.Join(files, " "), 1), scriptsRead)
		if err != nil {
			return "", err
		}
		if last = strings.ReplaceAll(string(out.Bytes), "\x00", "\n"); last == "" {
			break
		}
		text += last
	}
	return text, nil
}

// command returns the command that runs the tests.
func (j Job) command() string { return cmp.Or(j.Command, testCommand(j.Script)) }

// words returns the parts of a command that may be names.
func words(command string) []string {
	list := strings.FieldsFunc(command, func(c rune) bool { return strings.ContainsRune(" \t\r\n'\"()|&;<>=,", c) })
	return slices.Compact(list)
}
