package docker_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
)

// status returns the values of /proc/self/status in the container by name.
func status(t *testing.T, c *containers.Container) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(string(run(t, c, "cat /proc/self/status").Bytes)) {
		name, value, _ := strings.Cut(line, ":")
		out[name] = strings.TrimSpace(value)
	}
	return out
}

// usual is the mask of CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID,
// SETUID, NET_BIND_SERVICE and SYS_CHROOT.
const usual = "00000000000404fb"

func TestRestrictionsSeenFromInsideAContainer(t *testing.T) {
	t.Setenv("BATCH_TEST_SECRET", "planted")
	c := start(t, connect(t), engine.Spec{})
	s := status(t, c)
	if s["CapEff"] != usual || s["CapPrm"] != usual || s["CapBnd"] != usual || s["CapInh"] != usual && s["CapInh"] != strings.Repeat("0", 16) {
		t.Errorf("capabilities %s, %s, %s, %s; want the usual set", s["CapEff"], s["CapPrm"], s["CapBnd"], s["CapInh"])
	}
	if s["NoNewPrivs"] != "1" || s["Seccomp"] != "2" {
		t.Errorf("NoNewPrivs %s, Seccomp %s; want both set", s["NoNewPrivs"], s["Seccomp"])
	}
	if r := run(t, c, "ls /sys/class/net"); string(r.Bytes) != "lo\n" {
		t.Errorf("network interfaces %q, want output %q", r.Bytes, "lo\n")
	}
	if r := run(t, c, "env"); strings.Contains(string(r.Bytes), "planted") {
		t.Errorf("the container has the environment of the test process: %s", r.Bytes)
	}
	// Files that an engine mounts itself; the init program and three files of /etc are from its machine.
	own := map[string]bool{"/": true, "/sbin/docker-init": true, "/etc/resolv.conf": true, "/etc/hostname": true, "/etc/hosts": true}
	for line := range strings.Lines(string(run(t, c, "cat /proc/self/mounts").Bytes)) {
		if strings.Contains(line, "docker.sock") {
			t.Errorf("the engine's socket: %s, want no %q in the line", line, "docker.sock")
		}
		f := strings.Fields(line)
		if len(f) < 6 || own[f[1]] || f[1] == "/dev" || f[1] == "/proc" || f[1] == "/sys" ||
			strings.HasPrefix(f[1], "/dev/") || strings.HasPrefix(f[1], "/proc/") || strings.HasPrefix(f[1], "/sys/") {
			continue
		}
		t.Errorf("an unexpected mount: %s", line)
	}
}

func TestCapabilitiesAreGivenAndTakenAsAsked(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	for _, tt := range []struct {
		name      string
		add, drop []string
		want      string
	}{
		{"one more", []string{"CAP_SYS_PTRACE"}, nil, "00000000000c04fb"},
		{"one less, in small letters", nil, []string{"chown"}, "00000000000404fa"},
		{"none", nil, []string{"all"}, "0000000000000000"},
		{"only one", []string{"CHOWN"}, []string{"ALL"}, "0000000000000001"},
		{"one that is both: given, as docker run has it", []string{"CHOWN"}, []string{"CHOWN"}, usual},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := status(t, start(t, e, engine.Spec{CapAdd: tt.add, CapDrop: tt.drop}))["CapEff"]; got != tt.want {
				t.Errorf("capabilities %s, want %s", got, tt.want)
			}
		})
	}
}

func TestRootCanDoWhatInstallersDo(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	c := start(t, connect(t), engine.Spec{Image: demoImage(t)})
	const script = `set -e
mkdir /opt/pkg && echo hi > /opt/pkg/f && chown -R 12345:54321 /opt/pkg && chmod 2755 /opt/pkg && chmod 4755 /opt/pkg/f
echo more >> /opt/pkg/f                 # a file of somebody else
[ "$(stat -c %u:%g:%a /opt/pkg)" = 12345:54321:2755 ]
tar -C /opt -cf /tmp/p.tar pkg && mkdir /tmp/x && tar -C /tmp/x -xpf /tmp/p.tar
[ "$(stat -c %u:%g /tmp/x/pkg/f)" = 12345:54321 ]
su -s /bin/bash nobody -c 'id -un; ! cat /etc/shadow 2>/dev/null'
chroot / true
mkfifo /tmp/fifo
su -s /bin/bash nobody -c 'sleep 300 & echo $! > /tmp/pid.$$; cat /tmp/pid.$$' > /tmp/pid && kill "$(cat /tmp/pid)"
if dpkg --version >/dev/null 2>&1; then
	mkdir -p /tmp/d/DEBIAN /tmp/d/usr/share/t && echo x > /tmp/d/usr/share/t/x
	printf 'Package: t\nVersion: 1\nArchitecture: all\nMaintainer: t <t@localhost>\nDescription: t\n' > /tmp/d/DEBIAN/control
	printf '#!/bin/sh\nset -e\nchown nobody /usr/share/t/x\n' > /tmp/d/DEBIAN/postinst && chmod 755 /tmp/d/DEBIAN/postinst
	dpkg-deb --root-owner-group -b /tmp/d /tmp/t.deb >/dev/null && dpkg -i /tmp/t.deb >/dev/null
	[ "$(stat -c %U /usr/share/t/x)" = nobody ]
	echo packaged
fi
echo done`
	r := run(t, c, script)
	if r.ExitCode != 0 || !strings.HasPrefix(string(r.Bytes), "nobody\n") || !strings.HasSuffix(string(r.Bytes), "done\n") {
		t.Errorf("exit code %d, output %s; want exit code 0, output beginning with %q, output ending in %q",
			r.ExitCode, r.Bytes, "nobody\n", "done\n")
	}
	t.Logf("output %s", r.Bytes)
}

// demoImage is an image of the demo with a complete Debian.
func demoImage(t *testing.T) string {
	t.Helper()
	const name = "batch-demo/demo__slug-1:latest"
	if _, here, err := connect(t).Image(t.Context(), name, ""); err != nil || !here {
		enginetest.Lacks(t, "no image %s: %v", name, err)
	}
	return name
}

func TestContainersShareOneNetworkAndDoNotReachOneAnother(t *testing.T) {
	t.Parallel()
	e := connect(t)
	api := raw(t)
	spec := engine.Spec{Image: demoImage(t), Network: engine.Bridge}
	var ids, addresses []string
	var boxes []*containers.Container
	for range 2 {
		c := start(t, e, spec)
		in, err := api.ContainerInspect(t.Context(), c.ID())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range in.NetworkSettings.Networks {
			ids, addresses = append(ids, n.NetworkID), append(addresses, n.IPAddress)
		}
		boxes = append(boxes, c)
	}
	if len(ids) != 2 || ids[0] != ids[1] {
		t.Fatalf("networks %v, want 2 ids, ids 0 %v", ids, ids[1])
	}
	if removed, err := e.RemoveNetwork(t.Context()); removed || err != nil {
		t.Errorf("a network in use was removed: %v, %v", removed, err)
	}
	listen := containers.Command{Timeout: time.Minute, Script: `
perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalPort => 8000, Listen => 9) or die; while (1) { $s->accept }' >/dev/null 2>&1 &
until (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do :; done`}
	if r, err := boxes[0].Run(t.Context(), listen); err != nil || r.ExitCode != 0 {
		t.Fatalf("got %+v, %v; want exit code 0, no error", r, err)
	}
	r := run(t, boxes[1], "timeout 3 bash -c 'exec 3<>/dev/tcp/"+addresses[0]+"/8000' 2>&1 && echo reached")
	if strings.Contains(string(r.Bytes), "reached") {
		t.Errorf("one container reaches another: %s", r.Bytes)
	}
}

func TestContainersOfADeadProcessOfThisMachineAreReaped(t *testing.T) {
	t.Parallel()
	e := connect(t)
	api := raw(t)
	mine := start(t, e, engine.Spec{})
	in, err := api.ContainerInspect(t.Context(), mine.ID())
	if err != nil {
		t.Fatal(err)
	}
	part := strings.Split(in.Config.Labels[containers.LabelOwner], "/")
	part[4] = "1073741824" // a process id that no system assigns
	dead := strings.Join(part, "/")
	var made []string
	for _, tt := range []struct {
		owner   string
		started bool
	}{{dead, false}, {dead, true}, {"another-host/another-machine/another-boot/1/1/1", true}} {
		c, err := api.ContainerCreate(t.Context(), &container.Config{
			Image: testImage(t), Entrypoint: []string{"true"}, Labels: map[string]string{containers.LabelOwner: tt.owner},
		}, &container.HostConfig{NetworkMode: "none"}, nil, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = api.ContainerRemove(context.Background(), c.ID, container.RemoveOptions{Force: true}) })
		if tt.started {
			// Another process that reaps may remove it before.
			err := api.ContainerStart(t.Context(), c.ID, container.StartOptions{})
			if err == nil {
				wait, errs := api.ContainerWait(t.Context(), c.ID, container.WaitConditionNotRunning)
				select {
				case <-wait:
				case err = <-errs:
				}
			}
			if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
				t.Fatal(err)
			}
		}
		made = append(made, c.ID)
	}
	if _, err := engine.Reap(t.Context(), docker.Sandboxes{Engine: e}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	owned, err := e.Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, s := range owned {
		left[s.ID] = true
	}
	if diff := cmp.Diff([]bool{false, false, true, true}, []bool{left[made[0]], left[made[1]], left[made[2]], left[mine.ID()]}); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestOneNetworkIsMadeHoweverManyAskForIt(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	api := raw(t)
	engines := []*docker.Engine{connect(t), connect(t), connect(t), connect(t)}
	if _, err := engines[0].RemoveNetwork(t.Context()); err != nil { // not removed if another test uses it
		t.Fatal(err)
	}
	var boxes [4]*containers.Container
	var wg sync.WaitGroup
	for i, e := range engines { // each acts like a process of its own
		wg.Go(func() {
			c, err := e.Create(t.Context(), engine.Spec{Image: testImage(t), Network: engine.Bridge, Unattended: 5 * time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			boxes[i] = c
		})
	}
	wg.Wait()
	networks := map[string]bool{}
	for _, c := range boxes {
		if c == nil {
			continue
		}
		in, err := api.ContainerInspect(t.Context(), c.ID())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range in.NetworkSettings.Networks {
			networks[n.NetworkID] = true
		}
		if err := c.Remove(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(networks) != 1 {
		t.Errorf("networks %v, want 1 network", networks)
	}
}
