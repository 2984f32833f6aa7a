package fill

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/grade/family"
	"batch.example/batch/grade/logparse"
)

func taskOf(t *testing.T, evalType string) (dataset.Instance, *family.Task) {
	t.Helper()
	in := dataset.Instance{
		ID: "shop-1", Repo: "my/shop", BaseCommit: "c0ffee", Patch: "gold", EvalScript: "true", LogParser: "parse_log_pytest", EvalType: evalType,
		FailToPass: []string{"what a row says already has no part"}, Fields: map[string]any{},
	}
	task, err := family.Unlisted(in, family.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return in, task
}

// log is a log of batch's own, of lines "PASSED a".
func log(exitCode string, lines ...string) grade.Log {
	const nonce = "ABC"
	text := grade.StartMarker(nonce) + "\n" + strings.Join(lines, "\n") + "\n" + grade.EndMarker(nonce) + "\n>>>>> Test Exit Code: " + exitCode + "\n"
	return grade.Log{Text: []byte(text), Nonce: nonce}
}

func TestTheListsAreWhatDiffersEachTime(t *testing.T) {
	in, task := taskOf(t, "pass_and_fail")
	before := []grade.Log{
		log("1", "PASSED t::kept", "FAILED t::fixed", "PASSED t::flaky", "FAILED t::flakyAfter", "PASSED t::broken", "FAILED t::never", "SKIPPED t::skipped", "PASSED t::id1", "PASSED t::sometimesSkipped"),
		log("1", "PASSED t::kept", "ERROR t::fixed", "FAILED t::flaky", "FAILED t::flakyAfter", "PASSED t::broken", "FAILED t::never", "SKIPPED t::skipped", "PASSED t::id2", "SKIPPED t::sometimesSkipped"),
	}
	after := []grade.Log{
		log("1", "PASSED t::kept", "PASSED t::fixed", "PASSED t::flaky", "PASSED t::flakyAfter", "FAILED t::broken", "FAILED t::never", "PASSED t::new", "SKIPPED t::skipped", "PASSED t::sometimesSkipped"),
		log("1", "PASSED t::kept", "XFAIL t::fixed", "PASSED t::flaky", "FAILED t::flakyAfter", "FAILED t::broken", "FAILED t::never", "PASSED t::new", "SKIPPED t::skipped", "PASSED t::sometimesSkipped"),
	}
	got, err := Find(t.Context(), task, logparse.V5, before, after)
	if err != nil {
		t.Fatal(err)
	}
	want := Lists{
		FailToPass: []string{"t::fixed", "t::new"},
		PassToPass: []string{"t::kept"},
		Flaky:      []Flaky{{"t::flaky", 1, 2}, {"t::flakyAfter", 0, 1}, {"t::id1", 1, 0}, {"t::id2", 1, 0}, {"t::sometimesSkipped", 1, 2}},
		Broken:     []string{"t::broken"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	graded, err := family.Find(in.WithTests(got.FailToPass, got.PassToPass), family.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, logs := range [][]grade.Log{before, after} {
		for _, l := range logs {
			if j, err := graded.Judge(t.Context(), l, logparse.V5); err != nil || j.Resolved != (i == 1) {
				t.Errorf("%q: resolved %t, %v", l.Text, j.Resolved, err)
			}
		}
	}
}

// For example, tests that do not compile without the solution.
func TestWithoutAResultBeforeAllTestsFailBefore(t *testing.T) {
	_, task := taskOf(t, "pass_and_fail")
	got, err := Find(t.Context(), task, logparse.V5, []grade.Log{log("2", "cannot import shop.tax")}, []grade.Log{log("0", "PASSED t::b", "PASSED t::a")})
	if want := (Lists{FailToPass: []string{"t::a", "t::b"}}); err != nil || !cmp.Equal(want, got) {
		t.Error(err, cmp.Diff(want, got))
	}
}

// In some families, only results between the markers count.
func TestATestThatPassedBesideTheMarkersWasNotFixed(t *testing.T) {
	task, err := family.Unlisted(dataset.Instance{
		ID: "me__shop-1", Repo: "me/shop", Patch: "gold", TestPatch: "tests",
		Fields: map[string]any{"test_cmds": []any{"pytest -rA"}, "log_parser": "pytest"}, LogParser: "pytest",
	}, family.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := log("1")
	before.Text = append([]byte("PASSED t::a\nFAILED t::b\n"), before.Text...)
	got, err := Find(t.Context(), task, logparse.V5, []grade.Log{before}, []grade.Log{log("0", "PASSED t::a", "PASSED t::b")})
	if want := (Lists{FailToPass: []string{"t::b"}, PassToPass: []string{"t::a"}}); err != nil || !cmp.Equal(want, got) {
		t.Error(err, cmp.Diff(want, got))
	}
}

// Node prints tests of two files with the same name like this. The last line about a name counts,
// so that the log has no failed test although the command failed.
func TestANameOfSeveralTestsIsInNeitherList(t *testing.T) {
	in, _ := taskOf(t, "pass_and_fail")
	in.LogParser = "parse_log_tap"
	task, err := family.Unlisted(in, family.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := []grade.Log{log("1", "ok 1 - works", "not ok 2 - handles null", "ok 3 - handles null", "not ok 4 - new")}
	after := []grade.Log{log("0", "ok 1 - works", "ok 2 - handles null", "ok 3 - handles null", "ok 4 - new")}
	got, err := Find(t.Context(), task, logparse.V5, before, after)
	want := Lists{FailToPass: []string{"- new"}, PassToPass: []string{"- works"}, Ambiguous: []string{"- handles null"}}
	if err != nil || !cmp.Equal(want, got) {
		t.Error(err, cmp.Diff(want, got))
	}
	before[0] = log("1", "ok 1 - works", "not ok 2 - handles null", "ok 3 - handles null", "ok 4 - new")
	got, err = Find(t.Context(), task, logparse.V5, before, after)
	if err == nil || !strings.Contains(fault.HintOf(err), "1 name is of several tests: - handles null") || !slices.Equal(got.PassToPass, []string{"- new", "- works"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Pytest prints both for one test that passes but fails during its clean-up.
func TestAnErrorBesideAPassIsOneTest(t *testing.T) {
	_, task := taskOf(t, "pass_and_fail")
	got, err := Find(t.Context(), task, logparse.V5, []grade.Log{log("1", "PASSED t::a", "ERROR t::a - teardown")}, []grade.Log{log("0", "PASSED t::a")})
	if want := (Lists{FailToPass: []string{"t::a"}}); err != nil || !cmp.Equal(want, got) {
		t.Error(err, cmp.Diff(want, got))
	}
}

// These logs have only failed tests.
func TestALogOfFailuresOnlyHasNoTestsToKeep(t *testing.T) {
	_, task := taskOf(t, "fail_only")
	got, err := Find(t.Context(), task, logparse.V5, []grade.Log{log("1", "FAILED t::a", "FAILED t::b")}, []grade.Log{log("1", "FAILED t::b")})
	if want := (Lists{FailToPass: []string{"t::a"}}); err != nil || !cmp.Equal(want, got) {
		t.Error(err, cmp.Diff(want, got))
	}
}

func TestLogsThatDoNotSayWhichTestsDecide(t *testing.T) {
	_, task := taskOf(t, "pass_and_fail")
	good := log("1", "FAILED t::a", "PASSED t::b")
	for name, c := range map[string]struct {
		before, after grade.Log
		want          string
	}{
		"nothing is fixed": {good, good, "no test fails before its gold patch and passes after it"},
		"no result after":  {good, log("2", "crash"), "after its gold patch, the log has no test result"},
		"no result":        {log("1", "crash"), log("1", "crash"), "parse_log_pytest found no test in what the test command printed"},
		"another parser":   {log("1", "ok 1 - a"), log("0", "ok 1 - a"), "parse_log_pytest found no test in what the test command printed"},
		"cut before":       {grade.Log{Text: []byte("nothing"), Nonce: "ABC"}, good, "before its gold patch, "},
		"cut after":        {good, grade.Log{Text: []byte(grade.StartMarker("ABC") + "\nPASSED t::a\n"), Nonce: "ABC"}, "after its gold patch, "},
	} {
		_, err := Find(t.Context(), task, logparse.V5, []grade.Log{c.before}, []grade.Log{c.after})
		if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "shop-1: "+c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// If something killed the tests, missing tests would look like fixed ones.
func TestALogThatMayHaveBeenCutIsDoubtful(t *testing.T) {
	_, task := taskOf(t, "pass_and_fail")
	got, err := Find(t.Context(), task, logparse.V5, []grade.Log{log("137", "PASSED t::a", "FAILED t::b", "Killed")}, []grade.Log{log("0", "PASSED t::a", "PASSED t::b", "PASSED t::c")})
	if err != nil || !strings.Contains(got.Doubt, `"Killed"`) {
		t.Errorf("got %q, %v", got.Doubt, err)
	}
}

func TestRowsThatCannotBeFilled(t *testing.T) {
	row := dataset.Instance{ID: "shop-1", Repo: "my/shop", Patch: "gold", EvalScript: "true", LogParser: "parse_log_pytest", Fields: map[string]any{}}
	for name, c := range map[string]struct {
		change func(*dataset.Instance)
		want   string
	}{
		"no patch":  {func(in *dataset.Instance) { in.Patch = "" }, "no gold patch"},
		"no script": {func(in *dataset.Instance) { in.EvalScript = "" }, "no dataset family"},
		"lists elsewhere": {func(in *dataset.Instance) {
			in.EvalScript, in.Repo = "", "mui/material-ui"
			in.Fields = map[string]any{"F2P": []any{"a"}, "P2P": []any{}, "test_command": "yarn test"}
		}, "PASS_TO_PASS alone for rows of SWE-PolyBench"},
	} {
		in := row
		c.change(&in)
		if _, err := family.Unlisted(in, family.Options{}); fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
