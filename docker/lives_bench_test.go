package docker_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
)

// BenchmarkLivesAtOnce is what Config.Lives is chosen by: 16 callers create
// and remove containers while so many at once may do so.
func BenchmarkLivesAtOnce(b *testing.B) {
	image := testImage(b)
	for _, lives := range []int{1, 2, 4, 8, 16} {
		b.Run(fmt.Sprint(lives), func(b *testing.B) {
			c := docker.FromEnv(os.Getenv, b.TempDir())
			c.Lives = lives
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
					c, err := e.Create(b.Context(), containers.Spec{Image: image, Unattended: time.Minute})
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
