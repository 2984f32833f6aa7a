package images

import (
	"slices"
	"testing"
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
