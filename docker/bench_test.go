package docker_test

import (
	"errors"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"golang.org/x/sync/errgroup"

	"batch.example/batch/docker"
)

// BenchmarkCommand is one command in a container, each way, and on the host.
func BenchmarkCommand(b *testing.B) {
	c := start(b, connect(b), docker.Spec{Deadline: time.Hour})
	for _, bb := range []struct {
		name string
		once func() error
	}{
		{"host", func() error { return exec.Command("bash", "-c", "true").Run() }},
		{"shell", func() error { _, err := c.Run(b.Context(), docker.Command{Script: "true"}); return err }},
		{"fresh", func() error { _, err := c.Run(b.Context(), docker.Command{Script: "true", Fresh: true}); return err }},
		{"cli", func() error { return exec.Command("docker", "exec", c.ID(), "bash", "-c", "true").Run() }},
	} {
		b.Run(bb.name, func(b *testing.B) { each(b, bb.once) })
	}
}

// each runs once per iteration and reports the median and the 99th percentile.
func each(b *testing.B, once func() error) {
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		begin := time.Now()
		if err := once(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	percentiles(b, took)
}

func percentiles(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkCommandsAtOnce is commands in 8 containers at the same time.
func BenchmarkCommandsAtOnce(b *testing.B) {
	e := connect(b)
	var cs [8]*docker.Container
	for i := range cs {
		cs[i] = start(b, e, docker.Spec{Deadline: time.Hour})
	}
	for _, bb := range []struct {
		name string
		once func(*docker.Container) error
	}{
		{"shell", func(c *docker.Container) error {
			_, err := c.Run(b.Context(), docker.Command{Script: "true"})
			return err
		}},
		{"cli", func(c *docker.Container) error {
			return exec.Command("docker", "exec", c.ID(), "bash", "-c", "true").Run()
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			var group errgroup.Group
			for _, c := range cs {
				group.Go(func() error {
					for range b.N {
						if err := bb.once(c); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if err := group.Wait(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(cs)*b.N)/b.Elapsed().Seconds(), "commands/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkLife is a container's life: ours, with and without a first command,
// against the engine's own calls.
func BenchmarkLife(b *testing.B) {
	e, api := connect(b), raw(b)
	ours := func(script bool) func() error {
		return func() error {
			c, err := e.Create(b.Context(), docker.Spec{Image: testImage(b), Deadline: time.Hour})
			if err != nil {
				return err
			}
			if script {
				if _, err := c.Run(b.Context(), docker.Command{Script: "true"}); err != nil {
					return errors.Join(err, c.Remove(b.Context()))
				}
			}
			return c.Remove(b.Context())
		}
	}
	floor := func() error {
		yes := true
		made, err := api.ContainerCreate(b.Context(), &container.Config{Image: testImage(b), Entrypoint: []string{"bash", "-c", "sleep 1000"}},
			&container.HostConfig{Init: &yes, NetworkMode: "none", LogConfig: container.LogConfig{Type: "none"}}, nil, nil, "")
		if err != nil {
			return err
		}
		err = api.ContainerStart(b.Context(), made.ID, container.StartOptions{})
		return errors.Join(err, api.ContainerRemove(b.Context(), made.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}))
	}
	b.Run("floor", func(b *testing.B) { each(b, floor) })
	b.Run("ours", func(b *testing.B) { each(b, ours(false)) })
	b.Run("with-command", func(b *testing.B) { each(b, ours(true)) })
}

// BenchmarkOutput is a command that writes 100 MB, and the most heap that was
// in use meanwhile.
func BenchmarkOutput(b *testing.B) {
	c := start(b, connect(b), docker.Spec{Deadline: time.Hour})
	var peak uint64
	for b.Loop() {
		done := make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() { peak = max(peak, heapPeak(done)) })
		r, err := c.Run(b.Context(), docker.Command{Script: "head -c 100000000 /dev/zero"})
		close(done)
		watch.Wait()
		if err != nil || r.Total != 100_000_000 {
			b.Fatal(r.Total, err)
		}
	}
	b.SetBytes(100_000_000)
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
}

func heapPeak(done <-chan struct{}) (peak uint64) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return peak
		case <-tick.C:
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
	}
}
