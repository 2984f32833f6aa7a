package kube

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// watcher knows the pods of batch in the namespace. One watch serves all: a pod that is deleted or
// evicted leaves its exec open and silent, so that the exec alone would never report the end.
type watcher struct {
	mu      sync.Mutex
	pods    map[string]*corev1.Pod   // by name
	changed map[string]chan struct{} // closed at the next change
	pulls   pulls
	running sync.WaitGroup
	end     context.CancelFunc
}

// relist is how often every pod is looked at again as the watch knows it. What the watch has missed is
// found by await, and by a connection that is silent.
const relist = 10 * time.Minute

func (c *cluster) watch() *watcher {
	ctx, end := context.WithCancel(context.Background())
	w := &watcher{
		pods: map[string]*corev1.Pod{}, changed: map[string]chan struct{}{}, pulls: pulls{took: map[types.UID]time.Duration{}}, end: end,
	}
	source := cache.NewFilteredListWatchFromClient(c.core, "pods", c.namespace, func(o *metav1.ListOptions) { o.LabelSelector = managed })
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: &corev1.Pod{}, ResyncPeriod: relist,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { w.set(o) },
			UpdateFunc: func(_, o any) { w.set(o) },
			DeleteFunc: w.unset,
		},
	})
	w.running.Go(func() { informer.RunWithContext(ctx) })
	w.running.Go(func() { w.pulls.watch(ctx, c) })
	return w
}

func (w *watcher) close() {
	w.end()
	w.running.Wait()
}

func (w *watcher) set(o any) {
	if p, ok := o.(*corev1.Pod); ok {
		w.put(p.Name, p)
	}
}

func (w *watcher) unset(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	if p, ok := o.(*corev1.Pod); ok {
		w.pulls.of(p.UID)
		w.put(p.Name, nil)
	}
}

// put notes the state of a pod, nil for none, and wakes who waits for it.
func (w *watcher) put(name string, p *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p == nil {
		delete(w.pods, name)
	} else {
		w.pods[name] = p
	}
	if c := w.changed[name]; c != nil {
		close(c)
		delete(w.changed, name)
	}
}

// look returns the pod as the watch knows it, nil if it does not, and a channel that is closed
// when that changes.
func (w *watcher) look(name string) (*corev1.Pod, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.changed[name]
	if c == nil {
		c = make(chan struct{})
		w.changed[name] = c
	}
	return w.pods[name], c
}

// busy reports whether a pod of batch has a node and has not ended.
func (w *watcher) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.pods {
		if p.Spec.NodeName != "" && !ended(p) {
			return true
		}
	}
	return false
}

// follow calls gone once when the watch reports that the pod with the name and UID has ended or does
// not exist any more. Stop ends it and waits for it.
func (w *watcher) follow(name string, uid types.UID, gone func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() {
		for known := false; ; {
			p, changed := w.look(name)
			known = known || p != nil && p.UID == uid
			if known && (p == nil || p.UID != uid || ended(p)) {
				gone()
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		following.Wait()
	}
}

// ended reports whether the task of a pod has ended, or will not run any more.
func ended(p *corev1.Pod) bool {
	if p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded || p.DeletionTimestamp != nil {
		return true
	}
	s := taskStatus(p)
	return s != nil && s.State.Terminated != nil
}

func taskStatus(p *corev1.Pod) *corev1.ContainerStatus {
	for i := range p.Status.ContainerStatuses {
		if p.Status.ContainerStatuses[i].Name == taskName {
			return &p.Status.ContainerStatuses[i]
		}
	}
	return nil
}
