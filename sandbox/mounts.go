package sandbox

import (
	"context"
	"path/filepath"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

// check refuses an engine without the network of the containers, and mounts or files that would let containers
// reach more than is meant.
func (c Config) check(ctx context.Context, e engine.Engine) error {
	err := e.CheckNetwork(ctx, c.Container.Network)
	if err != nil || len(c.Container.Mounts) == 0 && c.Container.Files.Folder == "" {
		return err
	}
	about, err := e.About(ctx)
	if err != nil {
		return err
	}
	if !about.Local && len(c.Container.Mounts) > 0 {
		return fault.Newf(fault.Usage, "environment.run_args: -v: the engine %s is elsewhere, and has no directories of this machine", about.Address).
			WithHint("put the files into the images, or use an engine of this machine")
	}
	closed := []struct{ what, path string }{
		{"the engine's socket", strings.TrimPrefix(about.Address, "unix://")},
		{"batch's state folder", c.State},
		{"the engine's data", about.RootDir},
		{"the sockets of services", "/run"},
		{"other processes", "/proc"},
		{"the kernel", "/sys"},
		{"devices", "/dev"},
	}
	for _, path := range c.Private {
		closed = append(closed, struct{ what, path string }{"what batch works with", path})
	}
	seen := func(key, name string) error {
		source, err := filepath.EvalSymlinks(name)
		if err != nil {
			return fault.New(fault.Usage, key+" "+name, err).WithHint("name a directory or file of this machine")
		}
		if source == "/" {
			return fault.Newf(fault.Usage, "%s %s: it is the whole machine", key, name).WithHint("name the directory that containers need")
		}
		for _, no := range closed {
			if no.path != "" && overlap(source, no.path) {
				return fault.Newf(fault.Usage, "%s %s: it would give %s to the containers: %s", key, name, no.what, no.path).
					WithHint("name the directory that containers need")
			}
		}
		return nil
	}
	for _, m := range c.Container.Mounts {
		if err := seen("environment.run_args: -v", m.Source); err != nil {
			return err
		}
	}
	if folder := c.Container.Files.Folder; folder != "" {
		return seen("agent.program.files:", folder)
	}
	return nil
}

// overlap reports whether one of two paths is in the other. The first one has no symbolic links.
func overlap(source, path string) bool {
	for dir := path; dir != filepath.Dir(dir); dir = filepath.Dir(dir) { // the end of path may not exist yet
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			path = real + strings.TrimPrefix(path, dir)
			break
		}
	}
	within := func(dir, path string) bool {
		rel, err := filepath.Rel(dir, path)
		return err == nil && filepath.IsLocal(rel)
	}
	return within(source, path) || within(path, source)
}
