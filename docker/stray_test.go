package docker

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
)

func TestAnOwnerReadsAsItWasWritten(t *testing.T) {
	me := self()
	if back, ok := parseOwner(me.String()); !ok || back != me {
		t.Errorf("%q reads as %+v", me, back)
	}
	for _, label := range []string{"", "x/y/z", "h/m/b/s/0/1", "h/m/b/s/x/1", "h/m/b/s/1/1/1"} {
		if o, ok := parseOwner(label); ok {
			t.Errorf("%q reads as %+v", label, o)
		}
	}
}

// The machines, boots and spaces are told from one another by what their
// processes wrote into a label, so the table changes one part after the other.
func TestOnlyTheDeadAndTheLongExpiredAreAbandoned(t *testing.T) {
	me := self()
	if me.boot == "" || me.start == "" {
		t.Skip("this system does not tell processes apart")
	}
	me.machine = "m" // this machine may have none
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const left, just, long = -time.Hour, time.Second, time.Hour // since the deadline
	for _, c := range []struct {
		name    string
		change  func(o *owner)
		remote  bool // the engine is
		expired time.Duration
		want    bool
	}{
		{"a living process's", func(*owner) {}, false, left, false},
		{"a living process's past its deadline", func(*owner) {}, false, long, false},
		{"a living process's, of a machine renamed since", func(o *owner) { o.host = "before" }, false, long, false},
		{"a dead process's", func(o *owner) { o.pid = 1 << 30 }, false, left, true},
		{"a dead process's on a remote engine", func(o *owner) { o.pid = 1 << 30 }, true, left, true},
		{"a number used again", func(o *owner) { o.start = "1" }, false, left, true},
		{"an earlier boot's", func(o *owner) { o.boot = "b" }, false, left, true},
		{"an earlier boot's or a copied machine's on a remote engine", func(o *owner) { o.boot = "b" }, true, left, false},
		{"the same, long expired", func(o *owner) { o.boot = "b" }, true, long, true},
		{"another boot's where machines have no id", func(o *owner) { o.boot, o.machine = "b", "" }, false, left, false},
		{"another machine of the same name's", func(o *owner) { o.machine, o.boot = "other", "b" }, false, left, false},
		{"the same, just expired", func(o *owner) { o.machine, o.boot = "other", "b" }, false, just, false},
		{"the same, long expired, with another name", func(o *owner) { o.machine, o.boot = "other", "b" }, false, long, true},
		{"another container's, with a number that is nobody's here", func(o *owner) { o.space, o.pid = "s", 1<<30 }, false, left, false},
		{"the same, long expired, with another start", func(o *owner) { o.space, o.start = "s", "1" }, false, long, true},
		{"a system's that tells no boot", func(o *owner) { o.boot, o.pid = "", 1<<30 }, false, left, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &Engine{owner: me, host: "unix:///run/docker.sock"}
			if c.remote {
				e.host = "tcp://engine:2376"
			}
			o := me
			c.change(&o)
			s := e.stray(container.Summary{Labels: map[string]string{
				LabelOwner:   o.String(),
				LabelExpires: now.Add(-c.expired).Format(time.RFC3339),
			}}, now)
			if s.Abandoned != c.want {
				t.Errorf("abandoned: %v, want %v", s.Abandoned, c.want)
			}
		})
	}
	other := me
	other.machine, other.boot = "other", "b"
	for state, want := range map[string]bool{"running": false, "exited": true, "created": true, "dead": true} {
		s := (&Engine{owner: me}).stray(container.Summary{State: state, Labels: map[string]string{
			LabelOwner: other.String(), LabelExpires: now.Add(-long).Format(time.RFC3339),
		}}, now)
		if s.Abandoned != want { // it ends by itself: while it runs, the clocks differ
			t.Errorf("another machine's, long expired and %s: abandoned %v, want %v", state, s.Abandoned, want)
		}
	}
	e := &Engine{owner: me}
	for _, label := range []string{"", "x/y/z"} {
		if s := e.stray(container.Summary{Labels: map[string]string{LabelOwner: label}}, now); s.Abandoned {
			t.Errorf("what %q made without a deadline is abandoned", label)
		}
	}
}

func TestAllCapabilitiesAreTheEnginesAffair(t *testing.T) {
	adds, drops := grants([]string{"ALL"}, []string{"CHOWN"})
	if !slices.Equal(adds, []string{"ALL"}) || !slices.Equal(drops, []string{"CHOWN"}) {
		t.Errorf("adds %q, drops %q", adds, drops)
	}
}

func TestANumberThatIsNobodysIsDead(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	o := self()
	o.pid = cmd.Process.Pid
	if o.boot != "" && o.fate(self(), true) != dead { // also when the number was given out again
		t.Errorf("an ended process is not dead")
	}
}

func TestWhatALivingProcessHasTheLeaseOfIsNotAbandoned(t *testing.T) {
	me := self()
	if me.boot == "" || me.start == "" {
		t.Skip("this system does not tell processes apart")
	}
	dead, there := me, me
	dead.start, there.boot = "1", "another"
	e := &Engine{owner: me}
	dir := t.TempDir()
	for name, c := range map[string]struct {
		lease string
		want  bool
	}{
		"":               {"", true},
		"missing":        {"", true},
		"given-up":       {"\n", true},
		"of-the-dead":    {"host here, pid 1\n" + dead.String() + "\n", true},
		"of-the-living":  {"host here, pid 2\n" + me.String() + "\n", false},
		"in-two-hands":   {dead.String() + "\n" + me.String(), false},
		"on-one-line":    {me.String() + " " + me.String(), true},
		"far-too-long":   {strings.Repeat("x", 4<<10-1) + "\n" + me.String(), true},
		"elsewhere-kept": {there.String(), false}, // whether it lives is not known
	} {
		path := ""
		if name != "" {
			path = filepath.Join(dir, name)
		}
		if c.lease != "" {
			if err := os.WriteFile(path, []byte(c.lease), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := e.stray(container.Summary{Labels: map[string]string{LabelOwner: dead.String(), LabelLease: path}}, time.Now())
		if s.Abandoned != c.want || !s.ownerDead || s.lease != path {
			t.Errorf("lease %q: %+v, want abandoned: %v", name, s, c.want)
		}
	}
	folder := e.stray(container.Summary{Labels: map[string]string{LabelOwner: dead.String(), LabelLease: dir}}, time.Now())
	if folder.Abandoned {
		t.Error("a lease that cannot be read counts as given up")
	}
}

func TestTheFirstProcessOfASpaceIsAnOwner(t *testing.T) {
	o := owner{host: "h", pid: 1, start: "5"} // batch as the main program of a container
	if back, ok := parseOwner(o.String()); !ok || back != o {
		t.Errorf("%q reads as %+v", o, back)
	}
}
