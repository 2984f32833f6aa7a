package kube

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/internal/owner"
	"batch.example/batch/internal/retry"
	"batch.example/batch/sandbox/engine"
)

// fleet implements [engine.Engine].
type fleet struct {
	objects

	id      string // of this process, in the name of the object that owns its pods
	me      owner.Owner
	runner  *runner // nil: this process runs outside of the namespace
	watcher *watcher
	starts  *starts
	queue   queue
	pull    time.Duration // limit of a download; 0: none
	extra   *template
	arch    string // of nodes, where neither a platform nor the template says it
	pins    pins
}

func newFleet(ctx context.Context, c *cluster, o engine.Options) (*fleet, error) {
	if err := c.ping(ctx); err != nil {
		if f := c.blame(err, "connecting to the cluster at "+c.config.Host); fault.KindOf(f) == fault.Transient {
			return nil, fault.New(fault.Host, "connecting to the cluster at "+c.config.Host, err).
				WithHint("`kubectl get pods` shows whether the cluster answers")
		} else if f != nil {
			return nil, f
		}
		return nil, err
	}
	extra, err := parseTemplate(o.Pod)
	if err != nil {
		return nil, err
	}
	f := &fleet{objects: objects{cluster: c}, starts: newStarts(), queue: queue{Weighted: semaphore.NewWeighted(1)}, extra: extra, id: strings.ToLower(rand.Text()[:16]), me: owner.Self(), pull: o.PullTimeout}
	if f.runner, err = c.findRunner(ctx); err != nil {
		return nil, err
	}
	nodes := f.nodes(ctx)
	f.arch = runtime.GOARCH
	if len(nodes) > 0 && !slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Status.NodeInfo.Architecture == f.arch }) {
		f.arch = nodes[0].Status.NodeInfo.Architecture
	}
	f.watcher = c.watch()
	return f, nil
}

// nodes returns the nodes that take pods; none if this user may not list nodes.
func (f *fleet) nodes(ctx context.Context) []corev1.Node {
	var list corev1.NodeList
	if err := f.do(ctx, "nodes", f.core.Get().Resource("nodes"), &list); err != nil {
		return nil
	}
	var able []corev1.Node
	for _, n := range list.Items {
		if !n.Spec.Unschedulable {
			able = append(able, n)
		}
	}
	return able
}

// archOf returns the architecture of the nodes for a platform such as linux/arm64, or none.
func (f *fleet) archOf(platform string) string {
	if _, arch, ok := strings.Cut(platform, "/"); ok {
		arch, _, _ = strings.Cut(arch, "/")
		return arch
	}
	return f.extra.arch(f.arch)
}

// Create implements [engine.Engine].
func (f *fleet) Create(ctx context.Context, s engine.Spec) (c engine.Container, err error) {
	op := "creating a pod from " + s.Image
	if err := errors.Join(check(s), f.CheckNetwork(ctx, s.Network)); err != nil {
		return nil, err
	}
	err = f.admitted(ctx, func() (err error) {
		c, err = f.make(ctx, s, op)
		return err
	})
	return c, err
}

// make makes a pod; the error is errFull if the cluster does not admit it now.
func (f *fleet) make(ctx context.Context, s engine.Spec, op string) (engine.Container, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p, err := f.plan(ctx, s)
	if err != nil {
		return nil, err
	}
	pod, err := p.pod()
	if err != nil {
		return nil, err
	}
	if err := f.starts.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	waits := false
	c, err := f.start(ctx, p, pod, op, func(now bool) {
		if now && !waits { // an autoscaler or a queue has to see all pods that wait for a node
			f.starts.Release(1)
			waits = true
		}
	})
	if !waits {
		f.starts.Release(1)
	}
	if err == nil && noNetwork(s.Network) {
		err = c.alone(ctx, p.unplug)
	}
	if err == nil {
		return c, nil
	}
	if c != nil {
		c.Close()
		f.forget()
	}
	return nil, errors.Join(err, f.Remove(ctx, p.name))
}

// image returns the name with which pods of an image are created.
func (f *fleet) image(name string) string {
	if f.extra.ImagePullPolicy == corev1.PullNever { // the nodes know their own images by tags
		return name
	}
	return f.pins.use(name)
}

// plan makes what the pod needs in the cluster.
func (f *fleet) plan(ctx context.Context, s engine.Spec) (p plan, err error) {
	if err := f.Ready(ctx); err != nil {
		return p, err
	}
	p = plan{name: name(), spec: s, image: f.image(s.Image), owner: f.me, arch: f.archOf(s.Platform), extra: f.extra, now: time.Now(), runner: f.runner}
	_, _ = rand.Read(p.key[:]) // never fails
	if err := f.hold(ctx, s.Labels[engine.LabelLease]); err != nil {
		return p, err
	}
	if p.parent, err = f.owner(ctx, f.id, f.me.String(), f.runner); err != nil { // first: Tidy leaves the rest while it is there
		return p, err
	}
	if p.helperImage = f.extra.HelperImage; p.helperImage == "" {
		p.parts, err = f.store(ctx, p.arch)
	} else {
		p.helperFile, err = f.file(p.arch)
	}
	if err != nil {
		return p, err
	}
	if !noNetwork(s.Network) {
		return p, nil
	}
	p.unplug, err = f.unplugs(ctx, func(unplug bool) (*corev1.Pod, error) {
		try := p
		try.name, try.unplug = name(), unplug
		return try.pod()
	})
	if err == nil && !p.unplug {
		err = f.deny(ctx)
	}
	return p, err
}

// start creates the pod, waits until it runs and connects to it.
func (f *fleet) start(ctx context.Context, p plan, pod *corev1.Pod, op string, waits func(bool)) (*container, error) {
	var made corev1.Pod
	// The cluster may create the pod although the caller has hung up. So this short call ends.
	err := f.create(context.WithoutCancel(ctx), f.pods(), pod, &made, false)
	if apierrors.IsAlreadyExists(err) { // a call whose answer was lost
		err = f.get(ctx, f.pods(), p.name, &made)
	}
	if err != nil {
		return nil, f.blame(err, op)
	}
	if p.spec.Files.Image != "" && !slices.ContainsFunc(made.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == filesName && v.Image != nil }) {
		return nil, fault.Newf(fault.Usage, "%s: agent.program.files: the cluster has no image volumes", op).
			WithHint("use Kubernetes 1.35, or 1.33 with the feature gate ImageVolume, or put the files into the images")
	}
	c := &container{fleet: f, name: p.name, uid: made.UID, dir: p.spec.WorkDir}
	c.Box = box.New(carrier{c}, p.key, p.spec.Unattended)
	running, err := f.await(ctx, &made, op, waits)
	if err == nil {
		c.image = taskStatus(running).ImageID
		f.pins.note(p.spec.Image, taskStatus(running))
		err = carrier{c}.Connect(ctx)
	}
	if err == nil {
		c.pull = f.watcher.pulls.of(c.uid)
		err = c.Enter(ctx, op, "pod")
	}
	return c, err
}

// Attach implements [engine.Engine].
func (f *fleet) Attach(ctx context.Context, id string) (engine.Container, error) {
	op := "attaching to pod " + id
	if err := f.Ready(ctx); err != nil {
		return nil, err
	}
	var pod corev1.Pod
	err := f.get(ctx, f.pods(), id, &pod)
	if apierrors.IsNotFound(err) {
		return nil, fault.New(fault.Transient, op, errRemoved)
	}
	if err != nil {
		return nil, f.blame(err, op)
	}
	key, ok := keyOf(&pod)
	if !ok {
		return nil, fault.Newf(fault.Instance, "%s: batch did not create it", op)
	}
	c := &container{fleet: f, name: pod.Name, uid: pod.UID, dir: pod.Annotations[noteWorkDir]}
	if s := taskStatus(&pod); s != nil {
		c.image = s.ImageID
	}
	if err := c.why(&pod, op); err != nil {
		return nil, err
	}
	if err := f.takes(ctx, &pod); err != nil {
		return nil, err
	}
	unattended, _ := time.ParseDuration(pod.Annotations[noteUnattend]) // none without the annotation
	c.Box = box.New(carrier{c}, key, unattended)
	if _, err := c.Connect(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func keyOf(p *corev1.Pod) (key wire.Key, ok bool) {
	for _, c := range p.Spec.Containers {
		for _, v := range c.Env {
			if v.Name == wire.KeyVariable {
				n, err := hex.Decode(key[:], []byte(v.Value))
				return key, err == nil && n == wire.KeySize
			}
		}
	}
	return key, false
}

// Owned implements [engine.Engine].
func (f *fleet) Owned(ctx context.Context) ([]engine.Owned, error) {
	if err := f.Ready(ctx); err != nil {
		return nil, err
	}
	var list corev1.PodList
	if err := f.list(ctx, f.pods(), managed, &list); err != nil {
		return nil, f.blame(err, "listing pods")
	}
	out := make([]engine.Owned, 0, len(list.Items))
	runners := f.census()
	for i := range list.Items {
		if list.Items[i].Annotations[noteOwner] != "" { // other programs may have the same label
			o := summarize(&list.Items[i])
			runners.judge(ctx, &o, list.Items[i].Annotations)
			out = append(out, o)
		}
	}
	return out, nil
}

func summarize(p *corev1.Pod) engine.Owned {
	n := p.Annotations
	o := engine.Owned{
		ID: p.Name, Name: p.Name, Image: n[noteImage], State: strings.ToLower(string(p.Status.Phase)), Created: p.CreationTimestamp.Time,
		Run: n[engine.LabelRun], Instance: n[engine.LabelInstance], Attempt: n[engine.LabelAttempt], Lease: n[engine.LabelLease], Adopter: n[noteAdopter],
		Program: n[engine.LabelProgram] != "",
	}
	if p.DeletionTimestamp != nil {
		o.State = "removing"
	}
	if t, err := time.Parse(time.RFC3339, n[noteExpires]); err == nil {
		o.Expires = t
	}
	return o
}

// Adopt implements [engine.Engine].
func (f *fleet) Adopt(ctx context.Context, id, lease string) error {
	if err := f.Ready(ctx); err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{noteAdopter: owner.Adopter(lease)}}})
	if err == nil {
		err = f.patch(ctx, f.pods(), id, patch)
	}
	return f.blame(err, "marking pod "+id+" as taken over")
}

// removing is for an API that is lost meanwhile.
var removing = retry.Policy{First: 200 * time.Millisecond, Total: time.Minute}

// Remove implements [engine.Engine].
func (f *fleet) Remove(ctx context.Context, id string) error {
	for tries := removing.Start(); ; {
		if err := f.Ready(ctx); fault.KindOf(err) == fault.Host {
			return err
		}
		err := f.remove(context.WithoutCancel(ctx), f.pods(), id)
		if err == nil || !isLost(err) || ctx.Err() != nil || !tries.Wait(context.WithoutCancel(ctx)) {
			return f.blame(err, "removing pod "+id)
		}
	}
}

// Tidy implements [engine.Tidier].
func (f *fleet) Tidy(ctx context.Context) (bool, error) {
	runners := f.census()
	return f.tidy(ctx, func(m *corev1.ConfigMap) bool {
		about := engine.Owned{Expires: m.CreationTimestamp.Add(ownerless)}
		runners.judge(ctx, &about, m.Annotations)
		return about.Mine || about.Abandoned
	})
}

// CheckNetwork implements [engine.Engine].
func (f *fleet) CheckNetwork(_ context.Context, network string) error {
	if noNetwork(network) || network == engine.Bridge {
		return nil
	}
	return fault.Newf(fault.Usage, "network %q: a pod has the cluster's network or none", network).WithHint("give --network bridge or --network none")
}

// assumedCPUs is the number of processors where this user may not list nodes: -w N says better how
// many pods there is room for.
const assumedCPUs = 16

// About implements [engine.Engine].
func (f *fleet) About(ctx context.Context) (engine.About, error) {
	a := engine.About{
		Address: "kubernetes at " + f.config.Host + ", namespace " + f.namespace, ID: f.config.Host + "/" + f.namespace, Store: f.config.Host, Name: f.namespace,
		OS: "linux", Arch: f.arch, Unlimited: []string{"swap", "processes"},
	}
	var version struct{ GitVersion string }
	if err := f.query(ctx, "/version", nil, &version); err != nil {
		return a, f.blame(err, "asking the cluster for its version")
	}
	a.Version, a.APIVersion = strings.TrimPrefix(version.GitVersion, "v"), "v1"
	nodes := f.nodes(ctx)
	if nodes == nil {
		a.CPUs = assumedCPUs
	}
	for _, n := range nodes {
		room := n.Status.Allocatable
		a.CPUs += int(room.Cpu().Value())
		a.Memory += room.Memory().Value()
		a.Arch, a.System, a.Kernel = n.Status.NodeInfo.Architecture, n.Status.NodeInfo.OSImage, n.Status.NodeInfo.KernelVersion
	}
	all, err := f.Owned(ctx)
	a.Containers = len(all)
	for _, o := range all {
		if o.State == engine.StateRunning {
			a.Running++
		}
	}
	return a, err
}

// Close implements [engine.Engine]. The object that owns this process's pods is removed if no pod is
// left.
func (f *fleet) Close() error {
	f.watcher.close()
	if !f.away.Load() {
		f.release(context.Background())
	}
	f.mu.Lock()
	parent := f.parent
	f.mu.Unlock()
	if parent == nil || f.away.Load() {
		return nil
	}
	ctx := context.Background()
	var pods corev1.PodList
	if err := f.list(ctx, f.pods(), managed, &pods); err != nil {
		return nil //nolint:nilerr // a later Tidy removes it
	}
	for _, p := range pods.Items {
		if owns(parent, &p) {
			return nil
		}
	}
	_ = f.remove(ctx, f.configMaps(), parent.Name) // a later Tidy removes it
	return nil
}

func owns(parent *metav1.OwnerReference, p *corev1.Pod) bool {
	for _, r := range p.OwnerReferences {
		if r.UID == parent.UID {
			return true
		}
	}
	return false
}
