package containers

import (
	"errors"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

// When Podman cannot create any container on a machine, its error is a fault
// neither of the image nor of the moment.
func TestAnEngineThatCannotCreateContainersIsAHostFault(t *testing.T) {
	for text, hint := range map[string]string{
		"Error response from daemon: container create: container-init binary not found on the host: " +
			"stat /usr/libexec/podman/catatonit: no such file or directory": "catatonit",
		"Error response from daemon: runc: runc create failed: unable to start container process: error during container init: " +
			"error setting rlimits for ready process: error setting rlimit type 6: operation not permitted: OCI permission denied": "default_ulimits",
	} {
		err := spec{engine.Spec{Image: "i"}}.createFault(errors.New(text), "creating a container from i")
		if fault.KindOf(err) != fault.Host || !strings.Contains(fault.HintOf(err), hint) {
			t.Errorf("got a fault of kind %v: %v; hint %q; want a Host fault, %q", fault.KindOf(err), err, fault.HintOf(err), hint)
		}
	}
}
