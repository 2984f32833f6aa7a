package kubetest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"batch.example/batch/internal/registrytest"
)

// cluster is another cluster than the one that all tests share.
type cluster struct {
	t   *testing.T
	dir string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv("BATCH_KUBE") == "" {
		t.Skip("BATCH_KUBE is not set")
	}
	dir, err := os.MkdirTemp("", "k") // short: the length of a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, dir: filepath.Join(dir, "c")}
	t.Cleanup(func() {
		c.kube("down")
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	return c
}

// kube runs scripts/kube and returns its standard output.
func (c *cluster) kube(args ...string) string {
	c.t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(Script(c.t), args...)
	cmd.Env = append(os.Environ(), "BATCH_KUBE_DIR="+c.dir)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("scripts/kube %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

func (c *cluster) up() {
	c.t.Helper()
	if got, want := c.kube("up"), "KUBECONFIG="+c.dir+"/kubeconfig"; got != want {
		c.t.Fatalf("up printed %q, want %q", got, want)
	}
}

func (c *cluster) read(name string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// ask sends a request to the API server.
func (c *cluster) ask(method, path string, body any) (status int, answer string) {
	c.t.Helper()
	status, said := ask(c.t, c.dir, method, path, body)
	return status, string(said)
}

const pods = "/api/v1/namespaces/default/pods"

// pod starts a pod and waits until it runs.
func (c *cluster) pod(name string) {
	c.t.Helper()
	c.create(name, "batch.example/pause:1", "Never")
	c.await(pods+"/"+name, `"phase":"Running"`)
}

func (c *cluster) create(name, image, pull string) {
	c.t.Helper()
	status, said := c.ask(http.MethodPost, pods, json.RawMessage(`{"metadata":{"name":"`+name+`"},
		"spec":{"containers":[{"name":"c","image":"`+image+`","imagePullPolicy":"`+pull+`"}]}}`))
	if status != http.StatusCreated {
		c.t.Fatalf("%d: %s", status, said)
	}
}

// await waits until the API server's answer contains a text.
func (c *cluster) await(path, text string) {
	c.t.Helper()
	said := ""
	for end := time.Now().Add(3 * time.Minute); !strings.Contains(said, text); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("%s does not say %s: %s", path, text, said)
		}
		_, said = c.ask(http.MethodGet, path, nil)
	}
}

// left returns what on this machine belongs to the cluster.
func (c *cluster) left() (found []string) {
	c.t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, c.dir) {
			found = append(found, "mount "+line)
		}
	}
	sum, err := exec.Command("bash", "-c", `cksum <<<"$1" | cut -d ' ' -f 1`, "", c.dir).Output()
	if err != nil {
		c.t.Fatal(err)
	}
	id := "batch-kube-" + strings.TrimSpace(string(sum))
	for kind, pattern := range map[string]string{
		"cgroup": "/sys/fs/cgroup/*/" + id, "cgroup v2": "/sys/fs/cgroup/" + id, "lock": "/run/" + id + ".lock", "folder": c.dir,
	} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			found = append(found, kind+" "+path)
		}
	}
	links, _ := filepath.Glob("/sys/class/net/*/ifalias")
	for _, link := range links {
		if alias, _ := os.ReadFile(link); strings.TrimSpace(string(alias)) == id {
			found = append(found, "link "+link)
		}
	}
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		if text, _ := os.ReadFile(path); slices.Contains(strings.Split(string(text), "\x00"), "BATCH_KUBE_NODE="+c.dir) {
			found = append(found, "process "+path)
		}
	}
	slices.Sort(found)
	return found
}

func (c *cluster) signal(program, signal string) {
	c.t.Helper()
	pid, _, _ := strings.Cut(c.read("run/"+program), " ")
	if out, err := exec.Command("kill", "-"+signal, pid).CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
}

// A cluster with a pod is started twice, loses programs, is repaired by up, and leaves nothing.
func TestDownLeavesNothing(t *testing.T) {
	c := newCluster(t)
	c.up()
	c.pod("one")
	first := c.read("run/init") + c.read("run/kubelet")
	c.up()
	if again := c.read("run/init") + c.read("run/kubelet"); again != first {
		t.Errorf("a second up changed the processes: %q, then %q", first, again)
	}
	if kinds := c.left(); len(kinds) < 4 {
		t.Errorf("a running cluster is not found, only %q", kinds)
	}
	for _, program := range []string{"kubelet", "containerd", "kube-apiserver", "etcd"} {
		c.signal(program, "KILL")
	}
	c.up()
	c.pod("two")
	c.kube("kill", "containerd") // the processes of the pods stay
	c.kube("down")
	if found := c.left(); len(found) > 0 {
		t.Errorf("down left %q", found)
	}
	c.kube("down") // has nothing to do
}

// Whatever was killed, down removes the rest, and up starts a new one.
func TestDownAfterProcess1WasKilled(t *testing.T) {
	c := newCluster(t)
	c.up()
	c.pod("one")
	kubelet := c.kube("pid", "kubelet")
	c.signal("init", "KILL")
	pid, err := strconv.Atoi(kubelet)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); alive(pid) && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
	}
	if alive(pid) {
		t.Error("the kubelet lives without process 1 of its node")
	}
	c.up()
	if status, said := c.ask(http.MethodGet, "/api/v1/namespaces/default/pods/one", nil); status != http.StatusNotFound {
		t.Errorf("the new cluster has the old one's pod: %d %s", status, said)
	}
	t.Setenv("KUBECONFIG", c.dir+"/kubeconfig")
	t.Run("a stopped program", func(t *testing.T) {
		Stop(t, "kube-scheduler")
		c.create("unplaced", "batch.example/pause:1", "Never")
	})
	c.await(pods+"/unplaced", `"phase":"Running"`)
	stub := registrytest.NewStub(t)
	_, name, _ := strings.Cut(stub.Ref(), "/")
	c.create("pulled", Registry(t, stub.Host())+"/"+name, "Always")
	c.await("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dpulled", "Successfully pulled image")
	c.kube("down")
	if found := c.left(); len(found) > 0 {
		t.Errorf("down left %q", found)
	}
}

func alive(pid int) bool {
	_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	return err == nil
}

func TestConfigRefusesAnotherCluster(t *testing.T) {
	if os.Getenv("BATCH_KUBE_TEST_REFUSES") != "" {
		Config(t)
		return
	}
	other := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(other, []byte("apiVersion: v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ kube, config, want string }{
		{"", other, "--- SKIP"},
		{"1", other, "not the file of a cluster that scripts/kube made"},
		{"1", "", "--- SKIP"},
		{"require", "", "BATCH_KUBE=require: KUBECONFIG= names no file"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestConfigRefusesAnotherCluster$", "-test.v")
		cmd.Env = append(os.Environ(), "BATCH_KUBE_TEST_REFUSES=1", "BATCH_KUBE="+c.kube, "KUBECONFIG="+c.config)
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), c.want) || (err == nil) != (c.want == "--- SKIP") {
			t.Errorf("BATCH_KUBE=%s KUBECONFIG=%s: %v, want %s\n%s", c.kube, cmp.Or(c.config, "(none)"), err, c.want, out)
		}
	}
}
