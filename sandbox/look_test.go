package sandbox

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/docker"
	"batch.example/batch/fault"
)

// looked calls Look for an instance with the image, and counts its lists of containers. The
// engine lists the image x/y:1, and answers each look-up of an image with the status.
func looked(t *testing.T, status int, image string) (found *Found, lists int, err error) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			lists++
			_, _ = w.Write([]byte("[]"))
		case strings.HasSuffix(r.URL.Path, "/images/json"):
			_, _ = w.Write([]byte(`[{"RepoTags": ["x/y:1"]}]`))
		case !strings.HasSuffix(r.URL.Path, "/_ping"):
			w.WriteHeader(status)
		}
	}))
	found, err = Look(t.Context(), Config{
		Engines:   One(docker.Config{Host: "tcp://" + s.Listener.Addr().String()}.Open),
		Instances: []dataset.Instance{{ID: "a", Image: image}},
	})
	s.Close()
	return found, lists, err
}

// An image is not missing because the engine failed to say whether it has it.
func TestLookReturnsAFailureOfTheEngine(t *testing.T) {
	if found, _, err := looked(t, http.StatusInternalServerError, "x/y:1"); fault.KindOf(err) != fault.Transient {
		t.Errorf("found %+v, %v; want a Transient fault", found, err)
	}
	for _, image := range []string{"x/y:1", "Not A Name"} { // the instance will report an invalid name
		found, lists, err := looked(t, http.StatusNotFound, image)
		if err != nil || len(found.Images) != 1 || found.Images[image] {
			t.Errorf("image %q: found %+v, %v; want one image that is not present, no error", image, found, err)
		}
		if lists != 0 {
			t.Errorf("%d lists of containers without a lease, want none", lists)
		}
	}
}
