package docker

import (
	"testing"

	"github.com/docker/docker/api/types/system"
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
