package images

import (
	"strings"

	"github.com/containerd/platforms"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"batch.example/batch/fault"
)

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
