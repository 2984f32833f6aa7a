package grade

import (
	"strconv"
	"strings"
	"unicode"

	"batch.example/batch/internal/python"
)

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
