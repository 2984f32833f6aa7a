package grading

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
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

// documented writes a program of docs/sweeps.md into dir.
func documented(t *testing.T, dir, name string) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	page, err := os.ReadFile("../../docs/sweeps.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```python "+name+"\n")
	text, _, ended := strings.Cut(text, "```\n")
	if !found || !ended {
		t.Fatalf("docs/sweeps.md has no program %s", name)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestTheCodeThatPassesMostTestsOfAllPatchesIsSelected(t *testing.T) {
	tier.Rest(t, "run/selecting", "grade/program", "results/selections", "cmd/batch/select*.go", "docs/sweeps.md")
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	documented(t, dir, "by-tests.py")
	args := []string{"select", "--by", "./by-tests.py", "--subset", "demo", "-o", "best", "-q"}
	for i, n := range []int{2, 1, 0, 1} { // the majority is wrong
		name := fmt.Sprintf("attempt%d", i+1)
		predicted(t, filepath.Join(dir, name), map[string]string{"demo__rpn-9": rpnPatches[n], "demo__slug-1": "the same"})
		args = append(args, name)
	}
	choose := func() selections.Selection {
		cmd := e2e.Batch(t, dir, args...)
		cmd.Env = append(cmd.Environ(), "TEST=perl tests/rpn.t", "PASSED=^PASS")
		if code, said := e2e.ExitCode(t, cmd); code != 0 {
			t.Fatalf("exit code %d\n%s", code, said)
		}
		all, err := selections.Read(filepath.Join(dir, "best"))
		if err != nil {
			t.Fatal(err)
		}
		if slug := selections.Latest(all)["demo__slug-1"]; slug.Attempt != 1 || slug.Decided != "majority" || len(all) != 2 {
			t.Errorf("with nothing to choose: selected %+v of %d", slug, len(all))
		}
		return selections.Latest(all)["demo__rpn-9"]
	}
	if rpn := choose(); rpn.Attempt != 3 || rpn.Decided != "program" {
		t.Errorf("selected %+v", rpn)
	}
	choose() // nothing is left to do
	if code, said := e2e.ExitCode(t, e2e.Batch(t, dir, "grade", "best", "-q")); code != 0 || e2e.Verdicts(t, filepath.Join(dir, "best"))["demo__rpn-9"] != vocab.VerdictResolved {
		t.Errorf("grading what was selected: exit code %d\n%s", code, said)
	}
}

func TestAModelSelects(t *testing.T) {
	tier.Rest(t, "run/selecting", "grade/program", "results/selections", "cmd/batch/select*.go", "docs/sweeps.md")
	t.Parallel()
	dir := t.TempDir()
	documented(t, dir, "by-judge.py")
	for i, patch := range []string{"patch one", "patch two"} {
		predicted(t, filepath.Join(dir, fmt.Sprint("attempt", i)), map[string]string{"demo__rpn-9": patch})
	}
	const key = "sk-of-the-judge-0123456789"
	model := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
		if text := string(r.Body); !strings.Contains(text, "patch one") || !strings.Contains(text, "patch two") || r.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("it was asked %s", text)
		}
		return stub.Answer{Content: "The second one.\n\nSELECTED: 2"}
	})
	e2e.WriteFiles(t, dir, map[string]string{"judge.key": key + "\n"})
	cmd := e2e.Batch(t, dir, "select", "attempt0", "attempt1", "--by", "./by-judge.py", "--subset", "demo", "-o", "best", "-q")
	cmd.Env = append(cmd.Environ(), "JUDGE_URL="+model.URL)
	if code, said := e2e.ExitCode(t, cmd); code != 0 {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	all, err := selections.Read(filepath.Join(dir, "best"))
	if err != nil {
		t.Fatal(err)
	}
	if one := selections.Latest(all)["demo__rpn-9"]; one.Attempt != 2 || !strings.Contains(one.Stderr, "The second one.") {
		t.Errorf("selected %+v", one)
	}
}

func TestAKilledSelectionContinues(t *testing.T) {
	tier.Rest(t, "run/selecting", "grade/program", "results/selections", "cmd/batch/select*.go")
	t.Parallel()
	dir := t.TempDir()
	for i := range 2 {
		patches := map[string]string{}
		for _, in := range e2e.DemoInstances(t) {
			patches[in.ID] = fmt.Sprintf("patch %d", i)
		}
		predicted(t, filepath.Join(dir, fmt.Sprint("attempt", i)), patches)
	}
	e2e.WriteFiles(t, dir, map[string]string{"choose": "#!/bin/sh\ncat >/dev/null; echo asked >>asked; sleep 0.1; echo 2\n"})
	if err := os.Chmod(filepath.Join(dir, "choose"), 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"select", "attempt0", "attempt1", "--by", "./choose", "--subset", "demo", "-o", "best", "-w", "2", "-q"}
	count, kills := len(e2e.DemoInstances(t)), 0
	for decided := 2; ; decided += 3 {
		cmd := e2e.Batch(t, dir, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		if !awaitSelections(filepath.Join(dir, "best"), decided, done) {
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
	asked, _ := os.ReadFile(filepath.Join(dir, "asked"))
	if n := strings.Count(string(asked), "asked"); kills < 2 || len(all) != count || n < count || n > count+2*kills {
		t.Errorf("%d kills, asked %d times, %d selections of %d instances", kills, n, len(all), count)
	}
}

// awaitSelections waits until so many selections are recorded. It returns false if the command ends
// before.
func awaitSelections(dir string, n int, done <-chan error) bool {
	for {
		select {
		case <-done:
			return false
		case <-time.After(10 * time.Millisecond):
		}
		if all, err := selections.Read(dir); err == nil && len(all) >= n {
			return true
		}
	}
}
