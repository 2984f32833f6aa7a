package kube

import (
	"strings"
	"sync"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
)

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
