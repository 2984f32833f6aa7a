package images

import (
	"context"
	"path"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/containerd/platforms"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"batch.example/batch/fault"
	cache "batch.example/batch/sandbox/images"
	"batch.example/batch/vocab"
)

// Image is an image the engine has.
type Image struct {
	vocab.Image
	Tags []string // the names it has here
	Size int64    // bytes on disk, including layers shared with other images and compressed layers that the engine keeps
	OS   string   // empty in a list, like Arch and Config
	Arch string
	cache.Config
}

// normal returns the full form of ref, with the docker.io/library/ and :latest that a
// short form leaves out.
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

// Image looks up ref among the images of the engine; false when the engine has no image of
// that name for the platform. The platform is os/arch, or empty for any. A short name and
// its full docker.io form are the same image. Ref may also be a sha256: ID. If the engine
// is away, Image waits for it: see Ready of the engine.
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
	var config cache.Config
	if in.Config != nil {
		config = cache.Config{User: in.Config.User, WorkDir: in.Config.WorkingDir, Entrypoint: in.Config.Entrypoint}
	}
	return Image{
		Image: vocab.Image{Ref: ref, ID: in.ID, Digest: digestOf(in.RepoDigests)}, Tags: in.RepoTags, Size: in.Size,
		OS: in.Os, Arch: in.Architecture, Config: config,
	}, true, nil
}

// Present reports which of refs [Store.Image] finds; a ref that is not a name is not here.
// It asks one by one only for refs whose last part, such as name:tag, a listed image has:
// where an engine completes a short name, it adds to the beginning.
func (s *Store) Present(ctx context.Context, refs []string, platform string) (map[string]bool, error) {
	if err := CheckPlatform(platform); err != nil {
		return nil, err
	}
	list, err := s.Images(ctx)
	if err != nil {
		return nil, err
	}
	ends := map[string]bool{}
	for _, i := range list {
		for _, tag := range i.Tags {
			ends[path.Base(tag)] = true
		}
	}
	here := make(map[string]bool, len(refs))
	for _, ref := range refs {
		end := path.Base(ref)
		if !strings.Contains(end, ":") {
			end += ":latest"
		}
		byDigest := strings.HasPrefix(ref, "sha256:") || strings.Contains(ref, "@")
		if !byDigest && !ends[end] {
			here[ref] = false
			continue
		}
		_, here[ref], err = s.Image(ctx, ref, platform)
		if err != nil && fault.KindOf(err) != fault.Instance {
			return nil, err
		}
	}
	return here, nil
}

// inspectImage asks the engine for the image of a platform. Under one name an engine has
// either one image, and inspectImage checks its platform, or one image per platform, and the
// engine chooses the right one.
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
		in.ID = id // the id for all platforms: the engine cannot create a container from the id for one
		want = nil
	}
	if !fetched(in) || !fits(ocispec.Platform{OS: in.Os, Architecture: in.Architecture, Variant: in.Variant}, want) {
		return in, errdefs.ErrNotFound
	}
	return in, nil
}

// fetched reports whether the engine has the content of an image: with containerd's image
// store, the engine also knows the platforms that the image has in the registry, and its
// answer about one that was never pulled is empty.
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

// UsedImages returns the IDs of the images that any container uses, no matter who
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

// RemoveImage removes the name ref from the engine, and with its last name the
// image and the layers that no other image has; with a sha256: ID, the image. It is not an
// error if the image does not exist. An image that a container uses stays, and the
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
		return fault.New(fault.Instance, "removing image "+ref, err).WithHint("a container or another image still uses it")
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

// ParsePlatform parses s, which is os/arch or os/arch/variant. It returns nil for an
// empty s, which leaves the choice to the engine.
func ParsePlatform(s string) (*ocispec.Platform, error) {
	if s == "" {
		return nil, nil
	}
	p, err := platforms.Parse(s)
	if err != nil || !strings.Contains(s, "/") { // Parse would add the missing part from this machine's platform
		return nil, fault.Newf(fault.Usage, "platform %q: expected os/arch such as linux/amd64", s)
	}
	return &p, nil
}

// CheckPlatform returns a Usage fault unless s is os/arch or os/arch/variant, or
// empty.
func CheckPlatform(s string) error {
	_, err := ParsePlatform(s)
	return err
}

// fits reports whether an image for the platform has can be used when want is asked for.
// Many images do not name their variant.
func fits(has ocispec.Platform, want *ocispec.Platform) bool {
	if want == nil || platforms.OnlyStrict(*want).Match(has) {
		return true
	}
	n := platforms.Normalize(*want)
	is := platforms.Normalize(has)
	return has.Variant == "" && is.OS == n.OS && is.Architecture == n.Architecture
}
