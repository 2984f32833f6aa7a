package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/packed"
)

const (
	partKey    = "part"
	partSize   = 1 << 20 // bytes; a ConfigMap may have 1 MiB with its keys
	partRoom   = 1 << 10
	partPrefix = "batch-helper-"
	runPrefix  = "batch-run-"
	policyName = "batch-no-network"
)

// objects makes the objects that the pods of a namespace share, when the first pod needs them.
type objects struct {
	*cluster

	mu     sync.Mutex
	parts  map[string][]string // ConfigMaps with the helper, by architecture
	files  map[string]string   // the helper in an image of batch, by architecture
	parent *metav1.OwnerReference
	doubt  bool  // whether parent is still there
	unplug *bool // whether pods may have NET_ADMIN
	policy bool  // the NetworkPolicy is there
}

// helper returns batch's helper for an architecture and a name of it, which contains a hash: each
// version of batch has its own.
func helper(arch string) (name string, program []byte, err error) {
	gz := packed.For(arch)
	if gz == nil {
		return "", nil, fault.Newf(fault.Usage, "nodes with architecture %s are not supported", arch).
			WithHint("use nodes with amd64 or arm64: environment.pod.nodeSelector selects nodes")
	}
	program, err = packed.Unpack(gz)
	if err != nil {
		return "", nil, fault.New(fault.Bug, "unpacking batch's helper", err)
	}
	sum := sha256.Sum256(program)
	return fmt.Sprintf("%s%s-%x", partPrefix, arch, sum[:6]), program, nil
}

// Helper returns the program that pods need on nodes of an architecture, and its path in an image of
// batch, where environment.pod.helperImage expects it: scripts/image puts it there.
func Helper(arch string) (file string, program []byte, err error) {
	name, program, err := helper(arch)
	return path.Join(library, name), program, err
}

// file returns the path of [Helper], which takes time.
func (o *objects) file(arch string) (file string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if file = o.files[arch]; file != "" {
		return file, nil
	}
	if file, _, err = Helper(arch); err == nil {
		o.files = map[string]string{arch: file}
	}
	return file, err
}

// store returns the names of the ConfigMaps that have the helper for an architecture.
func (o *objects) store(ctx context.Context, arch string) ([]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if names := o.parts[arch]; names != nil {
		return names, nil
	}
	prefix, program, err := helper(arch)
	if err != nil {
		return nil, err
	}
	var names []string
	for part := range slices.Chunk(program, partSize-partRoom) {
		name := fmt.Sprintf("%s-%d", prefix, len(names))
		yes := true
		err := o.ensure(ctx, o.configMaps(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{labelManaged: "batch"}},
			Immutable:  &yes, BinaryData: map[string][]byte{partKey: part},
		})
		if err != nil {
			return nil, o.blame(err, "storing batch's helper in the cluster")
		}
		names = append(names, name)
	}
	if o.parts == nil {
		o.parts = map[string][]string{}
	}
	o.parts[arch] = names
	return names, nil
}

// ensure creates an object unless it exists.
func (o *objects) ensure(ctx context.Context, kind object, obj apiruntime.Object) error {
	err := o.create(ctx, kind, obj, nil, false)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// forget makes the objects that a failed pod may have lacked be made again, since another process may
// have removed them.
func (o *objects) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.parts, o.policy, o.doubt = nil, false, true
}

// owner returns the object that owns the pods of this process. When it is deleted, the cluster
// deletes them.
func (o *objects) owner(ctx context.Context, id, process string, by *runner) (*metav1.OwnerReference, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.parent != nil && !o.doubt {
		return o.parent, nil
	}
	meta := metav1.ObjectMeta{
		Name: runPrefix + id, Labels: map[string]string{labelManaged: "batch"}, Annotations: map[string]string{noteOwner: process},
	}
	if by != nil {
		meta.Annotations[noteRunner] = by.mark()
	}
	if by != nil && by.job != nil { // when a person deletes the Job, the cluster deletes its pods
		meta.OwnerReferences = []metav1.OwnerReference{*by.job}
	}
	var made corev1.ConfigMap
	err := o.create(ctx, o.configMaps(), &corev1.ConfigMap{ObjectMeta: meta}, &made, false)
	if apierrors.IsAlreadyExists(err) { // a call whose answer was lost
		err = o.get(ctx, o.configMaps(), runPrefix+id, &made)
	}
	if err != nil {
		return nil, o.blame(err, "creating the object that owns the run's pods")
	}
	o.doubt = false
	o.parent = &metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: made.Name, UID: made.UID}
	return o.parent, nil
}

// deny makes the NetworkPolicy that denies all traffic to and from pods without a network.
func (o *objects) deny(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.policy {
		return nil
	}
	err := o.ensure(ctx, o.policies(), &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: policyName, Labels: map[string]string{labelManaged: "batch"}},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{labelUnplug: networkNone}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		},
	})
	if err != nil {
		return o.blame(err, "creating the NetworkPolicy "+policyName)
	}
	o.policy = true
	return nil
}

// unplugs reports whether the cluster permits a pod that takes its own network down. It asks once, by
// pods that the cluster checks and does not create. If it refuses the other kind too, or because of a
// quota, the reason is another one and is not kept.
func (o *objects) unplugs(ctx context.Context, try func(unplug bool) (*corev1.Pod, error)) (able bool, err error) {
	const op = "asking the cluster whether it would create a pod"
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.unplug != nil {
		return *o.unplug, nil
	}
	for _, able = range []bool{true, false} {
		pod, err := try(able)
		if err != nil {
			return false, err
		}
		err = o.create(ctx, o.pods(), pod, nil, true)
		full, _ := byQuota(err)
		refused := !full && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err))
		if err != nil && (!able || !refused || isLost(err)) {
			return false, o.blame(err, op)
		}
		if err == nil {
			break
		}
	}
	o.unplug = &able
	return able, nil
}

// ownerless is after how long the object of a process is removed about which nothing is known. If the
// process lives, it makes the object again: see forget.
const ownerless = 7 * 24 * time.Hour

// tidy removes the owners of ended processes' pods if the namespace has no pod of batch. If no owner
// is left, no process needs the helper and the policy, and tidy removes them too. Idle reports whether
// the process whose pods an object owns needs it no more; this process itself makes it again.
func (o *objects) tidy(ctx context.Context, idle func(*corev1.ConfigMap) bool) (removed bool, err error) {
	var pods corev1.PodList
	if err := o.list(ctx, o.pods(), managed, &pods); err != nil || len(pods.Items) > 0 {
		return false, o.blame(err, "listing pods")
	}
	var maps corev1.ConfigMapList
	if err := o.list(ctx, o.configMaps(), managed, &maps); err != nil {
		return false, o.blame(err, "listing ConfigMaps")
	}
	var names []string
	used := false
	for _, m := range maps.Items {
		switch {
		case !strings.HasPrefix(m.Name, runPrefix):
		case idle(&m):
			names = append(names, m.Name)
		default:
			used = true
		}
	}
	for _, m := range maps.Items {
		if !used && strings.HasPrefix(m.Name, partPrefix) {
			names = append(names, m.Name)
		}
	}
	o.forget()
	for _, name := range names {
		if err := o.remove(ctx, o.configMaps(), name); err != nil {
			return removed, o.blame(err, "removing ConfigMap "+name)
		}
		removed = true
	}
	if used {
		return removed, nil
	}
	if err := o.remove(ctx, o.policies(), policyName); err != nil && !apierrors.IsForbidden(err) {
		return removed, o.blame(err, "removing the NetworkPolicy "+policyName)
	}
	return removed, nil
}

// outside is an address of the internet that answers: a cluster may let every pod reach its API, and
// another one nothing but its own network.
const outside = "1.1.1.1:443"

// reachable are addresses that a pod with a network reaches, in the form of [wire.ProbeWord]: one
// outside of the cluster, and the API server's. The helper adds the one that pods use: here, a tunnel may
// be between batch and the API server.
func reachable(host string) string {
	list := []string{outside}
	if u, err := url.Parse(host); err == nil {
		port := u.Port()
		if port == "" {
			port = "443"
		}
		ips, _ := net.LookupHost(u.Hostname())
		for _, ip := range ips {
			list = append(list, net.JoinHostPort(ip, port))
		}
	}
	var out []string
	for _, text := range list {
		a, err := netip.ParseAddrPort(text)
		if err != nil || a.Addr().IsLoopback() { // it would be the pod's own
			continue
		}
		out = append(out, fmt.Sprintf("%x:%d", a.Addr().Unmap().AsSlice(), a.Port()))
	}
	return strings.Join(out, " ")
}

// reached returns, for a person, the addresses that a probe found.
func reached(said string) string {
	var list []string
	for text := range strings.FieldsSeq(said) {
		digits, port, _ := strings.Cut(text, ":")
		ip, _ := hex.DecodeString(digits)
		list = append(list, net.JoinHostPort(net.IP(ip).String(), port))
	}
	return strings.Join(list, ", ")
}
