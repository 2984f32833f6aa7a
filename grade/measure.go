package grade

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/vocab"
)

// measured is a log's information about tests, or why there is none.
type measured struct {
	seen
	part       string // the parsed part
	whole      bool   // part is the whole log
	unread     string // the log, if only text between the markers counts and there are no results in it
	miss       *miss
	suspicious []string
}

// miss says why a log has no results that count.
type miss struct {
	verdict vocab.Verdict
	why     string
	// unlessResults says that the miss applies only if no results are found.
	unlessResults bool
}

// refusals are texts in logs of older harnesses that say that there are no results. They count
// anywhere in a log.
var refusals = []struct {
	text string
	miss
}{
	{swebench.ApplyFailed, miss{verdict: vocab.VerdictNoApply, why: "the patch does not apply"}},
	{">>>>> Reset Failed", miss{verdict: vocab.VerdictInfrastructure, why: "the repository could not be reset"}},
	{">>>>> Tests Errored", miss{verdict: vocab.VerdictUnresolved, why: "the tests could not be run"}},
	{">>>>> Tests Timed Out", miss{verdict: vocab.VerdictTimedOut, why: "the tests took longer than their limit"}},
}

// measure is the reference's get_logs_eval.
func measure(text string, l Log, parse Parse, r logparse.Rules) (measured, error) {
	graded, missing := l.graded(text)
	m := measured{suspicious: l.suspicions(text, graded)}
	if missing != nil && !missing.unlessResults {
		m.miss = missing
		return m, nil
	}
	var err error
	for i, part := range []string{graded, text} { // some runners print outside of the markers
		m.part, m.whole = part, i > 0
		if m.statuses, m.order, err = parse(part); err != nil {
			return m, parseError(err)
		}
		if len(m.statuses) > 0 || l.OnlyMarked {
			break
		}
	}
	if len(m.statuses) == 0 && l.OnlyMarked {
		m.unread = text
	}
	if len(m.statuses) == 0 && missing != nil {
		m.miss = missing
		return m, nil
	}
	if r == logparse.V4 {
		return m, nil
	}
	if len(m.statuses) == 0 {
		if !suiteRan(text) {
			m.miss = &miss{verdict: vocab.VerdictUnresolved, why: "the log has no test result"}
		}
		return m, nil
	}
	// A result without failures although the test command failed belongs to another run.
	if code, known := l.exitCode(text); known && code != "0" && !m.anyFails() {
		m.miss = &miss{verdict: vocab.VerdictUnresolved, why: fmt.Sprintf("the log has no failed test, but the test command ended with exit code %s", code)}
	}
	return m, nil
}

// graded cuts out the part of the log in which the tests ran.
func (l Log) graded(text string) (string, *miss) {
	if l.Nonce != "" {
		return l.own(text)
	}
	for _, refusal := range refusals {
		if strings.Contains(text, refusal.text) {
			return "", &refusal.miss
		}
	}
	_, after, started := strings.Cut(text, startText)
	if !started {
		missing := &miss{verdict: vocab.VerdictUngradeable, why: "the log has no start marker: the tests were not begun, or the log is cut"}
		if IsOld(l) {
			return old(text, missing)
		}
		return "", missing
	}
	if !strings.Contains(text, endText) {
		return "", &miss{verdict: vocab.VerdictUngradeable, why: "the log has no end marker: the tests did not come to an end, or the log is cut"}
	}
	after, _, _ = strings.Cut(after, startText)
	part, _, _ := strings.Cut(after, endText)
	return part, nil
}

// own is graded for markers with a nonce: no output between the first start marker and the last end
// marker can make the part smaller.
func (l Log) own(text string) (string, *miss) {
	_, after, started := strings.Cut(text, StartMarker(l.Nonce))
	if !started {
		return "", &miss{verdict: vocab.VerdictUngradeable, why: "the eval script did not get to the tests"}
	}
	end := strings.LastIndex(after, EndMarker(l.Nonce))
	if end < 0 {
		return after, &miss{verdict: vocab.VerdictUnresolved, why: "the tests stopped the eval script before it ended"}
	}
	return after[:end], nil
}

// suiteRan reports whether a test runner says that it ran tests. It is for logs in which the parser
// finds nothing because only failures are logged. All counts must be positive.
func suiteRan(text string) bool {
	for _, s := range totals {
		if strings.Contains(text, s.word) && s.line().MatchString(text) {
			return true
		}
	}
	return false
}

// totals match the runners' final lines. Searching for the word, which each such line has, is a
// hundred times faster than the expression.
var totals = []struct {
	word string
	line func() *regexp.Regexp
}{
	{"Executed ", lazy.Regexp(`Executed [1-9]\p{Nd}* of \p{Nd}`)}, // karma
	{"TOTAL: ", lazy.Regexp(`TOTAL: [1-9]\p{Nd}* (?:SUCCESS|FAILED)`)},
	{" passing", lazy.Regexp(`[1-9]\p{Nd}* passing`)}, // mocha
	{"Tests:", lazy.Regexp(`Tests:[` + spaces + `]+[1-9]`)},
	{"Test Suites:", lazy.Regexp(`Test Suites:[` + spaces + `]+(?:\p{Nd}+ [\p{L}\p{N}_]+, )*[1-9]\p{Nd}* total`)}, // jest
	{"# tests ", lazy.Regexp(`(?m)^# tests [1-9]`)},                                                               // tap
	{" spec", lazy.Regexp(`[1-9]\p{Nd}* specs?, \p{Nd}+ failures?`)},                                              // jasmine
	{"': ok", lazy.Regexp(`(?m)': ok$`)},                                                                          // openlayers
}

// spaces are the characters of Python's \s, for use within brackets.
const spaces = `\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`

// Texts in the logs of releases 2.0 to 2.1.7 of the harness, which have no markers.
const (
	predApplied = ">>>>> Applied Patch (pred)"
	notReset    = "Failed to reset task environment"
)

// testPatchApplied is git's message about the test patch, after which the tests run.
var testPatchApplied = lazy.Regexp(`(?i)applied patch[^\n]*`)

// IsOld reports whether a log is from a release from 2.0 to 2.1.7 of the harness, or from a later
// one and cut before the tests. The rules of those releases for statuses and tests are
// [logparse.V4].
func IsOld(l Log) bool {
	return l.Nonce == "" && !bytes.Contains(l.Text, []byte(startText)) && !bytes.Contains(l.Text, []byte(endText)) && testPatchApplied().Match(l.Text)
}

// OldOutput returns the tests' output in an old log, which is the text after the test patch.
func OldOutput(text string) string {
	all := testPatchApplied().FindAllStringIndex(text, -1)
	if all == nil {
		return ""
	}
	return text[all[len(all)-1][1]:]
}

// old is graded for an old log, which has no marked part. missing counts if the log may be from a
// later release and cut before the tests.
func old(text string, missing *miss) (string, *miss) {
	switch {
	case strings.Contains(text, notReset):
		return "", &miss{verdict: vocab.VerdictInfrastructure, why: "the repository could not be reset"}
	case timedOut(text):
		return "", missing // the end of the log has the reason
	}
	if i := strings.LastIndex(text, predApplied); i >= 0 {
		text = text[i+len(predApplied):]
	}
	if traced().MatchString(OldOutput(text)) {
		return text, nil
	}
	missing.unlessResults = true
	return text, missing
}

// traced matches bash's trace of a command, except for a marker.
var traced = lazy.Regexp(`\n\+ [^:]`)
