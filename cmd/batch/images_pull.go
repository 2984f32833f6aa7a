package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"batch.example/batch/docker"
	"batch.example/batch/docker/images"
	"batch.example/batch/imagecache"
	"batch.example/batch/internal/printable"
	"batch.example/batch/sandbox"
)

func (a *app) imagesPullCommand() *cobra.Command {
	var f sourceFlags
	var p pullFlags
	var platform string
	c := &cobra.Command{
		Use:   "pull",
		Short: "Pull the images that a selection needs",
		Long: `Pull the images that a selection needs and that are not here, and remember them
as pulled by batch: a later run may evict them, see --disk-budget. It stops
when the disk runs low, and evicts nothing itself.

  batch images pull --subset verified --slice :20

Exit codes: 0 all are here, 1 it could not go on, 2 usage, 3 some could not be
pulled, 130 interrupted.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(p.check(), images.CheckPlatform(platform)); err != nil {
				return err
			}
			return a.pullImages(c.Context(), f, p, platform)
		},
	}
	f.add(c)
	p.add(c)
	addPlatform(c, &platform)
	return c
}

func (a *app) pullImages(ctx context.Context, f sourceFlags, p pullFlags, platform string) (err error) {
	_, selected, err := f.load(ctx, a)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	engine := docker.FromEnv(a.getenv, a.home)
	engine.Pulls, engine.Log = p.pulls, a.warnings()
	stock, err := a.openStock(ctx, engine)
	if err != nil {
		return err
	}
	defer stock.Close()
	list := sandbox.Needs(selected, f.imagePrefix)
	pulled, before, failed := 0, 0, 0
	err = stock.Pull(ctx, list, platform, imagecache.Options{Reserve: p.reserve, Log: engine.Log}, p.pulls, func(f sandbox.Fetched) {
		switch {
		case f.Err != nil:
			failed++
			a.complain(f.Err)
		case f.Pulled:
			pulled++
			fmt.Fprintf(a.stdout, "pulled %s (%s)\n", printable.Line(f.Ref), units.HumanSize(float64(f.Size)))
		default:
			before++
		}
	})
	fmt.Fprintf(a.stdout, "%d images needed, %d pulled, %d here before, %d failed\n", len(list), pulled, before, failed)
	if err == nil && failed > 0 {
		err = errIncomplete
	}
	return err
}
