package imagecache

import (
	"context"

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
}

// Layer is one layer of an image. Images that have a layer with the same ID share
// its bytes; a layer without ID is not shared.
type Layer struct {
	ID   string `json:"id,omitempty"`
	Size int64  `json:"size"`
}

// Progress is the progress of a pull, in bytes.
type Progress struct{ Current, Total int64 }
