// Package files packs the [engine.Files] of containers for an engine that has to be sent them: it reads a
// folder of this machine or the files of an image, and writes a tar archive that any user of a container may
// read.
//
// An archive has [Whole] as its last file: where it is missing, so are others. Owners are left out, and who
// may not read or execute a file may do so as its owner could. Devices, pipes and sockets are left out of an
// image and refused in a folder. Links stay as they are.
//
// Its API is not promised to other programs: see package batch.
package files

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/regular"
	"batch.example/batch/sandbox/engine"
)

// Whole is the name of the last file of each archive.
const Whole = ".batch-whole"

// The most that an archive may have.
const (
	MaxBytes = 2 << 30
	MaxFiles = 200_000 // directories and links are files too
)

// Folder returns the files of a folder, with their digest. Errors are Usage faults.
func Folder(dir string) (engine.Files, error) {
	p := newPacker(context.Background(), io.Discard)
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err == nil {
		err = p.folder(real)
	}
	if err == nil && p.count == 0 {
		err = errors.New("it is not a folder with files")
	}
	if err != nil {
		return engine.Files{}, blame(dir, err)
	}
	return engine.Files{Folder: real, Digest: p.digest()}, nil
}

// Pack writes the archive of a folder. It is not whole if the folder is not the one any more that had the
// digest, which is a Usage fault.
func Pack(ctx context.Context, w io.Writer, f engine.Files) error {
	p := newPacker(ctx, w)
	err := p.folder(f.Folder)
	if err == nil && p.digest() != f.Digest {
		err = fault.Newf(fault.Usage, "%s was changed during the run", f.Folder).WithHint("start the run again: it continues with the new files")
	}
	if err != nil {
		return blame(f.Folder, err)
	}
	return p.end()
}

// blame makes the error of a folder a Usage fault.
func blame(dir string, err error) error {
	if fault.KindOf(err) != fault.Unknown || errors.Is(err, context.Canceled) {
		return err
	}
	return fault.New(fault.Usage, "reading the files in "+dir, err)
}

// Repack writes the archive of an image, whose files are a tar archive from the image's root, without what is
// at one of the paths.
func Repack(ctx context.Context, w io.Writer, image io.Reader, without ...string) error {
	p := newPacker(ctx, w)
	for in := tar.NewReader(image); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return p.end()
		}
		if err != nil {
			return err
		}
		h.Name = below(h.Name)
		if slices.ContainsFunc(without, func(dir string) bool { return within(h.Name, below(dir)) }) {
			continue
		}
		if h.Typeflag == tar.TypeLink {
			h.Linkname = below(h.Linkname)
		}
		if err := p.add(h, in); err != nil {
			return err
		}
	}
}

// below is a name in an archive as a path below its root; the root is the empty one.
func below(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

func within(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// packer writes an archive.
type packer struct {
	ctx   context.Context
	tar   *tar.Writer
	sum   hash.Hash // of names, modes, links and contents
	bytes int64
	count int
}

func newPacker(ctx context.Context, w io.Writer) *packer {
	return &packer{ctx: ctx, tar: tar.NewWriter(w), sum: sha256.New()}
}

func (p *packer) digest() string { return hex.EncodeToString(p.sum.Sum(nil)) }

// folder adds what is in a folder, in the order of the names.
func (p *packer) folder(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil || rel == "." {
			return err
		}
		return p.file(name, filepath.ToSlash(rel), d)
	})
}

func (p *packer) file(from, name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	link := ""
	var content io.Reader
	switch mode := info.Mode(); {
	case mode.IsRegular():
		file, err := regular.Open(from)
		if err != nil {
			return err
		}
		defer file.Close()
		content = file
	case mode.Type() == fs.ModeSymlink:
		if link, err = os.Readlink(from); err != nil {
			return err
		}
	case !mode.IsDir():
		return fmt.Errorf("%s is not a file, a directory or a link", from)
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name = name
	return p.add(h, content)
}

// add adds a file with the content that its header announces.
func (p *packer) add(h *tar.Header, content io.Reader) error {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink:
	default:
		return nil
	}
	if h.Name == "" || h.Name == Whole {
		return nil
	}
	if err := p.ctx.Err(); err != nil {
		return context.Cause(p.ctx)
	}
	var size int64 // of the content: a hard link may announce that of its file
	if h.Typeflag == tar.TypeReg {
		size = h.Size
	}
	p.count++
	p.bytes += size
	if p.count > MaxFiles || p.bytes > MaxBytes {
		return fault.Newf(fault.Usage, "the files of the agent's program are more than %d GiB or %d files", MaxBytes>>30, MaxFiles).
			WithHint("leave out what the program does not need")
	}
	mode := h.Mode&0o777 | h.Mode&0o500>>3 | h.Mode&0o500>>6
	err := p.tar.WriteHeader(&tar.Header{
		Typeflag: h.Typeflag, Name: h.Name, Linkname: h.Linkname, Mode: mode, Size: size, ModTime: h.ModTime,
	})
	fmt.Fprintf(p.sum, "%c %q %q %o %d\n", h.Typeflag, h.Name, h.Linkname, mode, size)
	if err == nil && size > 0 {
		_, err = io.CopyN(io.MultiWriter(p.tar, p.sum), content, size)
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s became shorter while it was read", h.Name)
	}
	return err
}

// end makes the archive whole.
func (p *packer) end() error {
	return errors.Join(p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: Whole, Mode: 0o444}), p.tar.Close())
}
