package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/control"
	"batch.example/batch/vocab"
)

// ctlFlags are the flags of `batch ctl`.
type ctlFlags struct {
	json, content bool
	id            string
}

// Verbs of `batch ctl` that change nothing.
const (
	verbPs   = "ps"
	verbWait = "wait"
)

func (a *app) ctlCommand() *cobra.Command {
	var f ctlFlags
	c := &cobra.Command{
		Use:   "ctl DIR VERB [ARGUMENT...]",
		Short: "Watch and change a run while it works",
		Long: `Watch and change a run, a sweep or grading while it works in DIR. In a sweep, an
instance is CELL/ID, or ID if only one cell has it.

  ps                what every worker does and since when, stalled ones first
  width N           run N instances at once
  pause, resume     no instance begins and no call is made; continue
  drain             running instances end, no others begin
  stop              save running attempts and end; batch resume continues
  wait              return when the work ends, with its exit code
  cancel ID...      end an attempt now; it does not run again until requeue
  requeue ID...     run an instance again that has ended or was canceled
  budget N, +N      set or raise the limit on the cost of all, in US dollars
  limit step=N cost=N time=30m [ID]
                    limits of attempts that run or begin: of one, or of all
  say ID TEXT...    give the agent a message before its next call

  batch ctl runs/gpt-5 ps
  batch ctl runs/gpt-5 width 16
  batch ctl runs/gpt-5 say django__django-11019 "the bug is in forms.py"
  batch ctl runs/gpt-5 ps --json

Each change is in DIR/control.jsonl and DIR/batch.log, with who made it. After a
kill, batch resume keeps cancel, requeue, budget, limit, width and say. With the
same --id, a change is made once however often it is sent.

Without --content, ps --json has only ids, fixed words and numbers, so that a
program that watches cannot be steered by what an agent printed.

Exit codes: 0 done, 1 the work cannot be reached, 2 usage, or no work is running
in DIR. Of wait: the exit code of the work.`,
		Args: ctlArgs,
		RunE: func(c *cobra.Command, args []string) error { return a.ctl(c.Context(), f, args[0], args[1], args[2:]) },
	}
	fs := c.Flags()
	fs.BoolVar(&f.json, "json", false, "print JSON; see batch help control")
	fs.BoolVar(&f.content, "content", false, "of ps: also the commands that agents run and the errors of their calls")
	fs.StringVar(&f.id, "id", "", "`NAME` of this change, of letters, digits and hyphens")
	return c
}

// ctlArgs wants a directory and a known verb.
func ctlArgs(c *cobra.Command, args []string) error {
	if err := takes("DIR", "VERB", "[ARGUMENT...]")(c, args); err != nil {
		return err
	}
	names := []string{verbPs, verbWait}
	for _, v := range control.Verbs {
		names = append(names, string(v))
	}
	if slices.Contains(names, args[1]) {
		return nil
	}
	slices.Sort(names)
	return fault.Newf(fault.Usage, "unknown verb %q", args[1]).
		WithHint("%s", near.Hint(near.Name(args[1], names), "expected one of "+strings.Join(names, ", ")))
}

func (a *app) ctl(ctx context.Context, f ctlFlags, dir, verb string, args []string) error {
	if _, err := os.Stat(dir); err != nil {
		return fault.New(fault.Usage, "", err)
	}
	if f.content && verb != verbPs {
		return fault.Newf(fault.Usage, "--content: only ps takes it")
	}
	switch verb {
	case verbPs, verbWait:
		if len(args) > 0 {
			return fault.Newf(fault.Usage, "%s takes no arguments", verb)
		}
	}
	if verb == verbWait {
		return a.wait(ctx, dir, f.json)
	}
	commands, err := commandsOf(control.Verb(verb), args)
	if err != nil {
		return err
	}
	if f.id != "" && len(commands) > 1 {
		return fault.Newf(fault.Usage, "--id names one change, and these are %d", len(commands))
	}
	client, err := reach(dir)
	if err != nil {
		return err
	}
	if verb == verbPs {
		return a.ps(ctx, client, f)
	}
	for _, cmd := range commands {
		cmd.ID, cmd.Program = f.id, "batch ctl"
		if cmd.Instance, err = inCell(client, dir, cmd); err != nil {
			return err
		}
		if err := a.send(ctx, client, cmd, f.json); err != nil {
			return err
		}
	}
	return nil
}

// send sends a command, and prints the answer.
func (a *app) send(ctx context.Context, client *control.Client, cmd control.Command, asJSON bool) error {
	reply, err := client.Do(ctx, cmd)
	if err != nil {
		return notRunning(client.Dir(), err)
	}
	if asJSON {
		return a.printJSON(reply)
	}
	text := string(cmd.Verb)
	if cmd.Instance != "" {
		text += " " + cmd.Instance
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s\n", printable.Line(text), printable.Line(reply.Effect))
	return err
}

// inCell names the instance of a command that is given to dir, if that is a cell and the client is
// the sweep's. It refuses a command that would change the other cells too.
func inCell(client *control.Client, dir string, cmd control.Command) (string, error) {
	sweep := filepath.Clean(client.Dir())
	if sweep == filepath.Clean(dir) {
		return cmd.Instance, nil
	}
	if cmd.Instance == "" {
		return "", fault.Newf(fault.Usage, "%s is a cell of a sweep: %s changes all its cells", dir, cmd.Verb).
			WithHint("`batch ctl %s %s` does so", printable.ShellWord(sweep), cmd.Verb)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.New(fault.Host, "", err)
	}
	return filepath.Base(abs) + "/" + cmd.Instance, nil
}

// reach returns a client for the work in dir.
func reach(dir string) (*control.Client, error) {
	client, err := control.Dial(dir, sweeps.Of(dir))
	if err != nil {
		return nil, notRunning(dir, err)
	}
	return client, nil
}

// notRunning explains an error of a client for dir.
func notRunning(dir string, err error) error {
	if !errors.Is(err, control.ErrNotRunning) {
		return err
	}
	word := printable.ShellWord(dir)
	if busy, _ := results.InUse(dir); busy {
		return fault.New(fault.Host, "", err).WithHint("a process works there, but cannot be controlled: it is just beginning or ending,\nor its batch.log says why")
	}
	return fault.New(fault.Usage, "", err).WithHint("`batch status %s` shows what is there, `%s` continues it", word, continuing(dir))
}

// continuing returns the command that continues the last work in dir.
func continuing(dir string) string {
	verb := "resume"
	if h, err := control.Read(dir); err == nil && h.Begun != nil && h.Begun.Kind == control.KindGrade {
		verb = "grade"
	}
	return "batch " + verb + " " + printable.ShellWord(dir)
}

// commandsOf returns the commands for a verb with arguments.
func commandsOf(v control.Verb, args []string) ([]control.Command, error) {
	one := control.Command{Verb: v}
	var err error
	switch v {
	case control.Cancel, control.Requeue:
		return eachOf(v, args)
	case control.SetWidth:
		one.Width, err = widthArg(args)
	case control.SetBudget:
		one.Budget, one.Add, err = budgetArg(args)
	case control.SetLimit:
		one.Limit, one.Instance, err = limitArgs(args)
	case control.Say:
		if len(args) < 2 {
			return nil, fault.Newf(fault.Usage, "say: expected an instance and a text").WithHint("`batch ctl DIR say ID TEXT`")
		}
		one.Instance, one.Text = args[0], strings.Join(args[1:], " ")
	default:
		if len(args) > 0 {
			err = fault.Newf(fault.Usage, "%s takes no arguments", v)
		}
	}
	return []control.Command{one}, err
}

func eachOf(v control.Verb, ids []string) (list []control.Command, err error) {
	if len(ids) == 0 {
		return nil, fault.Newf(fault.Usage, "%s: which instances?", v).WithHint("`batch ctl DIR ps` lists what runs")
	}
	for _, id := range ids {
		list = append(list, control.Command{Verb: v, Instance: id})
	}
	return list, nil
}

func widthArg(args []string) (n int, err error) {
	if len(args) == 1 {
		n, err = strconv.Atoi(args[0])
	}
	if len(args) != 1 || err != nil || n < 1 {
		return 0, fault.Newf(fault.Usage, "width %s: expected how many instances run at once", strings.Join(args, " "))
	}
	return n, nil
}

// budgetArg reads N or +N.
func budgetArg(args []string) (dollars float64, add bool, err error) {
	if len(args) == 1 {
		add = strings.HasPrefix(args[0], "+")
		dollars, err = strconv.ParseFloat(strings.TrimPrefix(args[0], "+"), 64)
	}
	if len(args) != 1 || err != nil || !isAmount(dollars) {
		return 0, false, fault.Newf(fault.Usage, "budget %s: expected US dollars, N or +N", strings.Join(args, " "))
	}
	return dollars, add, nil
}

// isAmount reports whether a number can be a limit: ParseFloat also takes "nan" and "inf".
func isAmount(n float64) bool { return n >= 0 && !math.IsInf(n, 1) }

// limitArgs reads limits, such as step=N, and an instance.
func limitArgs(args []string) (l control.Limit, instance string, err error) {
	l = control.Limit{}
	for _, arg := range args {
		name, value, pair := strings.Cut(arg, "=")
		switch {
		case pair:
			err = setLimit(l, name, value)
		case instance != "":
			err = fault.Newf(fault.Usage, "limit: expected one instance at most")
		default:
			instance = arg
		}
		if err != nil {
			return nil, "", err
		}
	}
	if len(l) == 0 {
		return nil, "", fault.Newf(fault.Usage, "limit: which one?").WithHint("step=N, cost=N in US dollars, or time=N such as time=30m; 0 is no limit")
	}
	return l, instance, nil
}

func setLimit(l control.Limit, name, value string) error {
	i := slices.IndexFunc(vocab.LimitKinds, func(k vocab.LimitKind) bool { return name == k.Arg || name == k.Name })
	if i < 0 {
		var names []string
		for _, k := range vocab.LimitKinds {
			names = append(names, k.Arg)
		}
		return fault.Newf(fault.Usage, "limit: unknown limit %q", name).WithHint("expected one of %s", strings.Join(names, ", "))
	}
	k := vocab.LimitKinds[i]
	number, err := strconv.ParseFloat(value, 64)
	if d, isTime := time.ParseDuration(value); isTime == nil && k.Unit == "seconds" && err != nil {
		number, err = d.Seconds(), nil
	}
	if k.Whole && number != math.Trunc(number) || err != nil || !isAmount(number) {
		return fault.Newf(fault.Usage, "limit %s=%s: expected a number", name, value)
	}
	l[k.Name] = number
	return nil
}
