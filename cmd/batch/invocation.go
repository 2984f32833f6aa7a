package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"batch.example/batch/agent/template"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/owner"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/report"
	"batch.example/batch/run"
	"batch.example/batch/run/telemetry"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// invocation is one `batch run` after its flags are read.
type invocation struct {
	*app
	*run.Setup
	flags     runFlags // of this command alone; the Setup has the request
	inject    *inject.Plan
	telemetry *telemetry.Config // nil: none is sent
	started   time.Time
	leaves    bool // when Kubernetes evicts this process, the next pod of its Job continues the attempts
}

// run works through the selected instances and prints how they ended.
func (s *invocation) run(ctx context.Context) (err error) {
	c, err := s.config()
	if err != nil {
		return err
	}
	part, err := dataset.ParseShard(s.Shard)
	if err != nil {
		return err
	}
	s.sayShare(s.CostLimit, part)
	if s.flags.dryRun {
		return s.dryRun(ctx, c)
	}
	if err := checkNetwork(ctx, c); err != nil {
		return err
	}
	s.leaves = owner.InPod() && sandbox.Succeeded(ctx, c.Sandboxes)
	r, err := run.Open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = s.also(err, r.Close()) }()
	if r.Todo()+r.ToGrade() == 0 {
		s.tell(nothingToDo(len(s.Instances)-r.Canceled()) + "\n  " + strings.Join(s.againHints(), "\n  "))
		return s.conclude(r, nil)
	}
	stopTelemetry, err := s.startTelemetry(ctx, r)
	if err != nil {
		return err
	}
	defer stopTelemetry()
	err = s.session().work(ctx, r)
	if !r.Summary().Began {
		return s.session().interruption(err)
	}
	return s.conclude(r, err)
}

// session returns how the run is worked on.
func (s *invocation) session() session {
	return session{
		app: s.app, started: s.started, json: s.flags.json, quiet: s.flags.quiet,
		about: vocab.Event{
			Directory: s.Output, Model: s.Settings.Model.ModelName, Dataset: s.Dataset.Name, Workers: s.Workers, Total: len(s.Instances),
		},
		saving: "saving the work of running instances and removing their containers", again: s.resumeCommand(s.CostLimit),
		leaves: s.leaves, apart: s.flags.apart,
	}
}

// checkNetwork refuses a network that does not exist before a run directory is made.
// [sandbox.Start] checks it too, for a directory that exists and for other callers, but
// comes too late here: it inherits containers, for which the directory has to be locked.
// The run reports other problems of the engine.
func checkNetwork(ctx context.Context, c run.Config) error {
	if _, err := os.Stat(c.Output); err == nil || c.Sandboxes.Container.Network == "none" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	if _, err := sandbox.Look(ctx, c.Sandboxes); fault.KindOf(err) == fault.Usage {
		return err
	}
	return nil
}

// resumeCommand is the command that continues the run with this cost limit.
func (s *invocation) resumeCommand(costLimit float64) string { return s.resumeAfter("", costLimit) }

// resumeAfter is resumeCommand after a change of a setting, if changed is not "".
func (s *invocation) resumeAfter(changed string, costLimit float64) string {
	flag := ""
	if changed != "" {
		flag = " --accept-changes=" + changed
	}
	if costLimit != s.Asked.CostLimit { // which would be taken without it
		flag += fmt.Sprintf(" --cost-limit-total %v", costLimit)
	}
	// `batch resume` cannot know hidden values, or changes on the command line.
	asked := run.Masked(s.Asked)
	hidden := changed != "" && s.Settings.Given(changed) || asked.Secret() != ""
	switch {
	case hidden && flag != "":
		return "the same command with `" + flag[1:] + "`"
	case hidden:
		return "the same command"
	default:
		return "`batch resume " + printable.ShellWord(s.Output) + flag + "`"
	}
}

// againHints are lines that say how instances with a result are run again.
func (s *invocation) againHints() []string {
	return []string{
		"to run some again: `batch retry " + printable.ShellWord(s.Output) + " INSTANCE...`",
		"to run all again: the same `batch run` with `--redo-existing`",
	}
}

// config returns the run's configuration. It refuses what can be refused before the directory
// is touched.
func (s *invocation) config() (c run.Config, err error) {
	if c, err = s.Setup.Config(); err != nil {
		return c, err
	}
	return c, s.complete(&c)
}

// complete adds what belongs to the process and to this command alone.
func (s *invocation) complete(c *run.Config) (err error) {
	collectOften(c.Width.N())
	c.Store.Inject = s.inject
	s.telemetry, err = telemetry.FromEnv(s.getenv)
	return err
}

// conclude prints the table and chooses how the command ends.
func (s *invocation) conclude(r *run.Run, ended error) error {
	sum := r.Summary()
	if sum.Host != nil && sum.Missing > 0 && !interrupted(ended) {
		ended = fault.New(fault.Host, "", ended).
			WithHint("%s", strings.TrimSpace(fault.HintOf(ended)+"\nthen "+s.resumeAfter(template.NameOf(ended), s.CostLimit)+" continues"))
	}
	return s.session().conclude(r, ended, func(out io.Writer) (int, error) {
		sum := r.Summary() // closing the run has completed it
		err := s.writeSummary(out, sum)
		if sum.Budget {
			part, _ := dataset.ParseShard(s.Shard) //nolint:errcheck // it was read before the run began
			s.CostLimit = limitNow(s.Output, s.CostLimit, part)
			s.tell(s.limitReached(sum.Stand))
		}
		return sum.Missing + sum.Ungraded, err
	})
}

// writeSummary prints how the instances ended, and where the results are.
func (s *invocation) writeSummary(out io.Writer, sum run.Summary) error {
	err := report.Summary(out, report.SummaryData{Asked: sum.Directory, Records: sum.Records, Spent: sum.Spent, Elapsed: time.Since(s.started)})
	if err != nil {
		return err
	}
	if len(sum.Asked) < len(sum.Directory) {
		fmt.Fprintf(out, "\nthis command was for %d of these %d instances: %s\n", len(sum.Asked), len(sum.Directory), some(sum.Asked))
	}
	_, err = fmt.Fprintf(out, "\npredictions   %s\ntrajectories  %s\n",
		filepath.Join(s.Output, swebench.PredsName), filepath.Join(s.Output, "INSTANCE", "INSTANCE.traj.json"))
	if err == nil && sum.Report != "" {
		_, err = fmt.Fprintf(out, "report        %s\n", sum.Report)
	}
	return err
}

// limitReached is the message if the cost limit leaves no money for a model call.
func (s *invocation) limitReached(at runner.Stand) string {
	part, _ := dataset.ParseShard(s.Shard) //nolint:errcheck // it was read before the run began
	return fmt.Sprintf("%s; raise --cost-limit-total to continue, such as %s",
		reached(s.CostLimit, part, at), s.resumeCommand(report.HigherLimit(s.CostLimit, at.Spent)))
}

// sayExhausted says that the planned run would stop before its first call.
func (s *invocation) sayExhausted(plan *run.Plan) {
	if plan.Exhausted && plan.Count(run.Keep) < len(plan.Instances) {
		s.tell(s.limitReached(plan.Stand))
	}
}

// sayShare says which part of --cost-limit-total a shard may spend.
func (a *app) sayShare(limit float64, part dataset.Shard) {
	if limit > 0 && part.N > 1 {
		a.tell(fmt.Sprintf("%d shards divide --cost-limit-total %v: shard %s may cost %v USD", part.N, limit, part, limit/float64(part.N)))
	}
}

// reached says that the cost limit of a shard, or of the whole, is reached: what is left of it does
// not pay for another call.
func reached(limit float64, part dataset.Shard, at runner.Stand) string {
	text := fmt.Sprintf("limit of %v USD reached", limit)
	if part.N > 1 {
		text = fmt.Sprintf("limit of %v USD reached, which is the part of --cost-limit-total %v for shard %s", limit/float64(part.N), limit, part)
	}
	text += fmt.Sprintf(": %s is spent", printable.Dollars(at.Spent))
	if at.Next > 0 {
		text += fmt.Sprintf(", %s reserved for a next call", printable.Dollars(at.Next))
	}
	return text
}

// unlessEmpty returns nil for the error that a shard has no instance, and says so: the other
// shards have all instances, so that this one is complete.
func (a *app) unlessEmpty(err error) error {
	if empty, ok := errors.AsType[*dataset.EmptyShardError](err); ok {
		a.tell("nothing to do: " + empty.Error())
		return nil
	}
	return err
}
