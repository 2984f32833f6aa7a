package main

import (
	"context"
	"fmt"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"batch.example/batch/docker"
	"batch.example/batch/imagecache"
	"batch.example/batch/internal/printable"
)

func (a *app) imagesEvictCommand() *cobra.Command {
	var budget string
	var dryRun bool
	c := &cobra.Command{
		Use:   "evict",
		Short: "Remove images that batch pulled or made",
		Long: `Remove images that batch pulled, or made of others, in whichever run, from this
machine's Docker engine, the least recently needed first, until those that are
left take no more than --disk-budget. Never one that you had before or pulled
again yourself, one that a container has, or one that a run needs at this moment.

  batch images evict --dry-run
  batch images evict --disk-budget 50GB

Exit codes: 0 done, 1 it could not go on, 2 usage.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			keep, err := parseSize("disk-budget", budget)
			if err != nil {
				return err
			}
			return a.evictImages(c.Context(), keep, dryRun)
		},
	}
	c.Flags().StringVar(&budget, "disk-budget", "0", "disk that the images may take, such as 50GB; 0 removes all")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be removed, and stop")
	return c
}

func (a *app) evictImages(ctx context.Context, keep int64, dry bool) error {
	stock, err := a.openStock(ctx, docker.FromEnv(a.getenv, a.home))
	if err != nil {
		return err
	}
	defer stock.Close()
	gone, kept, err := stock.Cache(imagecache.Options{}).Evict(ctx, keep, dry)
	verb := "evicted"
	if dry {
		verb = "would evict"
	}
	t := printable.NewTable(a.stdout)
	for _, e := range gone {
		t.Row(verb, e.Ref, units.HumanSize(float64(e.Size)))
	}
	for _, k := range kept {
		t.Row("kept", k.Ref, k.Why)
	}
	if flushErr := t.Flush(); flushErr != nil {
		return flushErr
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s %d images, kept %d that are in use\n", verb, len(gone), len(kept))
	return err
}
