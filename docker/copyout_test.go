package docker_test

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
)

// entries answers a copy out of a container with that of the path asked for.
func entries(t *testing.T, of map[string]tar.Header) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		h, ok := of[r.URL.Query().Get("path")]
		if !ok {
			answer(http.StatusNotFound, map[string]string{"message": "no such file"})(w, r)
			return
		}
		w.Header().Set("X-Docker-Container-Path-Stat", base64.StdEncoding.EncodeToString([]byte("{}")))
		var buf bytes.Buffer
		out := tar.NewWriter(&buf)
		if err := out.WriteHeader(&h); err != nil {
			t.Error(err)
		}
		_, _ = out.Write(make([]byte, min(h.Size, 10)))
		_, _ = w.Write(buf.Bytes())
	}
}

func TestWhatIsCopiedOutIsAFileOrAFault(t *testing.T) {
	s := newEngineStub(t)
	e := s.connect(t, time.Minute)
	c, err := e.Attach(t.Context(), stubBox)
	if err != nil {
		t.Fatal(err)
	}
	s.say("GET /containers/*/archive", entries(t, map[string]tar.Header{
		"/d/file":  {Name: "file", Typeflag: tar.TypeReg, Size: 3, Mode: 0o644},
		"/d/near":  {Name: "near", Typeflag: tar.TypeSymlink, Linkname: "file"},
		"/far":     {Name: "far", Typeflag: tar.TypeSymlink, Linkname: "/d/near"},
		"/circle":  {Name: "circle", Typeflag: tar.TypeSymlink, Linkname: "circle"},
		"/dir":     {Name: "dir", Typeflag: tar.TypeDir, Mode: 0o755},
		"/large":   {Name: "large", Typeflag: tar.TypeReg, Size: docker.CopyLimit + 1},
		"/nowhere": {Name: "nowhere", Typeflag: tar.TypeSymlink, Linkname: "gone"},
	}))
	for _, name := range []string{"/d/file", "/d/near", "/far"} {
		if got, err := c.CopyOut(t.Context(), name); err != nil || len(got) != 3 {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, why := range map[string]string{
		"/circle": "too many links", "/dir": "expected a file", "/large": "more than", "/nowhere": "does not exist",
	} {
		if got, err := c.CopyOut(t.Context(), name); got != nil || fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if got, err := c.CopyOut(t.Context(), "file"); got != nil || fault.KindOf(err) != fault.Usage {
		t.Errorf("a relative path: %q, %v", got, err)
	}
}

// Nothing was copied into or out of a container that is gone.
func TestCopyingWithAContainerThatIsGoneIsAFault(t *testing.T) {
	s := newEngineStub(t)
	e := s.connect(t, time.Minute)
	c, err := e.Attach(t.Context(), stubBox)
	if err != nil {
		t.Fatal(err)
	}
	gone := answer(http.StatusNotFound, map[string]string{"message": "No such container: " + stubBox})
	for _, call := range []string{"PUT /containers/*/archive", "GET /containers/*/archive", "GET /containers/*/json"} {
		s.say(call, gone)
	}
	if err := c.CopyIn(t.Context(), "/x", 0o600, []byte("x")); fault.KindOf(err) == fault.Unknown {
		t.Errorf("in: %v (%v)", err, fault.KindOf(err))
	}
	if _, err := c.CopyOut(t.Context(), "/x"); fault.KindOf(err) == fault.Unknown || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("out: %v (%v)", err, fault.KindOf(err))
	}
}
