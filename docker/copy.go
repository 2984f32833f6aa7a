package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"batch.example/batch/fault"
)

// CopyLimit is the largest file that CopyOut takes, in bytes.
const CopyLimit = 256 << 20

// CopyIn writes data to the file at the absolute path name, owned by root with
// the given permissions. Directories that are missing are made; a file that is
// there is replaced.
func (c *Container) CopyIn(ctx context.Context, name string, mode fs.FileMode, data []byte) error {
	op := "copying " + name + " into container " + c.short()
	if !path.IsAbs(name) || path.Clean(name) == "/" {
		return fault.New(fault.Usage, op, fmt.Errorf("expected an absolute path of a file"))
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	err := w.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: path.Clean(name)[1:], Mode: int64(mode.Perm()), Size: int64(len(data)),
	})
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return fault.New(fault.Usage, op, err)
	}
	err = c.engine.api.CopyToContainer(ctx, c.id, "/", &buf, container.CopyToContainerOptions{})
	return c.copyFault(ctx, err, op)
}

// CopyOut returns the bytes of the file at the absolute path name. Links are
// followed. A path that is not there is an error that is fs.ErrNotExist; what
// is not a file, or larger than CopyLimit, is an Instance fault.
func (c *Container) CopyOut(ctx context.Context, name string) ([]byte, error) {
	op := "copying " + name + " out of container " + c.short()
	if !path.IsAbs(name) {
		return nil, fault.New(fault.Usage, op, fmt.Errorf("expected an absolute path"))
	}
	for range 20 {
		data, link, err := c.copyOnce(ctx, name, op)
		if err != nil || link == "" {
			return data, err
		}
		if !path.IsAbs(link) {
			link = path.Join(path.Dir(name), link)
		}
		name = link
	}
	return nil, fault.New(fault.Instance, op, fmt.Errorf("too many links"))
}

// copyOnce returns the file at name, or where it links to.
func (c *Container) copyOnce(ctx context.Context, name, op string) (data []byte, link string, err error) {
	body, _, err := c.engine.api.CopyFromContainer(ctx, c.id, name)
	if errdefs.IsNotFound(err) {
		if f := c.gone(ctx, "copying out of"); f != nil {
			return nil, "", f
		}
		return nil, "", fault.New(fault.Instance, op, fs.ErrNotExist)
	}
	if err != nil {
		return nil, "", c.copyFault(ctx, err, op)
	}
	defer body.Close()
	r := tar.NewReader(body)
	h, err := r.Next()
	if err != nil {
		return nil, "", c.copyFault(ctx, err, op)
	}
	switch {
	case h.Typeflag == tar.TypeSymlink:
		return nil, h.Linkname, nil
	case h.Typeflag != tar.TypeReg:
		return nil, "", fault.New(fault.Instance, op, fmt.Errorf("expected a file"))
	case h.Size > CopyLimit:
		return nil, "", fault.New(fault.Instance, op, fmt.Errorf("%d bytes are more than %d", h.Size, CopyLimit))
	}
	data, err = io.ReadAll(r)
	return data, "", c.copyFault(ctx, err, op)
}

func (c *Container) copyFault(ctx context.Context, err error, op string) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f := c.gone(ctx, "copying to or from"); f != nil {
		return f
	}
	kind := fault.Transient
	if errdefs.IsInvalidArgument(err) || strings.Contains(err.Error(), "not a directory") {
		kind = fault.Instance
	}
	return c.engine.blame(err, kind, op)
}
