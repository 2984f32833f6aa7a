package containers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"

	"batch.example/batch/docker/images"
	"batch.example/batch/fault"
	"batch.example/batch/internal/retry"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/engine/files"
)

// filesPrefix begins the names of the volumes with the Files of containers, and of the containers through which
// they are filled. What follows is made from the content.
const filesPrefix = "batch-files-"

// bundle is the volume with a Spec's Files.
type bundle struct {
	engine.Files

	volume   string
	imageID  string // of an image's files
	platform string
}

// bundleOf returns the volume for a Spec's Files; nil: it has none. A missing image is pulled.
func (f *Fleet) bundleOf(ctx context.Context, s spec) (*bundle, error) {
	b := bundle{Files: s.Files}
	switch {
	case s.Files == engine.Files{}:
		return nil, nil
	case s.Files.Folder != "" && len(s.Files.Digest) != hex.EncodedLen(sha256.Size):
		return nil, fault.Newf(fault.Bug, "the files of %s have the digest %q", s.Files.Folder, s.Files.Digest)
	case s.Files.Folder != "":
		b.volume = filesPrefix + s.Files.Digest[:16]
		return &b, nil
	}
	b.platform = s.Platform
	type key struct{ image, platform string }
	at := key{s.Files.Image, s.Platform}
	if known, ok := f.bundles.Load(at); ok { // all containers of a process get the same files
		return known.(*bundle), nil
	}
	img, err := f.images.Ensure(ctx, s.Files.Image, s.Platform, nil)
	if err != nil {
		return nil, filesFault(err)
	}
	sum := sha256.Sum256([]byte(img.ID + " " + img.OS + "/" + img.Arch))
	b.volume, b.imageID = fmt.Sprintf("%s%x", filesPrefix, sum[:8]), img.ID
	known, _ := f.bundles.LoadOrStore(at, &b)
	return known.(*bundle), nil
}

// filesFault says that an image is that of files: it is no instance's.
func filesFault(err error) error {
	const op = "getting the files of the agent's program"
	if kind := fault.KindOf(err); kind != fault.Instance {
		return fmt.Errorf("%s: %w", op, err)
	}
	return fault.New(fault.Usage, op, err).WithHint("agent.program.files names an image, or a folder that begins with / or ./")
}

func (b *bundle) mount(writable bool) mount.Mount {
	return mount.Mount{
		Type: mount.TypeVolume, Source: b.volume, Target: engine.FilesDir, ReadOnly: !writable,
		VolumeOptions: &mount.VolumeOptions{NoCopy: true},
	}
}

// provide fills the volume of a container that was created and not started, unless it is whole: the volume is
// new, or was removed since it was filled, or a fill was killed.
func (f *Fleet) provide(ctx context.Context, id, image string, b *bundle) error {
	if whole, err := f.isWhole(ctx, id); whole || err != nil {
		return err
	}
	if err := f.fills.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer f.fills.Release(1)
	ctx, stop := context.WithTimeoutCause(ctx, fillExpiry, fault.Newf(fault.Transient, "volume %s was not filled within %v", b.volume, fillExpiry))
	defer stop()
	for {
		if whole, err := f.isWhole(ctx, id); whole || err != nil {
			return err
		}
		taken, err := f.fillFiles(ctx, image, b)
		if taken {
			err = f.awaitFill(ctx, b)
		}
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// isWhole reports whether the volume of a container has all files.
func (f *Fleet) isWhole(ctx context.Context, id string) (bool, error) {
	_, err := f.engine.API.ContainerStatPath(ctx, id, engine.FilesDir+"/"+files.Whole)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil, f.engine.Blame(err, fault.Transient, "looking for the files of the agent's program")
}

// fillFiles fills a volume through a container with the volume's name, so that processes do not write to one
// volume at a time; taken means that another one does.
func (f *Fleet) fillFiles(ctx context.Context, image string, b *bundle) (taken bool, err error) {
	err = f.through(ctx, b.volume, image, nil, b.mount(true), func(id string) error { return f.copyFiles(ctx, id, b) })
	return errdefs.IsConflict(err), err
}

// copyFiles unpacks the files in a container.
func (f *Fleet) copyFiles(ctx context.Context, id string, b *bundle) error {
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := f.pack(ctx, w, b)
		_ = w.CloseWithError(err) // never fails
		packed <- err
	}()
	err := f.engine.API.CopyToContainer(ctx, id, engine.FilesDir, r, container.CopyToContainerOptions{})
	_ = r.Close() // never fails
	if failed := <-packed; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		err = failed
	}
	return f.engine.Blame(err, fault.Transient, "copying the files of the agent's program to the engine")
}

// pack writes the archive of the files.
func (f *Fleet) pack(ctx context.Context, w io.Writer, b *bundle) error {
	if b.Folder != "" {
		return files.Pack(ctx, w, b.Files)
	}
	platform, err := images.ParsePlatform(b.platform)
	if err != nil {
		return err
	}
	img, err := f.images.Ensure(ctx, b.Image, b.platform, nil) // it may have been removed since it was looked up
	if err != nil {
		return filesFault(err)
	}
	if img.ID != b.imageID {
		return fault.Newf(fault.Usage, "image %s was replaced during the run", b.Image).WithHint("start the run again: it continues with the new image")
	}
	return f.through(ctx, randomName(), img.ID, platform, mount.Mount{}, func(id string) error {
		content, _, err := f.engine.API.CopyFromContainer(ctx, id, "/")
		if err != nil {
			return err
		}
		defer content.Close()
		return files.Repack(ctx, w, content, engine.FilesDir, "/dev", "/proc", "/sys")
	})
}

// fillPause is the pause before another look at a volume that another process fills.
const fillPause = 200 * time.Millisecond

// awaitFill waits a while for the process that fills a volume, and ends what a dead one has left.
func (f *Fleet) awaitFill(ctx context.Context, b *bundle) error {
	all, err := f.Owned(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(o engine.Owned) bool { return o.Name == b.volume })
	if at >= 0 && all[at].Abandoned {
		return f.Remove(ctx, all[at].ID)
	}
	return retry.Sleep(ctx, fillPause)
}

// RemoveFiles removes the volumes with files that no container uses, and reports whether it removed one. The next
// container that needs them gets new ones.
func (f *Fleet) RemoveFiles(ctx context.Context) (bool, error) {
	return f.engine.RemoveVolumes(ctx, filesPrefix, func(*volume.Volume) bool { return true })
}
