package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"batch.example/batch/docker"
	"batch.example/batch/docker/images"
	"batch.example/batch/fault"
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
	images := stock.Cache(imagecache.Options{Reserve: p.reserve, Log: engine.Log})
	var (
		mu                     sync.Mutex
		pulled, before, failed int
	)
	list := sandbox.Needs(selected, f.imagePrefix)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(p.pulls)
	for _, l := range list {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			img, new, err := images.Fetch(ctx, imagecache.Ref(l.Ref, platform))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case fault.KindOf(err) == fault.Host || fault.Canceled(err):
				return err
			case err != nil:
				failed++
				a.complain(err)
			case new:
				pulled++
				fmt.Fprintf(a.stdout, "pulled %s (%s)\n", printable.Line(l.Ref), units.HumanSize(float64(img.Size)))
			default:
				before++
			}
			return nil
		})
	}
	err = group.Wait()
	fmt.Fprintf(a.stdout, "%d images needed, %d pulled, %d here before, %d failed\n", len(list), pulled, before, failed)
	if err == nil && failed > 0 {
		err = errIncomplete
	}
	return err
}
