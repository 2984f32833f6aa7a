package kube

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/kubetest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// It is not parallel: the API is away for all tests.
func TestACommandThatEndsDuringAnOutageHasItsResult(t *testing.T) {
	tier.Rest(t)
	c := start(t, open(t, "default"), engine.Spec{})
	const limit = 20 * time.Second
	ended := make(chan func() (vocab.Output, error))
	go func() {
		r, err := c.Run(t.Context(), box.Command{Script: "sleep 15; echo $$ >/testbed/pid; echo end", Timeout: limit})
		ended <- func() (vocab.Output, error) { return r, err }
	}()
	time.Sleep(time.Second)
	kubetest.Stop(t, "kube-apiserver")
	time.Sleep(limit + 65*time.Second)
	select {
	case <-ended:
		t.Fatal("the command did not need the API: it ended before the outage")
	default:
	}
	kubetest.Start(t, "kube-apiserver")
	r, err := (<-ended)()
	if err != nil || string(r.Bytes) != "end\n" || r.TimedOut || r.Restarted {
		t.Errorf("got %q, timed out %v, restarted %v, %v", r.Bytes, r.TimedOut, r.Restarted, err)
	}
	says(t, c, "test -s /testbed/pid; echo $?", "0\n")
}

// It is not parallel: the node starts no pods of other tests meanwhile.
func TestAKubeletThatRestartsIsNotTheImagesFault(t *testing.T) {
	tier.Rest(t)
	image := testImage(t)
	f := open(t, "default")
	for round := range 4 {
		var all sync.WaitGroup
		for range perNode {
			all.Go(func() {
				c, err := f.Create(t.Context(), engine.Spec{Image: image, Unattended: time.Minute, Env: []string{"PATH=/usr/bin:/bin"}})
				if err != nil {
					t.Logf("round %d: %v", round, err)
					if fault.KindOf(err) != fault.Transient {
						t.Errorf("it is %v, with the hint %q; want Transient", fault.KindOf(err), fault.HintOf(err))
					}
					return
				}
				says(t, c, "echo on", "on\n")
				if err := c.Remove(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Duration(500+700*round) * time.Millisecond)
		kubetest.Stop(t, "kubelet")
		kubetest.Start(t, "kubelet")
		all.Wait()
	}
}

// limited makes a namespace with an object that limits its pods.
func limited(t *testing.T, kind, resource string, spec map[string]any) *fleet {
	t.Helper()
	admin := open(t, "default").cluster
	space := namespace(t, admin, "privileged")
	post(t, admin, "/api/v1/namespaces/"+space+"/"+resource, map[string]any{
		"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "limits"}, "spec": spec,
	})
	for kind == "ResourceQuota" { // it holds when the cluster has written its status
		said, err := admin.core.Get().AbsPath("/api/v1/namespaces/" + space + "/" + resource + "/limits").Do(t.Context()).Raw()
		if err != nil {
			t.Fatal(err)
		}
		if gjson.GetBytes(said, "status.hard").Exists() {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return open(t, space)
}

func TestInstancesWaitForTheNamespacesQuota(t *testing.T) {
	tier.Rest(t)
	image := testImage(t)
	t.Parallel()
	f := limited(t, "ResourceQuota", "resourcequotas", map[string]any{"hard": map[string]any{"pods": "2"}})
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			c, err := f.Create(t.Context(), engine.Spec{Image: image, Unattended: time.Minute, Env: []string{"PATH=/usr/bin:/bin"}})
			if err != nil {
				t.Errorf("%v, hint %q", err, fault.HintOf(err))
				return
			}
			says(t, c, fmt.Sprintf("sleep 1; echo %d", i), fmt.Sprintln(i))
			if err := c.Remove(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestALimitThatNoPodMeetsIsSaidAtOnce(t *testing.T) {
	tier.Rest(t)
	image := testImage(t)
	t.Parallel()
	for name, f := range map[string]*fleet{
		"exceeded quota":   limited(t, "ResourceQuota", "resourcequotas", map[string]any{"hard": map[string]any{"requests.memory": "1Gi"}}),
		"maximum memory":   limited(t, "LimitRange", "limitranges", map[string]any{"limits": []any{map[string]any{"type": "Container", "max": map[string]any{"memory": "1Gi"}}}}),
		"ratio per Contai": limited(t, "LimitRange", "limitranges", map[string]any{"limits": []any{map[string]any{"type": "Container", "maxLimitRequestRatio": map[string]any{"cpu": "2"}}}}),
	} {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := f.Create(ctx, engine.Spec{Image: image, Unattended: time.Minute, Memory: 2 << 30, CPUs: 4})
		stop()
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), name) || !strings.Contains(fault.HintOf(err), "--memory") {
			t.Errorf("%s: got %v (%v), hint %q", name, err, fault.KindOf(err), fault.HintOf(err))
		}
	}
}
