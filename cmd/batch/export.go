package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"batch.example/batch/grade/submission"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/trajectory"
)

// exportFlags are the flags of `batch export`.
type exportFlags struct {
	chat, atif, steps  string
	resolved           bool
	maxSteps           int
	noReasoning        bool
	leaderboard, sbCLI string
	board              string
	meta               submission.Metadata
	osModel, osSystem  bool
}

func (a *app) exportCommand() *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export DIR...",
		Short: "Write training data, data frames or a submission",
		Long: `Write run directories in the forms in which others take them.

  batch export runs/gpt-5 --chat train.jsonl --resolved --max-steps 50
  batch export runs/gpt-5 runs/sweep --steps steps.parquet --atif trajectories

--chat, --atif and --steps take several run directories, and the folders of
sweeps, with all their cells. They have the attempt that counts of each
instance; instances without a result, or that failed for infrastructure
reasons, are left out and counted. Secrets are hidden in all but patches.

--chat writes chat JSON Lines for fine-tuning: messages, with their tool calls,
and tools as in OpenAI's chat completions. "weight" of an assistant's message is
1, as OpenAI, Mistral and, with message_field_training: weight, axolotl read it;
loss_mask has 1 or 0 for every message: 1 if the model wrote it. Refused replies
are not in it, as the model was not sent them again; nor are messages after the
last reply. "metadata" has instance, repository, its license if the dataset
names it, dataset, model, verdict, cost and patch. The conversation is complete,
also if the model was sent a shorter one: then metadata.rewrites says so. OpenAI
takes only two of the members: jq -c '{messages, tools}'.

--atif writes one file for each attempt in the Agent Trajectory Interchange
Format, version 1.7, as Harbor does. It also has the replies that were refused.

--steps writes a row for each step as parquet: "batch help data" lists
its columns.

"metadata", the steps of ATIF and the table of steps have the labels and texts
of people's notes (batch note), without the names of their authors.

  batch export runs/gpt-5 --sb-cli preds.json
  batch export runs/gpt-5 --leaderboard 20261123_my-agent_gpt-5 \
      --name 'My Agent + GPT-5' --site https://my.example/agent \
      --report https://my.example/report --authors 'A. Author,B. Author' \
      --org 'My Lab' --os-model=false --os-system=true

--leaderboard makes a folder for the repository SWE-bench/experiments, of a
graded run; --sb-cli writes the predictions for sb-cli, graded or not. Both take
one DIR. All rules are checked first. If some are broken, they are all listed,
and nothing is written.

The folder has metadata.yaml, README.md with the checklist, all_preds.jsonl,
results/results.json, the trajectories in trajs, and the logs of grading in
logs. Secrets are hidden in trajectories; patches and logs are exact.

Exit codes: 0 written, 1 it could not be written, 2 usage or a broken rule,
4 the directory is in use.`,
		Args: namedArgs("DIR..."),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.usage(args); err != nil {
				return err
			}
			if f.isData() {
				if err := a.exportData(f, args); err != nil {
					return err
				}
			}
			if f.leaderboard == "" && f.sbCLI == "" {
				return nil
			}
			if c.Flags().Changed("os-model") {
				f.meta.OSModel = &f.osModel
			}
			if c.Flags().Changed("os-system") {
				f.meta.OSSystem = &f.osSystem
			}
			return a.export(f, args[0])
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.chat, "chat", "", "write chat JSON Lines for fine-tuning into `FILE`")
	fs.StringVar(&f.atif, "atif", "", "make this `FOLDER` with ATIF trajectories; it must not exist yet")
	fs.StringVar(&f.steps, "steps", "", "write the steps as parquet, for data frames, into `FILE`")
	fs.BoolVar(&f.resolved, "resolved", false, "only attempts that resolved their instance")
	fs.IntVar(&f.maxSteps, "max-steps", 0, "only attempts with at most `N` steps")
	fs.BoolVar(&f.noReasoning, "no-reasoning", false, "without the reasoning that providers keep apart from the reply")
	inSection(fs, "Training data and data frames")
	fs.StringVar(&f.leaderboard, "leaderboard", "", "make this `FOLDER` for the leaderboard; it must not exist yet")
	fs.StringVar(&f.sbCLI, "sb-cli", "", "write the predictions for sb-cli into `FILE`, a list if it ends in .json, otherwise JSON Lines")
	fs.StringVar(&f.board, "board", "", "the list it is for: "+strings.Join(submission.BoardNames(), ", ")+" (default: by the dataset's name)")
	inSection(fs, "Leaderboard and sb-cli")
	fs.StringVar(&f.meta.Name, "name", "", "what the leaderboard calls the entry (required)")
	fs.StringVar(&f.meta.Site, "site", "", "`URL` of a page about the system (required)")
	fs.StringVar(&f.meta.Report, "report", "", "`URL` of a paper, technical report or post about it (required)")
	fs.StringSliceVar(&f.meta.Authors, "authors", nil, "who made the submission, separated by commas (required)")
	fs.StringSliceVar(&f.meta.Org, "org", nil, "organizations, separated by commas (required)")
	fs.BoolVar(&f.osModel, "os-model", false, "the model's weights are open: =true or =false (required)")
	fs.BoolVar(&f.osSystem, "os-system", false, "the system's code is open: =true or =false (required)")
	fs.StringSliceVar(&f.meta.Model, "model", nil, "names of the models (default: as in the predictions)")
	fs.StringVar(&f.meta.Logo, "logo", "", "image `FILE` of the organization's logo")
	fs.StringVar(&f.meta.Repo, "artifacts", "", "`URL` of the public repository with predictions, logs and trajs")
	inSection(fs, "Metadata of --leaderboard")
	return c
}

// export checks everything that is to be written, and then writes it.
func (a *app) export(f exportFlags, dir string) error {
	r, err := submission.Read(dir)
	if err != nil {
		return err
	}
	target, err := f.target(r)
	if err != nil {
		return err
	}
	found := f.check(r, target)
	if err := found.Err("exporting " + dir); err != nil {
		return err
	}
	if f.leaderboard != "" {
		if m, err := manifest.Read(dir); err == nil {
			a.hideOfRun(m)
		}
		if err := submission.WriteLeaderboard(r, target, f.meta, f.leaderboard, a.trace(r)); err != nil {
			return err
		}
		a.sayFolder(r, target, f.leaderboard)
	}
	if f.sbCLI != "" {
		if err := submission.WriteSBCLI(r, f.sbCLI); err != nil {
			return err
		}
		a.saySBCLI(r, target, f.sbCLI)
	}
	for _, n := range found.Notes {
		fmt.Fprintln(a.stdout, "note: "+printable.Line(n))
	}
	return nil
}

// target returns the list that the run is for: --board, or by its dataset.
func (f exportFlags) target(r *submission.Run) (submission.Target, error) {
	board, split, _ := submission.BoardOf(r.Dataset)
	var err error
	if f.board != "" {
		board, err = submission.FindBoard(f.board)
	}
	return submission.Target{Board: board, Split: cmp.Or(r.Split, split, "test")}, err
}

func (f exportFlags) check(r *submission.Run, t submission.Target) submission.Findings {
	var found submission.Findings
	if f.leaderboard != "" {
		found.Add(submission.CheckLeaderboard(r, t, f.meta, f.leaderboard))
	}
	if f.sbCLI != "" {
		found.Add(submission.CheckSBCLI(r, t))
	}
	return found
}

// trace writes trajectories as they are on disk, without the secrets that the run has hidden
// and without the secrets that are known now.
func (a *app) trace(r *submission.Run) submission.Trace {
	return func(w io.Writer, in submission.Instance) error {
		text, err := trajectory.Source{Dir: r.Dir, Instance: in.ID, Attempt: in.Attempt}.Raw(a.mask)
		if err != nil {
			return err
		}
		_, err = w.Write(a.mask.JSON(text))
		return err
	}
}

func (a *app) sayFolder(r *submission.Run, t submission.Target, folder string) {
	fmt.Fprintf(a.stdout, "%s: %d of %s resolved\n", printable.Line(folder), r.Resolved(),
		printable.Count(len(r.Instances), "instance", "instances"))
	if t.Board.Name == "" {
		return
	}
	place := "evaluation/" + t.Board.Name + "/"
	fmt.Fprintf(a.stdout, "next, in a fork of SWE-bench/experiments: copy it into %s, run\n  python -m analysis.get_results %s\nand open a pull request with what that prints and the checklist of README.md\n",
		place, printable.Line(place+filepath.Base(folder)))
}

func (a *app) saySBCLI(r *submission.Run, t submission.Target, file string) {
	fmt.Fprintf(a.stdout, "%s: %s; to have them evaluated:\n  sb-cli submit %s %s --predictions_path %s --run_id %s\n", printable.Line(file),
		printable.Count(r.Predicted(), "prediction", "predictions"), t.Board.Subset, t.Split, printable.ShellWord(file), printable.ShellWord(filepath.Base(r.Dir)))
}
