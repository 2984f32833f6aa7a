package images

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/versions"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"google.golang.org/protobuf/encoding/protowire"

	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/regular"
	"batch.example/batch/sandbox/engine"
)

// maxBuilds is how many images an engine builds at the same time: a build may use all cores.
const maxBuilds = 2

// build makes an image with the engine's BuildKit, without the docker command and its plugins. An
// error of the Dockerfile's own commands is an Instance fault with the end of their output.
func (s *Store) build(ctx context.Context, name wanted, b engine.Build) error {
	if err := s.builds.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer s.builds.Release(1)
	op := "building image " + familiarOf(name) + " from " + b.Folder
	if err := s.buildable(b.Folder, op); err != nil {
		return err
	}
	if b.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, b.Limit, fault.Newf(fault.Instance, "%s: not finished within %v", op, b.Limit).
			WithHint("the task's build_timeout_sec says how long; --timeout-multiplier raises all limits of tasks"))
		defer cancel()
	}
	start := time.Now()
	said, err := s.buildIn(ctx, name, b.Folder)
	s.engine.NoteError(err)
	switch {
	case err == nil:
		s.engine.Log.Info("image built", "image", familiarOf(name), "folder", b.Folder, "dur", time.Since(start))
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if failed, ok := errors.AsType[buildError](err); ok && !strings.Contains(strings.ToLower(failed.Error()), "no space left on device") {
		return fault.New(fault.Instance, op, fmt.Errorf("%w\n%s", err, bytes.TrimSpace(said)))
	}
	return daemon.Blame(err, fault.Transient, op)
}

func familiarOf(name wanted) string {
	short, err := familiar(name.String())
	if err != nil {
		return name.String()
	}
	return short
}

var (
	heredoc    = lazy.Regexp(`(?mi)^\s*(?:RUN|COPY|ADD)\b[^#\n]*<<-?\s*["']?[A-Za-z_]`)
	syntaxLine = lazy.Regexp(`(?i)\A(?:#[^\n]*\n)*#\s*syntax\s*=`)
)

// heredocAPI came with Docker 23.0, whose own builder knows here-documents.
const heredocAPI = "1.42"

// buildable refuses a Dockerfile that the engine's builder cannot read.
func (s *Store) buildable(folder, op string) error {
	text, err := regular.ReadFile(filepath.Join(folder, "Dockerfile"))
	if err != nil {
		return fault.New(fault.Instance, op, err)
	}
	if heredoc().Match(text) && !syntaxLine().Match(text) && versions.LessThan(s.engine.API.ClientVersion(), heredocAPI) {
		return fault.Newf(fault.Instance, "%s: the Dockerfile has here-documents (<<EOF), which the builder of this engine does not know", op).
			WithHint("use Docker 23.0 or later, or begin the Dockerfile with # syntax=docker/dockerfile:1")
	}
	return nil
}

// buildIn sends the folder to the engine, and returns the end of what the build printed.
func (s *Store) buildIn(ctx context.Context, name wanted, folder string) (said []byte, err error) {
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := packContext(ctx, w, folder)
		_ = w.CloseWithError(err) // never fails
		packed <- err
	}()
	defer func() {
		_ = r.Close() // never fails
		if failed := <-packed; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
			err = fault.New(fault.Instance, "reading "+folder, failed)
		}
	}()
	resp, err := s.engine.API.ImageBuild(ctx, r, build.ImageBuildOptions{
		Tags: []string{familiarOf(name)}, Platform: name.platform, Version: build.BuilderBuildKit, ForceRemove: true, Remove: true,
		Labels: map[string]string{"batch.task": familiarOf(name)},
	})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return followBuild(resp.Body)
}

// buildError is the engine's message about a build that failed.
type buildError string

// Error implements error.
func (e buildError) Error() string { return string(e) }

// keptLog is how many bytes of a build's output an error has.
const keptLog = 2000

// followBuild reads the engine's messages about a build.
func followBuild(r io.Reader) (said []byte, err error) {
	dec := json.NewDecoder(r)
	for {
		var m struct {
			ID     string
			Stream string                    // of the classic builder
			Aux    json.RawMessage           // of BuildKit: base64
			Error  *struct{ Message string } `json:"errorDetail"`
		}
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return said, nil
		} else if err != nil {
			return said, err
		}
		said = append(said, m.Stream...)
		var trace []byte
		if m.ID == "moby.buildkit.trace" && json.Unmarshal(m.Aux, &trace) == nil {
			said = append(said, printedIn(trace)...)
		}
		said = said[max(0, len(said)-keptLog):]
		if m.Error != nil {
			return said, buildError(m.Error.Message)
		}
	}
}

// The fields of BuildKit's messages StatusResponse and VertexLog (moby/buildkit, api/services/control).
const (
	fieldLogs = 3
	fieldMsg  = 4
)

// printedIn returns what commands printed, from a StatusResponse of BuildKit.
func printedIn(status []byte) (text []byte) {
	fields(status, fieldLogs, func(log []byte) {
		fields(log, fieldMsg, func(msg []byte) { text = append(text, msg...) })
	})
	return text
}

// fields calls do with each value of a field of bytes.
func fields(b []byte, number protowire.Number, do func([]byte)) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return
		}
		if num == number && typ == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(b)
			do(v)
		}
		b = b[n:]
	}
}

// packContext writes a folder as the archive of a build, without what its .dockerignore lists.
func packContext(ctx context.Context, w io.Writer, folder string) error {
	out := tar.NewWriter(w)
	ignored, err := ignoredIn(folder)
	if err != nil {
		return err
	}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = context.Cause(ctx)
		}
		rel, relErr := filepath.Rel(folder, path)
		if err = errors.Join(err, relErr); err != nil || rel == "." {
			return err
		}
		skip, err := ignored.MatchesOrParentMatches(rel)
		if err != nil || skip && rel != "Dockerfile" { // a later ! pattern may bring back what is in a folder
			return err
		}
		return addFile(out, path, filepath.ToSlash(rel), d)
	})
	if err != nil {
		return err
	}
	return out.Close()
}

func ignoredIn(folder string) (*patternmatcher.PatternMatcher, error) {
	var patterns []string
	text, err := regular.ReadFile(filepath.Join(folder, ".dockerignore"))
	if err == nil {
		patterns, err = ignorefile.ReadAll(bytes.NewReader(text))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return patternmatcher.New(patterns)
}

func addFile(out *tar.Writer, path, name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	link := ""
	if d.Type()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(path); err != nil {
			return err
		}
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name, h.Uid, h.Gid, h.Uname, h.Gname = name, 0, 0, "", "" // an image must not depend on who builds it
	if err := out.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	file, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // only read
	_, err = io.CopyN(out, file, h.Size)
	return err
}
