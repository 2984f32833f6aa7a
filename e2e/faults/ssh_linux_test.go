package faults

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/tier"
)

// keepSSHD is the script that runs sshd in a mount namespace of its own: it needs a directory in
// /run, which stays as it is.
const keepSSHD = `set -e
mount -n --make-rprivate /
mount -n -t tmpfs tmpfs /run
mkdir -m 755 /run/sshd
exec /usr/sbin/sshd -D -e -f "$1"`

// overSSH starts an sshd on loopback whose docker command reaches the engine. It returns the
// engine's address, and a folder for PATH with an ssh that may log in there.
func overSSH(t *testing.T, d *enginetest.Daemon) (address, bin string) {
	t.Helper()
	for _, program := range []string{"/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen", "/usr/bin/docker"} {
		if _, err := os.Stat(program); err != nil {
			enginetest.Lacks(t, "no %s: scripts/ensure-extras installs openssh-server", program)
		}
	}
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path(key)).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().(*net.TCPAddr)
	_ = l.Close()
	for name, text := range map[string]string{
		"sshd_config": fmt.Sprintf("ListenAddress %s\nHostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPidFile none\n"+
			"PermitRootLogin prohibit-password\nMaxStartups 100\nSetEnv DOCKER_HOST=%s\n", at, path("host"), path("user.pub"), d.Host()),
		"ssh_config": fmt.Sprintf("Host *\n  IdentityFile %s\n  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile %s\n  LogLevel ERROR\n",
			path("user"), path("known_hosts")),
		"bin/ssh": fmt.Sprintf("#!/bin/sh\nexec /usr/bin/ssh -F %s \"$@\"\n", path("ssh_config")),
	} {
		if err := os.MkdirAll(filepath.Dir(path(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("unshare", "-m", "bash", "-c", keepSSHD, "bash", path("sshd_config"))
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(e2e.Patience); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", at.String())
		if err == nil {
			_ = conn.Close()
			return "ssh://root@" + at.String(), path("bin")
		}
		if time.Now().After(end) {
			t.Fatalf("no sshd at %v: %v\n%s", at, err, said.String())
		}
	}
}

// A run uses an engine on another machine, over ssh, beside one on this machine.
func TestOneRunUsesAnEngineOverSSH(t *testing.T) {
	tier.Rest(t, "run/engines", "docker/*.go", "docker/internal")
	t.Parallel()
	engines := severalEngines(t, 2)
	address, bin := overSSH(t, engines[1])
	s := severalRun(t, engines, 4, "0.1")
	s.addresses = []string{engines[0].Host(), address}
	s.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	s.run(2)
	s.wait()
	if p, count := e2e.Predictions(t, filepath.Join(s.dir, "out")), s.byEngine(); len(p) != 4 || count[address] == 0 || count[engines[0].Host()] == 0 {
		t.Errorf("predictions %q, by engine %v; want 4, some on each engine\n%s", p, count, s.said.String())
	}
	s.nothingLeft(engines)
}
