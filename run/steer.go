package run

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/control"
	"batch.example/batch/run/steering"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// openCommands opens the log of commands in a directory. Without a begin, no program gives commands.
func openCommands(dir string, begin *control.Begin) (*control.Log, error) {
	if begin == nil {
		return control.NewLog(), nil
	}
	log, err := control.OpenLog(dir)
	if err != nil {
		return nil, err
	}
	above, err := bySweep(dir)
	log.Below(above)
	return log, err
}

// resumeCommands carries out what commands to earlier processes left: the results of requeued
// instances are removed.
func (r *Run) resumeCommands() (err error) {
	if r.name == "" { // otherwise the sweep has the log
		if r.group.log, err = openCommands(r.Output, r.Control); err != nil {
			return err
		}
	}
	if r.Again {
		if err := r.requeueChosen(); err != nil {
			return err
		}
	}
	for _, q := range r.inForce().Requeued {
		if err := r.store.Reset([]string{q.Instance}, false); err != nil {
			return err
		}
		if err := r.group.log.Done(q.ID); err != nil {
			return err
		}
	}
	return nil
}

// inForce returns what commands left in force for this run.
func (r *Run) inForce() control.InForce { return r.group.log.InForce().Cell(r.name) }

// requeueChosen puts on record that canceled instances run again, because they were chosen.
func (r *Run) requeueChosen() error {
	canceled := r.inForce().Canceled
	for _, in := range r.Instances {
		if !slices.Contains(canceled, in.ID) {
			continue
		}
		c := control.Command{ID: control.NewID(), Verb: control.Requeue, Instance: r.part.Full(in.ID), Program: "batch retry"}
		if _, err := r.group.log.Add(control.NewRecord(c)); err != nil {
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

// newPart returns the run's part of the steering.
func (r *Run) newPart() *steering.Part {
	return &steering.Part{
		Name: r.name, IDs: ids(r.Instances), Halts: new(runner.Halts), Again: r.again,
		Finished: func(id string) bool {
			_, done := r.store.Finished(id)
			return done
		},
		Takes: func() error {
			release, err := r.hold()
			release()
			return err
		},
	}
}

// again removes the result of an instance and lets it run again.
func (r *Run) again(id string) error {
	release, err := r.hold()
	defer release()
	if err != nil {
		return err
	}
	is := func(in dataset.Instance) bool { return in.ID == id }
	if r.part.Finished(id) {
		if err := r.store.Reset([]string{id}, false); err != nil {
			return err
		}
		if !slices.ContainsFunc(r.todo, is) {
			r.kept.Add(1)
		}
	}
	in := r.Instances[slices.IndexFunc(r.Instances, is)]
	if !r.part.Halts.Release(id, func() bool { return r.roster.Add(in) }) { // it stays in force
		return fault.Newf(fault.Host, "requeue: no further instance begins").WithHint("`batch resume` runs it")
	}
	return nil
}

// hold keeps the roster open for an instance, until release is called.
func (r *Run) hold() (release func(), err error) {
	if !r.roster.Hold() {
		return func() {}, fault.Newf(fault.Usage, "requeue: no further instance begins").
			WithHint("when the work has ended: `batch retry %s INSTANCE`", printable.ShellWord(r.Output))
	}
	return r.roster.Release, nil
}

// Roster has the instances that have not begun. To a run with Serving, they are added.
func (r *Run) Roster() *runner.Roster[dataset.Instance] { return r.roster }

// Drained reports whether a command of another program drained or stopped the work.
func (r *Run) Drained() bool { return r.group.Drained() }

// Unfinished returns how many instances have no result, or no verdict if the run grades.
func (r *Run) Unfinished() int {
	s := r.Summary()
	return s.Missing + s.Ungraded
}

// Conclude puts on record the exit code with which the process will end, for programs that wait.
func (r *Run) Conclude(pid, code int) error { return r.group.Conclude(pid, code) }

// ears implements attempt.Ears with the commands of other programs.
type ears struct{ *Run }

// Said implements attempt.Ears.
func (e ears) Said(instance string) (list []attempt.Said) {
	for _, r := range e.group.by.Said(e.part, instance) {
		list = append(list, attempt.Said{ID: r.ID, Text: r.Text, By: cmp.Or(r.User, fmt.Sprintf("user %d", r.UID))})
	}
	return list
}

// Heard implements attempt.Ears. If that cannot be recorded, the journal says it to the next process.
func (e ears) Heard(instance, id string) {
	if err := e.group.by.Heard(e.part, id); err != nil {
		e.log.Warn("not on record: that an agent has read a message", "instance", instance, "err", err)
	}
}

// limited returns the limits of an instance's attempts: its task may allow less time, and commands may
// have set others.
func (r *Run) limited(instance string, l vocab.Limits) vocab.Limits {
	if t := r.tasks[instance]; t != nil && t.AgentLimit > 0 {
		if limit := r.Tasks.Times(t.AgentLimit); l.Time == 0 || limit < l.Time {
			l.Time = limit
		}
	}
	set := r.group.by.LimitOf(r.part, instance)
	for _, k := range vocab.LimitKinds {
		if v, ok := set[k.Name]; ok {
			k.Set(&l, v)
		}
	}
	return l
}
