package docker

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/system"

	"batch.example/batch/fault"
)

func TestTheImageDirectoryOfEachStore(t *testing.T) {
	containerd := [][2]string{{"driver-type", "io.containerd.snapshotter.v1"}}
	for _, tt := range []struct {
		name, socket string
		status       [][2]string
		want         string
	}{
		{"the engine's own store", "/run/containerd/containerd.sock", [][2]string{{"Backing Filesystem", "extfs"}}, "/var/lib/docker"},
		{"the machine's containerd", "/run/containerd/containerd.sock", containerd, "/var/lib/containerd"},
		{"the engine's containerd", "/var/run/docker/containerd/containerd.sock", containerd, "/var/lib/docker"},
		{"an engine that does not tell", "", containerd, "/var/lib/docker"},
	} {
		in := system.Info{DockerRootDir: "/var/lib/docker", DriverStatus: tt.status}
		if tt.socket != "" {
			in.Containerd = &system.ContainerdInfo{Address: tt.socket}
		}
		if got := imageDir(in); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestLoginsAreReadLikeTheDockerCommand(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		want    string // the user at r.example
		warning bool
	}{
		"logins":  {`{"auths": {"r.example": {"auth": "YW5uOnB3"}}}`, "ann", false},
		"none":    {"{}", "", false},
		"broken":  {`{"auths": `, "", true},
		"missing": {"", "", false},
	} {
		dir := t.TempDir()
		if c.text != "" {
			if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var log strings.Builder
		file := Config{ConfigDir: dir}.loadFile(slog.New(slog.NewTextHandler(&log, nil)))
		if got := file.AuthConfigs["r.example"].Username; got != c.want {
			t.Errorf("%s: user %q, want %q", name, got, c.want)
		}
		if warned := strings.Contains(log.String(), "are not used"); warned != c.warning {
			t.Errorf("%s: the log says %q, want warned %v", name, log.String(), c.warning)
		}
	}
}

func TestAnInvalidImageNameIsRefusedBeforeThePull(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/images/create") {
			t.Errorf("it is pulled: %s, want no %q in the path", r.URL, "/images/create")
		}
		if !strings.HasSuffix(r.URL.Path, "/_ping") {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	e, err := Connect(t.Context(), Config{Host: "tcp://" + s.Listener.Addr().String(), ConfigDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, ref := range []string{"a/UPPER", "a b", "", "x:", "x@sha256:1"} {
		if img, err := e.Ensure(t.Context(), ref, "", nil); err == nil || fault.KindOf(err) == fault.Unknown {
			t.Errorf("%q: got %+v, %v; want an error, an error with a kind", ref, img, err)
		}
		if img, _, err := e.Image(t.Context(), ref, ""); fault.KindOf(err) == fault.Unknown {
			t.Errorf("%q is looked up: %+v, %v; want an error with a kind", ref, img, err)
		}
	}
}

func TestInvalidCertificatesAreAUsageFault(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a text":   func(path string) error { return os.WriteFile(path, []byte("no certificate"), 0o600) },
	} {
		for _, file := range []string{"ca.pem", "cert.pem"} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "key.pem"), []byte("no key"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := spoil(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
			e, err := Connect(t.Context(), Config{Host: "tcp://127.0.0.1:1", CertPath: dir, TLSVerify: true, ConfigDir: t.TempDir()})
			if fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "check DOCKER_CERT_PATH") {
				t.Errorf("%s is %s: %v, hint %q; want a Usage fault, %q",
					file, name, err, fault.HintOf(err), "check DOCKER_CERT_PATH")
			}
			if e != nil {
				t.Errorf("%s is %s: Connect returned an engine", file, name)
			}
		}
	}
}
