package enginetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const patience = 3 * time.Minute // for one step of the engine, which takes about a second on an idle machine

// Daemon is a separate dockerd for a test. It has its own containerd, data and
// socket in one directory, runs in its own namespaces, has no network, and changes neither
// another engine nor the machine's settings.
type Daemon struct {
	t          testing.TB
	dir        string
	held       *os.File // prevents others from sweeping dir
	room       *room
	args       []string
	containerd *exec.Cmd
	cmd        *exec.Cmd // the dockerd
	log        *os.File
	http       *http.Client
}

// Start starts a dockerd with the given flags in addition to Start's own. It skips the
// test if a dockerd cannot run here: see [Lacks]. At the end of the test, even if it failed, everything
// is removed, including the containers. If the test is killed, the processes, network links
// and mounts end too, and the next Start removes the files and cgroups.
func Start(t testing.TB, flags ...string) *Daemon {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a separate dockerd needs root")
	}
	for _, program := range []string{"dockerd", "containerd"} {
		if _, err := exec.LookPath(program); err != nil {
			Lacks(t, "no %s is installed", program)
		}
	}
	sweep(t)
	dir, held, err := claim()
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{t: t, dir: dir, held: held}
	t.Cleanup(d.destroy)
	if d.room, err = openRoom(); err != nil {
		Lacks(t, "a separate dockerd needs namespaces: %v", err)
	}
	for name, text := range map[string]string{
		"daemon.json": "{}", // instead of the machine's own
		"containerd.toml": fmt.Sprintf("version = 2\nroot = %q\nstate = %q\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\naddress = %q\n",
			d.path("croot"), d.path("cstate"), d.path("c")),
	} {
		if err := os.WriteFile(d.path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if d.log, err = os.Create(d.path("log")); err != nil {
		t.Fatal(err)
	}
	d.args = append([]string{
		"--config-file", d.path("daemon.json"), "--data-root", d.path("data"), "--exec-root", d.path("exec"),
		"--pidfile", d.path("pid"), "--containerd", d.path("c"), "-H", d.Host(), "--bridge=none", "--iptables=false", "--ip-forward=false",
		"--storage-driver=vfs",
		// There is no cgroup namespace here: the cgroups must be recognizable by name, and not be
		// made by systemd.
		"--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", "/" + filepath.Base(dir),
	}, flags...)
	d.http = &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", d.path("s"))
		},
	}}
	// Containerd is a separate service, as on most machines: it continues when dockerd is killed.
	d.containerd = d.start("containerd", "--config", d.path("containerd.toml"))
	d.Restart()
	return d
}

func (d *Daemon) path(name string) string { return filepath.Join(d.dir, name) }

// Host is the engine's address, as DOCKER_HOST takes it.
func (d *Daemon) Host() string { return "unix://" + d.path("s") }

// Restart starts dockerd again after it was killed, and waits until it answers.
func (d *Daemon) Restart() {
	d.t.Helper()
	d.cmd = d.start("dockerd", d.args...)
	end := time.Now().Add(patience)
	for time.Now().Before(end) {
		resp, err := d.http.Get("http://engine/_ping")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	said, _ := os.ReadFile(d.path("log"))
	d.t.Fatalf("dockerd does not answer:\n%s", said[max(0, len(said)-4000):])
}

// start starts a program in the room, in its own process group, so that an interrupt in
// the terminal reaches only the test.
func (d *Daemon) start(program string, args ...string) *exec.Cmd {
	d.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = d.log, d.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.room.start(cmd); err != nil {
		d.t.Fatal(err)
	}
	return cmd
}

// Kill sends the dockerd a signal and waits until it has ended.
func (d *Daemon) Kill(sig syscall.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(sig); err != nil {
		d.t.Error(err)
	}
	late := time.AfterFunc(patience, func() { _ = d.cmd.Process.Kill() })
	_ = d.cmd.Wait() // its exit code is the signal's
	if !late.Stop() {
		d.t.Errorf("dockerd did not end within %v of %v", patience, sig)
	}
}

// Import gives the engine an image of the given name with the root file
// system in the tar root. An existing image of that name loses the name.
func (d *Daemon) Import(name string, root []byte) {
	d.t.Helper()
	repo, tag, _ := strings.Cut(name, ":")
	query := url.Values{"fromSrc": {"-"}, "repo": {repo}, "tag": {tag}, "changes": {"ENV PATH=/usr/bin:/bin"}}
	resp, err := d.http.Post("http://engine/images/create?"+query.Encode(), "application/x-tar", bytes.NewReader(root))
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || bytes.Contains(said, []byte("errorDetail")) {
		d.t.Fatalf("importing %s: %s, %v\n%s", name, resp.Status, err, said)
	}
}

// Copy gives the engine an image of another one, with the same id.
func (d *Daemon) Copy(name string, from *Daemon) {
	d.t.Helper()
	saved, err := from.http.Get("http://engine/images/" + name + "/get")
	if err != nil {
		d.t.Fatal(err)
	}
	defer saved.Body.Close()
	loaded, err := d.http.Post("http://engine/images/load?quiet=1", "application/x-tar", saved.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	defer loaded.Body.Close()
	said, err := io.ReadAll(loaded.Body)
	if err != nil || saved.StatusCode != http.StatusOK || loaded.StatusCode != http.StatusOK || bytes.Contains(said, []byte("errorDetail")) {
		d.t.Fatalf("copying %s: %s, %s, %v\n%s", name, saved.Status, loaded.Status, err, said)
	}
}

// destroy ends dockerd and everything that it started, and removes its files.
func (d *Daemon) destroy() {
	for _, cmd := range []*exec.Cmd{d.cmd, d.containerd} {
		if cmd != nil && cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	if d.room != nil {
		if err := d.room.close(); err != nil {
			d.t.Error(err)
		}
	}
	if d.log != nil {
		_ = d.log.Close()
	}
	remove(d.t, d.dir)
	_ = d.held.Close() // only read
}
