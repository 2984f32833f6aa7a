package run

import (
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/control"
	"batch.example/batch/run/steering"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// steered has the parts of a run that commands of other programs change.
type steered struct {
	log  *control.Log
	name string // of the cell; empty: the run is not in a sweep
	part *steering.Part
	by   *steering.Steering     // nil before work begins
	more atomic.Pointer[source] // of the pool; nil before it works
	kept atomic.Int64           // instances that ran again and had a result before the work began
	left int                    // canceled instances without a result, when the work began
}

// source is the source of a pool that takes instances while it works.
type source interface {
	Add(dataset.Instance) bool
	Hold() bool // keeps it open until Ended; false: it is not open
	Ended()
}

// openControl opens the log of commands, and carries out what earlier processes left: the
// results of requeued instances are removed.
func (r *Run) openControl() (err error) {
	switch {
	case r.cell != nil:
		r.steered.log, r.name = r.cell.log, r.cell.name
	case r.Control != nil:
		if r.steered.log, err = control.OpenLog(r.Output); err == nil {
			var above control.InForce
			above, err = bySweep(r.Output)
			r.steered.log.Below(above)
		}
	}
	if r.steered.log == nil || err != nil {
		return err
	}
	r.part = &steering.Part{Name: r.name, IDs: ids(r.Instances), Halts: new(runner.Halts)}
	if r.Again {
		if err := r.requeueChosen(); err != nil {
			return err
		}
	}
	for _, q := range r.inForce().Requeued {
		if err := r.store.Reset([]string{q.Instance}, false); err != nil {
			return err
		}
		if err := r.steered.log.Done(q.ID); err != nil {
			return err
		}
	}
	return nil
}

// inForce returns what commands left in force for this run.
func (r *Run) inForce() control.InForce {
	if r.steered.log == nil {
		return control.InForce{}
	}
	f := r.steered.log.InForce()
	if r.name != "" {
		return f.Cell(r.name)
	}
	return f
}

// requeueChosen puts on record that canceled instances run again, because they were chosen.
func (r *Run) requeueChosen() error {
	canceled := r.inForce().Canceled
	for _, in := range r.Instances {
		if !slices.Contains(canceled, in.ID) {
			continue
		}
		c := control.Command{ID: control.NewID(), Verb: control.Requeue, Instance: in.ID, Program: "batch retry"}
		if r.name != "" {
			c.Instance = r.name + "/" + in.ID
		}
		if _, err := r.steered.log.Add(control.NewRecord(c)); err != nil {
			return err
		}
	}
	return nil
}

// withoutCanceled leaves out the instances that were canceled, and says so.
func (r *Run) withoutCanceled(list []dataset.Instance) []dataset.Instance {
	canceled := r.inForce().Canceled
	kept := slices.DeleteFunc(slices.Clone(list), func(in dataset.Instance) bool { return slices.Contains(canceled, in.ID) })
	if n := len(list) - len(kept); n > 0 {
		r.Tell(printable.Count(n, "instance was canceled and does", "instances were canceled and do") +
			" not run; `batch retry " + printable.ShellWord(r.Output) + " INSTANCE` runs one again")
		r.left = n
	}
	return kept
}

// bySweep returns what commands to a sweep left in force for its cell in dir; nothing for another
// directory.
func bySweep(dir string) (f control.InForce, err error) {
	above := sweeps.Of(dir)
	if above == "" {
		return f, nil
	}
	h, err := control.Read(above)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return f, err
	}
	return h.InForce().Cell(filepath.Base(dir)), nil
}

// ReadControl returns the commands of a run directory. For a cell of a sweep they are below the sweep's.
func ReadControl(dir string) (*control.History, error) {
	h, err := control.Read(dir)
	if err != nil {
		return nil, err
	}
	above, err := bySweep(dir)
	h.Below(above)
	return h, err
}

// markCanceled marks the instances of a plan that were canceled.
func (r *Run) markCanceled(plan *Plan) error {
	if r.Control == nil || r.Again {
		return nil
	}
	h, err := ReadControl(r.Output)
	if err != nil {
		return err
	}
	canceled := h.InForce().Canceled
	for i, p := range plan.Instances {
		if p.Action != Keep && slices.Contains(canceled, p.ID) {
			plan.Instances[i].Action, plan.Instances[i].Why = Cancel, "`batch retry` runs it"
		}
	}
	return nil
}

// Canceled returns how many instances are left out because they were canceled.
func (r *Run) Canceled() int { return r.left }

// steer prepares the steering of work that begins; nil: other programs cannot steer it.
func (r *Run) steer() *steering.Steering {
	if r.part == nil || r.Jobs != nil {
		return nil
	}
	r.preparePart()
	return steering.New(steering.Config{
		Kind: control.KindRun, Dir: r.Output, Log: r.steered.log, Given: *r.Control, Width: r.Width, Fits: r.fits, Limit: r.limit().USD,
		Parts: []*steering.Part{r.part}, Cost: r.store.Cost, Spent: r.store.Spent, Mask: r.Store.Mask, Unpriced: r.Model.Unpriced,
	})
}

// preparePart sets the functions of the run's part.
func (r *Run) preparePart() {
	todo, byID := map[string]bool{}, map[string]dataset.Instance{}
	for _, in := range r.todo {
		todo[in.ID] = true
	}
	for _, in := range r.Instances {
		byID[in.ID] = in
	}
	r.part.Halts.Queue(ids(r.todo)...)
	r.part.Finished = func(id string) bool {
		_, done := r.store.Finished(id)
		return done
	}
	r.part.Takes = func() error {
		release, err := r.hold()
		release()
		return err
	}
	r.part.Again = func(id string) error { return r.again(byID[id], todo[id]) }
}

// again removes the result of an instance and lets it run again. Todo says that it was to run
// when the work began.
func (r *Run) again(in dataset.Instance, todo bool) error {
	release, err := r.hold()
	defer release()
	if err != nil {
		return err
	}
	if r.part.Finished(in.ID) {
		if err := r.store.Reset([]string{in.ID}, false); err != nil {
			return err
		}
		if !todo {
			r.kept.Add(1)
		}
	}
	if !r.part.Halts.Release(in.ID, func() bool { return (*r.more.Load()).Add(in) }) { // it stays in force
		return fault.Newf(fault.Host, "requeue: no further instance begins").WithHint("`batch resume` runs it")
	}
	return nil
}

// hold keeps the pool open for an instance, until release is called.
func (r *Run) hold() (release func(), err error) {
	more := r.more.Load()
	switch {
	case more == nil && len(r.todo)+len(r.ungraded) > 0:
		return func() {}, fault.Newf(fault.Usage, "requeue: no instance has begun yet").WithHint("try again in a moment")
	case more == nil || !(*more).Hold():
		return func() {}, fault.Newf(fault.Usage, "requeue: no further instance begins").
			WithHint("when the work has ended: `batch retry %s INSTANCE`", printable.ShellWord(r.Output))
	}
	return (*more).Ended, nil
}

// fits refuses a width for which the process may not open enough files.
func (r *Run) fits(width int) error {
	return checkFiles(min(width, len(r.Instances)), countImages(r.Instances), sandbox.OpenFiles())
}

// Drained reports whether a command of another program drained or stopped the work.
func (r *Run) Drained() bool { return r.by != nil && r.by.Drained() }

// Unfinished returns how many instances have no result, or no verdict if the run grades.
func (r *Run) Unfinished() int {
	s := r.Summary()
	return s.Missing + s.Ungraded
}

// Conclude puts on record the exit code with which the process will end, for programs that wait.
func (r *Run) Conclude(pid, code int) error {
	if r.by == nil {
		return nil
	}
	return r.steered.log.End(control.End{PID: pid, Code: code})
}

// takeMore sets the source of the pool that works.
func (r *Run) takeMore(s source) { r.more.Store(&s) }

// ears implements attempt.Ears with the commands of other programs.
type ears struct {
	*Run
	log *slog.Logger
}

// Said implements attempt.Ears.
func (e ears) Said(instance string) (list []attempt.Said) {
	for _, r := range e.by.Said(e.part, instance) {
		list = append(list, attempt.Said{ID: r.ID, Text: r.Text, By: cmp.Or(r.User, fmt.Sprintf("user %d", r.UID))})
	}
	return list
}

// Heard implements attempt.Ears. If that cannot be recorded, the journal says it to the next process.
func (e ears) Heard(instance, id string) {
	if err := e.by.Heard(e.part, id); err != nil {
		e.log.Warn("not on record: that an agent has read a message", "instance", instance, "err", err)
	}
}

// limited returns the limits of an instance's attempts with what commands have set.
func (r *Run) limited(instance string, l vocab.Limits) vocab.Limits {
	set := r.by.LimitOf(r.part, instance)
	for _, k := range vocab.LimitKinds {
		if v, ok := set[k.Name]; ok {
			k.Set(&l, v)
		}
	}
	return l
}
