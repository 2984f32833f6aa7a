package files

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

// folder returns a folder of a program.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"agent": 0o700, "lib/data": 0o600, "lib/shared": 0o664} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(name), mode), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("/usr/bin/python3", filepath.Join(dir, "python")), os.Mkdir(filepath.Join(dir, "empty"), 0o700)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, dir string) engine.Files {
	t.Helper()
	f, err := Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// listed is what an archive has, a line for each file.
func listed(t *testing.T, archive io.Reader) (list []string) {
	t.Helper()
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil || h.Uid != 0 || h.Uname != "" {
			t.Fatalf("%s: of %d %s, %v", h.Name, h.Uid, h.Uname, err)
		}
		list = append(list, strings.TrimSpace(fmt.Sprintf("%c %o %s %s%s", h.Typeflag, h.Mode, h.Name, h.Linkname, content)))
	}
}

func TestAnyUserMayReadAnArchive(t *testing.T) {
	f := read(t, folder(t))
	var b bytes.Buffer
	if err := Pack(t.Context(), &b, f); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0 755 agent agent", "5 755 empty", "5 755 lib", "0 644 lib/data lib/data", "0 664 lib/shared lib/shared",
		"2 777 python /usr/bin/python3", "0 444 .batch-whole",
	}
	if got := listed(t, &b); !slices.Equal(got, want) {
		t.Errorf("got %q,\nwant %q", got, want)
	}
}

func TestADigestIsThatOfTheContent(t *testing.T) {
	dir := folder(t)
	before := read(t, dir).Digest
	same := folder(t)
	if err := os.Chtimes(filepath.Join(same, "agent"), time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if got := read(t, same).Digest; got != before {
		t.Error("another folder with the same content has another digest")
	}
	for name, change := range map[string]func(dir string) error{
		"content": func(dir string) error { return os.WriteFile(filepath.Join(dir, "agent"), []byte("other"), 0o700) },
		"mode":    func(dir string) error { return os.Chmod(filepath.Join(dir, "lib/data"), 0o700) },
		"name":    func(dir string) error { return os.Rename(filepath.Join(dir, "empty"), filepath.Join(dir, "full")) },
		"link": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "python")), os.Symlink("/bin/sh", filepath.Join(dir, "python")))
		},
	} {
		dir := folder(t)
		f := read(t, dir)
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		if read(t, dir).Digest == before {
			t.Errorf("another %s has the same digest", name)
		}
		var b bytes.Buffer
		err := Pack(t.Context(), &b, f)
		if fault.KindOf(err) != fault.Usage || bytes.Contains(b.Bytes(), []byte(Whole)) {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

func TestAFolderThatCannotBePackedIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"missing": {os.RemoveAll, "no such file"},
		"empty":   {func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)) }, "not a folder with files"},
		"a file":  {func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) }, "not a folder with files"},
		"a pipe":  {func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600) }, "pipe is not a file"},
		"large":   {func(dir string) error { return os.Truncate(filepath.Join(dir, "agent"), MaxBytes+1) }, "more than 2 GiB"},
	} {
		dir := folder(t)
		if err := tt.make(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := Folder(dir); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheFilesOfAnImage(t *testing.T) {
	var image, b bytes.Buffer
	w := tar.NewWriter(&image)
	for _, h := range []tar.Header{
		{Typeflag: tar.TypeDir, Name: "/", Mode: 0o755},
		{Typeflag: tar.TypeDir, Name: "./dev", Mode: 0o755},
		{Typeflag: tar.TypeReg, Name: "dev/x"},
		{Typeflag: tar.TypeReg, Name: "/device", Mode: 0o4700, Uid: 7, Uname: "seven"},
		{Typeflag: tar.TypeLink, Name: "/hard", Linkname: "/device", Mode: 0o700},
		{Typeflag: tar.TypeFifo, Name: "pipe"},
		{Typeflag: tar.TypeReg, Name: Whole},
		{Typeflag: tar.TypeReg, Name: "../up", Mode: 0o600},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), Repack(t.Context(), &b, bytes.NewReader(image.Bytes()), "/dev")); err != nil {
		t.Fatal(err)
	}
	if got, want := listed(t, &b), []string{"0 755 device", "1 755 hard device", "0 644 up", "0 444 .batch-whole"}; !slices.Equal(got, want) {
		t.Errorf("got %q,\nwant %q", got, want)
	}
	b.Reset()
	if err := Repack(t.Context(), &b, bytes.NewReader(image.Bytes()[:1300])); err == nil || bytes.Contains(b.Bytes(), []byte(Whole)) {
		t.Errorf("a part of an image: %v", err)
	}
}
