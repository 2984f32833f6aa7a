package containers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/internal/owner"
	"batch.example/batch/sandbox/engine"
)

// Machines, boots and pid namespaces are distinguished by what their
// processes wrote into a label, so the cases change one part at a time.
func TestAContainerIsAbandonedWhenItsOwnerIsDeadOrItExpired(t *testing.T) {
	me := owner.Self()
	if me.Boot == "" || me.Start == "" {
		t.Skip("this system does not tell processes apart")
	}
	me.Machine = "m" // this machine may have no id
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const left, just, long = -time.Hour, time.Second, time.Hour // since the deadline
	for _, c := range []struct {
		name    string
		change  func(o *owner.Owner)
		remote  bool // the engine is on another machine
		expired time.Duration
		want    bool
	}{
		{"a living process's", func(*owner.Owner) {}, false, left, false},
		{"a living process's past its deadline", func(*owner.Owner) {}, false, long, false},
		{"a living process's, of a machine renamed since", func(o *owner.Owner) { o.Host = "before" }, false, long, false},
		{"a dead process's", func(o *owner.Owner) { o.Pid = 1 << 30 }, false, left, true},
		{"a dead process's on a remote engine", func(o *owner.Owner) { o.Pid = 1 << 30 }, true, left, true},
		{"a number used again", func(o *owner.Owner) { o.Start = "1" }, false, left, true},
		{"an earlier boot's", func(o *owner.Owner) { o.Boot = "b" }, false, left, true},
		{"an earlier boot's or a copied machine's on a remote engine", func(o *owner.Owner) { o.Boot = "b" }, true, left, false},
		{"the same, long expired", func(o *owner.Owner) { o.Boot = "b" }, true, long, true},
		{"another boot's where machines have no id", func(o *owner.Owner) { o.Boot, o.Machine = "b", "" }, false, left, false},
		{"another machine of the same name's", func(o *owner.Owner) { o.Machine, o.Boot = "other", "b" }, false, left, false},
		{"the same, just expired", func(o *owner.Owner) { o.Machine, o.Boot = "other", "b" }, false, just, false},
		{"the same, long expired, with another name", func(o *owner.Owner) { o.Machine, o.Boot = "other", "b" }, false, long, true},
		{"another container's, with a number that no process has here", func(o *owner.Owner) { o.Space, o.Pid = "s", 1<<30 }, false, left, false},
		{"the same, long expired, with another start", func(o *owner.Owner) { o.Space, o.Start = "s", "1" }, false, long, true},
		{"a system's that tells no boot", func(o *owner.Owner) { o.Boot, o.Pid = "", 1<<30 }, false, left, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &Fleet{owner: me, engine: &daemon.Conn{Host: "unix:///run/docker.sock"}}
			if c.remote {
				f.engine.Host = "tcp://engine:2376"
			}
			o := me
			c.change(&o)
			s := f.summarize(container.Summary{Labels: map[string]string{
				LabelOwner:   o.String(),
				LabelExpires: now.Add(-c.expired).Format(time.RFC3339),
			}}, now)
			if s.Abandoned != c.want {
				t.Errorf("abandoned: %v, want %v", s.Abandoned, c.want)
			}
		})
	}
	other := me
	other.Machine, other.Boot = "other", "b"
	for state, want := range map[string]bool{"running": false, "exited": true, "created": true, "dead": true} {
		s := (&Fleet{owner: me, engine: &daemon.Conn{}}).summarize(container.Summary{State: state, Labels: map[string]string{
			LabelOwner: other.String(), LabelExpires: now.Add(-long).Format(time.RFC3339),
		}}, now)
		if s.Abandoned != want { // it ends by itself; if it still runs, the clocks differ
			t.Errorf("another machine's, long expired and %s: abandoned %v, want %v", state, s.Abandoned, want)
		}
	}
	f := &Fleet{owner: me, engine: &daemon.Conn{}}
	for _, label := range []string{"", "x/y/z"} {
		if s := f.summarize(container.Summary{Labels: map[string]string{LabelOwner: label}}, now); s.Abandoned {
			t.Errorf("a container that %q created without a deadline is abandoned", label)
		}
	}
}

func TestAllCapabilitiesAreLeftToTheEngine(t *testing.T) {
	adds, drops := engine.Grants([]string{"ALL"}, []string{"CHOWN"})
	if !slices.Equal(adds, []string{"ALL"}) || !slices.Equal(drops, []string{"CHOWN"}) {
		t.Errorf("adds %q, drops %q; want adds %v, drops %v", adds, drops, []string{"ALL"}, []string{"CHOWN"})
	}
}

func TestAContainerWhoseLeaseIsHeldIsNotAbandoned(t *testing.T) {
	me := owner.Self()
	if me.Boot == "" || me.Start == "" {
		t.Skip("this system does not tell processes apart")
	}
	dead, there := me, me
	dead.Start, there.Boot = "1", "another"
	f := &Fleet{owner: me, engine: &daemon.Conn{}}
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
		"elsewhere-kept": {there.String(), false}, // the state of its owner is unknown
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
		s := f.summarize(container.Summary{Labels: map[string]string{LabelOwner: dead.String(), engine.LabelLease: path}}, time.Now())
		if s.Abandoned != c.want || !s.Dead || s.Lease != path {
			t.Errorf("lease %q: %+v, want abandoned: %v", name, s, c.want)
		}
	}
	folder := f.summarize(container.Summary{Labels: map[string]string{LabelOwner: dead.String(), engine.LabelLease: dir}}, time.Now())
	if folder.Abandoned {
		t.Error("an unreadable lease counts as released")
	}
}

func TestAContainerUnderALeaseOfAnotherMachineIsAbandonedWhenItExpired(t *testing.T) {
	me := owner.Self()
	if me.Boot == "" || me.Start == "" {
		t.Skip("this system does not tell processes apart")
	}
	dead := me
	dead.Start = "1"
	now := time.Now()
	for expired, want := range map[time.Duration]bool{-time.Hour: false, time.Hour: true} {
		s := (&Fleet{owner: me, engine: &daemon.Conn{}}).summarize(container.Summary{State: "exited", Labels: map[string]string{
			LabelOwner: dead.String(), engine.LabelLease: "/runs/a/.lock", labelMachine: "another", LabelExpires: now.Add(-expired).Format(time.RFC3339),
		}}, now)
		if s.Abandoned != want {
			t.Errorf("expired since %v: abandoned %v, want %v", expired, s.Abandoned, want)
		}
	}
}
