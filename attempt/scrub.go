package attempt

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

const keepHistory = "--keep-git-history leaves the history to the agent"

// repository checks that the image's repository is at the row's base_commit and starts
// to hide a solution in its history, see [scrub]. It runs after the start-up command,
// which may have to check out a commit first, and only in a new sandbox: where an agent
// has worked, the scrub would remove the agent's own branches and stashes.
func (t *attempt) repository(ctx context.Context, box Sandbox) error {
	t.base = ""
	if t.ScrubGitHistory || t.checked() {
		out, err := t.askBase(ctx, box)
		if err != nil {
			return err
		}
		found := boxgit.ReadBase(out.Bytes, out.ExitCode)
		if err := t.compare(found); err != nil {
			return err
		}
		if t.ScrubGitHistory {
			if _, err := t.read(out); err != nil {
				return err
			}
		}
		t.base = found.Head
	}
	if t.base == "" {
		t.base = boxgit.Head(ctx, box)
	}
	if t.ScrubGitHistory && !t.box.Known {
		t.scrub = t.beginScrub(ctx, box)
	}
	return nil
}

// askBase compares the repository with the row's base_commit.
func (t *attempt) askBase(ctx context.Context, box Sandbox) (vocab.Output, error) {
	mode := t.mode()
	ask := func() (vocab.Output, error) { return t.prepare(ctx, box, mode) }
	if mode == boxgit.Keep {
		return box.Checked(ctx, ask)
	}
	return ask()
}

// mode tells the script how to treat the history before the first call.
func (t *attempt) mode() string {
	if t.ScrubGitHistory && t.box.Known {
		return boxgit.Known
	}
	return boxgit.Keep
}

// prepare runs the script that prepares the repository and keeps or scrubs its history.
func (t *attempt) prepare(ctx context.Context, box Sandbox, history string) (vocab.Output, error) {
	out, err := box.Script(ctx, boxgit.Command(t.in.BaseCommit, history))
	if err == nil && out.TimedOut {
		err = fault.Newf(fault.Instance, "preparing the repository: no end within %v", out.Timeout).WithHint("%s", keepHistory)
	}
	return out, err
}

// checked reports whether the row says which commit the image must be at.
func (t *attempt) checked() bool { return strings.TrimSpace(t.in.BaseCommit) != "" }

// compare checks the repository that was found against the row's base_commit.
func (t *attempt) compare(found boxgit.Base) error {
	if found.Unsaved.Total > 0 {
		t.log.Info("the image's working tree has changes that are not committed", "files", found.Unsaved.Total, "names", found.Unsaved.String())
	}
	if !t.checked() {
		return nil
	}
	mismatch := found.Mismatch(t.in.BaseCommit, t.in.Patch)
	if mismatch != "" || found.Changed.Total > 0 {
		t.commit = &journal.CommitData{Head: found.Head, Files: found.Changed.Names, Total: found.Changed.Total, Mismatch: mismatch}
	}
	name := cmp.Or(boxgit.ID(t.in.BaseCommit), fmt.Sprintf("%.80q", t.in.BaseCommit))
	log := t.log.With("base_commit", name, "head", found.Head, "changed", found.Changed.Total, "files", found.Changed.Names)
	switch {
	case mismatch == "":
		log.Info("the image is at its row's commit")
	case t.AllowCommitMismatch:
		log.Warn("the image is not at its row's commit", "mismatch", mismatch)
	default:
		log.Error("the image is not at its row's commit", "mismatch", mismatch)
		return fault.Newf(fault.Instance, "the image is not at base_commit %s: %s", name, mismatch).
			WithHint("--allow-commit-mismatch runs it as it is; run.env_startup_command can check out the commit")
	}
	return nil
}

// scrub is a running scrub of the git history, in parallel with the first model call.
// Until it has ended, nothing else may happen in the sandbox.
type scrub struct {
	stop  context.CancelFunc
	ended chan struct{}
	err   error         // once ended
	took  time.Duration // without the wait for its turn and for another container
}

// beginScrub starts a scrub, which waits for its turn. The attempt must end it.
func (t *attempt) beginScrub(ctx context.Context, box Sandbox) *scrub {
	ctx, stop := context.WithCancel(ctx)
	s := &scrub{stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		mode := boxgit.Scrub
		if box.ShareScrub(ctx) {
			mode = boxgit.Known
		}
		select {
		case t.turns <- struct{}{}:
			defer func() { <-t.turns }()
		case <-ctx.Done():
			s.err = context.Cause(ctx)
			return
		}
		began := t.Now()
		s.err = t.hide(ctx, box, mode)
		s.took = t.Now().Sub(began)
	}()
	return s
}

// running reports whether the scrub has not ended yet.
func (s *scrub) running() bool {
	if s == nil {
		return false
	}
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// end cancels the scrub and waits until it has stopped.
func (s *scrub) end() {
	if s != nil {
		s.stop()
		<-s.ended
	}
}

// seconds is the duration of a scrub that has ended.
func (s *scrub) seconds() float64 {
	if s == nil {
		return 0
	}
	return s.took.Seconds()
}

// hide scrubs the repository.
func (t *attempt) hide(ctx context.Context, box Sandbox, mode string) error {
	out, err := t.prepare(ctx, box, mode)
	if err != nil {
		return err
	}
	report, err := t.read(out)
	if err == nil {
		box.Scrubbed(report, out.Duration)
	}
	return err
}

// read reads the script's report on the history.
func (t *attempt) read(out vocab.Output) (boxgit.Report, error) {
	report, err := boxgit.Read(out.Bytes, out.ExitCode)
	if err != nil {
		return report, fault.New(fault.Instance, "preparing the repository", err).WithHint("%s", keepHistory)
	}
	t.log.Info("git history", "verdict", report.Verdict, "refs", report.Refs, "objects", report.Objects, "dur", out.Duration)
	return report, nil
}

// scrubbed waits until the scrub has ended, if there is one.
func (t *attempt) scrubbed(ctx context.Context) error {
	s := t.scrub
	if s == nil {
		return nil
	}
	if !s.running() {
		return s.err
	}
	defer t.watch.during(&t.watch.spent.Prepare)()
	began := t.Now()
	defer func() { t.scrubWait += t.Now().Sub(began) }()
	t.report("prepare")
	select {
	case <-s.ended:
		return s.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settle waits until the sandbox is ready for an action, and records it in the journal,
// so that the attempt can be resumed in it. Further calls do nothing.
func (t *attempt) settle(ctx context.Context) error {
	if t.unsettled == nil {
		return nil
	}
	if err := t.scrubbed(ctx); err != nil {
		return err
	}
	data := *t.unsettled
	t.unsettled = nil
	spent := t.watch.read()
	data.Pull, data.Start, data.Prepare, data.Replay = spent.Pull, spent.Start, spent.Prepare, spent.Replay
	return t.flushed(journal.TypeContainer, data)
}
