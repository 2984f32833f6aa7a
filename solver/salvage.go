package solver

import (
	"context"
	"strings"

	"batch.example/batch/internal/boxgit"
)

// commits are those that a patch of this attempt may be against, the most likely first.
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
	patch, err := boxgit.WorktreeDiff(ctx, ownScripts{box}, t.commits()...)
	if err != nil {
		t.log.Warn("salvaging", "err", err)
		return
	}
	t.result.Salvage = patch
	text, note := boxgit.Portable(ctx, ownScripts{box}, t.commits(), patch)
	t.result.Notes.Salvage = text
	t.log.Info("salvaged", "bytes", len(patch))
	if predict && len(patch) > 0 {
		t.result.Prediction, t.result.Record.Salvaged = text, true
		t.result.Notes.Prediction = strings.TrimSuffix("salvaged: the working tree's diff of a run that did not submit; "+note, "; ")
	}
}
