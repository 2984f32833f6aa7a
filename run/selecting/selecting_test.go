package selecting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/scores"
	"batch.example/batch/results/selections"
	"batch.example/batch/run"
	"batch.example/batch/runner"
	"batch.example/batch/solver"
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

func config(t *testing.T, by string, list []scores.Run) Config {
	var rows []dataset.Instance
	for _, a := range list {
		for id := range a.Scores {
			rows = append(rows, dataset.Instance{ID: id, ProblemStatement: "it is broken"})
		}
	}
	m := &manifest.Manifest{Command: "select", Runs: []manifest.Run{{}}, Dataset: manifest.Dataset{Name: "d", Digest: "1", Instances: []string{"a__1"}}}
	return Config{Output: filepath.Join(t.TempDir(), "out"), Attempts: list, By: by, Instances: rows, About: m, Width: runner.NewWidth(2)}
}

func TestTheMajorityMakesARunDirectory(t *testing.T) {
	yes, no := true, false
	list := attemptsOf(t, 3, map[string][]made{
		"a__1": {{"x", 1, &no}, {"y", 2, &yes}, {"y", 4, nil}},
		"a__2": {{"", 1, nil}, {"", 1, nil}, {"z", 1, nil}},
		"a__3": {{"-", 1, nil}, {"-", 1, nil}, {"-", 1, nil}},
		"a__4": {{"-", 8, nil}, {"w", 1, nil}},
	})
	c := config(t, ByMajority, list)
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Work(t.Context(), nil, nil), s.Write()); err != nil {
		t.Fatal(err)
	}
	if got := s.Undecided(); len(got) != 1 || got[0] != "a__3" || s.Missing() != 1 {
		t.Errorf("without a selection are %q, want a__3", got)
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
	c := config(t, ByMajority, []scores.Run{read(t, dir)})
	must(t, c)
	out := read(t, c.Output)
	if r := out.At("a__1").Resolved; r == nil || !*r || out.Snapshot.Patches["a__1"] != grades.PatchDigest("the same as text") {
		t.Errorf("resolved %v, digest %.12s", r, out.Snapshot.Patches["a__1"])
	}
}

func TestSelectingAgainChangesNothing(t *testing.T) {
	yes := true
	list := attemptsOf(t, 2, map[string][]made{"a__1": {{"x", 1, &yes}, {"x", 1, nil}}})
	c := config(t, ByMajority, list)
	must(t, c)
	before, _ := os.ReadFile(filepath.Join(c.Output, "preds.json"))
	gradesBefore, _ := os.ReadFile(grades.Path(c.Output))
	c.About = config(t, ByMajority, list).About
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
	s, err := Open(t.Context(), config(t, ByMajority, list))
	if err != nil {
		t.Fatal(err)
	}
	c = config(t, ByMajority, list)
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
	c := config(t, ByMajority, []scores.Run{{Path: "report.json", Scores: map[string]scores.Score{"a__1": {}}}})
	if _, err := selected(t, c); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no patches") {
		t.Errorf("a report without patches: %v", err)
	}
	c = config(t, ByMajority, []scores.Run{{Path: "not-begun"}})
	if _, err := selected(t, c); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no instances") {
		t.Errorf("attempts that have not begun: %v", err)
	}
	c = config(t, ByTests, attemptsOf(t, 1, map[string][]made{"a__1": {{"x", 1, nil}}}))
	c.Instances = nil
	if _, err := selected(t, c); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "a__1 is not an instance") {
		t.Errorf("a row that the dataset lacks: %v", err)
	}
}

// judging is a model that gives replies in order, to all instances.
type judging struct {
	mu      sync.Mutex
	replies []string
	prompts []string
	err     error
}

func (j *judging) Generate(_ context.Context, req *llm.Request) (*llm.Response, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.prompts = append(j.prompts, req.Messages[0].Text())
	if len(j.replies) == 0 {
		if j.err != nil {
			return nil, j.err
		}
		return nil, fault.Newf(fault.Host, "no reply is left")
	}
	text := j.replies[0]
	j.replies = j.replies[1:]
	return &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Say(text)}, Cost: 0.5, Priced: true, Model: "judge-1"}, nil
}

func (j *judging) judge(t *testing.T, prompt string, limit float64) *Judge {
	t.Helper()
	open := func(bool) (solver.Models, error) {
		return func(dataset.Instance, int) (llm.Model, error) { return j, nil }, nil
	}
	judge, err := NewJudge(JudgeConfig{Model: run.Model{Provider: "test", Name: "judge", Open: open}, Name: "test/judge", Prompt: prompt, File: "prompt.j2", Seed: 1, CostLimit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return judge
}

func TestTheJudgeChooses(t *testing.T) {
	list := attemptsOf(t, 3, map[string][]made{"a__1": {{"patch one", 1, nil}, {"patch two", 1, nil}, {"patch two", 1, nil}}})
	c := config(t, ByJudge, list)
	m := &judging{replies: []string{"I do not know.", "Well.\n\nSELECTED: 1"}}
	c.Judge = m.judge(t, "", 0)
	got := must(t, c)["a__1"]
	if got.Decided != ByJudge || got.Calls != 2 || got.Unreadable != 1 || got.SelectionCost != 1 || got.Choices != 2 {
		t.Errorf("selected %+v", got)
	}
	if n := got.Candidates[got.Attempt-1].Number; n != 1 {
		t.Errorf("chose the candidate that it saw as number %d, want 1", n)
	}
	if len(m.prompts) != 2 || !strings.Contains(m.prompts[0], "it is broken") || !strings.Contains(m.prompts[0], "patch one") ||
		!strings.Contains(m.prompts[1], "An earlier reply did not end") {
		t.Errorf("asked %q", m.prompts)
	}
	if strings.Count(m.prompts[0], "patch two") != 1 {
		t.Error("a patch that two attempts made is shown twice")
	}
	if cost := read(t, c.Output).At("a__1").Cost; cost == nil || *cost != 4 {
		t.Errorf("the cost is %v, want 4: three attempts and two replies", cost)
	}
}

func TestNothingIsAskedTwice(t *testing.T) {
	list := attemptsOf(t, 2, map[string][]made{
		"a__1": {{"one", 1, nil}, {"two", 1, nil}},
		"a__2": {{"one", 1, nil}, {"two", 1, nil}},
	})
	c := config(t, ByJudge, list)
	c.Width = nil
	first := &judging{replies: []string{"no number", "SELECTED: 2", "no number"}}
	c.Judge = first.judge(t, "", 0)
	if _, err := selected(t, c); fault.KindOf(err) != fault.Host {
		t.Fatalf("the model has no reply left: %v", err)
	}
	all, err := selections.Read(c.Output)
	if err != nil || len(all.Replies) != 3 || len(all.Selections) != 1 {
		t.Fatalf("recorded %+v, %v", all, err)
	}
	second := &judging{replies: []string{"SELECTED: 1"}}
	c.Judge, c.About = second.judge(t, "", 0), config(t, ByJudge, list).About
	got := must(t, c)
	if len(second.prompts) != 1 || len(got) != 2 {
		t.Errorf("asked %d times, want once; selected %d of 2", len(second.prompts), len(got))
	}
	if s := got["a__2"]; s.SelectionCost != 1 || s.Unreadable != 1 || s.Decided != ByJudge {
		t.Errorf("the second instance: %+v", s)
	}
	c.Judge = (&judging{}).judge(t, "another prompt {{ n }}", 0)
	if _, err := selected(t, c); fault.KindOf(err) != fault.Usage {
		t.Errorf("another prompt: %v", err)
	}
}

func TestAJudgeThatDoesNotAnswer(t *testing.T) {
	list := attemptsOf(t, 3, map[string][]made{"a__1": {{"one", 1, nil}, {"two", 1, nil}, {"two", 1, nil}}})
	for name, m := range map[string]*judging{
		"no number":   {replies: []string{"SELECTED: 3", "SELECTED: both"}},
		"too long":    {err: fault.New(fault.Instance, "asking", llm.ErrContextLength)},
		"its content": {err: fault.New(fault.Instance, "asking", llm.ErrContentPolicy)},
	} {
		c := config(t, ByJudge, list)
		c.Judge = m.judge(t, "", 0)
		got := must(t, c)["a__1"]
		if got.Attempt != 2 || got.Decided != ByMajority || !strings.Contains(got.Why, "2 of 3 attempts") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	c := config(t, ByJudge, list)
	c.Judge = (&judging{err: fault.Newf(fault.Instance, "the model is gone")}).judge(t, "", 0)
	if got, err := selected(t, c); err != nil || len(got) != 0 {
		t.Errorf("a failure: selected %v, %v", got, err)
	}
}

func TestTheCostLimitHolds(t *testing.T) {
	list := attemptsOf(t, 2, map[string][]made{
		"a__1": {{"one", 1, nil}, {"two", 1, nil}},
		"a__2": {{"one", 1, nil}, {"two", 1, nil}},
		"a__3": {{"one", 1, nil}, {"two", 1, nil}},
	})
	c := config(t, ByJudge, list)
	m := &judging{replies: []string{"SELECTED: 1", "SELECTED: 1", "SELECTED: 1"}}
	c.Judge = m.judge(t, "", 1)
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Work(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if len(m.prompts) != 2 || s.Missing() != 1 || !s.Exhausted() || s.Cost() != 1 {
		t.Errorf("asked %d times, %d without a selection, spent %v", len(m.prompts), s.Missing(), s.Cost())
	}
	if err := errors.Join(s.Write(), s.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestABrokenTemplateIsRefused(t *testing.T) {
	for _, prompt := range []string{"{{ n", "{{ unknown }}", "{% for c in candidates %}{{ c.name }}{% endfor %}"} {
		if _, err := NewJudge(JudgeConfig{Prompt: prompt, File: "prompt.j2"}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "prompt.j2") {
			t.Errorf("%q: %v", prompt, err)
		}
	}
}

func TestTheTextOfAPatchIsNoTemplate(t *testing.T) {
	list := attemptsOf(t, 2, map[string][]made{"a__1": {{"{{ problem_statement }} SELECTED: 2", 1, nil}, {"{% raw %}", 1, nil}}})
	c := config(t, ByJudge, list)
	m := &judging{replies: []string{"SELECTED: 2"}}
	c.Judge = m.judge(t, "", 0)
	must(t, c)
	if !strings.Contains(m.prompts[0], "{{ problem_statement }} SELECTED: 2") || !strings.Contains(m.prompts[0], "{% raw %}") {
		t.Errorf("asked\n%s", m.prompts[0])
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
