package selecting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/scores"
	"batch.example/batch/results/selections"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// made is the result of an attempt at an instance; the patch "-" is an infrastructure failure.
type made struct {
	patch    string
	cost     float64
	resolved *bool
}

// attemptsOf makes a run directory for each attempt, from the attempts' results at each
// instance.
func attemptsOf(t *testing.T, n int, all map[string][]made) []scores.Run {
	t.Helper()
	var list []scores.Run
	for i := range n {
		dir := filepath.Join(t.TempDir(), fmt.Sprintf("attempt-%d", i+1))
		s, err := results.Open(dir, results.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for id, attempts := range all {
			if i < len(attempts) {
				put(t, s, id, attempts[i])
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		list = append(list, read(t, dir))
	}
	return list
}

func put(t *testing.T, s *results.Store, id string, m made) {
	t.Helper()
	r := &results.Result{Record: results.Record{
		InstanceID: id, Repo: "a/b", Status: "Submitted", Outcome: vocab.OutcomeSubmitted, Model: "m/one", Steps: 2, Cost: m.cost,
	}}
	if m.patch == "-" {
		r.Record.Status, r.Record.Outcome, r.Record.Blame = "TransientFault", vocab.OutcomeInfrastructure, "transient"
	} else {
		r.Submission, r.Prediction = []byte(m.patch), m.patch
	}
	if _, err := s.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if m.resolved == nil {
		return
	}
	log, err := s.Grades()
	if err != nil {
		t.Fatal(err)
	}
	v := vocab.VerdictUnresolved
	if *m.resolved {
		v = vocab.VerdictResolved
	}
	g := grades.Grade{InstanceID: id, Attempt: 1, Model: "m/one", Patch: grades.PatchDigest(m.patch), Verdict: v, Log: "logs/x"}
	if err := log.Add(g); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir string) scores.Run {
	t.Helper()
	list, err := scores.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return list[0].Runs[0]
}

// selected opens, works, writes and closes, and returns the selections by instance.
func selected(t *testing.T, c Config) (map[string]selections.Selection, error) {
	t.Helper()
	s, err := Open(t.Context(), c)
	if err != nil {
		return nil, err
	}
	err = errors.Join(s.Work(t.Context(), nil, nil), s.Write())
	all := map[string]selections.Selection{}
	for _, one := range s.Selections() {
		all[one.InstanceID] = one
	}
	return all, errors.Join(err, s.Close())
}

func must(t *testing.T, c Config) map[string]selections.Selection {
	t.Helper()
	all, err := selected(t, c)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func config(t *testing.T, list []scores.Run) Config {
	var rows []dataset.Instance
	for _, a := range list {
		for id := range a.Scores {
			rows = append(rows, dataset.Instance{ID: id, ProblemStatement: "it is broken"})
		}
	}
	m := &manifest.Manifest{Command: "select", Runs: []manifest.Run{{}}, Dataset: manifest.Dataset{Name: "d", Digest: "1", Instances: []string{"a__1"}}}
	return Config{Output: filepath.Join(t.TempDir(), "out"), Attempts: list, Instances: rows, About: m, Width: runner.NewWidth(2)}
}

func TestTheMajorityMakesARunDirectory(t *testing.T) {
	yes, no := true, false
	list := attemptsOf(t, 3, map[string][]made{
		"a__1": {{"x", 1, &no}, {"y", 2, &yes}, {"y", 4, nil}},
		"a__2": {{"", 1, nil}, {"", 1, nil}, {"z", 1, nil}},
		"a__3": {{"-", 1, nil}, {"-", 1, nil}, {"-", 1, nil}},
		"a__4": {{"-", 8, nil}, {"w", 1, nil}},
	})
	c := config(t, list)
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Work(t.Context(), nil, nil), s.Write()); err != nil {
		t.Fatal(err)
	}
	if got := s.Missing(); got != 1 {
		t.Errorf("%d without a selection, want 1", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	out := read(t, c.Output)
	for id, want := range map[string]struct {
		patch string
		cost  float64
		steps int
	}{"a__1": {"y", 7, 6}, "a__2": {"z", 3, 6}, "a__4": {"w", 9, 4}} {
		if got := out.Snapshot.Patches[id]; got != grades.PatchDigest(want.patch) {
			t.Errorf("%s: chose another patch than %q", id, want.patch)
		}
		score := out.At(id)
		if score.Cost == nil || *score.Cost != want.cost || *score.Steps != want.steps {
			t.Errorf("%s: the cost is %v, want the cost of all attempts, %v and %d steps", id, score.Cost, want.cost, want.steps)
		}
	}
	if r := out.At("a__1").Resolved; r == nil || !*r {
		t.Error("the grade of the chosen patch was not copied")
	}
	if r := out.At("a__2").Resolved; r != nil {
		t.Error("a patch without a grade has one")
	}
	if _, there := out.Snapshot.Patches["a__3"]; there {
		t.Error("an instance without candidates has a prediction")
	}
}

func TestAPatchThatIsNotTextKeepsItsGrade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "attempt")
	s, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &results.Result{Record: results.Record{InstanceID: "a__1", Status: "Submitted", Outcome: vocab.OutcomeSubmitted, Model: "m"}}
	r.Submission, r.Prediction = []byte("bytes \xff"), "the same as text"
	_, err = s.Put(t.Context(), r)
	log, failed := s.Grades()
	if err = errors.Join(err, failed); err == nil {
		err = log.Add(grades.Grade{InstanceID: "a__1", Attempt: 1, Patch: grades.PatchDigest("the same as text"), Verdict: vocab.VerdictResolved})
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	c := config(t, []scores.Run{read(t, dir)})
	must(t, c)
	out := read(t, c.Output)
	if r := out.At("a__1").Resolved; r == nil || !*r || out.Snapshot.Patches["a__1"] != grades.PatchDigest("the same as text") {
		t.Errorf("resolved %v, digest %.12s", r, out.Snapshot.Patches["a__1"])
	}
}

func TestSelectingAgainChangesNothing(t *testing.T) {
	yes := true
	list := attemptsOf(t, 2, map[string][]made{"a__1": {{"x", 1, &yes}, {"x", 1, nil}}})
	c := config(t, list)
	must(t, c)
	before, _ := os.ReadFile(filepath.Join(c.Output, "preds.json"))
	gradesBefore, _ := os.ReadFile(grades.Path(c.Output))
	c.About = config(t, list).About
	must(t, c)
	after, _ := os.ReadFile(filepath.Join(c.Output, "preds.json"))
	gradesAfter, _ := os.ReadFile(grades.Path(c.Output))
	if string(before) != string(after) || string(gradesBefore) != string(gradesAfter) || len(gradesBefore) == 0 {
		t.Error("selecting again changed the predictions or the grades")
	}

	c.Attempts = attemptsOf(t, 2, map[string][]made{"a__1": {{"x", 1, nil}, {"other", 1, nil}}})
	if _, err := selected(t, c); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "other candidates") {
		t.Errorf("other candidates: %v", err)
	}
	c.Output = list[0].Path
	if _, err := selected(t, c); fault.KindOf(err) != fault.Usage {
		t.Errorf("into a run's directory: %v", err)
	}
	s, err := Open(t.Context(), config(t, list))
	if err != nil {
		t.Fatal(err)
	}
	c = config(t, list)
	c.Output = s.Output
	_, err = selected(t, c)
	if _, locked := errors.AsType[*results.LockedError](err); !locked {
		t.Errorf("a directory that is in use: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatCannotBeSelectedFrom(t *testing.T) {
	c := config(t, []scores.Run{{Path: "report.json", Scores: map[string]scores.Score{"a__1": {}}}})
	if _, err := selected(t, c); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no patches") {
		t.Errorf("a report without patches: %v", err)
	}
	c = config(t, []scores.Run{{Path: "not-begun"}})
	if _, err := selected(t, c); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no instances") {
		t.Errorf("attempts that have not begun: %v", err)
	}
	c = config(t, attemptsOf(t, 1, map[string][]made{"a__1": {{"x", 1, nil}}}))
	c.Program, c.Instances = aProgram(t, "echo 1", time.Minute), nil
	if _, err := selected(t, c); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "a__1 is not an instance") {
		t.Errorf("a row that the dataset lacks: %v", err)
	}
}

// program makes an executable of a script.
func aProgram(t *testing.T, script string, timeout time.Duration) *Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "choose")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := NewProgram(path, []string{"PATH=" + os.Getenv("PATH"), "DIR=" + filepath.Dir(path)}, timeout)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAProgramChooses(t *testing.T) {
	list := attemptsOf(t, 3, map[string][]made{
		"a__1": {{"patch one", 1, nil}, {"patch two", 1, nil}, {"patch two", 1, nil}},
		"a__2": {{"same", 1, nil}, {"same", 1, nil}, {"", 1, nil}}, // nothing to choose
	})
	c := config(t, list)
	c.Program = aProgram(t, "cat >$DIR/asked; echo thinking >&2; env >$DIR/env; echo 2", time.Minute)
	got := must(t, c)
	one := got["a__1"]
	if one.By != ByProgram || one.Decided != ByProgram || one.Attempt != 1 || one.Choices != 2 || one.Stderr != "thinking\n" || len(one.Program) != 64 || !strings.HasSuffix(one.Why, "choose chose candidate 2 of 2") {
		t.Errorf("selected %+v", one)
	}
	if two := got["a__2"]; two.Decided != ByMajority || two.Attempt != 1 || two.Program != "" {
		t.Errorf("nothing to choose: selected %+v", two)
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(c.Program.path), "asked"))
	var q question
	if err != nil || json.Unmarshal(text, &q) != nil {
		t.Fatalf("it read %q, %v", text, err)
	}
	want := question{InstanceID: "a__1", ProblemStatement: "it is broken", Image: q.Image, Candidates: []option{
		{1, []int{2, 3}, "patch two", grades.PatchDigest("patch two")}, {2, []int{1}, "patch one", grades.PatchDigest("patch one")},
	}}
	if d := cmp.Diff(want, q); d != "" {
		t.Errorf("it read (-want +got):\n%s", d)
	}
	if env, err := os.ReadFile(filepath.Join(filepath.Dir(c.Program.path), "env")); err != nil || !strings.Contains(string(env), "DIR=") || strings.Contains(string(env), "HOME=") {
		t.Errorf("its environment is %s, %v", env, err)
	}
	if cost := read(t, c.Output).At("a__1").Cost; cost == nil || *cost != 3 {
		t.Errorf("the cost is %v, want 3, of the three attempts", cost)
	}
}

func TestAProgramIsAskedOnce(t *testing.T) {
	list := attemptsOf(t, 2, map[string][]made{"a__1": {{"one", 1, nil}, {"two", 1, nil}}, "a__2": {{"one", 1, nil}, {"two", 1, nil}}})
	c := config(t, list)
	c.Width = nil
	c.Program = aProgram(t, "echo x >>$DIR/asked; grep -q a__1 && echo 1", time.Minute) // fails at the second one
	if got := must(t, c); len(got) != 1 {
		t.Fatalf("selected %v", got)
	}
	c.About = config(t, list).About
	got := must(t, c)
	if text, err := os.ReadFile(filepath.Join(filepath.Dir(c.Program.path), "asked")); err != nil || string(text) != "x\nx\nx\n" || len(got) != 1 {
		t.Errorf("asked %q, %v; want the instance that has none again, and not the other", text, err)
	}
	c.Program = aProgram(t, "echo 2", time.Minute)
	if _, err := selected(t, c); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "other settings") {
		t.Errorf("another program: %v", err)
	}
}

func TestAProgramThatFails(t *testing.T) {
	q := question{InstanceID: "a__1", Candidates: []option{{Number: 1}, {Number: 2, Patch: strings.Repeat("x", 1<<20)}}}
	for script, says := range map[string]string{
		"exit 3":                       "exit status 3",
		"echo gone >&2; exit 1":        "it wrote: gone",
		"":                             `printed "", expected a number from 1 to 2`,
		"echo 0":                       `printed "0"`,
		"echo 3":                       `printed "3"`,
		"echo 1.5":                     `printed "1.5"`,
		"echo NaN":                     `printed "NaN"`,
		"echo 1 2":                     `printed "1 2"`,
		"echo 99999999999999999999999": "expected a number",
		"yes 1 | head -c 10000000":     "it printed more than 4096 bytes",
		"kill -9 $$":                   "killed",
		"sleep 600":                    "took longer than 1s",
		"sleep 600 & sleep 600":        "took longer than 1s",
		"trap '' TERM; while :; do sleep 1; done": "took longer than 1s",
	} {
		p := aProgram(t, script+"\n", time.Minute)
		if strings.Contains(says, "longer") {
			p.Timeout = time.Second
		}
		began := time.Now()
		if n, _, err := p.ask(t.Context(), q); fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "a__1") {
			t.Errorf("%s: %d, %v; want an Instance fault with %q", script, n, err, says)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: it took %v", script, took)
		}
	}
	for script, want := range map[string]int{"echo 2": 2, "printf ' 1\\n\\n'": 1, "exec cat >/dev/null & echo 2": 2, "sleep 600 & echo 1": 1} {
		if n, _, err := aProgram(t, script+"\n", time.Minute).ask(t.Context(), q); err != nil || n != want {
			t.Errorf("%s: %d, %v; want %d", script, n, err, want)
		}
	}
	p := aProgram(t, "sleep 600 & echo $! >$DIR/pid; wait", time.Minute)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	go func() {
		for {
			if text, err := os.ReadFile(filepath.Join(filepath.Dir(p.path), "pid")); err == nil && len(text) > 1 {
				cancel(why)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if _, _, err := p.ask(ctx, q); !errors.Is(err, why) {
		t.Errorf("canceled: %v", err)
	}
	text, _ := os.ReadFile(filepath.Join(filepath.Dir(p.path), "pid"))
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); syscall.Kill(child, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what the program started still runs")
		}
	}
}

func TestProgramsThatCannotRun(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "plain")
	if err := os.WriteFile(file, []byte("echo 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"no-such-program-x", file, dir, filepath.Join(dir, "none")} {
		if _, err := NewProgram(name, nil, time.Minute); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v (%s)", name, err, fault.HintOf(err))
		}
	}
}

func TestATrajectoryKeepsWhatItHas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.json")
	text := `{"info":{"exit_status":"Submitted","model_stats":{"instance_cost":1,"api_calls":2},"x":12345678901234567890},"messages":[{"role":"user","content":"<b>"}],"trajectory_format":"mini-swe-agent-1.1"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := trajectory(path, results.ModelStats{Cost: 5, Calls: 9}, &selections.Selection{Attempt: 2})
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Info struct {
			Stats results.ModelStats `json:"model_stats"`
			X     json.Number        `json:"x"`
		} `json:"info"`
		Messages []struct{ Content string }
	}
	if err := json.Unmarshal(got, &read); err != nil {
		t.Fatal(err)
	}
	if read.Info.Stats != (results.ModelStats{Cost: 5, Calls: 9}) || read.Info.X != "12345678901234567890" || read.Messages[0].Content != "<b>" {
		t.Errorf("wrote %s", got)
	}
	for _, broken := range []string{"", "[]", `{"info":null}`, `{"info":{}`} {
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := trajectory(path, results.ModelStats{}, &selections.Selection{}); got != nil || err != nil {
			t.Errorf("%q: %q, %v", broken, got, err)
		}
	}
}
