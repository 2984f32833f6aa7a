package family

import "testing"

// The hunk does not end at the end of the file, and the file of the diff has nothing after it.
func TestATestPatchIsAppliedAsItIs(t *testing.T) {
	dir := repository(t, map[string]string{"test_a.py": "1\n2\n3\n4\n5\n6\n7\n8\n"})
	const diff = "diff --git a/test_a.py b/test_a.py\n--- a/test_a.py\n+++ b/test_a.py\n@@ -1,5 +1,5 @@\n 1\n-2\n+$two '\n 3\n 4\n 5\n"
	run(t, dir, applyCommand("--3way --recount", diff)+needed+"\n[ \"$(sed -n 2p test_a.py)\" = \"\\$two '\" ]")
}
