package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"batch.example/batch/docker"
	"batch.example/batch/docker/images"
	"batch.example/batch/internal/printable"
	"batch.example/batch/sandbox"
)

func (a *app) imagesCommand() *cobra.Command {
	var f sourceFlags
	var platform string
	var asJSON bool
	list := func(c *cobra.Command, _ []string) error {
		if err := images.CheckPlatform(platform); err != nil {
			return err
		}
		return a.listImages(c.Context(), f, platform, asJSON)
	}
	c := &cobra.Command{
		Use:   "images",
		Short: "Show, pull or evict the images of a selection",
		Long: `Show which images a selection needs, whether each is on this machine's Docker
engine, and how large it is there; the same as batch images list. Below an image
stands what batch made of it: the same with its later git history scrubbed, for
the next container.

  batch images --subset demo
  batch images pull --subset verified --slice :20
  batch images evict --disk-budget 50GB`,
		Args: knownCommand,
		RunE: list,
	}
	addList(c, &f, &platform, &asJSON)
	l := &cobra.Command{
		Use:   "list",
		Short: "Show which images a selection needs, and which are here",
		Long: `Show which images a selection needs, whether each is on this machine's Docker
engine, and how large it is there. With --json, one object a line, with each
image's id and digest, and whether batch pulled it.

  batch images list --subset verified --slice :20 --json`,
		Args: noArgs,
		RunE: list,
	}
	addList(l, &f, &platform, &asJSON)
	c.AddCommand(l, a.imagesPullCommand(), a.imagesEvictCommand())
	return c
}

func addList(c *cobra.Command, f *sourceFlags, platform *string, asJSON *bool) {
	f.add(c)
	addPlatform(c, platform)
	c.Flags().BoolVar(asJSON, "json", false, "one JSON object a line")
}

func addPlatform(c *cobra.Command, platform *string) {
	c.Flags().StringVar(platform, "platform", "", "os/arch that the images are for, as with --platform in environment.run_args\n(default: the engine's choice)")
}

func (a *app) listImages(ctx context.Context, f sourceFlags, platform string, asJSON bool) error {
	_, selected, err := f.load(ctx, a)
	if err != nil {
		return err
	}
	stock, err := a.openStock(ctx, docker.FromEnv(a.getenv, a.home))
	if err != nil {
		return err
	}
	defer stock.Close()
	list := sandbox.Needs(selected, f.imagePrefix)
	if err := stock.Look(ctx, list, platform); err != nil {
		return err
	}
	if !asJSON {
		return a.printImages(list)
	}
	enc := json.NewEncoder(a.stdout)
	for _, l := range list {
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// openStock connects to the engine. The caller closes the stock.
func (a *app) openStock(ctx context.Context, c docker.Config) (*sandbox.Stock, error) {
	return sandbox.OpenStock(ctx, c, sandbox.StateDir(a.getenv, a.home), a.warnings())
}

func (a *app) printImages(list []*sandbox.Needed) error {
	t := printable.NewTable(a.stdout)
	t.Row("IMAGE", "INSTANCES", "PRESENT", "SIZE")
	present, bytes := 0, int64(0)
	for _, l := range list {
		size, state := "-", "no"
		if l.Error != "" {
			state = "not a name of an image"
		}
		if l.Present {
			size, state = units.HumanSize(float64(l.Size)), "yes"
			present++
			bytes += l.Size
		}
		t.Row(l.Ref, l.Instances, state, size)
		for _, e := range l.Made {
			t.Row("  "+e.Ref, "-", "made of it", units.HumanSize(float64(e.Size)))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\n%d images needed, %d present (%s, shared layers counted each time), %d to pull\n",
		len(list), present, units.HumanSize(float64(bytes)), len(list)-present)
	return err
}
