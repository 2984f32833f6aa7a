package grade

import (
	"bytes"
	"strings"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/vocab"
)

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
