package images

import (
	"context"
	"strings"

	"batch.example/batch/vocab"
)

// Engine is a container engine with the operations that a cache needs. It must be safe for
// concurrent use. Errors are faults with blame. A ref may include a platform: see [Ref].
type Engine interface {
	// Image looks up ref, or an id; false when the engine does not have it.
	Image(ctx context.Context, ref string) (Image, bool, error)
	// Pull makes sure that the engine has ref. Progress may be nil. A full disk
	// is an error that is syscall.ENOSPC to errors.Is.
	Pull(ctx context.Context, ref string, progress func(Progress)) (Image, error)
	// Layers returns the layers of ref, which may be an id.
	Layers(ctx context.Context, ref string) ([]Layer, error)
	// IDs returns the ids of the images that the engine has.
	IDs(ctx context.Context) (map[string]bool, error)
	// Used returns the ids of the images that any container uses.
	Used(ctx context.Context) (map[string]bool, error)
	// Remove removes the name in ref from the engine, and with its last name the
	// image. Ref may also be the id of an image without a name.
	Remove(ctx context.Context, ref string) error
	// DiskFree returns the bytes that are free for images, if that is known.
	DiskFree(ctx context.Context) (free int64, known bool, err error)
}

// Image is an image that an engine has.
type Image struct {
	vocab.Image
	Size  int64 // bytes, shared layers included
	Names int   // how many names it has on the engine
	Config
}

// Config is what an image says about its containers, as far as the engine knows it.
type Config struct {
	User       string   // empty: root
	WorkDir    string   // empty: /
	Entrypoint []string // nil: none
}

// Layer is one layer of an image. Images that have a layer with the same ID share
// its bytes; a layer without ID is not shared.
type Layer struct {
	ID   string `json:"id,omitempty"`
	Size int64  `json:"size"`
}

// Progress is the progress of a pull, in bytes.
type Progress struct{ Current, Total int64 }

// Ref returns the key under which a cache knows the image of that name for a platform, such
// as linux/arm64. Without a platform it is the name, and the engine chooses the platform.
func Ref(name, platform string) string {
	if platform == "" {
		return name
	}
	return name + " " + platform
}

// CutRef splits a ref that [Ref] made into name and platform. Any other string is returned
// as a name, even if no image can have it.
func CutRef(ref string) (name, platform string) {
	i := strings.LastIndexByte(ref, ' ')
	if i < 0 || !strings.Contains(ref[i:], "/") {
		return ref, ""
	}
	return ref[:i], ref[i+1:]
}

// withID returns ref with an image's id in place of its name.
func withID(ref, id string) string {
	_, platform := CutRef(ref)
	return Ref(id, platform)
}

// nameOf returns the name in ref. Images for several platforms share it, so a caller that
// needs one of them holds all of them.
func nameOf(ref string) string {
	name, _ := CutRef(ref)
	return name
}

// Group orders items so that those with the same keys are together: it groups them by the
// first key, within each group by the second key, and so on. Groups are in the order of
// their first item, and items keep their order within a group. Every item must have
// the same number of keys.
func Group[T any](items []T, keys func(T) []string) []T {
	if len(items) == 0 {
		return nil
	}
	return group(items, keys, 0)
}

func group[T any](items []T, keys func(T) []string, depth int) []T {
	if len(items) < 2 || depth == len(keys(items[0])) {
		return items
	}
	var order []string
	groups := map[string][]T{}
	for _, item := range items {
		key := keys(item)[depth]
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], item)
	}
	out := make([]T, 0, len(items))
	for _, key := range order {
		out = append(out, group(groups[key], keys, depth+1)...)
	}
	return out
}

// Repository returns the part of an image's name before tag and digest.
func Repository(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	if colon := strings.LastIndex(ref, ":"); colon > strings.LastIndex(ref, "/") {
		ref = ref[:colon]
	}
	return ref
}
