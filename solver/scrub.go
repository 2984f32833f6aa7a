package solver

import (
	"context"

	"batch.example/batch/fault"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/gitscrub"
)

// scrub hides the solution that the image's repository may hold. It comes
// after the startup command, which may have to check out a commit first, and
// only in a new sandbox: in one that an agent has worked in it would take the
// agent's own branches and stashes.
func (t *attempt) scrub(ctx context.Context, box Sandbox) error {
	if !t.ScrubGitHistory {
		return nil
	}
	const hint = "--keep-git-history leaves the history to the agent"
	out, err := box.Script(ctx, "bash -p -c "+bash.Quote(gitscrub.Script))
	switch {
	case err != nil:
		return err
	case out.TimedOut:
		return fault.Newf(fault.Instance, "scrubbing the git history: no end within %v", out.Timeout).WithHint("%s", hint)
	}
	report, err := gitscrub.Read(out.Bytes, out.ExitCode)
	if err != nil {
		return fault.New(fault.Instance, "preparing the repository", err).WithHint("%s", hint)
	}
	t.log.Info("git history", "verdict", report.Verdict, "refs", report.Refs, "objects", report.Objects)
	return nil
}
