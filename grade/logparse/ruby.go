package logparse

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// minitest reads minitest -v: "name = 0.01 s = .". It is `^(.+)\. .*=.*(\.|F|E).*$`, so that the
// name ends at the last ". " that is followed by a "=" and an outcome.
func minitest(line string, out *results) {
	outcome := strings.LastIndexAny(line, ".FE")
	if outcome < 0 {
		return
	}
	equals := strings.LastIndexByte(line[:outcome], '=')
	if equals < 0 {
		return
	}
	end := strings.LastIndex(line[:equals], ". ")
	switch {
	case end < 1:
	case line[outcome] == '.':
		out.set(line[:end], Passed)
	default:
		out.set(line[:end], Failed)
	}
}

// cucumber reads --format progress: "name ....F". It is `^(.*) \.+(\.|F)`.
func cucumber(line string, out *results) {
	for name, after := range fromLast(line, " .") {
		dots := strings.TrimLeft(after, ".")
		switch {
		case strings.HasPrefix(dots, "F"):
			out.set(name, Failed)
		case len(dots) < len(after):
			out.set(name, Passed)
		default:
			continue
		}
		return
	}
}

// rubyUnit reads test-unit --verbose=verbose: "test: name: .: (0.01)". It is
// `^\s*(?:test: )?(.+):\s+(\.|E\b|F\b|O\b)`.
func rubyUnit(line string, out *results) {
	for end := strings.LastIndexByte(line, ':'); end > 0; end = strings.LastIndexByte(line[:end], ':') {
		name, status := line[:end], rubyUnitStatus(line[end+1:])
		if status == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(name, "test: "); ok && rest != "" {
			name = rest
		}
		out.set(name, status)
		return
	}
}

// rubyUnitStatus returns the status after a colon, or "" if there is none.
func rubyUnitStatus(text string) string {
	outcome := stripLeft(text)
	if outcome == "" || len(outcome) == len(text) {
		return ""
	}
	if outcome[0] == '.' {
		return Passed
	}
	if next, n := utf8.DecodeRuneInString(outcome[1:]); n > 0 && isWord(next) {
		return ""
	}
	switch outcome[0] {
	case 'E', 'F':
		return Failed
	case 'O':
		return Skipped
	default:
		return ""
	}
}

// rspec reads "name - passed", which the eval script derives from RSpec's JSON.
func rspec(line string, out *results) {
	passed, failed := strings.LastIndex(line, " - passed"), strings.LastIndex(line, " - failed")
	switch end := max(passed, failed); {
	case end < 1:
	case end == passed:
		out.set(line[:end], Passed)
	default:
		out.set(line[:end], Failed)
	}
}

// jekyll chooses by pull request, since jekyll's tests use two runners.
func jekyll(log string, in input, out *results) error {
	parts := strings.Split(in.row.InstanceID, "-")
	if len(parts) < 2 {
		return fmt.Errorf("the instance id %q has no pull request number", in.row.InstanceID)
	}
	switch parts[1] {
	case "9141", "8047", "8167":
		return eachStripped(minitest)(log, in, out)
	case "8761", "8771":
		return eachStripped(cucumber)(log, in, out)
	}
	return fmt.Errorf("the test runner of instance %q is not known", in.row.InstanceID)
}
