package runs

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"batch.example/batch/docker"
	"batch.example/batch/e2e"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/kubetest"
	"batch.example/batch/kube"
	"batch.example/batch/sandbox/engine"
)

const (
	benchImage = "batch-demo/demo__slug-1:latest"
	// No registry is there, and the node has fewer processors than tenths of pods.
	benchPod = `{"imagePullPolicy": "Never", "resources": {"requests": {"cpu": "5m"}}}`
)

// both are a Docker engine and the tests' cluster.
func both(b *testing.B) (container, pod engine.Engine) {
	b.Helper()
	e2e.NeedDocker(b)
	config := kubetest.Config(b)
	kubetest.Load(b, benchImage)
	connect := func(f engine.Connect, o engine.Options) engine.Engine {
		e, err := f(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = e.Close() })
		return e
	}
	return connect(docker.FromEnv(os.Getenv, "").Open, engine.Options{}),
		connect(kube.Config{Files: []string{config}}.Open, engine.Options{Pod: []byte(benchPod)})
}

func create(b *testing.B, e engine.Engine) engine.Container {
	b.Helper()
	c, err := e.Create(b.Context(), engine.Spec{Image: benchImage, Unattended: 10 * time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Remove(context.Background()) })
	return c
}

// BenchmarkPodCommand compares a command in a pod with one in a container, in turn, after a time in
// which a model thinks and without.
func BenchmarkPodCommand(b *testing.B) {
	docker, cluster := both(b)
	container, pod := create(b, docker), create(b, cluster)
	for _, think := range []time.Duration{0, 100 * time.Millisecond} {
		b.Run(fmt.Sprintf("thinking-%v", think), func(b *testing.B) {
			var inContainer, inPod []time.Duration
			for b.Loop() {
				inContainer = append(inContainer, command(b, container, think))
				inPod = append(inPod, command(b, pod, think))
			}
			slices.Sort(inContainer)
			slices.Sort(inPod)
			middle := len(inPod) / 2
			b.ReportMetric(float64(inContainer[middle].Microseconds()), "container-p50-µs")
			b.ReportMetric(float64(inPod[middle].Microseconds()), "pod-p50-µs")
			b.ReportMetric(float64(inPod[middle])/float64(inContainer[middle]), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func command(b *testing.B, c engine.Container, think time.Duration) time.Duration {
	b.Helper()
	time.Sleep(think)
	began := time.Now()
	if _, err := c.Run(b.Context(), box.Command{Script: "true", Ahead: true, Timeout: time.Minute}); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}

// BenchmarkPods starts as many pods at once as BATCH_PODS says (20), until each has answered a
// command, and removes them.
func BenchmarkPods(b *testing.B) {
	n := 20
	if text := os.Getenv("BATCH_PODS"); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			b.Fatal(err)
		}
	}
	_, cluster := both(b)
	var started, removed time.Duration
	for b.Loop() {
		began := time.Now()
		pods := make([]engine.Container, n)
		var all sync.WaitGroup
		for i := range pods {
			all.Go(func() {
				c, err := cluster.Create(b.Context(), engine.Spec{Image: benchImage, Unattended: 10 * time.Minute})
				if err == nil {
					_, err = c.Run(b.Context(), box.Command{Script: "true", Timeout: time.Minute})
				}
				if err != nil {
					b.Error(err)
				}
				pods[i] = c
			})
		}
		all.Wait()
		started += time.Since(began)
		began = time.Now()
		for _, c := range pods {
			all.Go(func() {
				if c != nil {
					if err := c.Remove(context.Background()); err != nil {
						b.Error(err)
					}
				}
			})
		}
		all.Wait()
		removed += time.Since(began)
	}
	b.ReportMetric(float64(n*b.N)/started.Seconds(), "pods/s")
	b.ReportMetric(removed.Seconds()/float64(b.N), "s-to-remove")
	b.ReportMetric(0, "ns/op")
}
