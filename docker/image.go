package docker

import (
	"context"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
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

func digest(repoDigests []string) string {
	for _, d := range repoDigests {
		if _, sum, ok := strings.Cut(d, "@"); ok {
			return sum
		}
	}
	return ""
}
