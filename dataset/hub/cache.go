package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"batch.example/batch/fault"
)

// lockPoll is how often a lock that another process holds is tried again.
const lockPoll = 100 * time.Millisecond

func (c *Client) dir(repo string, parts ...string) string {
	name := "datasets--" + strings.ReplaceAll(repo, "/", "--")
	return filepath.Join(append([]string{c.conf.CacheDir, name}, parts...)...)
}

// cached returns the files of a revision that the cache has.
func (c *Client) cached(repo, revision string) (Snapshot, error) {
	commit := revision
	if !commitID().MatchString(revision) {
		data, err := os.ReadFile(c.dir(repo, "refs", filepath.FromSlash(revision)))
		if err != nil {
			return Snapshot{}, fmt.Errorf("revision %s is not in the cache %s", revision, c.conf.CacheDir)
		}
		commit = strings.TrimSpace(string(data))
		if !commitID().MatchString(commit) {
			return Snapshot{}, fmt.Errorf("the cached reference of %s is damaged", revision)
		}
	}
	root := c.dir(repo, "snapshots", commit)
	snap := Snapshot{Repo: repo, Commit: commit, Cached: true}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if _, err := os.Stat(path); err != nil {
			return nil // a link without its target does not count
		}
		name, err := filepath.Rel(root, path)
		snap.Files = append(snap.Files, filepath.ToSlash(name))
		return err
	})
	if err != nil || len(snap.Files) == 0 {
		return Snapshot{}, fmt.Errorf("commit %s is not in the cache %s", commit, c.conf.CacheDir)
	}
	return snap, nil
}

// remember records which commit a revision means.
func (c *Client) remember(repo, revision, commit string) error {
	if revision == commit {
		return nil
	}
	path := c.dir(repo, "refs", filepath.FromSlash(revision))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return c.cacheFault(err)
	}
	if err := renameio.WriteFile(path, []byte(commit), 0o644); err != nil {
		return c.cacheFault(err)
	}
	return nil
}

// link adds a blob to a snapshot under its name.
func (c *Client) link(snap Snapshot, name, blob string) error {
	path := c.path(snap, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return c.cacheFault(err)
	}
	target, err := filepath.Rel(filepath.Dir(path), blob)
	if err != nil {
		return c.cacheFault(err)
	}
	if err := renameio.Symlink(target, path); err == nil {
		return nil
	}
	// Some file systems have no symbolic links; a hard link works too.
	if err := os.Link(blob, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return c.cacheFault(err)
	}
	return nil
}

func (c *Client) path(snap Snapshot, name string) string {
	return c.dir(snap.Repo, "snapshots", snap.Commit, filepath.FromSlash(name))
}

// lock waits for the blob's lock, which huggingface_hub uses too.
func (c *Client) lock(ctx context.Context, repo, blob string) (*flock.Flock, error) {
	dir := filepath.Join(c.conf.CacheDir, ".locks", filepath.Base(c.dir(repo)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, c.cacheFault(err)
	}
	l := flock.New(filepath.Join(dir, blob+".lock"))
	ok, err := l.TryLock()
	if err == nil && !ok {
		c.log.Warn("waiting for another process that downloads the same file", "lock", l.Path())
		_, err = l.TryLockContext(ctx, lockPoll)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, c.cacheFault(fmt.Errorf("locking: %w", err))
	}
	return l, nil
}

func (c *Client) cacheFault(err error) error {
	return fault.New(fault.Host, "writing the hub's cache", err).
		WithHint("check the free space and rights of %s, and that its file system has locks, or set HF_HOME or HF_HUB_CACHE to another folder", c.conf.CacheDir)
}
