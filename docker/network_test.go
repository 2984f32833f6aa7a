package docker_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/tier"
)

func TestOnlyNamesOfNetworksAreLookedUp(t *testing.T) {
	tier.Rest(t)
	s := newEngineStub(t)
	e := s.connect(t, time.Hour)
	s.say("GET /networks/*", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/mine") {
			answer(http.StatusOK, map[string]any{"Id": "1", "Name": "mine"})(w, r)
			return
		}
		answer(http.StatusNotFound, map[string]string{"message": "no such network"})(w, r)
	})
	for name, want := range map[string]fault.Kind{
		"": fault.Unknown, "none": fault.Unknown, "host": fault.Unknown, "default": fault.Unknown, "bridge": fault.Unknown,
		"container:x": fault.Unknown, "mine": fault.Unknown, "nosuch": fault.Usage,
		// Podman's, which are not among its networks.
		"private": fault.Unknown, "slirp4netns": fault.Unknown, "slirp4netns:mtu=1500": fault.Unknown,
		"pasta": fault.Unknown, "pasta:--mtu,1500": fault.Unknown, "mine:ip=10.88.0.9": fault.Unknown,
	} {
		if err := e.CheckNetwork(soon(t), name); fault.KindOf(err) != want || (err == nil) != (want == fault.Unknown) {
			t.Errorf("network %q: %v, want kind %v", name, err, want)
		}
	}
}
