package docker

import (
	"context"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"batch.example/batch/fault"
)

// Image is an image the engine has.
type Image struct {
	Ref    string   // as it was asked for; empty in a list
	ID     string   // sha256:..., of its configuration
	Digest string   // sha256:..., of its manifest in the registry it came from; empty if built here
	Tags   []string // the names it has here
	Size   int64    // bytes on disk, layers shared with other images included
	OS     string   // empty in a list, like Arch
	Arch   string
}

// normal returns the one full form of ref: docker.io/library/ and :latest are
// what is left out of a short one.
func normal(ref string) (reference.Named, error) {
	n, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return nil, fault.New(fault.Instance, "reading image name "+ref, err).
			WithHint("an image name looks like docker.io/owner/name:tag, in lower case")
	}
	return reference.TagNameOnly(n), nil
}

// Image looks ref up among the images the engine has; false when it has none
// of that name. A short name and its full docker.io form are the same image.
// A sha256: ID is found too. It waits for an engine that is away: see [Engine.Ready].
func (e *Engine) Image(ctx context.Context, ref string) (Image, bool, error) {
	name := ref
	if !strings.HasPrefix(ref, "sha256:") {
		n, err := normal(ref)
		if err != nil {
			return Image{}, false, err
		}
		name = reference.FamiliarString(n)
	}
	if err := e.Ready(ctx); err != nil {
		return Image{}, false, err
	}
	in, err := e.api.ImageInspect(ctx, name)
	if errdefs.IsNotFound(err) {
		return Image{}, false, nil
	}
	if err != nil {
		return Image{}, false, e.blame(err, fault.Transient, "looking up image "+ref)
	}
	return Image{
		Ref: ref, ID: in.ID, Digest: digest(in.RepoDigests), Tags: in.RepoTags, Size: in.Size,
		OS: in.Os, Arch: in.Architecture,
	}, true, nil
}

// Images lists the images the engine has, with their sizes.
func (e *Engine) Images(ctx context.Context) ([]Image, error) {
	list, err := e.api.ImageList(ctx, image.ListOptions{})
	if err != nil {
		return nil, blame(err, fault.Transient, "listing images")
	}
	out := make([]Image, 0, len(list))
	for _, s := range list {
		out = append(out, Image{ID: s.ID, Digest: digest(s.RepoDigests), Tags: s.RepoTags, Size: s.Size})
	}
	return out, nil
}

// UsedImages returns the IDs of the images that any container has, whoever
// made it and whether it runs or not.
func (e *Engine) UsedImages(ctx context.Context) (map[string]bool, error) {
	list, err := e.api.ContainerList(ctx, container.ListOptions{All: true})
	if err != nil {
		return nil, blame(err, fault.Transient, "listing containers")
	}
	used := make(map[string]bool, len(list))
	for _, c := range list {
		used[c.ImageID] = true
	}
	return used, nil
}

// RemoveImage takes the name ref off the engine, and with the last name the
// image and the layers that no other image has. An image that is not there is
// no error. One that a container has stays, and the error blames the instance.
func (e *Engine) RemoveImage(ctx context.Context, ref string) error {
	n, err := normal(ref)
	if err != nil {
		return err
	}
	_, err = e.api.ImageRemove(ctx, reference.FamiliarString(n), image.RemoveOptions{PruneChildren: true})
	if errdefs.IsNotFound(err) {
		return nil
	}
	if errdefs.IsConflict(err) {
		return fault.New(fault.Instance, "removing image "+ref, err).WithHint("a container or another image still needs it")
	}
	return blame(err, fault.Transient, "removing image "+ref)
}

func digest(repoDigests []string) string {
	for _, d := range repoDigests {
		if _, sum, ok := strings.Cut(d, "@"); ok {
			return sum
		}
	}
	return ""
}
