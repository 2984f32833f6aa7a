package containers

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/docker/boxinit"
	"batch.example/batch/docker/internal/owner"
	"batch.example/batch/internal/boxinit/wire"

	"batch.example/batch/fault"
)

func TestASpecThatCannotBeIsTheCallersFault(t *testing.T) {
	for want, s := range map[string]Spec{
		"no image":               {},
		"an absolute path":       {Image: "i", WorkDir: "testbed"},
		"must not be negative":   {Image: "i", Memory: -1},
		"not be negative":        {Image: "i", CPUs: -0.5},
		"be negative":            {Image: "i", Unattended: -1},
		"negative":               {Image: "i", ShmSize: -1},
		"less than the 6 MiB":    {Image: "i", Memory: 6<<20 - 1},
		"1 bytes of memory are ": {Image: "i", Memory: 1},
	} {
		if err := s.check(); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
	for _, s := range []Spec{{Image: "i"}, {Image: "i", Memory: 6 << 20, CPUs: 0.01, Unattended: 1, ShmSize: 1, WorkDir: "/x"}} {
		if err := s.check(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// What stands between an agent and the machine, as the engine is asked for it.
func TestAContainerIsAskedForAsItsSpecSays(t *testing.T) {
	usual := Spec{Image: "i"}.hostConfig()
	if usual.Init == nil || *usual.Init || usual.NetworkMode != "none" || *usual.PidsLimit != 4096 || usual.LogConfig.Type != "none" {
		t.Errorf("%+v", usual)
	}
	if !slices.Equal(usual.SecurityOpt, []string{"no-new-privileges"}) || !slices.Equal([]string(usual.CapDrop), []string{"ALL"}) {
		t.Errorf("security %q, dropped %q", usual.SecurityOpt, usual.CapDrop)
	}
	if !slices.Equal([]string(usual.CapAdd), capabilities) || !slices.Equal(usual.ExtraHosts, []string{"sandbox:127.0.0.1"}) {
		t.Errorf("given %q, hosts %q", usual.CapAdd, usual.ExtraHosts)
	}
	if usual.Memory != 0 || usual.MemorySwap != 0 || usual.NanoCPUs != 0 {
		t.Errorf("limits %+v", usual.Resources)
	}
	full := Spec{
		Image: "i", Network: "bridge", Memory: 100, CPUs: 1.5, PidsLimit: 7, ShmSize: 9, SecurityOpt: []string{"seccomp=x"},
		ExtraHosts: []string{"a:1.2.3.4"}, CapAdd: []string{"SYS_PTRACE"}, CapDrop: []string{"CAP_CHOWN"},
	}
	h := full.hostConfig()
	if h.NetworkMode != "bridge" || h.Memory != 100 || h.MemorySwap != 100 || h.NanoCPUs != 1_500_000_000 || *h.PidsLimit != 7 || h.ShmSize != 9 {
		t.Errorf("%+v", h)
	}
	if !slices.Equal(h.SecurityOpt, []string{"no-new-privileges", "seccomp=x"}) || !slices.Equal(h.ExtraHosts, full.ExtraHosts) {
		t.Errorf("security %q, hosts %q", h.SecurityOpt, h.ExtraHosts)
	}
	if !slices.Contains(h.CapAdd, "SYS_PTRACE") || slices.Contains(h.CapAdd, "CHOWN") || !slices.Equal([]string(h.CapDrop), []string{"ALL", "CAP_CHOWN"}) {
		t.Errorf("given %q, dropped %q", h.CapAdd, h.CapDrop)
	}
	for swap, want := range map[int64]int64{0: 100, -1: -1, 300: 300} {
		s := full
		if s.MemorySwap = swap; s.hostConfig().MemorySwap != want {
			t.Errorf("swap %d: %d", swap, s.hostConfig().MemorySwap)
		}
	}
	named := Spec{Image: "i", ExtraHosts: []string{"sandbox:10.0.0.1"}}
	if got := named.hostConfig().ExtraHosts; !slices.Equal(got, named.ExtraHosts) {
		t.Errorf("the caller's own name gives way: %q", got)
	}
	none := Spec{Image: "i", PidsLimit: -1}
	if *none.hostConfig().PidsLimit != -1 {
		t.Error("no limit of processes is one")
	}
}

func TestWhatAContainerIsCalledAndRuns(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o := owner.Owner{Host: "h", Pid: 1}
	s := Spec{Image: "i:1", ImageID: "sha256:1", Env: []string{"A=b"}, User: "u", Labels: map[string]string{"mine": "x"}, WorkDir: "/w", Unattended: 1500 * time.Millisecond}
	c := s.config(now, o, wire.Key{0xab})
	want := map[string]string{
		"mine": "x", LabelOwner: o.String(), LabelImage: "i:1", labelWorkDir: "/w",
		LabelExpires: "2026-01-02T03:04:06Z", labelUnattended: "1.5s", labelKey: "ab" + strings.Repeat("0", 62),
	}
	if d := cmp.Diff(want, c.Labels); d != "" {
		t.Error(d)
	}
	if c.Image != "sha256:1" || c.User != "u" || c.WorkingDir != "/" || c.Hostname != "sandbox" || c.StopSignal != "SIGKILL" ||
		!slices.Equal(c.Env, s.Env) || !slices.Equal(c.Healthcheck.Test, []string{"NONE"}) {
		t.Errorf("%+v", c)
	}
	if !slices.Equal([]string(c.Entrypoint), []string{boxinit.Path}) || len(c.Cmd) > 0 || !c.OpenStdin || c.StdinOnce {
		t.Errorf("it begins with %q %q", c.Entrypoint, c.Cmd)
	}
	plain := Spec{Image: "i:1", Network: "bridge"}.config(now, o, wire.Key{})
	if plain.Image != "i:1" || plain.Hostname != "" || plain.WorkingDir != "" || len(plain.Labels) != 3 {
		t.Errorf("%+v", plain)
	}
	if len(s.Labels) != 1 {
		t.Errorf("the caller's labels were changed: %v", s.Labels)
	}
}

// Which calls of bash can be started before their script is known.
func TestHowABashIsCalledDecidesHowItsCommandsRun(t *testing.T) {
	for call, want := range map[string]bool{
		"bash -c": true, "/bin/bash -c": true, "/usr/bin/bash -lc": true, "bash -cl": true, "bash -l -c": true, "bash --login -c": true,
		"bash -x -c": false, "bash": false, "sh -c": false, "env": false, "/opt/bin/bash -c": false,
	} {
		if got := loads(strings.Fields(call)); got != want {
			t.Errorf("%s: %v", call, got)
		}
	}
}
