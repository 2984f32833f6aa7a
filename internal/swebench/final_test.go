package swebench_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/swebench"
)

// The harness wrote the files in testdata for the same predictions.
func TestTheFinalReportIsThatOfTheHarness(t *testing.T) {
	f := swebench.Final{
		Model: "org/m", RunID: "r1",
		Instances: []string{"é__b-2", "a__a-1", "c__c-1", "d__d-1", "e__e-1", "f__f-1", "g__g-1", "h__h-1"},
		Predictions: []swebench.Entry{
			{InstanceID: "é__b-2", Reported: true, Resolved: true},
			{InstanceID: "a__a-1", Reported: true, Failure: grade.Classify("ModuleNotFoundError: x\n\nCould not resolve host: y")},
			{InstanceID: "c__c-1", Reported: true, Failure: grade.Classify("collected 0 items")},
			{InstanceID: "d__d-1", Failure: grade.Classify("Cannot connect to the Docker daemon")},
			{InstanceID: "e__e-1", Failure: grade.Classify(">>>>> Patch Apply Failed")},
			{InstanceID: "f__f-1", Empty: true},
			{InstanceID: "g__g-1", Empty: true},
		},
	}
	dir := t.TempDir()
	for _, rules := range []logparse.Rules{logparse.V5, logparse.V4} {
		want, err := os.ReadFile("testdata/final." + rules.String() + ".json")
		if err != nil {
			t.Fatal(err)
		}
		f.V4 = rules == logparse.V4
		if rules == logparse.V4 { // without an engine, it writes these members
			f.Engine = true
		}
		path, err := swebench.WriteFinal(dir, f)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(path) != "org__m.r1.json" {
			t.Error(path)
		}
		if got, _ := os.ReadFile(path); string(got) != string(want) {
			t.Errorf("rules %s:\n%s\nwant\n%s", rules, got, want)
		}
	}
}

func TestAReportHasTheMembersOfItsRules(t *testing.T) {
	tests := swebench.TestsStatus{FailToPass: swebench.Split{Success: []string{"a <é>\x7f"}}}
	for _, c := range []struct {
		report swebench.Report
		want   string
	}{
		{swebench.Report{InstanceID: "i", NoPatch: true}, `{
    "i": {
        "patch_is_None": true,
        "patch_exists": false,
        "patch_successfully_applied": false,
        "resolved": false,
        "infra_failure": false
    }
}`},
		{grade.Judgement{Failure: swebench.Failure{Tier: swebench.Environment, Reason: "out_of_memory"}}.Report("i", logparse.V5), `{
    "i": {
        "patch_is_None": false,
        "patch_exists": true,
        "patch_successfully_applied": false,
        "resolved": false,
        "infra_failure": true,
        "infra_failure_reason": "out_of_memory"
    }
}`},
		{grade.Judgement{Found: true, Resolved: true, Tests: tests}.Report("i", logparse.V4), `{
    "i": {
        "patch_is_None": false,
        "patch_exists": true,
        "patch_successfully_applied": true,
        "resolved": true,
        "tests_status": {
            "FAIL_TO_PASS": {
                "success": [
                    "a <\u00e9>\u007f"
                ],
                "failure": []
            },
            "PASS_TO_PASS": {
                "success": [],
                "failure": []
            },
            "FAIL_TO_FAIL": {
                "success": [],
                "failure": []
            },
            "PASS_TO_FAIL": {
                "success": [],
                "failure": []
            }
        }
    }
}`},
	} {
		got, err := c.report.JSON()
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %v; want %s", got, err, c.want)
		}
	}
}

func TestNamesThatAreNoFolderAreRefused(t *testing.T) {
	for _, name := range []string{"..", ".", "a\x00", strings.Repeat("m", 300)} {
		if dir, err := swebench.LogDir("/out", "run", name, "id"); err == nil {
			t.Errorf("model %q: %s", name, dir)
		}
		if dir, err := swebench.LogDir("/out", name, "model", "id"); err == nil {
			t.Errorf("run %q: %s", name, dir)
		}
	}
	if dir, err := swebench.LogDir("/out", "run", "a/../b", "id"); err != nil || dir != "/out/logs/run_evaluation/run/a__..__b/id" {
		t.Error(dir, err)
	}
	if dir, err := swebench.LogDir("/out", "run", `a\b`, "id"); err != nil || dir != `/out/logs/run_evaluation/run/a\b/id` {
		t.Error(dir, err) // as the harness has it
	}
	if dir, err := swebench.LogDir("/out", "run", "", "id"); err != nil || dir != "/out/logs/run_evaluation/run/None/id" {
		t.Error(dir, err)
	}
}

func TestTreesOfLogs(t *testing.T) {
	for _, c := range []struct{ tree, path, want string }{
		{"", "logs/run_evaluation/r1/m/id", "r1/m"},
		{"logs/run_evaluation", "logs/run_evaluation/r1/m/id", "r1/m"},
		{"logs/run_evaluation/r1", "logs/run_evaluation/r1/m/id", "r1/m"},
		{"x", "x/r1/m/id", "r1/m"},
		{"x", "x/m/id", "/m"},
		{"x", "x/id", "/x"},
		{"x", "x/m/logs/id", "/m"},
		{"x/id", "x/id", "/None"},
	} {
		root := t.TempDir()
		if err := (swebench.Files{Output: []byte{}}).Write(filepath.Join(root, c.path)); err != nil {
			t.Fatal(err)
		}
		if err := (swebench.Files{Output: []byte{}}).Write(filepath.Join(root, c.path, "..", "other")); err != nil {
			t.Fatal(err)
		}
		tree := filepath.Join(root, "link")
		if err := os.Symlink(filepath.Join(root, c.tree), tree); err != nil {
			t.Fatal(err)
		}
		if c.tree == "" {
			tree = root
		}
		found, err := swebench.Find(tree, func(id string) bool { return id == "id" })
		if err != nil || len(found.Folders) != 1 {
			t.Errorf("%s: %+v, %v", c.path, found, err)
			continue
		}
		if f := found.Folders[0]; f.Run+"/"+f.Model != c.want {
			t.Errorf("%s in %s: run %q, model %q", c.path, c.tree, f.Run, f.Model)
		}
		if c.tree != "x/id" && strings.Join(found.Unknown, " ") != "other" {
			t.Errorf("%s: unknown %q", c.path, found.Unknown)
		}
	}
	if _, err := swebench.Find(filepath.Join(t.TempDir(), "absent"), func(string) bool { return false }); err == nil {
		t.Error("a tree that does not exist is read")
	}
}

func TestLinksInATreeAreFollowedOnce(t *testing.T) {
	tree, away := t.TempDir(), t.TempDir()
	for _, dir := range []string{filepath.Join(away, "m", "id"), filepath.Join(away, "other"), filepath.Join(tree, "r1", "m1", "id")} {
		if err := (swebench.Files{Output: []byte{}}).Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"r1/m2": filepath.Join(away, "m"), "r1/m3/id": filepath.Join(away, "other"), // a model's folder, an instance's
		"r1/loop": "..", "r1/root": "/", "r1/gone": "nowhere", "latest": "r1",
	} {
		link = filepath.Join(tree, link)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	found, err := swebench.Find(tree, func(id string) bool { return id == "id" })
	var got []string
	for _, f := range found.Folders {
		got = append(got, f.Run+"/"+f.Model)
	}
	if err != nil || strings.Join(got, " ") != "r1/m1 r1/m2 r1/m3" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	want := swebench.Files{RunLog: []byte("l"), Patch: []byte{}, Script: []byte("s"), Output: []byte("\xff\r\n"), Report: []byte("{}")}
	if err := want.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := swebench.ReadFiles(dir)
	if err != nil || string(got.Output) != "\xff\r\n" || got.Patch == nil || string(got.Report) != "{}" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := swebench.ReadFiles(filepath.Join(dir, "c")); err != nil || got.Output != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
