package agent

import (
	"fmt"
	"strings"

	"batch.example/batch/internal/bash"
)

// edit is one call of the editor. It becomes a bash script, so that the editor
// needs nothing in the container but bash and coreutils, and works wherever a
// command works.
type edit struct {
	command, path string
	text          string // file_text
	old, new      string
	first, last   int // of view_range; first 0 means no range, last -1 the end
}

// readEdit reads the arguments of a call and reports everything that is wrong with them.
func readEdit(args map[string]any) (e edit, problems []string) {
	get := func(name string, required bool) string {
		v, problem := stringArgument(args, name, editorTool, required)
		if problem != "" {
			problems = append(problems, problem)
		}
		return v
	}
	e.command = get("command", true)
	if e.path = get("path", true); e.path == "" && len(problems) == 0 {
		problems = append(problems, "Argument 'path' of the editor tool is empty.")
	}
	switch e.command {
	case "view":
		problems = append(problems, e.readRange(args["view_range"])...)
	case "create":
		e.text = get("file_text", true)
	case "str_replace":
		if e.old = get("old_str", true); e.old == "" && len(problems) == 0 {
			problems = append(problems, "Argument 'old_str' of the editor tool is empty.")
		}
		if e.new = get("new_str", false); e.new == e.old && len(problems) == 0 {
			problems = append(problems, "Arguments 'old_str' and 'new_str' of the editor tool are the same.")
		}
	case "":
	default:
		problems = append(problems, fmt.Sprintf("Unknown editor command '%s': use view, create or str_replace.", e.command))
	}
	return e, problems
}

func (e *edit) readRange(v any) []string {
	if v == nil {
		return nil
	}
	bad := []string{"Argument 'view_range' of the editor tool must be two line numbers, first and last, counted from 1."}
	list, ok := v.([]any)
	if !ok || len(list) != 2 {
		return bad
	}
	first, ok1 := wholeNumber(list[0])
	last, ok2 := wholeNumber(list[1])
	if !ok1 || !ok2 || first < 1 || last != -1 && last < first {
		return bad
	}
	e.first, e.last = first, last
	return nil
}

func wholeNumber(v any) (int, bool) {
	f, ok := v.(float64)
	if !ok || f != float64(int32(f)) {
		return 0, false
	}
	return int(f), true
}

// script returns the bash script of the edit. Content is passed in single quotes and
// written by the printf builtin, so it is exact and may have any length.
func (e edit) script() string {
	path := e.path
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	head := "path=" + bash.Quote(path) + "\n" +
		"say() { printf '%s\\n' \"$*\"; }\n" +
		"refuse() { say \"$*\"; exit 1; }\n"
	switch e.command {
	case "create":
		return head + "text=" + bash.Quote(e.text) + "\n" + createScript
	case "str_replace":
		return head + "old=" + bash.Quote(e.old) + "\nnew=" + bash.Quote(e.new) + "\n" + replaceScript
	default:
		return head + fmt.Sprintf("first=%d last=%d\n", e.first, e.last) + viewScript
	}
}

const viewScript = `[ -e "$path" ] || refuse "$path does not exist."
if [ -d "$path" ]; then
  [ "$first" -eq 0 ] || refuse "$path is a directory: view_range is for files."
  say "Entries of the directory $path:"
  exec ls -1Ap -- "$path"
fi
[ -r "$path" ] || refuse "$path cannot be read."
[ "$first" -eq 0 ] && exec cat -n -- "$path"
lines=$(cat -n -- "$path" | tail -n 1 | { read -r n _; printf %s "${n:-0}"; })
[ "$first" -le "$lines" ] || refuse "view_range starts at line $first, but $path has $lines lines."
[ "$last" -eq -1 ] && last=$lines
cat -n -- "$path" | head -n "$last" | tail -n "+$first"
`

const createScript = `[ -d "$path" ] && refuse "$path is a directory."
case $path in */*) dir=${path%/*}; mkdir -p -- "${dir:-/}" || exit 1;; esac
[ -e "$path" ] && how=overwritten || how=created
printf %s "$text" > "$path" || refuse "$path could not be written."
say "$path was $how."
`

// replaceScript works on bytes (LC_ALL=C). In a file whose lines all end in
// "\r\n", the model's "\n" means "\r\n", so that the file keeps its line ends.
const replaceScript = `[ -e "$path" ] || refuse "$path does not exist."
[ -d "$path" ] && refuse "$path is a directory."
[ -r "$path" ] || refuse "$path cannot be read."
LC_ALL=C
shopt -u patsub_replacement 2>/dev/null
{ content=$(cat -- "$path" && printf x) || exit 1; } 2>/dev/null
content=${content%x}
size=$(wc -c < "$path")
[ "$size" -eq "${#content}" ] || refuse "$path is a binary file: the editor cannot change it."
case $content in *$'\r\n'*)
  rest=${content//$'\r\n'/}
  case $rest in *[$'\r\n']*) ;; *)
    case $old in *$'\r'*) ;; *) old=${old//$'\n'/$'\r\n'};; esac
    case $new in *$'\r'*) ;; *) new=${new//$'\n'/$'\r\n'};; esac;;
  esac;;
esac
rest=${content//"$old"/}
count=$(( (${#content} - ${#rest}) / ${#old} ))
[ "$count" -eq 0 ] && refuse "old_str does not occur in $path. It must match exactly, white space included."
[ "$count" -eq 1 ] || refuse "old_str occurs $count times in $path. Add lines around it until it occurs once."
content=${content/"$old"/$new}
printf %s "$content" > "$path" || refuse "$path could not be written."
say "$path was changed: one occurrence of old_str replaced."
`
