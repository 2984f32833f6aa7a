package logparse

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
)

// RebenchV2 parses a log for a row of nebius/SWE-rebench-V2, by the row's install_config.log_parser
// (SWE-rebench/SWE-rebench-V2, lib/agent/log_parsers.py). [NormalizeRebenchV2] was applied to the
// names; it must be applied to expected ids before they are compared. The parsers are the ones that
// SWE-rebench-V2 took from SWE-bench, by v4 rules and partly changed, and the most used of its own.
// Another name is a usage fault.
func RebenchV2(name, log string) (Statuses, error) {
	parse, err := rebenchParser(name)
	if err != nil {
		return nil, err
	}
	out, err := run(name, parse, log, input{rules: V4})
	if err != nil {
		return nil, err
	}
	statuses := make(Statuses, len(out.order))
	for _, n := range out.order {
		statuses[NormalizeRebenchV2(n)] = out.statuses[n]
	}
	return statuses, nil
}

func rebenchParser(name string) (parser, error) {
	same := cmp.Or(rebenchAliases[name], name)
	if parse, changed := rebenchParsers[same]; changed {
		return parse, nil
	}
	if parse, own := rebenchOwn[same]; own {
		return parse, nil
	}
	if slices.Contains(rebenchShared, same) {
		return parsers[same], nil
	}
	known := slices.Concat(rebenchShared, slices.Collect(maps.Keys(rebenchParsers)), slices.Collect(maps.Keys(rebenchOwn)), slices.Collect(maps.Keys(rebenchAliases)))
	return nil, fault.Newf(fault.Usage, "no log parser for SWE-rebench-V2 has the name %q", name).
		WithHint("%s", near.Hint(near.Name(name, known),
			fmt.Sprintf("known are %d parsers of SWE-rebench-V2; %s", len(known), bringOne)))
}

// rebenchAliases are other names of parsers in SWE-rebench-V2.
var rebenchAliases = map[string]string{
	"parse_log_astroid": "parse_log_pytest", "parse_log_flask": "parse_log_pytest", "parse_log_marshmallow": "parse_log_pytest",
	"parse_log_pvlib": "parse_log_pytest", "parse_log_pyvista": "parse_log_pytest", "parse_log_sqlfluff": "parse_log_pytest",
	"parse_log_xarray": "parse_log_pytest", "parse_log_pydantic": "parse_log_pytest", "parse_log_dvc": "parse_log_pytest",
	"parse_log_pydicom": "parse_log_pytest_options", "parse_log_requests": "parse_log_pytest_options", "parse_log_pylint": "parse_log_pytest_options",
	"parse_log_java_mvn": "parse_java_mvn", "parse_log_java_mvn_v2": "parse_java_mvn_v2", "parse_log_kotlin_junit": "parse_logs_kotlin_junit", "parse_log_r_junit": "parse_logs_r_junit", "parse_log_ocaml_v5": "parse_log_ocaml_v4",
	"parse_log_junit": "parse_log_sbt", "parse_lua_nvim": "parse_lue_nvim", "parse_log_lua_nvim": "parse_lue_nvim",
	"parse_log_astropy": "parse_log_pytest_v2", "parse_log_scikit": "parse_log_pytest_v2", "parse_log_sphinx": "parse_log_pytest_v2",
}

// rebenchShared are the parsers that are the same as in v4.
var rebenchShared = []string{
	"parse_log_django", "parse_log_seaborn", "parse_log_gotest", "parse_log_redis", "parse_log_jq", "parse_log_doctest", "parse_log_micropython_test",
	"parse_log_googletest", "parse_log_minitest", "parse_log_cucumber", "parse_log_ruby_unit",
	"parse_log_rspec_transformed_json", "parse_log_cargo", "parse_log_maven", "parse_log_ant", "parse_log_calypso",
	"parse_log_chart_js", "parse_log_marked", "parse_log_p5js", "parse_log_jest", "parse_log_jest_json",
	"parse_log_vitest", "parse_log_karma", "parse_log_tap",
}

// rebenchParsers are the parsers that SWE-rebench-V2 changed.
var rebenchParsers = map[string]parser{
	"parse_log_pytest":         withoutXFail(pytest),
	"parse_log_pytest_options": withoutXFail(pytestOptions),
	"parse_log_matplotlib":     withoutXFail(matplotlib),
	"parse_log_pytest_v2":      rebenchPytestV2,
	"parse_log_sympy":          rebenchSympy,
	"parse_log_phpunit":        rebenchPHPUnit,
	"parse_log_gradle_custom":  eachStripped(rebenchGradle),
	"parse_log_react_pdf":      eachLine(rebenchReactPDF),
}

// withoutXFail is a parser of pytest's summary for which XFAIL is not a status.
func withoutXFail(line func(string, input, *results)) parser {
	return eachLine(func(l string, in input, out *results) {
		if !strings.HasPrefix(l, XFail) {
			line(l, in, out)
		}
	})
}

// rebenchPytestV2 is v4's parser without XFAIL; a line with only a status is an error.
func rebenchPytestV2(log string, in input, out *results) error {
	for line := range lines(log) {
		line = stripColors(line)
		starts := startsWithStatus(line) && !strings.HasPrefix(line, XFail)
		ends := endsWithStatus(line) && !strings.HasSuffix(line, XFail)
		if err := lineOfTwoWords(line, starts, ends, in, out); err != nil {
			return err
		}
	}
	return nil
}

// rebenchSympy cuts "[OK]" and "[FAIL]" after a file's last test.
func rebenchSympy(log string, _ input, out *results) error {
	sympyHeadings(log, out)
	for line := range lines(log) {
		line = strip(line)
		if strings.HasSuffix(line, "[FAIL]") || strings.HasSuffix(line, "[OK]") {
			line = strip(line[:strings.LastIndexByte(line, '[')])
		}
		sympyVerdict(line, out)
	}
	return nil
}

// rebenchPHPUnit cuts the time and white space from a test's name.
func rebenchPHPUnit(log string, _ input, out *results) error {
	return phpunitNamed(log, func(name string) string {
		return strip(cutBracketed(name, '[', ']'))
	}, out)
}

// rebenchGradle also reads a time after the status.
func rebenchGradle(line string, out *results) {
	if strings.Contains(line, Passed) || strings.Contains(line, Failed) {
		rebenchGradleLine(line, out)
	}
}

var rebenchGradleLine = byRules((*results).set,
	rule{expr: `^([^>].+?)\s+(?<word>PASSED|FAILED)(?:\s+\(\d+(?:\.\d+)?s\))?$`})

// rebenchReactPDF has one expression where v4 has several.
func rebenchReactPDF(line string, _ input, out *results) {
	if strings.HasPrefix(line, "PASS") || strings.HasPrefix(line, "FAIL") {
		rebenchJestFile(line, out)
	}
}

var rebenchJestFile = byRules((*results).set, rule{
	expr:   `^(?<word>PASS|FAIL)\s(.*?)(?:\s\([` + digitChars + `.]+\s*(?:ms|s)\))?$`,
	words:  map[string]string{"PASS": Passed, "FAIL": Failed},
	rename: stripRight,
})

// Python also ignores the case of the dotless and the dotted i.
var rebenchInline = expression(`(?i)\s+[iıİ]n\s+\d+(?:\.\d+)?\s+(?:msec|sec)`)

// NormalizeRebenchV2 removes times from a test's name, as SWE-rebench-V2 does on both sides
// of a comparison (scripts/eval.py): " [12 ms]" at the end, " in 3 sec" anywhere,
// " (1.2s)" at the end. It also trims the name.
func NormalizeRebenchV2(name string) string {
	name = cutBracketed(name, '[', ']')
	name = cutInlineTimes(name)
	return strip(cutBracketed(name, '(', ')'))
}

// cutInlineTimes removes matches of rebenchInline that end at the end of a word.
func cutInlineTimes(name string) string {
	var kept strings.Builder
	from := 0
	for _, m := range rebenchInline().FindAllStringIndex(name, -1) {
		if next, n := utf8.DecodeRuneInString(name[m[1]:]); n == 0 || !isWord(next) {
			kept.WriteString(name[from:m[0]])
			from = m[1]
		}
	}
	return kept.String() + name[from:]
}

var bracketedTime = expression(`(?i)^\s*\d+(?:\.\d+)?\s*(?:ms|s)\s*$`)

// cutBracketed cuts `\s*\[\s*\d+(?:\.\d+)?\s*(?:ms|s)\s*\]\s*$`, with these brackets.
func cutBracketed(name string, open, end byte) string {
	inner, ok := strings.CutSuffix(stripRight(name), string(end))
	i := strings.LastIndexByte(inner, open)
	if !ok || i < 0 || !bracketedTime().MatchString(inner[i+1:]) {
		return name
	}
	return stripRight(inner[:i])
}
