package evaluate

import (
	"strings"
	"testing"
)

// The scripts that the test command runs are read before the patch could change them. A command in
// them counts like the test command's own.
func TestWhatAScriptOfTheImageRunsDecides(t *testing.T) {
	dir := repo(t, map[string]string{
		"run_tests.sh": "set -e\nci/inner \"$@\"\n", "ci/inner": "#!/bin/sh\npython ci/check.py --fast\n", "ci/check.py": "x\n",
		"tool": "#!/usr/bin/env python3\nopen('ci/other.py')\n", "ci/other.py": "x\n", "src/a.py": "x\n",
	})
	patch := edit("ci/check.py") + edit("ci/other.py") + edit("src/a.py") +
		"diff --git a/ci/inner b/ci/inner\n--- a/ci/inner\n+++ b/ci/inner\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-python ci/check.py --fast\n+true src/a.py\n"
	job := Job{Patch: []byte(patch), Script: "bash ./run_tests.sh tests/test_a.py && ./tool", TestFiles: []string{"tests/test_a.py"}}
	e := evaluateLocally(t, dir, job)
	job.Workdir, job.Scripts = dir, e.Scripts
	var got []string
	for _, d := range Deciders(job, nil, e.Changes) {
		got = append(got, d.Path)
	}
	if want := "ci/check.py ci/inner"; strings.Join(got, " ") != want {
		t.Errorf("deciders %q, want %q; scripts:\n%s", got, want, e.Scripts)
	}
}
