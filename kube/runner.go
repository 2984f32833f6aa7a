package kube

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"batch.example/batch/fault"
	"batch.example/batch/internal/owner"
	"batch.example/batch/sandbox/engine"
)

// runner is the pod in which this process runs, in the namespace of its pods. A process in a container
// knows nothing about the processes of others, but the cluster knows whether their pods have
// ended.
type runner struct {
	name  string
	uid   types.UID
	alone bool                   // it has one container: other processes in this pod were in that container before
	job   *metav1.OwnerReference // what made the pod; nil: nothing

	mu    sync.Mutex
	holds map[string]bool // leases
}

// The marks of runners.
const (
	noteRunner = "batch.runner" // of what a runner made: its pod's name/UID, and hasNext
	labelHolds = "batch.lease/" // of a runner's pod: begins the names of labels, one for each lease
)

// findRunner returns the pod in which this process runs; nil if it runs elsewhere, or the cluster cannot
// say. An error means that the cluster may know: without its answer, this process would not know the
// pods that it has to take over.
func (c *cluster) findRunner(ctx context.Context) (*runner, error) {
	const op = "asking the cluster for the pod of this process"
	if !owner.InPod() {
		return nil, nil //nolint:nilnil // as the comment says
	}
	var review struct {
		Status struct {
			UserInfo struct{ Extra map[string][]string }
		}
	}
	err := c.query(ctx, "/apis/authentication.k8s.io/v1/selfsubjectreviews", map[string]string{
		"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview",
	}, &review)
	if unknown(err) {
		c.log.Info("the cluster does not say in which pod this process runs", "err", err)
		return nil, nil //nolint:nilnil // as the comment says
	}
	if err != nil {
		return nil, c.blame(err, op)
	}
	extra := review.Status.UserInfo.Extra
	names, uids := extra["authentication.kubernetes.io/pod-name"], extra["authentication.kubernetes.io/pod-uid"]
	if len(names) != 1 || len(uids) != 1 { // another user's credentials, or a token without them
		return nil, nil //nolint:nilnil // as the comment says
	}
	var pod corev1.Pod
	if err := c.get(ctx, c.pods(), names[0], &pod); err != nil && !unknown(err) {
		return nil, c.blame(err, op)
	} else if err != nil || string(pod.UID) != uids[0] { // it is in another namespace
		return nil, nil //nolint:nilnil // as the comment says
	}
	stays := func(init corev1.Container) bool {
		return init.RestartPolicy != nil && *init.RestartPolicy == corev1.ContainerRestartPolicyAlways
	}
	r := &runner{name: pod.Name, uid: pod.UID, holds: map[string]bool{}}
	r.alone = len(pod.Spec.Containers) == 1 && len(pod.Spec.EphemeralContainers) == 0 && !slices.ContainsFunc(pod.Spec.InitContainers, stays)
	if by := metav1.GetControllerOf(&pod); by != nil {
		r.job = &metav1.OwnerReference{APIVersion: by.APIVersion, Kind: by.Kind, Name: by.Name, UID: by.UID}
	}
	return r, nil
}

// unknown reports whether the cluster has answered that it does not know something, or does not say it.
func unknown(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) && !isLost(err) || apierrors.IsMethodNotSupported(err)
}

// hasNext ends the mark of a runner whose Job starts another one.
const hasNext = "/next"

// mark is the runner in an annotation; empty for nil.
func (r *runner) mark() string {
	switch {
	case r == nil:
		return ""
	case r.job == nil:
		return r.name + "/" + string(r.uid)
	}
	return r.name + "/" + string(r.uid) + hasNext
}

// Succeeded implements [engine.Successor].
func (f *fleet) Succeeded() bool { return f.runner != nil && f.runner.job != nil }

// holdLabel is the label of pods whose runners hold a lease.
func holdLabel(lease string) string { return labelHolds + owner.Digest(lease) }

// hold marks the runner's pod as a holder of a lease before it makes or takes over pods under it. From
// then on, other runners and batch clean leave the lease's pods alone while this one has not ended.
func (f *fleet) hold(ctx context.Context, lease string) error {
	r := f.runner
	if r == nil || lease == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holds[lease] {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{holdLabel(lease): ""}}})
	if err == nil {
		err = f.patch(ctx, f.pods(), r.name, patch)
	}
	r.holds[lease] = err == nil
	return f.blame(err, "marking the runner's pod "+r.name)
}

// release ends what hold began, at the end of this process's work.
func (f *fleet) release(ctx context.Context) {
	if f.runner == nil {
		return
	}
	f.runner.mu.Lock()
	defer f.runner.mu.Unlock()
	labels := map[string]any{}
	for lease := range f.runner.holds {
		labels[holdLabel(lease)] = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	if err == nil && len(labels) > 0 {
		err = f.patch(ctx, f.pods(), f.runner.name, patch)
	}
	if err != nil { // the pod may live on, and other runners wait for its end
		f.log.Warn("could not unmark the runner's pod", "pod", f.runner.name, "err", err)
	}
}

// takes holds the lease of a pod that this process attaches to. If another runner holds it too, it is
// an [engine.ErrHeld]: of two that take over the same pods at the same time, at least one sees the other.
func (f *fleet) takes(ctx context.Context, p *corev1.Pod) error {
	lease := p.Annotations[engine.LabelLease]
	if lease == "" || p.Annotations[noteRunner] == "" {
		return nil
	}
	err := f.hold(ctx, lease)
	if err == nil && f.others(ctx, lease) != owner.Dead {
		err = errors.New("another runner may use it")
	}
	if err != nil {
		return fault.New(fault.Transient, "attaching to pod "+p.Name, errors.Join(engine.ErrHeld, err))
	}
	return nil
}

// others returns what is known about other runners that hold a lease.
func (f *fleet) others(ctx context.Context, lease string) owner.Liveness {
	if lease == "" {
		return owner.Dead
	}
	var list corev1.PodList
	if err := f.list(ctx, f.pods(), holdLabel(lease), &list); err != nil {
		return owner.Unknown
	}
	for _, p := range list.Items {
		if !isOver(&p) && (f.runner == nil || p.UID != f.runner.uid) {
			return owner.Alive
		}
	}
	return owner.Dead
}

// isOver reports whether all processes of a pod have ended.
func isOver(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// census asks the cluster about the runners that made pods, and the leases, once for each.
type census struct {
	fleet   *fleet
	runners map[string]owner.Liveness // by mark
	leases  map[string]owner.Liveness // what is known about others that hold it
}

func (f *fleet) census() *census {
	return &census{f, map[string]owner.Liveness{}, map[string]owner.Liveness{}}
}

// judge is [engine.Owned.Judge] of something that has these annotations. The next runner of a Job takes
// the pods over, and they go with the Job, so that no other process removes them. A runner leaves the
// pods of other runs alone, and its own until it has taken them over.
func (c *census) judge(ctx context.Context, o *engine.Owned, notes map[string]string) {
	o.Judge(notes[noteOwner], c.fleet.me, false, time.Now())
	mark := notes[noteRunner]
	if mark == "" || o.Mine {
		return
	}
	o.Unseen = false // the cluster knows, or is asked again
	known := c.runner(ctx, mark, notes[noteOwner])
	if known == owner.Dead {
		others, asked := c.leases[o.Lease]
		if !asked {
			others = c.fleet.others(ctx, o.Lease)
			c.leases[o.Lease] = others
		}
		known = others
	}
	o.Decide(known, func() owner.Liveness {
		if c.fleet.runner != nil || strings.HasSuffix(mark, hasNext) {
			return owner.Unknown
		}
		return owner.Dead
	}, time.Now())
}

// runner returns what is known about the process that made something, in the pod of a mark.
func (c *census) runner(ctx context.Context, mark, process string) owner.Liveness {
	f := c.fleet
	if mark == f.runner.mark() {
		by, _ := owner.Parse(process)
		known := by.Liveness(f.me, false)
		if known == owner.Unknown && f.runner.alone {
			return owner.Dead
		}
		return known
	}
	known, asked := c.runners[mark]
	if asked {
		return known
	}
	name, uid, _ := strings.Cut(strings.TrimSuffix(mark, hasNext), "/")
	var pod corev1.Pod
	switch err := f.get(ctx, f.pods(), name, &pod); {
	case apierrors.IsNotFound(err), err == nil && (string(pod.UID) != uid || isOver(&pod)):
		known = owner.Dead
	case err == nil:
		known = owner.Alive
	}
	c.runners[mark] = known
	return known
}
