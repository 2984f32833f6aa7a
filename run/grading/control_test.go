package grading_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade/evaluate"
	"batch.example/batch/internal/fetch"
	"batch.example/batch/results"
	"batch.example/batch/run/grading"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// runs are containers that play a list of test runs, one in each.
type runs struct {
	play   []vocab.Output // Bytes are the output of the tests
	opened int
	wrote  map[string]string // into the last one, by the file's base name
	limit  string            // of the last test run
	listed int               // how often the working tree of the last one was listed
}

func (r *runs) Image(context.Context, dataset.Instance) (vocab.Image, bool, error) {
	return vocab.Image{}, false, nil
}

func (r *runs) Open(context.Context, dataset.Instance, string, func(string)) (grading.Box, error) {
	r.opened++
	r.wrote, r.listed = map[string]string{}, 0
	return r, nil
}

func (r *runs) Reaches(context.Context, string, string) (bool, error) { return true, nil }

func (r *runs) Facts() sandbox.Facts { return sandbox.Facts{} }
func (r *runs) Close() error         { return nil }

func (r *runs) Write(_ context.Context, name string, _ fs.FileMode, data []byte) error {
	r.wrote[filepath.Base(name)] = string(data)
	return nil
}

var markers = regexp.MustCompile(`>>>>> (?:Start|End) Test Output [^ ']+`)

func (r *runs) Run(_ context.Context, c vocab.Command) (vocab.Output, error) {
	switch {
	case strings.Contains(c.Script, "-printf"): // the list of the working tree
		var tree vocab.Output
		if r.listed++; r.listed == 2 {
			for _, name := range evaluate.Paths([]byte(r.wrote["patch.diff"])) {
				tree.Bytes = append(tree.Bytes, "f 644 1 1 1.0\x00./"+name+"\x00\x00"...)
			}
			tree.Total = int64(len(tree.Bytes))
		}
		return tree, nil
	case strings.Contains(c.Script, "gitscrub"): // the commit of the image
		return vocab.Output{Bytes: []byte("base: head " + baseCommit + "\n")}, nil
	case !strings.Contains(c.Script, "eval.sh"):
		return vocab.Output{Bytes: []byte("true\n")}, nil
	}
	r.limit = c.Timeout.String()
	out := r.play[r.opened-1]
	m := markers.FindAllString(r.wrote["eval.sh"], -1)
	out.Bytes = []byte(m[0] + "\n" + string(out.Bytes) + "\n" + m[len(m)-1] + "\n")
	return out, nil
}

const conftest = "diff --git a/conftest.py b/conftest.py\nnew file mode 100644\n--- /dev/null\n+++ b/conftest.py\n@@ -0,0 +1 @@\n+x = 1\n"

// The result of a patch with a conftest.py counts only if FAIL_TO_PASS also passes without it. Tests
// that fail by chance, and runs that do not end, accuse nobody.
func TestARunWithoutWhatDecidesTheReports(t *testing.T) {
	passed, failed := vocab.Output{Bytes: []byte("PASSED test_a")}, vocab.Output{Bytes: []byte("FAILED test_a - x"), ExitCode: 1}
	slow := passed
	slow.TimedOut, slow.ExitCode = true, 137
	for name, tt := range map[string]struct {
		play []vocab.Output
		want vocab.Verdict
	}{
		"passes without":         {[]vocab.Output{passed, passed}, vocab.VerdictResolved},
		"fails without":          {[]vocab.Output{passed, failed, failed, passed}, vocab.VerdictUnresolved},
		"fails once without":     {[]vocab.Output{passed, failed, passed}, vocab.VerdictResolved},
		"fails with it too":      {[]vocab.Output{passed, failed, failed, failed}, vocab.VerdictResolved},
		"does not end without":   {[]vocab.Output{passed, slow}, vocab.VerdictResolved},
		"fails with":             {[]vocab.Output{failed}, vocab.VerdictUnresolved},
		"does not end with":      {[]vocab.Output{slow}, vocab.VerdictTimedOut},
		"says nothing of it all": {[]vocab.Output{{Bytes: []byte("no test")}}, vocab.VerdictUnresolved},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			boxes := &runs{play: tt.play}
			d.config.Boxes = boxes
			j := job("a__1", conftest)
			if _, err := d.grade(j); err != nil {
				t.Fatal(err)
			}
			g := d.latest(j)
			if g.Verdict != tt.want || boxes.opened != len(tt.play) {
				t.Errorf("got %s (%s) after %d runs, want %s after %d", g.Verdict, g.Why, boxes.opened, tt.want, len(tt.play))
			}
			if unknown := name == "does not end without"; unknown != strings.Contains(strings.Join(g.Notes, "\n"), "without conftest.py of the patch is not known") {
				t.Errorf("notes: %q", g.Notes)
			}
			if only := name == "fails without"; only != strings.Contains(strings.Join(g.Suspicious, "\n"), "resolved only with conftest.py") {
				t.Errorf("suspicious: %q", g.Suspicious)
			}
			report, err := os.ReadFile(filepath.Join(d.dir, g.Log, "report.json"))
			if judged := tt.want != vocab.VerdictTimedOut; judged != (err == nil) {
				t.Fatalf("the report: %v", err)
			}
			if err == nil && strings.Contains(string(report), `"resolved": true`) != (tt.want == vocab.VerdictResolved) {
				t.Errorf("the report says otherwise:\n%s", report)
			}
			if name == "fails without" && (len(g.FailToPass.Failed) != 1 || !strings.Contains(string(report), `"failure": [
                    "test_a"`)) {
				t.Errorf("failed %q, want test_a; the report:\n%s", g.FailToPass.Failed, report)
			}
			log, err := os.ReadFile(filepath.Join(d.dir, g.Log, "run_instance.log"))
			if err != nil || strings.Contains(string(log), "Left out of the patch: conftest.py") != (name == "fails without") {
				t.Errorf("%v, run_instance.log:\n%s", err, log)
			}
		})
	}
}

// A control run without a verdict leaves the prediction without one, unless the rest of the patch
// is the reason.
func TestARunWithoutWhatDecidesTheReportsCanBeUngradeable(t *testing.T) {
	passed, cut := vocab.Output{Bytes: []byte("PASSED test_a")}, vocab.Output{Bytes: []byte("PASSED test_a"), Total: 1 << 40}
	for want, bare := range map[vocab.Verdict]vocab.Output{
		vocab.VerdictUngradeable: cut,
		vocab.VerdictUnresolved:  {Bytes: []byte("FAILED test_a")},
	} {
		d := newDesk(t)
		d.config.Boxes = &runs{play: []vocab.Output{passed, cut, bare, cut, bare, passed}}
		j := job("a__1", conftest)
		if _, err := d.grade(j); err != nil {
			t.Fatal(err)
		}
		if g := d.latest(j); g.Verdict != want || !strings.Contains(g.Why, "conftest.py") {
			t.Errorf("got %s (%s), want %s", g.Verdict, g.Why, want)
		}
	}
}

// Tests in a compiled language have no runner if they do not compile, as without the solution.
// The gold patch shows whether the image can run them.
func TestTestsThatDoNotCompileAreThePatchs(t *testing.T) {
	const gold = "diff --git a/gold b/gold\n--- a/gold\n+++ b/gold\n@@ -1 +1 @@\n-a\n+b\n"
	absent := vocab.Output{Bytes: []byte("/tmp/batch-x/eval.sh: line 9: ./build/test: No such file or directory"), ExitCode: 127}
	for name, tt := range map[string]struct {
		patch string
		play  []vocab.Output
		want  vocab.Verdict
	}{
		"the patch": {patchText, []vocab.Output{absent, {Bytes: []byte("PASSED test_a")}}, vocab.VerdictUnresolved},
		"the image": {patchText, []vocab.Output{absent, absent}, vocab.VerdictUngradeable},
		"gold":      {gold, []vocab.Output{absent}, vocab.VerdictUngradeable},
	} {
		d := newDesk(t)
		boxes := &runs{play: tt.play}
		d.config.Boxes = boxes
		j := job("a__1", tt.patch)
		j.Task.Gold = []byte(gold)
		if _, err := d.grade(j); err != nil {
			t.Fatal(err)
		}
		if g := d.latest(j); g.Verdict != tt.want || boxes.opened != len(tt.play) || boxes.wrote["patch.diff"] != gold {
			t.Errorf("%s: got %s (%s) after %d runs, the last with the patch\n%s", name, g.Verdict, g.Why, boxes.opened, boxes.wrote["patch.diff"])
		}
	}
}

// If the control run could only have added a note, the verdict stands without it.
func TestARunWithoutAProjectsFileCanBeUngradeable(t *testing.T) {
	d := newDesk(t)
	cut := vocab.Output{Bytes: []byte("PASSED test_a"), Total: 1 << 40}
	d.config.Boxes = &runs{play: []vocab.Output{{Bytes: []byte("PASSED test_a")}, cut}}
	j := job("a__1", strings.ReplaceAll(conftest, "conftest.py", "setup.cfg"))
	if _, err := d.grade(j); err != nil {
		t.Fatal(err)
	}
	if g := d.latest(j); g.Verdict != vocab.VerdictResolved || !strings.Contains(strings.Join(g.Suspicious, "\n"), "without setup.cfg of the patch: ") {
		t.Errorf("got %s (%s), suspicious %q", g.Verdict, g.Why, g.Suspicious)
	}
}

func TestATimeLimitOfTheFamilyHoldsUnlessAnotherIsGiven(t *testing.T) {
	for given, want := range map[string]string{"": "2m0s", "5s": "5s"} {
		d := newDesk(t)
		boxes := &runs{play: []vocab.Output{{Bytes: []byte("PASSED test_a")}}}
		d.config.Boxes = boxes
		if given != "" {
			d.config.Timeout = 5e9
		}
		j := job("a__1", patchText)
		j.Task.Timeout = 2 * 60e9
		if _, err := d.grade(j); err != nil || boxes.limit != want {
			t.Errorf("limit %s, %v; want %s", boxes.limit, err, want)
		}
	}
}

func TestFilesThatTestsNeedBesideTheirPatch(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a.png" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte("\x89PNG of the web"))
	}))
	defer web.Close()
	ask := func(ctx context.Context, address string) ([]byte, error) { // of this machine, which batch never asks
		if !strings.HasPrefix(address, web.URL) {
			return fetch.Client{Timeout: time.Second}.Get(ctx, address, nil)
		}
		resp, err := http.Get(address)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, errors.New(resp.Status)
		}
		return io.ReadAll(resp.Body)
	}
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "a__1", "test_assets", "img"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "a__1", "test_assets", "img", "a.png"), []byte("\x89PNG of the folder"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		folder, entry, wrote string
		want                 vocab.Verdict
		blame                fault.Kind
	}{
		"downloaded":               {"", `{"path": "img/a.png", "url": "` + web.URL + `/a.png"}`, "\x89PNG of the web", vocab.VerdictResolved, 0},
		"of a folder":              {folder, `{"path": "img/a.png", "url": "` + web.URL + `/b.png"}`, "\x89PNG of the folder", vocab.VerdictResolved, 0},
		"not there":                {"", `{"path": "img/a.png", "url": "` + web.URL + `/b.png"}`, "", vocab.VerdictInfrastructure, fault.Transient},
		"no address":               {"", `{"path": "img/a.png"}`, "", vocab.VerdictUngradeable, 0},
		"a server of this machine": {"", `{"path": "img/a.png", "url": "http://127.0.0.1:9/a.png"}`, "", vocab.VerdictUngradeable, 0},
		"a file of this machine":   {"", `{"path": "img/a.png", "url": "file:///etc/passwd"}`, "", vocab.VerdictUngradeable, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			boxes := &runs{play: []vocab.Output{{Bytes: []byte("PASSED test_a")}}}
			d.config.Boxes, d.config.Assets, d.config.Pool.Retries = boxes, tt.folder, runner.Retries{"transient": 0}
			d.config.Settings.DownloadWith(ask)
			j := job("a__1", patchText)
			j.Instance.Fields = map[string]any{"image_assets": `{"test_patch": [` + tt.entry + `]}`}
			if _, err := d.grade(j); err != nil {
				t.Fatal(err)
			}
			g := d.latest(j)
			if g.Verdict != tt.want || tt.blame != 0 && g.Blame != tt.blame.String() {
				t.Errorf("got %s, blame %q: %s%s", g.Verdict, g.Blame, g.Why, g.Error)
			}
			found := false
			for _, data := range boxes.wrote {
				found = found || data == tt.wrote
			}
			if tt.wrote != "" && !found {
				t.Errorf("%q is not among what was written: %q", tt.wrote, boxes.wrote)
			}
		})
	}
}

// The log tree has the files of the current prediction, even if an earlier one of the
// instance is graded last.
func TestAReplacedPredictionLeavesNoFiles(t *testing.T) {
	d := newDesk(t)
	d.config.Boxes = &runs{play: []vocab.Output{{Bytes: []byte("PASSED test_a")}}}
	d.config.Stands = func(results.Prediction) bool { return false }
	j := job("a__1", patchText)
	if _, err := d.grade(j); err != nil {
		t.Fatal(err)
	}
	if g := d.latest(j); g.Verdict != vocab.VerdictResolved || g.Log != "" {
		t.Errorf("got %s, log %q", g.Verdict, g.Log)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "logs")); err == nil {
		t.Error("there is a log tree")
	}
}
