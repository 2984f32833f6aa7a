package imagecache_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"batch.example/batch/imagecache"
)

func TestHistories(t *testing.T) {
	const mib = 1 << 20
	old := func(path string) {
		t.Helper()
		long := time.Now().Add(-8 * 24 * time.Hour)
		data := `{"volume":"v1","image":"id:a","bytes":1,"used":"` + long.Format(time.RFC3339) + `"}`
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		sizes      []int64 // of the volumes v1, v2 and v3, used in this order
		images     []string
		disk       int64
		change     func(path string) // of v1
		stay, gone []string
	}{
		"all":         {sizes: []int64{mib, mib, mib}, images: []string{"a", "a", "b"}, stay: []string{"v3", "v2", "v1"}},
		"none":        {},
		"too much":    {sizes: []int64{1000 * mib, 1000 * mib, 1000 * mib}, images: []string{"a", "a", "b"}, stay: []string{"v3", "v2"}, gone: []string{"v1"}},
		"one is huge": {sizes: []int64{mib, mib, 3000 * mib}, images: []string{"a", "a", "b"}, stay: []string{"v2", "v1"}, gone: []string{"v3"}},
		"no image":    {sizes: []int64{mib, mib}, images: []string{"c", "a"}, stay: []string{"v2"}, gone: []string{"v1"}},
		"full disk":   {sizes: []int64{mib}, images: []string{"a"}, disk: 100 * mib, gone: []string{"v1"}},
		"a week":      {sizes: []int64{mib}, images: []string{"a"}, change: old, gone: []string{"v1"}},
		"damaged": {sizes: []int64{mib, mib}, images: []string{"a", "a"}, stay: []string{"v2"}, change: func(path string) {
			if err := os.Truncate(path, 5); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ledger, err := imagecache.OpenLedger(dir)
			if err != nil {
				t.Fatal(err)
			}
			e := newEngine(1)
			e.here["a"], e.here["b"], e.disk = true, true, c.disk
			cache := imagecache.New(e, ledger, imagecache.Options{Reserve: 80 * mib})
			for i, size := range c.sizes {
				key := string(rune('1' + i))
				if _, found := cache.History(key); found {
					t.Error("found before it was saved")
				}
				if err := cache.KeepHistory(key, imagecache.History{Volume: "v" + key, Image: id(c.images[i]), Bytes: size}); err != nil {
					t.Fatal(err)
				}
				if c.change != nil && i == 0 {
					files, _ := filepath.Glob(dir + "/histories/*.json")
					c.change(files[0])
				}
			}
			stay, gone, err := cache.Histories(t.Context())
			if err != nil || !reflect.DeepEqual(stay, c.stay) || !reflect.DeepEqual(gone, c.gone) {
				t.Fatalf("got %v, %v, %v; want %v, %v, no error", stay, gone, err, c.stay, c.gone)
			}
			for i := range c.sizes {
				key := string(rune('1' + i))
				h, found := cache.History(key)
				if found && (h.Volume != "v"+key || h.Bytes != c.sizes[i]) {
					t.Errorf("got %+v", h)
				}
			}
			if again, gone, err := cache.Histories(t.Context()); err != nil || len(gone) > 0 || !reflect.DeepEqual(again, c.stay) {
				t.Errorf("again: got %v, %v, %v; want the same, nothing gone", again, gone, err)
			}
		})
	}
}
