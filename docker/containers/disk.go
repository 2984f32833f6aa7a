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

	"github.com/docker/docker/api/types/container"

	"batch.example/batch/docker/internal/engine"
	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/vocab"
)

const (
	diskPause = 2 * time.Second // between two looks at all watched containers, and at least nine times what one takes
	diskGrace = 3               // commands that a container may run above its limit, to get below it
	diskSlack = 64 << 20        // bytes that it may grow by meanwhile
)

// disk watches what the files of one container take, where the engine has no
// quota for it. The zero value has no limit.
type disk struct {
	limit int64
	upper atomic.Pointer[string] // directory of its files, empty when that is not here; nil until it is known

	mu      sync.Mutex
	used    int64 // when it was looked at last, if that was above the limit
	ceiling int64 // what it must not pass while it is above the limit
	left    int   // commands that it may run above the limit; 0: it is not above, or spent is true
	killed  bool  // and that has not been told
	spent   bool  // the next command is refused
	over    bool  // and was: what comes now is not the agent's
}

// disks are the watched containers of one engine.
type disks struct {
	begin sync.Once
	mu    sync.Mutex
	boxes map[*Container]bool
}

// watchDisk has the engine's one watch look after c until it is removed,
// if c has a limit that the engine does not keep.
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
			c.weigh(ctx)
		}
		_ = engine.Sleep(ctx, max(diskPause, 9*time.Since(began)))
	}
}

// weigh looks at a container and kills all its processes when its files have
// passed the limit, or grow further above it.
func (c *Container) weigh(ctx context.Context) {
	used, err := c.diskUsed(ctx)
	if err != nil {
		if ctx.Err() == nil {
			c.engine.Log.Debug("looking at the disk that a container uses", "container", c.short(), "err", err)
		}
		return
	}
	if !c.disk.note(used) {
		return
	}
	c.engine.Log.Warn("killing the processes of a container above its disk limit", "container", c.short(), "bytes", used, "limit", c.disk.limit)
	ctx, cancel := context.WithTimeout(ctx, engine.RemoveLimit)
	defer cancel()
	if err := c.clear(ctx, "limiting the disk of"); err != nil {
		c.engine.Log.Info("killing the processes of a container above its disk limit", "container", c.short(), "err", err)
	}
}

// note takes down what a look found, and reports whether the processes have to go.
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

// admit refuses one command, the first after the container has used up what it
// may run above its limit. Those after it are its owner's, to save what is there.
func (c *Container) admit() error {
	d := &c.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.spent || d.over {
		return nil
	}
	d.over = true
	return destroyed{fault.New(fault.Instance, "running a command in container "+c.short(),
		fmt.Errorf("its files take %d bytes and stayed above its disk limit of %d", d.used, d.limit))}
}

// tell says how much the container is above its limit after a command, nil when
// it is not. A command that was killed for it is not counted.
func (c *Container) tell(ctx context.Context) *vocab.DiskUse {
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

// diskUsed returns what the container's own files take: by looking at them where
// they are on this machine, else by asking the engine, which looks at them.
func (c *Container) diskUsed(ctx context.Context) (int64, error) {
	if upper := c.upper(ctx); upper != "" {
		if root, err := os.OpenRoot(upper); err == nil {
			defer root.Close() // only read
			return fileSizes(ctx, root.FS())
		}
	}
	in, _, err := c.engine.API.ContainerInspectWithRaw(ctx, c.id, true)
	if err != nil || in.ContainerJSONBase == nil || in.SizeRw == nil {
		return 0, fmt.Errorf("the engine does not tell: %w", err)
	}
	return *in.SizeRw, nil
}

// upper returns the directory of the container's own files, where there is one
// on this machine.
func (c *Container) upper(ctx context.Context) string {
	if dir := c.disk.upper.Load(); dir != nil {
		return *dir
	}
	dir := ""
	if network, _, _ := engine.PlainAddress(c.engine.Host, false); network == "unix" {
		in, err := c.engine.API.ContainerInspect(ctx, c.id)
		if err != nil || in.ContainerJSONBase == nil {
			return ""
		}
		dir = in.GraphDriver.Data["UpperDir"]
	}
	c.disk.upper.Store(&dir)
	return dir
}

// storage asks the storage driver for a quota.
func (s Spec) storage() map[string]string {
	return map[string]string{"size": strconv.FormatInt(s.Disk, 10)}
}

// fileSizes adds up files, each once, by the blocks that they have. What changes or goes
// while it looks is left out.
func fileSizes(ctx context.Context, files fs.FS) (total int64, err error) {
	seen := map[uint64]bool{} // those with several names
	err = fs.WalkDir(files, ".", func(_ string, e fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return ctx.Err()
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		size, inode, many := blocks(info)
		if !many || !seen[inode] {
			total += size
		}
		if many {
			seen[inode] = true
		}
		return nil
	})
	return total, err
}

// blocks returns what a file takes on its disk, in bytes, its inode, and whether
// it has several names.
func blocks(info fs.FileInfo) (size int64, inode uint64, many bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Size(), 0, false
	}
	return st.Blocks * 512, st.Ino, st.Nlink > 1 && !info.IsDir()
}

// LimitsDisk reports whether the engine's storage driver has a quota for each
// container; where it has none, what containers take is watched. It is known when an
// image is there to try with.
func (f *Fleet) LimitsDisk(ctx context.Context) (able, known bool, err error) {
	list, err := f.images.Images(ctx)
	if err != nil || len(list) == 0 {
		return false, false, err
	}
	const op = "trying a disk quota"
	s := Spec{Image: list[0].ID, Disk: 1 << 40}
	made, err := f.engine.API.ContainerCreate(ctx, s.config(time.Now(), f.owner, wire.Key{}), &container.HostConfig{StorageOpt: s.storage()}, nil, nil, "")
	if err == nil {
		return true, true, f.Remove(ctx, made.ID)
	}
	if engine.RefusedQuota(err) {
		return false, true, nil
	}
	return false, false, f.engine.Blame(err, fault.Transient, op)
}
