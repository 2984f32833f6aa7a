package attempt

import (
	"bytes"
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/attempt/session"
	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// maxDifference is the number of bytes of an output that a difference record keeps.
const maxDifference = 64 << 10

// recall fills in the record of the attempt up to its interruption, so that nothing is lost if
// it gets no further.
func (t *attempt) recall() {
	h := t.past
	if h == nil {
		return
	}
	t.log.Info("attempt resumed", "times", h.Resumed+1, "replies", len(t.replied()), "container", t.container())
	rec := &t.result.Record
	rec.Started, rec.Resumed, rec.Differences = h.Started, h.Resumed+1, h.Differences
	t.diverged = h.Differences > 0
	for _, s := range t.replied() {
		rec.Steps++
		rec.Cost += s.Reply.Cost
		rec.Usage = rec.Usage.Add(s.Reply.Usage)
		if s.Reply.Model != "" {
			rec.ModelID = s.Reply.Model
		}
	}
	for _, s := range h.Summaries {
		rec.Cost += s.Reply.Cost
		rec.Usage = rec.Usage.Add(s.Reply.Usage)
	}
	t.carried = t.carry()
}

// carried is the usage and time that the ending of a resumed attempt does not include.
type carried struct {
	usage vocab.Usage
	time  results.Phases
}

func (t *attempt) carry() (c carried) {
	counted := func(r *journal.ReplyData) {
		c.usage = c.usage.Add(r.Usage)
		c.time.RateWait += r.RateLimited()
		c.time.Backoff += r.Waited - r.RateLimited()
	}
	taken := func(r *journal.ReplyData) {
		c.time.Model += r.Seconds
		c.time.Total += r.Waited
	}
	for _, s := range t.before() {
		counted(s.Reply)
	}
	for i := range t.past.Summaries {
		counted(&t.past.Summaries[i].Reply)
		taken(&t.past.Summaries[i].Reply)
	}
	for _, s := range t.replied() { // the ending counts the last reply, but not its time
		taken(s.Reply)
		for _, a := range s.Actions {
			if a.Output != nil {
				c.time.Commands += a.Output.Seconds
			}
		}
	}
	c.time.Total += t.past.Elapsed.Seconds() // without the waits
	c.time.Agent = max(0, c.time.Total-c.time.Model-c.time.Commands)
	h := t.past
	c.time.Pull, c.time.Start, c.time.Prepare, c.time.Replay = h.Pull, h.Start, h.Prepare, h.Replay
	c.time.Total = c.time.Agent + c.time.Model + c.time.Commands + h.Pull + h.Start + h.Prepare + h.Replay
	return c
}

// before returns the past steps that are complete: those with a reply, without the last
// one if the agent still has to finish it.
func (t *attempt) before() []journal.Step {
	if t.past == nil {
		return nil
	}
	return t.past.Before()
}

// replied returns the past steps with a known reply.
func (t *attempt) replied() []journal.Step {
	steps := t.before()
	if t.past != nil && t.past.Last() != nil {
		steps = append(steps, *t.past.Last())
	}
	return steps
}

// answers is the number of known replies, with those of calls that were no steps.
func (t *attempt) answers() int {
	if t.past == nil {
		return 0
	}
	return len(t.replied()) + len(t.past.Summaries)
}

// container is the id of the container to resume in, or empty.
func (t *attempt) container() string {
	if t.past == nil || t.past.Container == nil {
		return ""
	}
	return t.past.Container.Container
}

func (t *attempt) preamble() []byte {
	if t.past == nil || t.past.Container == nil {
		return nil
	}
	return t.past.Container.Preamble
}

// ready brings the sandbox to the state that the recorded actions left, and records that
// in the journal. If the attempt continues with a model call, [attempt.settle] may record
// it later.
func (t *attempt) ready(ctx context.Context, box Sandbox) error {
	defer t.watch.during(&t.watch.spent.Prepare)()
	if t.box.Adopted { // the image's name may refer to another image by now
		was := t.past.Container
		t.box.Image = vocab.Image{Ref: was.Image, ID: was.ImageID, Digest: was.Digest}
		t.base, t.commit = was.Base, was.Commit
	}
	data := journal.ContainerData{
		Container: t.box.Container, Image: t.box.Image.Ref, ImageID: t.box.Image.ID, Digest: t.box.Image.Digest, Engine: t.box.Engine,
		Adopted: t.box.Adopted, Preamble: t.preamble(),
	}
	if !t.box.Adopted {
		t.report("prepare")
		if err := t.startup(ctx, box); err != nil {
			return err
		}
		if err := t.check(ctx, box, &data); err != nil {
			return err
		}
		if err := t.replay(ctx, box, &data); err != nil {
			return err
		}
	}
	data.Base, data.Commit = t.base, t.commit
	t.unsettled = &data
	if t.scrub.running() && t.beginsWithCall() {
		return nil
	}
	return t.settle(ctx)
}

// check checks the repository, and at the same time the shell.
func (t *attempt) check(ctx context.Context, box Sandbox, data *journal.ContainerData) error {
	var shell errgroup.Group
	shell.Go(func() (err error) {
		data.Preamble, err = box.CheckShell(ctx)
		if fault.KindOf(err) == fault.Instance && (t.Talk != nil || !t.Loop.NeedsSubmission()) {
			t.log.Warn("the shell prints more than the output of commands", "err", err)
			return nil
		}
		return err
	})
	err := errors.Join(t.repository(ctx, box), shell.Wait())
	if len(data.Preamble) > 0 {
		t.log.Warn("the shell prints a text before the output of each command: it is taken off", "text", string(data.Preamble))
	}
	return err
}

// beginsWithCall reports whether the attempt begins with a model call.
func (t *attempt) beginsWithCall() bool { return t.past == nil || t.past.Last() == nil }

// replay executes the recorded actions again. The recorded outputs are kept even if the
// new ones differ, because the later replies are based on them. If an output differs, or
// an action makes the container unusable, the attempt has diverged.
func (t *attempt) replay(ctx context.Context, box Sandbox, data *journal.ContainerData) error {
	steps := t.replied()
	if len(steps) == 0 {
		return nil
	}
	if t.Program != nil {
		t.diverged = true
		t.log.Warn("the agent's program was in a container that is gone: it will be started from the beginning")
		return nil
	}
	if err := t.scrubbed(ctx); err != nil {
		return err
	}
	defer t.watch.during(&t.watch.spent.Replay)()
	if was := t.past.ImageID; was != "" && was != t.box.Image.ID && !t.sameDigest() {
		t.diverged = true
		t.log.Warn("the image is not the one that the attempt began in", "image", t.box.Image.Ref, "image_id", t.box.Image.ID, "was", was)
	}
	for _, s := range steps {
		t.runner.Report(vocab.Event{Type: vocab.EventPhase, Phase: "replay", Step: s.Number, Cost: t.result.Record.Cost})
		for i, a := range s.Actions {
			if t.diverged && t.RestartDiverged {
				t.log.Warn("the attempt diverged when its actions were executed again: it will be started from the beginning")
				return nil
			}
			if t.destroyed {
				return nil
			}
			if a.Command == "" { // its tool does not work with commands
				if a.Output != nil && t.calledInside(a) {
					if err := t.missing(s.Number, i+1, a, data); err != nil {
						return err
					}
				}
				continue
			}
			if a.Output == nil {
				t.cutOff(s.Number, i+1)
				continue
			}
			if err := t.replayAction(ctx, box, s.Number, i+1, a, data); err != nil {
				return err
			}
		}
	}
	t.log.Info("executed the recorded actions again", "actions", data.Replayed, "differences", data.Differences)
	return nil
}

// sameDigest reports whether the image is known to be the one of the earlier container although
// its id is another: kinds of engines name one image differently.
func (t *attempt) sameDigest() bool {
	was := t.past.Container
	return was != nil && was.Digest != "" && was.Digest == t.box.Image.Digest
}

// cutOff warns of an action that was running in a container that no longer exists.
func (t *attempt) cutOff(step, action int) {
	text := "it runs again in a new one" // the agent runs it next
	if last := t.past.Last(); t.Talk != nil || last == nil || step != last.Number {
		text = "what it did is not known, and it does not run again"
	}
	t.log.Warn("an action was running in a container that no longer exists; "+text, "step", step, "command", t.shownCommand(step, action))
}

func (t *attempt) replayAction(ctx context.Context, box Sandbox, step, number int, a journal.Action, data *journal.ContainerData) error {
	out, err := box.Execute(ctx, session.ActionID(step, number), a.Command)
	if errors.Is(err, vocab.ErrDestroyed) { // it did not do this before
		t.log.Warn("a recorded action destroyed its container when it ran again", "step", step, "command", t.shownCommand(step, number), "err", err)
		t.destroyed, t.diverged = true, true
		data.Replayed, data.Differences = data.Replayed+1, data.Differences+1
		return t.recordDifference(step, number, a, out)
	}
	if err != nil {
		return err
	}
	data.Replayed++
	same, err := t.same(step, number, out, a.Output)
	if err != nil || same {
		return err
	}
	t.diverged = true
	data.Differences++
	return t.recordDifference(step, number, a, out)
}

// same reports whether an action did the same as recorded, except for noise.
func (t *attempt) same(step, number int, now vocab.Output, was *journal.OutputData) (bool, error) {
	if now.ExitCode != was.ExitCode || now.TimedOut != was.TimedOut {
		return false, nil
	}
	if now.Total == was.Total && session.Sum(now.Bytes) == was.SHA256 {
		return true, nil
	}
	recorded, err := t.past.Output(step, number)
	if err != nil {
		return false, err
	}
	return session.Sum(recorded) == was.SHA256 && bytes.Equal(withoutNoise(now.Bytes), withoutNoise(recorded)), nil
}

func (t *attempt) recordDifference(step, action int, was journal.Action, now vocab.Output) error {
	t.result.Record.Differences++
	command := t.shownCommand(step, action)
	t.log.Warn("a recorded action had a different result when it ran again; the recorded result is kept",
		"step", step, "command", command, "returncode", now.ExitCode, "was", was.Output.ExitCode,
		"bytes", now.Total, "were", was.Output.Total)
	d := journal.DifferenceData{
		Step: step, Action: action, Command: command, Output: now.Bytes[:min(len(now.Bytes), maxDifference)],
		Total: now.Total, ExitCode: now.ExitCode, TimedOut: now.TimedOut,
	}
	if t.Talk != nil {
		t.differences = append(t.differences, d)
	}
	return t.append(journal.TypeDifference, d)
}

// shownCommand returns the command of a recorded action as people may read it: an earlier process may
// have known other secrets.
func (t *attempt) shownCommand(step, action int) string {
	if t.shown == nil {
		h, err := t.journal.ShownHere()
		if err != nil {
			return "unknown: " + err.Error()
		}
		t.shown = h
	}
	for _, s := range t.shown.Steps {
		if s.Number == step && action <= len(s.Actions) {
			return s.Actions[action-1].Command
		}
	}
	return ""
}

const month = `(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*`

// noise matches text that differs between two runs of the same commands and that later
// commands cannot depend on: times of day, dates, durations, and memory addresses. Names,
// hashes and other numbers are not noise, because the model may use one that it saw.
var noise = lazy.Regexp(`(?i)` +
	// Sat Nov 21 23:58:29 UTC 2026; Nov 21 23:58; 21 Nov 2026 23:58:29
	`\b(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +)?(?:` + month + ` +\d{1,2}|\d{1,2} +` + month + `)(?:,? +\d{4})?,? +` +
	`\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[ap]m)?(?: +(?:utc|gmt|[+-]\d{4}))?(?: +\d{4})?\b` +
	// 2026-11-21; 2026-11-21 23:58; 2026-11-21T23:58:29.5+00:00
	`|\b\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[+-]\d\d:?\d\d|z)?)?\b` +
	// 23:58:29
	`|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b` +
	// 0.12s; 3 seconds; 0m0.004s
	`|\b(?:\d+m ?)?\d+(?:\.\d+)? ?(?:s|ms|us|µs|ns|secs?|seconds?|minutes?)\b` +
	// 0x7f3a5c001234
	`|\b0x[0-9a-f]{6,}\b`)

func withoutNoise(output []byte) []byte { return noise().ReplaceAll(output, []byte("~")) }
