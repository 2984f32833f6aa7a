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

var juliaLine = expression(`^\s*(.+?)\s+\|(.+)$`)

// rebenchJulia reads the table of test sets at the end of Julia's tests. Columns without a figure
// are empty, so that the meaning of a figure is only partly known.
func rebenchJulia(log string, _ input, out *results) error {
	summary, fails, errs := false, false, false
	for line := range splitLines(log) {
		if strings.Contains(line, "Test Summary:") {
			summary = true
			if strings.Contains(line, "| Pass") {
				_, after, _ := strings.Cut(line, "|")
				header, _, _ := strings.Cut(after, "|")
				fails, errs = strings.Contains(header, "Fail"), strings.Contains(header, "Error")
			}
			continue
		}
		m := juliaLine().FindStringSubmatch(line)
		if !summary || m == nil {
			continue
		}
		if status := juliaStatus(m[2], fails, errs); status != "" {
			out.set(strip(m[1]), status)
		}
	}
	return nil
}

// juliaStatus returns the status of a test set from its columns. fails and errs say which columns
// of failures the table has. It returns "" if there are too few figures.
func juliaStatus(columns string, fails, errs bool) string {
	var figures []string
	for _, word := range words(columns) {
		if strings.Trim(word, "0123456789") == "" {
			figures = append(figures, word)
		}
	}
	const emptyColumn = 10
	switch {
	case len(figures) < 2:
		return ""
	case len(figures) == 2:
		indent := utf8.RuneCountInString(columns) - utf8.RuneCountInString(stripLeft(columns))
		if indent >= emptyColumn || strings.TrimLeft(figures[0], "0") != strings.TrimLeft(figures[1], "0") {
			return Error
		}
	case len(figures) == 3:
		if !isZero(figures[1]) && fails && !errs {
			return Failed
		} else if !isZero(figures[1]) {
			return Error
		}
	case !isZero(figures[2]):
		return Error
	case !isZero(figures[1]):
		return Failed
	}
	return Passed
}

var (
	pestLine = findBy(
		rule{expr: `(?i)^FA[iıİ]L(?:ED)?\s+(\S.+)$`, status: Failed, rename: pestName},
		rule{expr: `^(?<word>✓|✔|-)\s+(.+?)\s{2,}\d+\.?\d*s(?:[^` + wordChars + `]|$)`, words: pestMarks, rename: pestName},
		rule{expr: `(?i)^(?<word>⨯|x)\s+(.+?)\s{2,}\d+\.?\d*s(?:[^` + wordChars + `]|$)`, words: pestMarks, rename: pestName},
		rule{expr: `^(?<word>✓|✔|⨯|x|X|-)\s+(.+?)\s*$`, words: pestMarks, rename: pestName})
	pestMarks   = map[string]string{"✓": Passed, "✔": Passed, "-": Skipped, "⨯": Failed, "X": Failed}
	pestSkipped = expression(`(?i)\([sſ][kK\x{212a}][iıİ]pped\)`)
	pestSkip    = expression(`(?i)SK[iıİ]PPED`)
	pestMark    = expression(`^(?:✓|✔|⨯|x|-)\s+`)
	pestApart   = expression(`\s{2,}\d+(?:\.\d+)?s\s*$`)
	pestTime    = expression(`\s+\d+(?:\.\d+)?s\s*$`)
)

// rebenchPest reads the output of Pest and of Laravel's test runner: a mark, a name and a time. A
// line without a mark that says that a test was skipped is the name as a whole.
func rebenchPest(line string, out *results) {
	line = strip(line)
	for _, other := range []string{"___", "---", "Tests:", "Duration:"} {
		if strings.HasPrefix(line, other) {
			return
		}
	}
	name, status, ok := pestLine(line)
	switch {
	case ok && name != "":
		out.setPass(name, status)
	case !ok && (pestSkipped().MatchString(line) || hasWord(line, pestSkip)):
		if name = pestName(pestMark().ReplaceAllLiteralString(line, "")); name != "" {
			out.setFirst(name, Skipped)
		}
	}
}

// pestName cuts times from the end of a name.
func pestName(name string) string {
	name = pestApart().ReplaceAllLiteralString(stripRight(name), "")
	return strip(pestTime().ReplaceAllLiteralString(name, ""))
}

// These parsers of SWE-rebench-V2 are completely described by a table of expressions.

// rebenchXUnit reads the output of `dotnet test`.
var rebenchXUnit = byRules((*results).setPass,
	rule{has: "[FAIL]", expr: `^\[xUnit\.net\s+[` + digitChars + `:.]+\]\s+(.+?)\s+\[FAIL\]$`, status: Failed},
	rule{has: "Failed", expr: `^\s+Failed\s+(.+?)\s+\[.+?\]$`, status: Failed},
	rule{has: "Skipped", expr: `^\s+Skipped\s+(.+?)(?:\s+\[.+?\])?$`, status: Skipped},
	rule{has: "Passed", expr: `^\s+Passed\s+(.+?)\s+\[.+?\]$`, status: Passed})

// rebenchExUnit reads the output of `mix test --trace`.
var rebenchExUnit = byRules((*results).setPass,
	rule{has: "(skipped)", expr: `^\*\s+test\s+(.*?)\s+\(skipped\)\s+\[L#\d+\]$`, status: Skipped},
	rule{has: ")", expr: `^\d+\)\s+test\s+(.*?)\s+\([^)]+\)$`, status: Failed},
	rule{has: "ms)", expr: `^\*\s+test\s+(.*?)\s+\([0-9]+(?:\.[0-9]+)?ms\)\s+\[L#\d+\]$`, status: Passed},
	rule{has: "[L#", expr: `^\*\s+test\s+(.*?)\s+\[L#\d+\]$`, status: Passed})

// rebenchXCTest reads the output of `swift test`.
var rebenchXCTest = byRules((*results).set,
	rule{has: "Test Case '", expr: `^Test Case '([^']+)'\s+(?<word>passed|failed)\s+\([0-9.]+\s+seconds\)$`})

// rebenchRubyVerbose reads the output of minitest's verbose mode. An error is a failure.
var rebenchRubyVerbose = byRules((*results).set, rule{
	has:   "#",
	expr:  `^(.+?#.+?)\s+=\s+[` + digitChars + `.]+\s+s\s+=\s+(?<word>[.FES])$`,
	words: map[string]string{".": Passed, "F": Failed, "E": Failed, "S": Skipped},
})

// rebenchCpp2 reads lines "Test NAME passed".
var rebenchCpp2 = byRules((*results).setPass, rule{has: "Test", expr: `^Test\s+(.*?)\s+(?<word>passed|failed|skipped)$`})

// rebenchCTest reads the output of CTest. A test that took too long has failed.
var rebenchCTest = byRules((*results).set, rule{
	has:    "#",
	expr:   `(?i)^\s*\d+/\d+\s+Test\s+#\d+:\s+(.+?)\s+\.+\s+(?<word>Passed|Fa[iıİ]led|Sk[iıİ]pped|T[iıİ]meout)(?:[^` + wordChars + `]|$)`,
	words:  map[string]string{"PASSED": Passed, "FAILED": Failed, "SKIPPED": Skipped, "TIMEOUT": Failed},
	rename: strip,
})

// rebenchJS reads mocha's output with its failures marked by "[W]", or by a heading that ends
// with a colon.
var rebenchJS = byRules((*results).setJS,
	rule{has: "✔", expr: `^✔\s+(.*)$`, status: Passed},
	rule{has: "-", expr: `^-\s+(.*)$`, status: Skipped},
	rule{has: ":", expr: `^\d+\)\s+(.*?):$`, status: Failed},
	rule{has: "[W]", expr: `^\[W\]\s*\d+\)\s+(.*?)$`, status: Failed})

// rebenchJS2 reads mocha's output.
var rebenchJS2 = byRules((*results).setJS,
	rule{has: "✔", expr: `^✔\s+(.*)$`, status: Passed},
	rule{has: "-", expr: `^-\s+(.*)$`, status: Skipped},
	rule{has: ")", expr: `^\d+\)\s+(.*?)$`, status: Failed})

var npxModule = expression(`\s+\([^)]+\)$`)

// rebenchNPX reads mocha's output. The last status of a test counts.
var rebenchNPX = byRules((*results).set,
	rule{has: "✔", expr: `^\s*✔\s+(.+?)(?:\s+\(\d+(?:ms)?\))?$`, status: Passed, rename: strip},
	rule{has: ")", expr: `^\s*\d+\)\s+(.+)$`, status: Failed, rename: func(name string) string {
		return npxModule().ReplaceAllLiteralString(strip(name), "")
	}})

// rebenchScala reads ScalaTest's output with times.
var rebenchScala = byRules((*results).setPass,
	rule{has: "FAILED", expr: `^\[info\]\s+-\s+(.*?)\s+\*\*\*\s+FAILED\s+\*\*\*\s+\([^)]+\)$`, status: Failed},
	rule{has: "CANCELED", expr: `^\[info\]\s+-\s+(.*?)\s+!!!\s+CANCELED\s+!!!\s+\([^)]+\)$`, status: Skipped},
	rule{has: "IGNORED", expr: `^\[info\]\s+-\s+(.*?)\s+!!!\s+IGNORED\s+!!!`, status: Skipped},
	rule{has: "[info]", expr: `^\[info\]\s+-\s+(.*?)\s+\([^)]+\)$`, status: Passed})

// rebenchBrackets reads lines that begin with a word in brackets.
var rebenchBrackets = byRules((*results).setWorst, rule{
	has:  "]",
	expr: `^\[(?<word>[A-Za-z][A-Za-z0-9_-]*)\]\s+(.+)$`,
	words: map[string]string{
		"OK": Passed, "PASS": Passed, "PASSED": Passed, "SUCCESS": Passed,
		"SKIP": Skipped, "SKIPPED": Skipped, "TODO": Skipped, "PENDING": Skipped, "DISABLED": Skipped,
		"FAIL": Failed, "FAILED": Failed, "ERROR": Failed, "EXCEPTION": Failed, "CRASH": Failed, "FATAL": Failed, "KO": Failed, "PANIC": Failed,
	},
	rename: oneLine,
})
