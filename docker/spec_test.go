package docker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
)

func TestASpecThatCannotBeIsTheCallersFault(t *testing.T) {
	for want, s := range map[string]Spec{
		"no image":               {},
		"an absolute path":       {Image: "i", WorkDir: "testbed"},
		"must not be negative":   {Image: "i", Memory: -1},
		"not be negative":        {Image: "i", CPUs: -0.5},
		"be negative":            {Image: "i", Deadline: -1},
		"negative":               {Image: "i", ShmSize: -1},
		"less than the 6 MiB":    {Image: "i", Memory: 6<<20 - 1},
		"1 bytes of memory are ": {Image: "i", Memory: 1},
	} {
		if err := s.check(); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
	for _, s := range []Spec{{Image: "i"}, {Image: "i", Memory: 6 << 20, CPUs: 0.01, Deadline: 1, ShmSize: 1, WorkDir: "/x"}} {
		if err := s.check(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// What stands between an agent and the machine, as the engine is asked for it.
func TestAContainerIsAskedForAsItsSpecSays(t *testing.T) {
	usual := Spec{Image: "i"}.hostConfig()
	if usual.Init == nil || !*usual.Init || usual.NetworkMode != "none" || *usual.PidsLimit != 4096 || usual.LogConfig.Type != "none" {
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
	o := owner{host: "h", pid: 1}
	s := Spec{Image: "i:1", ImageID: "sha256:1", Env: []string{"A=b"}, User: "u", Labels: map[string]string{"mine": "x"}, WorkDir: "/w", Deadline: 1500 * time.Millisecond}
	c := s.config(now, o)
	want := map[string]string{
		"mine": "x", LabelOwner: o.String(), LabelImage: "i:1", labelWorkDir: "/w", LabelExpires: "2026-01-02T03:04:06Z",
	}
	if d := cmp.Diff(want, c.Labels); d != "" {
		t.Error(d)
	}
	if c.Image != "sha256:1" || c.User != "u" || c.WorkingDir != "/" || c.Hostname != "sandbox" || c.StopSignal != "SIGKILL" ||
		!slices.Equal(c.Env, s.Env) || !slices.Equal(c.Healthcheck.Test, []string{"NONE"}) {
		t.Errorf("%+v", c)
	}
	if tail := c.Entrypoint[len(c.Entrypoint)-2:]; !slices.Equal([]string(tail), []string{"2", fmt.Sprint(now.Unix() + 2)}) {
		t.Errorf("it lasts for %q", tail)
	}
	plain := Spec{Image: "i:1", Network: "bridge", Cmd: []string{"own"}}.config(now, o)
	if plain.Image != "i:1" || plain.Hostname != "" || plain.WorkingDir != "" || !slices.Equal([]string(plain.Entrypoint), []string{"own"}) || len(plain.Labels) != 2 {
		t.Errorf("%+v", plain)
	}
	if len(s.Labels) != 1 {
		t.Errorf("the caller's labels were changed: %v", s.Labels)
	}
}

func TestADeadlineHasComeTwoSecondsBeforeIt(t *testing.T) {
	at := func(d time.Duration) container.InspectResponse {
		return container.InspectResponse{Config: &container.Config{Labels: map[string]string{
			LabelExpires: time.Now().Add(d).UTC().Format(time.RFC3339Nano),
		}}}
	}
	for d, want := range map[time.Duration]bool{-time.Hour: true, time.Second: true, 2500 * time.Millisecond: false, time.Hour: false} {
		if got := expired(at(d)); got != want {
			t.Errorf("%v before it: %v", d, got)
		}
	}
	if expired(container.InspectResponse{}) || expired(container.InspectResponse{Config: &container.Config{}}) {
		t.Error("what has no deadline is past it")
	}
}

// Which calls of bash a warm shell can stand in for, and what each reads at its start.
func TestHowABashIsCalledDecidesHowItsCommandsRun(t *testing.T) {
	for call, want := range map[string]string{
		"":                  "bash -c | warm, BASH_ENV",
		"bash -c":           "bash -c | warm, BASH_ENV",
		"/bin/bash -c":      "/bin/bash -c | warm, BASH_ENV",
		"/usr/bin/bash -lc": "/usr/bin/bash -lc | warm, login",
		"bash -cl":          "bash -cl | warm, login",
		"bash -l -c":        "bash -l -c | warm, login",
		"bash --login -c":   "bash --login -c | warm, login",
		"bash -x -c":        "fresh bash -x -c",
		"bash":              "fresh bash",
		"sh -c":             "fresh sh -c",
		"env":               "fresh env",
		"/opt/bin/bash -c":  "fresh /opt/bin/bash -c",
	} {
		for _, fresh := range []bool{false, true} {
			argv, warm := dispatcherArgs(strings.Fields(call), fresh)
			got := ""
			if warm {
				text := argv[len(argv)-1]
				got = strings.Join(argv[:len(argv)-1], " ") + " | warm, BASH_ENV"
				if strings.Contains(text, "~/.bash_profile") {
					got = strings.Join(argv[:len(argv)-1], " ") + " | warm, login"
				}
				if !strings.Contains(text, "$BASH_ENV") || strings.Contains(text, "\n") {
					t.Errorf("%q: %s", call, text)
				}
			} else {
				got = "fresh " + strings.Join(argv[5:], " ")
				if !slices.Equal(argv[:3], []string{"bash", "-p", "-c"}) || argv[4] != "bash" || strings.Contains(argv[3], "\n") {
					t.Errorf("%q: %q", call, argv)
				}
			}
			want := want
			if fresh {
				if want = "fresh " + call; call == "" {
					want = "fresh bash -c"
				}
			}
			if got != want {
				t.Errorf("%q, fresh %v: %s, want %s", call, fresh, got, want)
			}
		}
	}
}

func TestCommandsShareAShellOnlyWhenItIsTheSame(t *testing.T) {
	base := Command{Args: []string{"bash", "-c"}, Env: []string{"A=b"}}
	same := Command{Args: []string{"bash", "-c"}, Env: []string{"A=b"}, Script: "x", Dir: "/", Timeout: 1}
	if base.shellKey() != same.shellKey() {
		t.Error("script, directory and time limit need no shell of their own")
	}
	for _, other := range []Command{
		{Args: []string{"bash", "-lc"}, Env: []string{"A=b"}},
		{Args: []string{"bash", "-c"}, Env: []string{"A=c"}},
		{Args: []string{"bash", "-c"}},
		{Args: []string{"bash", "-c"}, Env: []string{"A=b"}, Fresh: true},
		{Args: []string{"bash", "-c", "A=b"}},
	} {
		if base.shellKey() == other.shellKey() {
			t.Errorf("%+v shares a shell with %+v", other, base)
		}
	}
}

func TestAShellIsTakenBackOnlyWhenNobodyHoldsItsOutput(t *testing.T) {
	fresh := func() *shell {
		return &shell{key: "k", warm: true, wire: newWire(), stream: &stream{done: make(chan struct{}), end: func() {}}}
	}
	for name, c := range map[string]struct {
		held, idle     int
		kept, stayWarm bool
	}{
		"nobody":           {0, 0, true, true},
		"nobody, one idle": {0, 1, true, true},
		"enough are idle":  {0, maxIdle, false, true},
		"its output":       {1, 0, false, true},
		"its input":        {2, 0, false, false},
	} {
		var p shells
		for range c.idle {
			p.idle = append(p.idle, fresh())
		}
		s := fresh()
		p.put(s, c.held)
		if kept := slices.Contains(p.idle, s); kept != c.kept || slices.Contains(p.retired, s) == c.kept || s.warm != c.stayWarm {
			t.Errorf("%s: kept %v, retired %d, warm %v", name, kept, len(p.retired), s.warm)
		}
		if got := p.pick("k"); (got != nil) != (len(p.idle) < c.idle || c.idle > 0 || c.kept) {
			t.Errorf("%s: picked %v", name, got)
		}
		if p.pick("other") != nil {
			t.Errorf("%s: picked for another key", name)
		}
	}
	var p shells
	dead, alive := fresh(), fresh()
	close(dead.stream.done)
	p.idle = []*shell{dead, alive}
	if p.pick("k") != alive || !slices.Equal(p.retired, []*shell{dead}) || len(p.idle) != 0 {
		t.Errorf("idle %d, retired %d", len(p.idle), len(p.retired))
	}
	cold, first, second := fresh(), fresh(), fresh()
	cold.warm = false
	p.retired = []*shell{cold, first, second}
	if p.held("other") != nil || p.held("k") != first || !slices.Equal(p.retired, []*shell{cold, second}) {
		t.Errorf("retired %d", len(p.retired))
	}
}
