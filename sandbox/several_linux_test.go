package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/docker"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/sandbox/engine"
	conformance "batch.example/batch/sandbox/engine/enginetest"
	"batch.example/batch/sandbox/engine/memory"
)

// spread makes one engine of the engines of a host: each container is created where the host would
// open a sandbox, and found wherever it is.
type spread struct {
	*Host
	mu   sync.Mutex
	used map[*site]int // containers that were created
}

// spreadOver returns the engines at connects as one, and closes the connections at the end of t. It
// leaves files in dir only, since t may be killed.
func spreadOver(t testing.TB, dir string, connects ...engine.Connect) *spread {
	t.Helper()
	c := Config{State: filepath.Join(dir, "state")}.withDefaults()
	for i, connect := range connects {
		c.Engines = append(c.Engines, Engine{Address: fmt.Sprint(i), Connect: connect})
	}
	all, err := connect(t.Context(), c)
	if err != nil || len(all.sites) != len(connects) {
		enginetest.Lacks(t, "%d engines: %v", len(connects), err)
	}
	e := &spread{Host: &Host{Config: c, common: all}, used: map[*site]int{}}
	t.Cleanup(func() {
		if err := e.disconnect(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// placedContainer leaves its place when it is removed.
type placedContainer struct {
	engine.Container
	leave func()
}

func (c placedContainer) Remove(ctx context.Context) error {
	c.leave()
	return c.Container.Remove(ctx)
}

func (e *spread) Create(ctx context.Context, s engine.Spec) (engine.Container, error) {
	at, leave, err := e.enter(ctx, s.Image, false, nil)
	if err != nil {
		return nil, err
	}
	c, err := at.engine.Create(ctx, s)
	if err != nil {
		leave()
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.used[at]++
	return placedContainer{c, leave}, nil
}

// on calls f for all engines, and joins what it returns.
func on[T any](e *spread, f func(engine.Engine) ([]T, error)) (all []T, err error) {
	var mu sync.Mutex
	err = e.each(func(at *site) error {
		some, err := f(at.engine)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, some...)
		return err
	})
	return all, err
}

func (e *spread) Attach(ctx context.Context, id string) (engine.Container, error) {
	found, err := on(e, func(at engine.Engine) ([]engine.Container, error) {
		c, err := at.Attach(ctx, id)
		return []engine.Container{c}, err
	})
	if at := slices.IndexFunc(found, func(c engine.Container) bool { return c != nil }); at >= 0 {
		return found[at], nil
	}
	return nil, err
}

func (e *spread) Owned(ctx context.Context) ([]engine.Owned, error) {
	return on(e, func(at engine.Engine) ([]engine.Owned, error) { return at.Owned(ctx) })
}

func (e *spread) Adopt(ctx context.Context, id, lease string) error {
	return e.each(func(at *site) error {
		list, err := at.engine.Owned(ctx)
		if err == nil && slices.ContainsFunc(list, func(o engine.Owned) bool { return o.ID == id }) {
			err = at.engine.Adopt(ctx, id, lease)
		}
		return err
	})
}

func (e *spread) Remove(ctx context.Context, id string) error {
	return e.each(func(at *site) error { return at.engine.Remove(ctx, id) })
}

func (e *spread) CheckNetwork(ctx context.Context, name string) error {
	return e.each(func(at *site) error { return at.engine.CheckNetwork(ctx, name) })
}

func (e *spread) Ready(ctx context.Context) error {
	return e.each(func(at *site) error { return at.engine.Ready(ctx) })
}

func (e *spread) About(ctx context.Context) (engine.About, error) {
	return e.sites[0].engine.About(ctx)
}

func (e *spread) Close() error { return nil }

// conform runs the suite of an engine on several. Each must have had containers.
func conform(t *testing.T, o conformance.Options) {
	t.Helper()
	var first *spread
	open := o.Open
	o.Open = func(t testing.TB, dir string) engine.Engine {
		e := open(t, dir).(*spread)
		if first == nil {
			first = e
		}
		return e
	}
	conformance.Run(t, o)
	t.Cleanup(func() {
		for _, at := range first.sites {
			if first.used[at] == 0 {
				t.Errorf("engine %s had no container: %v", at.Address, first.used)
			}
		}
	})
}

func TestThreeEnginesConform(t *testing.T) {
	t.Parallel()
	conform(t, conformance.Options{
		Open: func(t testing.TB, dir string) engine.Engine {
			var list []engine.Connect
			for i := range 3 {
				list = append(list, memory.At(filepath.Join(dir, fmt.Sprint(i))))
			}
			return spreadOver(t, dir, list...)
		},
		Image: func(t testing.TB) string { return enginetest.Directory(t, strings.Fields(conformance.Tools), nil) },
	})
}

func TestThreeDockerEnginesConform(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts three engines")
	}
	if os.Getenv("BATCH_DOCKER") == "" {
		t.Skip("BATCH_DOCKER is not set")
	}
	const image = "batch-three:test"
	conform(t, conformance.Options{
		Open: func(t testing.TB, dir string) engine.Engine {
			// Processes that the suite starts find the engines by their addresses.
			file := filepath.Join(dir, "engines")
			text, err := os.ReadFile(file)
			if errors.Is(err, os.ErrNotExist) {
				text = []byte(startThree(t, image))
				err = os.WriteFile(file, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			var list []engine.Connect
			for host := range strings.FieldsSeq(string(text)) {
				list = append(list, docker.Config{Host: host}.Open)
			}
			return spreadOver(t, dir, list...)
		},
		Image:  func(testing.TB) string { return image },
		Limits: true,
	})
}

// startThree starts three engines with an image, and returns their addresses.
func startThree(t testing.TB, image string) (hosts string) {
	t.Helper()
	root, err := enginetest.Root(strings.Fields(conformance.Tools), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		d := enginetest.Start(t)
		d.Import(image, root)
		hosts += d.Host() + "\n"
	}
	return hosts
}
