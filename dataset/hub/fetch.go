package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
)

// remoteFile describes a file on the hub.
type remoteFile struct {
	name string // within the dataset
	url  *url.URL
	etag string
	size int64
}

// Fetch returns the path of a snapshot's file in the cache, after downloading it if it is missing.
// The file must not be changed.
func (c *Client) Fetch(ctx context.Context, snap Snapshot, name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fault.Newf(fault.Usage, "fetching %s of %s: the name leaves the dataset", name, snap.Repo)
	}
	path := c.path(snap, name)
	if c.whole(path) {
		return path, nil
	}
	op := fmt.Sprintf("fetching %s of dataset %s", name, snap.Repo)
	if c.conf.Offline {
		return "", fault.Newf(fault.Usage, "%s: not in the cache, and offline", op).
			WithHint("download it once with the network, or unset HF_HUB_OFFLINE")
	}
	if c.err != nil {
		return "", c.err
	}
	file, err := c.head(ctx, snap, name)
	if err != nil {
		return "", c.explain(op, snap.Repo, snap.Commit, err)
	}
	blob, err := c.blob(ctx, snap.Repo, file)
	if err != nil {
		return "", c.explain(op, snap.Repo, snap.Commit, err)
	}
	return path, c.link(snap, name, blob)
}

// whole reports whether the file at path exists and is intact. If its blob is named by a SHA-256
// that its content does not have, the blob was damaged, and whole removes it.
func (c *Client) whole(path string) bool {
	blob, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	f := remoteFile{etag: filepath.Base(blob)}
	if !sha256Etag().MatchString(f.etag) {
		return true
	}
	in, err := os.Open(blob)
	if err != nil {
		return false
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return false
	}
	f.size = info.Size()
	wrong, err := f.check(in)
	if err == nil && wrong == nil {
		return true
	}
	c.log.Warn("the cached file is damaged and not used", "file", path, "err", errors.Join(wrong, err))
	_ = os.Remove(blob) // a blob that stays is checked again
	return false
}

// head requests a file's size and etag. Only a hub also names the commit: an answer without it
// comes from a proxy or a login page.
func (c *Client) head(ctx context.Context, snap Snapshot, name string) (remoteFile, error) {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	f := remoteFile{name: name}
	f.url = c.url("/datasets/" + snap.Repo + "/resolve/" + snap.Commit + "/" + strings.Join(parts, "/"))
	err := c.retry(ctx, maxTries, func() error {
		res, err := c.do(ctx, http.MethodHead, f.url, nil)
		if err != nil {
			return err
		}
		res.Body.Close()
		f.size = res.ContentLength
		if n, err := strconv.ParseInt(res.Header.Get("X-Linked-Size"), 10, 64); err == nil {
			f.size = n
		}
		etag := res.Header.Get("X-Linked-Etag")
		if etag == "" {
			etag = res.Header.Get("Etag")
		}
		f.etag = strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)
		if got := res.Header.Get("X-Repo-Commit"); got != snap.Commit || f.etag == "" || f.size < 0 {
			return notHub(fmt.Sprintf("an answer for commit %q with etag %q and length %d", got, f.etag, f.size))
		}
		return nil
	})
	return f, err
}

// notHub is the fault for an answer that no hub would give.
func notHub(what string) error {
	return fault.New(fault.Host, "", fmt.Errorf("%s is not a hub's", what)).
		WithHint("see whether HF_ENDPOINT is the address of a hub, and whether a proxy or login page answers in its place")
}

var (
	hubEtag    = lazy.Regexp(`^([0-9a-f]{40}|[0-9a-f]{64})$`) // a git blob's id, or a SHA-256
	sha256Etag = lazy.Regexp(`^[0-9a-f]{64}$`)
)

// blobName returns the etag if it identifies the content. Other etags, such as time and size, may
// be the same for several files, so the name includes the path.
func (f remoteFile) blobName() string {
	if hubEtag().MatchString(f.etag) {
		return f.etag
	}
	sum := sha256.Sum256([]byte(f.etag + "\x00" + f.url.Path))
	return hex.EncodeToString(sum[:20]) // as long as a git blob's id, so that it cannot be taken for a SHA-256 of the content
}

// blob returns the path of a file's content, and downloads it if it is missing.
func (c *Client) blob(ctx context.Context, repo string, f remoteFile) (string, error) {
	path := c.dir(repo, "blobs", f.blobName())
	if c.whole(path) {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", c.cacheFault(err)
	}
	lock, err := c.lock(ctx, repo, f.blobName())
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	if c.whole(path) {
		return path, nil // another process was faster
	}
	if err := c.download(ctx, f, path+".incomplete"); err != nil {
		return "", err
	}
	if err := os.Rename(path+".incomplete", path); err != nil {
		return "", c.cacheFault(err)
	}
	return path, nil
}
