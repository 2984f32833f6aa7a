package containers

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/internal/retry"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

const (
	diskPause = 2 * time.Second // between two rounds of measuring, and at least nine times what a round takes
	diskGrace = 3               // commands that a container may run above its limit, to get below it
	diskSlack = 64 << 20        // bytes that it may grow by meanwhile
)

// disk is the disk use of one container, where the engine has no
// quota for it. The zero value has no limit.
type disk struct {
	limit    int64
	upperDir atomic.Pointer[string] // directory of its files, empty if it is on another machine; nil until it is known

	mu      sync.Mutex
	used    int64 // at the last measurement, if that was above the limit
	ceiling int64 // the most that it may use while it is above the limit
	left    int   // commands that it may run above the limit; 0: it is not above, or spent is true
	killed  bool  // its processes were killed, and that has not been reported
	spent   bool  // the next command is refused
	over    bool  // a command was refused: later commands are not the agent's
}

// disks are the watched containers of one engine.
type disks struct {
	begin sync.Once
	mu    sync.Mutex
	boxes map[*Container]bool
}

// watchDisk adds c to the containers that are measured until they are removed,
// if c has a limit that the engine does not enforce.
func (f *Fleet) watchDisk(c *Container) {
	if c.disk.limit == 0 {
		return
	}
	f.disks.mu.Lock()
	defer f.disks.mu.Unlock()
	if f.disks.boxes == nil {
		f.disks.boxes = map[*Container]bool{}
	}
	f.disks.boxes[c] = true
	f.disks.begin.Do(func() { f.engine.Go(f.disks.watch) })
}

func (d *disks) forget(c *Container) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.boxes, c)
}

func (d *disks) watch(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		d.mu.Lock()
		var all []*Container
		for c := range d.boxes {
			all = append(all, c)
		}
		d.mu.Unlock()
		for _, c := range all {
			c.checkDisk(ctx)
		}
		_ = retry.Sleep(ctx, max(diskPause, 9*time.Since(began)))
	}
}

// checkDisk measures a container and kills all its processes if its files have
// exceeded the limit, or continue to grow above it.
func (c *Container) checkDisk(ctx context.Context) {
	used, err := c.diskUsed(ctx)
	if err != nil {
		if ctx.Err() == nil {
			c.engine.Log.Debug("measuring the disk use of a container", "container", c.short(), "err", err)
		}
		return
	}
	if !c.disk.note(used) {
		return
	}
	c.engine.Log.Warn("killing the processes of a container above its disk limit", "container", c.short(), "bytes", used, "limit", c.disk.limit)
	ctx, cancel := context.WithTimeout(ctx, daemon.RemoveLimit)
	defer cancel()
	if err := c.Clear(ctx, "limiting the disk of"); err != nil {
		c.engine.Log.Info("killing the processes of a container above its disk limit", "container", c.short(), "err", err)
		return
	}
	if used, err := c.diskUsed(ctx); err == nil {
		c.disk.killedAt(used)
	}
}

// killedAt records what the container uses after its processes were killed. They may have
// written since the measurement, which does not count as growth above the limit. Once a
// command has reported the kill, the next one may be writing, and nothing is recorded.
func (d *disk) killedAt(used int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.killed {
		d.ceiling = max(d.ceiling, used+diskSlack)
	}
}

// note records a measurement, and reports whether the processes must be killed.
func (d *disk) note(used int64) (kill bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used = used
	switch {
	case used <= d.limit:
		d.left, d.spent = 0, false
		return false
	case d.left == 0 && !d.spent && !d.over:
		d.left = diskGrace
	case used <= d.ceiling:
		return false
	default:
		d.left, d.spent = 0, true
	}
	d.ceiling, d.killed = used+diskSlack, true
	return true
}

// admit refuses one command: the first after the container has used up the commands that it
// may run above its limit. Later commands are its owner's, to save its work.
func (c *Container) admit() error {
	d := &c.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.spent || d.over {
		return nil
	}
	d.over = true
	return box.Destroyed(fault.New(fault.Instance, "running a command in container "+c.short(),
		fmt.Errorf("its files use %d bytes and stayed above its disk limit of %d", d.used, d.limit)))
}

// diskUse returns how far the container is above its limit after a command; nil if
// it is not. It does not count a command that was killed for it.
func (c *Container) diskUse(ctx context.Context) *vocab.DiskUse {
	d := &c.disk
	if !d.above() {
		return nil
	}
	used, err := c.diskUsed(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.used = used
	}
	killed := d.killed
	d.killed = false
	if killed {
		d.ceiling = max(d.ceiling, d.used+diskSlack)
	}
	switch {
	case d.used <= d.limit && !killed:
		d.left, d.spent = 0, false
		return nil
	case !killed && !d.over:
		d.left = max(0, d.left-1)
		d.spent = d.left == 0
	}
	return &vocab.DiskUse{Used: d.used, Limit: d.limit, Killed: killed, Left: d.left}
}

func (d *disk) above() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.left > 0 || d.spent || d.killed
}

// diskUsed returns the size of the container's own files.
func (c *Container) diskUsed(ctx context.Context) (int64, error) {
	used, _, err := c.OwnFiles(ctx)
	return used, err
}

// OwnFiles implements [engine.Sized]. It measures the files if they are on this machine, otherwise the
// engine measures them and does not count them.
func (c *Container) OwnFiles(ctx context.Context) (bytes, files int64, err error) {
	if upperDir := c.upperDir(ctx); upperDir != "" {
		if root, err := os.OpenRoot(upperDir); err == nil {
			defer root.Close() // only read
			return fileSizes(ctx, root.FS())
		}
	}
	in, _, err := c.engine.API.ContainerInspectWithRaw(ctx, c.id, true)
	if err != nil || in.ContainerJSONBase == nil || in.SizeRw == nil {
		return 0, 0, fmt.Errorf("the engine does not report it: %w", err)
	}
	return *in.SizeRw, 0, nil
}

// upperDir returns the directory of the container's own files, if it is
// on this machine.
func (c *Container) upperDir(ctx context.Context) string {
	if dir := c.disk.upperDir.Load(); dir != nil {
		return *dir
	}
	dir := ""
	if network, _, _ := daemon.PlainAddress(c.engine.Host, false); network == "unix" {
		in, err := c.engine.API.ContainerInspect(ctx, c.id)
		if err != nil || in.ContainerJSONBase == nil {
			return ""
		}
		dir = in.GraphDriver.Data["UpperDir"]
	}
	c.disk.upperDir.Store(&dir)
	return dir
}

// storage returns the options that ask the storage driver for a quota.
func (s spec) storage() map[string]string {
	return map[string]string{"size": strconv.FormatInt(s.Disk, 10)}
}

// fileSizes adds up the blocks of all files and counts them, each once. It leaves out
// files that disappear meanwhile.
func fileSizes(ctx context.Context, files fs.FS) (total, n int64, err error) {
	seen := map[uint64]bool{} // the inodes with several hard links
	err = fs.WalkDir(files, ".", func(_ string, e fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return ctx.Err()
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		size, inode, linked := blocks(info)
		if !linked || !seen[inode] {
			total += size
			n++
		}
		if linked {
			seen[inode] = true
		}
		return nil
	})
	return total, n, err
}

// blocks returns the size of a file on its disk, in bytes, its inode, and whether
// it has several hard links.
func blocks(info fs.FileInfo) (size int64, inode uint64, linked bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Size(), 0, false
	}
	return st.Blocks * 512, st.Ino, st.Nlink > 1 && !info.IsDir()
}

// LimitsDisk reports whether the engine's storage driver has a quota for each
// container; without a quota, batch measures what containers use. It is known only if the
// engine has an image to try with.
func (f *Fleet) LimitsDisk(ctx context.Context) (able, known bool, err error) {
	list, err := f.images.Images(ctx)
	if err != nil || len(list) == 0 {
		return false, false, err
	}
	const op = "trying a disk quota"
	for _, img := range list {
		s := spec{engine.Spec{Image: img.ID, Disk: 1 << 40}}
		var made container.CreateResponse
		made, err = f.engine.API.ContainerCreate(ctx, s.config(time.Now(), f.owner, wire.Key{}), &container.HostConfig{StorageOpt: s.storage()}, nil, nil, "")
		if err == nil {
			return true, true, f.Remove(ctx, made.ID)
		}
		if daemon.RefusedQuota(err) {
			return false, true, nil
		}
		if !errdefs.IsNotFound(err) { // else somebody has removed the image since
			break
		}
	}
	return false, false, f.engine.Blame(err, fault.Transient, op)
}
