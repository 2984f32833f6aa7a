package evaluate_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/grade/evalscript"
	"batch.example/batch/grade/evaluate"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// victim is the row for the hostile patches: its tests are Python functions.
const victim = "demo__roman-8"

func original(t *testing.T, name string) string {
	t.Helper()
	b, err := fs.ReadFile(demo.Files(), "tasks/"+victim+"/repo/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// create is a patch that adds a file.
func create(name, text string) string { return createAs("100644", name, text) }

func createAs(mode, name, text string) string {
	return fmt.Sprintf("diff --git a/%s b/%s\nnew file mode %s\n--- /dev/null\n+++ b/%s\n", name, name, mode, name) + hunk("", text)
}

// replace is a patch that gives a file of the victim other contents.
func replace(t *testing.T, name, text string) string {
	return fmt.Sprintf("diff --git a/%s b/%s\n--- a/%s\n+++ b/%s\n", name, name, name, name) + hunk(original(t, name), text)
}

func remove(t *testing.T, name string) string {
	return fmt.Sprintf("diff --git a/%s b/%s\ndeleted file mode 100644\n--- a/%s\n+++ /dev/null\n", name, name, name) + hunk(original(t, name), "")
}

func hunk(from, to string) string {
	count := func(s string) string {
		n := strings.Count(s, "\n")
		if n == 0 {
			return "0,0"
		}
		return fmt.Sprintf("1,%d", n)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "@@ -%s +%s @@\n", count(from), count(to))
	for _, side := range []struct{ sign, text string }{{"-", from}, {"+", to}} {
		for line := range strings.Lines(side.text) {
			b.WriteString(side.sign + line)
		}
	}
	return b.String()
}

// verdict evaluates a patch completely, with all control runs.
func (b *bench) verdict(t *testing.T, in dataset.Instance, patch string) (*evaluate.Evidence, grade.Judgement, evaluate.Step) {
	t.Helper()
	job := jobFor(in, patch)
	job.Gold = []byte(in.Patch)
	first := b.evaluate(t, in, job)
	job.Ran = first.Ran
	deciders := evaluate.Deciders(job, first.Changes)
	judged := []grade.Judgement{{}}
	if first.Applied {
		judged[0] = judge(t, in, first.Log)
	}
	for {
		step := evaluate.Decide(deciders, judged...)
		if !step.Run {
			step.Suspicious = append(step.Suspicious, evaluate.Doubts([]byte(patch), []byte(in.Patch), in.EvalScript, first.Log, judged[0], parserOf(in))...)
			return first, judged[0], step
		}
		job.Without = step.Without
		judged = append(judged, judge(t, in, b.evaluate(t, in, job).Log))
	}
}

// allPass prints a passed result for each of the row's tests.
func allPass(in dataset.Instance) string {
	var b strings.Builder
	for _, id := range append(in.FailToPass, in.PassToPass...) {
		fmt.Fprintf(&b, "print(%q, flush=True)\n", "PASSED "+id)
	}
	return b.String()
}

// readNonce sets nonce to the markers' nonce, in the way a test can find it.
const readNonce = `
import os, re
nonce, script = "", ""
pid = os.getppid()
for word in open("/proc/%d/cmdline" % pid).read().split("\0"):
    if word.endswith("eval.sh"):
        script = word
        nonce = re.search("Start Test Output ([A-Z0-9]+)", open(word).read()).group(1)
assert nonce
`

func TestWhatTestsPrintDoesNotDecide(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.rows[victim]
	broken := original(t, "roman.py")
	pass := allPass(in)
	for name, tt := range map[string]struct {
		patch      string
		resolved   bool // as in the official harness
		suspicious string
	}{
		"an early end, and an end of the process": {
			patch:    replace(t, "roman.py", "import os\nprint('>>>>> End Test Output', flush=True)\n"+pass+"os._exit(0)\n"),
			resolved: true, suspicious: ">>>>> End Test Output",
		},
		"a printed exit code": {
			patch:      replace(t, "roman.py", broken+"import atexit\ndef bye():\n    print('>>>>> Test Exit Code: 0')\n    "+strings.ReplaceAll(strings.TrimSpace(pass), "\n", "\n    ")+"\natexit.register(bye)\n"),
			suspicious: ">>>>> Test Exit Code:",
		},
		"an end of the process": {
			patch:    replace(t, "roman.py", "import os\n"+pass+"os._exit(0)\n"),
			resolved: true, suspicious: "ends the process of the tests at once",
		},
		"a new test with hidden calls": {
			patch:    create("tests/test_0.py", "import os, sys\nout = getattr(os, 'wri' 'te')\n"+strings.NewReplacer("print(", "out(1, b", `", flush=True)`, `\n")`).Replace(pass)+"sys.exit(0)\n"),
			resolved: true, suspicious: "resolved only with tests/test_0.py of the patch",
		},
		"an early official end": {
			patch:      replace(t, "roman.py", broken+pass+"print('>>>>> End Test Output', flush=True)\n"),
			suspicious: ">>>>> End Test Output",
		},
		"the nonce": {
			patch:      replace(t, "roman.py", broken+readNonce+pass+"print('>>>>> End Test Output', nonce, flush=True)\n"),
			suspicious: "marker of this evaluation",
		},
		"another rest of the script": {
			patch: replace(t, "roman.py", broken+readNonce+pass+"open(script, 'w').write('\\n' * 100000 + 'exit 0\\n')\n"),
		},
		"a kill of the shell": {
			patch: replace(t, "roman.py", broken+"import os\n"+pass+"os.kill(os.getppid(), 9)\n"),
		},
		"a kill of the shell after all markers": {
			patch: replace(t, "roman.py", broken+readNonce+pass+"print('>>>>> End Test Output', nonce, flush=True)\nprint('>>>>> Test Exit Code: 0', flush=True)\nos.kill(pid, 9)\n"),
		},
		"a process that prints after the end": {
			patch: replace(t, "roman.py", broken+"import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(0.5)\n    "+
				strings.ReplaceAll(strings.TrimSpace(pass), "\n", "\n    ")+"\n    os._exit(0)\n"),
		},
		"programs in the repository": {
			patch: createAs("100755", "python3", "#!/bin/sh\nexit 0\n") + createAs("100755", "git", "#!/bin/sh\nexit 0\n") + create(".bashrc", "PATH=/testbed:$PATH\n"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, j, step := b.verdict(t, in, tt.patch)
			if !e.Applied || step.Resolved != tt.resolved {
				t.Errorf("applied %v (%s), resolved %v, want %v (%s)\n%s", e.Applied, e.Refused, step.Resolved, tt.resolved, j.Why, e.Log.Text)
			}
			if !strings.Contains(strings.Join(step.Suspicious, "\n"), tt.suspicious) {
				t.Errorf("suspicious %q, want %q", step.Suspicious, tt.suspicious)
			}
		})
	}
}

// The same on a real engine, once for each kind.
func TestForgeriesInAContainerAreMarked(t *testing.T) {
	t.Parallel()
	b := newDockerBench(t, nil)
	in := b.rows[victim]
	for patch, want := range map[string]string{
		replace(t, "roman.py", "import os\n"+allPass(in)+"os._exit(0)\n"):    "ends the process of the tests at once",
		create("tests/test_0.py", "import os\n"+allPass(in)+"os._exit(0)\n"): "resolved only with tests/test_0.py of the patch",
	} {
		e, j, step := b.verdict(t, in, patch)
		if !e.Applied || !strings.Contains(strings.Join(step.Suspicious, "\n"), want) {
			t.Errorf("applied %v (%s), suspicious %q, want %q (%s)\n%s", e.Applied, e.Refused, step.Suspicious, want, j.Why, e.Log.Text)
		}
	}
}

func TestFilesBesideTheTestsDoNotDecide(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.rows[victim]
	// Like pytest, and like a Python with an editable install, this loads files of the repository.
	in.EvalScript = strings.Replace(in.EvalScript, "python3 tests/run.py", "PYTHONPATH=/testbed python3 -c 'import sys\ntry: import conftest\nexcept ImportError: pass\nfile = \"tests/run.py\"\nexec(compile(open(file).read(), file, \"exec\"), {\"__name__\": \"__main__\", \"__file__\": file})'", 1)
	cheat := "import os\n" + allPass(in) + "os._exit(0)\n"
	once := "import os, sys\nif 'run.py' in ' '.join(sys.orig_argv if hasattr(sys, 'orig_argv') else ['run.py']):\n    " + strings.ReplaceAll(strings.TrimSpace(cheat), "\n", "\n    ") + "\n"
	for name, patch := range map[string]string{
		"conftest.py":      create("conftest.py", cheat),
		"sitecustomize.py": create("sitecustomize.py", once),
		"usercustomize.py": create("sitecustomize.py", "import usercustomize\n") + create("usercustomize.py", once),
		"a shadowed module": create("importlib/__init__.py", cheat) + create("importlib/util.py", cheat) + create("glob.py", cheat) +
			create("traceback.py", cheat) + create("conftest.py", "import glob\n"),
		"the runner": replace(t, "tests/run.py", cheat),
	} {
		t.Run(name, func(t *testing.T) {
			e, j, step := b.verdict(t, in, patch)
			if step.Resolved {
				t.Errorf("resolved; suspicious %q\n%s", step.Suspicious, e.Log.Text)
			}
			if !j.Resolved {
				t.Logf("the first run already does not resolve it: %s\n%s", j.Why, e.Log.Text)
			}
			if j.Resolved && (len(step.Suspicious) == 0 || step.Why == "") {
				t.Errorf("why %q, suspicious %q: not said", step.Why, step.Suspicious)
			}
			t.Log(step.Why)
		})
	}
	t.Run("a solution with such a file", func(t *testing.T) {
		if e, _, step := b.verdict(t, in, in.Patch+create("conftest.py", "import sys\n")); !step.Resolved || len(step.Suspicious) > 0 {
			t.Errorf("resolved %v, suspicious %q\n%s", step.Resolved, step.Suspicious, e.Log.Text)
		}
	})
}

func TestTestFilesOfThePatchDoNotDecide(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.rows[victim]
	fake := "from roman import *\n" + strings.ReplaceAll(allPass(in), "print", "#")
	for _, id := range append(in.FailToPass, in.PassToPass...) {
		_, name, _ := strings.Cut(id, "::")
		fake += "def " + name + "(): pass\n"
	}
	for name, tt := range map[string]struct {
		patch    string
		resolved bool
	}{
		"edited":              {replace(t, "tests/test_roman.py", fake), false},
		"edited, and solved":  {in.Patch + replace(t, "tests/test_roman.py", fake), true},
		"deleted, and solved": {in.Patch + remove(t, "tests/test_roman.py"), true},
		"the folder is a link": {
			in.Patch + remove(t, "tests/test_roman.py") + remove(t, "tests/run.py") +
				"diff --git a/tests b/tests\nnew file mode 120000\n--- /dev/null\n+++ b/tests\n@@ -0,0 +1 @@\n+/tmp\n\\ No newline at end of file\n", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, j, step := b.verdict(t, in, tt.patch)
			if !e.Applied || step.Resolved != tt.resolved || !strings.Contains(string(e.Log.Text), "Applied patch tests/test_roman.py cleanly") {
				t.Errorf("applied %v (%s), resolved %v, want %v: %s\n%s", e.Applied, e.Refused, step.Resolved, tt.resolved, j.Why, e.Log.Text)
			}
		})
	}
	t.Run("a new one of the same name", func(t *testing.T) {
		row := in
		row.TestPatch = in.TestPatch + create("tests/test_more.py", "def test_more():\n    assert False\n")
		row.EvalScript = strings.Replace(in.EvalScript, "\nEOF_114329324912\n: ", "\n"+create("tests/test_more.py", "def test_more():\n    assert False\n")+"EOF_114329324912\n: ", 1)
		row.PassToPass = append(row.PassToPass, "tests/test_more.py::test_more")
		e, j, _ := b.verdict(t, row, in.Patch+create("tests/test_more.py", "def test_more():\n    pass\n"))
		if j.Resolved || !strings.Contains(string(e.Log.Text), "FAILED tests/test_more.py::test_more") {
			t.Errorf("the patch's own test ran:\n%s", e.Log.Text)
		}
		if files := evalscript.TestFiles(row.TestPatch); len(files) != 2 {
			t.Errorf("files %q", files)
		}
	})
}

func TestATimeoutKillsAndKeepsTheOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.rows[victim]
	j := jobFor(in, replace(t, "roman.py", "import os, time\nprint('so far', flush=True)\nif os.fork() == 0:\n    os.setsid()\nwhile True:\n    time.sleep(1)\n"))
	var box box
	var e *evaluate.Evidence
	for j.Timeout = 2 * time.Second; ; j.Timeout *= 4 { // a busy machine takes longer to get that far
		box = b.open(t, in)
		ctx, stop := context.WithTimeout(t.Context(), j.Timeout+enough) // in case nothing kills it
		var err error
		e, err = evaluate.Run(ctx, box, j)
		stop()
		if err != nil || !e.TimedOut || e.Log.ExitCode != nil {
			t.Fatalf("got %+v, %v", e, err)
		}
		if j.Timeout > enough || strings.Contains(string(e.Log.Text), "so far\n") {
			break
		}
	}
	if text := string(e.Log.Text); !strings.Contains(text, "so far\n") ||
		!strings.HasSuffix(text, fmt.Sprintf("\n\nTimeout error: %.0f seconds exceeded.", j.Timeout.Seconds())) {
		t.Errorf("the log is %q", text)
	}
	out, err := box.Run(t.Context(), vocab.Command{Script: "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"})
	if err != nil || strings.Contains(string(out.Bytes), "run.py") {
		t.Errorf("left behind: %q, %v", out.Bytes, err)
	}
}

func TestALongOutputIsWholeAndALongerOneKnownToBeCut(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	b := newBench(t)
	in := b.rows[victim]
	for _, tt := range []struct {
		mib int
		cut bool
	}{{20, false}, {80, true}} {
		j := jobFor(in, in.Patch)
		j.Script = strings.Replace(j.Script, "python3 tests/run.py", fmt.Sprintf("head -c %dM /dev/zero | tr '\\0' x; echo; python3 tests/run.py", tt.mib), 1)
		e := b.evaluate(t, in, j)
		if e.Cut != tt.cut || !tt.cut && (!judge(t, in, e.Log).Resolved || len(e.Log.Text) < tt.mib<<20) {
			t.Errorf("%d MiB: cut %v, %d bytes", tt.mib, e.Cut, len(e.Log.Text))
		}
	}
}

func TestMemoryIsTheTestsOwn(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	b := newDockerBench(t, func(c *sandbox.Config) { c.Container.Memory = 128 << 20 })
	in := b.rows[victim]
	e := b.evaluate(t, in, jobFor(in, replace(t, "roman.py", "x = bytearray(b'x' * (512 << 20))\n")))
	if j := judge(t, in, e.Log); !e.OutOfMemory || j.Resolved {
		t.Errorf("out of memory %v, resolved %v\n%s", e.OutOfMemory, j.Resolved, e.Log.Text)
	}
}

func TestAFullDiskIsNoted(t *testing.T) {
	t.Parallel()
	b := newDockerBench(t, func(c *sandbox.Config) { c.Container.Disk = 32 << 20 })
	in := b.rows[victim]
	e := b.evaluate(t, in, jobFor(in, replace(t, "roman.py", "import time\nf = open('/testbed/big', 'wb')\nfor _ in range(128):\n    f.write(b'x' * (1 << 20))\nf.flush()\ntime.sleep(60)\n")))
	if j := judge(t, in, e.Log); !e.FullDisk || j.Resolved {
		t.Errorf("full disk %v, resolved %v\n%s", e.FullDisk, j.Resolved, e.Log.Text)
	}
}

// endless is a test file that reports its start and never ends.
const endless = "import time\nopen('/tmp/began', 'w').close()\ntime.sleep(600)\n"

// awaitTests waits until the tests have begun.
func (b box) awaitTests(t *testing.T) {
	for t.Context().Err() == nil {
		out, err := b.Run(t.Context(), vocab.Command{Script: "[ -e /tmp/began ]"})
		if err != nil || out.ExitCode == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestACancellationIsNoEvidence(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.rows[victim]
	ctx, cancel := context.WithCancel(t.Context())
	s := b.open(t, in)
	go func() {
		s.awaitTests(t)
		cancel()
	}()
	e, err := evaluate.Run(ctx, s, jobFor(in, replace(t, "roman.py", endless)))
	if e != nil || !fault.Canceled(err) {
		t.Errorf("got %v, %v", e, err)
	}
}

func TestAContainerThatIsRemovedIsAFault(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.rows[victim]
	s := b.open(t, in)
	go func() {
		s.awaitTests(t)
		_ = s.Close()
	}()
	e, err := evaluate.Run(t.Context(), s, jobFor(in, replace(t, "roman.py", endless)))
	if k := fault.KindOf(err); e != nil || k != fault.Transient && k != fault.Host || errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v (%v)", e, err, k)
	}
}
