package attempt

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/agent/mcp"
	"batch.example/batch/attempt/session"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/llm/picture"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// Config has the settings that all attempts of a run share. Loop, Models, ModelName, Sandboxes
// and Store are required.
type Config struct {
	Loop      *agent.Loop
	Models    Models
	ModelName string // model_name_or_path of predictions
	Sandboxes Sandboxes
	Store     *results.Store
	Startup   func(dataset.Instance) (string, error)   // command run before the agent starts; "" for none
	Settings  func(dataset.Instance) manifest.Settings // the settings of an attempt at an instance

	// Pictures returns the pictures of an instance's problem statement, within the limits of the model's
	// Sight. An error ends the attempt before its sandbox is opened. Nil: there are none.
	Pictures func(context.Context, dataset.Instance) ([]picture.Picture, error)
	Salvage  bool // without a submission, the working tree's diff is the prediction

	// RestartDiverged ends an attempt as soon as its replay diverges, so that another
	// one can begin. Otherwise the attempt continues, and its result is kept apart. See
	// vocab.OutcomeDiverged.
	RestartDiverged bool

	Rewrite func(ctx context.Context, c agent.Conversation) (*agent.Rewriting, error) // see agent.Hooks

	Program *Program // leads each attempt in place of the loop; nil: none does

	Servers []mcp.Server // to which each attempt connects, for their tools

	agent.ModelFacts // of the model, for each turn

	// A longer conversation of a Talk causes a warning; 0: any length.
	MaxMessages int
	MaxTokens   int64

	Log *slog.Logger // the run's log, for messages about more than one instance; nil discards

	Listen Listen // of the caller's listeners; nil for none

	// Saved is called at the end of each Save with the stored prediction, or with nil if there
	// is none. Saved may be nil.
	Saved func(dataset.Instance, *results.Prediction)

	// Verify judges what an agent has left in its sandbox, before that is closed and before the result is
	// saved: see [Finished]. An error ends the attempt as a failure, and a later one is resumed and verified
	// again. Nil: nothing is judged there.
	Verify func(context.Context, Finished) error

	Ears   Ears                                               // nil: no messages come from outside
	Limits func(instance string, l vocab.Limits) vocab.Limits // see agent.Hooks

	Talk Talk // leads the conversation of each attempt; nil: it has one turn

	Now func() time.Time

	Mask *mask.Masker // hides secrets in the log of the steps; nil hides none

	// ScrubGitHistory removes everything that HEAD does not reach from the repository
	// in a new sandbox's working directory, before the agent's first action.
	ScrubGitHistory bool
	Scrubs          int // at the same time; 0 means 1

	// AllowCommitMismatch allows attempts in an image that is not at its row's
	// base_commit. Otherwise that is an Instance fault, found before the first call.
	AllowCommitMismatch bool
}

// Models returns the model for one attempt at an instance. heard is the number of replies
// that the attempt already has, with those of calls that were no steps. It is called from many
// goroutines at the same time.
type Models func(in dataset.Instance, heard int) (llm.Model, error)

// Solver is the runner.Worker for instances. It is safe for concurrent use.
type Solver struct {
	c     Config
	turns chan struct{} // limits concurrent scrubs

	listeners sync.Map // from instance ids to the *guarded listeners of their running attempts
}

// New returns a Solver for c.
func New(c Config) *Solver {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Startup == nil {
		c.Startup = func(dataset.Instance) (string, error) { return "", nil }
	}
	if c.Settings == nil {
		c.Settings = func(dataset.Instance) manifest.Settings { return manifest.Settings{} }
	}
	return &Solver{c: c, turns: make(chan struct{}, max(1, c.Scrubs))}
}

// Finished is an attempt at an instance with a Task whose agent has ended, by itself or at a limit.
type Finished struct {
	Instance   dataset.Instance
	Attempt    int
	Prediction string // model_patch of the result
	Facts      sandbox.Facts
	Box        Sandbox // as [Sandboxes] opened it
}

// Attempt is an attempt at an instance, as the pool hands it out.
type Attempt = runner.Attempt[dataset.Instance]

// Do makes one attempt at a.Job.
func (s *Solver) Do(ctx context.Context, a Attempt) (_ *results.Result, err error) {
	settings := s.c.Settings(a.Job)
	opened, past, err := s.c.Store.Resume(a.Job.ID, settings)
	if err != nil {
		s.listen(a.Job, 0, slog.New(slog.DiscardHandler))
		return nil, err
	}
	log, number := slog.New(slog.NewTextHandler(opened.Log(), nil)), opened.Number()
	t := &attempt{
		Config:  s.c,
		turns:   s.turns,
		in:      a.Job,
		runner:  a,
		past:    past,
		journal: opened.Journal(),
		log:     log,
		heard:   s.listen(a.Job, number, log),
		logged:  stepLog{opened.Log(), s.c.Now, s.c.Mask},
		watch:   newStopwatch(s.c.Now),
		result: &results.Result{Record: results.Record{
			InstanceID: a.Job.ID, Repo: a.Job.Repo, License: a.Job.License(), Attempt: number, Model: s.c.ModelName, Started: s.c.Now(),
		}},
	}
	t.log.Info("attempt started", "instance", t.in.ID, "attempt", number, "model", s.c.ModelName, "image", t.in.ImageName(""))
	t.recall()
	t.recallSaid()
	defer func() { err = errors.Join(err, opened.Close()) }()
	err = t.solve(ctx)
	t.finish(err)
	return t.result, err
}

// attempt is the state of one running attempt.
type attempt struct {
	Config
	turns   chan struct{}
	in      dataset.Instance
	runner  Attempt
	past    *journal.History // of an attempt that is resumed
	shown   *journal.History // the same as people may read it; nil until it is needed
	carried carried
	hearing hearing
	journal *journal.Writer
	heard   agent.Listener // the caller's
	log     *slog.Logger
	logged  stepLog // writes to the same file as log
	watch   *stopwatch
	box     sandbox.Facts
	base    string              // commit that the agent began at; "" if unknown
	commit  *journal.CommitData // the image's, if it is not the row's
	scrub   *scrub              // nil if there is none

	pictures  []picture.Picture
	unsettled *journal.ContainerData // of a sandbox in which no action has run yet
	scrubWait time.Duration
	at        vocab.Event // reported last

	ending      *agent.Ending
	result      *results.Result
	diverged    bool                     // the sandbox does not match what the model saw
	differences []journal.DifferenceData // of this process
	destroyed   bool                     // the sandbox also cannot run commands any more
	long        bool                     // it was warned of the conversation's length
	free        bool                     // it was warned of replies with an unknown cost
	limited     bool                     // there is a limit on the cost of calls
}

func (t *attempt) solve(ctx context.Context) error {
	model, err := t.Models(t.in, t.answers())
	if err != nil {
		return err
	}
	if err := t.look(ctx); err != nil {
		return err
	}
	box, err := t.open(ctx)
	if err != nil {
		return err
	}
	kept := false
	defer func() {
		t.watch.to(&t.watch.spent.Finish)
		t.scrub.end()
		if !kept { // after a panic too
			t.close(box)
		}
	}()
	if err = t.ready(ctx, box); err == nil && !t.destroyed && !(t.diverged && (t.RestartDiverged || t.Program != nil)) {
		err = t.run(ctx, model, box)
	}
	t.watch.to(&t.watch.spent.Finish)
	t.scrub.end()
	if kept = t.keeps(ctx, box, err); kept {
		t.runner.Keep(box)
	}
	return err
}

// look gets the pictures of the task, unless the journal has its message.
func (t *attempt) look(ctx context.Context) (err error) {
	if t.Pictures == nil || t.past != nil && len(t.past.Messages) > 0 {
		return nil
	}
	defer t.watch.during(&t.watch.spent.Prepare)()
	t.pictures, err = t.Pictures(ctx, t.in)
	for i, p := range t.pictures {
		t.log.Info("image of the task", "number", i+1, "type", p.MediaType, "bytes", len(p.Data), "source", p.Source, "changed", p.Changed)
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

func (t *attempt) run(ctx context.Context, model llm.Model, box *keptBox) error {
	t.watch.to(&t.watch.spent.Agent)
	err := t.talk(ctx, model, box)
	t.watch.to(&t.watch.spent.Finish)
	t.report("finish")
	if ctx.Err() == nil {
		if failed := t.settle(ctx); failed != nil && errors.Is(err, failed) {
			return err
		} else if failed != nil {
			return joined(failed, err)
		}
	}
	if t.ending == nil || err != nil && (fault.Canceled(err) || ctx.Err() != nil || errors.Is(err, runner.ErrBudget)) {
		return err // the working tree is salvaged when the instance is resumed
	}
	if !t.ending.Submitted {
		t.salvage(ctx, box, t.Salvage && err == nil)
		return t.verify(ctx, box, err)
	}
	if err := t.durable(journal.TypeSubmission, journal.SubmissionData{Submission: t.ending.Submission}); err != nil {
		return err
	}
	t.predict(ctx, box)
	return t.verify(ctx, box, err)
}

// verify judges what the agent has left, if it has ended without an error.
func (t *attempt) verify(ctx context.Context, box *keptBox, err error) error {
	if err != nil || t.Verify == nil || t.in.Task == nil || t.diverged {
		return err
	}
	t.report("verify")
	err = t.Verify(ctx, Finished{t.in, t.result.Record.Attempt, t.result.Prediction, t.box, box.Sandbox})
	if err != nil {
		box.failed.Store(true) // perhaps its container is lost
	}
	return err
}

// joined is like [errors.Join], but leaves out the second error if the first one already
// contains it: while a disk is full, every write to the journal returns the same error.
func joined(first, second error) error {
	if second != nil && errors.Is(first, second) {
		return first
	}
	return errors.Join(first, second)
}

// Task returns the part of a turn that the instance's row determines: its template
// variables.
func Task(in dataset.Instance) agent.Turn {
	return agent.Turn{Task: in.ProblemStatement, Vars: map[string]any{"instance_id": in.ID}}
}

// timed is a model that measures its calls with a stopwatch.
type timed struct {
	llm.Model
	watch *stopwatch
}

// Generate implements llm.Model.
func (m timed) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	defer m.watch.during(&m.watch.spent.Model)()
	return m.Model.Generate(ctx, req)
}

// report reports the attempt's current phase.
func (t *attempt) report(phase string) {
	t.now(vocab.Event{Phase: phase, Step: max(t.at.Step, t.result.Record.Steps), Cost: max(t.at.Cost, t.result.Record.Cost)})
}

// now reports what the attempt does, on its engine.
func (t *attempt) now(e vocab.Event) {
	e.Type, e.Engine = vocab.EventPhase, t.box.Engine
	t.at = e
	t.runner.Report(e)
}

// reserve reserves money for the next call.
func (t *attempt) reserve(ctx context.Context) (session.Reservation, error) {
	defer t.watch.during(&t.watch.person)() // a pause may last for days
	call, err := t.runner.Reserve(ctx)
	t.limited = call.Limited()
	if err == nil && t.Program == nil { // a program takes no messages
		if stop := t.interjection(); stop != nil {
			call.Release()
			return nil, stop
		}
	}
	return call, err
}

// predict turns the submission into a prediction.
func (t *attempt) predict(ctx context.Context, box Sandbox) {
	ctx, cancel := withinLastScripts(ctx)
	defer cancel()
	// A nil Submission means that there was none, so an empty one must not be nil.
	t.result.Submission = append([]byte{}, t.ending.Submission...)
	text, note := boxgit.Portable(ctx, box, t.commits(), t.ending.Submission)
	t.result.Prediction = text
	t.result.Notes.Prediction = note
	if note != "" {
		t.log.Warn("the submission is not UTF-8", "prediction", note)
	}
}

// finish fills in the record and the trajectory from what is known.
func (t *attempt) finish(err error) {
	rec := &t.result.Record
	rec.Image, rec.ImageID, rec.ImageDigest = t.box.Image.Ref, t.box.Image.ID, t.box.Image.Digest
	rec.Engine = t.box.Engine
	if e := t.ending; e != nil {
		rec.Status, rec.Outcome, rec.Error = e.Status, outcome(e), e.Reason
		if rec.Outcome == vocab.OutcomeEmpty && t.in.Task != nil { // the container is the result
			rec.Outcome = vocab.OutcomeSubmitted
		}
		rec.Unpriced = e.Unpriced
		rec.Steps, rec.Cost, rec.ModelID = e.Calls, e.Cost, cmp.Or(e.ModelID, rec.ModelID)
		rec.Usage = t.carried.usage.Add(e.Usage)
		rec.PatchBytes = len(t.result.Submission)
	}
	if t.diverged && err == nil && t.Talk == nil { // a person or program leads it, and knows
		rec.Status, rec.Outcome = vocab.StatusReplayDiverged, vocab.OutcomeDiverged
		why := "resumed in a new container, the replayed actions had different outputs (agent.log has the first)"
		if t.Program != nil {
			why = "the agent's program ended while no process of batch answered it, or with its container"
		}
		rec.Error = why + ": this is not a result, and the next run starts the instance from the beginning"
	}
	rec.Time = t.phases()
	t.result.Notes.Commit = t.commit
	t.log.Info("attempt ended", "status", rec.Status, "steps", rec.Steps, "cost", rec.Cost, "err", err)
}

func (t *attempt) cost() float64 {
	if t.ending == nil {
		return t.result.Record.Cost
	}
	return t.ending.Cost
}

func (t *attempt) steps() int {
	if t.ending == nil {
		return t.result.Record.Steps
	}
	return t.ending.Calls
}

// phases returns the time of the attempt in each phase, including before a resume.
func (t *attempt) phases() results.Phases {
	p, was := t.watch.read(), t.carried.time
	p.Pull += was.Pull
	p.Start += was.Start
	p.Prepare += was.Prepare
	p.Replay += was.Replay
	p.Model += was.Model
	p.RateWait, p.Backoff = was.RateWait, was.Backoff
	p.Commands += was.Commands
	p.Agent += was.Agent
	p.Total += was.Total
	if e := t.ending; e != nil {
		p.RateWait += e.RateWait.Seconds()
		p.Backoff += e.Backoff.Seconds()
	}
	p.Queue = t.runner.Queued.Seconds()
	p.Scrub = t.scrub.seconds()
	p.ScrubWait = t.scrubWait.Seconds()
	return p
}

// outcome classifies an ending that the agent caused. The runner overrides it if the
// attempt ended with a fault.
func outcome(e *agent.Ending) vocab.Outcome {
	if e.Submitted && len(e.Submission) == 0 {
		return vocab.OutcomeEmpty
	}
	return e.Status.Outcome()
}
