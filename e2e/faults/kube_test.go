package faults

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/kubetest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/kube"
	"batch.example/batch/sandbox/engine"
)

// pods are the pods of one crash run in the tests' cluster.
type pods struct {
	t      *testing.T
	engine engine.Engine
	prefix string // of its instances
}

// onKube makes the run use pods. No registry is there, so they use the node's images.
func (r *crashRun) onKube() pods {
	r.t.Helper()
	config := kubetest.Config(r.t)
	kubetest.Load(r.t, "batch-demo/demo__slug-1:latest")
	r.args = append(r.args, "--engine", "kubernetes", "-c", `environment.pod={"imagePullPolicy":"Never"}`)
	r.env = append(r.env, "KUBECONFIG="+config)
	e, err := kube.Config{Files: []string{config}}.Open(r.t.Context(), engine.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	p := pods{r.t, e, r.prefix}
	r.t.Cleanup(func() {
		if left := p.list(); len(left) > 0 {
			r.t.Errorf("pods are left: %q", left)
		}
		if err := e.Close(); err != nil {
			r.t.Error(err)
		}
	})
	return p
}

// list returns the names of the pods; none while the API is away.
func (p pods) list() (names []string) {
	all, _ := p.engine.Owned(context.Background())
	for _, o := range all {
		if strings.HasPrefix(o.Instance, p.prefix) {
			names = append(names, o.ID)
		}
	}
	return names
}

func (p pods) await() {
	for end := time.Now().Add(2 * time.Minute); len(p.list()) == 0 && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
}

// lose takes n pods away while a run uses them: by turns, it deletes one, as a person would, and evicts
// one, as a drain of its node would.
func (p pods) lose(ctx context.Context, n int) (lost int) {
	for lost < n && ctx.Err() == nil {
		for _, name := range p.list() {
			time.Sleep(300 * time.Millisecond)
			gone := false
			if lost%2 == 0 {
				gone = p.engine.Remove(ctx, name) == nil
			} else {
				about := map[string]string{"name": name, "namespace": "default"}
				status, _ := kubetest.Ask(p.t, http.MethodPost, "/api/v1/namespaces/default/pods/"+name+"/eviction",
					map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": about})
				gone = status == http.StatusCreated
			}
			if gone {
				lost++
				break
			}
		}
		time.Sleep(500 * time.Millisecond)
	}
	return lost
}

// begin lets the run work. The channel is closed when it has ended.
func (r *crashRun) begin() (ended <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.live()
	}()
	return done
}

func TestARunOnPodsThatIsKilledLosesNothing(t *testing.T) {
	tier.Rest(t, "kube", "scripts/kube", "scripts/kubernetes", "internal/kubetest", "run/engines", "sandbox/*.go", "sandbox/engine", "internal/box", "internal/boxinit")
	kubetest.Config(t)
	e2e.NeedDocker(t)
	t.Parallel()
	want := undisturbed(t)
	r := newCrashRun(t, 3)
	r.onKube()
	deaths := max(6, crashes(t))
	for i := range deaths {
		r.liveFor(time.Duration(500+700*(i%7)) * time.Millisecond)
	}
	r.finish(want)
	t.Logf("%d processes, %d killed, %d calls repeated", r.lives, r.deaths, r.again)
}

func TestARunOnPodsSurvivesTheirLoss(t *testing.T) {
	tier.Rest(t, "kube", "scripts/kube", "scripts/kubernetes", "internal/kubetest", "run/engines", "sandbox/*.go", "sandbox/engine", "internal/box", "internal/boxinit")
	kubetest.Config(t)
	e2e.NeedDocker(t)
	t.Parallel()
	want := undisturbed(t)
	r := newCrashRun(t, 3)
	p := r.onKube()
	ended := r.begin()
	ctx, stop := context.WithCancel(t.Context())
	go func() { <-ended; stop() }()
	const lost = 2 // an instance is tried twice more
	n := p.lose(ctx, lost)
	<-ended
	r.finish(want)
	if n < lost {
		t.Errorf("only %d pods were taken away while the run used them, want %d", n, lost)
	}
}

// They are not parallel: a part of the cluster is away for all tests. Without the API server, all streams are cut at
// once.
func TestARunOnPodsWaitsForTheAPI(t *testing.T)     { without(t, "kube-apiserver") }
func TestARunOnPodsWaitsForTheKubelet(t *testing.T) { without(t, "kubelet") }

// without takes one of the cluster's programs away while a run uses it.
func without(t *testing.T, program string) {
	tier.Rest(t, "kube", "scripts/kube", "scripts/kubernetes", "internal/kubetest", "run/engines", "sandbox/*.go", "sandbox/engine", "internal/box", "internal/boxinit")
	kubetest.Config(t)
	e2e.NeedDocker(t)
	away := 15 * time.Second
	want := undisturbed(t)
	r := newCrashRun(t, 3)
	p := r.onKube()
	ended := r.begin()
	p.await()
	kubetest.Stop(t, program)
	time.Sleep(away)
	kubetest.Start(t, program)
	<-ended
	r.finish(want)
}
