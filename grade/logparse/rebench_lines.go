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

// splitLines yields the lines of Python's text.splitlines(), which knows more line ends than "\n".
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

// rebenchLines makes a parser of lines, trimmed on both sides.
func rebenchLines(line func(line string, out *results)) parser { return trimmedLines(strip, line) }

// rebenchRawLines makes a parser of lines, trimmed at their ends.
func rebenchRawLines(line func(line string, out *results)) parser {
	return trimmedLines(stripRight, line)
}

func trimmedLines(trim func(string) string, line func(line string, out *results)) parser {
	return func(log string, _ input, out *results) error {
		for l := range splitLines(log) {
			if l = trim(l); l != "" {
				line(l, out)
			}
		}
		return nil
	}
}

var (
	minitestSuite = expression(`^[A-Z][A-Za-z0-9_]*$`)
	minitestLine  = findBy(rule{
		expr:   `^\s*(test[^A-Z\n]+?)\s+(?<word>PASS|PASSED|FAIL|FAILURE|ERROR|SKIP|SKIPPED)(?:\s*\([0-9.]+s\))?$`,
		words:  map[string]string{"PASS": Passed, "PASSED": Passed, "FAIL": Failed, "FAILURE": Failed, "ERROR": Error, "SKIP": Skipped, "SKIPPED": Skipped},
		rename: strip,
	})
	minitestRanks = map[string]int{Failed: 1, Error: 2}
)

// rebenchMinitest reads the output of minitest's reporters, where the suite is on a line above its
// tests. The worst status of a test counts.
func rebenchMinitest(log string, _ input, out *results) error {
	suite := ""
	for line := range splitLines(log) {
		line = stripRight(line)
		if minitestSuite().MatchString(line) {
			suite = line + "::"
			continue
		}
		name, status, ok := minitestLine(line)
		if !ok {
			continue
		}
		if before, known := out.statuses[suite+name]; !known || minitestRanks[status] > minitestRanks[before] {
			if out.setJoined(status, suite, name); out.err != nil {
				return out.err
			}
		}
	}
	return nil
}

var plenaryColor = expression("\x1b\\[[0-9;]*m")

// rebenchPlenary reads the output of plenary, the test runner of plugins for Neovim.
func rebenchPlenary(line string, out *results) {
	plenaryLine(stripRight(plenaryColor().ReplaceAllLiteralString(line, "")), out)
}

var plenaryLine = byRules(func(out *results, name, status string) {
	if status == Failed {
		out.set(name, status)
	} else {
		out.setFirst(name, status)
	}
},
	rule{has: "Success", expr: `^Success\s*\|\|\s*(.+?)\s*$`, status: Passed, rename: strip},
	rule{has: "Fail", expr: `^Fail(?:ed)?\s*\|\|\s*(.+?)\s*$`, status: Failed, rename: strip},
	rule{has: "||", expr: `^(?i:Skip|S[kK\x{212a}][iıİ]pped)\s*\|\|\s*(.+?)\s*$`, status: Skipped, rename: strip})

// rebenchXdist reads pytest's output with and without workers.
func rebenchXdist(log string, _ input, out *results) error {
	for line := range splitLines(log) {
		xdistLine(strip(stripColors(line)), out)
	}
	return nil
}

var xdistLine = byRules((*results).set,
	rule{has: "[gw", expr: `^\[gw\d+\]\s+\[[^\]]*\]\s+(?<word>PASSED|FAILED|SKIPPED|ERROR)\s+(.*)$`, rename: beforeIn},
	rule{has: "]", expr: `^(\S.*?)\s+(?<word>PASSED|FAILED|SKIPPED|ERROR)\s+\[[^\]]*\]\s+in\s+\d+(?:\.\d+)?s$`, rename: strip},
	rule{expr: `^(?<word>PASSED|FAILED|SKIPPED|ERROR)\s+(.*)$`, rename: beforeIn})

// beforeIn cuts a time such as " in 0.1s" from a name.
func beforeIn(name string) string {
	name, _, _ = strings.Cut(name, " in ")
	return strip(name)
}
