package family

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/grade"
	"batch.example/batch/grade/evalscript"
	"batch.example/batch/grade/logparse"
)

// Multi-SWE-bench has the script in the image, and the results of the tests without and with the
// gold patch in the row. It has thousands of parsers, one for each repository, which are not in the
// row (multi-swe-bench/multi-swe-bench): the user must give a parser.
func isMultiSWE(r row) bool { return r.has("fix_patch", "f2p_tests") }

func fillMultiSWE(r row, t *Task) error {
	org, repo := r.text("org"), r.text("repo")
	if number := numberOf(r.in.Fields["number"]); r.in.ImageDerived() && number != "" {
		t.Image = "docker.io/mswebench/" + strings.ToLower(org+"_m_"+repo+":pr-"+number)
	}
	t.Workdir = "/home/" + repo
	t.Setup = multiSWESetup
	t.TestFiles = evalscript.Paths(r.in.TestPatch)
	t.Script = multiSWEScript(t.Workdir)
	recorded, err := multiSWEResults(r)
	if err != nil {
		return err
	}
	t.Tests = recorded.tests()
	t.rule = func(s logparse.Statuses, _ grade.Tests) outcome { return recorded.judge(s) }
	if r.options.Parser == "" {
		return r.fault("the row of Multi-SWE-bench does not hold how the output of %s is read", t.Repo).
			WithHint("%s", bringYourOwn)
	}
	return nil
}

func numberOf(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return v
	}
	return ""
}

// multiSWESetup excludes files that the image has beside the repository's, such as build results,
// from the patch's changes.
const multiSWESetup = `git ls-files --others --exclude-standard | sed 's|^|/|' >> .git/info/exclude
`

// multiSWEScript passes the patch's changes to the image's script as its fix.patch: the script
// applies it together with the test patch.
func multiSWEScript(workdir string) string {
	return script([]string{
		"cd " + workdir + needed,
		"git add -A",
		"git diff --cached --binary HEAD > /home/fix.patch" + needed,
		"git reset -q --hard",
	}, []string{"bash /home/fix-run.sh"})
}

// multiSWE has the recorded results of a row: the status of each test before any change (run) and
// with only the test patch (test), and the class of each test that passes with the gold patch.
type multiSWE struct {
	run, test logparse.Statuses
	class     map[string]string // "f2p", "p2p", "s2p" or "n2p"
}

func multiSWEResults(r row) (m multiSWE, err error) {
	if m.run, err = recordedResult(r, "run_result"); err != nil {
		return m, err
	}
	if m.test, err = recordedResult(r, "test_patch_result"); err != nil {
		return m, err
	}
	m.class = map[string]string{}
	for _, class := range classes {
		for test := range r.object(class + "_tests") {
			m.class[test] = class
		}
	}
	if len(m.class) == 0 {
		return m, r.fault("columns f2p_tests, p2p_tests, s2p_tests and n2p_tests have no test")
	}
	return m, nil
}

var classes = []string{"p2p", "f2p", "s2p", "n2p"}

func recordedResult(r row, column string) (logparse.Statuses, error) {
	statuses := logparse.Statuses{}
	object := r.object(column)
	if object == nil {
		return nil, r.fault("column %s is missing", column)
	}
	for key, status := range map[string]string{"passed_tests": logparse.Passed, "failed_tests": logparse.Failed, "skipped_tests": logparse.Skipped} {
		tests, err := listOf(object[key])
		if err != nil {
			return nil, r.fault("column %s: %s: %w", column, key, err)
		}
		for _, test := range tests {
			statuses[test] = status
		}
	}
	return statuses, nil
}

// tests returns the lists for people and reports: tests that do not pass before have to pass now.
func (m multiSWE) tests() grade.Tests {
	var t grade.Tests
	for _, test := range slices.Sorted(maps.Keys(m.class)) {
		if m.class[test] == "p2p" {
			t.PassToPass = append(t.PassToPass, test)
		} else {
			t.FailToPass = append(t.FailToPass, test)
		}
	}
	return t
}

// judge requires that no test that passed with only the test patch fails, that at least one other
// test passes now, and that each recorded test passes again.
func (m multiSWE) judge(s logparse.Statuses) outcome {
	fix := logparse.Statuses{}
	for test, status := range s {
		if status = multiSWEStatus(status); status != "" {
			fix[test] = status
		}
	}
	ok := func(test string) bool { return fix[test] == logparse.Passed && m.classOf(test) == m.class[test] }
	o := all(m.tests(), ok, ok)
	if why := m.invalid(fix); why != "" {
		o.resolved, o.why = false, why
	}
	return o
}

// invalid says why the results of a run do not count at all, or returns "".
func (m multiSWE) invalid(fix logparse.Statuses) string {
	if len(fix) == 0 {
		return "no test result in the log"
	}
	fixed := false
	for _, test := range slices.Sorted(maps.Keys(fix)) {
		before, now := m.test[test], fix[test]
		switch {
		case before == logparse.Passed && now == logparse.Failed:
			return fmt.Sprintf("%s passed before the patch and fails after it", test)
		case (before == "" || before == logparse.Skipped) && now == logparse.Failed && m.run[test] == logparse.Passed:
			return fmt.Sprintf("%s passed before the test patch and fails after the patch", test)
		}
		fixed = fixed || before != logparse.Passed && now == logparse.Passed
	}
	if !fixed {
		return "no test passes that did not pass before the patch"
	}
	return ""
}

// classOf returns the class of a test that passes.
func (m multiSWE) classOf(test string) string {
	switch m.test[test] {
	case logparse.Passed:
		return "p2p"
	case logparse.Failed:
		return "f2p"
	case logparse.Skipped:
		return "s2p"
	}
	return "n2p"
}

// multiSWEStatus converts SWE-bench's statuses as the reference does.
func multiSWEStatus(status string) string {
	switch status {
	case logparse.Passed, logparse.XFail:
		return logparse.Passed
	case logparse.Failed, logparse.Error:
		return logparse.Failed
	case logparse.Skipped:
		return logparse.Skipped
	}
	return ""
}
