package leftovers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/internal/enginetest"
)

// stage makes an isolated machine, which no other test changes and which leaves nothing behind.
// Mounts that could vanish meanwhile are unmounted. $1 is the check, and $2 the command under it.
const stage = `set -e
awk '$5 ~ "^/(run|var/lib)/|/Test" { print $5 }' /proc/self/mountinfo | tac | xargs -r umount -n -l || true # some go while it looks
mount -n -t tmpfs tmpfs /run
cp "$1" /run/leftovers
mount -n -t tmpfs tmpfs /tmp
mount -n -t tmpfs tmpfs /sys/fs/cgroup
mkdir /sys/fs/cgroup/docker
exec /run/leftovers bash -c "$2"`

func TestWhatACommandLeavesIsNamed(t *testing.T) {
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
	for _, c := range []struct {
		command string
		code    int
		want    string // without it, nothing is named
	}{
		{`touch "$TMPDIR/gone"; rm "$TMPDIR/gone"; ip link add x type bridge; ip link delete x`, 0, ""},
		{"exit 7", 7, ""},
		{"ip link add left0 type bridge; exit 7", 7, "+ link left0"},
		{"ip address add 192.0.2.77/32 dev lo", 1, "+ address lo 192.0.2.77/32"},
		{"iptables -A INPUT -s 192.0.2.77 -j DROP", 1, "+ rule iptables-save *filter -A INPUT -s 192.0.2.77/32 -j DROP"},
		{"setsid sleep 600 & until grep -qsx sleep /proc/$!/comm; do :; done", 1, "sleep 600"},
		{"mount -n -t tmpfs left /mnt", 1, "+ mount /mnt tmpfs left"},
		{"rmdir /sys/fs/cgroup/docker; mkdir /sys/fs/cgroup/batch-left", 1, "+ cgroup /sys/fs/cgroup/batch-left"},
		{"echo 1 >/proc/sys/net/ipv4/conf/all/route_localnet", 1, "+ setting net/ipv4/conf/all/route_localnet:1"},
		{"mkdir /tmp/.batch-left", 1, "+ file /tmp/.batch-left, changed"},
	} {
		t.Run(c.command, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "unshare", "--net", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc",
				"--propagation", "private", "bash", "-c", stage, "stage", script, c.command)
			cmd.Env = append(os.Environ(), "DOCKER_HOST=unix:///run/no-engine", "LEFTOVERS_WAIT=0", "LEFTOVERS_WARN=")
			out, _ := cmd.CombinedOutput()
			if strings.Contains(string(out), "unshare:") {
				t.Skipf("%s", out)
			}
			if code, named := cmd.ProcessState.ExitCode(), strings.Contains(string(out), "\n  "); code != c.code || named != (c.want != "") || !strings.Contains(string(out), c.want) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, c.code, c.want, out)
			}
		})
	}
}

func TestAContainerThatIsLeftIsNamed(t *testing.T) {
	if os.Getenv("BATCH_DOCKER") == "" {
		t.Skip("BATCH_DOCKER is not set")
	}
	d := enginetest.Start(t)
	d.Import("one:test", nil)
	cmd := exec.CommandContext(t.Context(), "../../scripts/leftovers", "docker", "create", "--name", "left", "--network", "none", "one:test", "true")
	cmd.Env = append(os.Environ(), "DOCKER_HOST="+d.Host(), "LEFTOVERS_WAIT=0", "LEFTOVERS_WARN=")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "+ container left one:test") {
		t.Errorf("%v, want a failure that names the container\n%s", err, out)
	}
}
