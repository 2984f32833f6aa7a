package solver

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"batch.example/batch/internal/boxgit"
	"batch.example/batch/sandbox"

	"batch.example/batch/agent"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// Config is what all attempts of a run share. Every field but Startup,
// Settings, Now and those of type bool is needed.
type Config struct {
	Loop      *agent.Loop
	Models    Models
	ModelName string // model_name_or_path of predictions
	Sandboxes Sandboxes
	Store     Store
	Startup   func(dataset.Instance) (string, error)   // command run before the agent starts; "" for none
	Settings  func(dataset.Instance) manifest.Settings // that attempts are made under
	Salvage   bool                                     // a missing submission is predicted from the work tree

	// RestartDiverged ends an attempt as soon as its replay diverges, so that another
	// one can begin. Else it is continued, and its result kept apart. See
	// vocab.OutcomeDiverged.
	RestartDiverged bool

	Approve func(ctx context.Context, tool string, c agent.Call) error              // see agent.Turn
	Rewrite func(ctx context.Context, sent []llm.Message) (*agent.Rewriting, error) // see agent.Turn

	Now func() time.Time

	// ScrubGitHistory takes what lies beyond HEAD from the repository that a
	// new sandbox's commands find themselves in, before the agent starts.
	ScrubGitHistory bool
	Scrubs          int // at the same time; 0 is one

	// AllowCommitMismatch lets attempts begin in an image that is not at its row's
	// base_commit. Else that is an Instance fault, found before a call is made.
	AllowCommitMismatch bool
}

// Models returns the model that one attempt at an instance talks to; the
// attempt has heard so many replies already. It is called from many goroutines
// at once.
type Models func(in dataset.Instance, heard int) (llm.Model, error)

// Solver is the runner.Worker whose jobs are instances. It is safe for concurrent use.
type Solver struct {
	c     Config
	turns chan struct{} // of those who scrub
}

// New returns a Solver for c.
func New(c Config) *Solver {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Startup == nil {
		c.Startup = func(dataset.Instance) (string, error) { return "", nil }
	}
	if c.Settings == nil {
		c.Settings = func(dataset.Instance) manifest.Settings { return manifest.Settings{} }
	}
	return &Solver{c: c, turns: make(chan struct{}, max(1, c.Scrubs))}
}

// Attempt is an attempt at an instance as the pool hands it out.
type Attempt = runner.Attempt[dataset.Instance]

// Do makes one attempt at a.Job.
func (s *Solver) Do(ctx context.Context, a Attempt) (_ *results.Result, err error) {
	under := s.c.Settings(a.Job)
	opened, err := s.c.Store.Open(a.Job.ID, under)
	if err != nil {
		return nil, err
	}
	t := &attempt{
		Config:  s.c,
		turns:   s.turns,
		in:      a.Job,
		runner:  a,
		past:    opened.Past,
		journal: opened.Journal,
		log:     slog.New(slog.NewTextHandler(opened.Log, nil)),
		started: s.c.Now(),
		result: &results.Result{Record: results.Record{
			InstanceID: a.Job.ID, Attempt: opened.Number, Model: s.c.ModelName, Started: s.c.Now(),
		}},
	}
	t.log.Info("attempt started", "instance", t.in.ID, "attempt", opened.Number)
	t.recall()
	defer func() { err = errors.Join(err, opened.Close()) }()
	err = t.solve(ctx)
	t.finish(err)
	return t.result, err
}

// attempt is one attempt under way.
type attempt struct {
	Config
	turns   chan struct{}
	in      dataset.Instance
	runner  Attempt
	past    *journal.History // of an attempt that is resumed
	carried carried
	journal Journal
	log     *slog.Logger
	started time.Time
	box     sandbox.Facts
	base    string              // commit that the agent began at; "" when it is not known
	commit  *journal.CommitData // the image's, where it is not the row's
	scrub   *scrub              // nil: there is none

	unsettled *journal.ContainerData // of a sandbox in which no action has run yet
	scrubWait time.Duration
	at        runner.Progress // that was shown last

	ending   *agent.Ending
	result   *results.Result
	diverged bool                // what the model saw is not what the sandbox holds
	ruined   bool                // and nothing can be done in it any more
	asked    int                 // step of the call under way that was announced, and may have been made; 0 is none
	call     *runner.Reservation // for the call under way, or the last one
	saving   time.Duration       // spent making the journal durable
	kept     int64               // bytes of outputs that the journal has of the attempt
}

func (t *attempt) solve(ctx context.Context) error {
	model, err := t.Models(t.in, len(t.replied()))
	if err != nil {
		return err
	}
	box, err := t.open(ctx)
	if err != nil {
		return err
	}
	kept := false
	defer func() {
		t.scrub.end()
		if !kept { // after a panic too
			t.close(box)
		}
	}()
	rec := &recorder{attempt: t}
	if err = t.ready(ctx, box, rec); err == nil && !t.ruined && !(t.diverged && t.RestartDiverged) {
		err = t.run(ctx, model, box, rec)
	}
	t.scrub.end()
	if kept = t.keeps(ctx, box, err); kept {
		t.runner.Keep(box)
	}
	return err
}

// startup runs run.env_startup_command; its failure is the instance's fault.
func (t *attempt) startup(ctx context.Context, box Sandbox) error {
	command, err := t.Startup(t.in)
	if err != nil || command == "" {
		return err
	}
	out, err := box.Execute(ctx, "", command)
	if err != nil {
		return err
	}
	if out.ExitCode != 0 {
		return fault.Newf(fault.Instance, "running env_startup_command: exit code %d, output %.2000q", out.ExitCode, out.Bytes)
	}
	return nil
}

func (t *attempt) run(ctx context.Context, model llm.Model, box Sandbox, rec *recorder) error {
	turn, err := t.turn()
	if err != nil {
		return err
	}
	task := Task(t.in)
	turn.Task, turn.Vars = task.Task, task.Vars
	turn.Model, turn.Env, turn.Recorder, turn.Admit = model, actions{box, rec}, rec, func() error { return t.reserve(ctx) }
	turn.Approve, turn.Rewrite = t.Approve, t.Rewrite
	turn.Ready = func(ctx context.Context) error { return t.settle(ctx, rec) }
	turn.Step = func(step int, phase string, cost float64) {
		t.at = runner.Progress{Phase: phase, Step: step, Cost: cost}
		t.runner.Report(t.at)
	}
	ending, err := t.loop(ctx, turn, rec)
	t.ending = ending
	if ctx.Err() == nil {
		if failed := t.settle(ctx, rec); failed != nil && errors.Is(err, failed) {
			return err
		} else if failed != nil {
			return errors.Join(failed, err)
		}
	}
	if err != nil && (ctx.Err() != nil || errors.Is(err, runner.ErrBudget)) {
		return err // the work tree is salvaged when the instance is resumed
	}
	if !ending.Submitted {
		t.salvage(ctx, box, t.Salvage && err == nil)
		return err
	}
	if err := rec.durable(journal.TypeSubmission, journal.SubmissionData{Submission: ending.Submission}); err != nil {
		return err
	}
	t.predict(ctx, box)
	return err
}

// errPanic is what came of a run that did not return.
var errPanic = errors.New("a panic")

// loop runs the agent, and settles the call that this leaves under way, also after a
// panic: others may wait for the money that is set aside for it.
func (t *attempt) loop(ctx context.Context, turn agent.Turn, rec *recorder) (ending *agent.Ending, err error) {
	err = errPanic
	defer func() {
		if lost := t.unanswered(rec, err); lost != nil {
			err = errors.Join(err, lost)
		}
	}()
	return t.Loop.Run(ctx, turn)
}

// Task is the part of a turn at an instance that its row determines: what
// templates are shown of it.
func Task(in dataset.Instance) agent.Turn {
	return agent.Turn{Task: in.ProblemStatement, Vars: map[string]any{"instance_id": in.ID}}
}

// unanswered settles the call that was under way when a run ended: it counts as
// spent unless it is known that nothing was charged.
func (t *attempt) unanswered(rec *recorder, err error) error {
	defer t.call.Release()
	if t.asked == 0 {
		return nil
	}
	step := t.asked
	t.asked = 0
	return rec.lost(step, llm.Lost(err))
}

// reserve sets money aside for the next call.
func (t *attempt) reserve(ctx context.Context) error {
	call, err := t.runner.Reserve(ctx)
	if err == nil {
		t.call = call
	}
	return err
}

// predict turns the submission into a prediction.
func (t *attempt) predict(ctx context.Context, box Sandbox) {
	// A nil Submission means that there was none, so an empty one is made.
	t.result.Submission = append([]byte{}, t.ending.Submission...)
	text, note := boxgit.Portable(ctx, ours{box}, t.commits(), t.ending.Submission)
	t.result.Prediction = text
	t.result.Notes.Prediction = note
	if note != "" {
		t.log.Warn("the submission is not UTF-8", "prediction", note)
	}
}

// finish fills in the record and the trajectory from what is known.
func (t *attempt) finish(err error) {
	t.runner.Report(runner.Progress{Phase: "save", Step: t.steps(), Cost: t.result.Record.Cost})
	rec := &t.result.Record
	rec.Image, rec.ImageID, rec.ImageDigest = t.box.Image.Ref, t.box.Image.ID, t.box.Image.Digest
	if e := t.ending; e != nil {
		rec.Status, rec.Outcome, rec.Error = e.Status, outcome(e), e.Reason
		rec.Steps, rec.Cost, rec.ModelID = e.Calls, e.Cost, cmp.Or(e.ModelID, rec.ModelID)
		rec.Usage = t.carried.usage.Add(e.Usage)
		rec.PatchBytes = len(t.result.Submission)
	}
	if t.diverged && err == nil {
		rec.Status, rec.Outcome = vocab.StatusReplayDiverged, vocab.OutcomeDiverged
		rec.Error = "resumed in a fresh container, its actions did not do again what they had done (agent.log has the first): " +
			"it is no result, and the next run starts it from the beginning"
	}
	rec.Time = t.phases()
	t.result.Notes.Commit = t.commit
	t.log.Info("attempt ended", "status", rec.Status, "steps", rec.Steps, "cost", rec.Cost, "err", err)
}

func (t *attempt) steps() int {
	if t.ending == nil {
		return t.result.Record.Steps
	}
	return t.ending.Calls
}

func (t *attempt) phases() results.Phases {
	p := results.Phases{
		Queue:     t.runner.Queued.Seconds(),
		Save:      t.saving.Seconds(),
		Pull:      t.box.Pull.Seconds(),
		Start:     t.box.Start.Seconds(),
		Scrub:     t.scrub.seconds() + t.box.Scrub.Seconds(),
		ScrubWait: (t.scrubWait + t.box.Scrub).Seconds(),
		Total:     t.carried.time.Total + t.Now().Sub(t.started).Seconds(),

		Model: t.carried.time.Model, RateWait: t.carried.time.RateWait, Commands: t.carried.time.Commands,
	}
	if e := t.ending; e != nil {
		p.Model += e.ModelTime.Seconds()
		p.RateWait += e.RateWait.Seconds()
		p.Commands += e.CommandTime.Seconds()
	}
	return p
}

// outcome classifies an ending that is the agent's own doing. The runner
// overrides it when the attempt ended by a fault.
func outcome(e *agent.Ending) vocab.Outcome {
	if e.Submitted && len(e.Submission) == 0 {
		return vocab.OutcomeEmpty
	}
	return e.Status.Outcome()
}
