package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"

	"batch.example/batch/fault"
)

const noSpaceHint = "free space where the engine keeps its data (docker system df shows what uses it)"

// blame turns an engine error into a fault. Cancellation passes unchanged, and
// so does an error that is a fault already. Losing the engine is [ErrOutage]. What no rule knows gets the kind
// otherwise.
func blame(err error, otherwise fault.Kind, op string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if fault.KindOf(err) != fault.Unknown {
		return err
	}
	text := strings.ToLower(err.Error())
	switch {
	case isLost(err):
		return fault.New(fault.Transient, op, fmt.Errorf("%w: %w", ErrOutage, err)).
			WithHint("check that the engine still runs: docker info")
	case strings.Contains(text, "no space left on device"):
		return fault.New(fault.Host, op, err).WithHint(noSpaceHint)
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Transient, op, errors.New("the engine did not answer in time"))
	case errdefs.IsInternal(err) || errdefs.IsUnavailable(err):
		return fault.New(max(otherwise, fault.Transient), op, err)
	}
	return fault.New(otherwise, op, err)
}

// pullRule maps words in a registry's or the engine's message to blame: the
// engine hands most failures of a pull on as text only.
type pullRule struct {
	kind  fault.Kind
	hint  string
	words []string
}

// The order matters: the first rule with a matching word wins.
func pullRules() []pullRule {
	return []pullRule{
		{fault.Host, noSpaceHint, []string{"no space left on device", "disk quota exceeded"}},
		{
			fault.Instance, "the image is not built for this engine's platform",
			[]string{"no matching manifest", "does not match the specified platform", "cannot be used on this platform"},
		},
		{
			fault.Transient, "the registry limits pulls: log in (docker login), lower the parallel pulls, or use a mirror",
			[]string{"toomanyrequests", "too many requests", "rate limit"},
		},
		{
			fault.Instance, "check the image name, or log in to its registry: docker login",
			[]string{
				"unauthorized", "authentication required", "pull access denied", "no basic auth credentials",
				"denied:", "daemon: denied", "resource is denied", "forbidden", "incorrect username or password",
			},
		},
		{
			fault.Transient, "the registry or the network failed; trying again may help",
			[]string{
				"unexpected http status: 5", "500 internal", "502 bad", "503 service", "504 gateway", "timeout",
				"connection refused", "connection reset", "no such host", "tls handshake", "unexpected eof",
				"verification failed", "server misbehaving", "network is unreachable", "i/o timeout",
			},
		},
		{
			fault.Instance, "check the image name",
			[]string{"manifest unknown", "not found", "name unknown", "invalid reference", "does not exist", "no such image"},
		},
	}
}

// blamePull turns a pull that failed into a fault that names the image.
func blamePull(err error, ref string) error {
	op := "pulling image " + ref
	if err == nil || errors.Is(err, context.Canceled) || fault.KindOf(err) != fault.Unknown || isLost(err) {
		return blame(err, fault.Transient, op)
	}
	text := strings.ToLower(err.Error())
	if n, nameErr := normal(ref); nameErr == nil { // a name may contain any of the words
		text = strings.ReplaceAll(text, reference.Path(n), "")
	}
	for _, r := range pullRules() {
		for _, w := range r.words {
			if strings.Contains(text, w) {
				return fault.New(r.kind, op, err).WithHint("%s", r.hint)
			}
		}
	}
	return blame(err, fault.Transient, op)
}
