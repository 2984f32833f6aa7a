package grade

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/python"
	"batch.example/batch/internal/swebench"
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

// exitCode returns the exit code of the test command as a decimal number, "0" for success, and
// whether it is known. With a nonce, the output of tests is always before the last end marker.
func (l Log) exitCode(text string) (code string, known bool) {
	if l.ExitCode != nil {
		return strconv.Itoa(*l.ExitCode), true
	}
	if l.Nonce != "" {
		text = text[max(0, strings.LastIndex(text, EndMarker(l.Nonce))):]
	}
	code, _, known = cutExitCode(text)
	return code, known
}

// cutExitCode finds the first recorded exit code and returns it and the text after it. It is
// Python's `>>>>> Test Exit Code:\s*(-?\d+)` with Unicode's \s and \d.
func cutExitCode(text string) (code, rest string, found bool) {
	for {
		_, after, ok := strings.Cut(text, exitCodeText)
		if !ok {
			return "", "", false
		}
		text = after
		digits, negative := strings.CutPrefix(strings.TrimLeftFunc(text, python.IsSpace), "-")
		rest = strings.TrimLeftFunc(digits, unicode.IsDigit)
		if digits = digits[:len(digits)-len(rest)]; digits != "" {
			return number(digits, negative), rest, true
		}
	}
}

// number is str(int(digits)) for digits of any script.
func number(digits string, negative bool) string {
	digits = strings.TrimLeft(strings.Map(decimal, digits), "0")
	switch {
	case digits == "":
		return "0"
	case negative:
		return "-" + digits
	}
	return digits
}

// decimal returns the ASCII digit with the same value. The digits of each script are consecutive,
// and a range of the table begins with a zero.
func decimal(r rune) rune {
	for _, row := range unicode.Nd.R16 {
		if rune(row.Lo) <= r && r <= rune(row.Hi) {
			return '0' + (r-rune(row.Lo))%10
		}
	}
	for _, row := range unicode.Nd.R32 {
		if rune(row.Lo) <= r && r <= rune(row.Hi) {
			return '0' + (r-rune(row.Lo))%10
		}
	}
	return '0'
}

// Decode returns the text of a log as the harness reads it: invalid UTF-8 becomes U+FFFD, and
// "\r\n" and "\r" become "\n".
func Decode(b []byte) string {
	text := python.Decode(b)
	if strings.IndexByte(text, '\r') < 0 {
		return text
	}
	return newlines.Replace(text)
}

var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")
