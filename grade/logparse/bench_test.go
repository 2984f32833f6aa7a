package logparse_test

import (
	"fmt"
	"strings"
	"testing"

	"batch.example/batch/grade/logparse"
)

const bigLog = 100 << 20

// runnersLine is the output of each parser's test runner for test %d.
var runnersLine = map[string]string{
	"parse_log_pytest":                 "PASSED tests/test_module.py::TestClass::test_name[param-%d]",
	"parse_log_pytest_options":         "PASSED tests/test_module.py::TestClass::test_name[/a/b/param-%d]",
	"parse_log_pytest_v2":              "\x1b[32mPASSED\x1b[0m tests/test_module.py::TestClass::\x1b[1mtest_name[param-%d]\x1b[0m",
	"parse_log_matplotlib":             "PASSED lib/test_axes.py::test_pick[MouseButton.LEFT-%d]",
	"parse_log_seaborn":                "tests/test_relational.py::TestPlotter::test_%d PASSED [  1%%]",
	"parse_log_django":                 "test_name_%d (module.tests.TestClass) ... ok",
	"parse_log_sympy":                  "test_name_of_something_%d ok",
	"parse_log_redis":                  "[ok]: name of the test %d in words (12 ms)",
	"parse_log_jq":                     "PASS: tests/name_%d",
	"parse_log_doctest":                "<SubCase name=\"name of %d\">\n<Expression success=\"true\"/>\n</SubCase>",
	"parse_log_micropython_test":       "pass  basics/name_%d.py",
	"parse_log_googletest":             "[       OK ] suite_test.name_%d (3 ms)",
	"parse_log_gotest":                 "    --- PASS: TestName/with_param_%d (0.00s)",
	"parse_log_cargo":                  "test module::tests::name_%d ... ok",
	"parse_log_maven":                  "+ mvn test -Dtest=org.example.NameTest#name%d\n[INFO] BUILD SUCCESS",
	"parse_log_ant":                    "    [junit] [PASS] name_%d(org.example.NameTest)",
	"parse_log_gradle_custom":          "org.example.NameTest > name%d PASSED",
	"parse_log_phpunit":                " ✔ Name of the test with data set %d",
	"parse_log_minitest":               "TestName#test_name_%d = 0.01 s = .",
	"parse_log_cucumber":               "Scenario: name %d ....F",
	"parse_log_ruby_unit":              "test: name of the test %d:\t.: (0.01)",
	"parse_log_rspec_transformed_json": "Name of the test %d - passed",
	"parse_log_bpmn_js":                "HeadlessChrome 80.0.3987 (Linux 0.0.0) name of the test %d FAILED",
	"parse_log_calypso":                "    ✓ name of the test %d (12ms)",
	"parse_log_carbon":                 "PASS packages/react/src/components/Name/__tests__/Name-%d-test.js (5.12 s)",
	"parse_log_chart_js":               "Chrome 80.0.3987 (Linux 0.0.0) name of the test %d FAILED",
	"parse_log_eslint":                 "  1) suite\n       name of the test %d:\n\n      AssertionError: expected 1 to equal 2",
	"parse_log_grommet":                "PASS src/js/components/Name/__tests__/Name-%d-test.js (5.12 s)",
	"parse_log_highlightjs":            "    ✓ name of the test %d (12ms)",
	"parse_log_jest":                   "    ✓ name of the test %d (12 ms)",
	"parse_log_jest_json":              "[PASSED] suite name of the test %d",
	"parse_log_karma":                  "    ✔ name of the test %d",
	"parse_log_lighthouse":             "\"fullTitle\": \"suite name of the test %d\",",
	"parse_log_marked":                 "1) name of the test %d",
	"parse_log_next":                   "    ✓ name of the test %d",
	"parse_log_openlayers":             "  1) suite\n       name of the test %d:\n     Error: expected 1 to equal 2",
	"parse_log_p5js":                   "  1) suite\n       name of the test %d:\n     <b>Error</b>",
	"parse_log_prismjs":                "    {\n      \"title\": \"%d\",\n      \"fullTitle\": \"suite name of the test\"\n    },",
	"parse_log_quarto_cli":             "[smoke] > render /tmp/abc/name-%d.qmd ... \x1b[0m\x1b[32mok\x1b[0m",
	"parse_log_react_pdf":              "PASS packages/layout/tests/name-%d.test.js (5.12 s)",
	"parse_log_tap":                    "ok 12 name of the test %d",
	"parse_log_vitest":                 " ✓ packages/name.spec.ts > suite > name of the test %d 12ms",
}

// around is the text before and after the results, for parsers that need it.
var around = map[string][2]string{
	"parse_log_doctest":    {"<doctest><TestCase>", "</TestCase></doctest>"},
	"parse_log_calypso":    {" ./node_modules/.bin/jest \n  suite\n", ""},
	"parse_log_karma":      {"Starting browser\n  suite\n", ""},
	"parse_log_lighthouse": {"./node_modules/.bin/mocha --reporter json", ""},
	"parse_log_next":       {" xvfb-run \n  suite\n", ""},
	"parse_log_prismjs": {
		"./node_modules/.bin/mocha tests/run.js --reporter json{\"failures\": [], \"passes\": [",
		"{\"fullTitle\": \"last\"}]}",
	},
}

// otherLines are output of programs beside their tests' results.
const otherLines = `2024-01-01 12:00:00,123 INFO  module.name - request 127.0.0.1:8080 /path/to/something?x=[1] (took 12 ms)
  File "/testbed/lib/python3.9/site-packages/module/name.py", line 123, in some_function
E       AssertionError: assert {'a': 1, 'b': [1, 2, 3]} == {'a': 1, 'b': [1, 2]}
warning: unused variable ` + "`x`" + ` ... see https://example.com/a/b#c for details: note = 3. Fine
`

// fill repeats the text of part until there are size bytes.
func fill(size int, part func(i int) string) string {
	var b strings.Builder
	b.Grow(size + 1<<12)
	for i := 0; b.Len() < size; i++ {
		b.WriteString(part(i))
	}
	return b.String()
}

func parseAll(b *testing.B, name, log string) {
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		// a log that the reference refuses takes its time, too
		_, _, _ = logparse.Parse(name, log, logparse.Row{InstanceID: "jekyll__jekyll-9141", Version: "1.0"}, logparse.V5)
	}
}

// BenchmarkResults reads 100 MB of results that repeat the names of twenty thousand tests: with as
// many tests as lines, it would measure filling one huge map.
func BenchmarkResults(b *testing.B) {
	for _, name := range logparse.Names() {
		line, ok := runnersLine[name]
		if !ok {
			continue
		}
		b.Run(name, func(b *testing.B) {
			log := fill(bigLog, func(i int) string { return fmt.Sprintf(line+"\n", i%20_000) })
			parseAll(b, name, around[name][0]+log+around[name][1])
		})
	}
}

// BenchmarkOutput reads 100 MB of programs' output.
func BenchmarkOutput(b *testing.B) {
	log := fill(bigLog, func(int) string { return otherLines })
	for _, name := range logparse.Names() {
		b.Run(name, func(b *testing.B) { parseAll(b, name, log) })
	}
}

// BenchmarkFailures reads 100 MB of browsers' reports in which one of two hundred tests fails, with
// parsers that look for failures.
func BenchmarkFailures(b *testing.B) {
	for _, name := range []string{"parse_log_bpmn_js", "parse_log_chart_js", "parse_log_openlayers", "parse_log_eslint"} {
		failed := runnersLine[name] + "\n\tExpected 1 to be 2.\n\t    at UserContext.<anonymous> (test/specs/core.tests.js:123:45)\n\n"
		log := fill(bigLog, func(i int) string {
			if i%200 == 0 {
				return fmt.Sprintf(failed, i%20_000)
			}
			return "\x1b[1A\x1b[2KHeadlessChrome 80.0.3987 (Linux 0.0.0): Executed 12 of 5000 \x1b[32mSUCCESS\x1b[39m (0 secs / 0.123 secs)\nLOG: 'something'\n"
		})
		b.Run(name, func(b *testing.B) { parseAll(b, name, log) })
	}
}

// BenchmarkHostile reads text that makes a careless parser quadratic. The bytes per second
// must be about the same for 8 MB as for 1 MB.
func BenchmarkHostile(b *testing.B) {
	for shape, part := range map[string]string{
		"brackets":        "[",
		"parentheses":     " (",
		"closed":          " (x)",
		"blanks":          " \t",
		"words":           "PASSED ",
		"dots":            " ... ",
		"flags":           "-Dtest= ",
		"underscores":     "_",
		"colons":          "x: ",
		"numbers":         "1",
		"wide":            "\u00a0é",
		"messages":        " ... Internal Server Error: /",
		"unsilenced":      "x ... Testing against Django installed in \n",
		"pending":         "-Dtest=x\n",
		"unpaired":        "BUILD SUCCESS\n",
		"results lines":   " - passed",
		"opened elements": "<a>",
		"open references": "&#",
		"open JSON":       "{\"a\":[",
		"numbered":        "1) x\n",
		"suites":          "  suite\n",
		"escapes":         "\x1b[31m",
		"files":           "PASS a.js\n",
		"pluses":          " in  in .py: = = \\. - ",
	} {
		for _, size := range []int{1 << 20, 8 << 20} {
			log := fill(size, func(int) string { return part })
			for _, name := range logparse.Names() {
				b.Run(fmt.Sprintf("%s/%s/%dMB", strings.ReplaceAll(shape, " ", "-"), name, size>>20), func(b *testing.B) {
					text := log
					if name == "parse_log_doctest" {
						text = "<doctest>" + log + "</doctest>"
					}
					parseAll(b, name, text)
				})
			}
		}
	}
}
