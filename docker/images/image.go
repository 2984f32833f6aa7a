package images

import (
	"context"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// Image is an image the engine has.
type Image struct {
	vocab.Image
	Tags []string // the names it has here
	Size int64    // bytes on disk, layers shared with other images and packed ones that are kept included
	OS   string   // empty in a list, like Arch
	Arch string
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

// familiar returns ref in the short form that every engine knows. A sha256: ID
// stays as it is.
func familiar(ref string) (string, error) {
	if strings.HasPrefix(ref, "sha256:") {
		return ref, nil
	}
	n, err := normal(ref)
	if err != nil {
		return "", err
	}
	return reference.FamiliarString(n), nil
}

// Image looks ref up among the images the engine has; false when it has none of
// that name that is for the platform, os/arch, or for any where that is empty. A
// short name and its full docker.io form are the same image. A sha256: ID is
// found too. It waits for an engine that is away: see Ready of the engine.
func (s *Store) Image(ctx context.Context, ref, platform string) (Image, bool, error) {
	name, err := familiar(ref)
	if err != nil {
		return Image{}, false, err
	}
	want, err := ParsePlatform(platform)
	if err != nil {
		return Image{}, false, err
	}
	if err := s.engine.Ready(ctx); err != nil {
		return Image{}, false, err
	}
	in, err := s.inspectImage(ctx, name, want)
	if errdefs.IsNotFound(err) {
		return Image{}, false, nil
	}
	if err != nil {
		return Image{}, false, s.engine.Blame(err, fault.Transient, "looking up image "+ref)
	}
	return Image{
		Image: vocab.Image{Ref: ref, ID: in.ID, Digest: digestOf(in.RepoDigests)}, Tags: in.RepoTags, Size: in.Size,
		OS: in.Os, Arch: in.Architecture,
	}, true, nil
}

// inspectImage asks for the image of a platform. Under one name an engine has
// either one image, which must fit, or several of which it knows the right one.
func (s *Store) inspectImage(ctx context.Context, name string, want *ocispec.Platform) (image.InspectResponse, error) {
	in, err := s.engine.API.ImageInspect(ctx, name)
	if err != nil {
		return in, err
	}
	if want != nil && versions.GreaterThanOrEqualTo(s.engine.API.ClientVersion(), "1.49") {
		id := in.ID
		if in, err = s.engine.API.ImageInspect(ctx, name, client.ImageInspectWithPlatform(want)); err != nil {
			return in, err
		}
		in.ID = id // of all its platforms: no container can be made by one's own
		want = nil
	}
	if !fetched(in) || !fits(ocispec.Platform{OS: in.Os, Architecture: in.Architecture, Variant: in.Variant}, want) {
		return in, errdefs.ErrNotFound
	}
	return in, nil
}

// fetched reports whether there is more of an image than its name: an engine with
// containerd's image store lists the platforms that a name has elsewhere, and
// answers for one that was never pulled with nothing in it.
func fetched(in image.InspectResponse) bool {
	return in.Os != "" || in.Architecture != "" || len(in.RootFS.Layers) > 0
}

// Images lists the images the engine has, with their sizes.
func (s *Store) Images(ctx context.Context) ([]Image, error) {
	if err := s.engine.Ready(ctx); err != nil {
		return nil, err
	}
	list, err := s.engine.API.ImageList(ctx, image.ListOptions{})
	if err != nil {
		return nil, s.engine.Blame(err, fault.Transient, "listing images")
	}
	out := make([]Image, 0, len(list))
	for _, s := range list {
		out = append(out, Image{Image: vocab.Image{ID: s.ID, Digest: digestOf(s.RepoDigests)}, Tags: s.RepoTags, Size: s.Size})
	}
	return out, nil
}

// UsedImages returns the IDs of the images that any container has, whoever
// made it and whether it runs or not.
func (s *Store) UsedImages(ctx context.Context) (map[string]bool, error) {
	if err := s.engine.Ready(ctx); err != nil {
		return nil, err
	}
	list, err := s.engine.API.ContainerList(ctx, container.ListOptions{All: true})
	if err != nil {
		return nil, s.engine.Blame(err, fault.Transient, "listing containers")
	}
	used := make(map[string]bool, len(list))
	for _, c := range list {
		used[c.ImageID] = true
	}
	return used, nil
}

// RemoveImage takes the name ref off the engine, and with the last name the
// image and the layers that no other image has; with a sha256: ID, the image. An
// image that is not there is no error. One that a container has stays, and the
// error blames the instance.
func (s *Store) RemoveImage(ctx context.Context, ref string) error {
	name, err := familiar(ref)
	if err != nil {
		return err
	}
	if err := s.engine.Ready(ctx); err != nil {
		return err
	}
	_, err = s.engine.API.ImageRemove(ctx, name, image.RemoveOptions{PruneChildren: true})
	if errdefs.IsNotFound(err) {
		return nil
	}
	if errdefs.IsConflict(err) {
		return fault.New(fault.Instance, "removing image "+ref, err).WithHint("a container or another image still needs it")
	}
	return s.engine.Blame(err, fault.Transient, "removing image "+ref)
}

func digestOf(repoDigests []string) string {
	for _, d := range repoDigests {
		if _, sum, ok := strings.Cut(d, "@"); ok {
			return sum
		}
	}
	return ""
}
