package docker_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/network"

	"batch.example/batch/fault"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
)

func TestOnlyNamesOfNetworksAreLookedUp(t *testing.T) {
	tier.Rest(t)
	s := newEngineStub(t)
	e := s.connect(t, time.Hour)
	s.say("GET /networks/*", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/mine") {
			answer(http.StatusOK, map[string]any{"Id": "1", "Name": "mine"})(w, r)
			return
		}
		answer(http.StatusNotFound, map[string]string{"message": "no such network"})(w, r)
	})
	for name, want := range map[string]fault.Kind{
		"": fault.Unknown, "none": fault.Unknown, "host": fault.Unknown, "default": fault.Unknown, "bridge": fault.Unknown,
		"container:x": fault.Unknown, "mine": fault.Unknown, "nosuch": fault.Usage,
		// Podman's, which are not among its networks.
		"private": fault.Unknown, "slirp4netns": fault.Unknown, "slirp4netns:mtu=1500": fault.Unknown,
		"pasta": fault.Unknown, "pasta:--mtu,1500": fault.Unknown, "mine:ip=10.88.0.9": fault.Unknown,
	} {
		if err := e.CheckNetwork(soon(t), name); fault.KindOf(err) != want || (err == nil) != (want == fault.Unknown) {
			t.Errorf("network %q: %v, want kind %v", name, err, want)
		}
	}
}

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

// surroundings prints what a process sees of the network: the same in a container with and
// without a network sandbox, except for the name server, which cannot be reached.
const surroundings = `hostname; cat /etc/hosts /proc/net/if_inet6 /proc/net/route; ls /sys/class/net; stat -c '%a %U %n' /etc/hosts /etc/resolv.conf
grep -r . /proc/sys/net 2>/dev/null | grep -v nf_conntrack_count | sort
getent hosts localhost; getent hosts "$(hostname)"; getent hosts example.com; echo "$?"
command -v python3 >/dev/null && python3 -c '
import socket
s = socket.create_server(("localhost", 0)); c = socket.create_connection(s.getsockname()); print("connected", c.getpeername()[0])
for what in (lambda: socket.gethostbyname("example.com"), lambda: socket.create_connection(("10.1.2.3", 80), 5), lambda: socket.socket(socket.AF_INET6).bind(("::1", 0))):
    try:
        print(what())
    except OSError as e:
        print(e)
'; true`

func TestAContainerWithoutANetworkSandboxHasWhatOthersHave(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	image := demoImage(t)
	bare := start(t, e, engine.Spec{Image: image})
	if in, err := raw(t).ContainerInspect(t.Context(), bare.ID()); err != nil || !in.Config.NetworkDisabled {
		t.Fatalf("the container: %+v, %v; want one without a network sandbox", in.Config, err)
	}
	// The engine writes hosts of the user's.
	plugged := start(t, e, engine.Spec{Image: image, ExtraHosts: []string{"sandbox:127.0.0.1"}})
	got, want := string(run(t, bare, surroundings).Bytes), string(run(t, plugged, surroundings).Bytes)
	if got != want {
		t.Errorf("without a network sandbox:\n%s\nwith one:\n%s", got, want)
	}
	if r := run(t, bare, `ls -A /etc | grep part; echo 127.0.0.1 more >>/etc/hosts && getent hosts more`); !strings.HasPrefix(string(r.Bytes), "127.0.0.1") {
		t.Errorf("a name that a command adds to /etc/hosts: exit code %d, %q", r.ExitCode, r.Bytes)
	}
}

// Another user may not write the files, so the engine has to: in all containers from then on.
func TestAnUnprivilegedUsersContainerHasANetworkSandbox(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	for range 2 {
		c := start(t, e, engine.Spec{Image: demoImage(t), User: "1000:1000"})
		if r := run(t, c, `getent hosts localhost sandbox`); strings.Count(string(r.Bytes), "\n") != 2 {
			t.Errorf("its own names: exit code %d, %q; want two addresses", r.ExitCode, r.Bytes)
		}
	}
	c := start(t, e, engine.Spec{Image: demoImage(t)})
	out, err := exec.CommandContext(t.Context(), "docker", "inspect", "--format", "{{.Config.NetworkDisabled}}", c.ID()).Output()
	if err != nil || string(out) != "true\n" {
		t.Errorf("root's container is without a network sandbox: %s, %v; want true", out, err)
	}
}

func TestAnEngineWithoutNamespacesOfTheirOwnGivesNetworkSandboxes(t *testing.T) {
	tier.Rest(t)
	s := newEngineStub(t)
	s.files["/proc/net/route"] = "Iface\tDestination\neth0\t00000000\n"
	e := s.connect(t, time.Hour)
	for range 2 {
		if _, err := e.Create(t.Context(), engine.Spec{Image: stubImage}); err != nil {
			t.Fatal(err)
		}
	}
	var got []bool
	for _, m := range s.made {
		got = append(got, m.NetworkDisabled)
		if m.HostConfig.NetworkMode != "none" {
			t.Errorf("a container was created with network %q, want none", m.HostConfig.NetworkMode)
		}
	}
	if want := []bool{true, false, false}; !slices.Equal(got, want) || s.count("DELETE /containers/*") != 1 {
		t.Errorf("containers without a sandbox: %v, %d removed; want %v, 1", got, s.count("DELETE /containers/*"), want)
	}
}
