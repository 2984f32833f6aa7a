package owner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestSameLease(t *testing.T) {
	mine := Lease("/runs/a/.lock")
	for lease, want := range map[string]bool{
		mine:                      true,
		"/runs/a/.lock":           true, // of a version that named no machine
		"/runs/b/.lock":           false,
		"elsewhere:/runs/a/.lock": false,
		"":                        false,
	} {
		if got := SameLease(lease, mine); got != want {
			t.Errorf("%q and %q: same %v, want %v", lease, mine, got, want)
		}
	}
}

// Containers that earlier versions took over have such names.
func TestTheNameOfAnAdopterIsThatOfEarlierVersions(t *testing.T) {
	const want = "ebedd8acd556"
	if got := Adopter("/runs/a/.lock"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Adopter(Lease("/runs/a/.lock")); got != want {
		t.Errorf("with a machine: got %s, want %s", got, want)
	}
}

// A file of this machine says nothing about a lease of another one with the same path.
func TestALeaseOfAnotherMachineMayBeHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	dead := Self()
	dead.Pid = 1 << 30
	write(t, path, dead.String()+"\n")
	me := Self()
	me.Machine = "here"
	for lease, want := range map[string]Liveness{
		"here:" + path: Dead, path: Dead, "elsewhere:" + path: Unknown, "here:" + path + "-gone": Dead,
	} {
		if got, seen := HolderOf(lease, me, true); got != want || seen {
			t.Errorf("%s: holder %v, seen %v; want %v, not seen", lease, got, seen, want)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A free lock says that its last holder has ended, wherever that ran, if it is the lock of that directory
// and the kernel is the same.
func TestALockTellsOfItsDirectoryAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	before := Lease(path)
	write(t, IDPath(dir), "ID")
	lease := Lease(path)
	if lease == before || !OfDir(lease, lease) || OfDir(before, before) || OfDir(before, lease) || !SameLease(before, lease) {
		t.Errorf("%q without an id, %q with one", before, lease)
	}
	me := Self()
	dead, hidden, afar := me, me, me
	dead.Pid, hidden.Space, afar.Boot, afar.Host = 1<<30, "another", "another", "another"
	check := func(what, lease string, want Liveness, wantSeen bool) {
		t.Helper()
		if got, seen := HolderOf(lease, me, true); got != want || seen != wantSeen {
			t.Errorf("%s: holder %v, seen %v; want %v, %v", what, got, seen, want, wantSeen)
		}
	}
	check("no lock", lease, Dead, true)
	for text, want := range map[string]Liveness{"": Dead, dead.String(): Dead, hidden.String(): Dead, me.String(): Alive, afar.String(): Alive} {
		write(t, path, text+"\n")
		check("a free lock of "+text, lease, want, true)
	}
	write(t, path, hidden.String()+"\n")
	known := me
	hidden.Boot, me.Boot = "", ""
	write(t, path, hidden.String()+"\n")
	check("a free lock where no boot has an id", lease, Alive, true)
	me, hidden.Boot = known, known.Boot
	write(t, path, hidden.String()+"\n")
	check("a lease without the directory's id", before, Alive, false)
	elsewhere := "another" + lease[strings.Index(lease, "@"):]
	check("the same directory on another machine", elsewhere, Dead, true)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	check("a lock that is held", lease, Alive, true)

	if err := os.CopyFS(dir+"-copy", os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(dir, dir+"-moved"), os.Rename(dir+"-copy", dir)); err != nil {
		t.Fatal(err)
	}
	if OfDir(Lease(path), lease) {
		t.Error("a copy of a directory has its lease")
	}
	if me.Machine != "" && !SameLease(lease, Lease(path)) {
		t.Error("after a chmod, a directory does not have its own lease")
	}
	if SameLease(elsewhere, Lease(path)) {
		t.Error("a copy on another machine has the lease")
	}
	check("a copy in the place of the directory", lease, Alive, false)
	me.Machine = "yet another"
	check("a copy on another machine", elsewhere, Unknown, false)
	me = Self()
	write(t, IDPath(dir), "ANOTHER")
	check("another directory in its place", lease, Dead, false)
}
