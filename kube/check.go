package kube

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

// permission is a verb on a kind of objects.
type permission struct {
	Group       string `json:"group"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Verb        string `json:"verb"`
	Namespace   string `json:"namespace,omitempty"`
}

func (p permission) String() string {
	name := p.Resource
	if p.Subresource != "" {
		name += "/" + p.Subresource
	}
	return p.Verb + " " + name
}

// needed are the permissions in the namespace; the package's comment lists them too.
func needed() (list []permission) {
	add := func(group, resource, sub string, verbs ...string) {
		for _, v := range verbs {
			list = append(list, permission{Group: group, Resource: resource, Subresource: sub, Verb: v})
		}
	}
	add("", "pods", "", "create", "get", "list", "watch", "patch", "delete")
	add("", "pods", "exec", "create", "get")
	add("", "configmaps", "", "create", "get", "list", "delete")
	return list
}

var (
	listNodes   = permission{Resource: "nodes", Verb: "list"}
	watchEvents = permission{Resource: "events", Verb: "watch"}
	makePolicy  = permission{Group: "networking.k8s.io", Resource: "networkpolicies", Verb: "create"}
)

// may asks the cluster whether this user has a permission.
func (c *cluster) may(ctx context.Context, p permission) (bool, error) {
	if p.Resource != listNodes.Resource {
		p.Namespace = c.namespace
	}
	var review struct{ Status struct{ Allowed bool } }
	err := c.query(ctx, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": map[string]any{"resourceAttributes": p},
	}, &review)
	return review.Status.Allowed, c.blame(err, "asking the cluster for permissions")
}

// Check implements [engine.Checker].
func (f *fleet) Check(ctx context.Context) []engine.Finding {
	return []engine.Finding{f.checkPermissions(ctx), f.checkNodes(ctx), f.checkPod(ctx)}
}

func (f *fleet) checkPermissions(ctx context.Context) engine.Finding {
	found := engine.Finding{Name: "rights", Text: "batch may do what it needs in namespace " + f.namespace}
	var lacks []string
	for _, p := range needed() {
		ok, err := f.may(ctx, p)
		if err != nil {
			found.Err = err
			return found
		}
		if !ok {
			lacks = append(lacks, p.String())
		}
	}
	if len(lacks) > 0 {
		found.Err = fault.Newf(fault.Host, "in namespace %s, this user may not %s", f.namespace, strings.Join(lacks, ", ")).
			WithHint("ask for a Role: `batch help kubernetes` has one")
	}
	return found
}

func (f *fleet) checkNodes(ctx context.Context) engine.Finding {
	found := engine.Finding{Name: "nodes"}
	if ok, err := f.may(ctx, listNodes); err != nil || !ok {
		found.Text = "this user may not list nodes, so batch does not know how much room there is: give -w N"
		return found
	}
	nodes := f.nodes(ctx)
	pods := 0
	for _, n := range nodes {
		pods += int(n.Status.Allocatable.Pods().Value())
	}
	found.Text = fmt.Sprintf("%d that take pods, at most %d of them", len(nodes), pods)
	if len(nodes) == 0 {
		found.Err = fault.Newf(fault.Host, "no node takes pods")
	}
	return found
}

// checkPod asks the cluster whether it would create a pod of a run, and how such a pod has no
// network.
func (f *fleet) checkPod(ctx context.Context) engine.Finding {
	found := engine.Finding{Name: "pods"}
	try := plan{
		name: name(), image: "batch.example/check:1", owner: f.me, arch: f.archOf(""), parts: []string{"part"}, extra: f.extra,
	}
	pod := func(unplug bool) (*corev1.Pod, error) {
		p := try
		p.name, p.unplug = name(), unplug
		return p.pod()
	}
	unplugs, err := f.unplugs(ctx, pod)
	switch {
	case err != nil:
		found.Err = err
	case unplugs:
		found.Text = "the cluster accepts them; one without a network takes its interfaces down itself (NET_ADMIN)"
	default:
		found.Text = "the cluster refuses NET_ADMIN, so a NetworkPolicy isolates pods; each is tested before its first command"
		found.Err = f.checkPlain(ctx, try)
	}
	return found
}

func (f *fleet) checkPlain(ctx context.Context, p plan) error {
	const op = "asking the cluster whether it would create a pod"
	pod, err := p.pod()
	if err != nil {
		return err
	}
	if err := f.create(ctx, f.pods(), pod, nil, true); err != nil {
		return f.blame(err, op)
	}
	if ok, err := f.may(ctx, makePolicy); err != nil || !ok {
		return fault.Newf(fault.Host, "this user may not %s, and the cluster refuses NET_ADMIN: pods without a network are not possible", makePolicy).
			WithHint("ask for that permission, or give --network bridge if the agents may use the network")
	}
	return nil
}
