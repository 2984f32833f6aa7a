package attempt_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/agent"
	"batch.example/batch/agent/mcp"
	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/sample"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// world is a sandbox in which the output of a command depends on all commands that ran
// before it, so that one that ran twice, or not at all, is detected. It knows its
// commands by their ids, as a container does.
type world struct {
	bare
	ran     []string
	ids     []string // that were requested, in order
	known   map[string]result
	adopted bool
	forgets bool // commands print something else than the first time
	later   bool // outputs contain another time
	ruined  bool // no command can be executed any more
	fragile bool // the second command destroys it
	image   string
	takes   time.Duration
}

// result is the end of a command.
type result struct {
	command string
	out     vocab.Output
	err     error
}

func (w *world) Execute(_ context.Context, id, command string) (vocab.Output, error) {
	if id == "" {
		return w.run(command)
	}
	w.ids = append(w.ids, id)
	if r, known := w.known[id]; known {
		if r.command != command {
			return vocab.Output{}, fault.Newf(fault.Bug, "id %s is %q, and %q is asked for", id, r.command, command)
		}
		time.Sleep(w.takes) // until it ends
		return r.out, r.err
	}
	out, err := w.run(command)
	if w.known == nil {
		w.known = map[string]result{}
	}
	w.known[id] = result{command, out, err}
	return out, err
}

func (w *world) run(command string) (vocab.Output, error) {
	if strings.HasPrefix(command, "look ") { // changes nothing, and may run at the same time as others
		time.Sleep(w.takes)
		return vocab.Output{Bytes: []byte(command), Total: int64(len(command))}, nil
	}
	if !strings.HasPrefix(command, "do ") && !strings.HasPrefix(command, "submit") {
		return vocab.Output{ExitCode: 1}, nil // a script of the solver
	}
	w.ran = append(w.ran, command)
	if w.ruined = w.ruined || command == "do ruin" || w.fragile && len(w.ran) == 2; w.ruined {
		return vocab.Output{}, fmt.Errorf("%w: no bash", vocab.ErrDestroyed)
	}
	text := fmt.Sprintf("%d \xff %q\n", len(w.ran), w.ran)
	if command == "do tell the time" {
		text = "10:00:00\n"
		if w.later {
			text = "11:00:00\n"
		}
	}
	if w.forgets {
		text = "?"
	}
	if command == "submit" {
		text = vocab.Marker + "\n" + text
	}
	time.Sleep(w.takes)
	out := vocab.Output{Bytes: []byte(text), Total: int64(len(text)), Timeout: 90 * time.Second, Duration: w.takes}
	if out.TimedOut = command == "do slow"; out.TimedOut {
		out.ExitCode = -1
	}
	if command == "do kill" {
		out.ExitCode, out.OOM, out.Note = 137, true, "all is killed"
	}
	return out, nil
}

func (*world) Vars() map[string]any { return nil }
func (w *world) Script(ctx context.Context, script string) (vocab.Output, error) {
	return w.Execute(ctx, "", script)
}

func (*world) Alive(context.Context) error { return nil }

func (w *world) Facts() sandbox.Facts {
	return sandbox.Facts{Container: "c", Adopted: w.adopted, Image: vocab.Image{ID: w.image}}
}
func (*world) Close() error { return nil }

// worlds opens the surviving world if it is requested, or a new one.
type worlds struct {
	alive   *world
	forgets bool
	later   bool
	fragile bool
	image   string
	takes   time.Duration
	opened  *world
}

func (w *worlds) Open(_ context.Context, o sandbox.Opening) (attempt.Sandbox, error) {
	w.opened = &world{forgets: w.forgets, later: w.later, fragile: w.fragile, image: w.image, takes: w.takes}
	if w.alive != nil && !w.alive.ruined && o.Container == "c" {
		w.opened = w.alive
	}
	return w.opened, nil
}

func bash(commands ...string) (r scripted.Reply) {
	r.Cost, r.Usage = 0.5, vocab.Usage{Input: 1000, Cached: 100, Output: 10, Reasoning: 1}
	for _, c := range commands {
		args, _ := json.Marshal(map[string]string{"command": c})
		r.ToolCalls = append(r.ToolCalls, llm.ToolCall{Name: "bash", Arguments: string(args)})
	}
	return r
}

// looks is a reply that calls the tool look, and bash with the commands of that tool's form.
func looks(commands ...string) scripted.Reply {
	r := bash(commands...)
	for i, c := range commands {
		if strings.HasPrefix(c, "look ") {
			r.ToolCalls[i].Name = "look"
		}
	}
	return r
}

// looking sets a tool table in which the tool look changes nothing.
func looking(c *agent.Config) {
	c.Actions = agent.ActionForm{Kind: agent.Tools, Tools: lookingTools()}
}

func lookingTools() []agent.Tool {
	look := agent.BashTool()
	look.Name, look.Submits, look.ReadOnly = "look", false, func(agent.Call) bool { return true }
	return []agent.Tool{agent.BashTool(), look}
}

// plays are attempts that cover everything that an attempt can contain.
var plays = map[string][]scripted.Reply{
	"submits": {
		bash("do 1"),
		{Content: "no command", Cost: 0.5},
		bash("do 2", "do 3"), bash("do 4", "do slow", "do 5"),
		{Content: "none", Cost: 0.5},
		bash("do 6"), bash("do 7", "submit"),
	},
	"rewrites":            {bash("do 1"), bash("do 2", "do 3"), bash("do 4"), {Content: "none", Cost: 0.5}, bash("do 5"), bash("do 6", "do 7"), bash("submit")},
	"meets its limit":     {bash("do 1"), bash("do 2"), bash("do 3"), bash("do 4"), bash("do 5"), bash("do 6"), bash("do 7"), bash("do 8")},
	"ruins its container": {bash("do 1", "do kill"), bash("do kill"), bash("do 2", "do ruin", "do 3")},
	"reads": {
		looks("look a", "look b", "look c"), looks("do 1", "look d", "look e", "do 2", "look f"),
		looks("look g", "look h", "do 3"), looks("submit"),
	},
	"never learns": {bash("do 1"), {Content: "a"}, bash("do 2"), {Content: "b"}, {Content: "c"}, {Content: "d"}},
}

// playing makes attempts of one play.
type playing struct {
	t      *testing.T
	loop   *agent.Loop
	play   []scripted.Reply
	boxes  worlds
	models []*scripted.Model // that were requested

	restarts bool // after a divergence
	now      func() time.Time
	delay    time.Duration // of each reply
	waits    time.Duration // part of delay that is for the provider
	dies     bool          // before the result is stored
	unheard  bool          // a crash before the command under way has reached the container

	provider func(*llm.Message) // changes each reply; may be nil
	requests [][]llm.Message    // of all models

	rewrite func(context.Context, agent.Conversation) (*agent.Rewriting, error)
	model   func() llm.Model // takes the place of the play; may be nil
	budget  *runner.Budget   // nil: no limit
	window  int64            // of the model
	log     *slog.Logger     // the run's
	servers []mcp.Server
	mask    *mask.Masker // of the store
}

// shorten replaces the oldest replies and their results by a word.
func shorten(_ context.Context, c agent.Conversation) (*agent.Rewriting, error) {
	sent, to := c.Messages, 5
	for to < len(sent) && sent[to].Role == llm.RoleTool {
		to++
	}
	if len(sent) <= to+1 {
		return nil, nil
	}
	return &agent.Rewriting{Edits: []agent.Edit{{From: 2, To: to, Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("so far")}}}}}, nil
}

func newPlaying(t *testing.T, play []scripted.Reply, change ...func(*agent.Config)) *playing {
	t.Helper()
	config := agent.Config{
		SystemTemplate: "You are a shell.", InstanceTemplate: "{{task}}",
		ObservationTemplate: "{{output.returncode}} {{output.exception_info}} {{output.output}}", Limits: vocab.Limits{Steps: 8}, Now: clock,
	}
	for _, c := range change {
		c(&config)
	}
	loop, err := agent.NewLoop(config)
	if err != nil {
		t.Fatal(err)
	}
	return &playing{t: t, loop: loop, play: play, now: clock}
}

// clock does not advance, so that trajectories can be compared.
func clock() time.Time { return time.Unix(1e9, 0) }

// player plays the replies in the form of the attempts' provider.
type player struct {
	llm.Model
	*playing
}

func (p player) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	p.requests = append(p.requests, slices.Clone(req.Messages))
	resp, err := p.Model.Generate(ctx, req)
	if err != nil {
		return nil, err
	}
	resp.Waited, resp.RateLimited = p.waits, p.waits/2
	if p.provider != nil {
		p.provider(&resp.Message)
	}
	return resp, nil
}

// solve makes an attempt in dir, or resumes the unfinished one.
func (p *playing) solve(dir string) *results.Result {
	p.t.Helper()
	r, err := p.try(dir)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// try is solve for an attempt that may fail.
func (p *playing) try(dir string) (*results.Result, error) {
	p.t.Helper()
	store, err := results.Open(dir, results.Options{Durability: journal.Process, FlushEvery: time.Hour, Mask: p.mask})
	if err != nil {
		p.t.Fatal(err)
	}
	s := attempt.New(attempt.Config{
		Loop: p.loop, ModelName: "test", Sandboxes: &p.boxes, Store: store, Now: p.now, RestartDiverged: p.restarts, Rewrite: p.rewrite,
		ModelFacts: agent.ModelFacts{Window: p.window}, Log: p.log, Servers: p.servers,
		Models: func(_ dataset.Instance, heard int) (llm.Model, error) {
			m := scripted.Script{"a": p.play}.Model("a", scripted.Config{Delay: p.delay})
			m.Skip(heard)
			p.models = append(p.models, m)
			if p.model != nil {
				return player{p.model(), p}, nil
			}
			return player{m, p}, nil
		},
	})
	budget := p.budget
	if budget == nil {
		budget = runner.NewBudget(0, 0, 0)
	}
	r, err := s.Do(p.t.Context(), attempt.Attempt{
		Job: dataset.Instance{ID: "a", ProblemStatement: "task"}, Number: 1,
		Report: func(vocab.Event) {}, Reserve: budget.Reserve, Keep: closes, Kept: nothing,
	})
	if err == nil && !p.dies {
		_, err = store.Put(p.t.Context(), r)
	}
	return r, errors.Join(err, store.Close())
}

// lines are the records of the instance's journal.
func (p *playing) lines(dir string) [][]byte {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "a", "journal.jsonl"))
	if err != nil {
		p.t.Fatal(err)
	}
	return bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

// crashed makes a run directory as a crash after those records leaves it, and
// the container in the state that they describe.
func (p *playing) crashed(lines [][]byte, lives bool) (dir string) {
	p.t.Helper()
	dir = p.t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "a"), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "journal.jsonl"), bytes.Join(lines, nil), 0o644); err != nil {
		p.t.Fatal(err)
	}
	p.boxes.alive = nil
	h, err := journal.ReadHistory(filepath.Join(dir, "a", "journal.jsonl"))
	if err != nil {
		p.t.Fatal(err)
	}
	if lives {
		p.boxes.alive = &world{adopted: true}
		for _, s := range h.Steps {
			for i, a := range s.Actions {
				if a.Output != nil || !p.unheard {
					_, _ = p.boxes.alive.Execute(p.t.Context(), fmt.Sprintf("%d.%d", s.Number, i+1), a.Command)
				}
			}
		}
		p.boxes.alive.ids, p.boxes.alive.takes = nil, p.boxes.takes
	}
	return dir
}

// messages returns the messages of the trajectory in dir, with their members in a fixed order.
func messages(t *testing.T, dir string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "a", "a.traj.json"))
	if err != nil {
		t.Fatal(err)
	}
	var trajectory struct{ Messages []any }
	if err := json.Unmarshal(data, &trajectory); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range trajectory.Messages {
		text, err := json.MarshalIndent(m, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(text))
	}
	return list
}

// invariant is everything that must not depend on crashes.
func invariant(t *testing.T, dir string, r *results.Result) string {
	t.Helper()
	rec := r.Record
	if rec.Usage.Input < 2000 || rec.Usage.Reasoning < 2 {
		t.Errorf("usage %+v: there is nothing to compare", rec.Usage)
	}
	return fmt.Sprintf("%s %s %q %d steps, $%v, %+v, attempt %d, differences %d\n%q\n%s",
		rec.Status, rec.Outcome, rec.Error, rec.Steps, rec.Cost, rec.Usage, rec.Attempt, rec.Differences, r.Submission, strings.Join(messages(t, dir), "\n"))
}

func TestAnAttemptInterruptedAtAnyPointEndsTheSame(t *testing.T) {
	for name, play := range plays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlaying(t, play)
			if name == "reads" {
				p = newPlaying(t, play, looking)
			}
			if name == "rewrites" {
				p.rewrite = shorten
			}
			whole := t.TempDir()
			want := invariant(t, whole, p.solve(whole))
			ran := slices.Clone(p.boxes.opened.ran)
			lines := p.lines(whole)
			asked := sent(t, p.requests[len(p.requests)-1])
			if p.rewrite != nil && !bytes.Contains(bytes.Join(lines, nil), []byte(`"type":"rewrite"`)) {
				t.Fatal("the trajectory was not written again")
			}
			for i, c := range someCrashes(t, lines) {
				p.unheard = c.box != "alive"
				dir := p.crashed(lines[:c.after], c.lives())
				p.check(dir, want, ran, fmt.Sprintf("cut behind record %d, container %s", c.after, c.box))
				if d := cmp.Diff(asked, sent(t, p.requests[len(p.requests)-1])); d != "" && p.rewrite != nil && c.after < len(lines)-6 {
					t.Errorf("cut after record %d: the last request: %s", c.after, d)
				}
				if i%4 != 0 {
					continue
				}
				// Crash once more, shortly after the resume's own records.
				again := p.lines(dir)
				dir = p.crashed(again[:min(c.after+4, len(again)-2)], c.lives())
				p.check(dir, want, ran, fmt.Sprintf("cut again behind record %d, container %s", c.after+4, c.box))
			}
		})
	}
}

// A conversation that continues an attempt has its last words, also if a crash parted them from its end.
func TestACopyOfAResumedAttemptHasItsLastWords(t *testing.T) {
	p := newPlaying(t, plays["submits"])
	whole := t.TempDir()
	p.solve(whole)
	lines := p.lines(whole)
	n := slices.IndexFunc(lines, func(line []byte) bool { return bytes.Contains(line, []byte(`"type":"turn_end"`)) })
	dir := p.crashed(lines[:n+1], true)
	p.solve(dir)
	var said []int
	for _, from := range []string{whole, dir} {
		copied := t.TempDir()
		if err := results.Seed(copied, "a", manifest.Settings{}, from, "task", mask.New()); err != nil {
			t.Fatal(err)
		}
		h, err := journal.ReadHistory(results.JournalPath(copied, "a"))
		if err != nil {
			t.Fatal(err)
		}
		if turn := h.Turn(); turn == nil || turn.End == nil || !turn.End.Closes() {
			t.Errorf("the turn of a copy is open: %+v", turn)
		}
		said = append(said, len(h.Messages)+len(h.Later))
		x, err := journal.NewIndex(results.JournalPath(copied, "a"))
		if err != nil {
			t.Fatal(err)
		}
		at, err := x.Attempt(0)
		if err != nil || at.Steps[len(at.Steps)-1].Flags&journal.FlagSubmission == 0 {
			t.Errorf("%v, the last step of a copy does not submit", err)
		}
	}
	if said[0] != said[1] {
		t.Errorf("the copies have %d messages, want as many in both", said)
	}
}

// crash is where an attempt ends, and what becomes of its container.
type crash struct {
	after int // records
	box   string
}

func (c crash) lives() bool { return c.box != "gone" }

// crashes returns the crashes of an attempt with so many records. The last two close it. A
// resume in a new container takes longer, so only some are made.
func crashes(records int) (list []crash) {
	for k := 1; k < records-1; k++ {
		if k%2 != 0 {
			list = append(list, crash{k, "gone"})
		}
		list = append(list, crash{k, "alive"}, crash{k, "alive and did not hear of the last command"})
	}
	return list
}

// someCrashes is a sample. Always in it is the last action while it was under way, in a new
// container, behind a replay of the earlier ones, and in the old one that did not hear of it.
func someCrashes(t *testing.T, lines [][]byte) []crash {
	t.Helper()
	last := -1
	for i, line := range lines {
		if bytes.Contains(line, []byte(`"type":"action"`)) {
			last = i
		}
	}
	if last < 0 {
		t.Fatal("the attempt has no action")
	}
	named := []crash{{last + 1, "gone"}, {last + 1, "alive and did not hear of the last command"}}
	others := slices.DeleteFunc(crashes(len(lines)), func(c crash) bool { return slices.Contains(named, c) })
	return append(named, sample.Some(t, 2, others)...)
}

// The time of an attempt, and its limit, survive a crash; the hour in which
// no process ran does not count.
func TestElapsedTimeSurvivesACrash(t *testing.T) {
	play := []scripted.Reply{bash("do 1"), bash("do 2"), bash("do 3"), bash("submit")}
	for name, c := range map[string]struct {
		limit  time.Duration
		status vocab.Status
		steps  int
	}{
		"without a limit": {0, "Submitted", 4},
		"with one":        {30 * time.Second, "TimeExceeded", 3},
		"just at one":     {39 * time.Second, "TimeExceeded", 3}, // 8 s for a reply and 5 s for its command
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop, err := agent.NewLoop(agent.Config{
					SystemTemplate: "s", InstanceTemplate: "{{task}}", ObservationTemplate: "{{output.output}}", Limits: vocab.Limits{Time: c.limit},
				})
				if err != nil {
					t.Fatal(err)
				}
				// No result is stored: the writer of results.parquet must not be used from two bubbles.
				p := &playing{t: t, loop: loop, play: play, delay: 10 * time.Second, waits: 2 * time.Second, dies: true}
				p.boxes.takes = 5 * time.Second
				whole := t.TempDir()
				want := p.solve(whole).Record
				if want.Status != c.status || want.Steps != c.steps || want.Time.Model != 10*float64(c.steps) ||
					want.Time.Commands != 5*float64(c.steps) || want.Time.RateWait != float64(c.steps) || want.Time.Backoff != float64(c.steps) || want.Time.Total != 15*float64(c.steps) {
					t.Fatalf("undisturbed: %+v, want status %v, steps %v, model %v, commands %v, rate wait %v, backoff %v, total %v",
						want, c.status, c.steps, 10*float64(c.steps), 5*float64(c.steps), float64(c.steps), float64(c.steps), 15*float64(c.steps))
				}
				lines := p.lines(whole)
				cuts := 0
				for k := 3; k < len(lines); k++ {
					dir := p.crashed(lines[:k], true)
					cuts++
					time.Sleep(time.Hour)
					got := p.solve(dir).Record
					if got.Status != want.Status || got.Steps != want.Steps || got.Time != want.Time || got.Usage != want.Usage {
						t.Errorf("cut behind record %d: %s after %d steps, %+v, %+v; want %s after %d, %+v, %+v",
							k, got.Status, got.Steps, got.Time, got.Usage, want.Status, want.Steps, want.Time, want.Usage)
					}
				}
				for k := 3; k < len(lines); k++ { // the container is gone: its commands run again
					got := p.solve(p.crashed(lines[:k], false)).Record.Time
					if sum := parts(got); sum != got.Total || got.Total != want.Time.Total+got.Replay {
						t.Errorf("cut behind record %d, in a fresh container: %+v sums to %v; undisturbed it took %v", k, got, sum, want.Time.Total)
					}
				}
				if cuts < 8 {
					t.Errorf("only %d cuts, want cuts at least 8", cuts)
				}
			})
		})
	}
}

// parts sums the phases of a total.
func parts(p results.Phases) float64 {
	return p.Pull + p.Start + p.Prepare + p.Replay + p.Model + p.Commands + p.Agent + p.Save + p.Finish
}

func (p *playing) check(dir, want string, ran []string, when string) {
	p.t.Helper()
	h, err := journal.ReadHistory(filepath.Join(dir, "a", "journal.jsonl"))
	if err != nil {
		p.t.Fatal(err)
	}
	heard := 0
	for _, s := range h.Steps {
		if s.Reply != nil {
			heard++
		}
	}
	if turn := h.Turn(); turn != nil && turn.End != nil { // an action that ruined the container is not asked for again
		actions := h.Steps[len(h.Steps)-1].Actions
		if n := len(actions); n > 0 && actions[n-1].Output == nil {
			ran = ran[:len(ran)-1]
		}
	}
	lives := p.boxes.alive != nil && !p.boxes.alive.ruined && h.Container != nil
	r := p.solve(dir)
	if d := cmp.Diff(want, invariant(p.t, dir, r)); d != "" {
		p.t.Fatalf("%s: %s", when, d)
	}
	if d := cmp.Diff(ran, p.boxes.opened.ran); d != "" {
		p.t.Errorf("%s: commands in the container: %s", when, d)
	}
	if adopted := p.boxes.opened.adopted; adopted != lives {
		p.t.Errorf("%s: taken over: %v", when, adopted)
	}
	asked := len(p.play) - heard - p.models[len(p.models)-1].Left()
	if asked+heard != r.Record.Steps {
		p.t.Errorf("%s: %d replies were requested with %d known, for %d steps", when, asked, heard, r.Record.Steps)
	}
	if r.Record.Resumed != h.Resumed+1 {
		p.t.Errorf("%s: resumed %d times", when, r.Record.Resumed)
	}
}

func TestADifferentOutputInAReplayIsReported(t *testing.T) {
	p := newPlaying(t, plays["submits"])
	whole := t.TempDir()
	p.solve(whole)
	want, lines := messages(t, whole)[3], p.lines(whole)
	cut := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"command":"do 4"`)) })
	dir := p.crashed(lines[:cut], false)
	p.boxes.forgets = true
	r := p.solve(dir)
	if r.Record.Differences != 3 {
		t.Errorf("%d differences, want the differences of three commands", r.Record.Differences)
	}
	if now := messages(t, dir)[3]; now != want {
		t.Errorf("the conversation changed: %s, was %s", now, want)
	}
	differences := recorded[journal.DifferenceData](t, dir, journal.TypeDifference)
	if len(differences) != 3 || differences[2].Command != "do 3" || differences[2].Action != 2 || string(differences[2].Output) != "?" {
		t.Errorf("the journal tells %+v, want 3 differences, command %q, action 2, output %q", differences, "do 3", "?")
	}
	replayed(t, dir, 3, 3)
	log, err := os.ReadFile(filepath.Join(dir, "a", "agent.log"))
	if err != nil || strings.Count(string(log), "had a different result") != 3 {
		t.Errorf("the log tells %s (%v); want 3 times %q, no error", log, err, "had a different result")
	}
}

// The process that replays an attempt may not know what an earlier one hid.
func TestADifferenceHasNoSecretOfAnEarlierProcess(t *testing.T) {
	const secret = "swordfish-9042"
	p := newPlaying(t, []scripted.Reply{bash("do " + secret), bash("do 2"), bash("submit")})
	p.mask = mask.New(mask.Secret{Name: "KEY", Value: secret})
	whole := t.TempDir()
	p.solve(whole)
	lines := p.lines(whole)
	dir := p.crashed(lines[:slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"command":"do 2"`)) })], false)
	copies, err := os.ReadFile(filepath.Join(whole, "a", "masked.jsonl"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "a", "masked.jsonl"), copies, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.boxes.forgets, p.mask = true, mask.New()
	p.solve(dir)
	if d := recorded[journal.DifferenceData](t, dir, journal.TypeDifference); len(d) != 1 || d[0].Command != "do "+mask.Hidden {
		t.Errorf("the journal has %+v, want a difference of %q", d, "do "+mask.Hidden)
	}
	for _, name := range []string{"agent.log", "a.traj.json"} {
		if text, err := os.ReadFile(filepath.Join(dir, "a", name)); err != nil || strings.Contains(string(text), secret) {
			t.Errorf("%s, %v:\n%s", name, err, text)
		}
	}
}

// recorded returns the data of the journal's records of that type in dir.
func recorded[T any](t *testing.T, dir, typ string) (list []T) {
	t.Helper()
	records, _, err := journal.Read(filepath.Join(dir, "a", "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range records {
		if rec.Type == typ {
			var data T
			if err := json.Unmarshal(rec.Data, &data); err != nil {
				t.Fatal(err)
			}
			list = append(list, data)
		}
	}
	return list
}

// replayed checks the record of the last replay in the journal of dir.
func replayed(t *testing.T, dir string, actions, differences int) {
	t.Helper()
	boxes := recorded[journal.ContainerData](t, dir, journal.TypeContainer)
	if last := boxes[len(boxes)-1]; last.Replayed != actions || last.Differences != differences || last.Adopted {
		t.Errorf("of %d containers the last is %+v, want %d actions executed again, %d of them with differences",
			len(boxes), last, actions, differences)
	}
}

func TestADivergedAttemptEndsBeforeTheModelIsAskedAgain(t *testing.T) {
	for name, diverge := range map[string]func(*worlds){
		"a command does something else": func(w *worlds) { w.forgets = true },
		"the image is another":          func(w *worlds) { w.image = "sha256:2" },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlaying(t, plays["submits"])
			p.boxes.image = "sha256:1"
			whole := t.TempDir()
			p.solve(whole)
			lines := p.lines(whole)
			cut := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"command":"do 4"`)) })
			for _, restarts := range []bool{true, false} {
				dir := p.crashed(lines[:cut], false)
				diverge(&p.boxes)
				p.restarts = restarts
				r := p.solve(dir)
				if r.Record.Outcome != vocab.OutcomeDiverged || r.Record.Status != vocab.StatusReplayDiverged ||
					!strings.Contains(r.Record.Error, "the next run starts the instance from the beginning") {
					t.Errorf("restarts %v: got %s, %s; want outcome %v, status %v, %q in the error",
						restarts, r.Record.Outcome, r.Record.Status, vocab.OutcomeDiverged, vocab.StatusReplayDiverged, "the next run starts the instance from the beginning")
				}
				asked := len(p.play) - 4 - p.models[len(p.models)-1].Left()
				if restarts && (asked != 0 || len(p.boxes.opened.ran) > 1 || r.Record.Steps != 4 || r.Record.Cost != 2) {
					t.Errorf("got %d requests, ran %q, %d steps, $%v", asked, p.boxes.opened.ran, r.Record.Steps, r.Record.Cost)
				}
				if !restarts && (asked == 0 || r.Submission == nil) {
					t.Errorf("the attempt was not continued: asked %d times, submitted %q", asked, r.Submission)
				}
				// The attempt is over: the next one begins from the beginning.
				p.boxes = worlds{image: "sha256:1"}
				if again := p.solve(dir); again.Record.Attempt != 2 || again.Record.Resumed != 0 || again.Record.Outcome != vocab.OutcomeSubmitted {
					t.Errorf("restarts %v: then %+v, want attempt 2, resumed 0, outcome %v",
						restarts, again.Record, vocab.OutcomeSubmitted)
				}
			}
		})
	}
}

// A later time in an output is not a difference.
func TestAReplayIgnoresTimesInOutputs(t *testing.T) {
	p := newPlaying(t, []scripted.Reply{bash("do tell the time"), bash("do 1"), bash("do 2"), bash("submit")})
	whole := t.TempDir()
	p.solve(whole)
	lines := p.lines(whole)
	cut := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"command":"do 2"`)) })
	dir := p.crashed(lines[:cut], false)
	p.boxes.later = true
	if r := p.solve(dir); r.Record.Outcome != vocab.OutcomeSubmitted || r.Record.Differences > 0 {
		t.Errorf("got %+v, want outcome %v, differences at most 0", r.Record, vocab.OutcomeSubmitted)
	}
	replayed(t, dir, 2, 0)
}

// An attempt that diverged once stays diverged, however often it is resumed.
func TestADivergedAttemptStaysDivergedAfterACrash(t *testing.T) {
	p := newPlaying(t, []scripted.Reply{bash("do 1"), bash("do 2"), bash("do 3"), bash("submit")})
	whole := t.TempDir()
	p.solve(whole)
	lines := p.lines(whole)
	cut := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"command":"do 2"`)) })
	dir := p.crashed(lines[:cut], false)
	p.boxes.forgets = true
	p.solve(dir)
	lines = p.lines(dir)
	cut = slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"command":"do 3"`)) })
	r := p.solve(p.crashed(lines[:cut], true))
	if r.Record.Outcome != vocab.OutcomeDiverged || r.Record.Differences != 1 || r.Record.Resumed != 2 || !p.boxes.opened.adopted {
		t.Errorf("got %+v, want outcome %v, differences 1, resumed 2, adopted true", r.Record, vocab.OutcomeDiverged)
	}
}

// When the recorded actions destroy a container, unlike before, no model is called
// for it, and its end is not a result.
func TestAReplayThatDestroysItsContainerHasDiverged(t *testing.T) {
	p := newPlaying(t, plays["submits"])
	whole := t.TempDir()
	p.solve(whole)
	lines := p.lines(whole)
	cut := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"command":"do 4"`)) })
	for _, p.restarts = range []bool{true, false} {
		dir := p.crashed(lines[:cut], false)
		p.boxes.fragile = true
		r := p.solve(dir)
		if r.Record.Outcome != vocab.OutcomeDiverged || r.Record.Differences != 1 || r.Record.Steps != 4 || r.Record.Cost != 2 {
			t.Errorf("restarts %v: got %+v, want outcome %v, differences 1, steps 4, cost 2",
				p.restarts, r.Record, vocab.OutcomeDiverged)
		}
		if asked := len(p.play) - 4 - p.models[len(p.models)-1].Left(); asked != 0 || len(p.boxes.opened.ran) != 2 {
			t.Errorf("asked %d times, ran %q; want requests 0, 2 commands run", asked, p.boxes.opened.ran)
		}
		replayed(t, dir, 2, 1)
		if log, err := os.ReadFile(filepath.Join(dir, "a", "agent.log")); err != nil || !strings.Contains(string(log), "destroyed its container when it ran again") {
			t.Errorf("the log tells %s (%v); want %q in the log, no error", log, err, "destroyed its container when it ran again")
		}
		p.boxes.fragile = false
	}
}

func TestAContainerDestroyedByItsAgentIsAResult(t *testing.T) {
	p := newPlaying(t, plays["ruins its container"])
	dir := t.TempDir()
	r := p.solve(dir)
	if r.Record.Status != vocab.StatusEnvironmentDestroyed || r.Record.Outcome != vocab.OutcomeFailed || r.Record.Steps != 3 || r.Record.Cost != 1.5 ||
		!strings.Contains(r.Record.Error, "no bash") || r.Submission != nil || r.Prediction != "" {
		t.Errorf("got %+v, submission %q, prediction %q; want status %v, outcome %v, steps 3, cost 1.5, %q in the error, submission nil, no prediction",
			r.Record, r.Submission, r.Prediction, vocab.StatusEnvironmentDestroyed, vocab.OutcomeFailed, "no bash")
	}
	all := strings.Join(messages(t, dir), "\n")
	if n := strings.Count(all, `"exception_info": "all is killed"`); n != 2 {
		t.Errorf("the model reads %d times that all processes were killed:\n%s", n, all)
	}
	if strings.Contains(all, `"action was not executed"`) || slices.Contains(p.boxes.opened.ran, "do 3") {
		t.Errorf("the attempt continued, want no %q, no %v in the commands run:\n%s", `"action was not executed"`, "do 3", all)
	}
}
