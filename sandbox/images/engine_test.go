package images_test

import (
	"strings"
	"testing"

	"batch.example/batch/sandbox/images"
)

func TestARefIsANameAndAPlatform(t *testing.T) {
	for _, tt := range []struct{ name, platform string }{
		{"reg.example:5000/team/thing:1", "linux/arm64"},
		{"thing@sha256:00", "linux/arm/v7"},
		{"thing", ""},
		{"no name of an image", ""},
	} {
		if name, platform := images.CutRef(images.Ref(tt.name, tt.platform)); name != tt.name || platform != tt.platform {
			t.Errorf("%q and %q come back as %q and %q", tt.name, tt.platform, name, platform)
		}
	}
}

// In an engine with one image per name, removing one image removes the name from
// the other.
func TestHoldingAnImageHoldsAllItsPlatforms(t *testing.T) {
	e, dir := newEngine(10), t.TempDir()
	here, there := cache(t, e, dir, images.Options{}), cache(t, e, dir, images.Options{})
	acquire(t, here, images.Ref("a", "linux/amd64"))()
	release := acquire(t, there, images.Ref("a", "linux/arm64"))
	gone, kept, err := here.Evict(t.Context(), 0, false)
	if err != nil || len(gone) != 0 || len(kept) != 2 {
		t.Errorf("while one platform is needed: evicted %v, kept %v, error %v", gone, kept, err)
	}
	release()
	if gone, _, err = here.Evict(t.Context(), 0, false); err != nil || len(gone) != 2 {
		t.Errorf("afterwards: evicted %v, %v; want 2 gone, no error", gone, err)
	}
}

func TestGroupKeepsTheOrderOtherwise(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"a.x":                       "a.x",
		"a.x b.x a.y":               "a.x a.y b.x",
		"b.2 a.1 b.1 a.2 b.2 a.1":   "b.2 b.2 b.1 a.1 a.1 a.2",
		"c.1 b.1 a.1":               "c.1 b.1 a.1",
		"a.1#1 b.1#2 a.1#3 b.1#4":   "a.1#1 a.1#3 b.1#2 b.1#4",
		"a.1#1 a.2#2 a.1#3 b.1 a.3": "a.1#1 a.1#3 a.2#2 a.3 b.1",
	} {
		got := images.Group(strings.Fields(in), func(s string) []string {
			s, _, _ = strings.Cut(s, "#")
			return strings.SplitN(s, ".", 2)
		})
		if strings.Join(got, " ") != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestRepository(t *testing.T) {
	for ref, want := range map[string]string{
		"a": "a", "a:1": "a", "h:5000/a": "h:5000/a", "h:5000/b/a:1": "h:5000/b/a", "a@sha256:00": "a", "h:1/a:2@sha256:00": "h:1/a",
	} {
		if got := images.Repository(ref); got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
}
