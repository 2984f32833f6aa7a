package docker

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/docker/docker/api/types/image"

	"batch.example/batch/fault"
)

// Layer is one layer of an image. Images that have a layer with the same ID
// share its disk.
type Layer struct {
	ID   string // of the layer and all below it; empty when only the image's whole size is known
	Size int64  // bytes on disk
}

// Layers returns the layers of the image with that id or name, lowest first.
// An image whose history does not tell which step made which layer comes as a
// single one, without ID.
func (e *Engine) Layers(ctx context.Context, id string) ([]Layer, error) {
	op := "reading the layers of image " + id
	if err := e.Ready(ctx); err != nil {
		return nil, err
	}
	in, err := e.api.ImageInspect(ctx, id)
	if err != nil {
		return nil, e.blame(err, fault.Transient, op)
	}
	history, err := e.api.ImageHistory(ctx, id)
	if err != nil {
		return nil, e.blame(err, fault.Transient, op)
	}
	sizes, known := layerSizes(history, len(in.RootFS.Layers))
	if !known {
		return []Layer{{Size: in.Size}}, nil
	}
	layers := make([]Layer, len(sizes))
	below := ""
	for i, size := range sizes {
		if below == "" {
			below = in.RootFS.Layers[i]
		} else { // as the engine names what it keeps on disk
			below = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(below+" "+in.RootFS.Layers[i])))
		}
		layers[i] = Layer{ID: below, Size: size}
	}
	return layers, nil
}

// layerSizes returns the sizes of n layers, lowest first. The history, which
// is newest first, also has steps that made no layer; they are told by having
// no size, and layers without a size by what made them.
func layerSizes(history []image.HistoryResponseItem, n int) ([]int64, bool) {
	for _, made := range []func(image.HistoryResponseItem) bool{
		func(h image.HistoryResponseItem) bool { return h.Size > 0 },
		func(h image.HistoryResponseItem) bool { return h.Size > 0 || !onlySettings(h.CreatedBy) },
	} {
		sizes := make([]int64, 0, n)
		for i := len(history) - 1; i >= 0; i-- {
			if made(history[i]) {
				sizes = append(sizes, history[i].Size)
			}
		}
		if len(sizes) == n {
			return sizes, true
		}
	}
	return nil, false
}

// onlySettings reports whether a step of a Dockerfile changes no files.
func onlySettings(createdBy string) bool {
	step := strings.TrimSpace(strings.TrimPrefix(createdBy, "/bin/sh -c #(nop)"))
	word, _, _ := strings.Cut(step, " ")
	switch word {
	case "ARG", "CMD", "ENTRYPOINT", "ENV", "EXPOSE", "HEALTHCHECK", "LABEL", "MAINTAINER", "ONBUILD", "SHELL",
		"STOPSIGNAL", "USER", "VOLUME":
		return true
	}
	return false
}
