package evalscript_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/datasettest"
	"batch.example/batch/fault"
	"batch.example/batch/grade/evalscript"
)

const renamed = `diff --git a/old/test_a.py b/new/test_a.py
similarity index 90%
rename from old/test_a.py
rename to new/test_a.py
--- a/old/test_a.py
+++ b/new/test_a.py
@@ -1 +1 @@
-x
+y
diff --git a/data/a b/c.json b/data/a b/c.json
new file mode 100644
--- /dev/null
+++ b/data/a b/c.json
@@ -0,0 +1 @@
+{}
`

func TestFilesOfATestPatch(t *testing.T) {
	if got, want := evalscript.TestFiles(renamed), []string{"new/test_a.py", "c.json"}; !slices.Equal(got, want) {
		t.Errorf("files %q, want %q: the last b/ of a header counts", got, want)
	}
	for _, c := range []struct{ repo, path, want string }{
		{"psf/requests", "tests/test_a.py", "tests/test_a.py"},
		{"psf/requests", "tests/data.yml", ""},
		{"psf/requests", "tests/datacsv", ""},
		{"django/django", "tests/admin/tests.py", "admin.tests"},
		{"django/django", "django/tests/x.py", "django.tests.x"},
		{"django/django", "tests/a.html", "a.html"},
	} {
		got := strings.Join(evalscript.Directives(c.repo, "diff --git a/"+c.path+" b/"+c.path+"\n"), " ")
		if got != c.want {
			t.Errorf("%s: directives of %s are %q, want %q", c.repo, c.path, got, c.want)
		}
	}
}

func TestRenamedAndNewFilesAreReset(t *testing.T) {
	for _, c := range []struct{ repo, version, want string }{
		{"pallets/flask", "2.0", "git checkout abc new/test_a.py c.json\n"},
		{"redis/redis", "10068", "git checkout abc old/test_a.py && rm -f c.json\n"},
		{"markedjs/marked", "0.3", "git checkout abc new/test_a.py && rm -f c.json\n"},
	} {
		got, err := evalscript.Derive(evalscript.Row{InstanceID: "x", Repo: c.repo, Version: c.version, BaseCommit: "abc", TestPatch: renamed})
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(got, "\n"+c.want); n != 2 {
			t.Errorf("%s: %d lines %q, want one before and one after the tests:\n%s", c.repo, n, c.want, got)
		}
	}
}

func TestARowThatIsNotInTheTable(t *testing.T) {
	for _, c := range []struct {
		row        evalscript.Row
		text, hint string
	}{
		{evalscript.Row{InstanceID: "me__shop-1", Repo: "me/shop", Version: "1"}, `no test command is known for repository "me/shop"`, "needs the columns eval_script, log_parser and eval_type"},
		{evalscript.Row{InstanceID: "a", Repo: "django/djang"}, `repository "django/djang"`, "did you mean django/django?"},
		{evalscript.Row{InstanceID: "a", Repo: "django/django", Version: "9.9"}, `version "9.9" of django/django`, "eval_script"},
	} {
		_, err := evalscript.Derive(c.row)
		if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), c.row.InstanceID+": "+"no test") || !strings.Contains(err.Error(), c.text) || !strings.Contains(fault.HintOf(err), c.hint) {
			t.Errorf("error %v, hint %q; want %q, hint %q", err, fault.HintOf(err), c.text, c.hint)
		}
	}
}

// FuzzDerive checks that any test patch gives a script that ends as it should.
func FuzzDerive(f *testing.F) {
	f.Add(renamed)
	f.Add("diff --git \n")
	f.Add("Binary files a and b differ\ndiff --git a/x b/x\nBinary files a/x and b/x differ\n")
	f.Fuzz(func(t *testing.T, patch string) {
		for repo, version := range map[string]string{"django/django": "3.0", "redis/redis": "10068", "diegomura/react-pdf": "2.0"} {
			got, err := evalscript.Derive(evalscript.Row{Repo: repo, Version: version, BaseCommit: "abc", TestPatch: patch})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(got, "#!/bin/bash\nset -uxo pipefail\n") || !strings.Contains(got, ": '>>>>> End Test Output'\n") {
				t.Errorf("%s: %q", repo, got)
			}
		}
	})
}

func row(in dataset.Instance) evalscript.Row {
	return evalscript.Row{InstanceID: in.ID, Repo: in.Repo, Version: in.Version, BaseCommit: in.BaseCommit, TestPatch: in.TestPatch}
}

func TestDerivedScriptsEqualThePublishedOnes(t *testing.T) {
	for file, byHand := range map[string][]string{
		"Verified-test":     {"astropy__astropy-8707", "astropy__astropy-8872"},
		"Lite-test":         nil,
		"Lite-dev":          nil,
		"Multilingual-test": {"apache__lucene-13170", "fastlane__fastlane-21857"},
		"Multimodal-dev":    nil,
	} {
		t.Run(file, func(t *testing.T) {
			differ := map[string]string{}
			for _, in := range datasettest.Rows(t, file) {
				got, err := evalscript.Derive(row(in))
				if err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(strings.TrimSpace(in.EvalScript), strings.TrimSpace(got)); diff != "" {
					differ[in.ID] = diff
				}
			}
			if got := slices.Sorted(maps.Keys(differ)); !slices.Equal(got, slices.Sorted(slices.Values(byHand))) {
				t.Errorf("scripts of %v differ from the published ones, want only %v", got, byHand)
				for _, id := range got {
					if !slices.Contains(byHand, id) {
						t.Logf("%s: -published +derived\n%.3000s", id, differ[id])
					}
				}
			}
		})
	}
}
