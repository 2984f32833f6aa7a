package grading

import (
	"batch.example/batch/run/control"
	"batch.example/batch/run/rundir"
	"batch.example/batch/run/steering"
	"batch.example/batch/runner"
)

// steer prepares the steering of work that begins; nil: other programs cannot steer it.
func (d *Directory) steer(jobs []Job) (rundir.Steerer, error) {
	if d.Control == nil {
		return nil, nil
	}
	var err error
	if d.commands, err = control.OpenLog(d.Output); err != nil {
		return nil, err
	}
	part := &steering.Part{Halts: new(runner.Halts)}
	for _, j := range jobs {
		part.IDs = append(part.IDs, j.Instance.ID)
	}
	part.Halts.Queue(part.IDs...)
	none := func() float64 { return 0 }
	d.by = steering.New(steering.Config{
		Kind: control.KindGrade, Dir: d.Output, Log: d.commands, Given: d.Control, Width: d.Width, Parts: []*steering.Part{part},
		Cost: none, Spent: none, Mask: d.Store.Mask,
	})
	d.halts = part.Halts
	return d.by, nil
}

// Drained reports whether a command of another program drained or stopped the work.
func (d *Directory) Drained() bool { return d.by != nil && d.by.Drained() }

// Unfinished returns how many predictions have no verdict.
func (d *Directory) Unfinished() int { return d.Missing() }

// Conclude puts on record the exit code with which the process will end, for programs that wait.
func (d *Directory) Conclude(pid, code int) error {
	if d.by == nil {
		return nil
	}
	return d.commands.End(control.End{PID: pid, Code: code})
}
