package logparse

import "strings"

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
