package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"batch.example/batch/fault"
)

// remoteFile is what the hub says of a file.
type remoteFile struct {
	name string // within the dataset
	url  *url.URL
	etag string
	size int64 // -1 when it is not told
}

// Fetch returns the path of a snapshot's file in the cache, and downloads it
// there first when it is missing. The file must not be changed.
func (c *Client) Fetch(ctx context.Context, snap Snapshot, name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fault.Newf(fault.Usage, "fetching %s of %s: the name leaves the dataset", name, snap.Repo)
	}
	path := c.path(snap, name)
	if _, err := os.Stat(path); err == nil {
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

// head asks for a file's size and etag.
func (c *Client) head(ctx context.Context, snap Snapshot, name string) (remoteFile, error) {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	f := remoteFile{name: name, size: -1}
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
		return nil
	})
	return f, err
}

var (
	plainEtag  = regexp.MustCompile(`^[\w-]{1,128}$`)
	sha256Etag = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// blobName returns the etag, or a name made of it where it cannot be one.
func (f remoteFile) blobName() string {
	if plainEtag.MatchString(f.etag) {
		return f.etag
	}
	sum := sha256.Sum256([]byte(f.etag + "\x00" + f.url.Path))
	return hex.EncodeToString(sum[:])
}

// blob returns the path of a file's content, downloaded when it is missing.
func (c *Client) blob(ctx context.Context, repo string, f remoteFile) (string, error) {
	path := c.dir(repo, "blobs", f.blobName())
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", cacheFault(err)
	}
	lock, err := c.lock(ctx, repo, f.blobName())
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil // another process was faster
	}
	if err := c.download(ctx, f, path+".incomplete"); err != nil {
		return "", err
	}
	if err := os.Rename(path+".incomplete", path); err != nil {
		return "", cacheFault(err)
	}
	return path, nil
}
