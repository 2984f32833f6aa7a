package leftovers

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/internal/enginetest"
)

// stage makes an isolated machine for the check, which no other test changes and which
// leaves nothing behind: links, processes, mounts and the folders that
// the check reads. Mounts of the machine's engine and of other tests, which could vanish meanwhile,
// are unmounted. $1 is the check, $2 the folder of an engine's socket.
const stage = `set -e
awk '$5 ~ "^/(run|var/lib)/|/Test" { print $5 }' /proc/self/mountinfo | tac | xargs -r umount -n -l || true # some go while it looks
mount -n -t tmpfs tmpfs /run
mkdir /run/engine
mount -n --bind "$2" /run/engine
cp "$1" /run/leftovers
mount -n -t tmpfs tmpfs /tmp
mount -n -t tmpfs tmpfs /sys/fs/cgroup
mount -n -t tmpfs tmpfs /sys/block
ip link add was0 type bridge
mkdir -p /sys/fs/cgroup/docker /sys/fs/cgroup/pids /sys/block/loop7
touch /tmp/batch-old
mkdir /tmp/batch-dockerd-7 /sys/fs/cgroup/pids/batch-dockerd-7
exec /run/leftovers bash -c "$3"`

// check runs the check around a planted object, on its own stage.
func check(t *testing.T, engine, plant string, env ...string) (said string, code int) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("namespaces need root")
	}
	for _, program := range []string{"unshare", "ip", "iptables"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("run scripts/ensure-extras as root: ", err)
		}
	}
	script, err := filepath.Abs("../../scripts/leftovers")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--net", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc",
		"--propagation", "private", "bash", "-c", stage, "stage", script, engine, plant)
	cmd.Env = append(os.Environ(), "DOCKER_HOST=unix:///run/engine/s", "LEFTOVERS_WAIT=0", "LEFTOVERS_WARN=")
	cmd.Env = append(cmd.Env, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Skip(err)
	}
	if said = stderr.String(); strings.Contains(said, "unshare:") {
		t.Skip(said)
	}
	return said, cmd.ProcessState.ExitCode()
}

// found are the lines that name a difference.
func found(said string) (lines []string) {
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "  ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestLeftoversAreNamed(t *testing.T) {
	for _, c := range []struct{ what, plant, want string }{
		{"a link", "ip link add left0 type bridge", "+ link left0"},
		{"a link that is gone", "ip link delete was0", "- link was0"},
		{"an address", "ip address add 192.0.2.77/32 dev lo", "+ address lo 192.0.2.77/32"},
		{"a chain of iptables", "iptables -t nat -N LEFT", "+ rule iptables-save *nat :LEFT"},
		{"a rule of iptables", "iptables -A INPUT -s 192.0.2.77 -j DROP", "+ rule iptables-save *filter -A INPUT -s 192.0.2.77/32 -j DROP"},
		{"a process", "setsid sleep 600 & until grep -qsx sleep /proc/$!/comm; do :; done", "sleep 600"},
		{"a process without our environment", "cp /bin/sleep /run/dockerd; env -i setsid /run/dockerd 600 & until grep -qsx dockerd /proc/[0-9]*/comm; do sleep 0.1; done", "/run/dockerd 600"},
		{"a mount", "mount -n -t tmpfs left /mnt", "+ mount /mnt tmpfs left"},
		{"a loop device", "mkdir /sys/block/loop7/loop; echo /left.img >/sys/block/loop7/loop/backing_file", "+ loop /sys/block/loop7/loop/backing_file:/left.img"},
		{"a network namespace", "ip netns add left", "+ mount /run/netns/left nsfs nsfs"},
		{"a cgroup", "mkdir /sys/fs/cgroup/docker/0123", "+ cgroup /sys/fs/cgroup/docker/0123"},
		{"a cgroup that is gone", "rmdir /sys/fs/cgroup/docker; mkdir /sys/fs/cgroup/batch-left", "+ cgroup /sys/fs/cgroup/batch-left"},
		{"a setting", "echo 1 >/proc/sys/net/ipv4/conf/all/route_localnet", "+ setting net/ipv4/conf/all/route_localnet:1"},
		{"a temporary file", `touch "$TMPDIR/left"`, "/left"},
		{"a file in /tmp", "mkdir /tmp/.batch-left", "+ file /tmp/.batch-left, changed"},
		{"a folder of an engine that is left", "mkdir /tmp/batch-dockerd-8", "+ file /tmp/batch-dockerd-8, changed"},
		{"a file in /tmp that was there", "touch /tmp/batch-old", "+ file /tmp/batch-old, changed"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			said, code := check(t, t.TempDir(), c.plant)
			if code != 1 || !strings.Contains(strings.Join(found(said), "\n"), c.want) {
				t.Errorf("exit code %d, want 1 and %q\n%s", code, c.want, said)
			}
		})
	}
}

func TestLeftoversOnTheEngineAreNamed(t *testing.T) {
	if os.Getenv("BATCH_DOCKER") == "" {
		t.Skip("BATCH_DOCKER is not set")
	}
	d := enginetest.Start(t)
	d.Import("one:test", nil)
	folder := filepath.Dir(strings.TrimPrefix(d.Host(), "unix://"))
	for _, c := range []struct{ what, plant, want, undo string }{
		{"a container", "docker create --name left --network none one:test true", "+ container left one:test", "docker rm left"},
		{"an image", "docker tag one:test left:test", "+ image left:test", "docker rmi left:test"},
		{"a volume", "docker volume create left", "+ volume left", "docker volume rm left"},
		{"a network", "docker network create left", "+ network left", "docker network rm left"},
		{"an image that is gone", "docker rmi one:test", "- image one:test", "true"},
	} {
		t.Run(c.what, func(t *testing.T) {
			said, code := check(t, folder, c.plant)
			if code != 1 || !strings.Contains(strings.Join(found(said), "\n"), c.want) {
				t.Errorf("exit code %d, want 1 and %q\n%s", code, c.want, said)
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-c", c.undo)
			cmd.Env = append(os.Environ(), "DOCKER_HOST="+d.Host())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

func TestSharedObjectsOfContainersAreRemovedIfTheyWereNew(t *testing.T) {
	if os.Getenv("BATCH_DOCKER") == "" {
		t.Skip("BATCH_DOCKER is not set")
	}
	d := enginetest.Start(t)
	folder := filepath.Dir(strings.TrimPrefix(d.Host(), "unix://"))
	docker := func(arg ...string) string {
		cmd := exec.CommandContext(t.Context(), "docker", arg...)
		cmd.Env = append(os.Environ(), "DOCKER_HOST="+d.Host())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	for _, thing := range []struct{ kind, flag, name string }{
		{"network", "--label=batch.network=shared", "batch"},
		{"volume", "--driver=local", "batch-init-amd64-0123456789ab"},
	} {
		if said, code := check(t, folder, "docker "+thing.kind+" create "+thing.flag+" "+thing.name); code != 0 || len(found(said)) > 0 {
			t.Errorf("%s made under the check: exit code %d, want 0 and no difference\n%s", thing.kind, code, said)
		}
		docker(thing.kind, "create", thing.flag, thing.name)
		if said, code := check(t, folder, "true"); code != 0 || len(found(said)) > 0 {
			t.Errorf("%s there before: exit code %d, want 0 and no difference\n%s", thing.kind, code, said)
		}
		docker(thing.kind, "rm", thing.name) // fails if the check removed it
	}
}

func TestNoLeftovers(t *testing.T) {
	for _, c := range []struct {
		what, plant string
		env         []string
		code        int
		want        string // on standard error
	}{
		{"nothing is said", `touch "$TMPDIR/gone"; rm "$TMPDIR/gone"; ip link add x type bridge; ip link delete x`, nil, 0, ""},
		{"the command's exit code stays", "exit 7", nil, 7, ""},
		{"the command's exit code stays where something is left", "ip link add x type bridge; exit 7", nil, 7, "link x"},
		{"a warning does not fail", "ip link add x type bridge", []string{"LEFTOVERS_WARN=1"}, 0, "link x"},
		{"what may differ is not named", "touch /tmp/batch-demo-images.7.lock; mkdir /sys/fs/cgroup/pids/docker", nil, 0, ""},
		{"what a killed test left may go", "rmdir /tmp/batch-dockerd-7 /sys/fs/cgroup/pids/batch-dockerd-7", nil, 0, ""},
		{"what goes soon is waited for", "setsid sleep 0.5 &", []string{"LEFTOVERS_WAIT=60"}, 0, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			said, code := check(t, t.TempDir(), c.plant, c.env...)
			if all := strings.Join(found(said), "\n"); code != c.code || !strings.Contains(all, c.want) || c.want == "" && all != "" {
				t.Errorf("exit code %d, want %d and %q\n%s", code, c.code, c.want, said)
			}
		})
	}
}

func TestLeftoversDoesNotWaitForAHangingEngine(t *testing.T) {
	dir := t.TempDir() // mounted as /run/engine there
	const engine = "#!/bin/sh\nwhile [ -e /tmp/engine-hangs ]; do sleep 1; done\n"
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(engine), 0o755); err != nil {
		t.Fatal(err)
	}
	for plant, want := range map[string]int{"touch /tmp/engine-hangs": 1, "touch /tmp/engine-hangs; exit 7": 7} {
		t.Run(plant, func(t *testing.T) {
			t.Parallel()
			// Before it hangs, the engine must answer within this time on a busy machine too.
			said, code := check(t, dir, plant, "PATH=/run/engine:"+os.Getenv("PATH"), "LEFTOVERS_PATIENCE=20")
			if code != want || !strings.Contains(said, "does not answer any more") {
				t.Errorf("exit code %d, want %d\n%s", code, want, said)
			}
		})
	}
}

func TestLeftoversThatCannotBeChecked(t *testing.T) {
	for _, c := range []struct{ program, says, want string }{
		{"uname", "Darwin", "needs Linux and root"},
		{"id", "1000", "needs Linux and root"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, c.program), []byte("#!/bin/sh\necho "+c.says+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "../../scripts/leftovers", "sh", "-c", `echo "ran with $LEFTOVERS"; exit 5`)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 5 || !strings.Contains(string(out), c.want) || !strings.Contains(string(out), "ran with unknown") {
			t.Errorf("got %s says %s: exit code %d; want exit code 5, %q in the output, %q in the output\n%s",
				c.program, c.says, code, c.want, "ran with unknown", out)
		}
	}
	said, _ := check(t, t.TempDir(), "true")
	if !strings.Contains(said, "no Docker engine answers") {
		t.Errorf("without an engine it says\n%s", said)
	}
}
