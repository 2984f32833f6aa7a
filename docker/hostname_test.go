package docker_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/network"

	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
)

// `docker ps` shows which container belongs to which instance; the processes in one do not
// learn the id, which names the change that solves the task.
func TestAContainerDoesNotLearnItsOwnName(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	image := demoImage(t)
	labels := map[string]string{engine.LabelInstance: "hidden__name-77", engine.LabelAttempt: "3"}
	for network, named := range map[string]bool{"": true, engine.Bridge: false} {
		c := start(t, e, engine.Spec{Image: image, Network: network, Labels: labels})
		in, err := raw(t).ContainerInspect(t.Context(), c.ID())
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(in.Name, "/batch-hidden__name-77-3-") != named {
			t.Errorf("network %q: the container's name is %s", network, in.Name)
		}
		r := run(t, c, `hostname; env; cat /etc/hosts /etc/hostname /etc/resolv.conf /proc/1/cmdline /proc/self/mountinfo /proc/self/cgroup
python3 -c '
import socket, struct
try:
    ip = socket.gethostbyname(socket.gethostname())
    name = ".".join(reversed(ip.split("."))) + ".in-addr.arpa"
    q = struct.pack(">HHHHHH", 1, 256, 1, 0, 0, 0) + b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0" + struct.pack(">HH", 12, 1)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(3)
    s.sendto(q, ("127.0.0.11", 53))
    print("answer", s.recv(512))
except OSError as e:
    print("no answer", e)
'`)
		if strings.Contains(string(r.Bytes), "hidden") {
			t.Errorf("network %q: a process in the container learns its name: %s", network, r.Bytes)
		}
		if network != "" && !strings.Contains(string(r.Bytes), "answer b") {
			t.Logf("the network's name server did not answer: %s", r.Bytes)
		}
	}
}

// Java looks up its own host name at its start, as many test suites do.
func TestAContainersOwnNameResolves(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	image := demoImage(t)
	named := "batch-test-" + strings.ToLower(rand.Text())
	made, err := raw(t).NetworkCreate(t.Context(), named, network.CreateOptions{Driver: "bridge"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw(t).NetworkRemove(context.Background(), made.ID) })
	for _, tt := range []struct {
		name string
		spec engine.Spec
		want string // the beginning of the address
	}{
		{"no network", engine.Spec{}, "127.0.0.1"},
		{"none, by its name", engine.Spec{Network: "none"}, "127.0.0.1"},
		{"no network and hosts of the user's", engine.Spec{ExtraHosts: []string{"db:10.1.2.3"}}, "127.0.0.1"},
		{"a host of the user's by the same name", engine.Spec{ExtraHosts: []string{"sandbox:10.1.2.3"}}, "10.1.2.3"},
		{"the shared network", engine.Spec{Network: engine.Bridge}, "1"},
		{"a network by its name", engine.Spec{Network: named, ExtraHosts: []string{"db:10.1.2.3"}}, "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.Image = image
			c := start(t, e, tt.spec)
			r := run(t, c, `getent hosts "$(hostname)"`)
			if r.ExitCode != 0 || !strings.HasPrefix(string(r.Bytes), tt.want) {
				t.Errorf("exit code %d, %q; want exit code 0, output beginning with %q", r.ExitCode, r.Bytes, tt.want)
			}
			r = run(t, c, `if command -v python3 >/dev/null; then python3 -c 'import socket; print(socket.gethostbyname(socket.gethostname()))'; else echo 1 no Python; fi`)
			if r.ExitCode != 0 || !strings.HasPrefix(string(r.Bytes), "1") {
				t.Errorf("Python: exit code %d, %q; want exit code 0, output beginning with %q", r.ExitCode, r.Bytes, "1")
			}
			t.Logf("%s", r.Bytes)
			if len(tt.spec.ExtraHosts) == 0 {
				return
			}
			if r := run(t, c, `getent hosts db sandbox`); !strings.HasPrefix(string(r.Bytes), "10.1.2.3") {
				t.Errorf("the user's: %q, want output beginning with %q", r.Bytes, "10.1.2.3")
			}
		})
	}
}
