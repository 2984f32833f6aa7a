package tier

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestAPathWakesWhatIsAtOrBelowIt(t *testing.T) {
	for _, tt := range []struct {
		changed, paths string
		want           bool
	}{
		{"run/merging/merge.go", "run/merging", true},
		{"run/merging/testdata/a.json", "docs run", true},
		{"run/merging/merge.go", "run/*.go", false},
		{"run/run.go", "run/*.go", true},
		{"running/run.go", "run", false},
		{"README.md docs/x.md", "README.md", true},
		{"go.sum", "kube", true},
		{"internal/kubetest/up.go", "kube", false},
		{"", "kube", false},
		{"kube/pods.go", "", false},
	} {
		if got := Woken(strings.Fields(tt.changed), strings.Fields(tt.paths)); got != tt.want {
			t.Errorf("a change of %q wakes %q: %v, want %v", tt.changed, tt.paths, got, tt.want)
		}
	}
}

func TestAChangeOfThePackageWakesIt(t *testing.T) {
	if !testing.Short() {
		t.Skip("without -short everything runs")
	}
	for _, tt := range []struct {
		woken, changed string
		left           bool
	}{{"", "", true}, {"journal", "journal/journal.go", true}, {"journal internal/tier", "", false}, {"all", "", false}, {"", "docs/x.md", false}} {
		t.Setenv("BATCH_WOKEN", tt.woken)
		t.Setenv("BATCH_CHANGED", tt.changed)
		if Left("docs") != tt.left {
			t.Errorf("with the packages %q and the files %q: left %v, want %v", tt.woken, tt.changed, !tt.left, tt.left)
		}
	}
}

// calls finds each place that leaves a test to `make test-all`, and its paths. A call in another form
// is found too, with no paths that exist.
var calls = regexp.MustCompile(`tier\.(?:Rest|Left)\((?:t(?:, )?)?([^)]*)\)|^\[left:([^]]*)\]`)

// What is left to `make test-all` must wake: by its package and its imports, or below e2e, where these
// say nothing, by a path. A path without a file would wake nothing.
func TestEachTestThatIsLeftHasAPathThatWakesIt(t *testing.T) {
	t.Chdir("../..")
	files := sources(t)
	places := 0
	for _, name := range files {
		if ext := filepath.Ext(name); ext != ".go" && ext != ".txtar" || strings.HasPrefix(name, "internal/tier/") || name == "e2e/scripttest/scripttest.go" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			for _, m := range calls.FindAllStringSubmatch(line, -1) {
				places++
				paths := strings.FieldsFunc(m[1]+m[2], func(r rune) bool { return strings.ContainsRune(`", `, r) })
				if len(paths) == 0 && (strings.HasPrefix(name, "e2e/") || strings.HasPrefix(name, "internal/readme/")) {
					t.Errorf("%s: %s names no path: an import does not say what a test of the program is about", name, m[0])
				}
				for _, path := range paths {
					if !slices.ContainsFunc(files, func(file string) bool { return covers(path, file) }) {
						t.Errorf("%s: no file is at or below %q, so that it wakes nothing", name, path)
					}
				}
			}
		}
	}
	if places < 50 {
		t.Errorf("found only %d places: is the expression right?", places)
	}
}

// first has the tests that never leave `make test`, by what they promise.
var first = map[string]string{
	"a kill at any point and a resume": `e2e/faults.TestARunKilledAtSomePointsLosesNothing e2e/faults.TestARunKilledAtAnyPointLosesNothing
		e2e/faults.TestARunKilledAtRandomInstantsLosesNothing e2e/runs.TestScripts/resume results.TestKilledAtEveryPoint`,
	"two processes on one directory": `results.TestTwoRunsInOneDirectory e2e/runs.TestScripts/control e2e/runs.TestTheNextRunRepairsWhatAKilledRunLeft`,
	"the total budget with calls under way": `e2e/runs.TestCallsUnderWayAtACrashAreInEveryBill e2e/runs.TestTriesOfACallDoNotPassTheLimit
		e2e/runs.TestTwoKillsWithCallsUnderWayDoNotPassTheLimit e2e/runs.TestCellsResumedSideBySideShareTheLimit e2e/runs.TestTheTotalCostLimitHoldsOverInterrupts`,
	"torn writes and full disks": `results.TestATornTailIsCutAtEveryLength results.TestAFailureAtEveryPointIsTheHostsFaultAndLosesNothing e2e/faults.TestAFullDiskStopsTheRunAndNothingIsLost`,
	"the bytes of a patch": `e2e/runs.TestTheOraclePredictsTheGoldPatches attempt.TestTheOracleSubmitsTheExactGoldPatch
		e2e/runs.TestMaskedTextIsExecutedSentAndSubmittedExactly results.TestPredictionsHaveTheFormOfPythonsJSON`,
	"secrets in no file and on no page": `e2e/runs.TestARunWritesNoPlantedSecret e2e/runs.TestScripts/secrets view.TestSecretsAreHidden`,
	"the hostile container":             `docker.TestConformance docker.TestALargeForkBombEndsAtItsTimeLimit e2e/faults.TestAnAgentThatDamagesItsContainerGetsAResult e2e/runs.TestTheHistoryIsScrubbedInAContainer e2e/runs.TestScripts/isolation`,
	"forgeries and deciders":            `grade/evaluate.TestForgeriesInAContainerAreMarked grade/evaluate.TestWhatTestsPrintDoesNotDecide grade/evaluate.TestFilesBesideTheTestsDoNotDecide grade/evaluate.TestFilesThatDecide`,
	"report.json on recorded logs":      `grade.TestRealLogs grade/regrade.TestRealLogsGiveTheOfficialReports`,
	"goldens of a run directory":        `results.TestARunDirectory`,
	"a directory of the commit before":  `e2e/runs.TestScripts/before`,
	"statistics":                        `report/stats.TestRateDifferenceSimulated report/stats.TestRateSimulated`,
	"imports":                           `internal/archtest.TestEveryPackageImportsOnlyWhatItMay`,
	"the README's commands":             `internal/readme.TestTheTranscriptsAreTrue`,
}

// leavesWhole finds a call that leaves the whole of a test, and not one of its parts.
var leavesWhole = regexp.MustCompile(`(?m)^\ttier\.`)

func TestWhatNeverLeavesMakeTestIsThere(t *testing.T) {
	t.Chdir("../..")
	for promise, tests := range first {
		for _, name := range strings.Fields(tests) {
			pkg, test, _ := strings.Cut(name, ".")
			if script, ok := strings.CutPrefix(test, "TestScripts/"); ok {
				text, err := os.ReadFile(filepath.Join(pkg, "testdata", "script", script+".txtar"))
				if err != nil || strings.HasPrefix(string(text), "[left:") {
					t.Errorf("%s: %s is missing, or left to make test-all: %v", promise, name, err)
				}
				continue
			}
			if body := bodyOf(t, pkg, test); body == "" || leavesWhole.MatchString(body) {
				t.Errorf("%s: %s is missing, or left to make test-all", promise, name)
			}
		}
	}
}

// bodyOf returns the text of a test function, and "" if the package does not have it.
func bodyOf(t *testing.T, pkg, test string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, after, found := strings.Cut(string(text), "\nfunc "+test+"(t *testing.T) {\n"); found {
			body, _, _ := strings.Cut(after, "\n}\n")
			return body
		}
	}
	return ""
}

// sources lists the files of the module, relative to its root.
func sources(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() && (name == ".git" || name == "bin" || strings.HasPrefix(name, "demo-run")) {
			return filepath.SkipDir
		}
		files = append(files, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
