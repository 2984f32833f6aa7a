package grading

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/results/selections"
	"batch.example/batch/vocab"
)

// Patches for demo__rpn-9: the first resolves it and brings tests, the second swaps the
// operands only, the third changes a comment and brings a test of the bug.
var rpnPatches = []string{
	rpnCode(`-            my $left  = pop @stack;
+            die "too few values\n" if @stack < 2;
             my $right = pop @stack;
+            my $left  = pop @stack;
`, `+    die "too few values\n"  if @stack < 1;
+    die "too many values\n" if @stack > 1;
`) + rpnTest(`is(Rpn::evaluate('9 2 -'), 7, 'own subtraction');`, `is(failure('1 2'), 'too many values', 'own too many');`),
	rpnCode(`-            my $left  = pop @stack;
             my $right = pop @stack;
+            my $left  = pop @stack;
`, ""),
	"diff --git a/lib/Rpn.pm b/lib/Rpn.pm\n--- a/lib/Rpn.pm\n+++ b/lib/Rpn.pm\n@@ -1,4 +1,4 @@\n package Rpn;\n \n-# A calculator in reverse Polish notation.\n+# A calculator.\n \n" +
		rpnTest(`is(Rpn::evaluate('7 2 -'), -5, 'the bug');`),
}

// rpnCode changes what evaluate does with an operator, and with what is left.
func rpnCode(operator, left string) string {
	head := "     for my $word (split ' ', $text) {\n         if (my $operator = $OPERATOR{$word}) {\n"
	tail := "             push @stack, $operator->($left, $right);\n         } else {\n             push @stack, $word;\n         }\n     }\n"
	body := head + operator + tail + left + "     return $stack[0];\n }\n \n"
	was, now := 0, 0
	for line := range strings.Lines(body) {
		if line[0] != '+' {
			was++
		}
		if line[0] != '-' {
			now++
		}
	}
	return fmt.Sprintf("diff --git a/lib/Rpn.pm b/lib/Rpn.pm\n--- a/lib/Rpn.pm\n+++ b/lib/Rpn.pm\n@@ -19,%d +19,%d @@ sub evaluate {\n%s", was, now, body)
}

func rpnTest(lines ...string) string {
	return fmt.Sprintf("diff --git a/tests/rpn.t b/tests/rpn.t\n--- a/tests/rpn.t\n+++ b/tests/rpn.t\n@@ -26,2 +26,%d @@\n is(Rpn::evaluate('42'), 42, 'a number alone');\n+%s\n exit($failed ? 1 : 0);\n",
		2+len(lines), strings.Join(lines, "\n+"))
}

// predicted writes a folder with a preds.json.
func predicted(t *testing.T, dir string, patches map[string]string) {
	t.Helper()
	all := map[string]any{}
	for id, patch := range patches {
		all[id] = map[string]string{"instance_id": id, "model_name_or_path": "m", "model_patch": patch}
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "preds.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheCodeThatPassesMostTestsOfAllPatchesIsSelected(t *testing.T) {
	tier.Rest(t, "run/selecting", "grade/selection", "results/selections", "cmd/batch/select*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	args := []string{"select", "--by", "tests", "--subset", "demo", "-o", "best", "-q"}
	for i, n := range []int{2, 1, 0, 1} { // the majority is wrong
		name := fmt.Sprintf("attempt%d", i+1)
		predicted(t, filepath.Join(dir, name), map[string]string{
			"demo__rpn-9":  rpnPatches[n],
			"demo__slug-1": fmt.Sprintf("diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+%d\n", n),
		})
		args = append(args, name)
	}
	code, said := e2e.ExitCode(t, e2e.Batch(t, dir, args...))
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	all, err := selections.Read(filepath.Join(dir, "best"))
	if err != nil {
		t.Fatal(err)
	}
	if rpn := all.Latest()["demo__rpn-9"]; rpn.Attempt != 3 || rpn.Decided != "tests" {
		t.Errorf("selected %+v", rpn)
	}
	if slug := all.Latest()["demo__slug-1"]; slug.Attempt != 2 || slug.Decided != "majority" || !strings.Contains(slug.Why, "no patch adds or changes tests") {
		t.Errorf("without tests: selected %+v", slug)
	}
	if len(all.Tested) != 6 { // three different patches, two of them with tests
		t.Errorf("tests ran %d times, want 6: %+v", len(all.Tested), all.Tested)
	}
	for _, r := range all.Tested {
		if r.Passed+r.Failed == 0 || r.Note != "" {
			t.Errorf("attempt %d on the tests of %d: %+v", r.Code, r.Tests, r)
		}
	}
	again, said := e2e.ExitCode(t, e2e.Batch(t, dir, args...))
	if after, err := selections.Read(filepath.Join(dir, "best")); again != 0 || err != nil || len(after.Tested) != 6 {
		t.Errorf("the second time: exit code %d, %v\n%s", again, err, said)
	}
	if code, said := e2e.ExitCode(t, e2e.Batch(t, dir, "grade", "best", "-q")); code != 0 || e2e.Verdicts(t, filepath.Join(dir, "best"))["demo__rpn-9"] != vocab.VerdictResolved {
		t.Errorf("grading what was selected: exit code %d\n%s", code, said)
	}
}

func TestAKilledJudgeIsNotAskedAgain(t *testing.T) {
	tier.Rest(t, "run/selecting", "grade/selection", "results/selections", "cmd/batch/select*.go")
	t.Parallel()
	dir := t.TempDir()
	var script strings.Builder
	for i := range 2 {
		patches := map[string]string{}
		for _, in := range e2e.DemoInstances(t) {
			patches[in.ID] = fmt.Sprintf("patch %d", i)
		}
		predicted(t, filepath.Join(dir, fmt.Sprint("attempt", i)), patches)
	}
	count := 0
	for _, in := range e2e.DemoInstances(t) {
		count++
		fmt.Fprintf(&script, "%s:\n  - content: no number\n    cost: 0.25\n    delay: 0.05\n  - content: \"SELECTED: 1\"\n    cost: 0.5\n    delay: 0.05\n", in.ID)
	}
	if err := os.WriteFile(filepath.Join(dir, "judge.yaml"), []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"select", "attempt0", "attempt1", "--by", "judge", "-m", "scripted/judge.yaml", "--subset", "demo", "-o", "best", "-w", "2", "-q"}
	kills := 0
	for asked := 3; ; asked += 5 {
		cmd := e2e.Batch(t, dir, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		if !awaitReplies(filepath.Join(dir, "best"), asked, done) {
			if code := cmd.ProcessState.ExitCode(); code != 0 {
				t.Fatalf("exit code %d", code)
			}
			break
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-done
		kills++
	}
	all, err := selections.Read(filepath.Join(dir, "best"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range all.Replies {
		if key := fmt.Sprint(r.InstanceID, r.Try); seen[key] {
			t.Errorf("%s was paid twice", key)
		} else {
			seen[key] = true
		}
	}
	if kills < 2 || len(all.Replies) != 2*count || len(all.Latest()) != count {
		t.Errorf("%d kills, %d replies and %d selections of %d instances", kills, len(all.Replies), len(all.Latest()), count)
	}
}

// awaitReplies waits until so many replies are recorded. It returns false if the command ends
// before.
func awaitReplies(dir string, n int, done <-chan error) bool {
	for {
		select {
		case <-done:
			return false
		case <-time.After(10 * time.Millisecond):
		}
		if all, err := selections.Read(dir); err == nil && len(all.Replies) >= n {
			return true
		}
	}
}
