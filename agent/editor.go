package agent

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"batch.example/batch/internal/bash"
	"batch.example/batch/vocab"
)

// edit is one call of the editor. It becomes a bash script, so that the editor
// needs nothing in the container but bash and coreutils, and works wherever a
// command works. See historyScript for how it undoes.
type edit struct {
	command, path string
	text          string // file_text, or insert_text
	old, new      string
	line          int // of insert: the line before the text; 0 is the beginning
	first, last   int // of view_range; first 0 means no range, last -1 the end
	pictures      bool
}

// readEdit reads the arguments of a call and reports everything that is wrong with them.
// It also takes the names of other editors that models know: undo_edit, new_str of insert,
// and content of create.
func readEdit(args map[string]any) (e edit, problems []string) {
	get := func(name string, required bool) string {
		v, problem := stringArgument(args, name, editorTool, required)
		if problem != "" {
			problems = append(problems, problem)
		}
		return v
	}
	either := func(name, other string) string {
		if _, also := args[other]; !also {
			return get(name, true)
		}
		v, w := get(name, false), get(other, false)
		if v != "" && w != "" && v != w && len(problems) == 0 {
			problems = append(problems, fmt.Sprintf("Arguments '%s' and '%s' of the editor tool are different: leave out '%[2]s'.", name, other))
		}
		return cmp.Or(v, w)
	}
	e.command = get("command", true)
	if e.path = get("path", true); e.path == "" && len(problems) == 0 {
		problems = append(problems, "Argument 'path' of the editor tool is empty.")
	}
	switch e.command {
	case "view":
		problems = append(problems, e.readRange(args["view_range"])...)
	case "create":
		e.text = either("file_text", "content")
	case "str_replace":
		if e.old = get("old_str", true); e.old == "" && len(problems) == 0 {
			problems = append(problems, "Argument 'old_str' of the editor tool is empty.")
		}
		if e.new = get("new_str", false); e.new == e.old && len(problems) == 0 {
			problems = append(problems, "Arguments 'old_str' and 'new_str' of the editor tool are the same.")
		}
	case "insert":
		e.text = either("insert_text", "new_str")
		line, ok := wholeNumber(args["insert_line"])
		if e.line = line; !ok || line < 0 {
			problems = append(problems, "Argument 'insert_line' of the editor tool must be the number of the line before the text, or 0.")
		}
	case "undo", "undo_edit":
		e.command = "undo"
	case "":
	default:
		problems = append(problems, fmt.Sprintf("Unknown editor command '%s': use view, create, str_replace, insert or undo.", e.command))
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
		return head + "text=" + bash.Quote(e.text) + "\n" + historyScript + createScript
	case "str_replace":
		return head + "old=" + bash.Quote(e.old) + "\nnew=" + bash.Quote(e.new) + "\n" + historyScript + readScript + replaceScript
	case "insert":
		return head + fmt.Sprintf("line=%d\n", e.line) + "text=" + bash.Quote(e.text) + "\n" + historyScript + readScript + insertScript
	case "undo":
		return head + historyScript + undoScript
	default:
		if e.pictures && e.first == 0 && isPictureName(e.path) {
			head += pictureScript
		}
		return head + fmt.Sprintf("first=%d last=%d\n", e.first, e.last) + viewScript
	}
}

// isPictureName reports whether a file may be a picture that models take. Its bytes decide.
func isPictureName(name string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp"}, strings.ToLower(path.Ext(name)))
}

// pictureScript passes on the bytes of a file. A sandbox keeps no more than 10 MiB of an output.
const pictureScript = `if [ -f "$path" ] && [ -r "$path" ]; then
  size=$(wc -c < "$path")
  [ "$size" -le 10000000 ] || refuse "$path has $size bytes: pictures of at most 10000000 can be shown."
  printf %s '` + vocab.PictureMark + `'
  exec cat -- "$path"
fi
`

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

// historyScript keeps the content of a file before each change, for undo. It is in the
// container, because recorded commands run again in a new one, and outside of every
// repository, so that it is in no patch. The earlier contents of one file are a directory
// that is named after the file's real path; each level is a copy, or empty and called .new
// if there was no file. A change takes place even if its copy cannot be kept. Then the
// levels before it are removed, so that undo does not take them for the last one.
const historyScript = `LC_ALL=C
edits=/tmp/.batch-editor-$EUID
find_levels() {
  real=$(readlink -f -- "$path" && printf x) || return
  real=${real%$'\nx'}
  key=$(printf %s "$real" | sha256sum) || return
  levels=$edits/${key%% *}
  last=
  [ -O "$edits" ] || return 0
  set -- "$levels"/*
  [ -e "${!#}" ] && last=${!#}
  return 0
}
keep() {
  kept= lasting=
  find_levels && if
    name=${last##*/}
    printf -v name %06d.%s $(( 10#0${name%%.*} + 1 )) "$1"
    (umask 077; mkdir -p -- "$levels") 2>/dev/null && [ -O "$edits" ]
  then
    kept=$levels/$name
    if [ ! -e "$real" ]; then kept=$kept.new; : > "$kept"; else [ -f "$real" ] && cp -- "$real" "$kept"; fi 2>/dev/null || { rm -rf -- "$levels"; kept=; }
    set -- "$levels"/*
    [ $# -gt 50 ] && rm -f -- "$1"
  fi
  [ -n "$kept" ] || lasting=" This cannot be undone: the content before it could not be kept."
}
restore() {
  case $1 in
    *.new) rm -f -- "$real";;
    *) [ ! -d "$real" ] && cp -- "$1" "$real";;
  esac && rm -f -- "$1"
}
write() {
  printf %s "$1" > "$path" && return
  [ -n "$kept" ] && restore "$kept"
  refuse "$path could not be written."
}
`

const createScript = `[ -d "$path" ] && refuse "$path is a directory."
case $path in */*) dir=${path%/*}; mkdir -p -- "${dir:-/}" || exit 1;; esac
[ -e "$path" ] && how=overwritten || how=created
[ $how = created ] || [ -w "$path" ] || refuse "$path could not be written."
keep create
write "$text"
say "$path was $how.$lasting"
`

// readScript reads a text file to change, as bytes (LC_ALL=C). If all lines of
// the file end in "\r\n", the model's "\n" means "\r\n", so that the file keeps its line ends.
const readScript = `[ -e "$path" ] || refuse "$path does not exist."
[ -d "$path" ] && refuse "$path is a directory."
[ -r "$path" ] || refuse "$path cannot be read."
[ -w "$path" ] || refuse "$path could not be written."
shopt -u patsub_replacement 2>/dev/null
{ content=$(cat -- "$path" && printf x) || exit 1; } 2>/dev/null
content=${content%x}
size=$(wc -c < "$path")
[ "$size" -eq "${#content}" ] || refuse "$path is a binary file: the editor cannot change it."
eol=$'\n'
case $content in *$'\r\n'*)
  rest=${content//$'\r\n'/}
  case $rest in *[$'\r\n']*) ;; *) eol=$'\r\n';; esac;;
esac
`

const replaceScript = `case $old in *$'\r'*) ;; *) old=${old//$'\n'/$eol};; esac
case $new in *$'\r'*) ;; *) new=${new//$'\n'/$eol};; esac
rest=${content//"$old"/}
count=$(( (${#content} - ${#rest}) / ${#old} ))
[ "$count" -eq 0 ] && refuse "old_str does not occur in $path. It must match exactly, white space included."
[ "$count" -eq 1 ] || refuse "old_str occurs $count times in $path. Add lines around it until it occurs once."
content=${content/"$old"/$new}
keep str_replace
write "$content"
say "$path was changed: one occurrence of old_str replaced.$lasting"
`

// insertScript inserts whole lines: it adds a missing end of line to the text and to the line
// before it.
const insertScript = `lines=$(wc -l < "$path")
unended=
case $content in ''|*$'\n') ;; *) lines=$((lines + 1)) unended=x;; esac
[ "$line" -le "$lines" ] || refuse "insert_line is $line, but $path has $lines lines."
case $text in *$'\r'*) ;; *) text=${text//$'\n'/$eol};; esac
before=$(head -n "$line" -- "$path" && printf x)
before=${before%x}
after=${content:${#before}}
if [ -n "$unended" ] && [ "$line" -eq "$lines" ]; then before=$before$eol
else case $text in *$'\n') ;; *) text=$text$eol;; esac; fi
keep insert
write "$before$text$after"
[ "$line" -eq 0 ] && where="at the beginning" || where="after line $line"
say "$path was changed: the text was inserted $where.$lasting"
`

const undoScript = `find_levels && [ -n "$last" ] || refuse "There is nothing to undo in $path: the editor has no earlier content of it."
what=${last##*/}
what=${what#*.}
restore "$last" || refuse "$path could not be written."
say "$path was $( case $what in *.new) printf removed;; *) printf restored;; esac ): it is as it was before its last ${what%.new}."
`
