package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"batch.example/batch/fault"
)

func forbidden(format string, args ...any) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "batch-x", fmt.Errorf(format, args...))
}

func quotaError(requested, used, limited string) error {
	return forbidden("exceeded quota: compute, requested: %s, used: %s, limited: %s", requested, used, limited)
}

func TestARefusalIsBlamedOnWhatRefuses(t *testing.T) {
	c := &cluster{log: slog.New(slog.DiscardHandler)}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "resourcequotas"}, "compute", errors.New("the object has been modified"))
	for name, tt := range map[string]struct {
		err  error
		kind fault.Kind
		wait bool
		hint string
	}{
		"a used-up quota":       {quotaError("pods=1", "pods=4", "pods=4"), fault.Transient, true, "-w"},
		"used up by others":     {quotaError("limits.memory=4Gi,pods=1", "limits.memory=30Gi,pods=2", "limits.memory=32Gi,pods=2"), fault.Transient, true, "-w"},
		"just as much":          {quotaError("requests.cpu=110m", "requests.cpu=10m", "requests.cpu=0.11"), fault.Transient, true, "-w"},
		"a quota too small":     {quotaError("limits.memory=4Gi", "limits.memory=0", "limits.memory=4G"), fault.Usage, false, "--memory"},
		"one of two too small":  {quotaError("limits.cpu=4,requests.cpu=100m", "limits.cpu=0,requests.cpu=1", "limits.cpu=2,requests.cpu=1"), fault.Usage, false, "--cpus"},
		"a quota of no pods":    {quotaError("pods=1", "pods=0", "pods=0"), fault.Usage, false, "quota"},
		"a new quota":           {forbidden("status unknown for quota: compute, resources: pods"), fault.Transient, true, ""},
		"many at once":          {conflict, fault.Transient, true, ""},
		"a slow API server":     {apierrors.NewInternalError(errors.New("resource quota evaluation timed out")), fault.Transient, true, ""},
		"a quota of limits":     {forbidden("failed quota: compute: must specify limits.memory for: helper"), fault.Usage, false, "LimitRange"},
		"a LimitRange":          {forbidden("maximum memory usage per Container is 1Gi, but limit is 4Gi"), fault.Usage, false, "--memory"},
		"a ratio":               {forbidden("cpu max limit to request ratio per Container is 2, but provided ratio is 40.000000"), fault.Usage, false, "--cpus"},
		"Pod Security":          {forbidden("violates PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false"), fault.Usage, false, "environment.pod"},
		"a missing permission":  {forbidden(`User "joe" cannot create resource "pods" in API group "" in the namespace "default"`), fault.Host, false, "permissions"},
		"a namespace that ends": {forbidden("unable to create new content in namespace x because it is being terminated"), fault.Usage, false, "namespace"},
	} {
		err := c.blame(tt.err, "creating a pod")
		if fault.KindOf(err) != tt.kind || errors.Is(err, errFull) != tt.wait || !strings.Contains(fault.HintOf(err), tt.hint) {
			t.Errorf("%s: %v (%v), waits %v, hint %q; want %v, %v, %q", name, err, fault.KindOf(err), errors.Is(err, errFull), fault.HintOf(err), tt.kind, tt.wait, tt.hint)
		}
		if full, _ := byQuota(tt.err); full != (tt.wait || strings.Contains(tt.err.Error(), "exceeded")) {
			t.Errorf("%s: by a quota: %v", name, full)
		}
	}
}

// waiting returns a fleet that is not connected.
func waiting() *fleet {
	return &fleet{
		objects: objects{cluster: &cluster{log: slog.New(slog.DiscardHandler)}},
		watcher: &watcher{pods: map[string]*corev1.Pod{}, changed: map[string]chan struct{}{}}, queue: queue{Weighted: semaphore.NewWeighted(1)},
	}
}

var errFullNow = fault.New(fault.Transient, "creating a pod", errFull)

func TestPodsWaitInTurnForTheQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := waiting()
		f.watcher.put("running", &corev1.Pod{Spec: corev1.PodSpec{NodeName: "one"}})
		made := make(chan int, 12)
		var room, calls atomic.Int64
		for i := range cap(made) {
			go func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if err := f.admitted(t.Context(), func() error {
					if calls.Add(1); room.Load() == 0 {
						return errFullNow
					}
					room.Add(-1)
					return nil
				}); err != nil {
					t.Error(err)
				}
				made <- i
			}()
		}
		for i := range cap(made) {
			time.Sleep(2 * placeLimit)
			room.Add(1)
			if got := <-made; got != i {
				t.Errorf("pod %d has the place of pod %d", got, i)
			}
		}
		if most := int64(2*placeLimit/admitPause+10) * int64(cap(made)); calls.Load() > most {
			t.Errorf("the cluster was asked %d times, want at most %d", calls.Load(), most)
		}
	})
}

func TestAQuotaThatNothingOfBatchUsesIsNotWaitedForWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := waiting()
		const busy = 5 * time.Hour
		f.watcher.put("running", &corev1.Pod{Spec: corev1.PodSpec{NodeName: "one"}})
		f.watcher.put("pending", &corev1.Pod{})
		time.AfterFunc(busy, func() { f.watcher.put("running", nil) })
		began := time.Now()
		ended := make(chan error)
		for range 3 {
			go func() { ended <- f.admitted(t.Context(), func() error { return errFullNow }) }()
		}
		for range 3 {
			if err, took := <-ended, time.Since(began); !errors.Is(err, errFull) || took < busy+placeLimit || took > busy+placeLimit+time.Minute {
				t.Errorf("%v after %v", err, took)
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := f.admitted(ctx, func() error { return errFullNow }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("canceled: %v", err)
		}
	})
}

func TestEachNodeTakesPodsAtOnce(t *testing.T) {
	s := newStarts()
	free := func() (n int) {
		for s.TryAcquire(1) {
			n++
		}
		s.Release(int64(n))
		return n
	}
	for i, node := range []string{"", "a", "a", "b", "c", "b"} {
		if node != "" {
			s.took(node)
		}
		if got, want := free(), perNode*[]int{1, 1, 1, 2, 3, 3}[i]; got != want {
			t.Errorf("step %d: %d pods may start, want %d", i, got, want)
		}
	}
}

func TestWhatANodeTriesAgainIsNotTheImages(t *testing.T) {
	f := waiting()
	f.extra = &template{}
	waits := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	ended := func(code int32, reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}
	}
	const runtime = "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
	for name, tt := range map[string]struct {
		now, last corev1.ContainerState
		kind      fault.Kind // after a minute
	}{
		"no bash":                      {waits("CrashLoopBackOff", "back-off"), ended(128, "StartError", runtime+`exec: "bash": executable file not found in $PATH: unknown`), fault.Instance},
		"no bash, at once":             {now: waits("RunContainerError", runtime+`exec: "bash": executable file not found in $PATH: unknown`), kind: fault.Instance},
		"no bash, crun":                {now: waits("CreateContainerError", "executable file `bash` not found in $PATH: No such file or directory"), kind: fault.Instance},
		"no bash, gVisor":              {now: waits("RunContainerError", `error finding executable "bash" in PATH [/bin]: no such file or directory`), kind: fault.Instance},
		"no cat":                       {now: ended(127, "Error", "bash: line 1: cat: command not found"), kind: fault.Instance},
		"a cat that cannot run":        {now: ended(126, "Error", "bash: line 1: /bin/cat: Permission denied"), kind: fault.Instance},
		"a kubelet that restarts":      {waits("PodInitializing", ""), ended(137, "Error", ""), fault.Unknown},
		"its end is not known":         {now: ended(137, "ContainerStatusUnknown", "The container could not be located when the pod was terminated"), kind: fault.Unknown},
		"a runtime that restarts":      {now: waits("RunContainerError", `failed to get sandbox container task: no running task found: task 1234 not found: not found`), kind: fault.Unknown},
		"a socket":                     {now: waits("CreateContainerError", `dial unix /run/containerd/containerd.sock: connect: no such file or directory`), kind: fault.Unknown},
		"a late answer":                {now: waits("CreateContainerError", "context deadline exceeded"), kind: fault.Unknown},
		"a folder of the node is gone": {waits("CrashLoopBackOff", "back-off"), ended(1, "Error", "bash: line 1: /dev/batch/.init: No such file or directory"), fault.Unknown},
		"settings not read yet":        {now: waits("CreateContainerConfigError", "failed to sync configmap cache: timed out waiting for the condition"), kind: fault.Unknown},
		"services not read yet":        {now: waits("CreateContainerConfigError", "services have not yet been read at least once, cannot construct envvars"), kind: fault.Unknown},
		"a layer that the node lost":   {now: waits("ErrImagePull", `failed to pull and unpack image "a/b:1": failed to prepare extraction snapshot "extract-1 sha256:0a": parent snapshot sha256:0b does not exist: not found`), kind: fault.Unknown},
		"content that the node lost":   {now: waits("ErrImagePull", `failed to pull and unpack image "a/b:1": failed to extract layer sha256:0a: content digest sha256:0b: not found`), kind: fault.Unknown},
		"started again":                {corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, ended(137, "Error", ""), fault.Unknown},
	} {
		pod := &corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{
			Name: helperName, State: tt.now, LastTerminationState: tt.last, RestartCount: 1,
		}}}}
		soon, late := tt.kind, tt.kind
		switch {
		case tt.now.Running != nil:
			soon, late = fault.Unknown, fault.Unknown
		case tt.kind == fault.Unknown:
			late = fault.Transient
		}
		for since, want := range map[time.Duration]fault.Kind{time.Minute: soon, retryLimit + time.Second: late} {
			err := f.stuck(pod, since, "creating a pod")
			if fault.KindOf(err) != want || strings.Contains(fault.HintOf(err), "the image needs") != (want == fault.Instance) {
				t.Errorf("%s, after %v: %v (%v), hint %q; want %v", name, since, err, fault.KindOf(err), fault.HintOf(err), want)
			}
		}
	}
}

func TestOnlyMissingRoomIsWaitedForWhilePodsRun(t *testing.T) {
	gated := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked due to non-empty scheduling gates",
	}}}}
	if !lacksRoom(gated) {
		t.Error("a queue of the cluster holds the pod, and its end is not waited for")
	}
	for message, want := range map[string]bool{
		"0/3 nodes are available: 3 Insufficient cpu.":                                                        true,
		"0/3 nodes are available: 1 Too many pods, 2 node(s) didn't match Pod's node affinity/selector.":      true,
		"0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.":                       false,
		"0/3 nodes are available: 3 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }.": false,
	} {
		p := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: message}}}}
		if got := lacksRoom(p); got != want {
			t.Errorf("%s: %v, want %v", message, got, want)
		}
	}
}
