package images

import (
	"testing"

	"github.com/docker/docker/api/types/image"
	"github.com/google/go-cmp/cmp"
)

// A history is newest first and has steps without a layer; the sizes must be
// lowest first, one per layer, or missing.
func TestTheSizesOfLayersAreReadFromTheHistory(t *testing.T) {
	history := []image.HistoryResponseItem{
		{CreatedBy: `CMD ["bash"]`},
		{CreatedBy: "RUN true"}, // an empty layer, or none
		{CreatedBy: "COPY b /", Size: 20},
		{CreatedBy: "/bin/sh -c #(nop) ENV A=b"},
		{CreatedBy: "/bin/sh -c #(nop) ADD file:1 in /", Size: 10},
	}
	for n, want := range map[int][]int64{2: {10, 20}, 3: {10, 20, 0}, 1: nil, 4: nil} {
		if got, ok := layerSizes(history, n); ok != (want != nil) || !cmp.Equal(got, want) {
			t.Errorf("of %d layers: %v, %v; want %v", n, got, ok, want)
		}
	}
}
