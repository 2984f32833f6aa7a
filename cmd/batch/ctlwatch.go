package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/retry"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/control"
	"batch.example/batch/vocab"
)

// ps prints the state of work.
func (a *app) ps(ctx context.Context, client *control.Client, f ctlFlags) error {
	s, err := client.Status(ctx, f.content)
	if err != nil {
		return notRunning(client.Dir(), err)
	}
	if f.json {
		return a.printJSON(s)
	}
	return writeStatus(a.stdout, s)
}

func writeStatus(out io.Writer, s control.Status) error {
	state := string(s.State)
	if !s.Since.Equal(s.Started) {
		state += " for " + clock(s.Now.Sub(s.Since))
	}
	fmt.Fprintf(out, "%s %s (process %d), elapsed %s: %d of %d done", s.Kind, state, s.PID, clock(s.Now.Sub(s.Started)), s.Done, s.Total)
	if s.Failed > 0 {
		fmt.Fprintf(out, ", %d failed", s.Failed)
	}
	fmt.Fprintf(out, ", %d running, %d at once", s.Running, s.Width)
	if s.Kind != control.KindGrade {
		fmt.Fprintf(out, ", %s", report.UpTo(s.Cost, results.Unanswered{Held: s.Held}))
	}
	if s.Budget > 0 {
		fmt.Fprintf(out, ", of a budget of %s", printable.Dollars(s.Budget))
	}
	fmt.Fprintln(out)
	if n := len(s.Cancels); n > 0 {
		fmt.Fprintf(out, "canceled: %s\n", some(s.Cancels))
	}
	if len(s.Workers) == 0 {
		return nil
	}
	var t printable.Table
	t.Row("INSTANCE", "NOW", "FOR", "STEP", "COST", "TIME", "")
	for _, w := range s.Workers {
		t.Row(nameOf(w), now(w), since(w, s.Now), fmt.Sprint(w.Step), printable.Dollars(w.Cost), clock(s.Now.Sub(w.Started)), remark(w))
	}
	return t.Write(out)
}

func nameOf(w vocab.Worker) string {
	if w.Cell == "" {
		return w.Instance
	}
	return w.Cell + "/" + w.Instance
}

// now says what a worker does.
func now(w vocab.Worker) string {
	switch w.Waiting {
	case "":
		return w.Phase
	case "paused":
		return "paused"
	case "rate limit":
		return "waits for the rate limit"
	}
	return "retrying"
}

// since says how long a worker has done so, or when it tries again.
func since(w vocab.Worker, now time.Time) string {
	if w.Until != nil && w.Until.After(now) {
		return "in " + clock(w.Until.Sub(now))
	}
	return clock(now.Sub(w.Since))
}

func remark(w vocab.Worker) string {
	text := ""
	if w.Stalled {
		text = "stalled "
	}
	return text + printable.Line(w.Doing+w.Reason)
}

// clock writes a duration like 0:41 or 1:02:03.
func clock(d time.Duration) string {
	s := int(max(0, d).Seconds())
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// waitPause is the time between two looks at a directory whose process does not listen.
const waitPause = 200 * time.Millisecond

// wait returns when the work in dir has ended. Its error has the exit code of the work.
func (a *app) wait(ctx context.Context, dir string, asJSON bool) error {
	at, err := untilEnded(ctx, dir)
	if err != nil {
		return err
	}
	h, err := control.Read(at)
	if err != nil {
		return err
	}
	word := printable.ShellWord(at)
	switch {
	case h.Begun == nil:
		return fault.Newf(fault.Usage, "%s: no work has begun there that can be waited for", at).WithHint("`batch status %s` shows what is there", word)
	case h.Ended == nil:
		return fault.Newf(fault.Host, "%s: process %d was killed, or its machine stopped: it left no exit code", at, h.Begun.PID).
			WithHint("`%s` continues it", continuing(at))
	}
	if asJSON {
		if err := a.printJSON(h.Ended); err != nil {
			return err
		}
	}
	if h.Ended.Code == exitOK {
		return nil
	}
	return exited{h.Ended.Code}
}

// untilEnded returns when no process works in dir, and the directory of its control.jsonl.
func untilEnded(ctx context.Context, dir string) (at string, err error) {
	at = dir
	for {
		client, err := reach(dir)
		if err == nil {
			if err = client.Wait(ctx); err != nil {
				return at, err
			}
			at = client.Dir()
		} else if !errors.Is(err, control.ErrNotRunning) {
			return at, err
		}
		busy, failed := results.InUse(at)
		if failed != nil {
			return at, failed
		}
		if !busy && err != nil {
			return recorded(at), nil
		}
		if err := retry.Sleep(ctx, waitPause); err != nil {
			return at, err
		}
	}
}

// recorded returns the directory with the record of the work in dir: for a cell, it may be the
// sweep's.
func recorded(dir string) string {
	up := sweeps.Of(dir)
	if h, err := control.Read(dir); err == nil && h.Begun == nil && up != "" {
		return up
	}
	return dir
}
