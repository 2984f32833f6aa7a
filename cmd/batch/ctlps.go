package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"batch.example/batch/internal/printable"
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
		return a.writeJSON(s)
	}
	return writeStatus(a.stdout, s)
}

func writeStatus(out io.Writer, s control.Status) error {
	fmt.Fprintf(out, "%s %s for %s (process %d): %d of %d done", s.Kind, s.State, clock(s.Now.Sub(s.Since)), s.PID, s.Done, s.Total)
	if s.Failed > 0 {
		fmt.Fprintf(out, ", %d failed", s.Failed)
	}
	fmt.Fprintf(out, ", %d running, %d at once", s.Running, s.Width)
	if s.Kind != control.KindGrade {
		fmt.Fprintf(out, ", %s", printable.Dollars(s.Cost+s.Held))
	}
	if s.Budget > 0 {
		fmt.Fprintf(out, " of %s", printable.Dollars(s.Budget))
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
