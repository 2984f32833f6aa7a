package owner

import (
	"os"
	"path/filepath"
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
	if err := os.WriteFile(path, []byte(dead.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	me := Self()
	me.Machine = "here"
	if err := os.WriteFile(IDPath(filepath.Dir(path)), []byte("ID"), 0o600); err != nil {
		t.Fatal(err)
	}
	for lease, want := range map[string]Liveness{
		"here:" + path: Dead, path: Dead, "elsewhere:" + path: Unknown, "here:" + path + "-gone": Dead, "ID:" + path: Dead, "OTHER:" + path: Unknown,
	} {
		if got := HolderOf(lease, me, true); got != want {
			t.Errorf("%s: holder %v, want %v", lease, got, want)
		}
	}
}
