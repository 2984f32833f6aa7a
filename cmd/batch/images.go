package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/run"
	"batch.example/batch/run/engines"
	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/images"
)

func (a *app) imagesCommand() *cobra.Command {
	r := run.NewRequest()
	var platform string
	var asJSON bool
	list := func(c *cobra.Command, _ []string) error {
		if err := engines.CheckPlatform(platform); err != nil {
			return err
		}
		return a.listImages(c.Context(), r, platform, asJSON)
	}
	c := &cobra.Command{
		Use:   "images",
		Short: "Show, pull or evict the images of a selection",
		Long: `Show which images a selection needs, whether each is on this machine's Docker
engine, and how large it is there; the same as batch images list.

  batch images --subset demo
  batch images pull --subset verified --slice :20
  batch images evict --disk-budget 50GB`,
		Args: knownCommand,
		RunE: list,
	}
	addList(c.Flags(), &r, &platform, &asJSON)
	l := &cobra.Command{
		Use:   "list",
		Short: "Show which images a selection needs, and which are here",
		Long: `Show which images a selection needs, whether each is on this machine's Docker
engine, and how large it is there. With --json, one object per line, with each
image's id and digest, and whether batch pulled it.

  batch images list --subset verified --slice :20 --json`,
		RunE: list,
	}
	addList(l.Flags(), &r, &platform, &asJSON)
	c.AddCommand(l, a.imagesPullCommand(), a.imagesEvictCommand())
	return c
}

func addList(fs *pflag.FlagSet, r *run.Request, platform *string, asJSON *bool) {
	addSource(fs, r)
	addPrefix(fs, r)
	addEngine(fs, &r.Engines)
	addPlatform(fs, platform)
	fs.BoolVar(asJSON, "json", false, "print one JSON object per line")
	inSection(fs, "Output")
}

func addPlatform(fs *pflag.FlagSet, platform *string) {
	fs.StringVar(platform, "platform", "", "os/arch that the images are for, as with --platform in environment.run_args\n(default: the engine's choice)")
	inSection(fs, imageSection)
}

func (a *app) listImages(ctx context.Context, r run.Request, platform string, asJSON bool) error {
	_, selected, err := a.load(ctx, r)
	if err != nil {
		return err
	}
	return a.eachImages(ctx, r.Engines, engine.Options{}, func(at stock) error {
		list := sandbox.Needs(selected, r.ImagePrefix)
		if err := at.Look(ctx, list, platform); err != nil {
			return err
		}
		if asJSON {
			return a.imagesJSON(list, at.address)
		}
		if at.address != "" {
			fmt.Fprintf(a.stdout, "engine %s:\n", at.address)
		}
		return a.printImages(list)
	})
}

func (a *app) imagesJSON(list []*sandbox.Needed, address string) error {
	each := a.jsonLines()
	for _, l := range list {
		err := each(struct {
			*sandbox.Needed
			Engine string `json:"engine,omitempty"`
		}{l, address})
		if err != nil {
			return err
		}
	}
	return nil
}

// stock is the images of an engine, with its address if there are several.
type stock struct {
	*sandbox.Stock
	address string
}

// name returns text, or of one of several engines, its address and text.
func (s stock) name(text string) string {
	if s.address == "" {
		return text
	}
	return s.address + ": " + text
}

// eachImages is eachStock for engines whose images batch manages.
func (a *app) eachImages(ctx context.Context, addresses []string, o engine.Options, f func(stock) error) error {
	return a.eachStock(ctx, addresses, o, func(at stock) error {
		if !at.KeepsImages() {
			return fault.New(fault.Usage, "the cluster's nodes pull and remove images themselves", nil).WithHint("name a Docker engine with --engine")
		}
		return f(at)
	})
}

// eachStock connects to the engines that --engine names, one after the other, and calls f for each.
// A failure of one does not prevent the others; the error has all of them.
func (a *app) eachStock(ctx context.Context, addresses []string, o engine.Options, f func(stock) error) error {
	if len(addresses) == 0 {
		addresses = []string{engines.Default}
	}
	connects := make([]engine.Connect, len(addresses))
	for i, address := range addresses {
		var err error
		if connects[i], err = engines.At(address, a.getenv, a.home); err != nil {
			return err
		}
		if slices.Contains(addresses[:i], address) {
			return fault.Newf(fault.Usage, "--engine %s is given twice", address)
		}
	}
	o.Log = a.warnings()
	var errs []error
	for i, connect := range connects {
		if err := a.withStock(ctx, connect, o, func(opened *sandbox.Stock) error {
			s := stock{opened, ""}
			if len(addresses) > 1 {
				s.address = addresses[i]
			}
			return f(s)
		}); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

func (a *app) withStock(ctx context.Context, connect engine.Connect, o engine.Options, f func(*sandbox.Stock) error) error {
	opened, err := sandbox.OpenStock(ctx, connect, o, sandbox.StateDir(a.getenv, a.home))
	if err != nil {
		return err
	}
	defer opened.Close() //nolint:errcheck // nothing was started through it
	return f(opened)
}

func (a *app) printImages(list []*sandbox.Needed) error {
	var t printable.Table
	t.Row("IMAGE", "INSTANCES", "PRESENT", "SIZE")
	present, bytes := 0, int64(0)
	for _, l := range list {
		size, state := "-", "no"
		if l.Error != "" {
			state = "invalid name"
		}
		if l.Present {
			size, state = units.HumanSize(float64(l.Size)), "yes"
			present++
			bytes += l.Size
		}
		t.Row(l.Ref, l.Instances, state, size)
	}
	if err := t.Write(a.stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\n%s needed, %d present (%s, shared layers counted each time), %d to pull\n",
		printable.Count(len(list), "image", "images"), present, units.HumanSize(float64(bytes)), len(list)-present)
	return err
}

func (a *app) imagesPullCommand() *cobra.Command {
	r := run.NewRequest()
	var platform string
	c := &cobra.Command{
		Use:   "pull",
		Short: "Pull the images that a selection needs",
		Long: `Pull the images that a selection needs and that are not here, and remember them
as pulled by batch: a later run may evict them, see --disk-budget. It stops
when the disk runs low, and evicts nothing itself.

  batch images pull --subset verified --slice :20

Exit codes: 0 all are here, 1 it could not continue, 2 usage, 3 some could not
be pulled, 130 interrupted.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(run.CheckImages(r), engines.CheckPlatform(platform)); err != nil {
				return err
			}
			return a.pullImages(c.Context(), r, platform)
		},
	}
	fs := c.Flags()
	addSource(fs, &r)
	addPrefix(fs, &r)
	addPull(fs, &r)
	addEngine(fs, &r.Engines)
	addPlatform(fs, &platform)
	return c
}

func (a *app) pullImages(ctx context.Context, r run.Request, platform string) (err error) {
	_, selected, err := a.load(ctx, r)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed := 0
	err = a.eachImages(ctx, r.Engines, engine.Options{Pulls: r.Pulls}, func(at stock) error {
		pulled, before, missing := 0, 0, 0
		list := sandbox.Needs(selected, r.ImagePrefix)
		err := at.Pull(ctx, list, platform, images.Options{Reserve: r.DiskReserve, Log: a.warnings()}, r.Pulls, func(f sandbox.Fetched) {
			switch {
			case f.Err != nil:
				missing++
				a.complain(f.Err)
			case f.Pulled:
				pulled++
				fmt.Fprintln(a.stdout, at.name(fmt.Sprintf("pulled %s (%s)", printable.Line(f.Ref), units.HumanSize(float64(f.Size)))))
			default:
				before++
			}
		})
		failed += missing
		fmt.Fprintln(a.stdout, at.name(fmt.Sprintf("%s needed, %d pulled, %d here before, %d failed", printable.Count(len(list), "image", "images"), pulled, before, missing)))
		return err
	})
	if err == nil && failed > 0 {
		err = errIncomplete
	}
	return err
}

func (a *app) imagesEvictCommand() *cobra.Command {
	var keep int64
	var named []string
	var dryRun bool
	c := &cobra.Command{
		Use:   "evict",
		Short: "Remove images that batch pulled or made",
		Long: `Remove images that batch pulled, or made of others, in whichever run, from this
machine's Docker engine, the least recently needed first, until the rest takes
no more than --disk-budget. It never removes an image that you had before or
pulled again yourself, that a container has, or that a run needs at this moment.

  batch images evict --dry-run
  batch images evict --disk-budget 50GB

Exit codes: 0 done, 1 it could not continue, 2 usage.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.evictImages(c.Context(), named, keep, dryRun)
		},
	}
	sizeVar(c.Flags(), &keep, "disk-budget", "disk that the images may take, such as 50GB; 0, the default, removes all")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be removed, and stop")
	addEngine(c.Flags(), &named)
	return c
}

func (a *app) evictImages(ctx context.Context, named []string, keep int64, dry bool) error {
	verb := "evicted"
	if dry {
		verb = "would evict"
	}
	return a.eachImages(ctx, named, engine.Options{}, func(at stock) error {
		gone, kept, err := at.Cache(images.Options{}).Evict(ctx, keep, dry)
		var t printable.Table
		for _, e := range gone {
			t.Row(at.name(verb), e.Ref, units.HumanSize(float64(e.Size)))
		}
		for _, k := range kept {
			t.Row(at.name("kept"), k.Ref, k.Why)
		}
		if flushErr := t.Write(a.stdout); flushErr != nil {
			return flushErr
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.stdout, at.name(fmt.Sprintf("%s %s, kept %d in use", verb, printable.Count(len(gone), "image", "images"), len(kept))))
		return err
	})
}
