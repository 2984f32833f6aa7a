package main

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/docker/go-units"

	"batch.example/batch/dataset"
	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/imagecache"
	"batch.example/batch/results"
	"batch.example/batch/sandbox"
	"batch.example/batch/solver"
	"batch.example/batch/vocab"
)

// sandboxes are a host's as the solver asks for them.
type sandboxes struct{ *sandbox.Host }

// Open implements solver.Sandboxes.
func (s sandboxes) Open(ctx context.Context, o sandbox.Opening) (solver.Sandbox, error) {
	box, err := s.Host.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return box, nil
}

// leasePath is what containers name as their lease: the directory's lock, in
// which the owner of the moment stands.
func leasePath(dir string) string {
	path := results.LockPath(dir)
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// lockOwner is what stands in the lock: a line for people, and one for the
// reapers of other runs.
func lockOwner() string { return results.DefaultOwner() + "\n" + containers.Owner() }

// unopened is an environment that is only looked at.
type unopened struct{}

// Execute implements agent.Environment.
func (unopened) Execute(context.Context, string) (vocab.Output, error) {
	return vocab.Output{}, fault.Newf(fault.Bug, "executing a command in an environment that is not open")
}

// parseSize reads a number of bytes as people write it: 50GB, 500m; 0 or
// nothing is none.
func parseSize(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := units.FromHumanSize(text)
	if err != nil || n < 0 {
		return 0, fault.Newf(fault.Usage, "--%s %s: expected a size such as 50GB", flag, text)
	}
	return n, nil
}

// grouped orders instances so that those that share an image, or probably
// layers of it, run near each other: by repository, its version and the image.
func grouped(list []dataset.Instance, prefix string) []dataset.Instance {
	return imagecache.Group(list, func(in dataset.Instance) []string {
		image := in.ImageName(prefix)
		return []string{cmp.Or(in.Repo, imagecache.Repository(image)), in.Version, image}
	})
}

// Vars implements agent.Environment.
func (unopened) Vars() map[string]any { return sandbox.Vars() }
