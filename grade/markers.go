package grade

import (
	"bytes"
	"regexp"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/swebench"
)

// Texts in the harness's scripts and logs.
const (
	startText    = ">>>>> Start Test Output"
	endText      = ">>>>> End Test Output"
	exitCodeText = ">>>>> Test Exit Code:"
)

// StartMarker returns the text that a script prints before the tests, in place of the harness's
// ">>>>> Start Test Output". It begins with the harness's text, so that other tools find it;
// without a nonce it equals the harness's. The authors of the tests and of the patch must not know
// the nonce.
func StartMarker(nonce string) string { return marker(startText, nonce) }

// EndMarker is [StartMarker] for the text after the tests.
func EndMarker(nonce string) string { return marker(endText, nonce) }

func marker(text, nonce string) string {
	if nonce == "" {
		return text
	}
	return text + " " + nonce
}

// LogOf returns the log in an instance's folder, for a judgement. In batch's own folders, the
// script has the markers of the tests' part.
func LogOf(f swebench.Files) Log { return Log{Text: f.Output, Nonce: nonceOf(f.Script)} }

var startMarker = lazy.Regexp(regexp.QuoteMeta(startText) + ` ([0-9A-Za-z]+)`)

// nonceOf returns the nonce of batch's own markers in an eval script, or "".
func nonceOf(script []byte) string {
	m := startMarker().FindSubmatch(script)
	if m == nil || !bytes.Contains(script, []byte(EndMarker(string(m[1])))) {
		return ""
	}
	return string(m[1])
}
