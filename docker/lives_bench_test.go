package docker_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/docker"
	"batch.example/batch/sandbox/engine"
)

// BenchmarkLivesAtOnce shows which Config.Creates is best for 16 callers that create and
// remove containers.
func BenchmarkLivesAtOnce(b *testing.B) {
	image := testImage(b)
	for _, creates := range []int{1, 2, 4, 8, 16} {
		b.Run(fmt.Sprint(creates), func(b *testing.B) {
			c := docker.FromEnv(os.Getenv, b.TempDir())
			c.Creates = creates
			e, err := docker.Connect(b.Context(), c)
			if err != nil {
				b.Skip(err)
			}
			defer e.Close()
			b.ResetTimer()
			group := new(errgroup.Group)
			group.SetLimit(16)
			for range b.N {
				group.Go(func() error {
					c, err := e.Create(b.Context(), engine.Spec{Image: image, Unattended: time.Minute})
					if err != nil {
						return err
					}
					return c.Remove(context.Background())
				})
			}
			if err := group.Wait(); err != nil {
				b.Error(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "containers/s")
		})
	}
}
