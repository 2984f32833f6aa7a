package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/internal/retry"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// container implements [engine.Container] by a pod.
type container struct {
	*box.Box

	fleet *fleet
	name  string
	uid   types.UID
	image string // the id of its image
	pull  time.Duration
	dir   string // of commands; empty: the image's
}

// ID implements [engine.Container].
func (c *container) ID() string { return c.name }

// ImageID implements [engine.Container].
func (c *container) ImageID() string { return c.image }

// PullTime implements [engine.Puller].
func (c *container) PullTime() time.Duration { return c.pull }

// Remove implements [engine.Container].
func (c *container) Remove(ctx context.Context) error {
	err := c.fleet.Remove(ctx, c.name)
	c.Close()
	return err
}

const (
	aloneLimit = 20 * time.Second // for a NetworkPolicy to begin
	probeLimit = time.Minute
)

// alone makes sure that the pod has no network.
func (c *container) alone(ctx context.Context, unplugged bool) error {
	op := "checking that pod " + c.name + " has no network"
	addresses := reachable(c.fleet.config.Host)
	for end := time.Now().Add(aloneLimit); ; {
		out, err := c.Run(ctx, box.Command{Args: []string{program, wire.ProbeWord}, Script: addresses, Dir: "/", Timeout: probeLimit})
		said := strings.TrimSpace(string(out.Bytes))
		switch {
		case err != nil:
			return err
		case said == "" && out.ExitCode == 0:
			return nil
		case out.ExitCode != 0:
			return fault.Newf(fault.Transient, "%s: exit code %d: %s", op, out.ExitCode, said)
		case !unplugged && time.Now().Before(end):
			if retry.Sleep(ctx, time.Second) != nil {
				return context.Cause(ctx)
			}
			continue
		}
		return fault.Newf(fault.Host, "%s: it reached %s", op, reached(said)).
			WithHint("the cluster does not enforce NetworkPolicies: let it permit NET_ADMIN in this namespace, use a network plugin\n" +
				"that enforces policies, or give --network bridge if the agents may use the network")
	}
}

// carrier is a [box.Carrier].
type carrier struct{ c *container }

// Name implements [box.Carrier].
func (k carrier) Name() string { return k.c.name }

// Dir implements [box.Carrier].
func (k carrier) Dir() string { return k.c.dir }

// Admit implements [box.Carrier].
func (carrier) Admit() (func(), error) { return func() {}, nil }

// DiskUse implements [box.Carrier]: the node evicts a pod above its limit.
func (carrier) DiskUse(context.Context) *vocab.DiskUse { return nil }

// Destroyed implements [box.Carrier].
func (carrier) Destroyed(f error) error { return box.Destroyed(f) }

const (
	greetLimit = time.Minute            // for the relay to start and the helper to answer
	firstPause = 250 * time.Millisecond // between tries to connect; it doubles
	maxPause   = 8 * time.Second
)

// Connect implements [box.Carrier]. An upgrade of the API server cuts the streams of all pods at
// once, so each waits for a random time before it tries again.
func (k carrier) Connect(ctx context.Context) error {
	const doing = "running a command in"
	c := k.c
	policy := retry.Policy{First: firstPause, Longest: maxPause, Jitter: .5, Total: c.fleet.patience}
	for tries := policy.Start(); ; {
		if err := c.fleet.Ready(ctx); err != nil {
			return err
		}
		err := c.gone(ctx, doing)
		if err == nil {
			if err = c.greet(ctx); err == nil {
				return nil
			}
		} else if !errors.Is(err, engine.ErrOutage) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if text := err.Error(); strings.Contains(text, "forbidden") && strings.Contains(text, `resource "pods/exec"`) && !strings.Contains(text, "RBAC: ") {
			return fault.New(fault.Host, doing+" pod "+c.name, err).WithHint("batch help kubernetes lists the permissions that batch needs")
		}
		c.fleet.log.Debug("connecting to a pod", "pod", c.name, "err", err)
		wait, again := tries.Next(0)
		if !again {
			return fault.New(fault.Transient, doing+" pod "+c.name, errors.Join(engine.ErrOutage, err))
		}
		if retry.Sleep(ctx, wait) != nil {
			return context.Cause(ctx)
		}
	}
}

// greet starts a relay and begins the connection over it. The connection ends with the pod.
func (c *container) greet(ctx context.Context) error {
	p, err := c.fleet.dial(c.name)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeoutCause(ctx, greetLimit, fmt.Errorf("process 1 did not answer within %v", greetLimit))
	defer stop()
	p.after = c.fleet.watcher.follow(c.name, c.uid, p.end)
	return c.Begin(ctx, p, box.Running)
}

// Stop implements [box.Carrier].
func (k carrier) Stop(ctx context.Context, doing string) error {
	return k.c.fleet.Remove(ctx, k.c.name)
}

// Start implements [box.Carrier]: a pod that has ended has lost its files.
func (k carrier) Start(context.Context) error {
	return fault.New(fault.Transient, "", errors.New("pod "+k.c.name+" was removed because processes in it could not be killed"))
}

var errRemoved = errors.New("the pod was deleted")

// gone returns why the pod does not run; nil if it does. It asks the cluster even when ctx is canceled.
func (c *container) gone(ctx context.Context, doing string) error {
	op := doing + " pod " + c.name
	var pod corev1.Pod
	err := c.fleet.get(context.WithoutCancel(ctx), c.fleet.pods(), c.name, &pod)
	if apierrors.IsNotFound(err) {
		return fault.New(fault.Transient, op, errRemoved).WithHint("something outside this run deleted it, or its node is gone")
	}
	if err != nil {
		return c.fleet.blame(err, op)
	}
	return c.why(&pod, op)
}

// why returns why a pod has ended, in the cluster's own words; nil if it has not.
func (c *container) why(p *corev1.Pod, op string) error {
	s := taskStatus(p)
	switch {
	case p.UID != c.uid:
		return fault.New(fault.Transient, op, errRemoved)
	case p.Status.Reason == "Evicted" && limits(p, corev1.ResourceEphemeralStorage) && ownDisk(p.Status.Message):
		return box.Destroyed(fault.Newf(fault.Instance, "%s: its files exceeded their limit: %s", op, p.Status.Message))
	case p.Status.Reason != "":
		return fault.Newf(fault.Transient, "%s: %s: %s", op, p.Status.Reason, p.Status.Message)
	case s != nil && s.State.Terminated != nil:
		return c.terminated(p, s.State.Terminated, op)
	case p.DeletionTimestamp != nil:
		return fault.New(fault.Transient, op, errRemoved).WithHint("something outside this run deleted it, preempted it or drained its node")
	case ended(p):
		return fault.Newf(fault.Transient, "%s: the pod is %s", op, p.Status.Phase)
	}
	return nil
}

// limits reports whether the task of a pod has a limit of something: without one, its node has
// run out of it.
func limits(p *corev1.Pod, of corev1.ResourceName) bool {
	for _, t := range p.Spec.Containers {
		if _, limited := t.Resources.Limits[of]; t.Name == taskName && limited {
			return true
		}
	}
	return false
}

// ownDisk reports whether a pod was evicted because of its own limit, and not because the disk of its
// node was full. A node names the pod's use then too.
func ownDisk(message string) bool {
	return strings.Contains(message, "ephemeral") && strings.Contains(message, "limit") && !strings.Contains(message, "node was low")
}

func (c *container) terminated(p *corev1.Pod, t *corev1.ContainerStateTerminated, op string) error {
	disrupted := ""
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.DisruptionTarget && cond.Status == corev1.ConditionTrue {
			disrupted = cond.Reason + ": " + cond.Message
		}
	}
	switch {
	case disrupted != "":
		return fault.Newf(fault.Transient, "%s: %s", op, disrupted)
	case t.ExitCode == wire.ExitLease:
		return fault.New(fault.Transient, op, errors.New("the pod stopped because batch did not contact it for too long"))
	case t.Reason == "OOMKilled" && limits(p, corev1.ResourceMemory) || t.ExitCode == wire.ExitCrash:
		return box.Destroyed(fault.Newf(fault.Instance, "%s: its own processes used up its memory, and a pod cannot be started again with its files", op))
	case p.DeletionTimestamp != nil:
		return fault.New(fault.Transient, op, errRemoved).WithHint("something outside this run deleted it")
	}
	return fault.Newf(fault.Transient, "%s: the pod was killed (%s, exit code %d) %.200q", op, t.Reason, t.ExitCode, t.Message) // the pod may have written the message
}
