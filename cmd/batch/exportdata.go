package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results/export"
)

// isData reports whether training data or a data frame is asked for.
func (f exportFlags) isData() bool { return f.chat != "" || f.atif != "" || f.steps != "" }

// usage returns the error in the combination of flags.
func (f exportFlags) usage(dirs []string) error {
	switch submits := f.leaderboard != "" || f.sbCLI != ""; {
	case !f.isData() && !submits:
		return fault.Newf(fault.Usage, "nothing to write").
			WithHint("give --chat FILE, --atif FOLDER, --steps FILE, --leaderboard FOLDER or --sb-cli FILE")
	case submits && len(dirs) > 1:
		return fault.Newf(fault.Usage, "--leaderboard and --sb-cli take one DIR, and there are %d", len(dirs)).
			WithHint("export the others by themselves")
	case f.maxSteps < 0:
		return fault.Newf(fault.Usage, "--max-steps %d: expected a number above zero", f.maxSteps)
	case f.sharedFile() != "":
		return fault.Newf(fault.Usage, "%s is named for two forms", f.sharedFile()).WithHint("give each a file or folder of its own")
	case !f.isData() && (f.resolved || f.maxSteps > 0 || f.noReasoning):
		return fault.Newf(fault.Usage, "--resolved, --max-steps and --no-reasoning are for --chat, --atif and --steps").
			WithHint("the leaderboard and sb-cli take all predictions of a run")
	}
	return nil
}

// sharedFile is a path that two forms would be written to; "" if there is none.
func (f exportFlags) sharedFile() string {
	var seen []string
	for _, path := range []string{f.chat, f.atif, f.steps, f.leaderboard, f.sbCLI} {
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
		outputs, names = append(outputs, o), append(names, printable.Line(name))
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
	fmt.Fprintf(a.stdout, "%s: %s, %s%s\n", strings.Join(names, ", "), printable.Count(s.Attempts, "attempt", "attempts"),
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
