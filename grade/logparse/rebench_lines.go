package logparse

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// rebenchOwn are the parsers that SWE-rebench-V2 wrote for test runners that SWE-bench
// does not have, by the names in its rows.
var rebenchOwn = map[string]parser{
	"parse_log_js":   rebenchLines(rebenchJS),
	"parse_log_js_2": rebenchLines(rebenchJS2),
	"parse_log_js_3": rebenchTAP,
	"parse_log_js_4": rebenchLines(rebenchJS4),
	"parse_log_npx":  rebenchRawLines(rebenchNPX),

	"parse_log_cpp":    rebenchCpp,
	"parse_log_cpp_v2": rebenchLines(rebenchCpp2),
	"parse_log_cpp_v3": rebenchLines(rebenchCpp3),
	"parse_log_cpp_v4": rebenchRawLines(rebenchCTest),

	"parse_java_mvn":          rebenchMaven,
	"parse_java_mvn_v2":       rebenchLines(rebenchReactor),
	"parse_logs_kotlin_junit": rebenchSurefire,
	"parse_log_sbt":           rebenchJUnit,

	"parse_log_csharp":      rebenchRawLines(rebenchXUnit),
	"parse_log_elixir":      rebenchLines(rebenchExUnit),
	"parse_log_swift":       rebenchLines(rebenchXCTest),
	"parse_log_ruby_v1":     rebenchMinitest,
	"parse_log_ruby_v2":     rebenchLines(rebenchRubyVerbose),
	"parse_log_php_v1":      rebenchLines(rebenchPest),
	"parse_lue_nvim":        rebenchRawLines(rebenchPlenary),
	"parse_log_pytest_nebo": rebenchXdist,

	"parse_log_scala":    rebenchLines(rebenchScala),
	"parse_log_scala_v2": rebenchLines(rebenchMunit),
	"parse_log_scala_v3": rebenchScala3,
	"parse_log_dart":     rebenchDart,
	"parse_log_dart_v2":  rebenchLines(rebenchDart2),
	"parse_log_dart_v3":  rebenchLines(rebenchDart3),
	"parse_log_r":        rebenchTestthat,
	"parse_log_r_v2":     rebenchCheck,
	"parse_log_lein":     rebenchLein,
	"parse_log_julia":    rebenchJulia,
	"parse_log_ocaml":    rebenchRawLines(rebenchAlcotest),
	"parse_log_ocaml_v2": rebenchDune,
	"parse_log_ocaml_v3": rebenchLines(rebenchBrackets),
	"parse_log_ocaml_v4": rebenchRawLines(rebenchOcamlbuild),

	"parse_combined_test_reports": rebenchReports,
	"parse_log_gradlew_v1":        rebenchGradlew,
	"parse_logs_r_junit":          rebenchRJUnit,
}

// splitLines are the lines of Python's text.splitlines(), which knows more line ends than "\n".
func splitLines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			i := strings.IndexAny(text, "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029")
			if i < 0 {
				yield(text)
				return
			}
			if !yield(text[:i]) {
				return
			}
			end, n := utf8.DecodeRuneInString(text[i:])
			text = text[i+n:]
			if end == '\r' {
				text = strings.TrimPrefix(text, "\n")
			}
		}
	}
}

// rebenchLines is a parser of lines without the white space at both ends.
func rebenchLines(line func(line string, out *results)) parser {
	return func(log string, _ input, out *results) error {
		for l := range splitLines(log) {
			if l = strip(l); l != "" {
				line(l, out)
			}
		}
		return nil
	}
}

// rebenchRawLines is a parser of lines without the white space at their ends.
func rebenchRawLines(line func(line string, out *results)) parser {
	return func(log string, _ input, out *results) error {
		for l := range splitLines(log) {
			if l = stripRight(l); l != "" {
				line(l, out)
			}
		}
		return nil
	}
}

// setFirst records a status for a name without one.
func (r *results) setFirst(name, status string) {
	if _, known := r.statuses[name]; !known {
		r.set(name, status)
	}
}

// setWord records a status by a runner's word for it: what passes does not replace what is
// known. Other words are not recorded.
func (r *results) setWord(name, word string) {
	switch strings.ToLower(word) {
	case "passed":
		r.setFirst(name, Passed)
	case "failed":
		r.set(name, Failed)
	case "skipped":
		r.set(name, Skipped)
	}
}

var (
	xunitPassed  = expression(`^\s+Passed\s+(.+?)\s+\[.+?\]$`)
	xunitFailed  = expression(`^\s+Failed\s+(.+?)\s+\[.+?\]$`)
	xunitSkipped = expression(`^\s+Skipped\s+(.+?)(?:\s+\[.+?\])?$`)
	xunitNote    = expression(`^\[xUnit\.net\s+[` + digitChars + `:.]+\]\s+(.+?)\s+\[FAIL\]$`)
)

// rebenchXUnit reads the output of `dotnet test`.
func rebenchXUnit(line string, out *results) {
	if m := xunitNote().FindStringSubmatch(line); m != nil {
		out.set(m[1], Failed)
	} else if m := xunitFailed().FindStringSubmatch(line); m != nil {
		out.set(m[1], Failed)
	} else if m := xunitSkipped().FindStringSubmatch(line); m != nil {
		out.set(m[1], Skipped)
	} else if m := xunitPassed().FindStringSubmatch(line); m != nil {
		out.setFirst(m[1], Passed)
	}
}

var (
	exunitSkipped = expression(`^\*\s+test\s+(.*?)\s+\(skipped\)\s+\[L#\d+\]$`)
	exunitFailed  = expression(`^\d+\)\s+test\s+(.*?)\s+\([^)]+\)$`)
	exunitTimed   = expression(`^\*\s+test\s+(.*?)\s+\([0-9]+(?:\.[0-9]+)?ms\)\s+\[L#\d+\]$`)
	exunitPassed  = expression(`^\*\s+test\s+(.*?)\s+\[L#\d+\]$`)
)

// rebenchExUnit reads the output of `mix test --trace`.
func rebenchExUnit(line string, out *results) {
	if m := exunitSkipped().FindStringSubmatch(line); m != nil {
		out.set(m[1], Skipped)
	} else if m := exunitFailed().FindStringSubmatch(line); m != nil {
		out.set(m[1], Failed)
	} else if m := exunitTimed().FindStringSubmatch(line); m != nil {
		out.setFirst(m[1], Passed)
	} else if m := exunitPassed().FindStringSubmatch(line); m != nil {
		out.setFirst(m[1], Passed)
	}
}

var xctestLine = expression(`^Test Case '([^']+)'\s+(passed|failed)\s+\([0-9.]+\s+seconds\)$`)

// rebenchXCTest reads the output of `swift test`.
func rebenchXCTest(line string, out *results) {
	if m := xctestLine().FindStringSubmatch(line); m != nil {
		out.set(m[1], strings.ToUpper(m[2]))
	}
}

var rubyVerboseLine = expression(`^(.+?#.+?)\s+=\s+[` + digitChars + `.]+\s+s\s+=\s+([.FES])$`)

// rebenchRubyVerbose reads the output of minitest's verbose mode. An error is a failure.
func rebenchRubyVerbose(line string, out *results) {
	if m := rubyVerboseLine().FindStringSubmatch(line); m != nil {
		out.set(m[1], map[string]string{".": Passed, "F": Failed, "E": Failed, "S": Skipped}[m[2]])
	}
}

var (
	minitestSuite = expression(`^[A-Z][A-Za-z0-9_]*$`)
	minitestLine  = expression(`^\s*(test[^A-Z\n]+?)\s+(PASS|PASSED|FAIL|FAILURE|ERROR|SKIP|SKIPPED)(?:\s*\([0-9.]+s\))?$`)
	minitestWords = map[string]string{"PASS": Passed, "PASSED": Passed, "FAIL": Failed, "FAILURE": Failed, "ERROR": Error, "SKIP": Skipped, "SKIPPED": Skipped}
	minitestRanks = map[string]int{Failed: 1, Error: 2}
)

// rebenchMinitest reads the output of minitest's reporters, in which the suite is a line above
// its tests. The worst status of a test counts.
func rebenchMinitest(log string, _ input, out *results) error {
	suite := ""
	for line := range splitLines(log) {
		line = stripRight(line)
		if minitestSuite().MatchString(line) {
			suite = line + "::"
			continue
		}
		m := minitestLine().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name, status := strip(m[1]), minitestWords[m[2]]
		if before, known := out.statuses[suite+name]; !known || minitestRanks[status] > minitestRanks[before] {
			if out.setJoined(status, suite, name); out.err != nil {
				return out.err
			}
		}
	}
	return nil
}

var (
	plenaryColor = expression("\x1b\\[[0-9;]*m")
	plenaryLine  = expression(`^(Success|Fail|Failed|(?i:Skip|S[kK\x{212a}][iıİ]pped))\s*\|\|\s*(.+?)\s*$`)
)

// rebenchPlenary reads the output of plenary, the test runner of plugins for Neovim.
func rebenchPlenary(line string, out *results) {
	line = stripRight(plenaryColor().ReplaceAllLiteralString(line, ""))
	m := plenaryLine().FindStringSubmatch(line)
	switch {
	case m == nil:
	case strings.HasPrefix(m[1], "Fail"):
		out.set(strip(m[2]), Failed)
	case m[1] == "Success":
		out.setFirst(strip(m[2]), Passed)
	default:
		out.setFirst(strip(m[2]), Skipped)
	}
}

var (
	xdistColor  = expression(`\[\d+m`)
	xdistWorker = expression(`^\[gw\d+\]\s+\[[^\]]*\]\s+(PASSED|FAILED|SKIPPED|ERROR)\s+(.*)$`)
	xdistTimed  = expression(`^(\S.*?)\s+(PASSED|FAILED|SKIPPED|ERROR)\s+\[[^\]]*\]\s+in\s+\d+(?:\.\d+)?s$`)
	xdistFirst  = expression(`^(PASSED|FAILED|SKIPPED|ERROR)\s+(.*)$`)
)

// rebenchXdist reads pytest's output with and without workers.
func rebenchXdist(log string, _ input, out *results) error {
	for line := range splitLines(log) {
		line = xdistColor().ReplaceAllLiteralString(line, "")
		line = strip(strings.Map(func(r rune) rune {
			if r > 0 && r < ' ' {
				return -1
			}
			return r
		}, line))
		if m := xdistWorker().FindStringSubmatch(line); m != nil {
			out.set(beforeIn(m[2]), m[1])
		} else if m := xdistTimed().FindStringSubmatch(line); m != nil {
			out.set(strip(m[1]), m[2])
		} else if m := xdistFirst().FindStringSubmatch(line); m != nil {
			out.set(beforeIn(m[2]), m[1])
		}
	}
	return nil
}

// beforeIn cuts a time such as " in 0.1s" from a name.
func beforeIn(name string) string {
	name, _, _ = strings.Cut(name, " in ")
	return strip(name)
}
