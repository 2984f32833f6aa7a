package containers

import (
	"errors"
	"strings"
	"testing"

	"batch.example/batch/fault"
)

// What Podman says on a machine where it can make no container at all blames
// neither the image nor a moment.
func TestAnEngineThatCanMakeNoContainerIsTheHosts(t *testing.T) {
	for text, hint := range map[string]string{
		"Error response from daemon: container create: container-init binary not found on the host: " +
			"stat /usr/libexec/podman/catatonit: no such file or directory": "catatonit",
		"Error response from daemon: runc: runc create failed: unable to start container process: error during container init: " +
			"error setting rlimits for ready process: error setting rlimit type 6: operation not permitted: OCI permission denied": "default_ulimits",
	} {
		err := Spec{Image: "i"}.createFault(errors.New(text), "creating a container of i")
		if fault.KindOf(err) != fault.Host || !strings.Contains(fault.HintOf(err), hint) {
			t.Errorf("%v: %v; hint %q", fault.KindOf(err), err, fault.HintOf(err))
		}
	}
}
