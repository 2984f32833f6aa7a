package docker_test

import (
	"context"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/network"

	"batch.example/batch/docker/containers"
)

// Java asks for the address of its own host at its start, and many test suites do.
func TestAContainersOwnNameResolves(t *testing.T) {
	t.Parallel()
	e := connect(t)
	image := demoImage(t)
	const named = "batch-test-named"
	made, err := raw(t).NetworkCreate(t.Context(), named, network.CreateOptions{Driver: "bridge"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw(t).NetworkRemove(context.Background(), made.ID) })
	for _, tt := range []struct {
		name string
		spec containers.Spec
		want string // the beginning of the address
	}{
		{"no network", containers.Spec{}, "127.0.0.1"},
		{"none, by its name", containers.Spec{Network: "none"}, "127.0.0.1"},
		{"no network and hosts of the user's", containers.Spec{ExtraHosts: []string{"db:10.1.2.3"}}, "127.0.0.1"},
		{"a host of the user's by the same name", containers.Spec{ExtraHosts: []string{"sandbox:10.1.2.3"}}, "10.1.2.3"},
		{"the shared network", containers.Spec{Network: containers.NetworkBridge}, "1"},
		{"a network by its name", containers.Spec{Network: named, ExtraHosts: []string{"db:10.1.2.3"}}, "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.Image = image
			c := start(t, e, tt.spec)
			r := run(t, c, `getent hosts "$(hostname)"`)
			if r.ExitCode != 0 || !strings.HasPrefix(string(r.Bytes), tt.want) {
				t.Errorf("exit code %d, %q", r.ExitCode, r.Bytes)
			}
			r = run(t, c, `if command -v python3 >/dev/null; then python3 -c 'import socket; print(socket.gethostbyname(socket.gethostname()))'; else echo 1 no Python; fi`)
			if r.ExitCode != 0 || !strings.HasPrefix(string(r.Bytes), "1") {
				t.Errorf("Python: exit code %d, %q", r.ExitCode, r.Bytes)
			}
			t.Logf("%s", r.Bytes)
			if len(tt.spec.ExtraHosts) == 0 {
				return
			}
			if r := run(t, c, `getent hosts db sandbox`); !strings.HasPrefix(string(r.Bytes), "10.1.2.3") {
				t.Errorf("the user's: %q", r.Bytes)
			}
		})
	}
}
