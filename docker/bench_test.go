package docker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"golang.org/x/sync/errgroup"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/sandbox/engine"
)

// think is how long a fast model takes for its reply.
const think = 100 * time.Millisecond

// BenchmarkCommand runs one command in a container in each way, and on the host, with and
// without a pause before it. With conda, each start of a shell takes 150 ms.
func BenchmarkCommand(b *testing.B) {
	c := start(b, connect(b), engine.Spec{Unattended: time.Hour})
	if err := c.CopyIn(b.Context(), "/conda", 0o644, []byte("sleep 0.15; export CONDA=1\n")); err != nil {
		b.Fatal(err)
	}
	in := func(cmd containers.Command) func() error {
		return func() error { _, err := c.Run(b.Context(), cmd); return err }
	}
	host := func() error { return exec.Command("bash", "-c", "true").Run() }
	ahead := containers.Command{Script: "true", Ahead: true}
	for _, bb := range []struct {
		name  string
		pause time.Duration
		once  func() error
	}{
		{"host", 0, host},
		{"ahead", 0, in(ahead)},
		{"fresh", 0, in(containers.Command{Script: "true", Fresh: true})},
		{"host-thinking", think, host},
		{"ahead-thinking", think, in(ahead)},
		{"fresh-thinking", think, in(containers.Command{Script: "true", Fresh: true})},
		{"conda-thinking", 2 * think, in(containers.Command{Script: "true", Ahead: true, Env: []string{"BASH_ENV=/conda"}})},
		{"cli", 0, func() error { return exec.Command("docker", "exec", c.ID(), "bash", "-c", "true").Run() }},
	} {
		b.Run(bb.name, func(b *testing.B) { each(b, bb.pause, bb.once) })
	}
}

// each runs once per iteration, after a pause, and reports the median and the 99th percentile.
func each(b *testing.B, pause time.Duration, once func() error) {
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		time.Sleep(pause)
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

// BenchmarkCommandsAtOnce runs commands in 8 containers at the same time.
func BenchmarkCommandsAtOnce(b *testing.B) {
	e := connect(b)
	var cs [8]*containers.Container
	for i := range cs {
		cs[i] = start(b, e, engine.Spec{Unattended: time.Hour})
	}
	for _, bb := range []struct {
		name string
		once func(*containers.Container) error
	}{
		{"ahead", func(c *containers.Container) error {
			_, err := c.Run(b.Context(), containers.Command{Script: "true", Ahead: true})
			return err
		}},
		{"cli", func(c *containers.Container) error {
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

// BenchmarkLife is a container's life: with batch, with and without a first command,
// and with the engine's own calls for one that has no network sandbox either.
func BenchmarkLife(b *testing.B) {
	e, api := connect(b), raw(b)
	ours := func(script bool) func() error {
		return func() error {
			c, err := e.Create(b.Context(), engine.Spec{Image: testImage(b), Unattended: time.Hour})
			if err != nil {
				return err
			}
			if script {
				if _, err := c.Run(b.Context(), containers.Command{Script: "true"}); err != nil {
					return errors.Join(err, c.Remove(b.Context()))
				}
			}
			return c.Remove(b.Context())
		}
	}
	floor := func() error {
		yes := true
		made, err := api.ContainerCreate(b.Context(), &container.Config{Image: testImage(b), Entrypoint: []string{"bash", "-c", "sleep 1000"}, NetworkDisabled: true},
			&container.HostConfig{Init: &yes, NetworkMode: "none", LogConfig: container.LogConfig{Type: "none"}}, nil, nil, "")
		if err != nil {
			return err
		}
		err = api.ContainerStart(b.Context(), made.ID, container.StartOptions{})
		return errors.Join(err, api.ContainerRemove(b.Context(), made.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}))
	}
	b.Run("floor", func(b *testing.B) { each(b, 0, floor) })
	b.Run("ours", func(b *testing.B) { each(b, 0, ours(false)) })
	b.Run("with-command", func(b *testing.B) { each(b, 0, ours(true)) })
}

// BenchmarkInit measures the memory of a container's init: when it is new, while
// it keeps a large output until the next command, and afterwards.
func BenchmarkInit(b *testing.B) {
	c := start(b, connect(b), engine.Spec{Unattended: time.Hour})
	in, err := raw(b).ContainerInspect(b.Context(), c.ID())
	if err != nil {
		b.Fatal(err)
	}
	resident := map[string]float64{}
	note := func(unit string) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", in.State.Pid))
		if err != nil {
			b.Skip(err) // the engine is on another machine
		}
		for line := range strings.Lines(string(status)) {
			var kib float64
			if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
				resident[unit] = kib
			}
		}
	}
	run(b, c, "true")
	note("KiB-new")
	for b.Loop() {
		run(b, c, "yes | head -c 3000000")
	}
	note("KiB-large")
	for range 10 {
		run(b, c, "true")
	}
	time.Sleep(200 * time.Millisecond) // memory is returned in the background
	note("KiB-after")
	for unit, kib := range resident {
		b.ReportMetric(kib, unit)
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkOutput runs a command that writes 100 MB, and reports the most heap that was
// in use meanwhile.
func BenchmarkOutput(b *testing.B) {
	c := start(b, connect(b), engine.Spec{Unattended: time.Hour})
	var peak uint64
	for b.Loop() {
		done := make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() { peak = max(peak, heapPeak(done)) })
		r, err := c.Run(b.Context(), containers.Command{Script: "head -c 100000000 /dev/zero"})
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
