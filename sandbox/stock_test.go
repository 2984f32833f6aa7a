package sandbox

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/internal/owner"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/images"
)

// Whoever makes the state directory in a folder of all users first must not decide what batch finds there.
func TestATemporaryStateDirectoryIsTheUsersOwn(t *testing.T) {
	temp := t.TempDir()
	dir, err := temporaryState(temp)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if again, err := temporaryState(temp); err != nil || again != dir {
			t.Errorf("got %s, %v; want %s", again, err, dir)
		}
	}
	other := t.TempDir()
	for name, plant := range map[string]func() error{
		"that all may write": func() error { return errors.Join(os.Mkdir(dir, 0o777), os.Chmod(dir, 0o777)) },
		"a link":             func() error { return os.Symlink(other, dir) },
		"a file":             func() error { return os.WriteFile(dir, nil, 0o600) },
		"another user's":     func() error { return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 65534, -1)) },
	} {
		if name == "another user's" && os.Geteuid() != 0 {
			continue
		}
		if err := errors.Join(os.RemoveAll(dir), plant()); err != nil {
			t.Fatal(err)
		}
		if got, err := temporaryState(filepath.Dir(dir)); fault.KindOf(err) != fault.Host {
			t.Errorf("%s: got %q, %v; want a Host fault", name, got, err)
		}
	}
}

// volumesEngine is an engine that has only volumes of dead processes.
type volumesEngine struct {
	mu    sync.Mutex
	owner map[string]string // by volume
	used  string            // by a container
}

func (e *volumesEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, path, versioned := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if !versioned {
		path = strings.TrimPrefix(r.URL.Path, "/")
	}
	w.Header().Set("API-Version", "1.41")
	name, one := strings.CutPrefix(path, "volumes/")
	var answer any
	switch {
	case path == "_ping":
	case path == "info":
		answer = map[string]any{"OSType": "linux", "Architecture": "x86_64", "Name": "stub"}
	case path == "version":
		answer = map[string]any{"Version": "0", "Os": "linux", "Arch": "amd64"}
	case path == "containers/json", path == "networks", path == "images/json":
		answer = []any{}
	case path == "volumes":
		list := []any{}
		for name, owner := range e.owner {
			if name != e.used || !strings.Contains(r.URL.RawQuery, "dangling") {
				list = append(list, map[string]any{"Name": name, "Labels": map[string]string{containers.LabelOwner: owner}})
			}
		}
		answer = map[string]any{"Volumes": list}
	case one && r.Method == http.MethodDelete && name == e.used:
		w.WriteHeader(http.StatusConflict)
	case one && r.Method == http.MethodDelete:
		delete(e.owner, name)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	if answer != nil {
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// What scrubs found out goes, and so do the volumes of dead processes that no container uses.
func TestCleanForgetsScrubs(t *testing.T) {
	parts := strings.Split(owner.Self().String(), "/")
	parts[4] = strconv.Itoa(1 << 30) // a process id that no system assigns
	dead := strings.Join(parts, "/")
	fake := &volumesEngine{used: "batch-volume-used", owner: map[string]string{
		"batch-volume-a": dead, "batch-volume-used": dead, "batch-volume-alive": owner.Self().String(),
	}}
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(fake)
	server.Listener = listener
	server.Start()
	defer server.Close()
	stock, err := OpenStock(t.Context(), docker.Config{Host: "unix://" + socket}.Open, engine.Options{}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer stock.Close()
	cache := stock.Cache(images.Options{})
	if err := cache.KeepOutcome("key", "bits"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		leases   []string
		dry      bool
		outcomes int64
		volumes  int
		left     string
	}{
		{nil, true, 36, 3, "bits"},
		{[]string{"/runs/out"}, false, 0, 2, "bits"},
		{nil, false, 36, 2, ""},
		{nil, false, 0, 2, ""},
	} {
		found, err := stock.Clean(t.Context(), c.leases, c.dry)
		if err != nil || found.Outcomes != c.outcomes || len(fake.owner) != c.volumes {
			t.Errorf("%+v: got %+v, %v, volumes %v", c, found, err, fake.owner)
		}
		if left := cache.Outcome("key"); left != c.left {
			t.Errorf("%+v: %q is left", c, left)
		}
	}
}
