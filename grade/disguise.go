package grade

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/printable"
)

var (
	color = lazy.Regexp("\x1b\\[[0-9;:?]*[ -/]*[@-~]")
	clock = lazy.Regexp(`(?m)^\[?(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T ])?[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?\]?(?: std(?:out|err) [FP])?(?: [-|]|:)?[ \t]`)
)

// disguised returns a reason why expected tests that the log contains are not found: the program
// that writes a log may put colors or times before their results, which parsers do not expect (nor
// do the harness's), or write names in another encoding. It returns "" if there is no such reason.
func disguised(text string, s seen, t Tests, parse Parse) string {
	for _, cover := range []struct {
		match *regexp.Regexp
		name  string
	}{{color(), "colors"}, {clock(), "times at the beginning of its lines"}} {
		bare := cover.match.ReplaceAllLiteralString(text, "")
		if len(bare) == len(text) {
			continue
		}
		if n := more(bare, s, t, parse); n > 0 {
			return fmt.Sprintf("%s only without the log's %s", printable.Count(n, "is found", "are found"), cover.name)
		}
		text = bare
	}
	for name := range s.statuses {
		if strings.ContainsRune(name, utf8.RuneError) {
			if id := damaged(name, s, t); id != "" {
				return fmt.Sprintf("it has one with bytes that are not UTF-8: %s", short(printable.Line(id)))
			}
		}
	}
	return ""
}

// more returns how many expected tests text has that s lacks.
func more(text string, s seen, t Tests, parse Parse) (n int) {
	statuses, order, err := parse(text)
	if err != nil { // the parser cannot read a changed log
		return 0
	}
	bare := seen{statuses, order}
	for _, ids := range [][]string{t.FailToPass, t.PassToPass} {
		for _, id := range ids {
			if _, found := s.tolerant(id); found {
				continue
			}
			if _, found := bare.tolerant(id); found {
				n++
			}
		}
	}
	return n
}

// damaged returns an expected test that the log lacks and that matches name, where U+FFFD in name
// stands for any characters.
func damaged(name string, s seen, t Tests) string {
	pieces := strings.FieldsFunc("^"+name+"$", func(r rune) bool { return r == utf8.RuneError })
	for _, ids := range [][]string{t.FailToPass, t.PassToPass} {
		for _, id := range ids {
			if _, found := s.exact(id); !found && fits("^"+id+"$", pieces) {
				return id
			}
		}
	}
	return ""
}

// fits reports whether text consists of the pieces with something between every two.
func fits(text string, pieces []string) bool {
	rest, ok := strings.CutPrefix(text, pieces[0])
	for _, piece := range pieces[1:] {
		if !ok || rest == "" {
			return false
		}
		_, n := utf8.DecodeRuneInString(rest)
		_, rest, ok = strings.Cut(rest[n:], piece)
	}
	return ok && rest == ""
}
