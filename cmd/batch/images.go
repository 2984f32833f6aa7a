package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"batch.example/batch/dataset"
	"batch.example/batch/docker"
	"batch.example/batch/docker/images"
	"batch.example/batch/fault"
	"batch.example/batch/imagecache"
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

// listed is what is known of one image; its JSON form is what --json prints.
type listed struct {
	Image     string     `json:"image"`
	Instances int        `json:"instances"`
	Present   bool       `json:"present"`
	ID        string     `json:"id,omitempty"`
	Digest    string     `json:"digest,omitempty"` // in its registry
	Size      int64      `json:"size,omitempty"`   // bytes, shared layers included
	Pulled    *time.Time `json:"pulled_by_batch,omitempty"`
	Needed    *time.Time `json:"last_needed,omitempty"` // of one that batch pulled
	Scrubbed  []string   `json:"scrubbed,omitempty"`    // images that batch made of it, with its history scrubbed
	Error     string     `json:"error,omitempty"`       // why it cannot be had, where that is known

	state string
	made  []imagecache.Entry
}

// wanted returns the images that a selection needs, in its order.
func wanted(selected []dataset.Instance, prefix string) []*listed {
	var list []*listed
	by := map[string]*listed{}
	for _, in := range selected {
		ref := in.ImageName(prefix)
		if by[ref] == nil {
			by[ref] = &listed{Image: ref}
			list = append(list, by[ref])
		}
		by[ref].Instances++
	}
	return list
}

func (a *app) listImages(ctx context.Context, f sourceFlags, platform string, asJSON bool) error {
	_, selected, err := f.load(ctx, a)
	if err != nil {
		return err
	}
	engine, ledger, err := a.connectImages(ctx, docker.FromEnv(a.getenv, a.home))
	if err != nil {
		return err
	}
	defer engine.Close()
	entries, err := ledger.Entries()
	if err != nil {
		return err
	}
	pulled := map[string]imagecache.Entry{}
	for _, e := range entries {
		pulled[e.Ref] = e
	}
	list := wanted(selected, f.imagePrefix)
	for _, l := range list {
		if err := l.look(ctx, engine, platform, pulled); err != nil {
			return err
		}
		for _, e := range entries {
			if l.Present && e.OfID == l.ID {
				l.made = append(l.made, e)
				l.Scrubbed = append(l.Scrubbed, e.Ref)
			}
		}
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

// connectImages connects to the engine and opens its ledger; the caller closes
// the engine.
func (a *app) connectImages(ctx context.Context, c docker.Config) (*docker.Engine, *imagecache.Ledger, error) {
	engine, err := docker.Connect(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	info, err := engine.Info(ctx)
	if err != nil {
		_ = engine.Close() // nothing was started through it
		return nil, nil, err
	}
	ledger, err := sandbox.OpenLedger(engine, info, sandbox.StateDir(a.getenv, a.home), a.warnings())
	if err != nil {
		_ = engine.Close()
		return nil, nil, err
	}
	return engine, ledger, nil
}

// look fills in what the engine and the ledger know.
func (l *listed) look(ctx context.Context, engine *docker.Engine, platform string, pulled map[string]imagecache.Entry) error {
	image, here, err := engine.Image(ctx, l.Image, platform)
	l.state = "no"
	switch {
	case fault.KindOf(err) == fault.Instance:
		l.state, l.Error = "not a name of an image", err.Error()
	case err != nil:
		return err
	case here:
		l.state = "yes"
		l.Present, l.ID, l.Digest, l.Size = true, image.ID, image.Digest, image.Size
		if e, ok := pulled[imagecache.Ref(l.Image, platform)]; ok && e.ID == image.ID {
			l.Pulled, l.Needed = &e.Pulled, &e.Needed
		}
	}
	return nil
}

func (a *app) printImages(list []*listed) error {
	t := printable.NewTable(a.stdout)
	t.Row("IMAGE", "INSTANCES", "PRESENT", "SIZE")
	present, bytes := 0, int64(0)
	for _, l := range list {
		size := "-"
		if l.Present {
			size = units.HumanSize(float64(l.Size))
			present++
			bytes += l.Size
		}
		t.Row(l.Image, l.Instances, l.state, size)
		for _, e := range l.made {
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
