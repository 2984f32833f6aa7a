package main

import (
	"fmt"
	"log/slog"
	"text/tabwriter"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
)

func (a *app) imagesCommand() *cobra.Command {
	var f sourceFlags
	c := &cobra.Command{
		Use:   "images",
		Short: "Show which images a selection needs, and which are here",
		Long: `Show which images a selection needs, whether each is on this machine's Docker
engine, and how large it is there.

  batch images --subset demo
  batch images --subset verified --slice :20`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, selected, err := f.load(c.Context(), a, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			engine, err := docker.Connect(c.Context(), docker.FromEnv(a.getenv, a.home))
			if err != nil {
				return err
			}
			defer engine.Close()
			var refs []string
			uses := map[string]int{}
			for _, in := range selected {
				ref := in.ImageName(f.imagePrefix)
				if uses[ref]++; uses[ref] == 1 {
					refs = append(refs, ref)
				}
			}
			return a.listImages(c, engine, refs, uses)
		},
	}
	f.add(c)
	return c
}

func (a *app) listImages(c *cobra.Command, engine *docker.Engine, refs []string, uses map[string]int) error {
	tw := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "IMAGE\tINSTANCES\tPRESENT\tSIZE")
	present, bytes := 0, int64(0)
	for _, ref := range refs {
		image, here, err := engine.Image(c.Context(), ref)
		state, size := "no", "-"
		switch {
		case fault.KindOf(err) == fault.Instance || fault.KindOf(err) == fault.Usage:
			state = "not a name of an image"
		case err != nil:
			return err
		case here:
			state, size = "yes", units.HumanSize(float64(image.Size))
			present++
			bytes += image.Size
		}
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\n", ref, uses[ref], state, size)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\n%d images needed, %d present (%s, shared layers counted each time), %d to pull\n",
		len(refs), present, units.HumanSize(float64(bytes)), len(refs)-present)
	return err
}
