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

	"golang.org/x/sys/unix"
)

const patience = 3 * time.Minute // with a step of the engine; it takes about a second on a quiet machine

// Daemon is a dockerd of a test's own: it has its containerd, its data and its
// socket in one folder, knows no network and touches no other engine.
type Daemon struct {
	t          testing.TB
	dir        string
	args       []string
	containerd *exec.Cmd
	cmd        *exec.Cmd // the dockerd
	log        *os.File
	http       *http.Client
}

// Start starts a dockerd with the given flags beside its own. It skips the
// test where none can run. At the end of the test everything of it is gone,
// its containers included, also when the test failed.
func Start(t testing.TB, flags ...string) *Daemon {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a dockerd of one's own needs root")
	}
	for _, program := range []string{"dockerd", "containerd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s is installed", program)
		}
	}
	dir, err := os.MkdirTemp("", "batch-dockerd-") // short: paths of sockets have a limit
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{t: t, dir: dir}
	t.Cleanup(d.destroy)
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
	}, flags...)
	d.http = &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", d.path("s"))
		},
	}}
	// As a service of its own, as most machines have it: it outlives a dockerd that is killed.
	d.containerd = d.start("containerd", "--config", d.path("containerd.toml"))
	d.Restart()
	return d
}

func (d *Daemon) path(name string) string { return filepath.Join(d.dir, name) }

// Host is the engine's address, as DOCKER_HOST takes it.
func (d *Daemon) Host() string { return "unix://" + d.path("s") }

// Restart starts the dockerd again that was killed, and waits until it answers.
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

// start starts a program in a process group of its own, which ends with this process.
func (d *Daemon) start(program string, args ...string) *exec.Cmd {
	d.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = d.log, d.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	return cmd
}

// Kill sends the dockerd a signal and waits until it has ended.
func (d *Daemon) Kill(sig syscall.Signal) {
	d.t.Helper()
	d.kill(d.cmd, sig)
}

func (d *Daemon) kill(cmd *exec.Cmd, sig syscall.Signal) {
	d.t.Helper()
	if err := cmd.Process.Signal(sig); err != nil {
		d.t.Error(err)
	}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // its exit code is the signal's
	if !late.Stop() {
		d.t.Errorf("%s did not end within %v of %v", cmd.Args[0], patience, sig)
	}
}

// Import gives the engine an image of the given name with the root file
// system in the tar root. One of that name loses it.
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

// destroy ends dockerd, what it started and what that left behind.
func (d *Daemon) destroy() {
	for _, cmd := range []*exec.Cmd{d.cmd, d.containerd} {
		if cmd != nil && cmd.ProcessState == nil {
			d.kill(cmd, syscall.SIGTERM)
		}
	}
	for end := time.Now().Add(patience); killAll(d.owns) > 0 && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	if d.log != nil {
		_ = d.log.Close()
	}
	unmountBelow(d.dir)
	if err := os.RemoveAll(d.dir); err != nil {
		d.t.Error(err)
	}
}

// owns reports whether a process belongs to this engine: its command line
// names our folder, as those of dockerd, containerd and its shims do, or it is
// in one of our containers.
func (d *Daemon) owns(pid string) bool {
	line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
	if len(line) == 0 { // a zombie is dead
		return false
	}
	if pid != fmt.Sprint(os.Getpid()) && bytes.Contains(line, []byte(d.dir+"/")) {
		return true
	}
	groups, _ := os.ReadFile("/proc/" + pid + "/cgroup")
	ours, _ := filepath.Glob(d.path("data/containers/*"))
	for _, c := range ours {
		if bytes.Contains(groups, []byte(filepath.Base(c))) {
			return true
		}
	}
	return false
}

// killAll kills the processes that it is told to and returns how many there were.
func killAll(doomed func(pid string) bool) int {
	n := 0
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range procs {
		var pid int
		if _, err := fmt.Sscan(filepath.Base(dir), &pid); err == nil && doomed(filepath.Base(dir)) {
			_ = unix.Kill(pid, unix.SIGKILL)
			n++
		}
	}
	return n
}

// unmountBelow undoes the mounts in dir, the last one first.
func unmountBelow(dir string) {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	var points []string
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], dir+"/") {
			points = append(points, f[4])
		}
	}
	for i := len(points) - 1; i >= 0; i-- {
		_ = unix.Unmount(points[i], unix.MNT_DETACH)
	}
}
