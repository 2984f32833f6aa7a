package kube

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"batch.example/batch/internal/lazy"
)

// pulls knows how long nodes took to pull the images of pods, from the events that nodes write. The
// pods' own states do not say it: a node reports them only when the pull is over. Without the
// permission to watch events, it knows nothing.
type pulls struct {
	mu   sync.Mutex
	took map[types.UID]time.Duration // by pod
}

// pulledIn finds the time in an event, which includes the wait for other pulls of the node.
var pulledIn = lazy.Regexp(`\bSuccessfully pulled image .* in ([^ ]+) \(([^ ]+) including waiting\)`)

// watch follows the events until ctx ends.
func (p *pulls) watch(ctx context.Context, c *cluster) {
	if able, _ := c.may(ctx, watchEvents); !able { // it would ask again and again
		return
	}
	source := cache.NewFilteredListWatchFromClient(c.core, "events", c.namespace, func(o *metav1.ListOptions) {
		o.FieldSelector = "involvedObject.kind=Pod,reason=Pulled"
	})
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: &corev1.Event{},
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: func(o any) {
			if e, ok := o.(*corev1.Event); ok {
				p.note(e)
			}
		}},
	})
	informer.RunWithContext(ctx)
}

func (p *pulls) note(e *corev1.Event) {
	found := pulledIn().FindStringSubmatch(e.Message)
	if found == nil || !strings.HasPrefix(e.InvolvedObject.Name, podPrefix) {
		return
	}
	took, err := time.ParseDuration(found[2])
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	uid := e.InvolvedObject.UID
	p.took[uid] = max(p.took[uid], took) // an event may come twice
}

// of returns how long the node of a pod pulled its image, and forgets it.
func (p *pulls) of(pod types.UID) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := p.took[pod]
	delete(p.took, pod)
	return took
}

// pins has the digest of each image name that a node has pulled. All later pods of this process use
// the digest: the tag may have moved in the registry, or nodes may have pulled it at other times.
type pins struct{ digests sync.Map }

// use returns the name for a pod of an image.
func (p *pins) use(image string) string {
	if pinned, ok := p.digests.Load(image); ok {
		return pinned.(string)
	}
	return image
}

// note records what the node of a running pod calls its image. Nodes report other names for images
// that were copied to them.
func (p *pins) note(image string, s *corev1.ContainerStatus) {
	id := s.ImageID
	if _, after, ok := strings.Cut(id, "://"); ok { // some runtimes name themselves first
		id = after
	}
	asked, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return
	}
	if _, has := asked.(reference.Digested); has {
		return
	}
	got, err := reference.ParseNormalizedNamed(id)
	if err != nil || got.Name() != asked.Name() {
		return
	}
	if _, has := got.(reference.Digested); has {
		p.digests.LoadOrStore(image, got.String())
	}
}
