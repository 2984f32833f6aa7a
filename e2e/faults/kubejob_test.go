package faults

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/kubetest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/kube"
	"batch.example/batch/llm/stub"
	"batch.example/batch/sandbox/engine"
)

// jobRun is a crash run whose runner is the Job that the page `batch help kubernetes` shows, in a
// namespace of its own. The folder of the run is its volume.
type jobRun struct {
	*crashRun
	space  string
	most   *atomic.Int64 // replies to each instance; it waits for the next one
	engine engine.Engine // of another process, outside of the cluster
}

func newJobRun(t *testing.T) jobRun {
	t.Helper()
	j := jobRun{newCrashRun(t, len(crashIDs)), "job-" + strings.ToLower(rand.Text()[:12]), new(atomic.Int64), nil}
	var err error
	if j.engine, err = (kube.Config{Files: []string{kubetest.Config(t)}, Target: "/" + j.space}).Open(t.Context(), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.engine.Close() })
	j.wrong = func(_ string, n int) (stub.Answer, bool) {
		return stub.Answer{Delay: time.Hour}, n >= int(j.most.Load())
	}
	j.most.Store(1)
	image := runnerImage(t)
	kubetest.Load(t, image, "batch-demo/demo__slug-1:latest")
	j.post("/api/v1/namespaces", map[string]any{"metadata": map[string]any{"name": j.space}})
	t.Cleanup(func() { kubetest.Ask(t, http.MethodDelete, "/api/v1/namespaces/"+j.space, nil) })
	const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/"
	j.post("/api/v1/namespaces/"+j.space+"/serviceaccounts", kubetest.Shown(t, "ServiceAccount", j.space))
	j.post(rbac+j.space+"/roles", kubetest.Shown(t, "Role", j.space))
	bound := kubetest.Shown(t, "RoleBinding", j.space)
	bound["subjects"].([]any)[0].(map[string]any)["namespace"] = j.space
	j.post(rbac+j.space+"/rolebindings", bound)

	job := kubetest.Shown(t, "Job", j.space)
	pod := job["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	pod["volumes"] = []any{map[string]any{"name": "runs", "hostPath": map[string]any{"path": j.dir}}}
	c := pod["containers"].([]any)[0].(map[string]any)
	c["image"], c["imagePullPolicy"], c["workingDir"] = image, "Never", "/runs"
	c["command"] = []any{
		"batch", "run", "--engine", "kubernetes", "--subset", "rows.jsonl", "-m", "openai/stub-1", "-w", "3", "-o", "/runs/out",
		"-c", `environment.pod={"imagePullPolicy":"Never"}`, "-c", "environment.memory=512MiB",
		"-c", "model.cost_tracking=ignore_errors", // the server is not on loopback there
	}
	server, err := url.Parse(j.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	server.Host = kubetest.Forward(t, server.Host)
	delete(c, "envFrom")
	c["env"] = []any{
		map[string]any{"name": "OPENAI_BASE_URL", "value": server.String()},
		map[string]any{"name": "OPENAI_API_KEY", "value": "none-needed"},
		map[string]any{"name": "HOME", "value": "/tmp"},
	}
	delete(c, "resources") // the tests' node is small
	j.post("/apis/batch/v1/namespaces/"+j.space+"/jobs", job)
	return j
}

// runnerImage makes an image with batch for the node.
func runnerImage(t *testing.T) string {
	t.Helper()
	e2e.Program(t) // puts it on the PATH
	root, err := enginetest.Root([]string{"batch"}, map[string]string{"tmp/.keep": ""})
	if err != nil {
		t.Fatal(err)
	}
	name := "batch-kube-runner:" + strings.ToLower(rand.Text())
	cmd := exec.Command("docker", "import", "-c", "ENV PATH=/usr/bin", "-", name)
	cmd.Stdin = bytes.NewReader(root)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", name).Run() })
	return name
}

func (j jobRun) post(path string, obj any) {
	j.t.Helper()
	if status, said := kubetest.Ask(j.t, http.MethodPost, path, obj); status != http.StatusCreated {
		j.t.Fatalf("%s: %d %s", path, status, said)
	}
}

// runners returns the names of the runner's pods in a phase.
func (j jobRun) runners(phase string) (names []string) {
	j.t.Helper()
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	j.get("/api/v1/namespaces/"+j.space+"/pods?labelSelector=job-name&fieldSelector=status.phase%3D"+phase, &list)
	for _, p := range list.Items {
		names = append(names, p.Metadata.Name)
	}
	return names
}

func (j jobRun) get(path string, into any) {
	j.t.Helper()
	status, said := kubetest.Ask(j.t, http.MethodGet, path, nil)
	if err := json.Unmarshal(said, into); err != nil || status != http.StatusOK {
		j.t.Fatalf("%s: %d %s", path, status, said)
	}
}

// until waits for something that two failed runners at most come before, while it watches the run's files.
func (j jobRun) until(what string, done func() bool) {
	j.t.Helper()
	for end := time.Now().Add(e2e.Patience); !done(); time.Sleep(20 * time.Millisecond) {
		j.look()
		if time.Now().After(end) || len(j.runners("Failed")) > 2 {
			j.tell()
			j.t.Fatalf("waited too long: %s", what)
		}
	}
}

// underWay waits until each instance has executed n commands and waits for a reply, and returns the
// runner's pod.
func (j jobRun) underWay(n int) string {
	j.t.Helper()
	j.until("the commands", func() bool {
		for _, name := range crashIDs {
			text, _ := os.ReadFile(filepath.Join(j.dir, "out", j.prefix+name, "journal.jsonl"))
			if bytes.Count(text, []byte(`"type":"output"`)) < n {
				return false
			}
		}
		return true
	})
	var running []string
	j.until("the cluster to say that one runner runs", func() bool { // its node reports it later
		running = j.runners("Running")
		return len(running) == 1
	})
	if list, err := engine.Reap(j.t.Context(), j.engine, slog.New(slog.DiscardHandler)); err != nil || len(list) > 0 {
		j.t.Errorf("while runner %s lives, others reaped %v, %v", running[0], list, err)
	}
	return running[0]
}

// more permits so many replies to the next runner.
func (j jobRun) more(replies int64) {
	j.count()
	j.most.Store(replies)
}

// kill kills the process of the runner in a pod.
func (j jobRun) kill(pod string) {
	j.t.Helper()
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range found {
		text, _ := os.ReadFile(path)
		if !slices.Contains(strings.Split(string(text), "\x00"), "HOSTNAME="+pod) {
			continue
		}
		if out, err := exec.Command("kill", "-9", filepath.Base(filepath.Dir(path))).CombinedOutput(); err != nil {
			j.t.Fatalf("%v: %s", err, out)
		}
		return
	}
	j.t.Fatalf("no process of pod %s", pod)
}

// The first runner is killed, the second one's pod is deleted, and the third one ends the run. Both successors
// continue the attempts in their pods.
func TestARunnerOnPodsOfItsOwnIsReplaced(t *testing.T) {
	tier.Rest(t, "kube", "scripts/kube", "scripts/kubernetes", "internal/kubetest", "run/engines", "sandbox/*.go", "sandbox/engine", "internal/box", "internal/boxinit")
	kubetest.Config(t)
	e2e.NeedDocker(t)
	t.Parallel()
	want := undisturbed(t)
	j := newJobRun(t)
	j.kill(j.underWay(1))
	j.more(3)
	second := j.underWay(2)
	if status, said := kubetest.Ask(t, http.MethodDelete, "/api/v1/namespaces/"+j.space+"/pods/"+second, nil); status != http.StatusOK {
		t.Fatalf("%d %s", status, said)
	}
	j.more(100)
	j.until("the end of the Job", func() bool { return len(j.runners("Succeeded")) > 0 })
	if left := (pods{t, j.engine, j.prefix}).list(); len(left) > 0 {
		t.Errorf("pods are left: %q", left)
	}
	if got := j.patches(); len(got) != len(want) {
		t.Errorf("predictions %q", got)
	} else {
		for name, patch := range want {
			if got[name] != patch {
				t.Errorf("%s: the prediction is %q, want %q", name, got[name], patch)
			}
		}
	}
	for _, v := range j.violation {
		t.Error(v)
	}
	var sum tally
	sum.add(j.crashRun)
	t.Log(sum)
	if all := 2 * len(crashIDs); sum.adopted != all || sum.resumed != all || sum.replayed > 0 {
		t.Errorf("want each of %d attempts continued twice in its pod", len(crashIDs))
	}
	if t.Failed() {
		j.tell()
	}
}
