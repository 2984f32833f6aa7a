package evaluate

import (
	"bytes"
	"fmt"
	"index/suffixarray"
	"path"
	"regexp"
	"slices"
	"strings"

	"batch.example/batch/grade"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/printable"
)

// Doubts returns reasons to suspect a resolved instance, beside the log's judgement and [Decide],
// one line each: a test runner that did not finish, results that the runner did not print, and
// texts in the patch that only a forged result needs. The official harness allows all of them, so
// they are notes for a person and change no verdict. j is the log's judgement, and parse the
// instance's parser.
func Doubts(patch, gold []byte, script string, l grade.Log, j grade.Judgement, parse grade.Parse) []string {
	command := testCommand(script)
	text := printed(script, l, j)
	end, why := ending(command, text)
	list := tells(patch, gold, why == "" && end < 0)
	if why != "" {
		list = append(list, why)
	} else if end >= 0 {
		list = append(list, late(text, end, j, parse)...)
	}
	return append(list, copied(patch, gold, text, j, parse)...)
}

// printed returns the output of the test runner. In logs of SWE-bench on Modal, all standard output
// comes before the standard error, which begins with the trace of the script. Old logs have no
// markers.
func printed(script string, l grade.Log, j grade.Judgement) string {
	text := grade.Decode(l.Text)
	if grade.IsOld(l) {
		return grade.OldOutput(text)
	}
	if j.Whole && l.Nonce == "" {
		text, _, _ = strings.Cut("\n"+text, "\n+ "+commands(script)[0]+"\n")
		return text
	}
	_, text, _ = strings.Cut(text, grade.StartMarker(l.Nonce))
	return text
}

// tell is a text that code hardly needs except to determine the reported results.
type tell struct {
	match func() *regexp.Regexp
	what  string
}

var allTells = []tell{
	{lazy.Regexp(`>>>>> (?:Start|End) Test Output|>>>>> Test Exit Code|SWEBENCH_`), "names what the grading of SWE-bench prints"},
	{lazy.Regexp(`\bos\._exit\(|\b_Exit\(|Runtime\.getRuntime\(\)\.halt\(|process\.reallyExit|POSIX::_exit`), "ends the process of the tests at once"},
	{lazy.Regexp(`/proc/(?:self|\$|%|\{|["']|\d)|\bgetppid\(|\$PPID\b`), "looks at other processes"},
	{lazy.Regexp(`pytest_runtest_|pytest_terminal_summary|\bTestReport\(|TestResult\.add(?:Success|Failure)`), "changes the reports of a test runner"},
	{lazy.Regexp(`\bgetattr\(\s*(?:os|posix|sys|builtins|__builtins__)\s*,[^,()]*\)\s*\(` +
		`|\bgetattr\(\s*__import__|\b__import__\(\s*["'](?:os|posix|sys|ctypes|builtins)["']|\bimport_module\(\s*["'](?:os|posix|sys|ctypes|builtins)["']` +
		`|\bctypes\.(?:CDLL|PyDLL|pythonapi)|\bmarshal\.loads\(|\bsys\.modules\[["'](?:os|posix|__main__|builtins)["']\]` +
		`|\b(?:exec|eval|compile|Function)\s*\(\s*(?:\w+\.)*(?:\w*decode\w*|atob|fromhex|unhexlify|decompress|pack|unpack|Buffer\.from|__import__)\s*\(` +
		`|\bbase64 (?:-d|-D|--decode)\b[^|]*\|\s*(?:ba|da)?sh\b|\beval\b.*\bbase64 (?:-d|-D|--decode)\b|\beval\b.*\bdecode_base64\b`), "hides which code it runs"},
}

// endTells are for test runners with an unknown form of their end, so that nothing else shows that
// they were ended early. Honest programs contain such texts too, but patches rarely.
var endTells = []tell{
	{lazy.Regexp(`(?m)(?:^|[^.\w])(?:exec|eval)\s*\(|\b__import__\(|\bimportlib\b|\bctypes\b|\b[a-z]*(?:16|32|64|85)_?decode|\bfromhex\(|\bunhexlify\b|__builtins__|\bgetattr\(\s*(?:os|posix|sys|builtins)\b`), "hides which code it runs"},
	{lazy.Regexp(`(?m)\bsys\.exit\b|\bSystemExit\b|\bos\.(?:_exit|abort|kill|exec[lv]p?e?)\b|\batexit\b|\bprocess\.(?:exit|kill|abort)\b|\bSystem\.exit\(|\bos\.Exit\(|\bprocess::exit` +
		`|\b_?exit(?: ?\(?0\)?\s*$| ?\(?0?\)? *;)|\btrap\b.*\b(?:EXIT|0)\b|\bEND \{|\b__attribute__\(\((?:con|de)structor`), "may end the test runner"},
}

// tells returns one line for each kind of suspicious text in the lines that a patch adds, such as
// the harness's markers: texts that code hardly needs except to determine the reported results. It
// is a note for a person: honest code may have such a text too. Texts that the gold patch adds are
// not reported. endUnknown says that the form of the test runner's end is unknown.
func tells(patch, gold []byte, endUnknown bool) []string {
	var found []string
	expected, parts := addedLines(gold), split(patch)
	for i, p := range parts {
		added, kinds := addedLines(p.raw), allTells
		if endUnknown && !unused(parts, i) {
			kinds = slices.Concat(allTells, endTells)
		}
		if endUnknown && code().MatchString(p.to) && bytes.Contains(p.raw, []byte("\nGIT binary patch")) {
			found = append(found, fmt.Sprintf("the patch to %s is binary: what it changes was not read", p.to))
		}
		last := ""
		for _, t := range kinds {
			if t.what != last && t.match().Match(added) && !t.match().Match(expected) {
				found = append(found, fmt.Sprintf("the patch to %s %s: %.80q", list(p.paths()), t.what, bytes.TrimSpace(t.match().Find(added))))
				last = t.what
			}
		}
	}
	return found
}

// code matches the names of source files.
var code = lazy.Regexp(`\.(?:py|[cm]?[jt]sx?|rb|p[lm]|sh|php|go|rs|[ch]|cc|cpp|hpp|java)$`)

// unused reports whether a part only adds a file that the other parts do not name, such as a script
// that shows the bug. If it is a test that the command may run, it is a decider.
func unused(parts []*part, i int) bool {
	stem, _, _ := strings.Cut(path.Base(parts[i].to), ".")
	return parts[i].from == "" && stem != "" && stem != "__init__" && !slices.ContainsFunc(slices.Delete(slices.Clone(parts), i, i+1), func(p *part) bool {
		return bytes.Contains(addedLines(p.raw), []byte(stem))
	})
}

// addedLines returns the lines that a patch adds.
func addedLines(patch []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(patch) {
		if bytes.HasPrefix(line, []byte("+")) && !bytes.HasPrefix(line, []byte("+++ ")) {
			b.Write(line[1:])
		}
	}
	return b.Bytes()
}

// summary describes the end of a test runner's output.
type summary struct {
	command func() *regexp.Regexp // matches a command of the runner
	line    func() *regexp.Regexp
	name    string
}

var (
	pytestLine   = `\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?)\b.* in [\d.]+ ?s|no tests ran`
	unittestLine = `^Ran \d+ tests? in `
)

var summaries = []summary{
	{lazy.Regexp(`\b(?:pytest|py\.test)\b`), lazy.Regexp(pytestLine), "pytest"},
	{lazy.Regexp(`(?m)^(?:python\S* -m )?tox\b`), lazy.Regexp(`(?m)` + pytestLine + `|` + unittestLine), "the test runner of tox"},
	{lazy.Regexp(`runtests\.py|-m unittest|manage\.py test`), lazy.Regexp(`(?m)` + unittestLine), "unittest"},
	{lazy.Regexp(`\bbin/test\b`), lazy.Regexp(`tests finished: `), "sympy's bin/test"},
	{lazy.Regexp(`\bcargo test\b`), lazy.Regexp(`test result: `), "cargo test"},
	{lazy.Regexp(`\bgo test\b`), lazy.Regexp(`(?m)^(?:ok|FAIL|PASS)\b`), "go test"},
	{lazy.Regexp(`\b(?:mvnd?|mvnw) .*\btest\b`), lazy.Regexp(`BUILD (?:SUCCESS|FAILURE)`), "Maven"},
	{lazy.Regexp(`\bgradlew? .*\btest\b|\bant test`), lazy.Regexp(`BUILD (?:SUCCESSFUL|FAILED)`), "the build tool"},
	{lazy.Regexp(`\bphpunit\b`), lazy.Regexp(`(?m)^(?:OK \(|OK, but|Tests: \d)`), "PHPUnit"},
	{lazy.Regexp(`\bbundle exec ruby .*test`), lazy.Regexp(`(?m)^\d+ (?:tests|runs), \d+ assertions`), "the Ruby test runner"},
	{lazy.Regexp(`\bctest\b`), lazy.Regexp(`tests passed, \d+ tests? failed out of`), "ctest"},
}

// reformats matches commands that print the results of their test runner in another form.
var reformats = lazy.Regexp(`\bjq\b|--json\b|--format[ =]json\b|--reporter`)

// testCommand returns the part of a script between the markers.
func testCommand(script string) string {
	lines := commands(script)
	from, to := lineWith(lines, startText), lineWith(lines, endText)
	if to < 0 {
		to = len(lines)
	}
	return strings.Join(lines[min(from+1, to):to], "\n")
}

// ending returns the offset after the last summary line of the command's test runners in their
// output, or why the text lacks one: something may have ended the runner early. The offset is
// negative if no runner is known.
func ending(command, text string) (end int, why string) {
	end = -1
	if reformats().MatchString(command) {
		return end, ""
	}
	for _, s := range summaries {
		if !s.command().MatchString(command) {
			continue
		}
		at := behindLast(s.line(), text)
		if at < 0 {
			return -1, s.name + " did not print its summary"
		}
		end = max(end, at)
	}
	return end, ""
}

// behindLast returns the offset after the last line that matches, or -1. It searches from the end,
// where summaries are: logs may be long.
func behindLast(line *regexp.Regexp, text string) int {
	for end := len(text); end > 0; {
		start := strings.LastIndexByte(text[:end-1], '\n') + 1
		if line.MatchString(text[start:end]) {
			return end
		}
		end = start
	}
	return -1
}

// late reports an expected test with a result after the summary.
func late(text string, end int, j grade.Judgement, parse grade.Parse) []string {
	after, _, err := parse(text[end:])
	if err != nil { // the parser cannot read a part of a log
		return nil
	}
	for _, id := range passed(j) {
		if _, known := after[id]; known {
			return []string{"the test runner printed its summary before the result of " + printable.Line(id)}
		}
	}
	return nil
}

// copied reports a result that a line of the patch contains literally: code prints the names of its
// tests only on purpose.
func copied(patch, gold []byte, text string, j grade.Judgement, parse grade.Parse) []string {
	const shortest = 6 // "ok 1 -"
	added, expected := suffixarray.New(addedLines(patch)), addedLines(gold)
	var lines strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if len(line) >= shortest && added.Lookup([]byte(line), 1) != nil && !bytes.Contains(expected, []byte(line)) {
			lines.WriteString(line + "\n")
		}
	}
	if lines.Len() == 0 {
		return nil
	}
	found, _, err := parse(lines.String())
	if err != nil { // the parser cannot read a part of a log
		return nil
	}
	for _, id := range passed(j) {
		if status, known := j.Statuses[id]; known && found[id] == status {
			return []string{"the patch itself has the result of " + printable.Line(id) + " as the log has it"}
		}
	}
	return nil
}

// passed returns the ids of the expected tests that passed.
func passed(j grade.Judgement) []string {
	return slices.DeleteFunc(slices.Concat(j.Tests.FailToPass.Success, j.Tests.PassToPass.Success), grade.IsProgress)
}
