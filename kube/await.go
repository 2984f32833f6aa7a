package kube

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
)

const (
	placeLimit = time.Hour        // for a node or a quota, while no pod of batch runs that makes room by its end
	pullLimit  = 30 * time.Minute // for the image, without environment.pull_timeout
	startLimit = 5 * time.Minute  // for all else
	retryLimit = 2 * time.Minute  // for what fails and is tried again by the node, such as a pull
	lookEvery  = 10 * time.Second // asks the cluster, in case the watch has missed something
)

// await waits until the task of a pod runs. It tells waits, several times, whether the pod waits
// for a node, which may take long.
func (f *fleet) await(ctx context.Context, made *corev1.Pod, op string, waits func(bool)) (*corev1.Pod, error) {
	began := time.Now() // when it got a node
	asked, placed := began, false
	for {
		p, changed := f.watcher.look(made.Name)
		if p == nil || time.Since(asked) > lookEvery {
			asked = time.Now()
			fresh, err := f.ask(ctx, made, op)
			if err != nil {
				return nil, err
			}
			p = fresh
		}
		if p != nil {
			if s := taskStatus(p); s != nil && s.State.Running != nil {
				return p, nil
			}
			if !placed && p.Spec.NodeName != "" {
				f.starts.took(p.Spec.NodeName)
				began, placed = time.Now(), true
			}
			if !placed && lacksRoom(p) && f.watcher.busy() { // what runs makes room
				began = time.Now()
			}
			waits(p.Spec.NodeName == "" && unschedulable(p))
			if err := f.stuck(p, time.Since(began), op); err != nil {
				return nil, err
			}
		}
		wait := time.NewTimer(lookEvery)
		select {
		case <-changed:
		case <-wait.C:
		case <-ctx.Done():
		}
		wait.Stop()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// unschedulable reports whether the scheduler has found no node for a pod.
func unschedulable(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
	})
}

// ask asks the cluster for the pod; nil if the API is away for now.
func (f *fleet) ask(ctx context.Context, made *corev1.Pod, op string) (*corev1.Pod, error) {
	if err := f.Ready(ctx); err != nil {
		return nil, err
	}
	var p corev1.Pod
	err := f.get(ctx, f.pods(), made.Name, &p)
	switch {
	case apierrors.IsNotFound(err), err == nil && p.UID != made.UID:
		return nil, fault.New(fault.Transient, op, errRemoved).WithHint("something outside this run deleted it before it ran")
	case isLost(err):
		return nil, nil //nolint:nilnil // the next Ready waits
	case err != nil:
		return nil, f.blame(err, op)
	}
	return &p, nil
}

// stuck returns why a pod will never run, or does not after a time; nil if it may run yet.
func (f *fleet) stuck(p *corev1.Pod, since time.Duration, op string) error {
	c := &container{fleet: f, name: p.Name, uid: p.UID}
	if err := c.why(p, op); err != nil {
		return err
	}
	limit, words, hint := startLimit+cmp.Or(f.pull, pullLimit), "it does not run after "+since.Round(time.Second).String(), placeHint
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.PodScheduled && cond.Status != corev1.ConditionTrue {
			limit, words = placeLimit, cond.Reason+": "+cond.Message
		}
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := s.State.Waiting; w != nil {
			if err := refused(w, op); err != nil {
				return err
			}
			if w.Message != "" {
				limit, words = retryLimit, w.Reason+": "+w.Message
			}
			if w.Reason == pullRetried {
				hint = "the node cannot reach the image's registry"
			}
		}
		t := lastEnd(s)
		if s.Name != helperName || t == nil || s.State.Running != nil { // the node has started it again
			continue
		}
		said := strings.TrimSpace(t.Reason + " " + t.Message)
		limit, words = retryLimit, "the container that brings batch's helper ended: "+said
		switch {
		case t.ExitCode == wire.ExitUnplug:
			return fault.Newf(fault.Host, "%s: the pod could not take its network down: %s", op, said).
				WithHint("the nodes or environment.pod.runtimeClassName do not permit it; give --network bridge if the agents may use the network")
		case f.extra.HelperImage != "" && strings.Contains(said, library):
			return fault.Newf(fault.Usage, "%s: %s", op, said).
				WithHint("environment.pod.helperImage has to be the image of this version of batch, which scripts/image builds; the cluster needs image volumes")
		case t.ExitCode == codeNotRun, t.ExitCode == codeNotFound, t.Reason != reasonRan && lacksShell(said):
			return fault.Newf(fault.Instance, "%s: %s", op, words).WithHint(toolsHint)
		}
	}
	if since > limit {
		return fault.New(fault.Transient, op, errors.New(words)).WithHint("%s", hint)
	}
	return nil
}

const (
	placeHint = "`kubectl describe pod` shows what a pod waits for; lower -w if the cluster has no room"
	toolsHint = "the image needs bash, cat, chmod, ln and sleep"
)

// The exit codes of a shell for a program that it cannot start.
const (
	codeNotRun   = 126
	codeNotFound = 127
)

// reasonRan is the reason of a container that was started and ended with an error.
const reasonRan = "Error"

// lacksShell reports whether a runtime says that an image cannot run the helper's shell. What names
// no shell, such as a lost connection to the runtime, is the node's.
func lacksShell(said string) bool {
	lower := strings.ToLower(said)
	return strings.Contains(lower, "bash") &&
		(strings.Contains(lower, "not found") || strings.Contains(lower, "no such file or directory") || strings.Contains(lower, "exec format error"))
}

// lacksRoom reports whether the scheduler says that a node would take the pod if it had more room, or a queue
// of the cluster holds the pod back. One that no node takes for its labels or taints waits in vain, whatever ends.
func lacksRoom(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && (c.Reason == corev1.PodReasonSchedulingGated || strings.Contains(c.Message, "Insufficient ") || strings.Contains(c.Message, "Too many pods"))
	})
}

// lastEnd returns how a container ended last; nil if it has not.
func lastEnd(s corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if s.State.Terminated != nil {
		return s.State.Terminated
	}
	return s.LastTerminationState.Terminated
}

// pullRetried is the state of a container between two tries to pull its image.
const pullRetried = "ImagePullBackOff"

// refused returns the fault of a container that waits for something that will not come; nil if the
// node will try again with some hope.
func refused(w *corev1.ContainerStateWaiting, op string) error {
	text := w.Reason + ": " + w.Message
	lower := strings.ToLower(w.Message)
	says := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(lower, p) {
				return true
			}
		}
		return false
	}
	switch w.Reason {
	case "InvalidImageName", "ErrImageNeverPull":
		return fault.New(fault.Instance, op, errors.New(text))
	case "ErrImagePull", pullRetried:
		switch {
		case says("content digest ", "extract layer ", "extraction snapshot ", "parent snapshot "): // the node's store lacks it
		case says("not found", "manifest unknown", "name unknown", "does not exist", "no match for platform", "invalid reference"):
			return fault.New(fault.Instance, op, errors.New(text)).WithHint("check the image's name, and --image-prefix")
		case says("unauthorized", "authentication required", "denied", "forbidden"):
			return fault.New(fault.Instance, op, errors.New(text)).WithHint("the registry refuses: name a secret in environment.pod.imagePullSecrets, and check the image's name")
		}
	case "CreateContainerConfigError":
		if says("failed to sync", "not yet been read") { // a kubelet that has just started
			return nil
		}
		return fault.New(fault.Usage, op, errors.New(text)).WithHint("check environment.pod")
	case "CreateContainerError", "RunContainerError":
		if lacksShell(text) {
			return fault.New(fault.Instance, op, errors.New(text)).WithHint(toolsHint)
		}
	}
	return nil
}
