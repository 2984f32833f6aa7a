package images

import (
	"slices"
	"testing"

	"github.com/docker/docker/api/types/image"
	"github.com/google/go-cmp/cmp"
)

func TestTheSizesOfLayersAddUpToTheImage(t *testing.T) {
	for _, tt := range []struct {
		whole       int64
		files, want []int64
	}{
		{30, []int64{10, 20}, []int64{10, 20}},
		{45, []int64{10, 20}, []int64{15, 30}}, // with the compressed layers on disk too
		{46, []int64{10, 20}, []int64{15, 31}},
		{20, []int64{10, 20}, []int64{10, 20}},
		{5, []int64{0, 0}, []int64{0, 0}},
	} {
		got := slices.Clone(tt.files)
		if addExtra(got, tt.whole); !slices.Equal(got, tt.want) {
			t.Errorf("%d bytes over %v: %v, want %v", tt.whole, tt.files, got, tt.want)
		}
	}
}

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
