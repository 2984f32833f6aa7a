package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/run/grading"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// Grading says how a run grades its predictions. It grades them as soon as they are saved,
// in a fresh container of the image, in parallel with the agents and with a width of its
// own.
type Grading struct {
	grading.Settings
	Width *runner.Width // predictions at the same time; nil: one
}

// checkGrading refuses a model with a name that cannot be a folder of the log tree.
func (r *Run) checkGrading() error {
	if r.Grading == nil {
		return nil
	}
	_, err := swebench.ModelDir(r.Settings.Model.ModelName)
	return err
}

// checkTests refuses instances that would cost money although their rows can never be
// graded.
func (r *Run) checkTests(todo []Planned) error {
	if r.Grading == nil {
		return nil
	}
	var first error
	var refused []string
	for _, p := range todo {
		if err := r.Grading.Check(p.Instance); err != nil {
			first = cmp.Or(first, err)
			refused = append(refused, p.ID)
		}
	}
	if first == nil {
		return nil
	}
	const most = 5
	named := strings.Join(refused[:min(most, len(refused))], ", ")
	if more := len(refused) - most; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	hint := "to leave out " + named + ": --instances FILE keeps the rows whose ids FILE lists, one per line; or run without --grade"
	if why := fault.HintOf(first); why != "" {
		hint = why + "\n" + hint
	}
	return fault.Newf(fault.Usage, "%s cannot be graded: %w", printable.Count(len(refused), "instance", "instances"), first).
		WithHint("%s", hint)
}

// planGrading finds the predictions that an earlier run left without a verdict. list has the
// directory's grades.
func (r *Run) planGrading(ctx context.Context, plan *Plan, list []grades.Grade) ([]grading.Job, error) {
	p := grading.Planner{Settings: r.Grading.Settings, Sandboxes: r.Sandboxes, ByImage: r.ByImage, Tell: r.Tell, Standing: true}
	for _, in := range plan.Instances {
		if in.Action == Keep {
			p.Instances = append(p.Instances, in.Instance)
		}
	}
	planned, err := p.Plan(ctx, r.read, list)
	var jobs []grading.Job
	for _, j := range planned {
		if !j.Keep {
			jobs = append(jobs, j.Job)
		}
	}
	return jobs, err
}

// ToGrade returns how many predictions of earlier runs are left to grade.
func (r *Run) ToGrade() int { return len(r.ungraded) }

// grader grades the predictions of a running run. A nil grader does nothing.
type grader struct {
	settings grading.Settings
	store    *results.Store
	jobs     *runner.Roster[grading.Job] // held until the agents have ended
	log      *slog.Logger
	images   held
	asked    atomic.Int64 // predictions

	done chan struct{}  // closed when sum and err are known
	sum  runner.Summary // of the predictions
	err  error
}

// startGrading starts to grade in a pool with the same settings as the agents' pool. The
// caller must finish the grader. It calls stop when a fault of the host ends grading: then
// the agents would meet the same fault, or cost money for predictions that cannot be graded.
func (r *Run) startGrading(ctx context.Context, pool runner.Config, stop func()) (*grader, error) {
	if r.Grading == nil {
		return nil, nil
	}
	journal, err := r.store.Grades()
	if err != nil {
		return nil, err
	}
	if _, err := grading.Withdraw(journal, r.Grading.Rules, r.ungraded); err != nil {
		return nil, err
	}
	g := &grader{
		settings: r.Grading.Settings, store: r.store, jobs: runner.NewRoster(r.ungraded), log: pool.Log,
		done: make(chan struct{}),
	}
	g.jobs.Hold()
	g.asked.Store(int64(len(r.ungraded)))
	pool.Width, pool.Budget, pool.Pause, pool.Halts = r.Grading.Width, nil, nil, nil
	pool.OnStop = func(err error) {
		r.view.Say(fmt.Sprintf("grading stopped, so no further instance starts: %v", err))
		stop()
	}
	c := r.Grading.Config(r.Output, journal, r.host, pool)
	c.Stands = g.stands
	c.Graded = func(g grades.Grade) {
		r.view.Event(vocab.Event{Type: vocab.EventGraded, Instance: g.InstanceID, Verdict: g.Verdict, Error: cmp.Or(g.Error, g.Why)})
	}
	go g.run(ctx, c)
	return g, nil
}

// run grades until the roster is released and empty. It releases the image of each graded
// prediction, and finally all images.
func (g *grader) run(ctx context.Context, c grading.Config) {
	defer close(g.done)
	defer g.images.end()
	c.Pool.OnEvent = func(e vocab.Event) {
		if e.Type == vocab.EventInstanceEnd {
			g.images.graded(e.Instance)
		}
	}
	g.sum, g.err = grading.Run(ctx, c, g.jobs)
}

// finishGrading waits until all submitted predictions are graded or the run is interrupted, and
// writes the harness's final report.
func (r *Run) finishGrading(g *grader) error {
	if g == nil {
		return nil
	}
	g.jobs.Release()
	<-g.done
	r.waiting = int(g.asked.Load()) - g.sum.Final - g.sum.Failed // some may have arrived after the last one was taken
	return errors.Join(g.err, r.writeFinal())
}

// hold keeps the image of an instance's sandbox until the instance is graded.
func (g *grader) hold(ctx context.Context, id string, box *sandbox.Sandbox) {
	release, err := box.Hold(ctx)
	if err != nil { // then the image may have to be pulled again
		g.log.Warn("could not hold an image until its instance is graded", "instance", id, "err", err)
		return
	}
	g.images.add(id, release)
}

// ended submits the prediction of a saved attempt; nil: it made none.
func (g *grader) ended(in dataset.Instance, p *results.Prediction) {
	if p == nil || in.Task != nil { // a task is verified in its own container
		g.images.release(in.ID)
		return
	}
	g.asked.Add(1)
	g.images.wait(in.ID)
	job := g.settings.Job(in, *p)
	job.Since = time.Now()
	g.jobs.Add(job)
}

// held has the images that are kept until predictions are graded. An instance may be attempted
// again while its earlier prediction waits. The zero value is empty.
type held struct {
	mu      sync.Mutex
	open    map[string]func()   // release the images of instances with a running attempt
	waiting map[string][]func() // the same for each prediction that waits; nil: no image is kept for it
	ended   bool                // nothing is graded any more
}

// add keeps an image until the attempt has ended without a prediction, or until its
// prediction is graded.
func (h *held) add(id string, release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		release()
		return
	}
	h.drop(id)
	if h.open == nil {
		h.open, h.waiting = map[string]func(){}, map[string][]func(){}
	}
	h.open[id] = release
}

// release releases the image of an attempt that made no prediction.
func (h *held) release(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(id)
}

func (h *held) drop(id string) {
	if release := h.open[id]; release != nil {
		release()
	}
	delete(h.open, id)
}

// wait records that an attempt's prediction waits to be graded.
func (h *held) wait(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open != nil && !h.ended {
		h.waiting[id] = append(h.waiting[id], h.open[id])
		delete(h.open, id)
	}
}

// graded releases the image of the prediction that waited longest.
func (h *held) graded(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.waiting[id]
	if len(list) == 0 {
		return // an earlier run made the prediction
	}
	if list[0] != nil {
		list[0]()
	}
	if h.waiting[id] = list[1:]; len(list) == 1 {
		delete(h.waiting, id)
	}
}

// end releases all images. An image that is added later is released at once.
func (h *held) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for id := range h.open {
		h.drop(id)
	}
	for _, list := range h.waiting {
		for _, release := range list {
			if release != nil {
				release()
			}
		}
	}
	clear(h.waiting)
}

// stands reports whether no later attempt has replaced a prediction.
func (g *grader) stands(p results.Prediction) bool { return g.store.Stands(grading.KeyOf(p)) }

// sandboxes adapts a host to the interface that the solver uses.
type sandboxes struct {
	*sandbox.Host
	grader *grader // may be nil
}

// Open implements attempt.Sandboxes.
func (s sandboxes) Open(ctx context.Context, o sandbox.Opening) (attempt.Sandbox, error) {
	box, err := s.Host.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if s.grader != nil {
		s.grader.hold(ctx, o.Instance.ID, box)
	}
	return box, nil
}

func (r *Run) writeFinal() error {
	list, err := r.store.Predictions(nil)
	if err != nil {
		return err
	}
	whole := slices.Clone(r.manifest.Dataset.Instances)
	for _, p := range list { // an earlier version may have left only some in the manifest
		whole = append(whole, p.InstanceID)
	}
	slices.Sort(whole)
	r.report, err = grading.Final(r.store, r.Grading.RunIDOf(r.Output), r.Grading.Rules, slices.Compact(whole))
	return err
}
