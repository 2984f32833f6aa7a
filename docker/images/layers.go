package images

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"

	"batch.example/batch/fault"
	cache "batch.example/batch/sandbox/images"
)

// Layers returns the layers of the image with that id or name for the platform, lowest
// first. The platform is os/arch, or empty for the engine's own. The sizes add up to the
// image's size: an engine with containerd's image store also keeps the compressed layers.
// A layer's ID also stands for all layers below it. If the history of an image does not show which
// step made which layer, Layers returns a single layer without ID.
func (s *Store) Layers(ctx context.Context, id, platform string) ([]cache.Layer, error) {
	op := "reading the layers of image " + id
	want, err := ParsePlatform(platform)
	if err != nil {
		return nil, err
	}
	if err := s.engine.Ready(ctx); err != nil {
		return nil, err
	}
	in, err := s.inspectImage(ctx, id, want)
	if err != nil {
		return nil, s.engine.Blame(err, fault.Transient, op)
	}
	var of []client.ImageHistoryOption
	if want != nil && versions.GreaterThanOrEqualTo(s.engine.API.ClientVersion(), "1.49") {
		of = append(of, client.ImageHistoryWithPlatform(*want))
	}
	history, err := s.engine.API.ImageHistory(ctx, id, of...)
	if err != nil {
		return nil, s.engine.Blame(err, fault.Transient, op)
	}
	sizes, known := layerSizes(history, len(in.RootFS.Layers))
	if !known {
		return []cache.Layer{{Size: in.Size}}, nil
	}
	addExtra(sizes, in.Size)
	layers, chain := make([]cache.Layer, len(sizes)), ""
	for i, size := range sizes {
		if layer := in.RootFS.Layers[i]; i == 0 {
			chain = layer
		} else { // the ChainID of OCI's image specification
			chain = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(chain+" "+layer)))
		}
		layers[i] = cache.Layer{ID: chain, Size: size}
	}
	return layers, nil
}

// addExtra distributes the disk space that an image uses in addition to its layers' files
// over the layers, in proportion to their sizes: the engine reports only the sum of the
// compressed layers.
func addExtra(sizes []int64, whole int64) {
	var files int64
	for _, size := range sizes {
		files += size
	}
	left := whole - files
	if left <= 0 || files == 0 {
		return
	}
	extra := float64(left) / float64(files)
	for i := range sizes {
		part := min(left, int64(float64(sizes[i])*extra))
		sizes[i] += part
		left -= part
	}
	sizes[len(sizes)-1] += left // the remainder of the rounding
}

// layerSizes returns the sizes of n layers, lowest first. The history is newest first, and
// has steps that made no layer: those without a size. If that gives another number than n,
// some layers are empty too, and the command of a step decides whether it made a layer.
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
