package family

import (
	"encoding/json"
	"encoding/xml"
	"regexp"
	"strings"
	"time"

	"batch.example/batch/grade"
	"batch.example/batch/grade/evalscript"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/python"
)

// SWE-PolyBench has the test command and the Dockerfile in the row, and a parser for each
// repository (amazon-science/SWE-PolyBench, src/poly_bench_evaluation).
func isPolyBench(r row) bool { return r.has("test_command", "F2P", "P2P") }

func fillPolyBench(r row, t *Task) (err error) {
	if t.Tests.FailToPass, err = r.list("F2P"); err != nil {
		return err
	}
	if t.Tests.PassToPass, err = r.list("P2P"); err != nil {
		return err
	}
	if r.in.ImageDerived() {
		t.Image = "ghcr.io/timesler/swe-polybench.eval.x86_64." + strings.ToLower(r.in.ID) + ":latest"
	}
	t.Workdir = workdirOf(r.text("Dockerfile"), t.Workdir)
	t.Timeout = 20 * time.Minute
	if strings.EqualFold(r.text("language"), "java") {
		t.Timeout = 30 * time.Minute
	}
	t.Script = polyScript(t.Workdir, r.in.TestPatch, r.text("test_command"))
	t.TestFiles = evalscript.Paths(r.in.TestPatch)
	t.rule = polyBench
	if r.options.Parser != "" {
		return nil
	}
	p, ok := polyParsers[strings.ToLower(r.in.Repo)]
	if !ok {
		return r.fault("no parser is known for the tests of %q", r.in.Repo).WithHint("%s", bringYourOwn)
	}
	t.Parser, t.parse = p.name, plain(p.parse)
	return nil
}

// polyScript prints standard error before standard output, like the reference: mixing them would
// break the reports that test runners print as JSON.
func polyScript(workdir, testPatch, command string) string {
	prepare := []string{
		"cd " + bash.Quote(workdir) + needed,
		"d=$(mktemp -d)",
		bash.Print([]byte(testPatch)) + ` > "$d/test.diff"`,
		`git apply -v --ignore-whitespace --reject "$d/test.diff" || patch --batch --fuzz=5 -p1 -f -i "$d/test.diff"` + needed,
		bash.Print([]byte("#!/bin/bash\nset -uxo pipefail\n"+command+"\n")) + ` > "$d/eval.sh"`,
		`bash "$d/eval.sh" > "$d/stdout" 2> "$d/stderr"`,
	}
	return script(prepare, []string{`cat "$d/stderr" "$d/stdout"`, `rm -r "$d"`})
}

var workdirLine = lazy.Regexp(`(?mi)^[ \t]*WORKDIR[ \t]+"?(/[^\s"]*)"?[ \t]*\r?$`)

// workdirOf returns the last absolute WORKDIR of a Dockerfile, which is also the image's.
func workdirOf(dockerfile, otherwise string) string {
	if all := workdirLine().FindAllStringSubmatch(dockerfile, -1); len(all) > 0 {
		return all[len(all)-1][1]
	}
	return otherwise
}

// passedAndFailed is the status of a test that the log has as both: the reference has it in both of
// its lists.
const passedAndFailed = logparse.Passed + " and " + logparse.Failed

// polyBench requires every FAIL_TO_PASS test to have passed, and no PASS_TO_PASS test to have
// failed: a missing one is fine.
func polyBench(s logparse.Statuses, t grade.Tests) outcome {
	return all(t,
		func(test string) bool { return s[test] == logparse.Passed || s[test] == passedAndFailed },
		func(test string) bool { return s[test] != logparse.Failed && s[test] != passedAndFailed })
}

// polyParsers are SWE-PolyBench's parsers by repository in lower case (constants.py,
// REPO_TO_PARSER_CLASS). An unreadable log has no tests.
var polyParsers = map[string]struct {
	name  string
	parse func(log string) logparse.Statuses
}{
	"google/guava":                 {"JavaGenericParser", polyJava},
	"google/gson":                  {"JavaGenericParser", polyJava},
	"apache/dubbo":                 {"JavaGenericParser", polyJava},
	"apolloconfig/apollo":          {"JavaGenericParser", polyJava},
	"apache/rocketmq":              {"JavaGenericParser", polyJava},
	"trinodb/trino":                {"JavaGenericParser", polyJava},
	"mrdoob/three.js":              {"JavascriptGenericParser", polyMochaOrTAP},
	"sveltejs/svelte":              {"JavascriptGenericParser", polyMochaOrTAP},
	"prettier/prettier":            {"JavascriptJestPR", polyJest(jestFullName)},
	"serverless/serverless":        {"JavascriptMocha", polyMocha},
	"microsoft/vscode":             {"TypescriptMocha", polyMocha},
	"angular/angular":              {"TypescriptBazelAngular", polyBazel},
	"mui/material-ui":              {"TypescriptMochaFileName", polyMochaFiles},
	"tailwindlabs/tailwindcss":     {"TypescriptJestTW", polyJest(jestTitle)},
	"coder/code-server":            {"TypescriptJest", polyJest(jestFullName)},
	"significant-gravitas/autogpt": {"PythonPyUnit", polyPython},
	"huggingface/transformers":     {"PythonPyUnit", polyPython},
	"langchain-ai/langchain":       {"PythonPyUnit", polyPython},
	"yt-dlp/yt-dlp":                {"PythonPyUnit", polyPython},
	"tensorflow/models":            {"PythonPyUnit", polyPython},
	"keras-team/keras":             {"PythonPyUnit", polyPython},
}

// polyLists collects passed and failed tests.
type polyLists struct{ statuses logparse.Statuses }

func newPolyLists() polyLists { return polyLists{logparse.Statuses{}} }

func (p polyLists) passed(test string) { p.add(test, logparse.Passed) }
func (p polyLists) failed(test string) { p.add(test, logparse.Failed) }

func (p polyLists) add(test, status string) {
	if have, ok := p.statuses[test]; ok && have != status {
		status = passedAndFailed
	}
	p.statuses[test] = status
}

var (
	readTrace   = lazy.Regexp(`\+ read -r file\s*`)
	buildFailed = lazy.Regexp(`(?i)build failure|compilation error`)
	testsFailed = lazy.Regexp(`(?i)there are test failures`)
	testSuite   = lazy.Regexp(`(?s)<testsuite[^>]*>.*?</testsuite>`)
)

// polyJava reads the reports of Surefire, which the test command prints.
func polyJava(log string) logparse.Statuses {
	log = readTrace().ReplaceAllString(log, "")
	p := newPolyLists()
	if buildFailed().MatchString(log) && !testsFailed().MatchString(log) {
		return p.statuses
	}
	for _, report := range testSuite().FindAllString(log, -1) {
		var suite element
		if xml.Unmarshal([]byte(report), &suite) == nil {
			suite.cases(p)
		}
	}
	return p.statuses
}

// element is any element of a report.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []element  `xml:",any"`
}

func (e element) attr(name string) (string, bool) {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value, true
		}
	}
	return "", false
}

func (e element) has(names ...string) bool {
	for _, c := range e.Children {
		for _, name := range names {
			if c.XMLName.Local == name {
				return true
			}
		}
	}
	return false
}

func (e element) cases(p polyLists) {
	for _, c := range e.Children {
		c.cases(p)
		if c.XMLName.Local != "testcase" {
			continue
		}
		name, _ := c.attr("name")
		if class, ok := c.attr("classname"); ok {
			name = class + "." + name
		}
		switch {
		case c.has("failure", "error"):
			p.failed(name)
		case !c.has("skipped"):
			p.passed(name)
		}
	}
}

// reportIn decodes the first JSON object with a beginning that matches re. It reports whether there is
// one.
func reportIn(log string, re *regexp.Regexp, to any) bool {
	at := re.FindStringIndex(log)
	return at != nil && json.NewDecoder(strings.NewReader(log[at[0]:])).Decode(to) == nil
}

var mochaReport, jestReport = lazy.Regexp(`{\s*"stats"`), lazy.Regexp(`{\s*"numFailedTestSuites"`)

// polyMocha reads the output of mocha --reporter json.
func polyMocha(log string) logparse.Statuses {
	p := newPolyLists()
	type test struct{ FullTitle string }
	var report struct{ Passes, Failures []test }
	if reportIn(log, mochaReport(), &report) {
		for _, t := range report.Passes {
			p.passed(t.FullTitle)
		}
		for _, t := range report.Failures {
			p.failed(t.FullTitle)
		}
	}
	return p.statuses
}

// polyMochaFiles reads a report of mocha with a file and a status for each test.
func polyMochaFiles(log string) logparse.Statuses {
	p := newPolyLists()
	var report struct {
		Tests []struct{ File, FullTitle, Status string }
	}
	if reportIn(log, mochaReport(), &report) {
		for _, t := range report.Tests {
			p.byWord(t.File+"->"+t.FullTitle, t.Status)
		}
	}
	return p.statuses
}

func (p polyLists) byWord(test, word string) {
	switch word {
	case "passed":
		p.passed(test)
	case "failed":
		p.failed(test)
	}
}

// jestTest is an assertionResult of jest.
type jestTest struct {
	FullName *string
	Title    string
	Status   string
}

func jestTitle(t jestTest) string { return t.Title }

func jestFullName(t jestTest) string {
	if t.FullName != nil {
		return *t.FullName
	}
	return t.Title
}

// polyJest reads the output of jest --json.
func polyJest(name func(jestTest) string) func(string) logparse.Statuses {
	return func(log string) logparse.Statuses {
		p := newPolyLists()
		var report struct {
			TestResults []struct {
				Name             string
				AssertionResults []jestTest
			}
		}
		if reportIn(log, jestReport(), &report) {
			for _, file := range report.TestResults {
				for _, t := range file.AssertionResults {
					p.byWord(file.Name+"->"+name(t), t.Status)
				}
			}
		}
		return p.statuses
	}
}

var (
	mochaCommand = lazy.Regexp(`(?m)^>.*--reporter json`)
	tapVersion   = lazy.Regexp(`(?m)^TAP\sversion\s\d+`)
)

func polyMochaOrTAP(log string) logparse.Statuses {
	if strings.Contains(mochaCommand().FindString(log), "mocha") {
		return polyMocha(log)
	}
	p := newPolyLists()
	if !tapVersion().MatchString(log) {
		return p.statuses
	}
	for line := range strings.SplitSeq(log, "\n") {
		if test, ok := strings.CutPrefix(line, "ok "); ok {
			p.passed(test)
		}
		if test, ok := strings.CutPrefix(line, "not ok "); ok {
			p.failed(test)
		}
	}
	return p.statuses
}

var bazelColors = strings.NewReplacer("\x1b[0m", "", "\x1b[32m", "", "\x1b[31m", "", "\x1b[1m", "")

// polyBazel reads the summary of bazel test.
func polyBazel(log string) logparse.Statuses {
	p := newPolyLists()
	for line := range strings.SplitSeq(log, "\n") {
		clean := bazelColors.Replace(line)
		test, _, passed := strings.Cut(clean, logparse.Passed)
		if !passed {
			var failed bool
			if test, _, failed = strings.Cut(clean, logparse.Failed); !failed {
				continue
			}
		}
		if strings.HasPrefix(test, "//") {
			test = test[1:]
		}
		test = python.Strip(test)
		if strings.Contains(line, logparse.Passed) {
			p.passed(test)
		} else if strings.Contains(line, logparse.Failed) {
			p.failed(test)
		}
	}
	return p.statuses
}

// w is Python's \w, which is not limited to ASCII.
const w = `[\p{L}\p{N}_]`

var (
	pytestTestFirst = lazy.Regexp(`(` + `[\p{L}\p{N}_/]+\.py)::(?:(` + w + `+)::)?(` + w + `+(?:\[[\p{L}\p{N}_\-]+\])?)` +
		`(?:\s<-\s[\p{L}\p{N}_/]+\.py)?(?:[\s\S]*?)(PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)`)
	pytestStatusFirst = lazy.Regexp(`(PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)\s([\p{L}\p{N}_/]+\.py)::(?:(` + w + `+)::)?` +
		`(` + w + `+(?:\[[\p{L}\p{N}_\-]+\])?)(?:\s<-\s[\p{L}\p{N}_/]+\.py)?`)
	unittestResult = lazy.Regexp(`(?:(?:(` + w + `+) \(([\p{L}\p{N}_.]+)\)\n.*\n)?(` + w + `+)(?: \(([\p{L}\p{N}_.]+)\))?(?:\((.+?)\))? \.{3} ` +
		`(?:.*\n)*?(ok|FAIL|ERROR|skipped|expected failure|unexpected success)` +
		`|(FAIL|ERROR|skipped|expected failure|unexpected success): (` + w + `+)(?: \(([\p{L}\p{N}_.]+)\))?(?:\((.+?)\))?)`)
)

// polyPython reads the output of pytest or of unittest.
func polyPython(log string) logparse.Statuses {
	if strings.Contains(log, "= test session starts =") || strings.Contains(log, "= short test summary info =") {
		return polyPytest(pytestPart(log))
	}
	p := newPolyLists()
	for _, m := range unittestResult().FindAllStringSubmatch(log, -1) {
		name, class := m[3], m[4]
		if m[1] != "" && m[2] != "" {
			name, class = m[1], m[2]
		}
		test := class + ":" + name + ":" + m[5]
		switch m[6] { // the second form is in the summary, and has no status here
		case "ok":
			p.passed(test)
		case "FAIL":
			p.failed(test)
		}
	}
	return p.statuses
}

func polyPytest(part string) logparse.Statuses {
	p := newPolyLists()
	add := func(file, class, test, status string) {
		if class == "" {
			class = "None"
		}
		p.byWord(file+":"+class+":"+test, strings.ToLower(status))
	}
	found := pytestTestFirst().FindAllStringSubmatch(part, -1)
	for _, m := range found {
		add(m[1], m[2], m[3], m[4])
	}
	if found == nil {
		for _, m := range pytestStatusFirst().FindAllStringSubmatch(part, -1) {
			add(m[2], m[3], m[4], m[1])
		}
	}
	return p.statuses
}

// pytestPart returns the part of pytest's output that is read: the text before its warnings and its
// summary, or the summary if there is nothing else.
func pytestPart(log string) string {
	starts := strings.Index(log, "===== test session starts =====")
	collecting := strings.Index(log, "collecting ...")
	warnings := strings.Index(log, "===== warnings summary =====")
	summary := strings.Index(log, "===== short test summary info =====")
	if starts < 0 && collecting < 0 {
		switch {
		case summary < 0:
			return ""
		case warnings > summary:
			return log[summary:warnings]
		}
		return log[summary:]
	}
	begin := first(starts, collecting)
	end := first(warnings, summary)
	switch {
	case end < 0:
		return log[begin:]
	case end < begin:
		return ""
	}
	return log[begin:end]
}

// first returns the smaller of two indexes; -1 means none.
func first(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}
