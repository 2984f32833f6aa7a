package containers

import (
	"strings"

	"github.com/containerd/errdefs"

	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/fault"
)

// createFault turns the engine's error from creating or starting a container into a fault.
func (s spec) createFault(err error, op string) error {
	if err == nil || daemon.IsLost(err) || daemon.Unanswered(err) {
		return daemon.Blame(err, fault.Transient, op)
	}
	text := strings.ToLower(err.Error())
	says := func(parts ...string) bool {
		for _, p := range parts {
			if !strings.Contains(text, p) {
				return false
			}
		}
		return true
	}
	switch {
	case says("unable to find user") || says("unable to find group"):
		return blameHint(err, fault.Instance, op, "the image has no such user: leave out --user, or give numbers (uid:gid)")
	case says("range of cpus"):
		return blameHint(err, fault.Usage, op, "lower --cpus to at most the number of CPUs of the engine's machine")
	case says("unknown capability"):
		return blameHint(err, fault.Usage, op, "give --cap-add and --cap-drop Linux capabilities such as SYS_PTRACE, or ALL")
	case lacksNetwork(err):
		return blameHint(err, fault.Usage, op, "docker network ls lists the networks")
	case says("container-init binary not found"):
		return blameHint(err, fault.Host, op, "Podman needs catatonit: apt-get install catatonit, or name another program as init_path in containers.conf")
	case says("setting rlimit", "operation not permitted"):
		return blameHint(err, fault.Host, op, "the engine cannot raise the limit that far: lower --ulimit, default_ulimits in Podman's containers.conf,\n"+
			"or default-ulimits in Docker's daemon.json")
	case says("executable file not found") || says("no such file or directory"):
		return blameHint(err, fault.Instance, op, "the engine cannot start this image")
	case says("image with reference", "platform"):
		return blameHint(err, fault.Instance, op, "pull or build it for "+s.Platform+", or leave out --platform")
	case says("exec format error"):
		return blameHint(err, fault.Instance, op, "the image is for another platform")
	case errdefs.IsNotFound(err) && s.ImageID != "":
		return blameHint(err, fault.Transient, op, "it existed a moment ago: something removed it")
	case errdefs.IsNotFound(err):
		return blameHint(err, fault.Instance, op, "pull or build the image first")
	case errdefs.IsConflict(err):
		return blameHint(err, fault.Transient, op, "a container with that name still exists")
	case errdefs.IsInvalidArgument(err):
		return blameHint(err, fault.Usage, op, "the engine refused a container setting: check `environment.run_args`")
	}
	return daemon.Blame(err, fault.Transient, op)
}

func blameHint(err error, kind fault.Kind, op, hint string) error {
	return fault.New(kind, op, err).WithHint("%s", hint)
}
