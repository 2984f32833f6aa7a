package verifier

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"batch.example/batch/dataset/harbor"
	"batch.example/batch/fault"
	"batch.example/batch/internal/bash"
	"batch.example/batch/vocab"
)

// Open opens the container of a verifier that has an environment of its own. Done must be called.
type Open func(ctx context.Context) (b Box, done func(), err error)

const (
	artifacts    = harbor.LogsArtifacts
	archive      = "/tmp/.batch-artifacts"
	piece        = 16 << 20 // bytes of the archive that memory holds at a time
	mostArchived = 8 << 30  // bytes of all artifacts
)

// errArtifacts is in the chain of the error of artifacts that cannot be used: the agent may have done it.
var errArtifacts = errors.New("the artifacts cannot be used")

// runSeparate verifies in another container what the agent's has as artifacts. Only they get there, at
// the same paths: the agent's container decides nothing else.
func runSeparate(ctx context.Context, agents Box, j Job) (*Verdict, error) {
	if err := collect(ctx, agents, j.Task); err != nil {
		return nil, err
	}
	b, done, err := j.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if why, err := empty(ctx, b, logs); why != "" || err != nil {
		return noReward("%s", why), err
	}
	if err := transfer(ctx, agents, b, sources(j.Task)); errors.Is(err, errArtifacts) {
		return noReward("%v", err), nil
	} else if err != nil {
		return nil, err
	}
	return judgeIn(ctx, b, j)
}

// collect runs the hooks in the agent's container, and packs the artifacts there. Its programs may be the
// agent's own: what they have packed is not trusted.
func collect(ctx context.Context, b Box, t *harbor.Task) error {
	if err := b.Clear(ctx); err != nil {
		return err
	}
	if err := b.Entrypoint(ctx); err != nil {
		return err
	}
	for _, h := range t.Collect {
		if _, err := b.RunAs(ctx, h.User, nil, vocab.Command{Script: h.Command, Timeout: h.Limit}); err != nil {
			return err
		}
	}
	if err := b.Clear(ctx); err != nil {
		return err
	}
	script := "rm -rf " + archive + "*; cd / || exit\nset --\n"
	for _, a := range t.Artifacts {
		for _, pattern := range a.Exclude {
			script += "set -- \"$@\" --exclude=" + bash.Quote(pattern) + "\n"
		}
	}
	for _, source := range sources(t) {
		name := bash.Quote("." + source)
		script += "[ -e " + name + " ] && set -- \"$@\" " + name + "\n"
	}
	_, err := b.RunAs(ctx, root, nil, vocab.Command{Script: script + "tar -cf " + archive + " \"$@\"", Dir: "/", Timeout: preparation})
	return err
}

// sources are the paths that a verifier gets.
func sources(t *harbor.Task) []string {
	list := []string{artifacts}
	for _, a := range t.Artifacts {
		list = append(list, path.Clean(a.Source))
	}
	return list
}

// transfer copies the artifacts from one container to another.
func transfer(ctx context.Context, from, to Box, allowed []string) error {
	w := &pieces{ctx: ctx, b: to}
	if err := repack(&archived{ctx: ctx, b: from}, w, allowed); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	out, err := to.RunAs(ctx, root, nil, vocab.Command{Script: "tar -xf " + archive + " -C / && rm " + archive, Dir: "/", Timeout: preparation})
	if err == nil && out.ExitCode != 0 {
		err = fault.Newf(fault.Instance, "unpacking the artifacts: %.300s", bytes.TrimSpace(out.Bytes)).WithHint("the verifier's image needs tar, and room")
	}
	return err
}

// repack writes the files of an archive that are at or below one of the allowed paths, and not behind a
// link of the archive.
func repack(r io.Reader, w io.Writer, allowed []string) error {
	in, out := tar.NewReader(r), tar.NewWriter(w)
	links := map[string]bool{}
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out.Close()
		}
		if err != nil {
			return unusable(err)
		}
		name := path.Clean("/" + h.Name)
		if !below(name, allowed) || h.Typeflag == tar.TypeLink && !below(path.Clean("/"+h.Linkname), allowed) {
			return unusable(fmt.Errorf("%s is not among them", name))
		}
		if behind(path.Dir(name), links) || h.Typeflag == tar.TypeLink && behind(path.Clean("/"+h.Linkname), links) { // a hard link to a link is one
			return unusable(fmt.Errorf("%s is behind a link", name))
		}
		switch h.Typeflag {
		case tar.TypeSymlink:
			links[name] = true
		case tar.TypeReg, tar.TypeDir, tar.TypeLink:
		default:
			continue // a device, a socket
		}
		if links[name] && h.Typeflag != tar.TypeSymlink {
			return unusable(fmt.Errorf("%s is there twice", name))
		}
		h.Name, h.Format, h.PAXRecords = strings.TrimPrefix(name, "/"), tar.FormatUnknown, nil
		if h.Typeflag == tar.TypeLink {
			h.Linkname = strings.TrimPrefix(path.Clean("/"+h.Linkname), "/")
		}
		if err := out.WriteHeader(h); err != nil {
			return unusable(err)
		}
		if _, err := io.Copy(out, in); err != nil {
			return unusable(err)
		}
	}
}

// unusable says that artifacts cannot be used, unless err is a fault.
func unusable(err error) error {
	if fault.KindOf(err) != fault.Unknown || errors.Is(err, context.Canceled) || errors.Is(err, vocab.ErrDestroyed) {
		return err
	}
	return fmt.Errorf("%w: %w", errArtifacts, err)
}

// behind reports whether a path is one of some links, or leads through one.
func behind(name string, links map[string]bool) bool {
	for ; name != "/"; name = path.Dir(name) {
		if links[name] {
			return true
		}
	}
	return false
}

func below(name string, dirs []string) bool {
	for _, dir := range dirs {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// archived reads the archive of a container, a piece at a time.
type archived struct {
	ctx  context.Context
	b    Box
	n    int // pieces that were read
	left []byte
}

// Read implements [io.Reader].
func (a *archived) Read(p []byte) (int, error) {
	if len(a.left) == 0 {
		if a.n*piece > mostArchived {
			return 0, fmt.Errorf("they are more than %d GiB", mostArchived>>30)
		}
		script := fmt.Sprintf("dd if=%s of=%[1]s.piece bs=%d skip=%d count=1", archive, piece, a.n)
		if _, err := a.b.RunAs(a.ctx, root, nil, vocab.Command{Script: script, Dir: "/", Timeout: preparation}); err != nil {
			return 0, err
		}
		data, err := a.b.Read(a.ctx, archive+".piece")
		if errors.Is(err, fs.ErrNotExist) || fault.KindOf(err) == fault.Instance || len(data) > piece {
			return 0, errors.New("the agent's container did not pack them")
		}
		if err != nil {
			return 0, err
		}
		if len(data) == 0 {
			return 0, io.EOF
		}
		a.left = data
		a.n++
	}
	n := copy(p, a.left)
	a.left = a.left[n:]
	return n, nil
}

// pieces writes the archive into a container, a piece at a time.
type pieces struct {
	ctx context.Context
	b   Box
	buf []byte
	n   int // pieces that were written
}

// Write implements [io.Writer].
func (w *pieces) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	for len(w.buf) >= piece {
		if err := w.put(w.buf[:piece]); err != nil {
			return 0, err
		}
		w.buf = append(w.buf[:0], w.buf[piece:]...)
	}
	return len(p), nil
}

// flush writes what is left.
func (w *pieces) flush() error { return w.put(w.buf) }

func (w *pieces) put(data []byte) error {
	if err := w.b.Write(w.ctx, archive+".piece", 0o600, data); err != nil {
		return err
	}
	to := ">>"
	if w.n == 0 {
		to = ">"
	}
	w.n++
	script := "cat " + archive + ".piece " + to + archive + " && rm " + archive + ".piece"
	out, err := w.b.RunAs(w.ctx, root, nil, vocab.Command{Script: script, Dir: "/", Timeout: preparation})
	if err == nil && out.ExitCode != 0 {
		err = fault.Newf(fault.Instance, "copying the artifacts into the verifier's container: %.300s", bytes.TrimSpace(out.Bytes))
	}
	return err
}
