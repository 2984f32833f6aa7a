package attempt

import (
	"context"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/boxgit"
)

// lastScripts is the time that batch's own scripts may take after the agent's last action, all
// together: the agent may have replaced git by a program that does not end.
const lastScripts = 5 * time.Minute

func withinLastScripts(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, lastScripts,
		fault.Newf(fault.Instance, "git in the container did not end within %v: the agent may have replaced it", lastScripts))
}

// commits returns the possible base commits of a patch of this attempt, the most likely first.
func (t *attempt) commits() []string {
	var list []string
	for _, c := range []string{t.base, "HEAD", t.in.BaseCommit} {
		if c != "" {
			list = append(list, c)
		}
	}
	return list
}

// salvage keeps the working tree's diff of an attempt that ended without a submission.
// If predict is set, a diff that is not empty also becomes the prediction.
func (t *attempt) salvage(ctx context.Context, box Sandbox, predict bool) {
	ctx, cancel := withinLastScripts(ctx)
	defer cancel()
	patch, err := t.worktreeDiff(ctx, box)
	if err != nil {
		t.log.Warn("salvaging", "err", err)
		return
	}
	t.result.Salvage = patch
	text, note := boxgit.Portable(ctx, box, t.commits(), patch)
	t.result.Notes.Salvage = text
	t.log.Info("salvaged", "bytes", len(patch))
	if predict && len(patch) > 0 {
		t.result.Prediction, t.result.Record.Salvaged = text, true
		t.result.Notes.Prediction = strings.TrimSuffix("salvaged: the working tree's diff of a run that did not submit; "+note, "; ")
	}
}
