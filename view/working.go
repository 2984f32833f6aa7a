package view

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/internal/mask"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/control"
	"batch.example/batch/vocab"
)

// livePage is the data of the page about work under way.
type livePage struct {
	Works []work `json:"works"`
	Forms bool   `json:"-"`
}

// work is a run, a sweep or a grading in a process.
type work struct {
	Name   string          `json:"name"`
	Status *control.Status `json:"status,omitempty"` // nil: the process does not answer
	Owner  string          `json:"owner,omitempty"`  // the process, if it does not answer
	Error  string          `json:"error,omitempty"`  // why it does not answer

	Rows       []workerRow        `json:"-"`
	Unanswered results.Unanswered `json:"-"` // beside the cost in Status
}

// Can reports whether a verb changes something now.
func (w work) Can(verb control.Verb) bool {
	ends := w.Status.State == control.Draining || w.Status.State == control.Stopping
	switch {
	case !slices.Contains(w.Status.Verbs, verb):
		return false
	case verb == control.Pause:
		return w.Status.State == control.Running
	case verb == control.Resume:
		return w.Status.State == control.Paused
	case verb == control.Stop:
		return w.Status.State != control.Stopping
	case verb == control.Drain, verb == control.Requeue:
		return !ends
	}
	return true
}

// Pace says how fast the process works, and how long that takes for what is left; empty: it is not known.
func (w work) Pace() string {
	ended, elapsed := float64(w.Status.Done-w.Status.Kept+w.Status.Failed), w.Status.Now.Sub(w.Status.Started)
	if ended <= 0 || elapsed <= 0 || w.Status.Queued == nil { // a process of an older batch
		return ""
	}
	text := fmt.Sprintf("%.1f per hour", ended/elapsed.Hours())
	if perMinute := ended / elapsed.Minutes(); perMinute >= 1 {
		text = fmt.Sprintf("%.1f per minute", perMinute)
	}
	if w.Status.State == control.Running {
		left := float64(len(w.Status.Queued)+w.Status.Running) / ended * elapsed.Seconds()
		text += ", about " + report.Seconds(left) + " left"
	}
	return text
}

// changed is a command that was carried out, in words.
type changed struct {
	control.Record
	What string // "width 4", "limit step=100 time=30m0s"
}

// Changes returns what was changed in the process, the last change first.
func (w work) Changes() (list []changed) {
	if w.Status == nil {
		return nil
	}
	for _, r := range slices.Backward(w.Status.Recent) {
		if r.Time.Before(w.Status.Started) {
			break
		}
		what := string(r.Verb)
		switch r.Verb {
		case control.SetWidth:
			what += fmt.Sprintf(" %d", r.Width)
		case control.SetBudget:
			what += " " + report.Dollars(r.Budget)
		case control.SetLimit:
			for _, k := range vocab.LimitKinds {
				v, set := r.Limit[k.Name]
				switch {
				case set && k.Unit == "seconds":
					what += fmt.Sprintf(" %s=%v", k.Arg, time.Duration(v*float64(time.Second)))
				case set:
					what += fmt.Sprintf(" %s=%g", k.Arg, v)
				}
			}
		}
		list = append(list, changed{r, what})
	}
	return list
}

// workerRow is a running attempt in words.
type workerRow struct {
	vocab.Worker
	Does string // "commands 0:41", "waits for the rate limit 0:12", "tries again in 0:45"
	Link string // empty: no page about it

	results.Unanswered // beside Cost
}

// working asks the processes of all runs once for all readers.
type working struct {
	mu    sync.Mutex
	asked time.Time
	page  livePage
	html  string // the page's changing part
}

// forget makes the next reader ask the processes.
func (w *working) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = time.Time{}
}

// askEvery is the shortest interval between questions to the processes.
const askEvery = 900 * time.Millisecond

// askLimit is the maximum time for a process to answer.
const askLimit = 2 * time.Second

// live answers with the page about work under way.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	page, _, err := s.working(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.show(w, r, "live", "Live", page)
}

// liveEvents sends the changing part of the page every second.
func (s *Server) liveEvents(w http.ResponseWriter, r *http.Request) {
	out := newStream(w)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		_, html, err := s.working(r.Context())
		if err != nil || out.send("replace", 0, html) != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// working returns the work under way. Concurrent readers get the same answer.
func (s *Server) working(ctx context.Context) (livePage, string, error) {
	s.now.mu.Lock()
	defer s.now.mu.Unlock()
	if time.Since(s.now.asked) < askEvery {
		return s.now.page, s.now.html, nil
	}
	runs, err := s.runs.all()
	if err != nil {
		return livePage{}, "", err
	}
	// The answer serves all readers, so that it must not end with this one.
	ctx = context.WithoutCancel(ctx)
	page := livePage{Works: askAll(ctx, runs), Forms: s.c.Control != nil}
	for i := range page.Works {
		if err := page.Works[i].hide(s.c.Mask); err != nil {
			return page, "", err
		}
	}
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, "works", page); err != nil {
		return page, "", err
	}
	s.now.page, s.now.html, s.now.asked = page, b.String(), time.Now()
	return page, s.now.html, nil
}

// hide hides secrets: the process sends the names of instances and engines unmasked.
func (w *work) hide(m *mask.Masker) error {
	w.Error, w.Owner = m.Text(w.Error), m.Text(w.Owner)
	if w.Status == nil {
		return nil
	}
	status, err := hidden(m, *w.Status)
	if err != nil {
		return err
	}
	w.Status = &status
	for i := range w.Rows {
		w.Rows[i].Worker = status.Workers[i]
	}
	return nil
}

// askAll asks the processes that work in runs, in the order of the runs.
func askAll(ctx context.Context, runs []*run) []work {
	const together = 8
	seen := map[string]bool{}
	found := make([]work, len(runs))
	var asks errgroup.Group
	asks.SetLimit(together)
	for i, r := range runs {
		dir := cmp.Or(r.Sweep, r.Dir)
		if seen[dir] {
			continue
		}
		seen[dir] = true
		asks.Go(func() error {
			if one, ok := ask(ctx, runs, r, dir); ok {
				found[i] = one
			}
			return nil
		})
	}
	_ = asks.Wait() // no asks return errors
	return slices.DeleteFunc(found, func(w work) bool { return w.Name == "" })
}

// ask asks the process that works in dir; ok is false if there is none.
func ask(ctx context.Context, runs []*run, r *run, dir string) (w work, ok bool) {
	w.Name = dir
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	client, err := control.Dial(dir, sweeps.Of(dir))
	if err == nil {
		var status control.Status
		if status, err = client.Status(ctx, true); err == nil {
			for i := range status.Workers {
				status.Workers[i].Doing, status.Workers[i].Reason = "", ""
			}
			w.Status, w.Unanswered.Held = &status, status.Held
			w.Rows = rowsOf(runs, r, dir, &status)
			return w, true
		}
	}
	st := r.read()
	w.Owner = st.row.Owner
	if !errors.Is(err, control.ErrNotRunning) {
		w.Error = err.Error()
	}
	return w, w.Owner != ""
}

// rowsOf describes in words what the workers do.
func rowsOf(runs []*run, r *run, dir string, status *control.Status) []workerRow {
	rows := make([]workerRow, len(status.Workers))
	for i := range status.Workers {
		one, name := &status.Workers[i], r.Name
		if one.Cell != "" {
			name = filepath.Join(dir, one.Cell)
		}
		rows[i].Does = doing(*one, status.Now)
		if at := slices.IndexFunc(runs, func(r *run) bool { return r.Name == name }); at >= 0 {
			if rec := results.LatestOf(runs[at].read().last, one.Instance); rec.Status == vocab.StatusRunning { // both of one moment
				one.Cost, rows[i].Unanswered = rec.Cost, rec.Unanswered
			}
		}
		rows[i].Worker = *one
		if one.Step > 0 || one.Attempt > 1 { // before that, there is no trajectory
			rows[i].Link = attemptLink(name, one.Instance) + "?step=last"
		}
	}
	return rows
}

// doing says what a worker does, and for how long.
func doing(w vocab.Worker, now time.Time) string {
	since := clock(now.Sub(w.Since))
	switch {
	case w.Waiting != "" && w.Until != nil && w.Until.After(now):
		return fmt.Sprintf("%s, tries again in %s", w.Waiting, clock(w.Until.Sub(now)))
	case w.Waiting == "rate limit":
		return "waits for the rate limit " + since
	case w.Waiting != "":
		return fmt.Sprintf("waits (%s) %s", w.Waiting, since)
	}
	return w.Phase + " " + since
}

// clock formats a duration as minutes and seconds.
func clock(d time.Duration) string {
	n := int(max(0, d).Seconds())
	if n >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", n/3600, n/60%60, n%60)
	}
	return fmt.Sprintf("%d:%02d", n/60, n%60)
}
