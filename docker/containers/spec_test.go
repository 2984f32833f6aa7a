package containers

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/google/go-cmp/cmp"

	"batch.example/batch/docker/boxinit"
	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/internal/owner"
	"batch.example/batch/sandbox/engine"
)

func TestAnInvalidSpecIsAUsageFault(t *testing.T) {
	for want, s := range map[string]engine.Spec{
		"no image":               {},
		"an absolute path":       {Image: "i", WorkDir: "testbed"},
		"must not be negative":   {Image: "i", Memory: -1},
		"not be negative":        {Image: "i", CPUs: -0.5},
		"be negative":            {Image: "i", Unattended: -1},
		"negative":               {Image: "i", ShmSize: -1},
		"invalid ulimit":         {Image: "i", Ulimits: []string{"files=1"}},
		"less than the 6 MiB":    {Image: "i", Memory: 6<<20 - 1},
		"1 bytes of memory are ": {Image: "i", Memory: 1},
	} {
		if err := (spec{s}).check(); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
	for _, s := range []engine.Spec{{Image: "i"}, {Image: "i", Memory: 6 << 20, CPUs: 0.01, Unattended: 1, ShmSize: 1, WorkDir: "/x"}} {
		if err := (spec{s}).check(); err != nil {
			t.Errorf("spec %+v: got %v, want no error", s, err)
		}
	}
}

// The restrictions between an agent and the machine in the create request.
func TestCreateRequestOfASpec(t *testing.T) {
	usual := spec{engine.Spec{Image: "i"}}.hostConfig()
	if usual.Init == nil || *usual.Init || usual.NetworkMode != "none" || *usual.PidsLimit != 4096 || usual.LogConfig.Type != "none" {
		t.Errorf("default host config %+v lacks a restriction", usual)
	}
	if !slices.Equal(usual.SecurityOpt, []string{"no-new-privileges"}) || !slices.Equal([]string(usual.CapDrop), []string{"ALL"}) {
		t.Errorf("security %q, dropped %q; want security opt %v, dropped %v",
			usual.SecurityOpt, usual.CapDrop, []string{"no-new-privileges"}, []string{"ALL"})
	}
	capabilities, _ := engine.Grants(nil, nil)
	if !slices.Equal([]string(usual.CapAdd), capabilities) || !slices.Equal(usual.ExtraHosts, []string{"sandbox:127.0.0.1"}) {
		t.Errorf("given %q, hosts %q; want given %v, extra hosts %v",
			usual.CapAdd, usual.ExtraHosts, capabilities, []string{"sandbox:127.0.0.1"})
	}
	if usual.Memory != 0 || usual.MemorySwap != 0 || usual.NanoCPUs != 0 || usual.CPUShares != 0 {
		t.Errorf("limits %+v, want memory 0, memory swap 0, nano cpus 0", usual.Resources)
	}
	full := spec{engine.Spec{
		Image: "i", Network: "bridge", Memory: 100, CPUs: 1.5, PidsLimit: 7, ShmSize: 9, SecurityOpt: []string{"seccomp=x"},
		ExtraHosts: []string{"a:1.2.3.4"}, CapAdd: []string{"SYS_PTRACE"}, CapDrop: []string{"CAP_CHOWN"},
	}}
	h := full.hostConfig()
	if h.NetworkMode != "bridge" || h.Memory != 100 || h.MemorySwap != 100 || h.NanoCPUs != 1_500_000_000 || *h.PidsLimit != 7 || h.ShmSize != 9 {
		t.Errorf("got %+v, want network mode %q, memory 100, memory swap 100, nano cpus 1_500_000_000, pids limit 7, shm size 9",
			h, "bridge")
	}
	if !slices.Equal(h.SecurityOpt, []string{"no-new-privileges", "seccomp=x"}) || !slices.Equal(h.ExtraHosts, full.ExtraHosts) {
		t.Errorf("security %q, hosts %q; want security opt %v, extra hosts %v",
			h.SecurityOpt, h.ExtraHosts, []string{"no-new-privileges", "seccomp=x"}, full.ExtraHosts)
	}
	if !slices.Contains(h.CapAdd, "SYS_PTRACE") || slices.Contains(h.CapAdd, "CHOWN") || !slices.Equal([]string(h.CapDrop), []string{"ALL", "CAP_CHOWN"}) {
		t.Errorf("given %q, dropped %q; want %v among the given capabilities, no %v in it, dropped %v",
			h.CapAdd, h.CapDrop, "SYS_PTRACE", "CHOWN", []string{"ALL", "CAP_CHOWN"})
	}
	full.Mounts, full.Tmpfs, full.Ulimits, full.ReadOnly = []engine.Mount{{Source: "/a", Target: "/b"}}, map[string]string{"/run": "size=1m"}, []string{"nofile=10:20"}, true
	h = full.hostConfig()
	mounts := []mount.Mount{{Type: mount.TypeBind, Source: "/a", Target: "/b", ReadOnly: true, BindOptions: &mount.BindOptions{NonRecursive: true}}}
	if d := cmp.Diff(mounts, h.Mounts); d != "" || h.Tmpfs["/run"] != "size=1m" || !h.ReadonlyRootfs || len(h.Ulimits) != 1 || h.Ulimits[0].String() != "nofile=10:20" {
		t.Errorf("mounts (-want +got):\n%s\nlimits %v, %+v", d, h.Ulimits, h)
	}
	for swap, want := range map[int64]int64{0: 100, -1: -1, 300: 300} {
		s := full
		if s.MemorySwap = swap; s.hostConfig().MemorySwap != want {
			t.Errorf("swap %d: got %d, want memory swap %v", swap, s.hostConfig().MemorySwap, want)
		}
	}
	named := spec{engine.Spec{Image: "i", ExtraHosts: []string{"sandbox:10.0.0.1"}}}
	if got := named.hostConfig().ExtraHosts; !slices.Equal(got, named.ExtraHosts) {
		t.Errorf("the caller's extra host was replaced: %q", got)
	}
	none := spec{engine.Spec{Image: "i", PidsLimit: -1}}
	if *none.hostConfig().PidsLimit != -1 {
		t.Error("a negative pids limit sets a limit")
	}
}

func TestContainerConfigOfASpec(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o := owner.Owner{Host: "h", Pid: 1}
	s := spec{engine.Spec{Image: "i:1", ImageID: "sha256:1", Env: []string{"A=b"}, User: "u", Labels: map[string]string{"mine": "x"}, WorkDir: "/w", Unattended: 1500 * time.Millisecond}}
	c := s.config(now, o, wire.Key{0xab})
	want := map[string]string{
		"mine": "x", LabelOwner: o.String(), LabelImage: "i:1", labelWorkDir: "/w",
		LabelExpires: "2026-01-02T03:04:06Z", labelUnattended: "1.5s", labelKey: "ab" + strings.Repeat("0", 62),
	}
	if d := cmp.Diff(want, c.Labels); d != "" {
		t.Errorf("labels (-want +got):\n%s", d)
	}
	if c.Image != "sha256:1" || c.User != "u" || c.WorkingDir != "/" || c.Hostname != "sandbox" || c.StopSignal != "SIGKILL" ||
		!slices.Equal(c.Env, s.Env) || !slices.Equal(c.Healthcheck.Test, []string{"NONE"}) {
		t.Errorf("got %+v, want image %q, user %q, working dir %q, hostname %q, stop signal %q, env %v, test %v",
			c, "sha256:1", "u", "/", "sandbox", "SIGKILL", s.Env, []string{"NONE"})
	}
	if !slices.Equal([]string(c.Entrypoint), []string{boxinit.Path}) || len(c.Cmd) > 0 || !c.OpenStdin || c.StdinOnce {
		t.Errorf("it begins with %q %q; want entrypoint %v, no cmd, open stdin true, stdin once false",
			c.Entrypoint, c.Cmd, []string{boxinit.Path})
	}
	plain := spec{engine.Spec{Image: "i:1", Network: "bridge"}}.config(now, o, wire.Key{})
	if plain.Image != "i:1" || plain.Hostname != "" || plain.WorkingDir != "" || len(plain.Labels) != 3 {
		t.Errorf("got %+v, want image %q, no hostname, no working dir, 3 labels", plain, "i:1")
	}
	if len(s.Labels) != 1 {
		t.Errorf("the caller's labels were changed: %v", s.Labels)
	}
}

// A version of batch before leases named a machine must find the lock file by its label, or it
// would take the container for abandoned.
func TestTheLeaseIsInLabelsThatEarlierVersionsRead(t *testing.T) {
	lease := owner.Lease("/runs/a/.lock")
	l := spec{engine.Spec{Image: "i", Labels: map[string]string{engine.LabelLease: lease}}}.labels(time.Now(), owner.Owner{})
	if l["batch.lease"] != "/runs/a/.lock" {
		t.Errorf("the label is %q, want the path", l["batch.lease"])
	}
	s := (&Fleet{engine: &daemon.Conn{}}).summarize(container.Summary{Labels: l}, time.Now())
	if s.Lease != lease {
		t.Errorf("the lease is %q, want %q", s.Lease, lease)
	}
}

func TestContainerNames(t *testing.T) {
	made := func(id, attempt, network string) string {
		return spec{engine.Spec{Network: network, Labels: map[string]string{engine.LabelInstance: id, engine.LabelAttempt: attempt}}}.generatedName()
	}
	for _, c := range []struct{ id, attempt, network, want string }{
		{"django__django-11099", "2", "", `batch-django__django-11099-2-[a-z2-7]{8}`},
		{"django__django-11099", "2", "none", `batch-django__django-11099-2-[a-z2-7]{8}`},
		{"a b:c@ü$(x)\n", "1", "", `batch-a_b_c____x__-1-[a-z2-7]{8}`},
		{"a..b", "", "", `batch-a\.\.b-[a-z2-7]{8}`},
		{"x", "1; rm", "", `batch-x-[a-z2-7]{8}`},
		{strings.Repeat("é", 200), "12", "", `batch-_{64}-12-[a-z2-7]{8}`},
		{"", "1", "", `batch-[a-z2-7]{12}`},
		// A network's name server would tell a container its own name.
		{"django__django-11099", "2", engine.Bridge, `batch-[a-z2-7]{12}`},
		{"django__django-11099", "2", "host", `batch-[a-z2-7]{12}`},
	} {
		got := made(c.id, c.attempt, c.network)
		if !regexp.MustCompile(`^` + c.want + `$`).MatchString(got) {
			t.Errorf("instance %q, attempt %q, network %q: %s, want %s", c.id, c.attempt, c.network, got, c.want)
		}
	}
	if first, second := made("x", "1", ""), made("x", "1", ""); first == second {
		t.Error("two containers of one attempt have the same name")
	}
}
