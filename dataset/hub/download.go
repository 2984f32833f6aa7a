package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"batch.example/batch/fault"
)

// stallTimeout ends a request that receives no data; the download is then resumed.
const stallTimeout = time.Minute

var errStalled = fmt.Errorf("no data for %v", stallTimeout)

// download completes the file at path. If the result is wrong, it downloads the file once more from
// the start, since the part that already existed may have been bad.
func (c *Client) download(ctx context.Context, f remoteFile, path string) error {
	out, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return c.cacheFault(err)
	}
	defer out.Close()
	for range 2 {
		var furthest int64
		err := c.retry(ctx, maxTries, func() error {
			end, err := c.part(ctx, f, out)
			if further := end > furthest; err != nil && further {
				furthest = end
				return progressed{err}
			}
			return err
		})
		if err != nil {
			return err
		}
		wrong, err := f.check(out)
		if err != nil {
			return c.cacheFault(err)
		}
		if wrong == nil {
			if err := out.Sync(); err != nil {
				return c.cacheFault(err)
			}
			return nil
		}
		c.log.Warn("download is not what the hub announced", "file", f.name, "err", wrong)
		if err := out.Truncate(0); err != nil {
			return c.cacheFault(err)
		}
	}
	return fault.New(fault.Host, "", errors.New("the content is twice not what the hub announced")).
		WithHint("something between here and the hub changes what comes: see what HF_ENDPOINT and the proxy are")
}

// check compares the content with the announced size and SHA-256. wrong describes a difference; err
// says that the content cannot be read.
func (f remoteFile) check(out *os.File) (wrong, err error) {
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	h := sha256.New()
	n, err := io.Copy(h, out)
	if err != nil {
		return nil, err
	}
	if n != f.size {
		return fmt.Errorf("%d bytes where %d were announced", n, f.size), nil
	}
	// Large files have their SHA-256 as etag; other etags cannot be checked.
	if sum := hex.EncodeToString(h.Sum(nil)); sha256Etag().MatchString(f.etag) && sum != f.etag {
		return fmt.Errorf("sha-256 %s where %s was announced", sum, f.etag), nil
	}
	return nil, nil
}

// part requests the bytes after the end of out, appends them and returns the new end.
func (c *Client) part(ctx context.Context, f remoteFile, out *os.File) (end int64, err error) {
	have, err := out.Seek(0, io.SeekEnd)
	if err == nil && have > f.size {
		have, err = rewind(out)
	}
	if err != nil {
		return 0, c.cacheFault(err)
	}
	if have == f.size {
		return have, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(stallTimeout, func() { cancel(errStalled) })
	defer stall.Stop()
	end, err = c.receive(ctx, f, out, have, stall)
	if errors.Is(context.Cause(ctx), errStalled) {
		err = errStalled
	}
	return end, err
}

func rewind(out *os.File) (int64, error) {
	if err := out.Truncate(0); err != nil {
		return 0, err
	}
	return out.Seek(0, io.SeekStart)
}

// receive appends the file from offset have on to out and returns where it ends.
func (c *Client) receive(ctx context.Context, f remoteFile, out *os.File, have int64, stall *time.Timer) (int64, error) {
	header := http.Header{}
	if have > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	res, err := c.do(ctx, http.MethodGet, f.url, header)
	s, isStatus := errors.AsType[*status](err)
	unusable := isStatus && s.code == http.StatusRequestedRangeNotSatisfiable
	if err != nil && !unusable {
		return 0, err
	}
	if !unusable {
		defer res.Body.Close()
		unusable = res.StatusCode == http.StatusPartialContent && !startsAt(res, have)
	}
	if unusable || res.StatusCode != http.StatusPartialContent {
		if have, err = rewind(out); err != nil {
			return 0, c.cacheFault(err)
		}
	}
	if unusable {
		return 0, errors.New("the server does not have the range asked for")
	}
	// One byte too many shows that this is another file; no more are read.
	return c.copy(f, out, io.LimitReader(res.Body, f.size-have+1), have, stall)
}

func startsAt(res *http.Response, offset int64) bool {
	var start int64
	_, err := fmt.Sscanf(res.Header.Get("Content-Range"), "bytes %d-", &start)
	return err == nil && start == offset
}

func (c *Client) copy(f remoteFile, out *os.File, body io.Reader, have int64, stall *time.Timer) (end int64, err error) {
	buf := make([]byte, 256<<10)
	for end = have; ; {
		n, err := body.Read(buf)
		if n > 0 {
			stall.Reset(stallTimeout)
			if _, err := out.Write(buf[:n]); err != nil {
				return end, c.cacheFault(err)
			}
			end += int64(n)
			if c.conf.Progress != nil {
				c.conf.Progress(f.name, end, f.size)
			}
		}
		if errors.Is(err, io.EOF) {
			if end < f.size {
				return end, io.ErrUnexpectedEOF
			}
			return end, nil
		}
		if err != nil {
			return end, err
		}
	}
}
