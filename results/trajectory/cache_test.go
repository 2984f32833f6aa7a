package trajectory_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/results/trajectory"
)

const sweAgentFile = `{"trajectory":[
 {"thought":"I look.","action":"ls\n","observation":"a.py","execution_time":0.5},
 {"thought":"I edit.","action":"edit 1:1\nx\nend_of_edit","observation":"[File: a.py]"},
 {"thought":"Done.","action":"submit","observation":"diff"}],
 "history":[{"role":"user","content":"Fix it."}],"info":{"exit_status":"submitted","submission":"diff --git a/a.py b/a.py\n"}}`

func swe(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x__y-1.traj")
	if err := os.WriteFile(path, []byte(sweAgentFile), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAFinishedFileIsReadInPages(t *testing.T) {
	a, err := trajectory.NewCache(1).Attempt(trajectory.Source{File: swe(t)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := overview(t, a)
	if o.Form != "swe-agent" || o.Instance != "x__y-1" || len(o.Marks) != 3 || !o.Ended || !o.Marks[1].Flags.Has(journal.FlagEdit) || !o.Marks[2].Flags.Has(journal.FlagSubmission) {
		t.Errorf("%+v", o)
	}
	p := page(t, a, 2, 9)
	if p.From != 2 || len(p.Steps) != 2 || p.Total != 3 || p.Prompts != nil || p.End == nil || p.End.Status != "Submitted" || p.End.Bytes == 0 {
		t.Errorf("%+v", p)
	}
	if p := page(t, a, 1, 1); len(p.Prompts) != 1 || p.Steps[0].Actions[0].Output != "a.py" || p.Steps[0].Commands != 0.5 || p.End != nil {
		t.Errorf("%+v", p)
	}
	if out, err := a.Output(1, 1); err != nil || string(out.Bytes) != "a.py" || out.Cut {
		t.Errorf("%+v, %v", out, err)
	}
	if s, err := a.Sent(1); err != nil || len(s.Shown) != 1 || s.Shown[0].Differs {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := a.Sent(4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("step 4: %v", err)
	}
	if patch, salvaged, err := a.Patch(); err != nil || salvaged || len(patch) == 0 {
		t.Errorf("%q, %t, %v", patch, salvaged, err)
	}
	if changed, err := a.Update(); changed || err != nil {
		t.Errorf("%t, %v", changed, err)
	}
}

func TestACacheIsBoundedAndSharedByManyReaders(t *testing.T) {
	c := trajectory.NewCache(2)
	w := newWriter(t)
	w.begin(1)
	w.full("one", "ls", "1\n")
	w.flush()
	file := swe(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Add(1)
		go func() {
			defer all.Done()
			s := trajectory.Source{Dir: w.dir, Instance: demo, Attempt: -1}
			if i%3 == 0 {
				s = trajectory.Source{File: file}
			}
			a, err := c.Attempt(s, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := a.Page(1, 5, trajectory.Options{}); err != nil {
				t.Error(err)
			}
			if _, err := a.Sent(1); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	w.full("two", "ls", "2\n")
	w.flush()
	a, err := c.Attempt(trajectory.Source{Dir: w.dir, Instance: demo, Attempt: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if o := overview(t, a); len(o.Marks) != 2 || c.Len() != 2 {
		t.Errorf("%d steps, %d in the cache", len(o.Marks), c.Len())
	}
	if _, err := c.Attempt(trajectory.Source{Dir: w.dir, Instance: "none", Attempt: -1}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no attempt: %v", err)
	}
	if _, err := c.Attempt(trajectory.Source{Dir: w.dir, Instance: demo, Attempt: 7}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("attempt 7: %v", err)
	}
	for range 5 {
		if _, err := c.Attempt(trajectory.Source{File: swe(t)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if c.Len() != 2 {
		t.Errorf("%d in the cache", c.Len())
	}
	// A file that was replaced is read again.
	last := swe(t)
	if _, err := c.Attempt(trajectory.Source{File: last}, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(last, []byte(`{"trajectory":[],"info":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err := c.Attempt(trajectory.Source{File: last}, nil); err != nil || len(overview(t, a).Marks) != 0 {
		t.Errorf("%v", err)
	}
}

// A run that is resumed may hide more than when its file was read first.
func TestAFileIsReadAgainForAnotherMasker(t *testing.T) {
	c, file := trajectory.NewCache(2), filepath.Join(t.TempDir(), "a.traj.json")
	if err := os.WriteFile(file, []byte(`{"info":{},"messages":[{"role":"assistant","content":"the key is hush-hush"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*mask.Masker{mask.New(), mask.New(mask.Secret{Name: "KEY", Value: "hush-hush"})} {
		a, err := c.Attempt(trajectory.Source{File: file}, m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(page(t, a, 1, 1))
		if hidden := m.Text("hush-hush") != "hush-hush"; err != nil || bytes.Contains(got, []byte("hush-hush")) == hidden || !bytes.Contains(got, []byte("the key is")) {
			t.Errorf("hidden %v: %s, %v", hidden, got, err)
		}
	}
}
