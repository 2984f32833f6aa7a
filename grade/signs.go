package grade

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/printable"
)

// lost returns how many of the expected tests are missing in the log, and the reason to doubt a
// verdict without them: the log says that something other than the tests stopped them, or that a
// part of the log was removed, or it has results in an unknown form. The reason is "" if none is
// found. network says that the network may be the reason, too.
func lost(text string, s seen, t Tests, parse Parse, network bool) (n int, doubt string) {
	all := len(t.FailToPass) + len(t.PassToPass)
	for _, ids := range [][]string{t.FailToPass, t.PassToPass} {
		for _, id := range ids {
			if _, found := s.tolerant(id); !found {
				n++
			}
		}
	}
	if n == 0 {
		return 0, ""
	}
	sign := stopped(text)
	if sign == "" {
		sign = elided(text)
	}
	if sign == "" && network {
		sign = unreachable.find(text)
	}
	if sign == "" {
		if doubt = disguised(text, s, t, parse); doubt != "" {
			doubt = Missing(n, all, doubt)
		}
		return n, doubt
	}
	return n, Missing(n, all, fmt.Sprintf("the log says %q", sign))
}

// Missing returns the doubt about a verdict without n of all expected tests.
func Missing(n, all int, because string) string {
	return fmt.Sprintf("%d of %s not in the log, and %s", n, printable.Count(all, "expected test is", "expected tests are"), because)
}

// lineExpression is an expression that matches within a line. Each match has one of the words. An expression of many alternatives takes 20 ms for a megabyte, a word a hundredth.
type lineExpression struct {
	words []string
	expr  func() *regexp.Regexp
}

// find returns the first match in a text; "" if there is none.
func (l lineExpression) find(text string) (found string) {
	for _, word := range l.words {
		for from := 0; ; {
			at := strings.Index(text[from:], word)
			if at < 0 {
				break
			}
			begin := strings.LastIndexByte(text[:from+at], '\n') + 1
			line, _, more := strings.Cut(text[begin:], "\n")
			if m := l.expr().FindStringIndex(line); m != nil {
				found, text = line[m[0]:m[1]], text[:begin] // an earlier line may have another word
				break
			}
			if from = begin + len(line) + 1; !more {
				break
			}
		}
	}
	return found
}

// stopping matches messages of the system and of runners about processes that were killed or cannot
// write.
var stopping = lineExpression{
	[]string{
		"Killed", "killed", "SIGKILL", "137", "Cannot allocate memory", "OutOfMemoryError", "heap out of memory",
		"No space left on device", "Disk quota exceeded", "Read-only file system",
	},
	lazy.Regexp(`^(?:.*: line [0-9]+: +[0-9]+ )?Killed(?: {2}.*)?$|\*\*\* \[[^\]]*\] Killed\b|\bsignal: killed\b|\bsignal: 9, SIGKILL|\bsignal[= ]"?SIGKILL|\bexit (?:code|value|status):? 137\b` +
		`|Cannot allocate memory|OutOfMemoryError|heap out of memory` +
		`|No space left on device|Disk quota exceeded|Read-only file system`),
}

// unreachable matches messages of programs without a network, or without an engine.
var unreachable = lineExpression{
	[]string{"Could not resolve host", "Temporary failure in name resolution", "Error response from daemon", "Cannot connect to the Docker daemon"},
	lazy.Regexp(`Could not resolve host|Temporary failure in name resolution|Error response from daemon|Cannot connect to the Docker daemon`),
}

// stopped finds a message that the tests were stopped, or the mark of an omitted part.
func stopped(text string) string {
	const kept = 60
	found := strings.Join(strings.Fields(cmp.Or(stopping.find(text), omitted(text))), " ")
	return short(printable.Line(found[:min(len(found), kept)]))
}

// omitted finds a line that only has three dots in brackets.
func omitted(text string) string {
	for line := range strings.Lines(text) {
		mark := strings.Trim(line, " \t\n")
		if len(mark) < 3 || !strings.ContainsRune("[(<", rune(mark[0])) || !strings.ContainsRune("])>", rune(mark[len(mark)-1])) {
			continue
		}
		if dots := strings.Trim(mark[1:len(mark)-1], " "); dots == "..." || dots == "…" {
			return mark
		}
	}
	return ""
}

// cutVerbs are the words that say that a part of a log was removed. The notice needs one of them.
var cutVerbs = wordSet(`elided truncated truncating omitted omitting snip snipped clipped trimmed skipped skipping removed cut`)

// cutWords are all words that such a notice may have.
var cutWords = wordSet(`elided truncated truncating omitted omitting snip snipped clipped trimmed skipped skipping removed cut
	output log logs text content console test the a in middle of line lines character characters char chars byte bytes b k kb kib m mb mib token tokens
	more additional was were has have been is too long due to for length brevity here size limit first last rest next by from at total`)

// cutUnits are words that a notice also needs if test runners use its verb too.
var cutUnits = wordSet(`line lines character characters char chars byte bytes kb kib mb mib token tokens output log logs middle`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// longestCut is the maximum length of such a notice in bytes.
const longestCut = 120

// elided finds a tool's notice about a removed part of a log: "[... 120 lines omitted ...]",
// "<12345 characters elided>". Within a line, where runners shorten values, it must have a number.
// The search around a word is limited to the length of a notice: tests print lines of any length.
func elided(text string) string {
	for begin, end := 0, 0; begin < len(text); begin = end {
		end = begin + 1
		if !isWord(text[begin]) {
			continue
		}
		for end < len(text) && isWord(text[end]) {
			end++
		}
		if end-begin > longestCut || !cutVerbs[strings.ToLower(text[begin:end])] {
			continue
		}
		first, last := edgeBefore(text, begin), edgeBehind(text, end)
		if segment := text[first:last]; isCut(segment, alone(text, first, last)) {
			return short(printable.Line(strings.TrimSpace(segment)))
		}
	}
	return ""
}

// edges are the possible limits of a notice.
var edges = []string{"[", "]", "<", ">", "(", ")", "{", "}", "\n", "…", "..."}

// edgeBefore returns the end of the last edge before an offset, or how far it looks for one.
func edgeBefore(text string, at int) int {
	least := max(0, at-longestCut)
	for ; at > least; at-- {
		for _, e := range edges {
			if strings.HasSuffix(text[:at], e) {
				return at
			}
		}
	}
	return least
}

// edgeBehind is edgeBefore for the start of the first edge after an offset.
func edgeBehind(text string, at int) int {
	most := min(len(text), at+longestCut)
	for ; at < most; at++ {
		for _, e := range edges {
			if strings.HasPrefix(text[at:], e) {
				return at
			}
		}
	}
	return most
}

// alone reports whether only marks are before and after a part of a line.
func alone(text string, begin, end int) bool {
	for begin > 0 && text[begin-1] != '\n' {
		if begin--; isWord(text[begin]) {
			return false
		}
	}
	for ; end < len(text) && text[end] != '\n'; end++ {
		if isWord(text[end]) {
			return false
		}
	}
	return true
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// isCut reports whether a text only says that a part was removed.
func isCut(segment string, alone bool) bool {
	if len(segment) > longestCut || !alone && !strings.ContainsAny(segment, "0123456789") {
		return false
	}
	unit, strong := false, false
	for w := range strings.FieldsFuncSeq(strings.ToLower(segment), func(c rune) bool { return c < 'a' || c > 'z' }) {
		if !cutWords[w] {
			return false
		}
		unit = unit || cutUnits[w]
		switch w {
		case "elided", "truncated", "omitted", "snip", "snipped":
			strong = true
		}
	}
	return unit || strong && alone
}
