package imagecache

import (
	"context"

	"batch.example/batch/vocab"
)

// Engine is what a cache asks of a container engine. It must be safe for
// concurrent use. Errors are faults with blame. What is called ref may be for one
// platform alone: see [Ref].
type Engine interface {
	// Image looks ref up, or an id; false when the engine does not have it.
	Image(ctx context.Context, ref string) (Image, bool, error)
	// Pull makes sure that the engine has ref. Progress may be nil. A full disk
	// is an error that is syscall.ENOSPC to errors.Is.
	Pull(ctx context.Context, ref string, progress func(Progress)) (Image, error)
	// Layers returns the layers of ref, which may be an id.
	Layers(ctx context.Context, ref string) ([]Layer, error)
	// IDs returns the ids of the images that the engine has.
	IDs(ctx context.Context) (map[string]bool, error)
	// Used returns the ids of the images that any container has.
	Used(ctx context.Context) (map[string]bool, error)
	// Remove takes the name in ref off the engine, and the image with its last
	// name; or the image with that id, which has no name.
	Remove(ctx context.Context, ref string) error
	// DiskFree returns the bytes that are free for images, where that is known.
	DiskFree(ctx context.Context) (free int64, known bool, err error)
}

// Image is an image that an engine has.
type Image struct {
	vocab.Image
	Size  int64 // bytes, shared layers included
	Names int   // that it has here
}

// Layer is one layer of an image. Images that have one with the same ID share
// its bytes; one without ID is shared by nobody.
type Layer struct {
	ID   string `json:"id,omitempty"`
	Size int64  `json:"size"`
}

// Progress is how far a pull has come, in bytes.
type Progress struct{ Current, Total int64 }
