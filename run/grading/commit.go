package grading

import (
	"context"

	"batch.example/batch/fault"
	"batch.example/batch/grade/evaluate"
	"batch.example/batch/grade/family"
	"batch.example/batch/internal/boxgit"
)

// atCommit refuses a container that is not at the commit for which the row's patches are made, as
// a run does: on other code, tests say nothing about the patches. A base_commit that is the name
// of a tag or a branch is not compared.
func atCommit(ctx context.Context, box Box, t *family.Task) error {
	if !t.AtBase || boxgit.ID(t.BaseCommit) == "" {
		return nil
	}
	out, err := box.Run(ctx, evaluate.Command{Script: boxgit.Command(t.BaseCommit, boxgit.Keep), Dir: t.Workdir, Timeout: setupLimit})
	if err != nil {
		return err
	}
	found := boxgit.ReadBase(out.Bytes, out.ExitCode)
	if mismatch := found.Mismatch(t.BaseCommit, string(t.Gold)); mismatch != "" {
		return fault.Newf(fault.Instance, "the image is not at base_commit %s: %s", t.BaseCommit, mismatch).
			WithHint("run.env_startup_command can check out the commit: name the dataset's configuration with -c;\n" +
				"environment.allow_commit_mismatch tests the image as it is")
	}
	return nil
}
