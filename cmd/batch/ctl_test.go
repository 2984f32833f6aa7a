package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/control"
)

// obedient is work that carries out every command.
type obedient struct{ did []string }

func (o *obedient) Status(bool) control.Status { return control.Status{} }

func (o *obedient) Check(c control.Command) (control.Command, error) { return c, nil }

func (o *obedient) Apply(r control.Record) (string, error) {
	o.did = append(o.did, strings.TrimSpace(string(r.Verb)+" "+r.Instance))
	return "done", nil
}

func TestACommandToACellDoesNotChangeTheOthers(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Join("sweep", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("sweep", sweeps.File), []byte(`{"format_version":2,"cells":[{"folder":"x"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := control.OpenLog("sweep")
	if err != nil {
		t.Fatal(err)
	}
	var work obedient
	s, err := control.Serve("sweep", &work, file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, c := range []struct {
		dir, verb, args string
		refused         bool
	}{
		{"sweep/x", "stop", "", true},
		{"sweep/x", "width", "2", true},
		{"sweep/x", "limit", "step=3", true},
		{"sweep/x", "limit", "step=3 a", false},
		{"sweep/x", "cancel", "a", false},
		{"sweep/", "pause", "", false},
	} {
		a := &app{stdout: &bytes.Buffer{}}
		err := a.ctl(t.Context(), ctlFlags{}, c.dir, c.verb, strings.Fields(c.args))
		if c.refused && (fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "batch ctl sweep "+c.verb)) || !c.refused && err != nil {
			t.Errorf("%s %s %s: %v", c.dir, c.verb, c.args, err)
		}
	}
	if want := []string{"limit x/a", "cancel x/a", "pause"}; !slices.Equal(work.did, want) {
		t.Errorf("did %v, want %v", work.did, want)
	}
}

func TestAnAmountIsANumber(t *testing.T) {
	for _, c := range []struct {
		verb    control.Verb
		arg     string
		refused bool
	}{
		{control.SetBudget, "nan", true},
		{control.SetBudget, "inf", true},
		{control.SetBudget, "+Infinity", true},
		{control.SetBudget, "-1", true},
		{control.SetBudget, "+1.5", false},
		{control.SetLimit, "cost=inf", true},
		{control.SetLimit, "time=NaN", true},
		{control.SetLimit, "step=nan", true},
		{control.SetLimit, "time=30m", false},
		{control.SetLimit, "cost=0", false},
	} {
		_, err := commandsOf(c.verb, []string{c.arg})
		if c.refused && fault.KindOf(err) != fault.Usage || !c.refused && err != nil {
			t.Errorf("%s %s: %v", c.verb, c.arg, err)
		}
	}
}

func TestPsSaysTheWholeTimeAndWhatIsAnswered(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := control.Status{
		Kind: control.KindRun, State: control.Running, Started: now.Add(-time.Hour), Since: now.Add(-time.Hour), Now: now, PID: 7,
		Done: 1, Total: 2, Width: 2, Cost: 6, Held: 4, Budget: 20,
	}
	for since, want := range map[time.Duration]string{time.Hour: "run running (process 7)", 2 * time.Minute: "run running for 2:00 (process 7)"} {
		s.Since = now.Add(-since)
		var out strings.Builder
		want += ", elapsed 1:00:00: 1 of 2 done, 0 running, 2 at once, $6.00; up to $10.00 with calls of unknown cost, of a budget of $20.00\n"
		if err := writeStatus(&out, s); err != nil || out.String() != want {
			t.Errorf("got %q, %v, want %q", out.String(), err, want)
		}
	}
}

// A directory that only grading made cannot be resumed.
func TestAHintContinuesTheLastWork(t *testing.T) {
	for kind, want := range map[string]string{control.KindRun: "`batch resume ", control.KindGrade: "`batch grade "} {
		dir := t.TempDir()
		log, err := control.OpenLog(dir)
		if err == nil {
			err = log.Begin(control.Begin{Kind: kind, PID: 1})
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{verbWait, verbPs} {
			err := (&app{stdout: &bytes.Buffer{}}).ctl(t.Context(), ctlFlags{}, dir, verb, nil)
			if hint := fault.HintOf(err); !strings.Contains(hint, want+dir+"` continues it") {
				t.Errorf("%s, %s: %v, hint %q", kind, verb, err, hint)
			}
		}
	}
}
