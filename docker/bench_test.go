package docker_test

import (
	"os/exec"
	"slices"
	"testing"
	"time"

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
