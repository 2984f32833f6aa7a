package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/run"
	"batch.example/batch/sandbox"
)

// lookLimit is how long a dry run, or a run before it makes its directory, waits for the
// engine to list what it has.
const lookLimit = 30 * time.Second

// dryRun prints what a run of c would do, after it has refused what the run would refuse.
func (s *invocation) dryRun(ctx context.Context, c run.Config) error {
	plan, err := run.NewPlan(ctx, c)
	if err != nil {
		return err
	}
	var found *sandbox.Found // nil: not known
	if plan.Count(run.Keep) < len(plan.Instances) {
		ctx, cancel := context.WithTimeout(ctx, lookLimit)
		defer cancel()
		found, err = plan.Look(ctx, c)
		if fault.KindOf(err) == fault.Usage {
			return err
		}
		if err != nil {
			s.complain(fault.New(fault.Host, "this dry run did not check images, containers and the network", err))
			found = nil
		}
	}
	if err := s.writePlan(plan, found); err != nil {
		return err
	}
	s.sayExhausted(plan)
	return nil
}

func (s *invocation) writePlan(plan *run.Plan, found *sandbox.Found) error {
	w, prefix := s.stdout, s.ImagePrefix
	var t printable.Table
	t.Row("INSTANCE", "ACTION", "WHY", "IMAGE")
	for _, p := range plan.Instances {
		t.Row(p.ID, string(p.Action), oneLine(why(p, found)), p.ImageName(prefix))
	}
	if err := t.Write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\n", headline(plan))
	s.writeSetup(w)
	if found != nil {
		fmt.Fprintf(w, "  images   %s\n", imageCount(found, plan))
	}
	if n := derivedNames(plan, prefix); n == 1 {
		fmt.Fprintln(w, "  note     1 image name is derived from the instance id: the row has no image_name")
	} else if n > 1 {
		fmt.Fprintf(w, "  note     %d image names are derived from the instance ids: the rows have no image_name\n", n)
	}
	if plan.Count(run.Keep) > 0 {
		fmt.Fprintln(w, strings.Join(s.againHints(), "\n"))
	}
	return nil
}

// derivedNames counts the images that no row names.
func derivedNames(plan *run.Plan, prefix string) int {
	names := map[string]bool{}
	for _, p := range plan.Instances {
		if p.ImageDerived() {
			names[p.ImageName(prefix)] = true
		}
	}
	return len(names)
}

// writeSetup writes what all instances would run with.
func (s *invocation) writeSetup(w io.Writer) {
	source := s.Dataset.Name
	if s.Dataset.Split != "" {
		source += ", split " + s.Dataset.Split
	}
	fmt.Fprintf(w, "  dataset  %s, %s\n  model    %s\n  prompts  %s\n  workers  %s\n  output   %s\n",
		source, printable.Count(len(s.Dataset.Instances), "instance", "instances"), s.Settings.Model.ModelName, s.Settings.Prompts(), cmp.Or(s.WidthWhy, fmt.Sprint(s.Workers)), s.Output)
}

// headline counts what would run, by action.
func headline(plan *run.Plan) string {
	all := len(plan.Instances)
	graded := printable.Count(plan.Ungraded, "prediction", "predictions") + " of earlier runs"
	switch {
	case plan.Count(run.Keep) == all && plan.Ungraded > 0:
		return "would run no instance, and grade " + graded
	case plan.Count(run.Keep) == all:
		return nothingToDo(all)
	}
	var parts []string
	for _, a := range []struct {
		run.Action
		text string
	}{{run.Fresh, "fresh"}, {run.Resume, "resumed"}, {run.Retry, "retried"}, {run.Keep, "kept with a result"}, {run.Cancel, "canceled"}} {
		if n := plan.Count(a.Action); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, a.text))
		}
	}
	if plan.Ungraded > 0 {
		parts = append(parts, graded+" graded")
	}
	return fmt.Sprintf("would run %d of %s: %s", all-plan.Count(run.Keep)-plan.Count(run.Cancel), printable.Count(all, "instance", "instances"), strings.Join(parts, ", "))
}

// why explains the action of an instance; found may be nil.
func why(p run.Planned, found *sandbox.Found) string {
	if p.Action != run.Resume || found == nil {
		return p.Why
	}
	switch {
	case found.Containers[p.Container]:
		return p.Why + ", in its container"
	case p.Steps > 0:
		return p.Why + ", by replay in a new container"
	default:
		return p.Why + ", in a new container"
	}
}

// imageCount counts the images of the instances that would run. Those of task folders may be built.
func imageCount(found *sandbox.Found, plan *run.Plan) string {
	present := 0
	for _, here := range found.Images {
		if here {
			present++
		}
	}
	build := map[string]bool{}
	for _, p := range plan.Instances {
		if here, needed := found.Images[p.ImageName("")]; needed && !here && p.Task != nil && p.Task.Built() {
			build[p.ImageName("")] = true
		}
	}
	text := fmt.Sprintf("%d needed, %d present, %d to pull", len(found.Images), present, len(found.Images)-present-len(build))
	if len(build) > 0 {
		text += fmt.Sprintf(", %d to build", len(build))
	}
	return text
}

// oneLine returns the first line of a text, shortened for a table.
func oneLine(text string) string {
	line, rest, _ := strings.Cut(text, "\n")
	if cut := []rune(line); len(cut) > 60 {
		return string(cut[:60]) + "..."
	}
	if rest != "" {
		line += " ..."
	}
	return line
}

// nothingToDo is the message if all of n instances have a result.
func nothingToDo(n int) string {
	if n == 1 {
		return "nothing to do: the instance has a result"
	}
	return fmt.Sprintf("nothing to do: all %d instances have a result", n)
}
