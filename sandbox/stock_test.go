package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"batch.example/batch/fault"
)

// Whoever makes the state directory in a folder of all users first must not decide what batch finds there.
func TestATemporaryStateDirectoryIsTheUsersOwn(t *testing.T) {
	temp := t.TempDir()
	dir, err := temporaryState(temp)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if again, err := temporaryState(temp); err != nil || again != dir {
			t.Errorf("got %s, %v; want %s", again, err, dir)
		}
	}
	other := t.TempDir()
	for name, plant := range map[string]func() error{
		"that all may write": func() error { return errors.Join(os.Mkdir(dir, 0o777), os.Chmod(dir, 0o777)) },
		"a link":             func() error { return os.Symlink(other, dir) },
		"a file":             func() error { return os.WriteFile(dir, nil, 0o600) },
		"another user's":     func() error { return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 65534, -1)) },
	} {
		if name == "another user's" && os.Geteuid() != 0 {
			continue
		}
		if err := errors.Join(os.RemoveAll(dir), plant()); err != nil {
			t.Fatal(err)
		}
		if got, err := temporaryState(filepath.Dir(dir)); fault.KindOf(err) != fault.Host {
			t.Errorf("%s: got %q, %v; want a Host fault", name, got, err)
		}
	}
}
