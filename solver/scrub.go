package solver

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/gitscrub"
	"batch.example/batch/results"
)

const keepHistory = "--keep-git-history leaves the history to the agent"

// repository sees to it that the image's repository is at the row's base_commit
// and hides the solution that it may hold. It comes after the startup command,
// which may have to check out a commit first, and only in a new sandbox: in one
// that an agent has worked in it would take the agent's own branches and stashes.
func (t *attempt) repository(ctx context.Context, box Sandbox) error {
	t.base = ""
	if t.ScrubGitHistory || t.checked() {
		out, err := box.Script(ctx, t.repositoryScript())
		if err != nil {
			return err
		}
		if out.TimedOut {
			return fault.Newf(fault.Instance, "preparing the repository: no end within %v", out.Timeout).WithHint("%s", keepHistory)
		}
		found := gitscrub.ReadBase(out.Bytes, out.ExitCode)
		if err := t.compare(found); err != nil {
			return err
		}
		if err := t.scrubbed(out); err != nil {
			return err
		}
		t.base = found.Head
	}
	if t.base == "" {
		t.base = head(ctx, ours{box})
	}
	return nil
}

// checked reports whether the row says which commit the image is to be at.
func (t *attempt) checked() bool { return strings.TrimSpace(t.in.BaseCommit) != "" }

// repositoryScript does both in one round trip.
func (t *attempt) repositoryScript() string {
	history := "keep"
	if t.ScrubGitHistory {
		history = "scrub"
	}
	return "bash -p -c " + bash.Quote(gitscrub.Script) + " gitscrub " + bash.Quote(gitscrub.ID(t.in.BaseCommit)) + " " + history
}

// compare judges what was found of the row's base_commit, and notes it.
func (t *attempt) compare(found gitscrub.Base) error {
	if found.Unsaved.Total > 0 {
		t.log.Info("the image's work tree has changes that are not committed", "files", found.Unsaved.Total, "names", found.Unsaved.String())
	}
	if !t.checked() {
		return nil
	}
	mismatch := found.Mismatch(t.in.BaseCommit, t.in.Patch)
	if mismatch != "" || found.Changed.Total > 0 {
		t.commit = &results.CommitData{Head: found.Head, Files: found.Changed.Names, Total: found.Changed.Total, Mismatch: mismatch}
	}
	name := cmp.Or(gitscrub.ID(t.in.BaseCommit), fmt.Sprintf("%.80q", t.in.BaseCommit))
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

// scrubbed reads what hiding the solution came to.
func (t *attempt) scrubbed(out agent.Output) error {
	if !t.ScrubGitHistory {
		return nil
	}
	report, err := gitscrub.Read(out.Bytes, out.ExitCode)
	if err != nil {
		return fault.New(fault.Instance, "preparing the repository", err).WithHint("%s", keepHistory)
	}
	t.log.Info("git history", "verdict", report.Verdict, "refs", report.Refs, "objects", report.Objects)
	return nil
}
