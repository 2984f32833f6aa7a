package harbor

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/regular"
)

// lfsPointer begins the file that stands for one that Git LFS has not downloaded.
const lfsPointer = "version https://git-lfs"

// readFiles reads the task's files beside task.toml, and checks those that the task needs.
func (t *Task) readFiles() error {
	text, err := regular.ReadFile(filepath.Join(t.Dir, instruction))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a task of steps has none
		return fault.New(fault.Usage, "reading a task", err)
	}
	t.Instruction = withoutCanary(string(text))
	missing := func(file, why string) {
		if _, err := os.Stat(filepath.Join(t.Dir, file)); err != nil {
			t.Refused = append(t.Refused, file+": "+why)
		}
	}
	refused := func(file, why string) {
		if _, err := os.Stat(filepath.Join(t.Dir, file)); err == nil {
			t.Refused = append(t.Refused, file+": "+why)
		}
	}
	refused("trajectory.json", "continuing a conversation is not supported")
	refused("environment/docker-compose.yaml", "several containers are not supported")
	refused(stepsDir, "tasks of several steps are not supported")
	if t.Separate == nil || t.Separate.Built() {
		missing(TestsDir+"/"+TestScript, "it is missing: it is the verifier")
	}
	if t.Built() {
		missing(environment+"/"+dockerfile, "it is missing, and task.toml has no environment.docker_image")
	}
	_, unsolved := os.Stat(filepath.Join(t.Dir, SolutionDir, SolveScript))
	t.Solvable = unsolved == nil
	files, err := t.hash()
	if err != nil {
		return fault.New(fault.Usage, "reading the task "+t.Dir, err)
	}
	t.Digest, t.BuildDigest = digest(files, ""), digest(files, environment)
	if s := t.Separate; s != nil {
		s.Name, s.Dir, s.Digest = t.Name, t.Dir, t.Digest
		if _, there := os.Stat(filepath.Join(t.Dir, TestsDir, dockerfile)); s.Built() && there != nil { // another copy of the agent's
			s.Image, s.Context = t.Image, environment
		}
		s.BuildDigest = digest(files, s.Context)
	}
	return nil
}

// hashed is a file of a task, with the SHA-256 of its content in hexadecimal; empty: it is a folder or a link.
type hashed struct {
	Entry
	sum string
}

// hash reads all files of the task once, and refuses those that cannot be used.
func (t *Task) hash() (files []hashed, err error) {
	err = Walk(t.Dir, func(f Entry) error {
		h := hashed{Entry: f}
		if f.Link == "" && !f.Mode.IsDir() {
			var err error
			if h.sum, err = t.hashFile(f); err != nil {
				return err
			}
		}
		files = append(files, h)
		return nil
	})
	return files, err
}

func (t *Task) hashFile(f Entry) (string, error) {
	r, err := regular.Open(f.Path)
	if err != nil {
		return "", err
	}
	defer r.Close()
	sum := sha256.New()
	var head bytes.Buffer
	limit := int64(len(lfsPointer))
	if f.Name == TestsDir+"/"+TestScript {
		limit = 1 << 20
	}
	if _, err := io.Copy(io.MultiWriter(sum, &head), io.LimitReader(r, limit)); err != nil {
		return "", err
	}
	if _, err := io.Copy(sum, r); err != nil {
		return "", err
	}
	switch {
	case strings.HasPrefix(head.String(), lfsPointer):
		t.Refused = append(t.Refused, f.Name+": it is a Git LFS pointer, not the file: run git lfs pull")
	case f.Name == TestsDir+"/"+TestScript && bytes.Contains(head.Bytes(), []byte("\r\n")):
		t.Refused = append(t.Refused, f.Name+": its lines end in CR LF, so that no shell runs it: convert it with dos2unix")
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// digest returns the SHA-256 of the files below a folder of the task, empty for all: of their names,
// contents, executable bits and links.
func digest(files []hashed, folder string) string {
	sum := sha256.New()
	for _, f := range files {
		name, below := f.Name, true
		if folder != "" {
			name, below = strings.CutPrefix(f.Name, folder+"/")
		}
		if !below {
			continue
		}
		fmt.Fprintf(sum, "%q %t %q\n", name, f.Mode&0o100 != 0, f.Link)
		if f.sum != "" {
			fmt.Fprintf(sum, "%s\n", f.sum)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Entry is a file, a folder or a link below a folder.
type Entry struct {
	Name string // relative to the folder, with slashes
	Path string
	Mode fs.FileMode
	Size int64
	Link string // what a link points to; empty: it is none
}

// Walk calls do for all that is below a folder, in the order of the names. It leaves out .git, and
// refuses what is neither a file nor a folder nor a link.
func Walk(dir string, do func(Entry) error) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p == dir {
			return nil
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		e := Entry{Name: filepath.ToSlash(rel), Path: p, Mode: info.Mode(), Size: info.Size()}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			if e.Link, err = os.Readlink(p); err != nil {
				return err
			}
		case !d.IsDir() && !d.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder", p)
		}
		return do(e)
	})
}
