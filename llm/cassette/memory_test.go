//go:build !race

package cassette_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/cassette"
)

// The answers of a large run do not fit into the memory.
func TestAPlayerDoesNotKeepAnswers(t *testing.T) {
	tier.Rest(t)
	const size, answers = 1 << 20, 16
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", size))
	}))
	defer s.Close()
	dir, in := t.TempDir(), cassette.With(t.Context(), "a")
	r := recorder(t, dir)
	for i := range answers {
		ask(in, t, r, s.URL, fmt.Sprint(i))
	}
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	p, before := player(dir), used()
	if played := ask(in, t, p, "http://nowhere.invalid", "0"); len(played.body) != size {
		t.Errorf("got %d bytes, want %d", len(played.body), size)
	}
	if grown := int64(used()) - int64(before); grown > size*answers/2 {
		t.Errorf("the player uses %d bytes for a recording of %d", grown, size*answers)
	}
	runtime.KeepAlive(p)
}
