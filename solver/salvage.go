package solver

import (
	"context"
	"strings"

	"batch.example/batch/internal/boxgit"
)

// commits are those that a patch of this attempt may be against, the likeliest first.
func (t *attempt) commits() []string {
	var list []string
	for _, c := range []string{t.base, "HEAD", t.in.BaseCommit} {
		if c != "" {
			list = append(list, c)
		}
	}
	return list
}

// salvage keeps the work of a run that ended without a submission, and makes
// it the prediction where that is asked for and the ending was the agent's own.
func (t *attempt) salvage(ctx context.Context, box Sandbox, predict bool) {
	patch, err := boxgit.WorktreeDiff(ctx, ours{box}, t.commits()...)
	if err != nil {
		t.log.Warn("salvaging", "err", err)
		return
	}
	t.result.Salvage = patch
	text, note := boxgit.Portable(ctx, ours{box}, t.commits(), patch)
	t.result.Notes.Salvage = text
	t.log.Info("salvaged", "bytes", len(patch))
	if predict && len(patch) > 0 {
		t.result.Prediction, t.result.Record.Salvaged = text, true
		t.result.Notes.Prediction = strings.TrimSuffix("salvaged: the work tree's diff of a run that did not submit; "+note, "; ")
	}
}
