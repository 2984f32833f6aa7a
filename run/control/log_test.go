package control_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"batch.example/batch/run/control"
)

// logged opens a new log with records.
func logged(t *testing.T, dir string, records ...any) *control.Log {
	t.Helper()
	l, err := control.OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		switch r := r.(type) {
		case control.Command:
			if r.ID == "" {
				r.ID = control.NewID()
			}
			_, err = l.Add(control.Record{Command: r})
		case control.Begin:
			err = l.Begin(r)
		case control.End:
			err = l.End(r)
		case string:
			err = l.Done(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func TestWhatIsInForce(t *testing.T) {
	dir := t.TempDir()
	logged(
		t, dir,
		control.Begin{PID: 1},
		control.Command{Verb: control.SetWidth, Width: 5},
		control.Command{Verb: control.SetBudget, Budget: 7},
		control.Command{Verb: control.Pause},
		control.Command{Verb: control.Cancel, Instance: "x/a"},
		control.Command{Verb: control.Cancel, Instance: "y/b"},
		control.Command{Verb: control.Requeue, Instance: "y/b", ID: "done"}, "done",
		control.Command{Verb: control.Requeue, Instance: "x/c", ID: "open"},
		control.Command{Verb: control.SetLimit, Instance: "x/a", Limit: control.Limit{"steps": 5, "cost": 2.0}},
		control.Command{Verb: control.SetLimit, Limit: control.Limit{"steps": 9}},
		control.Begin{PID: 2, Width: 3},
		control.Command{Verb: control.Say, Instance: "x/a", Text: "hello"},
	)
	h, err := control.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := h.InForce()
	if f.Width != 0 || f.Budget == nil || *f.Budget != 7 || h.Begun.PID != 2 || h.Ended != nil {
		t.Errorf("in force %+v, begun %+v", f, h.Begun)
	}
	x := f.Cell("x")
	if !reflect.DeepEqual(x.Canceled, []string{"a"}) || len(f.Cell("y").Canceled) != 0 {
		t.Errorf("canceled: %v", f.Canceled)
	}
	if len(f.Requeued) != 1 || len(x.Requeued) != 1 || x.Requeued[0].Instance != "c" || len(x.Said) != 1 || x.Said[0].Text != "hello" {
		t.Errorf("requeued %+v, said %+v", f.Requeued, x.Said)
	}
	if l := x.Of("a"); !maps.Equal(l, control.Limit{"steps": 9, "cost": 2}) || x.Of("other")["steps"] != 9 {
		t.Errorf("limits of x/a: %+v", l)
	}
}

// A requeue that was not carried out does not come back after a later one was.
func TestALaterRequeueReplacesAnEarlierOne(t *testing.T) {
	l := logged(
		t, t.TempDir(),
		control.Command{Verb: control.Requeue, Instance: "a", ID: "failed"},
		control.Command{Verb: control.Requeue, Instance: "a", ID: "second"},
		control.Command{Verb: control.Requeue, Instance: "b", ID: "open"},
	)
	if f := l.InForce(); len(f.Requeued) != 2 || f.Requeued[0].ID != "second" {
		t.Errorf("requeued: %+v", f.Requeued)
	}
	if err := l.Done("second"); err != nil {
		t.Fatal(err)
	}
	if f := l.InForce(); len(f.Requeued) != 1 || f.Requeued[0].ID != "open" {
		t.Errorf("after it was carried out: %+v", f.Requeued)
	}
}

// A retry requeues before its process begins, when the last one that began may have graded.
func TestARequeueAfterGradingIsInForce(t *testing.T) {
	l := logged(
		t, t.TempDir(),
		control.Begin{PID: 1, Kind: control.KindRun},
		control.Command{Verb: control.Cancel, Instance: "a"},
		control.End{PID: 1},
		control.Begin{PID: 2, Kind: control.KindGrade},
		control.Command{Verb: control.Cancel, Instance: "b"},
		control.End{PID: 2},
		control.Command{Verb: control.Requeue, Instance: "a", ID: "again"},
	)
	if f := l.InForce(); len(f.Canceled) != 0 || len(f.Requeued) != 1 || f.Requeued[0].ID != "again" {
		t.Errorf("in force %+v", f)
	}
}

func TestTheEndOfAProcess(t *testing.T) {
	dir := t.TempDir()
	if h, err := control.Read(dir); err != nil || h.Begun != nil {
		t.Errorf("without a file: %+v, %v", h, err)
	}
	logged(t, dir, control.Begin{PID: 1}, control.End{PID: 1, Code: 3})
	h, err := control.Read(dir)
	if err != nil || h.Ended == nil || h.Ended.Code != 3 {
		t.Errorf("ended: %+v, %v", h, err)
	}
	if info, err := os.Stat(filepath.Join(dir, control.LogName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log: %v, %v", info, err)
	}
}

// A crash while a command is written leaves a part of its record.
func TestATornCommandIsForgotten(t *testing.T) {
	dir := t.TempDir()
	logged(t, dir, control.Command{Verb: control.SetWidth, Width: 5}, control.Command{Verb: control.SetWidth, Width: 6})
	path := filepath.Join(dir, control.LogName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole[:len(whole)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	l := logged(t, dir, control.Command{Verb: control.Cancel, Instance: "a"})
	if f := l.InForce(); f.Width != 5 || len(f.Canceled) != 1 {
		t.Errorf("in force %+v", f)
	}
}

func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	l, err := control.OpenLog(dir)
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range []control.Command{
		{ID: "1", Verb: control.Say, Instance: "a", Text: "t"},
		{ID: "2", Verb: control.SetLimit, Limit: control.Limit{"steps": 1}},
	} {
		if _, err := l.Add(control.Record{Command: c}); err != nil {
			f.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, control.LogName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, control.LogName), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if h, err := control.Read(dir); err == nil {
			h.InForce().Cell("x")
		}
	})
}

func TestACellThatWorksAloneKeepsWhatItsSweepHas(t *testing.T) {
	sweep, cell := t.TempDir(), t.TempDir()
	logged(
		t, sweep,
		control.Command{Verb: control.SetBudget, Budget: 0.3},
		control.Command{Verb: control.SetLimit, Limit: control.Limit{"steps": 9}},
		control.Command{Verb: control.SetLimit, Instance: "x/a", Limit: control.Limit{"steps": 5}},
		control.Command{Verb: control.Cancel, Instance: "x/a"},
		control.Command{Verb: control.Cancel, Instance: "x/b"},
		control.Command{Verb: control.Cancel, Instance: "y/c"},
	)
	above, err := control.Read(sweep)
	if err != nil {
		t.Fatal(err)
	}
	l := logged(t, cell, control.Command{Verb: control.Requeue, Instance: "b"})
	l.Below(above.InForce().Cell("x"))
	f := l.InForce()
	if f.Budget == nil || *f.Budget != 0.3 || f.Of("a")["steps"] != 5 || f.Of("b")["steps"] != 9 || !reflect.DeepEqual(f.Canceled, []string{"a"}) {
		t.Errorf("in force: %+v, want the sweep's, and a canceled", f)
	}
	l = logged(t, cell, control.Command{Verb: control.SetBudget, Budget: 2}, control.Command{Verb: control.SetLimit, Limit: control.Limit{"steps": 3}})
	l.Below(above.InForce().Cell("x"))
	if f := l.InForce(); *f.Budget != 2 || f.Of("a")["steps"] != 3 {
		t.Errorf("in force: %+v, want what was said to the cell", f)
	}
}
