package enginetest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/engine/files"
)

func (e *suite) containersDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	one, other := e.start(t, engine.Spec{}), e.start(t, engine.Spec{})
	Script(t, one, "for d in / /tmp /testbed /dev/shm /usr/bin; do echo mine >$d/mine; done; rm /usr/bin/wc; sleep 600 & :")
	r := Script(t, other, "for d in / /tmp /testbed /dev/shm /usr/bin; do ls $d/mine; done 2>/dev/null; ls /usr/bin/wc")
	if string(r.Bytes) != "/usr/bin/wc\n" {
		t.Errorf("one container sees the other's files: %s", r.Bytes)
	}
	if left := Processes(t, other); len(left) > 0 {
		t.Errorf("one container sees the other's processes: %q", left)
	}
}

func (e *suite) filesAreCopiedInByteForByte(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	data := make([]byte, 3<<20)
	_, _ = rand.Read(data)
	const name = "/new/dir/file.bin"
	for range 2 { // the second time it is replaced
		if err := c.CopyIn(t.Context(), name, 0o640, data); err != nil {
			t.Fatal(err)
		}
		if r := Script(t, c, "cat "+name); !bytes.Equal(r.Bytes, data) {
			t.Errorf("%d other bytes came back, exit code %d", len(r.Bytes), r.ExitCode)
		}
		if r := Script(t, c, "ls -l "+name); !strings.HasPrefix(string(r.Bytes), "-rw-r-----") {
			t.Errorf("got %s", r.Bytes)
		}
		data = data[:1<<20]
	}
	for name, tt := range map[string]struct {
		kind fault.Kind
		data []byte
	}{
		"/etc/x/y": {fault.Instance, nil},
		"/large":   {fault.Usage, make([]byte, box.CopyInLimit+1)},
		"relative": {fault.Usage, nil},
		"/":        {fault.Usage, nil},
	} {
		Script(t, c, "rm -rf /etc/x; echo >/etc/x")
		if err := c.CopyIn(t.Context(), name, 0o644, tt.data); fault.KindOf(err) != tt.kind {
			t.Errorf("%s: got %v, want a fault of kind %v", name, err, tt.kind)
		}
	}
	if r := Script(t, c, "echo /new/dir/* /la*"); string(r.Bytes) != name+" /la*\n" {
		t.Errorf("partial files are left: %s", r.Bytes)
	}
}

func (e *suite) aStreamCarriesAnyBytes(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	var stderr bytes.Buffer
	p := Stream(t, c, box.Program{Name: "copy", Args: []string{"bash", "-c", "cat; echo end >&2; exit 7"}, Stderr: &stderr})
	sent := make([]byte, 3<<20)
	_, _ = rand.Read(sent)
	var writing sync.WaitGroup
	writing.Go(func() {
		if n, err := p.Write(sent); n != len(sent) || err != nil {
			t.Errorf("wrote %d bytes, %v", n, err)
		}
	})
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(p, got); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("other bytes came back, %v", err)
	}
	writing.Wait()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if code, ended := p.Exit(); code != 7 || !ended || stderr.String() != "end\n" {
		t.Errorf("exit code %d, %v; stderr %q", code, ended, &stderr)
	}
}

// tool prints where it is, and cannot write there.
const tool = `#!/usr/bin/bash
cat "$(cd "${0%/*}"; pwd)/lib/data"; touch "${0%/*}/x" 2>/dev/null || echo " read-only"
`

func (e *suite) theFilesOfAProgramAreInTheContainer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"tool": tool, "lib/data": "data"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := files.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if e.NoFiles {
		if _, err := e.engine.Create(t.Context(), e.spec(engine.Spec{Files: folder})); fault.KindOf(err) != fault.Usage {
			t.Errorf("got %v, want a Usage fault", err)
		}
		return
	}
	for range 2 {
		Says(t, e.start(t, engine.Spec{Files: folder}), engine.FilesDir+"/tool", "data read-only\n")
	}
	c := e.start(t, engine.Spec{Files: engine.Files{Image: e.image}})
	Says(t, c, engine.FilesDir+"/usr/bin/echo here; touch "+engine.FilesDir+"/x 2>/dev/null || echo read-only", "here\nread-only\n")
}
