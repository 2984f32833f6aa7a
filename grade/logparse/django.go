package logparse

import (
	"fmt"
	"strings"
)

const djangoVersionTest = "--version is equivalent to version"

// django reads runtests.py --verbosity 2: "test_x (path.Class) ... ok". The test's own output may
// come between the dots and the "ok", so that a line "ok" belongs to the last test named.
func django(log string, _ input, out *results) error {
	d := djangoLines{out: out, versionTest: strings.Contains(log, djangoVersionTest)}
	for line := range lines(log) {
		if err := d.line(strip(line)); err != nil {
			return err
		}
	}
	djangoInterrupted(log, out)
	return nil
}

type djangoLines struct {
	out         *results
	versionTest bool
	last        string // the last test that a line named
	named       bool   // whether there is one
}

func (d *djangoLines) line(line string) error {
	if d.versionTest && strings.Contains(line, djangoVersionTest) {
		d.out.set(djangoVersionTest, Passed)
	}
	if before, _, ok := strings.Cut(line, " ... "); ok {
		d.last, d.named = before, true
		line = d.passes(line)
	}
	if err := d.fails(line, " ... FAIL", "FAIL:", Failed); err != nil {
		return err
	}
	if err := d.fails(line, " ... ERROR", "ERROR:", Error); err != nil {
		return err
	}
	if d.named && strings.HasPrefix(line, "ok") {
		d.out.set(d.last, Passed)
	}
	return nil
}

// passes handles a line that has " ... ". It returns the line for the further rules.
func (d *djangoLines) passes(line string) string {
	for _, suffix := range [...]string{" ... ok", " ... OK", " ...  OK"} {
		if strings.HasSuffix(line, suffix) {
			if strings.HasPrefix(line, "Applying sites.0002_alter_domain_unique...test_no_migrations") {
				_, line, _ = strings.Cut(line, "...") // the test's name follows its output
			}
			d.out.set(strings.TrimSuffix(line, suffix), Passed)
			break
		}
	}
	if before, _, ok := strings.Cut(line, " ... skipped"); ok {
		d.out.set(before, Skipped)
	}
	return line
}

// fails handles "test_x (path.Class) ... FAIL", where suffix ends the line, and the headings
// of the reports at the end, "FAIL: test_x (path.Class)".
func (d *djangoLines) fails(line, suffix, heading, status string) error {
	if strings.HasSuffix(line, suffix) {
		before, _, _ := strings.Cut(line, suffix)
		d.out.set(before, status)
	}
	if !strings.HasPrefix(line, heading) {
		return nil
	}
	_, rest := cutWord(line)
	name, _ := cutWord(rest)
	if name == "" {
		return fmt.Errorf("a line that starts with %s has no second word", heading)
	}
	d.out.set(name, status)
	return nil
}

// djangoInterrupted finds tests with a line that one of three long messages of Django interrupts,
// so that the "ok" is on a line of its own. The expressions, with (?m), are
//
//	^(.*?)\s\.\.\.\sTesting against Django installed in ((?s:.*?)) silenced\)\.\nok$
//	^(.*?)\s\.\.\.\sInternal Server Error: \/(.*)\/\nok$
//	^(.*?)\s\.\.\.\sSystem check identified no issues \(0 silenced\)\nok$
//
// It searches for their fixed text, since the first expression would take quadratic time.
func djangoInterrupted(log string, out *results) {
	djangoMessage(log, "Testing against Django installed in ", silencedEnd, out)
	djangoMessage(log, "Internal Server Error: /", serverErrorEnd, out)
	djangoMessage(log, "System check identified no issues (0 silenced)\nok", lineEnd, out)
}

// messageEnd returns the end of a message, including its "ok". The message's fixed text ends at
// from. If ok is false, it is not such a message, and the search for the next one starts at end.
type messageEnd func(log string, from int) (end int, ok bool)

// djangoMessage records the test before each message that starts with text.
func djangoMessage(log, text string, ending messageEnd, out *results) {
	searched := 0 // where the next match may start
	for s := (search{text: log}); s.next(text); {
		before, ok := cutDots(log[searched:s.start])
		if !ok {
			continue
		}
		end, ok := ending(log, s.pos)
		s.pos = end
		start := strings.LastIndexByte(before, '\n') + 1
		if !ok || start == 0 && searched > 0 { // the line belongs to the previous "ok"
			continue
		}
		out.set(before[start:], Passed)
		searched = end
	}
}

// cutDots cuts `\s\.\.\.\s` from the end of text.
func cutDots(text string) (before string, ok bool) {
	text, after := cutLastSpace(text)
	text, dots := strings.CutSuffix(text, "...")
	text, space := cutLastSpace(text)
	return text, after && dots && space
}

// silencedEnd looks for the first line that ends with " silenced)." and has an "ok" below.
func silencedEnd(log string, from int) (end int, ok bool) {
	for s := (search{text: log, pos: from}); s.next(" silenced).\nok"); {
		if _, ok := lineEnd(log, s.pos); ok {
			return s.pos, true
		}
	}
	return len(log), false
}

// serverErrorEnd looks for a slash at the end of the line, and an "ok" below.
func serverErrorEnd(log string, from int) (end int, ok bool) {
	line, _, _ := strings.Cut(log[from:], "\n")
	end = from + len(line)
	if !strings.HasSuffix(line, "/") || !strings.HasPrefix(log[end:], "\nok") {
		return end, false
	}
	return lineEnd(log, end+len("\nok"))
}

func lineEnd(log string, from int) (end int, ok bool) {
	return from, from == len(log) || log[from] == '\n'
}
