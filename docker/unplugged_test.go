package docker_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
)

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
