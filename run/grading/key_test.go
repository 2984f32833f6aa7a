package grading

import (
	"testing"
	"time"

	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/engine"
)

// Earlier versions also cached logs under this text: if it changes, all cached tests run again.
func TestTheSettingsOfContainersInTheCachesKey(t *testing.T) {
	boxes := sandbox.Config{MaxCPUs: 1.5, Container: engine.Spec{
		WorkDir: "/testbed", Env: []string{"A=b", "C=d"}, User: "u", Memory: 1 << 30, MemorySwap: -1, CPUs: 2, PidsLimit: 100,
		Network: "bridge", Platform: "linux/arm64", CapAdd: []string{"SYS_PTRACE"}, CapDrop: []string{"CHOWN"},
		SecurityOpt: []string{"seccomp=x"}, ExtraHosts: []string{"a:1.2.3.4"}, ShmSize: 64, Disk: 10, Unattended: 90 * time.Minute,
	}}
	const want = "{Name: Image: ImageID: WorkDir:/testbed Env:[A=b C=d] User:u Labels:map[] Memory:1073741824 MemorySwap:-1 CPUs:2 PidsLimit:100 " +
		"Network: Platform:linux/arm64 CapAdd:[SYS_PTRACE] CapDrop:[CHOWN] SecurityOpt:[seccomp=x] ExtraHosts:[a:1.2.3.4] ShmSize:64 Volumes:[] " +
		"Disk:10 Unattended:1h30m0s} cpus=1.5"
	if got := (Settings{}).container(boxes); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for name, change := range map[string]func(*engine.Spec){
		"mount": func(s *engine.Spec) { s.Mounts = []engine.Mount{{Source: "/a", Target: "/b"}} }, "limit": func(s *engine.Spec) { s.Ulimits = []string{"nofile=3"} },
		"tmpfs": func(s *engine.Spec) { s.Tmpfs = map[string]string{"/tmp": ""} }, "read only": func(s *engine.Spec) { s.ReadOnly = true },
	} {
		other := boxes
		change(&other.Container)
		if (Settings{}).container(other) == want {
			t.Errorf("logs with and without a %s have the same key", name)
		}
	}
}
