package results

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"
)

// holds takes the lock of dir like another program, for some time.
func holds(t *testing.T, dir string, take func(*flock.Flock) (bool, error), long time.Duration) {
	t.Helper()
	l := flock.New(LockPath(dir))
	if ok, err := take(l); !ok || err != nil {
		t.Fatal(ok, err)
	}
	time.AfterFunc(long, func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Programs on a busy machine may stop for seconds anywhere, even while they have the lock
// for an instant.
func TestAFreeDirectoryIsNeverInUse(t *testing.T) {
	for name, take := range map[string]func(*flock.Flock) (bool, error){
		"looked at": (*flock.Flock).TryRLock,
		"taken by an owner that has not written its name, and ends": (*flock.Flock).TryLock,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				holds(t, dir, take, 5*time.Second)
				unlock, err := Lock(dir, "b")
				if err != nil {
					t.Fatal(err)
				}
				if err := unlock(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// The dead owner's name is in the file while the system closes its files.
func TestAKilledOwnerMayHaveTheLockForAnInstant(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(LockPath(dir), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		holds(t, dir, (*flock.Flock).TryLock, 35*time.Millisecond)
		l, dead, err := lock(dir, "b", nil)
		if err != nil || dead != "a" {
			t.Fatalf("%q, %v; want the name of the dead owner", dead, err)
		}
		if err := unlockFile(l, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestTheOwnerThatIsInTheWayIsNamed(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		holds(t, dir, (*flock.Flock).TryLock, time.Minute)
		time.AfterFunc(5*time.Second, func() {
			if err := os.WriteFile(LockPath(dir), []byte("a\n"), 0o600); err != nil {
				t.Error(err)
			}
		})
		_, err := Lock(dir, "b")
		if locked, ok := errors.AsType[*LockedError](err); !ok || locked.Owner != "a" {
			t.Errorf("%v; want that a has it", err)
		}
		begun := time.Now()
		if _, err := Lock(dir, "b"); err == nil || time.Since(begun) > 100*time.Millisecond {
			t.Errorf("%v after %v; want it at once", err, time.Since(begun))
		}
	})
	synctest.Test(t, func(t *testing.T) { // for ever, without a name
		dir := t.TempDir()
		holds(t, dir, (*flock.Flock).TryLock, time.Minute)
		_, err := Lock(dir, "b")
		if locked, ok := errors.AsType[*LockedError](err); !ok || locked.Owner != "" {
			t.Errorf("%v; want that somebody has it", err)
		}
	})
}

// While a run takes the directory over, the lock file, the lease of containers, must always name
// an owner to other processes.
func TestALockThatIsTakenOverIsNeverEmpty(t *testing.T) {
	dir := t.TempDir()
	path := LockPath(dir)
	if err := os.WriteFile(path, []byte("a dead owner with a longer name\nand another line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	done, ended, empty := make(chan struct{}), make(chan struct{}), 0
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
			}
			if text, err := os.ReadFile(path); err == nil && len(text) == 0 {
				empty++
			}
		}
	}()
	for range 2000 {
		if err := writeOwner(path, []byte("a living owner\n")); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	<-ended
	if text, err := os.ReadFile(path); empty > 0 || string(text) != "a living owner\n" {
		t.Errorf("%d times empty; at the end %q, %v", empty, text, err)
	}
}
