package results_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

func begin(t *testing.T, s *results.Store, id string) *results.Attempt {
	t.Helper()
	a, err := s.Begin(id, manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func resume(t *testing.T, s *results.Store, id string) (*results.Attempt, *journal.History) {
	t.Helper()
	a, h, err := s.Resume(id, manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return a, h
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// Every dollar of an attempt counts once, whatever its results record, and however often it
// is replaced, resumed and opened again.
func TestTheCostOfAResumedAttemptCountsOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	spent := func(when string, want float64) {
		t.Helper()
		if got := s.Spent(); !near(got, want) {
			t.Errorf("%s: spent %v, want %v", when, got, want)
		}
	}
	a := begin(t, s, "a")
	tell(t, a, journal.TypeRequest, request(1), journal.TypeReply, reply(1))
	spent("a reply", 0.5)
	r := result("a", "one")
	r.Record.Cost = 0.75
	end(t, s, a, r)
	spent("a result that says more", 0.75)
	again := result("a", "two")
	again.Record.Attempt, again.Record.Cost = 1, 0.5
	if _, err := s.Put(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	spent("another one in its place", 0.5)
	closeStore(t, s)
	s = open(t, dir)
	spent("opened again", 0.5)

	b := begin(t, s, "b")
	tell(t, b, journal.TypeRequest, request(1), journal.TypeLost, journal.LostData{Step: 1, Calls: 2, Cost: 0.25},
		journal.TypeReply, reply(1))
	spent("calls that were lost", 1.25)
	f := failed("b")
	f.Record.Cost, f.Record.Steps = 0.5, 1
	end(t, s, b, f)
	spent("the result of the rest", 1.25)
	b, h := resume(t, s, "b")
	if h == nil {
		t.Fatal("an attempt that ended by an infrastructure fault is not resumed")
	}
	spent("resumed", 1.25)
	tell(t, b, journal.TypeRequest, request(2), journal.TypeReply, reply(2))
	spent("a reply more", 1.75)
	closeStore(t, s)
	s = open(t, dir)
	spent("opened again after a crash", 1.75)
}

// A request that was running when the process ended may have been paid for, however the
// journal ends.
func TestACallUnderWayCountsWithItsReservation(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := begin(t, s, "a")
	tell(t, a, journal.TypeRequest, journal.RequestData{Step: 1, Reserved: 0.25})
	closeStore(t, s)
	s = open(t, dir)
	if got := s.Spent(); !near(got, 0.25) {
		t.Errorf("spent %v, want %v", got, 0.25)
	}
	a, _ = resume(t, s, "a")
	tell(t, a, journal.TypeRequest, journal.RequestData{Step: 1, Reserved: 0.25}, journal.TypeReply, reply(1))
	if got := s.Spent(); !near(got, 0.75) {
		t.Errorf("spent %v after the answer to a retry", got)
	}
}

// The fault decides what is resumed: after an instance's fault before any call there is
// nothing to keep, after a call the paid replies are kept.
func TestWhichAttemptsAreResumed(t *testing.T) {
	for name, c := range map[string]struct {
		outcome vocab.Outcome
		blame   fault.Kind
		steps   int
		want    bool
	}{
		"interrupted":                     {vocab.OutcomePending, fault.Unknown, 0, true},
		"a provider's fault":              {vocab.OutcomeInfrastructure, fault.Transient, 0, true},
		"the host's":                      {vocab.OutcomeInfrastructure, fault.Host, 0, true},
		"the instance's":                  {vocab.OutcomeInfrastructure, fault.Instance, 0, false},
		"the instance's, after one reply": {vocab.OutcomeInfrastructure, fault.Instance, 1, true},
		"diverged":                        {vocab.OutcomeDiverged, fault.Unknown, 3, false},
		"a limit":                         {vocab.OutcomeLimit, fault.Unknown, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			r := failed("a")
			r.Record.Outcome, r.Record.Blame, r.Record.Steps = c.outcome, c.blame.String(), c.steps
			put(t, s, r)
			for _, when := range []string{"in the same run", "in the next"} {
				if _, ok := s.Resumable("a"); ok != c.want {
					t.Errorf("%s: resumable %v, want ok %v", when, ok, c.want)
				}
				closeStore(t, s)
				s = open(t, dir)
			}
			if _, h := resume(t, s, "a"); (h != nil) != c.want {
				t.Errorf("history %+v, want h != nil: %v", h, c.want)
			}
		})
	}
}

func TestAnAttemptWithOtherSettingsIsNotResumed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	under := manifest.Settings{Model: "m", Row: "1", Config: map[string]any{"agent": map[string]any{"step_limit": 5}}}
	a, err := s.Begin("a", under)
	if err != nil {
		t.Fatal(err)
	}
	tell(t, a, twoSteps...)
	closeStore(t, s)
	s = open(t, dir)
	made, ok := s.Resumable("a")
	if !ok || made.Model != "m" || len(under.Differences(made)) > 0 {
		t.Fatalf("made under %+v, %v; want ok true, model %q, no differences", made, ok, "m")
	}
	other := under
	other.Row = "2"
	a, h, err := s.Resume("a", other)
	if err != nil || h != nil || a.Number() != 2 {
		t.Errorf("resumed with other settings: attempt %d, %+v, %v", a.Number(), h, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if made, ok := s.Resumable("a"); !ok || made.Row != "2" {
		t.Errorf("then made under %+v, %v; want ok true, row %q", made, ok, "2")
	}
	if a, h, err := s.Resume("a", other); err != nil || h == nil || a.Number() != 2 {
		t.Errorf("the same ones: %+v, %v; want a history, number 2, no error", h, err)
	}
}

// A format error after the last request happens again at each resume.
func TestFormatErrorsCountOnceOverCrashes(t *testing.T) {
	dir := t.TempDir()
	wrong := []any{journal.TypeInterrupt, journal.InterruptData{Step: 1, Name: "FormatError"}, journal.TypeMessages, says("form!")}
	s := open(t, dir)
	a := begin(t, s, "a")
	tell(t, a, journal.TypeContainer, container, journal.TypeRequest, request(1), journal.TypeReply, reply(1))
	tell(t, a, wrong...)
	for range 3 {
		closeStore(t, s)
		s = open(t, dir)
		var h *journal.History
		if a, h = resume(t, s, "a"); h.FormatErrors != 0 {
			t.Errorf("%d format errors before the first request, want 0", h.FormatErrors)
		}
		tell(t, a, wrong...)
	}
	tell(t, a, journal.TypeRequest, request(2), journal.TypeReply, reply(2))
	h, err := s.History("a")
	if err != nil || h.FormatErrors != 1 || len(h.Messages) != 1 {
		t.Fatalf("%d format errors, %d messages, want one of each: %v", h.FormatErrors, len(h.Messages), err)
	}
	tell(t, a, journal.TypeInterrupt, journal.InterruptData{Step: 2, Name: "Other"}, journal.TypeRequest, request(3), journal.TypeReply, reply(3))
	if h, err = s.History("a"); err != nil || h.FormatErrors != 1 {
		t.Errorf("%d format errors after an interrupt of another name, %v", h.FormatErrors, err)
	}
	tell(t, a, journal.TypeAction, action(3, "a"), journal.TypeOutput, output(3, "A"), journal.TypeRequest, request(4))
	if h, err = s.History("a"); err != nil || h.FormatErrors != 0 {
		t.Errorf("%d format errors in a row after an action, %v", h.FormatErrors, err)
	}
}

// Elapsed counts the time of work: between records while there is a container, but
// not while a call waits, and not while no process runs.
func TestElapsedCountsOnlyTheTimeOfWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, dir)
		a := begin(t, s, "a")
		after := func(d time.Duration, records ...any) {
			t.Helper()
			time.Sleep(d)
			tell(t, a, records...)
		}
		elapsed := func(when string, want time.Duration) {
			t.Helper()
			if h, err := s.History("a"); err != nil || h.Elapsed != want {
				t.Errorf("%s: %v, %v, want %v", when, h.Elapsed, err, want)
			}
		}
		after(time.Hour, journal.TypeContainer, container)
		elapsed("until the container is there", 0)
		after(time.Second, journal.TypeRequest, request(1))
		waited := reply(1)
		waited.Waited = 7
		after(10*time.Second, journal.TypeReply, waited)
		elapsed("a call of 10 s, 7 of them waiting", 4*time.Second)
		after(30*time.Second, journal.TypeAction, action(1, "a"))
		ran := output(1, "A")
		ran.Seconds = 1000
		after(1000*time.Second, journal.TypeOutput, ran)
		elapsed("a command", 1034*time.Second)
		after(time.Second, journal.TypeRequest, request(2))
		after(time.Hour, journal.TypeLost, journal.LostData{Step: 2, Calls: 1})
		after(time.Hour, journal.TypeResume, map[string]string{"owner": "x"})
		after(time.Hour, journal.TypeContainer, container)
		elapsed("a call without an answer, and the time until the next container", 1035*time.Second)
		after(time.Second, journal.TypeDifference, journal.DifferenceData{Step: 1})
		after(time.Hour, journal.TypeContainer, container)
		after(2*time.Second, journal.TypeRequest, request(2))
		after(time.Hour, journal.TypeRequest, request(2))
		after(3*time.Second, journal.TypeLost, journal.LostData{Step: 2, Calls: 1})
		after(3*time.Second, journal.TypeReply, reply(2))
		elapsed("after a replay", 1035*time.Second+2*time.Second+6*time.Second)
		after(time.Hour, journal.TypeResume, map[string]string{"owner": "x"})
		after(time.Hour, journal.TypeRequest, request(3))
		after(10*time.Second, journal.TypeReply, reply(3))
		after(time.Hour, journal.TypeContainer, container)
		after(30*time.Second, journal.TypeAction, action(1, "a"))
		elapsed("a call before the container is ready", 1035*time.Second+2*time.Second+6*time.Second+40*time.Second)
		closeStore(t, s)
	})
}

func TestAHistoryOfADamagedAttemptIsRefused(t *testing.T) {
	told := t.TempDir()
	running := open(t, told)
	tell(t, begin(t, running, "a"), twoSteps...)
	lines := strings.SplitAfter(read(t, told, "a", "journal.jsonl"), "\n") // attempt container messages request reply messages ...
	for name, c := range map[string]struct {
		text, want string
	}{
		"a record is missing":           {strings.Join(lines[:5], "") + lines[6], "record 7 follows record 5"},
		"a record is damaged":           {strings.Join(lines[:4], "") + strings.Replace(lines[4], "cost", "tsoc", 1) + lines[5], "after number 4 is damaged"},
		"its first record is damaged":   {strings.Replace(lines[0], "owner", "renwo", 1) + lines[1], "after number 0 is damaged"},
		"no request is before a record": {read(t, journalled(t, t.TempDir(), 3)), "there is no request before it"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, c.text, dir, "a", "journal.jsonl")
			_, err := journal.ReadHistory(filepath.Join(dir, "a", "journal.jsonl"))
			if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "journal.jsonl") {
				t.Errorf("got %v (%v); want an Instance fault with %q, with %q", err, fault.KindOf(err), c.want, "journal.jsonl")
			}
		})
	}
	s := open(t, t.TempDir())
	if _, err := s.History("../x"); fault.KindOf(err) != fault.Instance {
		t.Errorf("an id that leads out of the directory: %v", err)
	}
	dir := t.TempDir()
	write(t, "torn", dir, "a", "journal.jsonl")
	if _, err := journal.ReadHistory(filepath.Join(dir, "a", "journal.jsonl")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a whole record: %v, want error %v", err, fs.ErrNotExist)
	}
}

// An attempt's first record has its settings: without it nothing could be resumed, and a
// run must not begin a new attempt instead.
func TestADirectoryWhoseAttemptCannotBeReadIsNotOpened(t *testing.T) {
	for name, ended := range map[string]bool{"ended by a fault": true, "broken off": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			a := begin(t, s, "a")
			tell(t, a, twoSteps...)
			if ended {
				end(t, s, a, failed("a"))
			}
			closeStore(t, s)
			path := filepath.Join(dir, "a", "journal.jsonl")
			write(t, strings.Replace(read(t, path), `"owner"`, `"renwo"`, 1), path)
			if _, err := results.Open(dir, results.Options{}); fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "no valid record at byte 0") {
				t.Errorf("got %v (%v); want an Instance fault with %q, with %q",
					err, fault.KindOf(err), path, "no valid record at byte 0")
			}
			snap, err := results.Read(dir)
			if fault.KindOf(err) != fault.Usage && (snap == nil || len(snap.Notes) == 0) {
				t.Errorf("read: %+v, %v", snap, err)
			}
		})
	}
}

func TestAResetAttemptIsNotResumed(t *testing.T) {
	for _, unfinished := range []bool{false, true} {
		dir := t.TempDir()
		s := open(t, dir)
		a := begin(t, s, "a")
		tell(t, a, twoSteps...)
		closeStore(t, s)
		s = open(t, dir)
		if err := s.Reset([]string{"a", "absent"}, unfinished); err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"at once", "opened again"} {
			if _, ok := s.Resumable("a"); ok == unfinished {
				t.Errorf("unfinished %v, %s: resumable %v; want ok other than %v", unfinished, when, ok, unfinished)
			}
			if rs := s.Records(); len(rs) != 1 || rs[0].Steps != 2 || !near(s.Spent(), 1) {
				t.Errorf("unfinished %v, %s: %+v, spent %v; want 1 record, steps 2, spent %v", unfinished, when, rs, s.Spent(), 1)
			}
			closeStore(t, s)
			s = open(t, dir)
		}
		if a, h := resume(t, s, "a"); (h == nil) != unfinished || (a.Number() == 2) != unfinished {
			t.Errorf("unfinished %v: attempt %d, history %v; want h == nil: %v, a.Number() == 2: %v",
				unfinished, a.Number(), h != nil, unfinished, unfinished)
		}
	}
}

func TestRestoredPredictionsAreInTheOrderOfTheirEnd(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	ids := []string{"d", "a", "c", "b"}
	for _, id := range ids {
		put(t, s, result(id, id))
	}
	closeStore(t, s)
	write(t, "{}", dir, "preds.json")
	closeStore(t, open(t, dir))
	text, at := read(t, dir, "preds.json"), -1
	for _, id := range ids {
		next := strings.Index(text, `"`+id+`": {`)
		if next <= at {
			t.Fatalf("%s is out of order:\n%s", id, text)
		}
		at = next
	}
}

// preds.json is always rewritten as a whole: an attempt that changes nothing in it must not do so.
func TestAnAttemptWithoutAPredictionBeforeItWritesNone(t *testing.T) {
	dir := t.TempDir()
	s, err := results.Open(dir, results.Options{FlushEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	a := begin(t, s, "a")
	if _, err := os.Stat(filepath.Join(dir, "preds.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("preds.json: %v, want error %v", err, fs.ErrNotExist)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	closeStore(t, s)
}

func TestATrajectoryAlwaysHasItsConfig(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, failed("a"))
	var trajectory struct{ Info map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(read(t, dir, "a", "a.traj.json")), &trajectory); err != nil {
		t.Fatal(err)
	}
	if got := string(trajectory.Info["config"]); got != "{}" {
		t.Errorf("config %s, want an object: mini-swe-agent reads keys of it", got)
	}
}

// A template shows a float of Python with its point, so a trajectory's config must have it too.
func TestATrajectoryHasTheCostLimitAsAFloat(t *testing.T) {
	for limit, want := range map[float64]string{3: "3.0", 0: "0.0", 2.5: "2.5"} {
		dir := t.TempDir()
		s := open(t, dir)
		config := map[string]any{"agent": map[string]any{"cost_limit": limit, "step_limit": 250}}
		a, err := s.Begin("a", manifest.Settings{Config: config})
		if err != nil {
			t.Fatal(err)
		}
		end(t, s, a, failed("a"))
		text := read(t, dir, "a", "a.traj.json")
		if !strings.Contains(text, `"cost_limit": `+want+",") || !strings.Contains(text, `"step_limit": 250`) {
			t.Errorf("a limit of %g: the config should have %s as the cost limit, and a whole step limit:\n%s", limit, want, text)
		}
	}
}
