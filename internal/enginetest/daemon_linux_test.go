package enginetest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// needEngine skips a test where no dockerd can be started.
func needEngine(t *testing.T) {
	t.Helper()
	if os.Getenv("BATCH_DOCKER") == "" {
		t.Skip("BATCH_DOCKER is not set")
	}
}

// runContainer starts a container that sleeps.
func runContainer(t *testing.T, d *Daemon) {
	t.Helper()
	root, err := Root([]string{"sleep"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.Import("sleeper:test", root)
	var made struct{ ID string }
	if err := json.Unmarshal(d.post(t, "/containers/create", `{"Image":"sleeper:test","Cmd":["sleep","600"]}`), &made); err != nil {
		t.Fatal(err)
	}
	d.post(t, "/containers/"+made.ID+"/start", "")
}

func (d *Daemon) post(t *testing.T, path, body string) []byte {
	t.Helper()
	resp, err := d.http.Post("http://engine"+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(resp.Body)
	if resp.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s: got %s, want status code less than %v\n%s", path, resp.Status, http.StatusBadRequest, said)
	}
	return said
}

// inhabitants are the processes of the engine in dir and of its containers.
func inhabitants(t *testing.T, dir string) (found []string) {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, proc := range procs {
		line, _ := os.ReadFile(proc + "/cmdline")
		groups, _ := os.ReadFile(proc + "/cgroup")
		if len(line) > 0 && (bytes.Contains(line, []byte(dir+"/")) || bytes.Contains(groups, []byte(filepath.Base(dir)))) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// ownMachine gives the test its own links, mounts and /run in place of the
// machine's: other tests change those meanwhile, and an engine that wrongly deletes a
// link deletes none that is needed.
func ownMachine(t *testing.T) {
	t.Helper()
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		t.Skipf("namespaces: %v", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
}

// machine returns what an engine may change on the machine, as the thread of the
// test sees it.
func machine(t *testing.T) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for kind, path := range map[string]string{
		"links": "/proc/thread-self/net/dev", "mounts": "/proc/thread-self/mountinfo",
		"root_maxkeys": "/proc/sys/kernel/keys/root_maxkeys", "ip_forward": "/proc/sys/net/ipv4/ip_forward",
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		seen[kind] = string(text)
	}
	var ours []string // the machine's engine unmounts its own mounts here too
	for line := range strings.Lines(seen["mounts"]) {
		if strings.Contains(line, prefix) {
			ours = append(ours, line)
		}
	}
	seen["mounts"] = strings.Join(ours, "")
	err := filepath.WalkDir("/run", func(path string, _ fs.DirEntry, err error) error {
		seen["files"] += path + "\n"
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func bridge(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("ip", "link", "add", "docker0", "type", "bridge").CombinedOutput(); err != nil {
		t.Skipf("making a bridge: %v\n%s", err, out)
	}
}

func TestATestEngineLeavesTheMachineUnchanged(t *testing.T) {
	needEngine(t)
	ownMachine(t)
	bridge(t)
	before := machine(t)
	var d *Daemon
	func() {
		ended := &ends{TB: t}
		defer ended.end()
		d = Start(ended)
		runContainer(t, d)
		if len(inhabitants(t, d.dir)) < 4 { // dockerd, containerd, a shim, the container
			t.Errorf("processes %q", inhabitants(t, d.dir))
		}
		if diff := cmp.Diff(before, machine(t)); diff != "" {
			t.Errorf("while the engine is there:\n%s", diff)
		}
	}()
	if diff := cmp.Diff(before, machine(t)); diff != "" {
		t.Errorf("when the engine is gone:\n%s", diff)
	}
	nothingOf(t, d.dir)
}

// ends is a test that may end before t does: its cleanups run then.
type ends struct {
	testing.TB
	cleanups []func()
}

func (e *ends) Cleanup(f func()) { e.cleanups = append(e.cleanups, f) }

func (e *ends) end() {
	for _, f := range slices.Backward(e.cleanups) {
		f()
	}
}

// nothingOf checks that nothing is left of the engine in dir.
func nothingOf(t *testing.T, dir string) {
	t.Helper()
	if left := inhabitants(t, dir); len(left) > 0 {
		t.Errorf("processes of the engine are left: %q", left)
	}
	if exists(dir) {
		t.Errorf("left is %s", dir)
	}
	for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		if left, _ := filepath.Glob(pattern + filepath.Base(dir)); len(left) > 0 {
			t.Errorf("cgroups of the engine are left: %q", left)
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// A test that is killed before its cleanup takes its engine with it, and the next
// engine's start removes the files.
func TestAKilledTestLeavesNothing(t *testing.T) {
	needEngine(t)
	const child = "BATCH_ENGINETEST_CHILD"
	if os.Getenv(child) != "" {
		d := Start(t)
		runContainer(t, d)
		fmt.Printf("dir %s\n", d.dir)
		select {}
	}
	ownMachine(t)
	bridge(t)
	before := machine(t)
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dir := ""
	for lines := bufio.NewScanner(out); dir == "" && lines.Scan(); {
		dir, _ = strings.CutPrefix(lines.Text(), "dir ")
	}
	if dir == "" || len(inhabitants(t, dir)) < 4 {
		t.Errorf("dir %q, processes %q; want a dir, at least 4 processes", dir, inhabitants(t, dir))
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its exit code is the signal's
	for end := time.Now().Add(patience); len(inhabitants(t, dir)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("processes of the engine are left: %q", inhabitants(t, dir))
		}
	}
	sweep(t)
	for end := time.Now().Add(patience); exists(dir) && time.Now().Before(end); { // another process sweeps it
		time.Sleep(10 * time.Millisecond)
	}
	if diff := cmp.Diff(before, machine(t)); diff != "" {
		t.Errorf("machine (-want +got):\n%s", diff)
	}
	nothingOf(t, dir)
}
