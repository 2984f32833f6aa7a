package images

import (
	"strings"
	"testing"
	"time"

	"batch.example/batch/vocab"
)

func TestEvictionOrder(t *testing.T) {
	// The letters are images; a was needed first, then b and so on.
	for _, tt := range []struct {
		name                    string
		used, held, ahead, next string // next is in the order in which the run needs them
		force                   bool
		want                    string
	}{
		{name: "least recently needed first", want: "abcde"},
		{name: "not what a container has", used: "a", want: "bcde"},
		{name: "not what an instance has", held: "ce", want: "abd"},
		{name: "not what is needed next", ahead: "b", next: "b", want: "acde"},
		{name: "what the run needs again goes last, the latest first", next: "ab", want: "cdeba"},
		{name: "what is needed next, when nothing else is left to do", ahead: "ab", next: "ab", force: true, want: "cdeba"},
		{name: "but never what is in use", used: "a", held: "b", ahead: "c", next: "c", force: true, want: "dec"},
		{name: "none", used: "abcde", want: ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := view{used: set(tt.used), held: set(tt.held), ahead: set(tt.ahead), next: map[string]int{}}
			for i, ref := range strings.Split("abcde", "") {
				v.entries = append(v.entries, Entry{Image: vocab.Image{Ref: ref, ID: ref}, Needed: time.Unix(int64(i), 0)})
			}
			for i, ref := range strings.Split(tt.next, "") {
				v.next[ref] = i
			}
			var got strings.Builder
			for _, e := range v.victims(tt.force) {
				got.WriteString(e.Ref)
			}
			if got.String() != tt.want {
				t.Errorf("%q, want %q", got.String(), tt.want)
			}
		})
	}
}

func set(letters string) map[string]bool {
	out := map[string]bool{}
	for _, l := range letters {
		out[string(l)] = true
	}
	return out
}

func TestSharedLayersCountOnce(t *testing.T) {
	base, top := Layer{ID: "base", Size: 100}, Layer{ID: "top", Size: 1}
	got := size([]Entry{
		{Image: vocab.Image{Ref: "a"}, Size: 101, Layers: []Layer{base, top}},
		{Image: vocab.Image{Ref: "b"}, Size: 100, Layers: []Layer{base}},
		{Image: vocab.Image{Ref: "c"}, Size: 7, Layers: []Layer{{Size: 7}}}, // known only as a whole
		{Image: vocab.Image{Ref: "d"}, Size: 7, Layers: []Layer{{Size: 7}}},
		{Image: vocab.Image{Ref: "e"}, Size: 5},
	})
	if got != 120 {
		t.Errorf("got %d bytes, want 120", got)
	}
}

func FuzzDecodeLedger(f *testing.F) {
	f.Add([]byte(`{"version":1,"images":[{"image":"a","id":"sha256:1","size":5,"layers":[{"id":"x","size":5}]}]}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`{"version":1,"images":[{"image":"","id":""}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := decode(data)
		for ref, e := range all {
			if err != nil || ref == "" || e.Ref != ref || e.ID == "" {
				t.Errorf("%q: got %+v, %v; want some ref, ref %v, some ID, no error", ref, e, err, ref)
			}
		}
	})
}
