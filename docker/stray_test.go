package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
)

func TestOnlyTheDeadAndTheLongExpiredAreAbandoned(t *testing.T) {
	me := owner{host: "here", boot: "b2", pid: os.Getpid(), start: startOf(os.Getpid())}
	e := &Engine{owner: me}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name    string
		owner   owner
		expired time.Duration // how long ago
		want    bool
	}{
		{"a living process's", me, -time.Hour, false},
		{"a living process's past its deadline", me, time.Hour, false},
		{"a process's of an earlier boot", owner{"here", "b1", os.Getpid(), "1"}, -time.Hour, true},
		{"another process's with a number used again", owner{"here", "b2", os.Getpid(), "1"}, -time.Hour, me.start != ""}, // known where there is a /proc
		{"another machine's", owner{"there", "b1", 1, "1"}, -time.Hour, false},
		{"another machine's that has just expired", owner{"there", "b1", 1, "1"}, time.Second, false},
		{"another machine's that expired long ago", owner{"there", "b1", 1, "1"}, time.Hour, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := e.stray(container.Summary{Labels: map[string]string{
				LabelOwner:   c.owner.String(),
				LabelExpires: now.Add(-c.expired).Format(time.RFC3339),
			}}, now)
			if s.Abandoned != c.want {
				t.Errorf("abandoned: %v, want %v", s.Abandoned, c.want)
			}
		})
	}
}

func TestWhatALivingProcessHasTheLeaseOfIsNotAbandoned(t *testing.T) {
	me := owner{host: "here", boot: "b2", pid: os.Getpid(), start: startOf(os.Getpid())}
	dead := owner{"here", "b1", os.Getpid(), "1"}
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
		"far-too-long":   {strings.Repeat("x", maxLease) + "\n" + me.String(), true},
		"elsewhere-kept": {owner{"there", "b1", 1, "1"}.String(), false}, // whether it lives is not known
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
