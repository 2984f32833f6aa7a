package kube

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/retry"
)

// starts counts the pods that were created and do not run yet. A kubelet pulls one image at a time, and
// one pod's image is pulled while the others start, so each node may have perNode of them. The pods
// say which nodes there are: not every user may list nodes, and an autoscaler adds some.
type starts struct {
	*semaphore.Weighted

	mu    sync.Mutex
	nodes map[string]bool // that took a pod
}

const perNode = 8

func newStarts() *starts {
	s := &starts{Weighted: semaphore.NewWeighted(math.MaxInt64), nodes: map[string]bool{}}
	s.TryAcquire(math.MaxInt64 - perNode) // for the first node; release gives the rest back
	return s
}

// took notes that a node took a pod.
func (s *starts) took(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes[node] {
		return
	}
	if s.nodes[node] = true; len(s.nodes) > 1 {
		s.Release(perNode)
	}
}

// queue orders the pods for which a quota has no room.
type queue struct {
	*semaphore.Weighted           // of the one that tries
	busy                time.Time // when batch had a pod here for the last time; guarded by the semaphore
}

const admitPause = time.Second

// admitted makes a pod when the quotas of the namespace have room for it. Those that wait try one after
// the other. The limit begins when no pod of batch is left that could make room by its end.
func (f *fleet) admitted(ctx context.Context, create func() error) error {
	began := time.Now()
	err := create()
	if !errors.Is(err, errFull) {
		return err
	}
	f.log.Warn("an instance waits for room in the namespace's quota", "err", err)
	if f.queue.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	defer f.queue.Release(1)
	for {
		if f.watcher.busy() {
			f.queue.busy = time.Now()
		}
		err := create()
		if !errors.Is(err, errFull) || time.Since(began) > placeLimit && time.Since(f.queue.busy) > placeLimit {
			return err
		}
		if retry.Sleep(ctx, admitPause) != nil {
			return context.Cause(ctx)
		}
	}
}

// errFull is in the chain of a fault if a quota has no room now and may have later.
var errFull = errors.New("no room in the namespace's quota")

var exceeded = lazy.Regexp(`exceeded quota: \S+, requested: (\S+), used: \S+, limited: (\S+)`)

// byQuota reports whether err is the refusal of a quota, and whether the quota would have no room
// even if nothing else used it.
func byQuota(err error) (refused, never bool) {
	if err == nil {
		return false, false
	}
	text := err.Error()
	if found := exceeded().FindStringSubmatch(text); found != nil {
		limits := amounts(found[2])
		for name, wanted := range amounts(found[1]) {
			if limit, known := limits[name]; known && wanted.Cmp(limit) > 0 {
				never = true
			}
		}
		return true, never
	}
	uncounted := strings.Contains(text, "status unknown for quota") || strings.Contains(text, "resource quota evaluation timed out")
	return uncounted || apierrors.IsConflict(err) && strings.Contains(text, "resourcequotas"), false
}

// amounts reads a list such as limits.memory=4Gi,pods=1.
func amounts(list string) map[string]resource.Quantity {
	all := map[string]resource.Quantity{}
	for entry := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(entry, "=")
		if q, err := resource.ParseQuantity(value); err == nil {
			all[name] = q
		}
	}
	return all
}
