package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/attempt/chat"
	"batch.example/batch/fault"
	"batch.example/batch/internal/abspath"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/results"
	"batch.example/batch/run"
	"batch.example/batch/run/rundir"
)

func (a *app) attachCommand() *cobra.Command {
	own := newRunFlags()
	var talk chatFlags
	c := &cobra.Command{
		Use:   "attach DIR INSTANCE",
		Short: "Talk with the agent of an instance of a run",
		Long: `Talk with the agent of an instance of a run, to debug it: one that is finished,
failed, reached a limit or was interrupted. The agent knows the whole attempt.
Nothing of it is asked or paid again; its cost counts for --cost-limit-total.
It continues in the attempt's container if that still runs, as after a crash of
the run, otherwise in a new one in which the recorded commands run again. Their
differences are shown.

  batch attach runs/gpt-5 django__django-11019
  batch attach runs/gpt-5 django__django-11019 -m anthropic/claude-sonnet-4-5

DIR is not changed, and its result stays. The conversation is an attempt of its
own, in a run directory of its own: DIR-talk-INSTANCE, unless -o names another.
The same command continues it. Model and configuration are taken from DIR,
unless they are given.

` + chatHelp,
		RunE: func(c *cobra.Command, args []string) error {
			return a.attach(c.Context(), args[0], args[1], own, talk, c.Flags())
		},
	}
	fs := c.Flags()
	talk.add(fs)
	addConfig(fs, &own.Request)
	fs.StringVarP(&own.Output, "output", "o", "", "run directory of the conversation (default: DIR-talk-INSTANCE)")
	own.addCost(fs)
	own.addInject(fs)
	inSection(fs, "Run")
	own.addMask(fs)
	inSection(fs, "Output")
	return c
}

// attach talks with the agent of an instance in dir.
func (a *app) attach(ctx context.Context, dir, id string, own runFlags, talk chatFlags, given *pflag.FlagSet) (err error) {
	if err := a.checkTalk(&own, talk); err != nil {
		return err
	}
	snap, id, err := oneInstance(dir, id)
	if err != nil {
		return err
	}
	dir = snap.Dir
	earlier, unlock, err := earlierAttempt(dir, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	earlier.Dir = dir
	f, err := a.attached(dir, own, given)
	if err != nil {
		return err
	}
	f.Only = []string{id}
	if f.Output == "" {
		f.Output = filepath.Clean(dir) + "-talk-" + id
	}
	git := run.ProbeGit(ctx, f.Dir)
	defer git.Stop()
	s, err := a.configured(f, git)
	if err != nil {
		return err
	}
	s.Command = "attach"
	talkative(s)
	if err := s.load(ctx); err != nil {
		return err
	}
	return s.talk(ctx, talk, chat.Config{}, func(c *run.Config) { c.Earlier = earlier })
}

// attached returns the run in dir as a conversation. The flags that were given replace its
// values; own has their values.
func (a *app) attached(dir string, own runFlags, flags *pflag.FlagSet) (runFlags, error) {
	r, _, err := run.ReadRequest(dir, a.process())
	if err != nil {
		return own, err
	}
	mine, err := a.process().Found(own.Request) // its paths begin at this directory
	if err != nil {
		return own, err
	}
	f := own
	f.Request, f.own = over(r, flags), flags
	f.Configs = append(f.Configs, mine...)
	f.Output, f.CostLimit = own.Output, own.CostLimit
	f.Workers, f.Durability = own.Workers, own.Durability
	f.Grade, f.Retry, f.Salvage, f.Named, f.Also = false, nil, false, nil, nil
	here, err := absolute(".")
	if script, ok := strings.CutPrefix(own.Model, "scripted/"); ok && here != r.Dir && !slices.Contains(catalogue.Words(), own.Model) {
		f.Model = "scripted/" + abspath.Join(here, script)
	}
	return f, err
}

// earlierAttempt finds the attempt to talk about in a run directory. It locks the directory if
// the attempt has no result, and so may have a container; unlock must be called.
func earlierAttempt(dir, id string) (_ *run.Earlier, unlock func() error, err error) {
	snap, err := results.Read(dir)
	if err != nil {
		return nil, nil, err
	}
	rec, ok := results.Latest(snap.Records)[id]
	switch {
	case !ok:
		return nil, nil, fault.Newf(fault.Usage, "%s has not begun in %s: there is no agent to talk with", id, dir).
			WithHint("`batch chat` begins a conversation on a row")
	case rec.Outcome.Final():
		return &run.Earlier{}, func() error { return nil }, nil
	}
	unlock, err = results.Lock(dir, rundir.Owner())
	if _, locked := errors.AsType[*results.LockedError](err); locked {
		return nil, nil, fault.New(fault.Usage, "attaching to "+id+", which has no result yet", err).
			WithHint("wait until the run has ended the instance, or interrupt the run twice; then attach again")
	}
	return &run.Earlier{Owned: true}, unlock, err
}
