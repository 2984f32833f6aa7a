package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results/export"
)

// exportFlags are the flags of `batch export`.
type exportFlags struct {
	chat, atif, steps string
	resolved          bool
	maxSteps          int
	noReasoning       bool
	asJSON            bool
}

func (a *app) exportCommand() *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export DIR...",
		Short: "Write training data or a table of steps",
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

--steps writes a row for each step as parquet: "batch help training-data" lists
its columns.

Exit codes: 0 written, 1 it could not be written, 2 usage.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.usage(); err != nil {
				return err
			}
			return a.exportData(f, args)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.chat, "chat", "", "write chat JSON Lines for fine-tuning into `FILE`")
	fs.StringVar(&f.atif, "atif", "", "make this `FOLDER` with ATIF trajectories; it must not exist yet")
	fs.StringVar(&f.steps, "steps", "", "write the steps as parquet, for data frames, into `FILE`")
	fs.BoolVar(&f.resolved, "resolved", false, "only attempts that resolved their instance")
	fs.IntVar(&f.maxSteps, "max-steps", 0, "only attempts with at most `N` steps")
	fs.BoolVar(&f.asJSON, "json", false, "print what was written as one JSON object")
	fs.BoolVar(&f.noReasoning, "no-reasoning", false, "without the reasoning that providers keep apart from the reply")
	return c
}

// usage returns the error in the combination of flags.
func (f exportFlags) usage() error {
	switch {
	case f.chat == "" && f.atif == "" && f.steps == "":
		return fault.Newf(fault.Usage, "nothing to write").WithHint("give --chat FILE, --atif FOLDER or --steps FILE")
	case f.maxSteps < 0:
		return fault.Newf(fault.Usage, "--max-steps %d: expected a number above zero", f.maxSteps)
	case f.sharedFile() != "":
		return fault.Newf(fault.Usage, "%s is named for two forms", f.sharedFile()).WithHint("give each a file or folder of its own")
	}
	return nil
}

// sharedFile is a path that two forms would be written to; "" if there is none.
func (f exportFlags) sharedFile() string {
	var seen []string
	for _, path := range []string{f.chat, f.atif, f.steps} {
		if path == "" {
			continue
		}
		if slices.Contains(seen, filepath.Clean(path)) {
			return path
		}
		seen = append(seen, filepath.Clean(path))
	}
	return ""
}

// exportData writes training data and data frames, and reports what it left out.
func (a *app) exportData(f exportFlags, dirs []string) error {
	runs, err := export.Open(dirs)
	if err != nil {
		return err
	}
	for _, r := range runs {
		a.hideOfRun(r.Snapshot.Manifest)
	}
	var outputs []export.Output
	var names []string
	add := func(name string, o export.Output) {
		outputs, names = append(outputs, o), append(names, name)
	}
	if f.chat != "" {
		add(f.chat, export.Chat(f.chat))
	}
	if f.atif != "" {
		add(f.atif, export.ATIF(f.atif, len(runs) > 1))
	}
	if f.steps != "" {
		add(f.steps, export.Steps(f.steps))
	}
	s, err := export.Write(runs, export.Options{
		Resolved: f.resolved, MaxSteps: f.maxSteps, Reasoning: !f.noReasoning, Mask: a.mask, Tools: offeredTools(),
	}, outputs...)
	if err != nil {
		return err
	}
	if f.asJSON {
		return a.printJSON(struct {
			Files []string `json:"files"`
			export.Summary
		}{names, s})
	}
	fmt.Fprintf(a.stdout, "%s: %s, %s%s\n", printable.Line(strings.Join(names, ", ")), printable.Count(s.Attempts, "attempt", "attempts"),
		printable.Count(s.Steps, "step", "steps"), leftOut(s))
	if f.chat != "" && s.Unheard > 0 {
		fmt.Fprintf(a.stdout, "note: %s all replies refused, and no line in %s\n",
			printable.Count(s.Unheard, "attempt has", "attempts have"), printable.Line(f.chat))
	}
	if len(s.Exposed) > 0 {
		fmt.Fprintf(a.stdout, "note: patches are exact, and %s a secret: %s\n",
			printable.Count(len(s.Exposed), "has", "have"), printable.Line(strings.Join(s.Exposed, ", ")))
	}
	return nil
}

// leftOut says which attempts were left out and why.
func leftOut(s export.Summary) string {
	var parts []string
	for _, why := range export.Reasons() {
		if n := s.Left[why]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, why))
		}
	}
	if parts == nil {
		return ""
	}
	return "; left out: " + strings.Join(parts, ", ")
}

// offeredTools are the tools that batch offers to models.
func offeredTools() []export.Tool {
	var list []export.Tool
	for _, t := range []agent.Tool{agent.BashTool(), agent.EditorTool(), agent.AskTool()} {
		list = append(list, export.Tool{
			Type: "function", Function: export.Function{Name: t.Name, Description: t.Description, Parameters: t.Parameters},
		})
	}
	return list
}
